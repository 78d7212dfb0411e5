"""The bounds of a piece before it is searched: rounds of improving multipliers, fixing, linear programs and probing.

How much is done follows the search that is expected: a trial of its first layers is carried on, and as long as another
round of improving the multipliers costs a small share of that, there is one. What they fix may take the piece apart.

Every step goes from one `Bounding` to the next. So a run can be stopped after any of them, and within the long ones,
and goes on from there.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import find_multipliers, multipliers_bytes
from extbnsl.bounds.fixing import WORTHWHILE, fix_families, round_ns
from extbnsl.bounds.lp.branching import Tree, branch
from extbnsl.bounds.lp.polish import EFFORT, ITERATION_NS, LACKING, ROOT, ROUND_NS, Goal, Polished, polished
from extbnsl.bounds.lp.probing import STREAMS, Probed, choices_of, probe
from extbnsl.bounds.lp.program import Program
from extbnsl.bounds.lp.separation import Support
from extbnsl.bounds.multipliers import FamilyArrays, Multipliers, families_of, multipliers_of
from extbnsl.core.claims import MEMORY_LIMIT
from extbnsl.core.codec import IN_FILE, UNKEPT, Highest, Lowest, Whole
from extbnsl.core.events import StageAdvanced, Warned
from extbnsl.core.figures import in_full
from extbnsl.kernels.varsets import WORD_BITS
from extbnsl.machine.budgets import too_little_memory
from extbnsl.machine.workers import Stopped
from extbnsl.parents.components import Component, split
from extbnsl.proof.context import Context
from extbnsl.proof.effort import (
    all_edges,
    expected_edges,
    may_polish,
    plain_grouping,
    weighed_grouping,
    with_ancestors,
    worthwhile_ns,
)
from extbnsl.proof.guide import Guide, Guided, Solved

ASCEND, POLISH, FIX, TRY, PROBE, BRANCH = "ascend", "polish", "fix", "try", "probe", "branch"
STEPS = (ASCEND, POLISH, FIX, TRY, PROBE, BRANCH)
CHUNK_NS = 2e9  # of improvement, of one thread, after which a run may be stopped
LOOK_NS = 2e7  # what it costs to see what a round has brought, by another trial
FEWEST_ROUNDS, STALE = 8, 0.99  # so many rounds that leave such a share of the gap are not followed by twice as many
PROBE_ITERATIONS = 60  # about how many a probe takes
SOLUTIONS = 8  # of a program, of which one is made a network
MOST_LEFT = 0.5  # of the families, that a program for a piece that cannot be searched goes on with
MOST_ITERATIONS = 1 << 30  # of the simplex method
FAMILY_NS = 3e3  # that a linear program takes for each family before its first iteration
FEWEST_ITERATIONS = 100  # that pay before there is a linear program: a search of some tenths of a second


def _nothing_left() -> Component:
    return Component((), (), ())


@dataclass(frozen=True)
class Bounding:
    """How far the bounds of a piece have come, and how they go on.

    left: the families that are left. multipliers: those with the best bound at the root, spread: for the search; None
    before there are any. root: what a network costs at least, in nats. passes: the multipliers by which families were
    dropped since this was begun, each for those that were left then.

    step: what comes next, of STEPS; rounds: of improvement in this turn; spent: of the step already, in rounds or
    simplex iterations; effort: of linear programs, in iterations for each, or for all of probing; 0 before there are
    any. gap: after the turn before. optimal: whether no multipliers are better at the root. probing: whether it may
    drop more; tried: the choices probed of `before` families. cuts, spread_cuts: of the last linear programs. tree: of
    branching, if that has begun. guide: what a search would have by now.
    """

    left: Annotated[Component, UNKEPT] = field(default_factory=_nothing_left)  # these two are the piece's
    multipliers: Annotated[Multipliers | None, UNKEPT] = None
    spread: Multipliers | None = None
    root: Lowest = -math.inf
    passes: Annotated[tuple[Multipliers, ...], UNKEPT] = ()
    step: Annotated[str, STEPS.__contains__] = ASCEND
    rounds: Whole = 0
    spent: Whole = 0
    effort: Whole = 0
    gap: Highest = math.inf
    optimal: bool = False
    probing: bool = True
    tried: frozenset[Whole] = frozenset()
    before: Whole = 0
    cuts: Annotated[NDArray[np.uint64] | None, IN_FILE] = None
    spread_cuts: Annotated[NDArray[np.uint64] | None, IN_FILE] = None
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

    def check(self) -> None:
        """Assert every invariant."""
        assert self.step in STEPS, "a known step"
        assert self.multipliers is not None or self.step == ASCEND, "an ascent comes first"
        assert min(self.rounds, self.spent, self.effort, self.before) >= 0, "nothing is negative"
        assert self.multipliers is None or self.multipliers.root <= self.root, "the bound is the best so far"
        assert all(costs.size for costs in self.left.costs), "otherwise it is proved"
        assert self.fits(self.left.size), "a tree over its variables"

    def fits(self, variables: int) -> bool:
        """Whether its tree, if it has one, is over so many variables."""
        return self.tree is None or self.tree.fits(variables)


OnStep = Callable[[Bounding], float]
OnSolution = Callable[[Bounding, Support], float | None]


def find_guide(
    begun: Bounding,
    limit: float,
    context: Context,
    on_step: OnStep = lambda reached: math.inf,
    on_solution: OnSolution = lambda reached, support: None,
    thorough: bool = False,
) -> Guided:
    """Prove that no network over the piece costs less than `limit`, take it apart, or find what guides its search.

    thorough: whether what is dear may be done, if it saves more. on_step gets how far it is after each step and within
    the long ones, and returns the gap of the whole problem that is proved then, in nats; on_solution gets some
    solutions of linear programs: if it makes a better network of one, it returns the limit that is to hold from then
    on. Deterministic for a seed, whatever the threads and budgets; only the groups of
    pattern databases alone are smaller where memory is short. Raises Stopped, also where a piece that no search can
    take has too little of it, and what on_step raises.
    """
    needed = multipliers_bytes(begun.left.costs, begun.left.size, context.workers.threads)
    if not context.methods.clusters or needed > context.memory_left:
        guided = _plain_guide(begun, limit, context, on_step)
        if context.methods.clusters and not _may_be_searched(begun) and not guided.proves(limit):
            held = needed + context.shelf.held
            warning = too_little_memory("Bounding", held, context.memory, context.workers.threads)
            context.observer(Warned(warning))
            raise Stopped(MEMORY_LIMIT)
        return guided
    if begun.effort == 0 and (context.methods.polish or (thorough and may_polish(context.methods))):
        begun = replace(begun, effort=EFFORT)
    return _Turns(limit, context, (on_step, on_solution), context.memory_left - needed, thorough).find(begun)


def _plain_guide(begun: Bounding, limit: float, context: Context, on_step: OnStep) -> Guided:
    """A guide without multipliers."""

    def on_better(guide: Guide) -> None:
        on_step(replace(begun, root=max(begun.root, guide.root), guide=guide))

    guide = Guide(begun.left.parents, begun.left.costs, None, plain_grouping(begun.left, limit, context, on_better))
    on_better(guide)
    return Guided(guide)


class _Turns:
    """The steps by which multipliers are found for a piece. room: bytes for linear programs."""

    def __init__(
        self, limit: float, context: Context, listeners: tuple[OnStep, OnSolution], room: int, thorough: bool
    ) -> None:
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
            reached = self._steps[state.step](state)
            if isinstance(reached, Guided):
                return reached
            state = reached
            self._on_step(state)

    def _ascend(self, state: Bounding) -> Bounding:
        """Improve the multipliers by as many rounds as the turn has."""
        families, multipliers, spent = state.families, state.multipliers, state.spent
        seed = self._context.methods.seed + state.rounds
        chunk = state.rounds if multipliers is None else max(1, int(CHUNK_NS / round_ns(state.left.costs, multipliers)))
        while True:
            some = min(chunk, state.rounds - spent)
            multipliers = find_multipliers(families, multipliers, some, seed + spent, self._context.workers)
            spent += some
            state = _with(state, multipliers, spent=spent)
            if spent >= state.rounds:
                return replace(state, step=POLISH if state.effort else FIX, spent=0)
            self._on_step(state)

    def _polish(self, state: Bounding) -> Bounding:
        """Make the multipliers as good at the root as a linear program can."""
        if state.optimal:
            return replace(state, step=FIX)
        begun = Polished(state.reached, state.cuts, state.spent)
        found = self._polished(begun, ROOT, state, self._reached_at_root)
        return replace(self._reached_at_root(state, found), step=FIX, spent=0)

    def _reached_at_root(self, state: Bounding, found: Polished) -> Bounding:
        state = _with(state, found.multipliers, spent=found.iterations)
        return replace(state, cuts=found.cuts, optimal=found.optimal)

    def _reached_spread(self, state: Bounding, found: Polished) -> Bounding:
        return replace(state, spread=found.multipliers, spread_cuts=found.cuts, spent=found.iterations)

    def _polished(
        self, begun: Polished, share: float, state: Bounding, reached: Callable[[Bounding, Polished], Bounding]
    ) -> Polished:
        """What a linear program makes of the multipliers, with the effort of the turn; each turn of it is a step."""

        def on_turn(found: Polished) -> None:
            gap = self._on_step(reached(state, found))  # what is told is what a stop leaves
            self._tell(0 if found.cuts is None else len(found.cuts), 0, f"cuts, gap {gap:.3f}")
            if share == ROOT and found.support is not None:
                self._hear_solution(state, found.support, found.optimal)

        if _may_be_searched(state):
            goal, effort = Goal(self._limit, share, self._room), min(EFFORT * max(1, state.rounds), state.effort)
        else:  # the program goes on until it is worth its while to begin another one with fewer families
            few = MOST_LEFT if self._context.methods.fixing else 0.0
            goal, effort = Goal(self._limit, share, self._room, few), state.effort
        return polished(state.families, begun, goal, effort, self._context.workers, on_turn)

    def _hear_solution(self, state: Bounding, support: Support, last: bool) -> None:
        """Let the first, the second, the fourth ... and the last solution be made a network: most differ by little.

        Where no search follows that finds one, every few of them.
        """
        self._solutions += 1
        often = self._solutions % SOLUTIONS == 0 and not _may_be_searched(state)
        if last or often or self._solutions.bit_count() == 1:
            limit = self._on_solution(state, support)
            self._limit = self._limit if limit is None else min(self._limit, limit)

    def _fix(self, state: Bounding) -> Bounding | Guided:
        """Drop the families that the multipliers fix."""
        methods, workers = self._context.methods, self._context.workers
        seed = methods.seed + state.rounds
        fixed = fix_families(
            state.left.parents, state.left.costs, state.reached, self._limit, methods.fixing, seed, workers
        )
        left = replace(state.left, parents=fixed.parents, costs=fixed.costs)
        state = replace(state, left=left, passes=state.passes + fixed.passes, step=TRY, spent=0, spread=None)
        state = _with(state, fixed.multipliers)
        return self._ended(state, fixed.proved) or state

    def _try(self, state: Bounding) -> Bounding | Guided:
        """Find what guides a search, try how large it would be, and choose what comes next."""
        state, spread_out = self._guided(state)
        guide = state.guide
        assert guide is not None, "it has been made"
        self._on_step(state)
        if guide.root >= self._limit:  # by its groups: multipliers would have proved it already
            return Guided(guide, passes=state.passes)
        edges = self._edges(guide)
        gap = self._limit - guide.root
        polishing, worthwhile = state.effort > 0, worthwhile_ns(edges, self._context.methods)
        at_root = polishing and not _may_be_searched(state)  # programs for the root are all that there is
        stale = (at_root or state.rounds >= FEWEST_ROUNDS) and gap > STALE * state.gap
        state = replace(state, gap=gap, spent=0)
        effort = effort_of(worthwhile, state.families.costs.size)
        if not polishing and effort >= FEWEST_ITERATIONS and may_polish(self._context.methods):
            return replace(state, step=POLISH, effort=effort)
        if at_root and not stale and not state.optimal:
            return replace(state, step=POLISH, effort=effort)
        more = max(1, 2 * state.rounds)
        turn_ns = round_ns(state.left.costs, state.reached) + (ROUND_NS if polishing else 0.0)
        done = stale or (polishing and state.optimal and spread_out)
        if not done and LOOK_NS + more * turn_ns <= worthwhile:
            return replace(state, rounds=more, step=ASCEND, effort=max(1, effort) if polishing else 0)
        if polishing and self._is_worth_probing(state, worthwhile):
            before = state.families.costs.size
            return replace(state, step=PROBE, effort=effort, before=before, tried=frozenset())
        if at_root and self._thorough:
            return replace(state, step=BRANCH)
        guide = with_ancestors(guide, self._limit, edges, self._context)
        return Guided(guide, passes=state.passes, edges=edges)

    def _edges(self, guide: Guide) -> float:
        """About how many edges a search will generate; at most so many if even all of them are too few to be tried."""
        if guide.grouping is None:
            return math.inf
        most = all_edges(len(guide.costs))
        few = worthwhile_ns(most, self._context.methods) < LOOK_NS
        return most if few else expected_edges(guide, self._limit, self._context)

    def _guided(self, state: Bounding) -> tuple[Bounding, bool]:
        """The state with what a search would have by now, and whether its multipliers are the best for that."""
        left, multipliers = state.left, state.reached
        guide = Guide(left.parents, left.costs, multipliers, weighed_grouping(left, self._context))
        optimal = guide.grouping is None
        if state.effort > 0 and guide.grouping is not None:
            begun = Polished(state.spread or multipliers, state.spread_cuts, state.spent)
            found = self._polished(begun, LACKING, state, self._reached_spread)
            state, optimal = self._reached_spread(state, found), found.optimal
            guide = replace(guide, multipliers=found.multipliers, at_root=multipliers)
        return replace(state, guide=guide, root=max(state.root, guide.root)), optimal

    def _is_worth_probing(self, state: Bounding, worthwhile: float) -> bool:
        """Whether probing would pay, and may drop more than the last time."""
        if not (self._thorough and state.probing and self._context.methods.fixing):
            return False
        return PROBE_ITERATIONS * ITERATION_NS * len(choices_of(state.families)) <= worthwhile

    def _probe(self, state: Bounding) -> Bounding | Guided:
        """Drop the families that probing fixes."""
        families = state.families
        program = Program(families, state.reached, state.cuts, ROOT, self._room // (1 + STREAMS))

        def on_batch(found: Probed) -> None:
            left = f"choices probed, {in_full(int(found.alive.sum()), 'parent set')} left"
            self._tell(len(found.tried), found.choices, left)
            self._on_step(_probed(state, families, found))

        effort = state.effort - state.spent
        found = probe(program, self._limit, effort, state.tried, self._context.workers, on_batch)
        proved = found.root >= self._limit or not np.logical_or.reduceat(found.alive, families.first[:-1]).all()
        if proved:
            guide = Guide(state.left.parents, state.left.costs, state.multipliers, None)
            return Guided(guide, proved=True, passes=state.passes + found.passes)
        state = _probed(state, families, found)
        worked = state.families.costs.size < (1.0 - WORTHWHILE) * state.before
        state = replace(state, probing=worked, optimal=False, step=ASCEND, spent=0, tried=frozenset())
        return self._ended(state, False) or state

    def _branch(self, state: Bounding) -> Bounding | Guided:
        """Prove the piece or find its best network by branching; with a better limit, fix families before it goes on.

        Raises Stopped where memory is too short for the programs or for the nodes that are open.
        """
        limit, nodes_room = self._limit, self._room // 2
        program = Program(state.families, state.reached, state.cuts, ROOT, nodes_room // (1 + STREAMS))

        def on_turn(tree: Tree, support: Support) -> bool:
            gap = self._on_step(_branched(state, tree, program, limit))
            self._tell(tree.looked, 0, f"nodes, {in_full(len(tree.open), 'node')} open, gap {gap:.3f}")
            self._hear_solution(state, support, last=False)
            return self._limit >= limit

        tree = branch(program, state.tree or Tree(), limit, nodes_room, self._context.workers, on_turn)
        state = _branched(state, tree, program, limit)
        if not tree.open:
            guide = Guide(state.left.parents, state.left.costs, state.multipliers, None)
            return Guided(guide, solved=Solved(tree.order if tree.cost < self._limit else None, tree.cost, tree))
        if self._limit < limit:
            return replace(state, step=FIX)
        self._on_step(state)
        nodes = f"{in_full(len(tree.open), 'open node')} of branching"
        self._context.observer(Warned(f"There is no memory for more than {nodes}; go on with a larger --memory."))
        raise Stopped(MEMORY_LIMIT)

    def _ended(self, state: Bounding, proved: bool) -> Guided | None:
        """What has come of the piece, if it is proved or in pieces."""
        guide = Guide(state.left.parents, state.left.costs, state.multipliers, None)
        if proved:
            return Guided(guide, proved=True, passes=state.passes)
        pieces = split(guide.parents, guide.costs, self._context.shelf.put, state.left.slack)
        return Guided(guide, pieces=pieces, passes=state.passes) if len(pieces) > 1 else None

    def _tell(self, done: int, total: int, unit: str) -> None:
        self._context.observer(StageAdvanced("bounds", done, total, unit))


def effort_of(worth: float, families: int) -> int:
    """How many simplex iterations a linear program of so many families may take, if it may take so many nanoseconds."""
    return int(max(0.0, min(MOST_ITERATIONS, (worth - FAMILY_NS * families) / ITERATION_NS)))


def _may_be_searched(state: Bounding) -> bool:
    """Whether the piece is small enough for a search; otherwise bounds at the root are all that there is."""
    return state.left.size <= WORD_BITS


def _with(state: Bounding, multipliers: Multipliers, spent: int = 0) -> Bounding:
    """The state with other multipliers for the families that are left."""
    return replace(state, multipliers=multipliers, root=max(state.root, multipliers.root), spent=spent)


def _branched(state: Bounding, tree: Tree, program: Program, limit: float) -> Bounding:
    """The state with what branching below a limit has found."""
    return replace(state, tree=tree, cuts=program.cuts, root=max(state.root, min(tree.bound, limit)))


def _probed(state: Bounding, families: FamilyArrays, found: Probed) -> Bounding:
    """The state that began with these families, with what probing has found."""
    keep = np.split(found.alive, families.first[1:-1])
    parents = tuple(np.ascontiguousarray(p[k]) for p, k in zip(state.left.parents, keep, strict=True))
    costs = tuple(c[k] for c, k in zip(state.left.costs, keep, strict=True))
    multipliers = multipliers_of(families_of(parents, costs), state.reached.cuts, state.reached.weights)
    state = replace(
        _with(state, multipliers, state.spent + found.iterations),
        left=replace(state.left, parents=parents, costs=costs),
        passes=state.passes + found.passes,
        tried=found.tried,
        spread=None,
    )
    return replace(state, root=max(state.root, found.root))
