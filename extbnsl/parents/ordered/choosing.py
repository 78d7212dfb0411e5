"""The parents of every variable among those before it in an order, child by child on all workers.

Or, for every score and all knowledge, by enumerating all families that can win. That is slower than a search child by
child, which knows what parents can gain.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import Observer, StageAdvanced
from extbnsl.data import Data, Dataset, distinct_rows
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.kernels.varsets import unpack
from extbnsl.machine.budgets import too_little_memory
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.constraints import Constraints, constraints_of, under_order
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.parents.ordered.methods import K3, SUZUKI, OrderMethods
from extbnsl.parents.ordered.searches import TIE, branch_and_bound, find_greedily
from extbnsl.scores.cells import Cells, cells_of
from extbnsl.scores.counting import mlogm_table
from extbnsl.scores.known import Known, check_data, score_claimed
from extbnsl.scores.score import ParameterScore, Titled, most_parents

STAGE = "parents"
AHEAD = 4  # tasks per thread
SLOT_BYTES = 150  # of hash tables, counts, sorted keys and the like, for each row


@dataclass(frozen=True)
class OrderProblem:
    """What all children have in common: the data, the variables in their order, the claim's score, what the order and
    the claim leave of parents, methods, m ln m for every number of records, and the search if it is a published one."""

    data: Data
    order: tuple[int, ...]
    score: Titled
    constraints: Constraints
    methods: OrderMethods
    mlogm: NDArray[np.float64]
    search: "Search | None"

    @property
    def dataset(self) -> Dataset:
        """The data of a search child by child, which asks for states."""
        assert isinstance(self.data, Dataset), "others are enumerated"
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


def order_problem(
    data: Data, order: Sequence[int], claim: Claim, methods: OrderMethods, search: "Search | None" = None
) -> OrderProblem:
    """The problem, with the method that "auto" is; InputError if there is no such score, or the order is against the
    knowledge. search: that of the method, if it is a published one to compare with."""
    constraints = under_order(constraints_of(claim, data.names), order, data.names)
    check_data(data, claim)
    assert (methods.method == SUZUKI) == (search is not None), "who asks for it brings it"
    chosen, score = methods.for_claim(claim, data.alike), score_claimed(claim)
    return OrderProblem(data, tuple(order), score, constraints, chosen, mlogm_table(data.records, data.each), search)


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
            for done, choice in enumerate(workers.spread(choose, tasks, AHEAD * workers.threads, keep), start=1):
                keep(choice)
                observer(StageAdvanced(STAGE, done, len(places), "variables", detail=method))
    except Stopped as stop:
        stopped = stop.reason
    return [
        choices.get(child) or _without_parents(problem, place) for place, child in enumerate(problem.order)
    ], stopped


def enumerate_parents(
    problem: OrderProblem, claim: Claim, workers: Workers, memory: int, observer: Observer
) -> tuple[list[Choice], str | None]:
    """A choice for each variable, in the order, and the reason if the enumeration was stopped: then they are the best
    of what was enumerated. `states` are the parent sets that could have won under the order."""
    shelf = Shelf(memory // 2, Store(Path(), 0))
    found = surviving_families(problem.data, claim, Means(workers, shelf, observer), constraints=problem.constraints)
    choices = []
    for child in problem.order:
        costs = found.scores.costs[child]
        best = int(np.argmin(costs))
        parents = unpack(found.scores.parents[child][best])
        choices.append(Choice(child, parents, float(costs[best]), costs.size, found.stopped is None, None))
    return choices, found.stopped


def choose(problem: OrderProblem, method: str, place: int, halt: NDArray[np.uint8]) -> Choice:
    """What the method finds for the child at a place of the order, or what is left of it once halt[0] is 1."""
    child, score = problem.order[place], problem.score
    assert isinstance(score, ParameterScore), "other scores are enumerated"
    before = [v for v in problem.order[:place] if problem.constraints.allowed[v, child]]
    own, most = cells_of(problem.dataset, child), int(problem.constraints.limits[child])
    likely = candidates(problem.dataset, own, before, score)
    arities = sorted(len(problem.dataset.states[v]) for v in likely)
    limit = min(most_parents(score, own, 0.0, arities), most)  # the first is the safe form of Tian's eq. 25
    if limit == 0:
        nothing = _without_parents(problem, place)
        return replace(nothing, states=1, complete=True, trapped=False if problem.methods.exact else None)
    table = child_table(problem.dataset, child, likely, score, problem.mlogm)
    *k3, misfits = find_greedily(limit, halt, table)
    found = greedy = Found(*k3)
    if method != K3 and problem.search is not None and greedy.complete:
        found = Found(*problem.search(limit, min(most, len(likely)), halt, table))
    elif method != K3 and greedy.complete:
        tree = np.argsort(np.round(misfits / TIE), kind="stable")  # rounding errors of equal misfits do not count
        found = Found(*branch_and_bound(greedy.cost, greedy.parents, tree, limit, problem.own, halt, table))
        found = found._replace(states=found.states + greedy.states)  # it needs K3
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


class ChildTable(NamedTuple):
    """A child X and the m candidates for its parents, in the given order, with d weighted distinct rows over them.

    states (m, d) uint16 of the candidates and child (d,) uint16 of X; weights (d,) uint32, whose sum N is below 2^32;
    arities (m,) int64 and child_arity: declared numbers of states; alone: N H(X), in nats; parameter: nats of a free
    parameter; mlogm (N + 1,) float64: m ln m.
    """

    states: NDArray[np.uint16]
    child: NDArray[np.uint16]
    weights: NDArray[np.uint32]
    arities: NDArray[np.int64]
    child_arity: int
    alone: float
    parameter: float
    mlogm: NDArray[np.float64]


# Of at most so many parents that can win, and of so many that may be: what the search for a child's parents finds, as
# `Found` has it.
Search = Callable[[int, int, NDArray[np.uint8], ChildTable], tuple[float, NDArray[np.int64], int, bool]]


def candidates(dataset: Dataset, own: Cells, predecessors: Sequence[int], score: ParameterScore) -> list[int]:
    """Those predecessors, in their order, that can be in a parent set that costs less than the empty one; own: the
    child without parents.

    A constant adds nothing to what is known of the child; and where the penalty of a single parent alone is the cost of
    the empty set, no set with that parent costs less. O(predecessors).
    """
    nothing = score.cost(own)
    arities = [len(dataset.states[v]) for v in predecessors]
    promising = {arity: score.least(replace(own, configurations=arity), 0.0) < nothing for arity in set(arities)}
    hopeful = [v for v, arity in zip(predecessors, arities, strict=True) if promising[arity]]
    first = dataset.codes[0, hopeful]
    differs = (dataset.codes[:, hopeful] != first).any(axis=0)
    return [v for v, varies in zip(hopeful, differs.tolist(), strict=True) if varies]


def child_table(
    dataset: Dataset, child: int, chosen: Sequence[int], score: ParameterScore, mlogm: NDArray[np.float64]
) -> ChildTable:
    """The table of a child and its candidates; O(N m + N log N)."""
    rows, weights = distinct_rows(np.ascontiguousarray(dataset.codes[:, [*chosen, child]]))
    columns = np.ascontiguousarray(rows.T)
    return ChildTable(
        states=columns[:-1],
        child=columns[-1],
        weights=weights.astype(np.uint32),
        arities=np.array([len(dataset.states[v]) for v in chosen], np.int64),
        child_arity=len(dataset.states[child]),
        alone=cells_of(dataset, child).misfit,
        parameter=score.parameter(dataset.total),
        mlogm=mlogm,
    )


def _without_parents(problem: OrderProblem, place: int) -> Choice:
    """The child at a place of the order without parents, of which nothing is known."""
    child = problem.order[place]
    assert isinstance(problem.score, Known), "others are enumerated"
    return Choice(child, (), problem.score.cost(cells_of(problem.dataset, child)), 0, False, None)


def _check_memory(problem: OrderProblem, threads: int, memory: int) -> None:
    """Raise BudgetError if the tables, levels and labels of a child for each thread may take more than the memory."""
    n, rows = len(problem.order), problem.dataset.records
    depth = min(n, rows.bit_length() + 1)
    labels = 4 * n if problem.own else 4
    each = rows * (4 * n + labels + 12 * depth + SLOT_BYTES)
    if each * threads > memory:
        raise BudgetError(too_little_memory("The search under an order", each * threads, memory, threads))
