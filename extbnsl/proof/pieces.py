"""The pieces of a component: what fixing has made of it, which of them are solved, and the search of one of them; their
limits and bounds, the part that they make, and the steps of its proof.

In files are the families of the pieces, and the arrays that go with them.
"""

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from extbnsl.bounds.ascent import find_multipliers, multipliers_bytes
from extbnsl.bounds.lp.tree import Tree
from extbnsl.bounds.multipliers import Multipliers, families_of, multipliers_of, no_multipliers, renamed
from extbnsl.core.claims import tolerance
from extbnsl.core.codec import UNKEPT, Highest, Lowest, Readers, Within, arrays_of, decode
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile, read_arrays
from extbnsl.files.shelf import FamilyLists, Put, read_lists, write_lists
from extbnsl.files.store import Store
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Stopped
from extbnsl.parents.components import Component
from extbnsl.proof.context import Context
from extbnsl.proof.guide import Bounding, Guide, Guided
from extbnsl.proof.steps import (
    Branched,
    Cut,
    Position,
    RootPass,
    Searched,
    Step,
    are_steps,
    cheapest_pass,
    cuts_over,
    is_order,
)
from extbnsl.search.runs import Run, find_run
from extbnsl.search.state import SearchState

Varset = Annotated[int, Within(0, 2**64 - 1)]

GUIDING_ROUNDS = 8  # of improving multipliers that nothing but a repeated search needs


@dataclass(frozen=True)
class Part:
    """How far one component is solved: its best order (positions in the component) and bounds in nats.

    proved: nothing is left to do; steps: of the proof. stopped: why it was given up, if it was.
    """

    order: tuple[Position, ...]
    upper_bound: float
    lower_bound: float
    proved: bool = False
    steps: tuple[Step, ...] = ()
    stopped: Annotated[str | None, UNKEPT] = None  # who goes on has not given it up

    def by(self, steps: tuple[Step, ...]) -> "Part":
        """The part when these steps prove that no network is cheaper."""
        return replace(self, lower_bound=self.upper_bound - tolerance(self.upper_bound), proved=True, steps=steps)

    def is_sound(self) -> bool:
        """Whether its order and its steps go together; what is proved has steps."""
        size = len(self.order)
        return is_order(self.order, range(size)) and are_steps(self.steps, size) and bool(self.steps or not self.proved)


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
    def is_open(self) -> bool:
        """Whether it is to be solved."""
        return self.order is None and not self.given_up

    @property
    def left(self) -> Component:
        """The families of a piece that is not solved."""
        assert self.families is not None, "it is not solved"
        return self.families

    @property
    def own_multipliers(self) -> Multipliers:
        """Those that give its lower bound; none, if there is only the cheapest family of each child."""
        return self.multipliers or no_multipliers(families_of(self.left.parents, self.left.costs))


