"""The pieces of a component: what fixing has made of it, which of them are solved, and the search of one of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.clusters import Multipliers, families_of, multipliers_of
from extbnsl.parents.components import Component
from extbnsl.search.state import SearchState, read_state
from extbnsl.storage import Store, StoredFile, read_arrays, write_arrays

FamilyLists = tuple[NDArray, ...]  # of each child: parent sets, or costs


@dataclass(frozen=True)
class RootPass:
    """Multipliers over the variables of a component: clusters (positions), weights in UNITs, and mu of each variable in
    nats. Families that they fix are gone in the passes after."""

    clusters: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...]
    least: tuple[float, ...]


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


def read_search(document: Mapping[str, Any], files: Mapping[str, StoredFile], folder: Path) -> Search:
    """The search that a manifest keeps; RunDirectoryError if a file is damaged."""
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
