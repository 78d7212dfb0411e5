"""The pieces of a component: what fixing has made of it, which of them are solved, and the search of one of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from extbnsl.bounds.multipliers import Multipliers
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile
from extbnsl.parents.components import Component
from extbnsl.proof.bounding import Bounding
from extbnsl.proof.steps import Step
from extbnsl.search.state import SearchState


@dataclass(frozen=True)
class Piece:
    """Some variables of a component, positions in it; the pieces can be solved one after the other, as components can.

    lower_bound: what every network that is of interest costs at least over them, in nats. order: the cheapest one,
    which costs that much, if it is known; otherwise families are what is left of them, and multipliers those with the
    best bound at the root so far. given_up: whether nothing more can be done about it.
    """

    variables: tuple[int, ...]
    lower_bound: float
    order: tuple[int, ...] | None = None
    families: Component | None = None
    multipliers: Multipliers | None = None
    given_up: bool = False

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

    component: int
    pieces: tuple[Piece, ...]
    at: int = 0
    limit: float = 0.0
    tried: bool = False
    steps: tuple[Step, ...] = ()
    bounding: Bounding | None = None
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
