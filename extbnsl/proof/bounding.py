"""The bounds of a piece before it is searched: rounds of improving multipliers, fixing, linear programs and probing.

How large a search would be is tried on its first layers; which step comes next follows from that, by the rules of
`strategy`. What multipliers fix may take the piece apart.

Every step goes from one `Bounding` to the next. So a run can be stopped after any of them, and within the long ones,
and goes on from there.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from extbnsl.bounds.ascent import find_multipliers, multipliers_bytes
from extbnsl.bounds.fixing import WORTHWHILE, fix_families, round_ns
from extbnsl.bounds.lp.tree import Tree
from extbnsl.bounds.multipliers import FamilyArrays, Support, families_of, multipliers_of
from extbnsl.core.claims import MEMORY_LIMIT
from extbnsl.core.events import StageAdvanced, Warned
from extbnsl.core.figures import in_full
from extbnsl.machine.workers import Stopped
from extbnsl.parents.components import split
from extbnsl.proof.context import Context
from extbnsl.proof.guide import (
    ASCEND,
    BRANCH,
    FIX,
    POLISH,
    PROBE,
    TRY,
    Bounding,
    Guide,
    Guided,
    Probing,
    may_polish,
    weighed_grouping,
    worthwhile_ns,
)

if TYPE_CHECKING:  # linear programs and searches are loaded by the pieces that come to need them
    from extbnsl.bounds.lp.branching import Reached
    from extbnsl.bounds.lp.polish import Polished
    from extbnsl.bounds.lp.probing import Probed
    from extbnsl.bounds.lp.program import Program

CHUNK_NS = 2e9  # of improvement, of one thread, after which a run may be stopped
MOST_LEFT = 0.5  # of the families, that a program for a piece that cannot be searched goes on with

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
    on. Deterministic for a seed, whatever the threads and budgets; only the groups of pattern databases alone are
    smaller where memory is short. Raises Stopped, also where a piece that no search can take has too little of it, and
    what on_step raises.
    """
    needed = multipliers_bytes(begun.left.costs, begun.left.size, context.workers.threads)
    if not context.methods.clusters or needed > context.memory_left:
        guided = _plain_guide(begun, limit, context, on_step)
        if context.methods.clusters and not begun.searchable and not guided.proves(limit):
            context.require("Bounding", needed)
        return guided
    if begun.turn.effort == 0 and (context.methods.polish or (thorough and may_polish(context.methods))):
        from extbnsl.bounds.lp.polish import EFFORT

        begun = replace(begun, turn=replace(begun.turn, effort=EFFORT))
    turns = _Turns(limit, context, on_step, on_solution, context.memory_left - needed, thorough)
    steps = {ASCEND: turns.ascend, FIX: turns.fix, TRY: turns.try_search}
    steps |= {POLISH: turns.polish, PROBE: turns.probe, BRANCH: turns.branch}  # by linear programs
    reached: Bounding | Guided = begun
    while isinstance(reached, Bounding):
        reached = steps[reached.turn.step](reached)
        if isinstance(reached, Bounding):
            on_step(reached)
    return reached


def _plain_guide(begun: Bounding, limit: float, context: Context, on_step: OnStep) -> Guided:
    """A guide without multipliers."""
    from extbnsl.proof.trials import plain_grouping

    def on_better(guide: Guide) -> None:
        on_step(replace(begun, root=max(begun.root, guide.root), guide=guide))

    guide = Guide(begun.left, None, plain_grouping(begun.left, limit, context, on_better))
    on_better(guide)
    return Guided(guide)


