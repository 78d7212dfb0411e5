"""How far a solve has come: what a commit holds and a resume starts from."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from extbnsl.core.claims import claim_from
from extbnsl.core.figures import format_cost, format_gap
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile
from extbnsl.files.lists import Put, read_lists, write_lists
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.parents.exhaustive.state import Enumeration
from extbnsl.parents.exhaustive.stored import StoredEnumeration, read_enumeration, stored_from
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.pieces import Search
from extbnsl.proof.steps import Step, read_step, step_document
from extbnsl.proof.stored import read_search, search_document
from extbnsl.scores.local import LocalScores
from extbnsl.search.state import SearchState

COUNTERS = ("nodes_expanded", "nodes_generated", "nodes_kept", "peak_layer", "search_bytes")


@dataclass(frozen=True)
class Part:
    """How far one component is solved: its best order (positions in the component) and bounds in nats.

    proved: nothing is left to do; steps: of the proof. stopped: why it was given up, if it was.
    """

    order: tuple[int, ...]
    upper_bound: float
    lower_bound: float
    proved: bool = False
    steps: tuple[Step, ...] = ()
    stopped: str | None = None


@dataclass(frozen=True)
class Improvement:
    """When the best network became the best, as far as this process knows: its cost, the seconds of the run by then,
    and the lower bound by then."""

    cost: float
    seconds: float
    lower_bound: float


@dataclass
class Standing:
    """What is known so far: local scores, a part per component, and the search that is going on.

    enumeration: how far the families are enumerated, while that goes on; it may be ahead of `counting`, the one in
    files. scores: the files of the survivors, once they are written. version: of the files of `search`. latest: the
    search's state, which may be ahead of the one in `search` and is not committed; nor is `improved`, when there was a
    better network. counters: nodes of the searches that are over, and the most bytes that one had in memory; stages:
    seconds per stage; cpu_seconds, seconds: of all processes of the run; peak_rss, peak_disk: the most bytes that one
    of them had in memory and in files.
    """

    enumeration: Enumeration | None = None
    counting: StoredEnumeration | None = None
    survivors: Survivors | None = None
    scores: tuple[StoredFile, ...] = ()
    parts: list[Part] = field(default_factory=list)
    search: Search | None = None
    version: int = 0
    latest: SearchState | None = None
    improved: Improvement | None = None
    counters: dict[str, int] = field(default_factory=dict)
    stages: dict[str, dict[str, float]] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss: int = 0
    peak_disk: int = 0
    resampling: bool = False

    @property
    def phase(self) -> str:
        if self.resampling:
            return "bootstrap"
        if self.survivors is None:
            return "start" if self.counting is None else "counting"
        return "search" if self.parts else "scores"

    @property
    def upper_bound(self) -> float:
        """The cost of the best network, in nats; infinity before there is one."""
        return math.fsum(part.upper_bound for part in self.parts) if self.parts else math.inf

    @property
    def lower_bound(self) -> float:
        """What every network costs at least, in nats; minus infinity before that is known."""
        return math.fsum(part.lower_bound for part in self.parts) if self.parts else -math.inf

    def look(self, seconds: float) -> None:
        """Notice a better network, so many seconds after the run began."""
        if self.parts and (self.improved is None or self.upper_bound < self.improved.cost):
            self.improved = Improvement(self.upper_bound, seconds, self.lower_bound)

    def note_memory(self, size: int) -> None:
        """Notice how many bytes the bounds, tables and nodes of the search that is going on take."""
        self.counters["search_bytes"] = max(self.counters.get("search_bytes", 0), size)

    def bounds_told(self) -> str:
        """The bounds of the whole problem, for a person."""
        lower, upper = self.lower_bound, self.upper_bound
        whole = "in all: " if len(self.parts) > 1 else ""
        costs = f"best bound {format_cost(lower)}, best network {format_cost(upper)}"
        return f"{whole}{costs}, gap {format_gap(lower, upper)}"

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
        """The JSON values that a manifest keeps."""
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
                "least": survivors.least,
                "files": [file.name for file in self.scores],
            },
            "parts": [{**asdict(part), "steps": list(map(step_document, part.steps))} for part in self.parts],
            "search": self.search and search_document(self.search),
            "version": self.version,
            "counters": self.counters,
            "stages": self.stages,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "peak_rss": self.peak_rss,
            "peak_disk": self.peak_disk,
        }  # fmt: skip

    def ended(self) -> dict[str, Any]:
        """Those of a run that is over, which needs no files."""
        return {**self.document(), "phase": "done", "search": None, "scores": None, "counting": None}


def read_standing(document: Mapping[str, Any], files: Mapping[str, StoredFile], folder: Path, shelf: Shelf) -> Standing:
    """The standing that a manifest keeps, long arrays on the shelf; RunDirectoryError if a file is damaged."""
    search = None if document["search"] is None else read_search(document["search"], files, folder, shelf.put)
    counting = None if document["counting"] is None else stored_from(document["counting"], files)
    scores = () if document["scores"] is None else tuple(files[name] for name in document["scores"]["files"])
    return Standing(
        enumeration=None if counting is None else read_enumeration(counting, folder, shelf),
        counting=counting,
        survivors=document["scores"] and _read_survivors(document, scores, folder, shelf.put),
        scores=scores,
        # whatever stopped the process before, this one has not given anything up
        parts=[replace(_read_part(part), stopped=None) for part in document["parts"]],
        search=search,
        version=document["version"],
        latest=None if search is None else search.state,
        counters=dict(document["counters"]),
        stages={name: dict(seconds) for name, seconds in document["stages"].items()},
        seconds=document["seconds"],
        cpu_seconds=document["cpu_seconds"],
        peak_rss=document["peak_rss"],
        peak_disk=document["peak_disk"],
    )


def _read_part(document: Mapping[str, Any]) -> Part:
    return Part(**{**document, "order": tuple(document["order"]), "steps": tuple(map(read_step, document["steps"]))})


def write_survivors(survivors: Survivors, store: Store) -> tuple[StoredFile, ...]:
    """Write the local scores to the store."""
    return write_lists(store, names.SCORES, survivors.scores.parents, survivors.scores.costs)


def _read_survivors(document: Mapping[str, Any], files: Iterable[StoredFile], folder: Path, put: Put) -> Survivors:
    parents, costs = read_lists(folder, files, put)
    claim, document = claim_from(document["claim"]), document["scores"]
    names, score, max_parents = tuple(document["names"]), document["score"], document["max_parents"]
    scores = LocalScores(names, parents, costs, replace(claim, score=score, max_parents=max_parents))
    nothing_left = np.full(len(names), np.inf)  # a commit has the families when all are known
    return Survivors(scores, nothing_left, document["stopped"], document["varsets"])


def give_up(parts: list[Part], reason: str) -> list[Part]:
    """The parts, those that are not proved with the reason why."""
    return [part if part.proved else replace(part, stopped=part.stopped or reason) for part in parts]
