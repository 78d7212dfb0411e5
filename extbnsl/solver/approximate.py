"""A network of low cost, of thousands of variables, within a time: parent sets are explored, then orders searched."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from extbnsl.claims import HEURISTIC, TIME_LIMIT, Claim
from extbnsl.data import Dataset
from extbnsl.errors import BudgetError
from extbnsl.events import Begun, IncumbentFound, Observer, Warned, ignore
from extbnsl.figures import in_full
from extbnsl.kernels.compiler import cache_warning
from extbnsl.machine.budgets import Budgets, Deadline, Granted, too_little_memory
from extbnsl.machine.workers import StopSignal, Workers, never
from extbnsl.networks.network import Network
from extbnsl.orders.parent_lists import OwnFamilies, ParentLists, lists_of_scores, parent_lists
from extbnsl.orders.population import OrderedNetwork, search_lists
from extbnsl.parents.explored.explore import (
    ALL,
    MOST_PARENTS,
    Effort,
    Exploration,
    Explored,
    exploration,
    explored_families,
)
from extbnsl.proof.stages import Stages
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.scores.score import penalty_of
from extbnsl.solver.families import given_scores, warnings_of
from extbnsl.solver.found import FoundNetwork, Spent, bounds_of_children, result_of_found
from extbnsl.solver.methods import ApproximateMethods

TIME = 60.0  # seconds, unless others are given
EXPLORING = 0.5  # of the time, for parent sets
PAIRS = 0.25  # of what a child gets, for all pairs of parents, where that does
SET_SECONDS, RECORD_SECONDS = 2e-6, 2e-9  # to score a pair: for each, and for each record
BOUNDING = 0.05  # of the time, for the lower bound, where that does
BOUND_SECONDS = 50e-9  # for each record and variable, at most
FAMILY_BYTES = 256  # that a family takes as it is found, in the lists, and while these are made
FEW_VARIABLES, FEW_ROUNDS = 12, 5  # whose best order is found in so many rounds


@dataclass(frozen=True)
class Families:
    """What is searched: the families, what every network costs at least, and for how many of the children there are no
    others that could win."""

    lists: ParentLists
    lower_bound: float
    complete: int


def approximate_network(
    problem: Dataset | LocalScores,
    claim: Claim = Claim(),
    methods: ApproximateMethods = ApproximateMethods(),
    budgets: Budgets = Budgets(time_limit=TIME),
    *,
    observer: Observer = ignore,
    stop: StopSignal = never,
) -> Result:
    """The best network that is found within the time limit, or TIME.

    The status is 'heuristic' when the time is used, or for few variables after some rounds. `stop` is polled; a reason
    other than None ends the search with that status and the best network so far. The lower bound holds for every
    network. The observer hears of each child that is explored, and of each better network. Raises InputError for
    unusable arguments, BudgetError if the memory does not do.
    """
    for value in (claim, methods, budgets):
        value.check()
    granted = replace(budgets, disk=0, time_limit=budgets.time_limit or TIME).granted(Path())
    given = problem if isinstance(problem, Dataset) else given_scores(problem, claim)
    stages, deadline, spent = Stages(observer, {}), granted.deadline(), Spent.from_now()
    observer(Begun())
    for message in (*warnings_of(given), *filter(None, [cache_warning()])):
        observer(Warned(message))
    with Workers(granted.threads, lambda: stop() or (TIME_LIMIT if deadline.passed() else None)) as workers:
        if isinstance(given, Dataset):
            families = _explored(given, claim, methods.selection, (granted, deadline, workers), stages)
        else:
            families = _given(given)
        best = _searched(families.lists, methods, workers, stages)
        interrupted = stop()
    network, order = Network(given.names, best.parents), tuple(best.order.tolist())
    found = FoundNetwork(network, order, best.cost, families.lower_bound)
    result = result_of_found(given, found, claim, stages)
    counted = {"parent_sets": families.lists.costs.size, "explored_whole": families.complete}
    return replace(
        result,
        status=interrupted or HEURISTIC,
        seed=methods.seed,
        digest=problem.fingerprint,  # not that of what --max-parents leaves of local scores
        stats={**result.stats, **counted, **spent.so_far()},
        options=claim.document() | methods.document() | granted.document(),
    )


def _given(scores: LocalScores) -> Families:
    """The families of local scores, which are all that there are."""
    least = math.fsum(float(costs[0]) for costs in scores.costs)
    return Families(lists_of_scores(scores), least, scores.variables)


def _explored(
    dataset: Dataset, claim: Claim, selection: str, means: tuple[Granted, Deadline, Workers], stages: Stages
) -> Families:
    """The families that an exploration finds in its share of the time."""
    granted, deadline, workers = means
    n, threads = dataset.variables, granted.threads
    seconds = EXPLORING * deadline.remaining() * threads / n
    bounds = _bounds(dataset, claim, deadline, workers)
    whole = 2 if _has_time_for_pairs(dataset, claim, seconds) else 1
    problem = exploration(dataset, selection, claim.score, claim.max_parents, whole)
    room = (granted.memory - sum(array.nbytes for array in problem.data)) // 2
    if room < n * FAMILY_BYTES:
        raise BudgetError(too_little_memory("Exploring parent sets", 4 * n * FAMILY_BYTES, granted.memory, threads))
    effort = Effort(seconds=seconds, families=room // (n * FAMILY_BYTES))
    detail = f"exploring those of {in_full(n, 'variable')}"
    with stages.stage("parents", detail) as summary:
        explored = explored_families(problem, effort, workers, room, observer=stages.observer)
        scored, whole = sum(own.scored for own in explored), sum(own.ended == ALL for own in explored)
        lists = parent_lists(map(_own_families, explored))
        summary.append(
            f"{in_full(scored, 'set')} scored, {lists.costs.size:,} kept; all for {in_full(whole, 'child', 'children')}"
        )
    lower_bound = math.fsum(max(least, _proved(own, problem)) for least, own in zip(bounds, explored, strict=True))
    return Families(lists, lower_bound, whole)


def _own_families(explored: Explored) -> OwnFamilies:
    own = explored.families
    return own.costs, np.diff(own.starts), own.parents.astype(np.int64)


def _proved(own: Explored, problem: Exploration) -> float:
    """What a family of the child costs at least, in nats, as its exploration proves; zero if it did not end.

    Larger sets than any that are explored cost at least their penalty: of constants, which have one state, nothing is
    gained.
    """
    if own.ended != ALL:
        return 0.0
    beyond = penalty_of(problem.parameter, int(problem.data.arities[own.child]), 2.0 ** (MOST_PARENTS + 1))
    return min(float(own.families.costs[0]), beyond)


def _bounds(dataset: Dataset, claim: Claim, deadline: Deadline, workers: Workers) -> list[float]:
    """What a family of each child costs at least, as good as a small share of the time affords."""
    estimated = BOUND_SECONDS * dataset.records * dataset.variables / workers.threads
    if estimated <= BOUNDING * deadline.remaining():
        return bounds_of_children(dataset, claim, workers)
    return [0.0] * dataset.variables


def _has_time_for_pairs(dataset: Dataset, claim: Claim, seconds: float) -> bool:
    """Whether all pairs of parents of a child can be scored in a share of its time."""
    pairs = dataset.variables**2 / 2
    needed = pairs * (SET_SECONDS + RECORD_SECONDS * dataset.records)
    return claim.max_parents not in (0, 1) and needed <= PAIRS * seconds


def _searched(lists: ParentLists, methods: ApproximateMethods, workers: Workers, stages: Stages) -> OrderedNetwork:
    """The best network that the search over orders finds until the workers are told to stop."""
    rounds = FEW_ROUNDS if lists.variables <= FEW_VARIABLES else None
    with stages.stage("incumbent", f"searching orders of {in_full(lists.variables, 'variable')}") as summary:
        best = search_lists(
            lists,
            workers,
            methods.seed,
            lambda cost: stages.observer(IncumbentFound(cost)),
            method=methods.search,
            rounds=rounds,
        )
        summary.append(f"cost {best.cost:.6f}")
    return best
