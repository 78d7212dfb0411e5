"""From a data set to its surviving families: prepare the columns, enumerate, and give the names back."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from extbnsl.claims import MEMORY_LIMIT, Claim
from extbnsl.data import Dataset
from extbnsl.events import Observer
from extbnsl.files.shelf import Shelf
from extbnsl.kernels.ranks import binomial_table
from extbnsl.kernels.varsets import as_varsets, renumber, words
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.best_score import as_bytes
from extbnsl.parents.constraints import Constraints, constraints_of
from extbnsl.parents.exhaustive.by_child import enumerate_depth_first
from extbnsl.parents.exhaustive.by_level import OnProgress, enumerate_families, lowest_level, rules_of
from extbnsl.parents.exhaustive.cell_lattice import least_cells
from extbnsl.parents.exhaustive.cells_by_child import enumerate_between, levels_worthwhile
from extbnsl.parents.exhaustive.lattice import collect_parents
from extbnsl.parents.exhaustive.problem import (
    CountingProblem,
    Group,
    alone,
    cells_with,
    counting_problem,
    for_group,
    groups_of,
    varying,
    with_floors,
    with_limits,
)
from extbnsl.parents.exhaustive.single_parents import with_single_parents
from extbnsl.parents.exhaustive.state import Enumeration, start_enumeration
from extbnsl.scores.known import score_of
from extbnsl.scores.local import LocalScores, canonical_order
from extbnsl.scores.score import penalty_of

MOST_ALIVE = 20_000_000  # words of a level that are looked through when counting has been stopped: a second


@dataclass(frozen=True)
class Survivors:
    """The families that can win, or are within the slack that was asked for, as far as they are known.

    least (n,) float64: a lower bound of the cost of any family of each child. stopped: why the enumeration ended
    early, None if every parent set has been judged. varsets: how many were counted.
    """

    scores: LocalScores
    least: NDArray[np.float64]
    stopped: str | None
    varsets: int


def surviving_families(
    dataset: Dataset,
    claim: Claim,
    workers: Workers,
    shelf: Shelf,
    observer: Observer,
    begun: Enumeration | None = None,
    on_progress: OnProgress = lambda found: None,
    slack: float = 0.0,
    constraints: Constraints | None = None,
) -> Survivors:
    """The families of `dataset` that can be in an optimal network by the claim's score and within its limit.

    With a slack, in nats, all that can be in a network that costs at most so much more: the families that cost at most
    so much more than the cheapest of their subsets. One that costs as much more as the slack is among them, and up to
    rounding (`with_rounding`) one that costs a little more.

    constraints: which families are allowed, if they are others than the claim says.

    Goes on from `begun`, which is what on_progress got in a call before, of the same slack: what is known after each
    task. A begun enumeration without a level goes on child by child. on_progress may raise Stopped. Children that
    must have parents are judged with all others, or in groups after them (`groups_of`).

    A variable that never varies takes no parents but those that it must have and is none, whatever the slack: it tells
    nothing. (As a parent it may cost nothing either; whoever wants all networks must add it.) By scores of cells that
    is so of variables of one declared state.
    """
    order = varying(dataset, score_of(claim))
    constraints = constraints or constraints_of(claim, dataset.names)
    if order.size == 0:
        found = Enumeration((), (), complete_to=0, done=True)
        return _named(dataset, order, found, np.zeros(0), claim, constraints, shelf)
    problem = counting_problem(dataset, order, claim, slack, constraints)
    counting = _Counting(problem, dataset, claim, order, workers, shelf, observer, on_progress, constraints)
    found = begun or start_enumeration(order.size)
    by_level = begun is None or begun.level is not None or (begun.group > 0 and begun.complete_to < 0)
    try:
        if not found.singles:
            found = counting.begun(problem, found)
        if found.stopped is None:
            problem = with_floors(problem, workers)
            found = counting.enumerated(problem, found, by_level)
    except Stopped as stop:
        found = replace(found, stopped=stop.reason)
    return _named(dataset, order, found, counting.least(problem, found), claim, constraints, shelf)


@dataclass(frozen=True)
class _Counting:
    """What all groups have in common. whole: the problem of all children, of which no floors are known."""

    whole: CountingProblem
    dataset: Dataset
    claim: Claim
    order: NDArray[np.int64]
    workers: Workers
    shelf: Shelf
    observer: Observer
    on_progress: OnProgress
    constraints: Constraints

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        return groups_of(self.whole, self.dataset, self.order, self.claim, self.constraints)

    def problem_of(self, problem: CountingProblem, group: Group) -> CountingProblem:
        return for_group(problem, self.dataset, self.order, self.claim, self.constraints, group)

    def begun(self, problem: CountingProblem, found: Enumeration) -> Enumeration:
        """The beginning, with the cheapest single parents of all children; stopped if the workers are."""
        for group in self.groups:
            found = with_single_parents(self.problem_of(problem, group), self.workers, self.shelf, found)
            if found.stopped is not None:
                return replace(found, singles=False)
        return found

    def enumerated(self, problem: CountingProblem, found: Enumeration, by_level: bool) -> Enumeration:
        """All families that are wanted, or those until the enumeration is stopped."""
        for number in range(found.group, len(self.groups)):
            group = self.groups[number]
            own = self.problem_of(problem, group)
            own = with_limits(own, self.dataset, self.order, self.claim, self.workers, self.constraints)
            found = self._of_group(own, found, by_level)
            if not found.done or number + 1 == len(self.groups):
                break
            found = replace(found, complete_to=-1, done=False, group=number + 1)
            by_level = True
        return found

    def _of_group(self, problem: CountingProblem, found: Enumeration, by_level: bool) -> Enumeration:
        """All families of a group: by the shared table of joint entropies, or figures, while the shelf has room, then
        child by child. By scores with a Dirichlet prior child by child as well where the levels have too many varsets;
        by others of cells by level alone."""
        form = problem.form
        prior = form is not None and form.by_cells
        levels = levels_worthwhile(problem) if prior else None
        if by_level or (form is not None and not prior):
            given = problem, self.workers, self.shelf, self.observer, found, self.on_progress, levels
            found = enumerate_families(*given)
            if found.done or found.stopped not in (None, MEMORY_LIMIT) or (form is not None and not prior):
                return found
        found = replace(found, stopped=None)
        by_child = enumerate_between if prior else enumerate_depth_first
        return by_child(problem, found, self.workers, self.shelf, self.observer, self.on_progress)

    def least(self, problem: CountingProblem, found: Enumeration) -> NDArray[np.float64]:
        """What a family of each child costs at least."""
        least = np.array([costs[0] if costs.size else math.inf for costs in found.costs])
        if found.done:
            return least
        own = self.problem_of(problem, self.groups[found.group])
        children = own.limits >= 0
        least[children] = _least(own, found)[children]
        later = {child for group in self.groups[found.group + 1 :] for child in group.children}
        score, begun = score_of(self.claim), found.children or found.ahead
        size = found.level.size if found.level is not None and found.level.alive.size <= MOST_ALIVE else 0
        for x, child in enumerate(self.order.tolist()):
            must = self.constraints.parents_required(child)
            unborn = children[x] and not begun and own.required[:, x].sum() >= max(1, size)
            if child in later or unborn:  # the level tells nothing of its parent sets
                cells = cells_with(self.dataset, child, must)
                least[x] = min(least[x], score.least(cells, float(problem.floors[x])))
        return least


def counting_limits(dataset: Dataset, claim: Claim) -> NDArray[np.int64]:
    """How many parents a family that can win has at most, for each variable that varies, if no more is known: int64."""
    order = varying(dataset, score_of(claim))
    if order.size == 0:
        return np.zeros(0, np.int64)
    constraints = constraints_of(claim, dataset.names)
    problem = counting_problem(dataset, order, claim, 0.0, constraints)
    limits = np.zeros(order.size, np.int64)
    with Workers(1) as unstoppable:
        for group in groups_of(problem, dataset, order, claim, constraints):
            own = for_group(problem, dataset, order, claim, constraints, group)
            own = with_limits(own, dataset, order, claim, unstoppable, constraints)
            limits = np.where(own.limits >= 0, own.limits, limits)
    return limits


def _least(problem: CountingProblem, found: Enumeration) -> NDArray[np.float64]:
    """Per child of a problem the cheapest family found, or what a parent set that was not judged could cost at least.

    That is N H(X | all others) and the least penalty of such a set: it has more members than those judged, all of them
    among the parents that the child may still have.
    """
    least = np.array([costs[0] if costs.size else math.inf for costs in found.costs])
    if problem.form is not None:
        return np.minimum(least, _least_by_cells(problem, found))
    arities = problem.table.arities
    for x, parents, size in _unjudged(problem, found):
        if size <= min(parents.size, int(problem.limits[x])):
            states = math.prod(arities[parents[:size]].tolist())  # arities ascend
            least[x] = min(least[x], problem.floors[x] + penalty_of(problem.parameter, int(arities[x]), states))
    return least


def _least_by_cells(problem: CountingProblem, found: Enumeration) -> NDArray[np.float64]:
    """What a family that was not judged costs at least: its parents include a varset of the level at which the child
    is alive, or, if the level is not known or too large, any. Of a child that the search child by child is through
    with, none is left."""
    level, n = found.level, problem.limits.size
    rules, least = rules_of(problem), np.zeros(n)
    if level is None or level.alive.size > MOST_ALIVE:
        level = lowest_level(problem)
    least_cells(level.size, level.here, level.alive, rules, least)
    if found.children:
        least[sorted(set(range(n)) - {child.index for child in found.children})] = math.inf
    return least


def _unjudged(problem: CountingProblem, found: Enumeration) -> Iterator[tuple[int, NDArray[np.int64], int]]:
    """The children with parent sets that were not judged, the parents that these may have, ascending, and their least
    size; of the parents as many as that are enough."""
    n, size = problem.limits.size, found.complete_to + 1
    if found.children or found.ahead:
        begun = [(child, size) for child in found.children] + [(child, size + 1) for child in found.ahead]
        for child, least in begun:
            own = np.union1d(child.variables, np.flatnonzero(problem.required[:, child.index]))
            yield child.index, own, least
        return
    least, level = max(size, found.known_to + 1), found.level
    if level is None or size < 2 or level.alive.size > MOST_ALIVE:
        first = np.arange(min(n, least + 1))  # the others follow from these
        yield from ((x, first[first != x], least) for x in range(n))
        return
    possible = np.zeros((n, words(n)), np.uint64)
    collect_parents(level.size, level.here.places, level.alive, binomial_table(n, level.size), possible)
    for x in range(n):
        yield x, np.flatnonzero(np.unpackbits(as_bytes(possible[x]), count=n, bitorder="little")), least


def _named(
    dataset: Dataset,
    order: NDArray[np.int64],
    found: Enumeration,
    least: NDArray[np.float64],
    claim: Claim,
    constraints: Constraints,
    shelf: Shelf,
) -> Survivors:
    """Translate from the positions in `order` to the data set's variables, with the parents that must be; where nothing
    was found (constant variables, or an enumeration that ended at once) there are these alone."""
    n, score = dataset.variables, score_of(claim)
    must = as_varsets(constraints.required.T)
    parents: list[NDArray[np.uint64]] = [must[v : v + 1] for v in range(n)]
    costs: list[NDArray[np.float64]] = [np.zeros(0)] * n
    all_least = np.full(n, math.inf)
    for position, child in enumerate(order.tolist()):
        all_least[child] = least[position]
        if found.costs[position].size:
            varsets = renumber(found.parents[position], order, n) | must[child]
            rows = canonical_order(varsets, found.costs[position])
            parents[child] = shelf.put(np.ascontiguousarray(varsets[rows]))
            costs[child] = shelf.put(found.costs[position][rows])
    for v in (v for v in range(n) if costs[v].size == 0):
        own = constraints.parents_required(v)
        costs[v] = np.array([score.cost(cells_with(dataset, v, own) if own else alone(dataset, v))])
        all_least[v] = min(all_least[v], float(costs[v][0]))
    named = replace(claim, score=score.name, ess=score.ess)
    scores = LocalScores(dataset.names, tuple(parents), tuple(costs), named)
    return Survivors(scores, all_least, None if found.done else found.stopped, found.varsets)
