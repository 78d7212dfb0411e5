"""How far a solve has come: what a commit holds and a resume starts from."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.clusters import Multipliers, families_of, multipliers_of
from extbnsl.errors import ExtbnslError
from extbnsl.parents.components import Component
from extbnsl.parents.enumeration import Enumeration, stored_enumeration
from extbnsl.parents.surviving import Survivors
from extbnsl.scores.local import LocalScores
from extbnsl.search.state import SearchState, read_state
from extbnsl.storage import HEADER_BYTES, Store, StoredFile, pieces, read_arrays, read_pieces, write_arrays

SCORES_FILE = "scores.h5"

FamilyLists = tuple[NDArray, ...]  # of each child: parent sets, or costs
COUNTERS = ("nodes_expanded", "nodes_generated", "nodes_kept", "peak_layer")


@dataclass(frozen=True)
class Counting:
    """An enumeration of the families in files: its counters, how long its arrays are, and the files in their order."""

    counters: Mapping[str, Any]
    rows: Mapping[str, int]
    files: tuple[StoredFile, ...]

    def document(self) -> dict[str, Any]:
        """What a manifest says of it."""
        return {"enumeration": self.counters, "files": [file.name for file in self.files], "rows": self.rows}


@dataclass(frozen=True)
class RootPass:
    """Multipliers over the variables of a component: clusters (positions), weights in UNITs, and mu of each variable in
    nats. Families that they fix are gone in the passes after."""

    clusters: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...]
    least: tuple[float, ...]


@dataclass(frozen=True)
class Part:
    """How far one component is solved: its best order (positions in the component) and bounds in nats.

    proved: nothing is left to do. passes: the proof, if it took no search. stopped: why it was given up, if it was.
    """

    order: tuple[int, ...]
    upper_bound: float
    lower_bound: float
    proved: bool = False
    passes: tuple[RootPass, ...] = ()
    stopped: str | None = None


@dataclass(frozen=True)
class Piece:
    """Some variables of a component, positions in it; the pieces can be solved one after the other, as components can.

    lower_bound: what every network that is of interest costs at least over them, in nats. order: the cheapest one,
    which costs that much, if it is known; otherwise families are what is left of them, and multipliers the best so far.
    """

    variables: tuple[int, ...]
    lower_bound: float
    order: tuple[int, ...] | None = None
    families: Component | None = None
    multipliers: Multipliers | None = None

    @property
    def left(self) -> Component:
        """The families of a piece that is not solved."""
        assert self.families is not None, "it is not solved"
        return self.families


@dataclass(frozen=True)
class Search:
    """The searches of one component, by its number: its pieces; the one that is searched, below which limit (nats), the
    groups of the bound that guides it, and the sets of its ancestral successors; the last state that has all its runs
    in files, None between two searches.

    file: the families and multipliers of the pieces that are not solved, None if it has not been written.
    """

    component: int
    pieces: tuple[Piece, ...]
    at: int = 0
    limit: float = 0.0
    groups: tuple[tuple[int, ...], ...] = ()
    sets: tuple[int, ...] | None = None
    state: SearchState | None = None
    file: StoredFile | None = None

    @property
    def name(self) -> str:
        """What is in the names of its files: the searches of a component are numbered."""
        return f"{self.component + 1}-{1 + sum(piece.order is not None for piece in self.pieces)}"

    @property
    def files(self) -> Iterator[StoredFile]:
        """Every file that going on takes."""
        if self.file is not None:
            yield self.file
        if self.state is not None:
            yield from self.state.files

    def document(self) -> dict[str, Any]:
        """What a manifest says of it."""
        assert self.file is not None, "its families are in a file"
        return {
            "component": self.component,
            "pieces": [
                {name: getattr(piece, name) for name in ("variables", "lower_bound", "order")} for piece in self.pieces
            ],
            "at": self.at,
            "limit": self.limit,
            "groups": self.groups,
            "sets": self.sets,
            "state": self.state and self.state.document(),
            "file": self.file.name,
        }


@dataclass
class Standing:
    """What is known so far: local scores, a part per component, and the search that is going on.

    enumeration: how far the families are enumerated, while that goes on; it may be ahead of `counting`, the one in
    files. latest: the search's state, which may be ahead of the one in `search` and is not committed. counters: nodes
    of the searches that are over; stages: seconds per stage; cpu_seconds, seconds: of all processes of the run;
    peak_rss, peak_disk: the most bytes that one of them had in memory and in files.
    """

    enumeration: Enumeration | None = None
    counting: Counting | None = None
    survivors: Survivors | None = None
    parts: list[Part] = field(default_factory=list)
    search: Search | None = None
    latest: SearchState | None = None
    counters: dict[str, int] = field(default_factory=dict)
    stages: dict[str, dict[str, float]] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss: int = 0
    peak_disk: int = 0

    @property
    def phase(self) -> str:
        if self.survivors is None:
            return "start" if self.counting is None else "counting"
        return "search" if self.parts else "scores"

    @property
    def upper_bound(self) -> float:
        """The cost of the best network, in nats; infinity before there is one."""
        return sum(part.upper_bound for part in self.parts) if self.parts else math.inf

    @property
    def lower_bound(self) -> float:
        """What every network costs at least, in nats; minus infinity before that is known."""
        return sum(part.lower_bound for part in self.parts) if self.parts else -math.inf

    def counted(self) -> dict[str, int]:
        """The counters with those of the search that is going on."""
        total = {name: self.counters.get(name, 0) for name in COUNTERS}
        if self.latest is not None:
            total["nodes_expanded"] += self.latest.expanded
            total["nodes_generated"] += self.latest.generated
            total["nodes_kept"] += self.latest.kept
            total["peak_layer"] = max(total["peak_layer"], self.latest.peak)
        return total

    def document(self) -> dict[str, Any]:
        """The JSON values that a manifest keeps; the local scores are in SCORES_FILE."""
        survivors = self.survivors
        return {
            "phase": self.phase,
            "upper_bound": self.upper_bound,
            "lower_bound": self.lower_bound,
            "counting": self.counting and self.counting.document(),
            "scores": survivors and {
                "names": survivors.scores.names,
                "score": survivors.scores.score,
                "max_parents": survivors.scores.max_parents,
                "stopped": survivors.stopped,
                "varsets": survivors.varsets,
            },
            "parts": [asdict(part) for part in self.parts],
            "search": self.search and self.search.document(),
            "counters": self.counters,
            "stages": self.stages,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "peak_rss": self.peak_rss,
            "peak_disk": self.peak_disk,
        }  # fmt: skip


def read_standing(document: Mapping[str, Any], files: Mapping[str, StoredFile], folder: Path) -> Standing:
    """The standing that a manifest keeps; RunDirectoryError if a file is damaged."""
    search = None if document["search"] is None else _read_search(document["search"], files, folder)
    counting = None if document["counting"] is None else _read_counting(document["counting"], files)
    return Standing(
        enumeration=None if counting is None else _read_enumeration(counting, folder),
        counting=counting,
        survivors=document["scores"] and _read_survivors(document["scores"], files[SCORES_FILE], folder),
        # whatever stopped the process before, this one has not given anything up
        parts=[replace(_read_part(part), stopped=None) for part in document["parts"]],
        search=search,
        latest=None if search is None else search.state,
        counters=dict(document["counters"]),
        stages={name: dict(seconds) for name, seconds in document["stages"].items()},
        seconds=document["seconds"],
        cpu_seconds=document["cpu_seconds"],
        peak_rss=document["peak_rss"],
        peak_disk=document["peak_disk"],
    )


def _read_part(document: Mapping[str, Any]) -> Part:
    passes = tuple(
        RootPass(tuple(map(tuple, one["clusters"])), tuple(one["weights"]), tuple(one["least"]))
        for one in document["passes"]
    )
    return Part(**{**document, "order": tuple(document["order"]), "passes": passes})


def write_search(search: Search, store: Store) -> Search:
    """The search with what is left of the families, and the multipliers, in a file of the store."""
    kind = "pieces" if search.state is None else "bounds"
    arrays: dict[str, NDArray] = {}
    for number, piece in enumerate(search.pieces):
        if piece.families is not None:
            families = piece.families
            arrays[f"first-{number}"] = np.cumsum([0] + [costs.size for costs in families.costs])
            arrays[f"parents-{number}"] = np.concatenate(families.parents)
            arrays[f"costs-{number}"] = np.concatenate(families.costs)
        if piece.multipliers is not None:
            arrays[f"clusters-{number}"] = piece.multipliers.clusters
            arrays[f"weights-{number}"] = piece.multipliers.weights
    file = write_arrays(store.folder, f"{kind}-{search.name}.h5", arrays)
    store.add([file])
    return replace(search, file=file)


def _read_search(document: Mapping[str, Any], files: Mapping[str, StoredFile], folder: Path) -> Search:
    arrays = read_arrays(folder, files[document["file"]])
    return Search(
        component=document["component"],
        pieces=tuple(_read_piece(piece, number, arrays) for number, piece in enumerate(document["pieces"])),
        at=document["at"],
        limit=document["limit"],
        groups=tuple(tuple(group) for group in document["groups"]),
        sets=None if document["sets"] is None else tuple(document["sets"]),
        state=document["state"] and read_state(document["state"], files, folder),
        file=files[document["file"]],
    )


def _read_piece(document: Mapping[str, Any], number: int, arrays: Mapping[str, NDArray]) -> Piece:
    variables, order = tuple(document["variables"]), document["order"]
    families = multipliers = None
    if order is None:
        cuts = arrays[f"first-{number}"][1:-1]
        parents, costs = (tuple(np.split(arrays[f"{name}-{number}"], cuts)) for name in ("parents", "costs"))
        families = Component(variables, parents, costs, ())
        if f"weights-{number}" in arrays:
            clusters, weights = arrays[f"clusters-{number}"], arrays[f"weights-{number}"]
            multipliers = multipliers_of(families_of(parents, costs), clusters, weights)
    return Piece(variables, document["lower_bound"], order and tuple(order), families, multipliers)


def write_counting(enumeration: Enumeration, store: Store, give_up: Callable[[], bool]) -> Counting | None:
    """Write the enumeration to the store; None if its disk budget has no room, or `give_up` says so between two files.

    Unless all is written, nothing of it is left. Each file is on disk before the next one is begun: whoever gives up,
    or commits, does not wait long.
    """
    if store.used + enumeration.bytes * 101 // 100 + HEADER_BYTES > store.disk:
        return None
    arrays, before, files = enumeration.arrays(), store.files, list[StoredFile]()
    try:
        for number, piece in enumerate(pieces(arrays)):
            if number and give_up():
                store.keep_only(before)
                return None
            name = f"runs/counting-{enumeration.complete_to:02}-{number}.h5"
            files.append(write_arrays(store.folder, name, piece))
            store.add(files[-1:])
            store.synchronise(files[-1:])
    except (ExtbnslError, MemoryError):
        store.keep_only(before)
        raise
    return Counting(enumeration.document(), {name: array.shape[0] for name, array in arrays.items()}, tuple(files))


def _read_counting(document: Mapping[str, Any], files: Mapping[str, StoredFile]) -> Counting:
    return Counting(document["enumeration"], document["rows"], tuple(files[name] for name in document["files"]))


def _read_enumeration(counting: Counting, folder: Path) -> Enumeration:
    return stored_enumeration(counting.counters, read_pieces(folder, counting.files, counting.rows))


def write_survivors(survivors: Survivors, store: Store) -> None:
    """Write the local scores to the store."""
    scores = survivors.scores
    arrays = {
        "first": np.cumsum([0] + [costs.size for costs in scores.costs]),
        "parents": np.concatenate(scores.parents),
        "costs": np.concatenate(scores.costs),
        "least": survivors.least,
    }
    store.add([write_arrays(store.folder, SCORES_FILE, arrays)])


def _read_survivors(document: Mapping[str, Any], file: StoredFile, folder: Path) -> Survivors:
    arrays = read_arrays(folder, file)
    cuts = arrays["first"][1:-1]
    scores = LocalScores(
        names=tuple(document["names"]),
        parents=tuple(np.split(arrays["parents"], cuts)),
        costs=tuple(np.split(arrays["costs"], cuts)),
        score=document["score"],
        max_parents=document["max_parents"],
    )
    return Survivors(scores, arrays["least"], document["stopped"], document["varsets"])


def give_up(parts: list[Part], reason: str) -> list[Part]:
    """The parts, those that are not proved with the reason why."""
    return [part if part.proved else replace(part, stopped=part.stopped or reason) for part in parts]