@dataclass
class _Turns:
    """The steps by which multipliers are found for a piece: see `find_guide`. room: bytes for linear programs;
    solutions: how many of them have been heard of."""

    limit: float
    context: Context
    on_step: OnStep
    on_solution: OnSolution
    room: int
    thorough: bool
    solutions: int = 0

    def ascend(self, state: Bounding) -> Bounding:
        """Improve the multipliers by as many rounds as the turn has."""
        turn, families, multipliers, spent = state.turn, state.families, state.multipliers, state.turn.spent
        seed = self.context.methods.seed + turn.rounds
        chunk = turn.rounds if multipliers is None else max(1, int(CHUNK_NS / round_ns(state.left.costs, multipliers)))
        while True:
            some = min(chunk, turn.rounds - spent)
            multipliers = find_multipliers(families, multipliers, some, seed + spent, self.context.workers)
            spent += some
            state = state.having(multipliers, spent)
            if spent >= turn.rounds:
                return state.at(POLISH if turn.effort else FIX)
            self.on_step(state)

    def polish(self, state: Bounding) -> Bounding:
        """Make the multipliers as good at the root as a linear program can."""
        if state.programs.optimal:
            return state.at(FIX)
        return _reached_at_root(state, self._polished(state, at_root=True)).at(FIX)

    def _polished(self, state: Bounding, at_root: bool) -> "Polished":
        """What a linear program makes of the multipliers for the root, or for the search, with the effort of the turn;
        each turn of it is a step."""
        from extbnsl.bounds.lp.polish import EFFORT, LACKING, ROOT, Goal, Polished, polished

        programs, spent = state.programs, state.turn.spent
        share, begun, reached = ROOT, Polished(state.reached, programs.cuts, spent), _reached_at_root
        if not at_root:
            begun = Polished(programs.spread or state.reached, programs.spread_cuts, spent)
            share, reached = LACKING, _reached_spread

        def on_turn(found: Polished) -> float | None:
            now = reached(state, found)
            gap = self.on_step(now)  # what is told is what a stop leaves
            self._tell(0 if found.cuts is None else len(found.cuts), 0, f"cuts, gap {gap:.3f}")
            if at_root and found.support is not None:
                self._hear_solution(now, found.support, found.optimal)
            return self.limit

        goal, effort = Goal(self.limit, share, self.room), state.turn.effort
        if not state.at_root:
            effort = min(EFFORT * max(1, state.turn.rounds), effort)
        else:  # the program goes on until it is worth its while to begin another one with fewer families
            goal = Goal(self.limit, share, self.room, MOST_LEFT if self.context.methods.fixing else 0.0)
        return polished(state.families, begun, goal, effort, self.context.workers, on_turn)

    def _hear_solution(self, state: Bounding, support: Support, last: bool) -> None:
        """Let the first, the second, the fourth ... and the last solution be made a network: most differ by little.

        Where no search follows that finds one, all of them.
        """
        self.solutions += 1
        if last or state.at_root or self.solutions.bit_count() == 1:
            limit = self.on_solution(state, support)
            self.limit = self.limit if limit is None else min(self.limit, limit)

    def fix(self, state: Bounding) -> Bounding | Guided:
        """Drop the families that the multipliers fix."""
        methods, workers, left = self.context.methods, self.context.workers, state.left
        seed = methods.seed + state.turn.rounds
        fixed = fix_families(left.parents, left.costs, state.reached, self.limit, methods.fixing, seed, workers)
        state = replace(
            state.having(fixed.multipliers),
            left=replace(left, parents=fixed.parents, costs=fixed.costs),
            passes=state.passes + fixed.passes,
            programs=replace(state.programs, spread=None),
        )
        if fixed.proved:
            return Guided(state.unguided, proved=True, passes=state.passes)
        return self._in_pieces(state) or state.at(TRY)

    def try_search(self, state: Bounding) -> Bounding | Guided:
        """Find what guides a search by now; if its groups do not prove the piece already, choose what comes next."""
        multipliers = state.reached
        guide = Guide(state.left, multipliers, weighed_grouping(state.left, self.context))
        spread_out = guide.grouping is None  # whether no multipliers are better for the search
        if state.turn.effort > 0 and guide.grouping is not None:
            found = self._polished(state, at_root=False)
            state, spread_out = _reached_spread(state, found), found.optimal
            guide = replace(guide, multipliers=found.multipliers, at_root=multipliers)
        state = replace(state, guide=guide, root=max(state.root, guide.root))
        self.on_step(state)
        if guide.root >= self.limit:  # by its groups: multipliers would have proved it already
            return Guided(guide, passes=state.passes)
        return self._next(state, guide, spread_out)

    def _next(self, state: Bounding, guide: Guide, spread_out: bool) -> Bounding | Guided:
        """Try how large a search with this guide would be, and choose what comes next."""
        from extbnsl.bounds.lp.probing import choices_of
        from extbnsl.proof.strategy import Seen, next_turn
        from extbnsl.proof.trials import with_ancestors

        methods, search_ns = self.context.methods, self._search_ns(state, guide)
        seen = Seen(
            state.turn,
            gap=self.limit - state.root,
            search_ns=search_ns,
            worth=worthwhile_ns(search_ns, methods),
            branched=0 if state.tree is None else state.tree.effort,
            families=state.families.costs.size,
            round_ns=round_ns(state.left.costs, state.reached),
            choices=lambda: len(choices_of(state.families)),
            optimal=state.programs.optimal,
            spread_out=spread_out,
            thorough=self.thorough,
            programs=may_polish(methods),
            droppable=state.probing.pays and methods.fixing,
        )
        turn = next_turn(seen)
        if turn is None:
            guide = with_ancestors(guide, self.limit, search_ns, self.context)
            rest = replace(state.at(FIX), passes=(), guide=None) if may_polish(methods) else None
            return Guided(guide, passes=state.passes, search_ns=search_ns, rest=rest)
        probing = Probing(before=seen.families) if turn.step == PROBE else state.probing
        return replace(state, turn=turn, probing=probing)

    def _search_ns(self, state: Bounding, guide: Guide) -> float:
        """About how long a search will take; at most so long if even all edges are too few to be tried."""
        from extbnsl.proof.strategy import LOOK_NS
        from extbnsl.proof.trials import edge_ns, time_foreseen

        if guide.grouping is None or not state.searchable:
            return math.inf
        most = edge_ns(guide.left.costs) * math.ldexp(guide.left.size, guide.left.size - 1)  # the whole order graph
        few = worthwhile_ns(most, self.context.methods) < LOOK_NS
        return most if few else time_foreseen(guide, self.limit, self.context)

    def probe(self, state: Bounding) -> Bounding | Guided:
        """Drop the families that probing fixes."""
        from extbnsl.bounds.lp.probing import probe

        families, turn, probing = state.families, state.turn, state.probing
        program = _program(state, self.room)

        def on_batch(found: "Probed") -> None:
            left = f"choices probed, {in_full(int(found.alive.sum()), 'parent set')} left"
            self._tell(len(found.tried), found.choices, left)
            self.on_step(_probed(state, families, found))

        effort = turn.effort - turn.spent
        found = probe(program, self.limit, effort, probing.tried, self.context.workers, on_batch)
        if found.root >= self.limit or not families.has_each(found.alive):
            return Guided(state.unguided, proved=True, passes=state.passes + found.passes)
        state = _probed(state, families, found)
        pays = state.families.costs.size < (1.0 - WORTHWHILE) * probing.before
        programs = replace(state.programs, optimal=False)
        state = replace(state, programs=programs, probing=Probing(pays, before=probing.before))
        return self._in_pieces(state) or state.at(ASCEND)

    def branch(self, state: Bounding) -> Bounding | Guided:
        """Prove the piece or find its best network by branching; with a better limit, fix families before it goes on.
        Where a search is possible, see what is best when the effort of the turn is spent.

        Raises Stopped where memory is too short for the programs or for the nodes that are open.
        """
        from extbnsl.bounds.lp.branching import branch
        from extbnsl.bounds.lp.program import beginning

        limit, families = self.limit, state.families
        start = beginning(families, state.reached, state.programs.cuts)

        def on_turn(reached: "Reached") -> bool:
            tree = reached.tree
            gap = self.on_step(_branched(state, reached, limit))
            self._tell(tree.looked, 0, f"nodes, {in_full(len(tree.open), 'node')} open, gap {gap:.3f}")
            if reached.support is not None:
                self._hear_solution(_branched(state, reached, limit), reached.support, last=False)
            return self.limit >= limit and tree.effort < state.turn.effort

        reached = branch(families, start, state.tree or Tree(), limit, self.room // 2, self.context.workers, on_turn)
        state = _branched(state, reached, limit)
        if not reached.tree.open:
            return Guided(state.unguided, tree=reached.tree)
        if self.limit < limit:
            return state.at(FIX)
        if not state.at_root:
            return state.at(TRY) if state.guide is None else self._next(state, state.guide, spread_out=True)
        self.on_step(state)
        nodes = f"{in_full(len(reached.tree.open), 'open node')} of branching"
        self.context.observer(Warned(f"There is no memory for more than {nodes}; go on with a larger --memory."))
        raise Stopped(MEMORY_LIMIT)

    def _in_pieces(self, state: Bounding) -> Guided | None:
        """What the piece has fallen into, if it has."""
        left = state.left
        pieces = split(left.parents, left.costs, self.context.shelf.put, left.slack)
        return Guided(state.unguided, pieces=pieces, passes=state.passes) if len(pieces) > 1 else None

    def _tell(self, done: int, total: int, unit: str) -> None:
        self.context.observer(StageAdvanced("bounds", done, total, unit))


def _program(state: Bounding, room: int) -> "Program":
    """A program for the root, that leaves room for as many as are solved side by side."""
    from extbnsl.bounds.lp.polish import ROOT
    from extbnsl.bounds.lp.probing import STREAMS
    from extbnsl.bounds.lp.program import Program, beginning

    start = beginning(state.families, state.reached, state.programs.cuts)
    return Program(state.families, start, ROOT, room // (1 + STREAMS))


def _reached_at_root(state: Bounding, found: "Polished") -> Bounding:
    """The state with what a linear program for the root has come to."""
    programs = replace(state.programs, cuts=found.cuts, optimal=found.optimal)
    return replace(state.having(found.multipliers, found.iterations), programs=programs)


def _reached_spread(state: Bounding, found: "Polished") -> Bounding:
    """The state with what a linear program for the search has come to."""
    programs = replace(state.programs, spread=found.multipliers, spread_cuts=found.cuts)
    return replace(state, programs=programs, turn=replace(state.turn, spent=found.iterations))


def _branched(state: Bounding, found: "Reached", limit: float) -> Bounding:
    """The state with what branching below a limit has found."""
    programs = replace(state.programs, cuts=found.cuts)
    return replace(state, tree=found.tree, programs=programs, root=max(state.root, min(found.tree.bound, limit)))


def _probed(state: Bounding, families: FamilyArrays, found: "Probed") -> Bounding:
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
