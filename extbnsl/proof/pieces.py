"""The pieces of a component: what fixing has made of it, which of them are solved, and the search of one of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from extbnsl.bounds.multipliers import Multipliers, families_of, multipliers_of
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile, read_arrays, write_arrays
from extbnsl.files.lists import FamilyLists, Put, read_lists, write_lists
from extbnsl.files.store import Store
from extbnsl.parents.components import Component
from extbnsl.search.state import SearchState, read_state

GUIDING = "search"  # the name of the multipliers of the search, beside the numbers of the pieces

Cut = tuple[tuple[int, ...], ...]  # the clusters of a cut, one or three


@dataclass(frozen=True)
class RootPass:
    """Multipliers over the variables of a component: cuts (positions), weights in UNITs, and mu of each variable in
    nats. Families that they fix are gone in the passes after."""

    cuts: tuple[Cut, ...]
    weights: tuple[int, ...]
    least: tuple[float, ...]


@dataclass(frozen=True)
class Piece:
    """Some variables of a component, positions in it; the pieces can be solved one after the other, as components can.

    lower_bound: what every network that is of interest costs at least over them, in nats. order: the cheapest one,
    which costs that much, if it is known; otherwise families are what is left of them, and multipliers those with the
    best bound at the root so far.
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
    groups and multipliers of the bound that guides it, and the sets of its ancestral successors; the last state that
    has all its runs in files, None between two searches.

    file: the multipliers of the pieces that are not solved, None if it has not been written; lists: for each piece the
    files of its families.
    """

    component: int
    pieces: tuple[Piece, ...]
    at: int = 0
    limit: float = 0.0
    groups: tuple[tuple[int, ...], ...] = ()
    multipliers: Multipliers | None = None
    sets: tuple[int, ...] | None = None
    state: SearchState | None = None
    file: StoredFile | None = None
    lists: tuple[tuple[StoredFile, ...], ...] = ()

    @property
    def name(self) -> str:
        """What is in the names of its files: the searches of a component are numbered."""
        return names.search(self.component + 1, 1 + sum(piece.order is not None for piece in self.pieces))

    @property
    def files(self) -> Iterator[StoredFile]:
        """Every file that going on takes."""
        if self.file is not None:
            yield self.file
        for files in self.lists:
            yield from files
        if self.state is not None:
            yield from self.state.files

    def document(self) -> dict[str, Any]:
        """What a manifest says of it."""
        assert self.file is not None, "it has been written"
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
            "lists": [[file.name for file in files] for files in self.lists],
        }


def write_search(search: Search, store: Store) -> Search:
    """The search with what is left of the families, and the multipliers, in files of the store."""
    stem = names.pieces(search.name) if search.state is None else names.bounds(search.name)
    arrays: dict[str, NDArray] = {}
    lists: list[tuple[StoredFile, ...]] = []
    for number, piece in enumerate(search.pieces):
        lists.append(())
        if piece.families is not None:
            lists[-1] = write_lists(store, names.piece(stem, number), piece.families.parents, piece.families.costs)
        _keep(piece.multipliers, str(number), arrays)
    _keep(search.multipliers, GUIDING, arrays)
    file = write_arrays(store.folder, names.numbered(stem, 0), arrays)
    store.add([file])
    return replace(search, file=file, lists=tuple(lists))


def read_search(document: Mapping[str, Any], files: Mapping[str, StoredFile], folder: Path, put: Put) -> Search:
    """The search that a manifest keeps, families as `put` holds them; RunDirectoryError if a file is damaged."""
    arrays = read_arrays(folder, files[document["file"]])
    lists = tuple(tuple(files[name] for name in names) for names in document["lists"])
    families = [read_lists(folder, own, put) for own in lists]
    at = document["at"]
    return Search(
        component=document["component"],
        pieces=tuple(
            _read_piece(piece, families[number], number, arrays) for number, piece in enumerate(document["pieces"])
        ),
        at=at,
        limit=document["limit"],
        groups=tuple(tuple(group) for group in document["groups"]),
        multipliers=_kept(GUIDING, families[at], arrays),
        sets=None if document["sets"] is None else tuple(document["sets"]),
        state=document["state"] and read_state(document["state"], files, folder),
        file=files[document["file"]],
        lists=lists,
    )


def _read_piece(
    document: Mapping[str, Any],
    lists: tuple[FamilyLists, FamilyLists],
    number: int,
    arrays: Mapping[str, NDArray],
) -> Piece:
    variables, order = tuple(document["variables"]), document["order"]
    if order is not None:
        return Piece(variables, document["lower_bound"], tuple(order))
    families, multipliers = Component(variables, *lists), _kept(str(number), lists, arrays)
    return Piece(variables, document["lower_bound"], None, families, multipliers)


def _keep(multipliers: Multipliers | None, name: str, arrays: dict[str, NDArray]) -> None:
    """Put multipliers beside the arrays of a file, if there are any."""
    if multipliers is not None:
        arrays[f"cuts-{name}"], arrays[f"weights-{name}"] = multipliers.cuts, multipliers.weights


def _kept(name: str, lists: tuple[FamilyLists, FamilyLists], arrays: Mapping[str, NDArray]) -> Multipliers | None:
    """The multipliers of that name for these families, None if there are none."""
    if f"weights-{name}" not in arrays:
        return None
    return multipliers_of(families_of(*lists), arrays[f"cuts-{name}"], arrays[f"weights-{name}"])
