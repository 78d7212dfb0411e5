"""What a solve would need, before it is begun: its first part is done, watched, and carried on.

Everything up to the search is done as `solve` does it. Then the search of each component is tried, all in memory,
until it is over or the effort or the memory is used up; `search.forecast` guesses the layers that are left. What they
take follows from the bytes of a node and the time of an edge as the trial had them.
"""

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.patterns import pattern_bytes
from extbnsl.core.compiling import clock, cpu_clock
from extbnsl.core.errors import InputError
from extbnsl.core.events import Event, Observer, StageAdvanced, ignore
from extbnsl.data import Data
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import temporary_store
from extbnsl.kernels.varsets import WORD_BITS
from extbnsl.machine.budgets import Deadline, Granted
from extbnsl.machine.workers import Stopped, StopSignal, Workers, never
from extbnsl.parents.best_score import ByteTables
from extbnsl.parents.components import Component, components
from extbnsl.parents.exhaustive.surviving import Survivors, counting_limits
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import COMPILING, Context, Stages
from extbnsl.proof.guide import Bounding, Guide, Guided
from extbnsl.proof.incumbents import find_parts
from extbnsl.proof.pieces import Part, Piece, PieceSearch, whole_component
from extbnsl.proof.searching import fixed_memory, layer_told, least_room
from extbnsl.proof.solving import Solving, solve_pieces
from extbnsl.proof.standing import Standing
from extbnsl.proof.trials import guided_problem, search_ns, tables_fit
from extbnsl.search.forecast import forecast
from extbnsl.search.layers import Room, search_layers
from extbnsl.search.problem import SearchProblem
from extbnsl.search.score_cache import READING_BYTES
from extbnsl.search.state import SearchState
from extbnsl.solver.families import find_survivors
from extbnsl.solver.needs import HOPELESS, TOO_MANY, Counting, Estimate, Trial
from extbnsl.solver.opening import Request, tell

EFFORT = 60.0  # seconds of processors
BOUND_SHARE = 0.5  # of the effort that is left for a component, for its bound; the rest is for the trial
FEWEST_LAYERS = 2  # whose sizes can be carried on at all

CountedSoFar = tuple[int, float]  # varsets counted so far, and when


