"""The parents of every variable among those before it in an order, child by child on all workers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import Observer, StageAdvanced
from extbnsl.data import Data, Dataset
from extbnsl.machine.budgets import too_little_memory
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.constraints import Constraints, constraints_of, under_order
from extbnsl.parents.exhaustive.problem import alone
from extbnsl.parents.exhaustive.source import check_kind
from extbnsl.parents.ordered.branch_and_bound import branch_and_bound
from extbnsl.parents.ordered.greedy import Greedy, find_greedily
from extbnsl.parents.ordered.methods import K3, SUZUKI, OrderMethods
from extbnsl.parents.ordered.suzuki import find_by_suzuki
from extbnsl.parents.ordered.table import TIE, ChildTable, candidates, child_table, depth_limit
from extbnsl.scores.counting import mlogm_table
from extbnsl.scores.gaussian import GaussianBIC
from extbnsl.scores.known import Known, score_named
from extbnsl.scores.score import ParameterScore

STAGE = "parents"
AHEAD = 4  # tasks per thread
SLOT_BYTES = 150  # of hash tables, counts, sorted keys and the like, for each row


@dataclass(frozen=True)
class OrderProblem:
    """What all children have in common: the data, the variables in their order, the claim's score, what the order and
    the claim leave of parents, methods, and m ln m for every number of records."""

    data: Data
    order: tuple[int, ...]
    score: Known | GaussianBIC
    constraints: Constraints
    methods: OrderMethods
    mlogm: NDArray[np.float64]

    @property
    def dataset(self) -> Dataset:
        """The data of a search child by child, which asks for states."""
        assert isinstance(self.data, Dataset), "numbers are enumerated"
        return self.data

    @property
    def own(self) -> bool:
        """Whether each state gets a bound of its own."""
        return self.methods.has_own_bounds(self.data.records)


@dataclass(frozen=True)
class Choice:
    """The parents that were found for a child, as ascending variables.

    cost: of the family, in nats. states: the entropy terms that the method asks for, as Tian (2000) counts them.
    complete: whether the method that was asked for came to its end. trapped: whether what K3 finds costs more; None if
    that is not known.
    """

    child: int
    parents: tuple[int, ...]
    cost: float
    states: int
    complete: bool
    trapped: bool | None


def order_problem(data: Data, order: Sequence[int], claim: Claim, methods: OrderMethods) -> OrderProblem:
    """The problem, with the method that "auto" is; InputError if there is no such score, or the order is against the
    knowledge."""
    constraints = under_order(constraints_of(claim, data.names), order, data.names)
    check_kind(data, claim)
    chosen, score = methods.for_claim(claim), score_named(claim.score, claim.ess)
    return OrderProblem(data, tuple(order), score, constraints, chosen, mlogm_table(data.records))


def choose_parents(
    problem: OrderProblem, workers: Workers, memory: int, observer: Observer
) -> tuple[list[Choice], str | None]:
    """A choice for each variable, in the order, and the reason if the search was stopped.

    K3 goes over all children first, so that a stop leaves a good network; then an exact method does, the children with
    the fewest predecessors first, so that as many as possible are finished. A child that nothing was done for has no
    parents. Raises BudgetError if `memory`, in bytes, does not do. Beside what the methods take, a child takes
    O(N log N) for each 64 bits of a row.
    """
    _check_memory(problem, workers.threads, memory)
    places = range(len(problem.order))
    choices: dict[int, Choice] = {}

    def keep(choice: Choice) -> None:
        before = choices.get(choice.child)
        if before is None or choice.complete or choice.cost <= before.cost:
            choices[choice.child] = choice

    stopped = None
    try:
        for method in dict.fromkeys((K3, problem.methods.method)):
            tasks = ((problem, method, place, workers.halt) for place in places)
            for done, choice in enumerate(workers.stream(choose, tasks, AHEAD * workers.threads, keep), start=1):
                keep(choice)
                observer(StageAdvanced(STAGE, done, len(places), "variables", detail=method))
    except Stopped as stop:
        stopped = stop.reason
    return [
        choices.get(child) or _without_parents(problem, place) for place, child in enumerate(problem.order)
    ], stopped


def choose(problem: OrderProblem, method: str, place: int, halt: NDArray[np.uint8]) -> Choice:
    """What the method finds for the child at a place of the order, or what is left of it once halt[0] is 1."""
    child, score = problem.order[place], problem.score
    assert isinstance(score, ParameterScore), "other scores are enumerated"
    before = [v for v in problem.order[:place] if problem.constraints.allowed[v, child]]
    likely = candidates(problem.dataset, child, before, score)
    limit = depth_limit(problem.dataset, child, likely, score, int(problem.constraints.limits[child]))
    if limit == 0:
        nothing = _without_parents(problem, place)
        return replace(nothing, states=1, complete=True, trapped=False if problem.methods.exact else None)
    table = child_table(problem.dataset, child, likely, score, problem.mlogm)
    greedy = Greedy(*find_greedily(limit, halt, table))
    found = _after(greedy) if method == K3 else _exact(problem, child, method, greedy, limit, halt, table)
    parents = tuple(sorted(likely[q] for q in found.parents.tolist()))
    better = found.cost < greedy.cost - TIE
    trapped = None if method == K3 or not (found.complete or better) else better
    complete = found.complete and method == problem.methods.method
    return Choice(child, parents, found.cost, found.states, complete, trapped)


class Found(NamedTuple):
    """What a method found: the cost in nats, the parents as numbers of candidates, int64, the states, and whether it
    came to its end."""

    cost: float
    parents: NDArray[np.int64]
    states: int
    complete: bool


def _after(greedy: Greedy) -> Found:
    """What K3 found, and no more."""
    return Found(greedy.cost, greedy.parents, greedy.terms, greedy.complete)


def _exact(
    problem: OrderProblem,
    child: int,
    method: str,
    greedy: Greedy,
    limit: int,
    halt: NDArray[np.uint8],
    table: ChildTable,
) -> Found:
    """What an exact method finds after K3; K3's terms are states of the method that needs it."""
    if not greedy.complete:
        return _after(greedy)
    if method == SUZUKI:
        most = int(problem.constraints.limits[child])
        return Found(*find_by_suzuki(limit, min(most, len(table.arities)), halt, table))
    tree = np.argsort(np.round(greedy.alone / TIE), kind="stable")  # rounding errors of equal misfits do not count
    found = Found(*branch_and_bound(greedy.cost, greedy.parents, tree, limit, problem.own, halt, table))
    return found._replace(states=found.states + greedy.terms)


def _without_parents(problem: OrderProblem, place: int) -> Choice:
    """The child at a place of the order without parents, of which nothing is known."""
    child = problem.order[place]
    assert not isinstance(problem.score, GaussianBIC), "numbers are enumerated"
    return Choice(child, (), problem.score.cost(alone(problem.dataset, child)), 0, False, None)


def _check_memory(problem: OrderProblem, threads: int, memory: int) -> None:
    """Raise BudgetError if the tables, levels and labels of a child for each thread may take more than the memory."""
    n, rows = len(problem.order), problem.dataset.records
    depth = min(n, rows.bit_length() + 1)
    labels = 4 * n if problem.own else 4
    each = rows * (4 * n + labels + 12 * depth + SLOT_BYTES)
    if each * threads > memory:
        raise BudgetError(too_little_memory("The search under an order", each * threads, memory, threads))
