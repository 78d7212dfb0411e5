"""The bounds of a piece before it is searched: rounds of improving multipliers, fixing, linear programs and probing.

How large a search would be is tried on its first layers; which step comes next follows from that, by the rules of
`strategy`. What multipliers fix may take the piece apart.

Every step goes from one `Bounding` to the next. So a run can be stopped after any of them, and within the long ones,
and goes on from there.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import find_multipliers, multipliers_bytes
from extbnsl.bounds.fixing import WORTHWHILE, fix_families, round_ns
from extbnsl.bounds.lp.branching import Tree, branch
from extbnsl.bounds.lp.polish import EFFORT, LACKING, ROOT, Goal, Polished, polished
from extbnsl.bounds.lp.probing import STREAMS, Probed, choices_of, probe
from extbnsl.bounds.lp.program import Program
from extbnsl.bounds.lp.separation import Support
from extbnsl.bounds.multipliers import FamilyArrays, Multipliers, families_of, multipliers_of
from extbnsl.core.claims import MEMORY_LIMIT
from extbnsl.core.codec import IN_FILE, UNKEPT, Lowest, Whole
from extbnsl.core.events import StageAdvanced, Warned
from extbnsl.core.figures import in_full
from extbnsl.kernels.varsets import WORD_BITS
from extbnsl.machine.workers import Stopped
from extbnsl.parents.components import Component, split
from extbnsl.proof.context import Context
from extbnsl.proof.guide import (
    Guide,
    Guided,
    expected_edges,
    may_polish,
    plain_grouping,
    weighed_grouping,
    with_ancestors,
    worthwhile_ns,
)
from extbnsl.proof.strategy import ASCEND, BRANCH, FIX, LOOK_NS, POLISH, PROBE, TRY, Seen, Turn, next_turn

CHUNK_NS = 2e9  # of improvement, of one thread, after which a run may be stopped
SOLUTIONS = 8  # of a program, of which one is made a network
MOST_LEFT = 0.5  # of the families, that a program for a piece that cannot be searched goes on with


@dataclass(frozen=True)
class Programs:
    """What the last linear programs of a piece have left.

    optimal: whether no multipliers are better at the root.
    cuts: of the one for the root.
    spread: the multipliers of the one for the search; None before there are any.
    spread_cuts: its cuts.
    """

    optimal: bool = False
    cuts: Annotated[NDArray[np.uint64] | None, IN_FILE] = None
    spread: Multipliers | None = None
    spread_cuts: Annotated[NDArray[np.uint64] | None, IN_FILE] = None


@dataclass(frozen=True)
class Probing:
    """How far the families of a piece have been probed.

    pays: whether it may drop more.
    tried: the choices probed.
    before: of how many families.
    """

    pays: bool = True
    tried: frozenset[Whole] = frozenset()
    before: Whole = 0


@dataclass(frozen=True)
class Bounding:
    """How far the bounds of a piece have come, and how they go on.

    left: the families that are left.
    multipliers: those with the best bound at the root; None before there are any.
    root: what a network costs at least, in nats.
    passes: the multipliers by which families were dropped since this was begun, each for those that were left then.
    turn: what comes next.
    programs, probing: what they have left.
    tree: of branching, if that has begun.
    guide: what a search would have by now.
    """

    left: Annotated[Component, UNKEPT] = field(default_factory=lambda: Component((), (), ()))  # both are the piece's
    multipliers: Annotated[Multipliers | None, UNKEPT] = None
    root: Lowest = -math.inf
    passes: Annotated[tuple[Multipliers, ...], UNKEPT] = ()
    turn: Turn = field(default_factory=Turn)
    programs: Programs = field(default_factory=Programs)
    probing: Probing = field(default_factory=Probing)
    tree: Tree | None = None
    guide: Annotated[Guide | None, UNKEPT] = None

    @property
    def families(self) -> FamilyArrays:
        """The families that are left, as kernels take them."""
        return families_of(self.left.parents, self.left.costs)

    @property
    def reached(self) -> Multipliers:
        """The multipliers, when there are some."""
        assert self.multipliers is not None, "an ascent comes first"
        return self.multipliers

    @property
    def searchable(self) -> bool:
        """Whether the piece is small enough for a search; otherwise bounds at the root are all that there is."""
        return self.left.size <= WORD_BITS

    @property
    def unguided(self) -> Guide:
        """What is left of the piece, without anything that guides a search."""
        return Guide(self.left, self.multipliers)

    def at(self, step: str) -> "Bounding":
        """The same before another step."""
        return replace(self, turn=replace(self.turn, step=step, spent=0))

    def having(self, multipliers: Multipliers, spent: int = 0) -> "Bounding":
        """The same with other multipliers for the families that are left, when so much of the step is spent."""
        root, turn = max(self.root, multipliers.root), replace(self.turn, spent=spent)
        return replace(self, multipliers=multipliers, root=root, turn=turn)


class Listeners(NamedTuple):
    """Who hears how far the bounds of a piece are, see `find_guide`."""

    on_step: Callable[[Bounding], float] = lambda reached: math.inf
    on_solution: Callable[[Bounding, Support], float | None] = lambda reached, support: None


NOBODY = Listeners()


def find_guide(
    begun: Bounding, limit: float, context: Context, listeners: Listeners = NOBODY, thorough: bool = False
) -> Guided:
    """Prove that no network over the piece costs less than `limit`, take it apart, or find what guides its search.

    thorough: whether what is dear may be done, if it saves more. on_step gets how far it is after each step and within
    the long ones, and returns the gap of the whole problem that is proved then, in nats; on_solution gets some
    solutions of linear programs: if it makes a better network of one, it returns the limit that is to hold from then
    on. Deterministic for a seed, whatever the threads and budgets; only the groups of pattern databases alone are
    smaller where memory is short. Raises Stopped, also where a piece that no search can take has too little of it, and
    what on_step raises.
    """
    needed = multipliers_bytes(begun.left.costs, begun.left.size, context.workers.threads)
    if not context.methods.clusters or needed > context.memory_left:
        guided = _plain_guide(begun, limit, context, listeners)
        if context.methods.clusters and not begun.searchable and not guided.proves(limit):
            context.require("Bounding", needed)
        return guided
    if begun.turn.effort == 0 and (context.methods.polish or (thorough and may_polish(context.methods))):
        begun = replace(begun, turn=replace(begun.turn, effort=EFFORT))
    return _Turns(limit, context, listeners, context.memory_left - needed, thorough).find(begun)


def _plain_guide(begun: Bounding, limit: float, context: Context, listeners: Listeners) -> Guided:
    """A guide without multipliers."""

    def on_better(guide: Guide) -> None:
        listeners.on_step(replace(begun, root=max(begun.root, guide.root), guide=guide))

    guide = Guide(begun.left, None, plain_grouping(begun.left, limit, context, on_better))
    on_better(guide)
    return Guided(guide)


class _Turns:
    """The steps by which multipliers are found for a piece. room: bytes for linear programs."""

    def __init__(self, limit: float, context: Context, listeners: Listeners, room: int, thorough: bool) -> None:
        self._limit, self._context, self._room, self._thorough = limit, context, room, thorough
        self._on_step, self._on_solution = listeners
        self._solutions = 0
        self._steps = {
            ASCEND: self._ascend,
            POLISH: self._polish,
            FIX: self._fix,
            TRY: self._try,
            PROBE: self._probe,
            BRANCH: self._branch,
        }

    def find(self, state: Bounding) -> Guided:
        """What `find_guide` does, with multipliers."""
        while True:
            reached = self._steps[state.turn.step](state)
            if isinstance(reached, Guided):
                return reached
            state = reached
            self._on_step(state)

    def _ascend(self, state: Bounding) -> Bounding:
        """Improve the multipliers by as many rounds as the turn has."""
        turn, families, multipliers, spent = state.turn, state.families, state.multipliers, state.turn.spent
        seed = self._context.methods.seed + turn.rounds
        chunk = turn.rounds if multipliers is None else max(1, int(CHUNK_NS / round_ns(state.left.costs, multipliers)))
        while True:
            some = min(chunk, turn.rounds - spent)
            multipliers = find_multipliers(families, multipliers, some, seed + spent, self._context.workers)
            spent += some
            state = state.having(multipliers, spent)
            if spent >= turn.rounds:
                return state.at(POLISH if turn.effort else FIX)
            self._on_step(state)

    def _polish(self, state: Bounding) -> Bounding:
        """Make the multipliers as good at the root as a linear program can."""
        if state.programs.optimal:
            return state.at(FIX)
        begun = Polished(state.reached, state.programs.cuts, state.turn.spent)
        found = self._polished(begun, ROOT, state, _reached_at_root)
        return _reached_at_root(state, found).at(FIX)

    def _polished(
        self, begun: Polished, share: float, state: Bounding, reached: Callable[[Bounding, Polished], Bounding]
    ) -> Polished:
        """What a linear program makes of the multipliers, with the effort of the turn; each turn of it is a step."""

        def on_turn(found: Polished) -> None:
            gap = self._on_step(reached(state, found))  # what is told is what a stop leaves
            self._tell(0 if found.cuts is None else len(found.cuts), 0, f"cuts, gap {gap:.3f}")
            if share == ROOT and found.support is not None:
                self._hear_solution(state, found.support, found.optimal)

        goal, effort = Goal(self._limit, share, self._room), state.turn.effort
        if state.searchable:
            effort = min(EFFORT * max(1, state.turn.rounds), effort)
        else:  # the program goes on until it is worth its while to begin another one with fewer families
            goal = Goal(self._limit, share, self._room, MOST_LEFT if self._context.methods.fixing else 0.0)
        return polished(state.families, begun, goal, effort, self._context.workers, on_turn)

    def _hear_solution(self, state: Bounding, support: Support, last: bool) -> None:
        """Let the first, the second, the fourth ... and the last solution be made a network: most differ by little.

        Where no search follows that finds one, every few of them.
        """
        self._solutions += 1
        often = self._solutions % SOLUTIONS == 0 and not state.searchable
        if last or often or self._solutions.bit_count() == 1:
            limit = self._on_solution(state, support)
            self._limit = self._limit if limit is None else min(self._limit, limit)

    def _fix(self, state: Bounding) -> Bounding | Guided:
        """Drop the families that the multipliers fix."""
        methods, workers, left = self._context.methods, self._context.workers, state.left
        seed = methods.seed + state.turn.rounds
        fixed = fix_families(left.parents, left.costs, state.reached, self._limit, methods.fixing, seed, workers)
        state = replace(
            state.having(fixed.multipliers),
            left=replace(left, parents=fixed.parents, costs=fixed.costs),
            passes=state.passes + fixed.passes,
            programs=replace(state.programs, spread=None),
        )
        return _proved(state) if fixed.proved else self._in_pieces(state) or state.at(TRY)

    def _try(self, state: Bounding) -> Bounding | Guided:
        """Find what guides a search, try how large it would be, and choose what comes next."""
        state, spread_out = self._guided(state)
        guide, methods = state.guide, self._context.methods
        assert guide is not None, "it has been made"
        self._on_step(state)
        if guide.root >= self._limit:  # by its groups: multipliers would have proved it already
            return Guided(guide, passes=state.passes)
        edges = self._edges(guide)
        seen = Seen(
            state.turn,
            gap=self._limit - guide.root,
            worth=worthwhile_ns(edges, methods),
            families=state.families.costs.size,
            round_ns=round_ns(state.left.costs, state.reached),
            choices=lambda: len(choices_of(state.families)),
            searchable=state.searchable,
            optimal=state.programs.optimal,
            spread_out=spread_out,
            thorough=self._thorough,
            programs=may_polish(methods),
            droppable=state.probing.pays and methods.fixing,
        )
        turn = next_turn(seen)
        if turn is None:
            guide = with_ancestors(guide, self._limit, edges, self._context)
            return Guided(guide, passes=state.passes, edges=edges)
        probing = Probing(before=seen.families) if turn.step == PROBE else state.probing
        return replace(state, turn=turn, probing=probing)

    def _edges(self, guide: Guide) -> float:
        """About how many edges a search will generate; at most so many if even all of them are too few to be tried."""
        if guide.grouping is None:
            return math.inf
        most = math.ldexp(guide.left.size, guide.left.size - 1)  # the edges of the whole order graph
        few = worthwhile_ns(most, self._context.methods) < LOOK_NS
        return most if few else expected_edges(guide, self._limit, self._context)

    def _guided(self, state: Bounding) -> tuple[Bounding, bool]:
        """The state with what a search would have by now, and whether its multipliers are the best for that."""
        multipliers, programs = state.reached, state.programs
        guide = Guide(state.left, multipliers, weighed_grouping(state.left, self._context))
        optimal = guide.grouping is None
        if state.turn.effort > 0 and guide.grouping is not None:
            begun = Polished(programs.spread or multipliers, programs.spread_cuts, state.turn.spent)
            found = self._polished(begun, LACKING, state, _reached_spread)
            state, optimal = _reached_spread(state, found), found.optimal
            guide = replace(guide, multipliers=found.multipliers, at_root=multipliers)
        return replace(state, guide=guide, root=max(state.root, guide.root)), optimal

    def _probe(self, state: Bounding) -> Bounding | Guided:
        """Drop the families that probing fixes."""
        families, turn, probing = state.families, state.turn, state.probing
        program = Program(families, state.reached, state.programs.cuts, ROOT, self._room // (1 + STREAMS))

        def on_batch(found: Probed) -> None:
            left = f"choices probed, {in_full(int(found.alive.sum()), 'parent set')} left"
            self._tell(len(found.tried), found.choices, left)
            self._on_step(_probed(state, families, found))

        effort = turn.effort - turn.spent
        found = probe(program, self._limit, effort, probing.tried, self._context.workers, on_batch)
        if found.root >= self._limit or not families.has_each(found.alive):
            return _proved(replace(state, passes=state.passes + found.passes))
        state = _probed(state, families, found)
        pays = state.families.costs.size < (1.0 - WORTHWHILE) * probing.before
        programs = replace(state.programs, optimal=False)
        state = replace(state, programs=programs, probing=Probing(pays, before=probing.before))
        return self._in_pieces(state) or state.at(ASCEND)

    def _branch(self, state: Bounding) -> Bounding | Guided:
        """Prove the piece or find its best network by branching; with a better limit, fix families before it goes on.

        Raises Stopped where memory is too short for the programs or for the nodes that are open.
        """
        limit, nodes_room = self._limit, self._room // 2
        program = Program(state.families, state.reached, state.programs.cuts, ROOT, nodes_room // (1 + STREAMS))

        def on_turn(tree: Tree, support: Support) -> bool:
            gap = self._on_step(_branched(state, tree, program, limit))
            self._tell(tree.looked, 0, f"nodes, {in_full(len(tree.open), 'node')} open, gap {gap:.3f}")
            self._hear_solution(state, support, last=False)
            return self._limit >= limit

        tree = branch(program, state.tree or Tree(), limit, nodes_room, self._context.workers, on_turn)
        state = _branched(state, tree, program, limit)
        if not tree.open:
            return Guided(state.unguided, tree=tree)
        if self._limit < limit:
            return state.at(FIX)
        self._on_step(state)
        nodes = f"{in_full(len(tree.open), 'open node')} of branching"
        self._context.observer(Warned(f"There is no memory for more than {nodes}; go on with a larger --memory."))
        raise Stopped(MEMORY_LIMIT)

    def _in_pieces(self, state: Bounding) -> Guided | None:
        """What the piece has fallen into, if it has."""
        left = state.left
        pieces = split(left.parents, left.costs, self._context.shelf.put, left.slack)
        return Guided(state.unguided, pieces=pieces, passes=state.passes) if len(pieces) > 1 else None

    def _tell(self, done: int, total: int, unit: str) -> None:
        self._context.observer(StageAdvanced("bounds", done, total, unit))


def _proved(state: Bounding) -> Guided:
    """That multipliers prove the piece."""
    return Guided(state.unguided, proved=True, passes=state.passes)


def _reached_at_root(state: Bounding, found: Polished) -> Bounding:
    """The state with what a linear program for the root has come to."""
    programs = replace(state.programs, cuts=found.cuts, optimal=found.optimal)
    return replace(state.having(found.multipliers, found.iterations), programs=programs)


def _reached_spread(state: Bounding, found: Polished) -> Bounding:
    """The state with what a linear program for the search has come to."""
    programs = replace(state.programs, spread=found.multipliers, spread_cuts=found.cuts)
    return replace(state, programs=programs, turn=replace(state.turn, spent=found.iterations))


def _branched(state: Bounding, tree: Tree, program: Program, limit: float) -> Bounding:
    """The state with what branching below a limit has found."""
    programs = replace(state.programs, cuts=program.cuts)
    return replace(state, tree=tree, programs=programs, root=max(state.root, min(tree.bound, limit)))


def _probed(state: Bounding, families: FamilyArrays, found: Probed) -> Bounding:
    """The state that began with these families, with what probing has found."""
    keep = np.split(found.alive, families.first[1:-1])
    parents = tuple(np.ascontiguousarray(p[k]) for p, k in zip(state.left.parents, keep, strict=True))
    costs = tuple(c[k] for c, k in zip(state.left.costs, keep, strict=True))
    multipliers = multipliers_of(families_of(parents, costs), state.reached.cuts, state.reached.weights)
    state = replace(
        state.having(multipliers, state.turn.spent + found.iterations),
        left=replace(state.left, parents=parents, costs=costs),
        passes=state.passes + found.passes,
        programs=replace(state.programs, spread=None),
        probing=replace(state.probing, tried=found.tried),
    )
    return replace(state, root=max(state.root, found.root))