def estimate(
    asked: Request, *, effort: float = EFFORT, observer: Observer = ignore, stop: StopSignal = never
) -> Estimate:
    """What `solve` would need for the same, found out in about `effort` seconds of processors, so that what else the
    machine does changes nothing; no file stays.

    What exceeds the memory goes to files below the scratch folder, or else where temporary files go. The kernels are
    loaded before the effort begins. A `stop` ends it early, with what is known then. Raises InputError for unusable
    arguments.
    """
    asked.check()
    if not effort > 0:
        raise InputError(f"effort: {effort} is not a positive number of seconds.")
    granted = asked.budgets.granted(Path())
    counted: dict[int, CountedSoFar] = {}

    def observe(event: Event) -> None:
        if isinstance(event, StageAdvanced) and event.level is not None:
            counted[event.level] = (event.done, clock())
        observer(event)

    with temporary_store(asked.place.scratch_dir) as store, Workers(granted.threads, stop) as workers:
        stages, shelf = Stages(observe, {}), Shelf(granted.memory // 2, store)
        tell(asked.problem, asked.claim, observe)
        context = Context(workers, stages, granted.memory, asked.methods, store, shelf)
        began, computed = clock(), cpu_clock()
        found = _estimated(asked, granted, counted, Deadline.after(effort, cpu_clock), context)
        return replace(found, busy=max(0.01, cpu_clock() - computed) / max(0.01, clock() - began), begun=computed)


def _estimated(
    asked: Request, granted: Granted, counted: Mapping[int, CountedSoFar], deadline: Deadline, context: Context
) -> Estimate:
    """The estimate, found out until the deadline; counted: see `_unfinished`."""
    stop, commits = context.workers.stop, Commits(Standing(), context)
    with _until(deadline, stop, context) as limited:
        began, problem, claim = clock(), asked.problem, asked.claim
        survivors = find_survivors(problem, claim, limited, commits)
        if survivors.stopped is not None:
            limits = counting_limits(problem, claim) if isinstance(problem, Data) else np.zeros(0, np.int64)
            counting = _unfinished(survivors, limits, began, counted)
            return Estimate(granted, counting, (), counting.seconds, stop())
        counting = Counting(survivors.varsets, survivors.scores.families, clock() - began, problem.variables)
        found = components(survivors.scores, context.shelf.put)
        commits.standing.parts = find_parts(survivors, found, limited)
    trials: list[tuple[int, list[Trial]]] = []
    for k in sorted(range(len(found)), key=lambda k: found[k].size):  # what small ones leave is for the large ones
        share = deadline.remaining() / (len(found) - len(trials))
        steps = _Trying(found[k], k, context, commits, share)
        part = steps.part if steps.part.proved else solve_pieces(whole_component(found[k], k), steps)
        trials.append((k, steps.finish(part)))
    seconds = sum(spent["seconds"] for stage, spent in context.stages.seconds.items() if stage != COMPILING)
    ordered = tuple(trial for _, own in sorted(trials, key=lambda p: p[0]) for trial in own)
    return Estimate(granted, counting, ordered, seconds, stop())


@contextlib.contextmanager
def _until(deadline: Deadline, stop: StopSignal, context: Context) -> Iterator[Context]:
    """The context, with workers that stop at the deadline too."""
    threads = context.workers.threads
    with Workers(threads, lambda: stop() or ("effort" if deadline.passed() else None)) as workers:
        yield replace(context, workers=workers)


def _unfinished(
    survivors: Survivors, limits: NDArray[np.int64], began: float, counted: Mapping[int, CountedSoFar]
) -> Counting:
    """How far the counting got, and what is left of it.

    counted: the varsets counted, in all, when the parent sets of each size had been judged, and the moment of
    `compiling.clock` when they had.
    """
    seconds, n = clock() - began, limits.size
    limit = min(int(limits.max(initial=0)), n - 1)
    sizes = sorted(counted)
    most = n * sum(math.comb(n - 1, size) for size in range(limit + 1)) * seconds / max(1, survivors.varsets)
    far = Counting(
        survivors.varsets, survivors.scores.families, seconds, n, max(sizes, default=0), limit, math.inf, most
    )
    if len(sizes) < 2:
        return far
    (before, begun), (done, ended) = (counted[size] for size in sizes[-2:])
    share = (done - before) / math.comb(n, sizes[-1] + 1)
    each = (ended - begun) / max(1, done - before)
    left = share * sum(math.comb(n, size + 1) for size in range(sizes[-1] + 1, limit + 1))
    spent = began + seconds - ended  # on the next size already
    guess = max(1.0, each * left - spent)
    return replace(far, seconds_left=guess, seconds_most=max(guess, most))


class _Trying(Solving):
    """The steps of an estimate: the bounds of each piece within a share of the time, and the beginning of its search.

    trials: what was seen of the pieces; none of them is solved, all are given up.
    """

    def __init__(self, component: Component, k: int, context: Context, commits: Commits, seconds: float) -> None:
        super().__init__(component, k, context, commits)
        self._deadline = self._until = Deadline.after(seconds, cpu_clock)
        self._guide: Guide | None = None
        families = sum(map(len, component.costs))
        self._trial = Trial(component.size, families, self.part.upper_bound, self.part.lower_bound)
        self.trials: list[Trial] = []

    def finish(self, part: Part) -> list[Trial]:
        """What was seen, when this has come of the pieces."""
        if part.proved:
            return [*self.trials, replace(self._trial, lower_bound=part.upper_bound)]
        return self.trials

    def bound(self, search: PieceSearch) -> tuple[PieceSearch, Guided]:
        """Find the bounds of a piece, as far as the time allows."""
        share = self._deadline.remaining() / sum(piece.order is None and not piece.given_up for piece in search.pieces)
        self._until = Deadline.after(share, cpu_clock)
        reached = [Bounding(search.piece.left, search.piece.multipliers)]

        def on_step(bounding: Bounding) -> float:
            reached.append(bounding)
            return math.inf  # an estimate tells nobody

        until = _until(Deadline.after(BOUND_SHARE * share, cpu_clock), self.context.workers.stop, self.context)
        with contextlib.suppress(Stopped), until as limited:
            search, found = self.guided(search, reached[0], limited, on_step, lambda *given: None)
            self._guide = found.guide
            return search, found
        self._guide = next((one.guide for one in reversed(reached) if one.guide is not None), None)
        search = search.bounded(reached[-1])
        self.raise_bound(search.lower_bound)
        return search, Guided(reached[-1].unguided)

    def solve(self, search: PieceSearch, guide: Guide) -> Piece:
        """See the beginning of the search of a piece, which is given up then."""
        trial = replace(
            self._trial,
            variables=len(search.piece.variables),
            families=sum(map(len, search.piece.left.costs)),
            lower_bound=min(self.part.upper_bound, search.lower_bound),
        )
        with _until(self._until, self.context.workers.stop, self.context) as limited:
            self.trials.append(_tried_piece(trial, self._guide, search.limit, self, limited))
        return replace(search.piece, given_up=True)


def _tried_piece(trial: Trial, guide: Guide | None, limit: float, solving: Solving, context: Context) -> Trial:
    """The trial with what the beginning of the search of a piece showed."""
    if trial.variables > WORD_BITS:
        return replace(trial, unknown=TOO_MANY)
    if guide is None:
        return replace(trial, unknown="the effort ended before it had a bound")
    problem = guided_problem(guide, limit, context)
    layered = context.methods.parent_graph == "layered" or not tables_fit(guide.left.costs, context)
    assert isinstance(problem.parent_graphs, ByteTables), "a trial has sparse parent graphs, and no score cache"
    threads = context.workers.threads
    widest = 0 if not context.methods.patterns else int(problem.rules.groups.width.max())
    tables = sum(array.nbytes for array in problem.parent_graphs)
    fixed = context.shelf.held + fixed_memory(problem, threads)
    fixed += threads * READING_BYTES - tables if layered else 0
    least = max(fixed + least_room(threads), 2 * threads * pattern_bytes(widest))
    trial = replace(trial, layered=layered)
    states = search_layers(problem, context.workers, Room(max(context.memory, least) - fixed))
    seen = _watched(states, trial, problem, solving)
    if seen.forecast is None:
        return replace(trial, unknown="the effort ended before enough layers of its search were seen")
    if math.isinf(search_ns(seen.forecast, guide.left.costs, context)):
        return replace(seen, forecast=None, unknown=HOPELESS)
    return replace(seen, fixed=fixed, least=least)


def _watched(states: Iterable[SearchState], trial: Trial, problem: SearchProblem, solving: Solving) -> Trial:
    """The trial with what a search shows until it is over or stopped, without a forecast if that is too little; the
    observer hears of the states too."""
    began, nodes, edges = clock(), list[int](), list[int]()
    with contextlib.suppress(Stopped):
        for state in states:
            seconds, ended = clock() - began, state.layer.size == len(nodes)
            trial = replace(trial, edge_ns=1e9 * seconds / max(1, state.generated))
            if ended:
                trial = replace(trial, seconds=seconds)
                if state.layer.nodes > max(nodes, default=0):
                    trial = replace(trial, node_bytes=state.layer.memory / state.layer.nodes)
                nodes.append(state.layer.nodes)
                edges.append(state.edges_in)
                solving.raise_bound(min(state.least_f, problem.rules.limit))
            solving.context.observer(layer_told(solving, state, problem, ended))
    found = forecast(nodes, edges[1:], problem.variables)
    return replace(trial, forecast=found) if found.complete or found.seen >= FEWEST_LAYERS else trial