@dataclass(frozen=True)
class PieceSearch:
    """How far one component has come: how far the bounds of the piece that it is at are, or else how far its search is.

    component: its number.
    pieces: those of the component.
    at: the piece that is being solved.
    limit: below which that is, in nats.
    tried: whether a better network was looked for with much effort.
    steps: of the proof, so far.
    bounding: None before the bounds are being found; beside a search, how they go on if that is too large.
    allowed_ns: how long the search may take, in nanoseconds of one thread, before they do.
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
    allowed_ns: Highest = math.inf
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
        piece, tree = self.piece, self.bounding and self.bounding.tree
        if (self.bounding and piece.order is not None) or (tree and not tree.fits(len(piece.variables))):
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

    @property
    def lower_bound(self) -> float:
        """What every network of interest costs at least over the component, in nats."""
        return math.fsum(piece.lower_bound for piece in self.pieces)

    def limit_below(self, part: Part) -> float:
        """Below what the piece that it is at must cost in a network that is better than the part's; infinity if there
        is none.

        The others count with what multipliers show: that a certificate can say. Better by half of the tolerance:
        whoever adds up what settles the pieces has the other half for rounding.
        """
        if not math.isfinite(part.upper_bound):
            return math.inf
        others = math.fsum(
            piece.lower_bound if piece.order is not None else piece.own_multipliers.root
            for number, piece in enumerate(self.pieces)
            if number != self.at
        )
        return part.upper_bound - tolerance(part.upper_bound) / 2.0 - others

    def with_pieces(self, *some: Piece) -> "PieceSearch":
        """The search with other pieces in place of the one that it is at."""
        return replace(self, pieces=(*self.pieces[: self.at], *some, *self.pieces[self.at + 1 :]))

    def bounded(self, reached: Bounding) -> "PieceSearch":
        """The search with what the bounds of the piece that it is at have come to."""
        whole, best, bound = self.piece, reached.multipliers, max(self.piece.lower_bound, reached.root)
        return self.with_pieces(replace(whole, lower_bound=bound, families=reached.left, multipliers=best))

    def guided(self, found: Guided) -> "PieceSearch":
        """The search with the piece that it is at replaced by its parts, or by what its guide has left of it."""
        whole, guide = self.piece, found.guide
        best = guide.at_root or guide.multipliers
        if found.pieces:
            assert best is not None, "only what multipliers fix takes a piece apart"
            return self.with_pieces(*(_part_of(whole, best, part) for part in found.pieces))
        bound = max(whole.lower_bound, guide.root)
        return self.with_pieces(replace(whole, lower_bound=bound, families=guide.left, multipliers=best))

    @property
    def by_programs(self) -> "PieceSearch":
        """The search when the bounds of the piece that it is at go on, as its search is too large."""
        assert self.bounding is not None, "something goes on"
        bounding = replace(self.bounding, too_large=True)
        pieces, steps = self.pieces, self.steps
        return PieceSearch(self.component, pieces, self.at, self.limit, tried=True, steps=steps, bounding=bounding)

    def solved(self, order: Iterable[int], cost: float) -> Piece:
        """The piece that it is at with the order of its cheapest network, by positions in the piece, and what that
        costs, in nats."""
        return Piece(self.piece.variables, cost, tuple(self.piece.variables[i] for i in order))

    @property
    def joined(self) -> Part:
        """The component's part when all pieces are solved: they come one after the other, each after its parents."""
        cost = self.lower_bound
        order = tuple(v for piece in self.pieces for v in piece.order or ())
        return Part(order, cost, cost - tolerance(cost), proved=True, steps=self.steps)

    @property
    def root_pass(self) -> RootPass:
        """The multipliers of the pieces that are not settled, over the variables of the component."""
        cuts: list[Cut] = []
        weights: list[int] = []
        least: dict[int, float] = {}
        for piece in self.pieces:
            least |= dict.fromkeys(piece.variables, 0.0)
            if piece.order is None:
                multipliers = piece.own_multipliers
                cuts += cuts_over(multipliers.cuts, piece.variables)
                weights += multipliers.weights.tolist()
                least |= zip(piece.variables, multipliers.least.tolist(), strict=True)
            elif len(piece.variables) == 1:  # which nothing settles but its cheapest family
                least[piece.variables[0]] = piece.lower_bound
        return RootPass(tuple(cuts), tuple(weights), tuple(least[v] for v in range(len(least))))

    def settled(self, bound: float, tree: Tree | None = None) -> tuple[Step, ...]:
        """The steps of a proof with one that settles the piece that it is at, and what the others cost beside: it costs
        so many nats at least, by a tree of branching, or else by a search."""
        variables = self.piece.variables
        if tree is not None:
            step: Step = Branched(variables, bound, cuts_over(tree.cuts, variables), tree.closed)
        else:
            guiding = self.multipliers or self.piece.own_multipliers
            step = Searched(variables, bound, cuts_over(guiding.cuts, variables), tuple(guiding.weights.tolist()))
        after = self.with_pieces(replace(self.piece, order=variables))
        settled = all(piece.order is not None and len(piece.variables) > 1 for piece in after.pieces)
        return (*(self.steps or (self.root_pass,)), step, *(() if settled else (after.root_pass,)))

    @property
    def name(self) -> str:
        """What is in the names of its files: the searches of a component are numbered."""
        return names.search(self.component + 1, 1 + sum(piece.order is not None for piece in self.pieces))

    @property
    def files(self) -> Iterator[StoredFile]:
        """Every file that going on takes."""
        bounds = () if self.file is None else (self.file,)
        return itertools.chain(bounds, *self.lists, () if self.state is None else self.state.files)


def whole_component(component: Component, k: int) -> PieceSearch:
    """A search of component k as one piece."""
    return PieceSearch(k, (Piece(tuple(range(component.size)), Guide(component, None).root, None, component),))


def _part_of(whole: Piece, best: Multipliers, part: Component) -> Piece:
    """A part of a piece, with those of the cuts of its best multipliers that lie in the part."""
    inside = ~(best.cuts & ~pack(part.variables, len(whole.variables))).any(axis=(1, 2))
    position = np.full(len(whole.variables), -1, np.int64)
    position[list(part.variables)] = np.arange(part.size)
    own = renamed(best.cuts[inside], position, part.size)
    multipliers = multipliers_of(families_of(part.parents, part.costs), own, best.weights[inside])
    variables = tuple(whole.variables[i] for i in part.variables)
    if part.size == 1:
        return Piece(variables, float(part.costs[0][0]), variables)
    return Piece(variables, multipliers.root, None, replace(part, variables=variables), multipliers)


def guided_steps(component: Component, bound: float, context: Context) -> tuple[Step, ...]:
    """What guides a search that is to show again that no network has families of the component below `bound`, in nats:
    multipliers by an ascent, if memory and time have room for that."""
    if component.size == 1:
        return (cheapest_pass(component.costs),)
    families = families_of(component.parents, component.costs)
    found = no_multipliers(families)
    if multipliers_bytes(component.costs, component.size, context.workers.threads) <= context.memory_left:
        with contextlib.suppress(Stopped):
            found = find_multipliers(families, None, GUIDING_ROUNDS, context.methods.seed, context.workers)
    piece = Piece(tuple(range(component.size)), bound, None, component, found)
    search = PieceSearch(0, (piece,), multipliers=found)
    return search.settled(bound)


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


def give_up(parts: list[Part], reason: str) -> list[Part]:
    """The parts, those that are not proved with the reason why."""
    return [part if part.proved else replace(part, stopped=part.stopped or reason) for part in parts]
