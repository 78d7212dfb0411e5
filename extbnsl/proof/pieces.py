"""The pieces of a component: what fixing has made of it, which of them are solved, and the search of one of them.

In files are the families of the pieces, and the arrays that go with them.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from extbnsl.bounds.multipliers import Multipliers, families_of, multipliers_of
from extbnsl.core.codec import UNKEPT, Lowest, Readers, Within, arrays_of, decode
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile, read_arrays
from extbnsl.files.shelf import FamilyLists, Put, read_lists, write_lists
from extbnsl.files.store import Store
from extbnsl.parents.components import Component
from extbnsl.proof.bounding import Bounding
from extbnsl.proof.steps import Position, Step, are_steps, is_order
from extbnsl.search.runs import Run, find_run
from extbnsl.search.state import SearchState

Varset = Annotated[int, Within(0, 2**64 - 1)]


@dataclass(frozen=True)
class Piece:
    """Some variables of a component; the pieces can be solved one after the other, as components can.

    variables: positions in the component.
    lower_bound: what every network that is of interest costs at least over them, in nats.
    order: of the cheapest one, which costs that much, if it is known.
    families: otherwise, what is left of them.
    multipliers: those with the best bound at the root so far.
    given_up: whether nothing more can be done about it.
    """

    variables: tuple[Position, ...]
    lower_bound: Lowest
    order: tuple[Position, ...] | None = None
    families: Annotated[Component | None, UNKEPT] = None
    multipliers: Multipliers | None = None
    given_up: bool = False

    def is_sound(self) -> bool:
        """Whether its order is one of its variables."""
        return self.order is None or is_order(self.order, self.variables)

    @property
    def left(self) -> Component:
        """The families of a piece that is not solved."""
        assert self.families is not None, "it is not solved"
        return self.families


@dataclass(frozen=True)
class PieceSearch:
    """How far one component has come: how far the bounds of the piece that it is at are, or else how far its search is.

    component: its number.
    pieces: those of the component.
    at: the piece that is being solved.
    limit: below which that is, in nats.
    tried: whether a better network was looked for with much effort.
    steps: of the proof, so far.
    bounding: None when the bounds are not being found.
    groups, multipliers: of the bound that guides the search.
    sets: of its ancestral successors.
    state: of the search, the last one that has all its runs in files; None between two searches.
    file: the multipliers of the pieces that are not solved, None if it has not been written.
    lists: for each piece the files of its families.
    """

    component: Position
    pieces: tuple[Piece, ...]
    at: Position = 0
    limit: float = 0.0
    tried: bool = False
    steps: tuple[Step, ...] = ()
    bounding: Bounding | None = None
    groups: tuple[tuple[Position, ...], ...] = ()
    multipliers: Multipliers | None = None
    sets: tuple[Varset, ...] | None = None
    state: SearchState | None = None
    file: StoredFile | None = None
    lists: tuple[tuple[StoredFile, ...], ...] = ()

    def is_sound(self) -> bool:
        """Whether its steps, and the tree of what is being bounded, are over its variables."""
        if self.file is None or not self.at < len(self.pieces) == len(self.lists):
            return False
        bounding = self.bounding
        if bounding is not None and self.piece.order is not None:
            return False
        if bounding is not None and bounding.tree is not None and not bounding.tree.fits(len(self.piece.variables)):
            return False
        return are_steps(self.steps, len(self.variables)) and is_order(self.variables, range(len(self.variables)))

    @property
    def variables(self) -> tuple[int, ...]:
        """Those of all pieces."""
        return tuple(variable for piece in self.pieces for variable in piece.variables)

    @property
    def piece(self) -> Piece:
        """The one that it is at."""
        return self.pieces[self.at]

    def with_pieces(self, *some: Piece) -> tuple[Piece, ...]:
        """The pieces with others in place of the one that the search is at."""
        return (*self.pieces[: self.at], *some, *self.pieces[self.at + 1 :])

    @property
    def name(self) -> str:
        """What is in the names of its files: the searches of a component are numbered."""
        return names.search(self.component + 1, 1 + sum(piece.order is not None for piece in self.pieces))

    @property
    def files(self) -> Iterator[StoredFile]:
        """Every file that going on takes."""
        bounds = () if self.file is None else (self.file,)
        return itertools.chain(bounds, *self.lists, () if self.state is None else self.state.files)


def write_search(search: PieceSearch, version: int, store: Store) -> PieceSearch:
    """The search with what is left of the families, and the multipliers, in files of the store."""
    stem = (names.pieces if search.state is None else names.bounds)(search.name, version)
    lists = tuple(
        ()
        if piece.families is None
        else write_lists(store, names.piece(stem, number), piece.families.parents, piece.families.costs)
        for number, piece in enumerate(search.pieces)
    )
    return replace(search, file=store.write(names.numbered(stem, 0), dict(arrays_of(search))), lists=lists)


def read_search(document: Any, readers: Readers, folder: Path, put: Put) -> PieceSearch:
    """The search that a manifest keeps, families as `put` holds them; Misfit if it keeps none, RunDirectoryError if a
    file is damaged."""
    file = decode(StoredFile, document.get("file") if isinstance(document, dict) else None, readers)
    of_runs = {**readers, Run: lambda run: find_run(run, readers, folder)}
    search: PieceSearch = decode(PieceSearch, document, of_runs, read_arrays(folder, file))
    families = [read_lists(folder, own, put) for own in search.lists]
    pieces = tuple(
        piece
        if piece.order is not None
        else replace(piece, families=Component(piece.variables, *own), multipliers=_whole(piece.multipliers, own))
        for piece, own in zip(search.pieces, families, strict=True)
    )
    at, lists = pieces[search.at], families[search.at]
    bounding = search.bounding
    if bounding is not None:
        programs = replace(bounding.programs, spread=_whole(bounding.programs.spread, lists))
        bounding = replace(bounding, left=at.left, multipliers=at.multipliers, programs=programs)
    return replace(search, pieces=pieces, bounding=bounding, multipliers=_whole(search.multipliers, lists))


def _whole(multipliers: Multipliers | None, lists: tuple[FamilyLists, FamilyLists]) -> Multipliers | None:
    """The multipliers with what follows from the families: the parent sets and the costs of each child."""
    return multipliers and multipliers_of(families_of(*lists), multipliers.cuts, multipliers.weights)
