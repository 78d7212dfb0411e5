"""The pieces of a component: what fixing has made of it, which of them are solved, and the search of one of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from extbnsl.bounds.multipliers import Multipliers
from extbnsl.core.codec import UNKEPT, Lowest, Within
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile
from extbnsl.parents.components import Component
from extbnsl.proof.bounding import Bounding
from extbnsl.proof.steps import Position, Step, are_steps, is_order
from extbnsl.search.state import SearchState

Varset = Annotated[int, Within(0, 2**64 - 1)]


@dataclass(frozen=True)
class Piece:
    """Some variables of a component, positions in it; the pieces can be solved one after the other, as components can.

    lower_bound: what every network that is of interest costs at least over them, in nats. order: the cheapest one,
    which costs that much, if it is known; otherwise families are what is left of them, and multipliers those with the
    best bound at the root so far. given_up: whether nothing more can be done about it.
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
class Search:
    """How far one component has come, by its number: its pieces; and of the piece that it is at, below which limit it
    is solved (nats), and how far its bounds are, or else how far its search is.

    tried: whether a better network was looked for with much effort. steps: of the proof, so far. bounding: None when
    the bounds are not being found. Of the search: the groups and multipliers of the bound that guides it, and the sets
    of its ancestral successors; the last state that has all its runs in files, None between two searches.

    file: the multipliers of the pieces that are not solved, None if it has not been written; lists: for each piece the
    files of its families.
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
        piece, bounding = self.pieces[self.at], self.bounding
        if bounding is not None and not (piece.order is None and bounding.fits(len(piece.variables))):
            return False
        return are_steps(self.steps, len(self.variables)) and is_order(self.variables, range(len(self.variables)))

    @property
    def variables(self) -> tuple[int, ...]:
        """Those of all pieces."""
        return tuple(variable for piece in self.pieces for variable in piece.variables)

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
