"""From a data set to its surviving families: prepare the columns, enumerate, and give the names back."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.claims import MEMORY_LIMIT
from extbnsl.data import Dataset, distinct_rows
from extbnsl.events import Observer
from extbnsl.files.shelf import Shelf
from extbnsl.kernels.varsets import renumber, words
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.by_child import enumerate_depth_first
from extbnsl.parents.exhaustive.by_level import CountingProblem, enumerate_families
from extbnsl.parents.exhaustive.state import Enumeration
from extbnsl.scores.cells import Cells
from extbnsl.scores.counting import counting_table
from extbnsl.scores.local import LocalScores, canonical_order
from extbnsl.scores.mdl import MDL
from extbnsl.scores.score import ParameterScore, most_parents, penalty_of


@dataclass(frozen=True)
class Survivors:
    """The families that can win, as far as they are known.

    least (n,) float64: a lower bound of the cost of any family of each child. stopped: why the enumeration ended
    early, None if every parent set has been judged. varsets, families: how many were counted and found.
    """

    scores: LocalScores
    least: NDArray[np.float64]
    stopped: str | None
    varsets: int


def surviving_families(
    dataset: Dataset,
    max_parents: int | None,
    workers: Workers,
    shelf: Shelf,
    observer: Observer,
    begun: Enumeration | None = None,
    on_size: Callable[[Enumeration], None] = lambda found: None,
    score: ParameterScore = MDL,
) -> Survivors:
    """The families of `dataset` that can be in an optimal network by this score; `max_parents` limits them further.

    Goes on from `begun`, which is what on_size got in a call before: what is known after each size of parent sets. A
    begun enumeration without a level goes on child by child. on_size may raise Stopped.

    A variable that never varies takes no parents and is none: as a parent it adds to the penalty and tells nothing.
    """
    order = _varying(dataset)
    if order.size == 0:
        found = Enumeration((), (), complete_to=0, done=True)
        return _named(dataset, order, found, np.zeros(0), (score, max_parents), shelf)
    problem = _counting_problem(dataset, order, score, max_parents)
    found = _enumerated(problem, workers, shelf, observer, begun, on_size)
    return _named(dataset, order, found, _least(problem, found), (score, max_parents), shelf)


def counting_limits(dataset: Dataset, max_parents: int | None, score: ParameterScore = MDL) -> NDArray[np.int64]:
    """How many parents a family that can win has at most, for each variable that varies: int64."""
    order = _varying(dataset)
    return _counting_problem(dataset, order, score, max_parents).limits if order.size else np.zeros(0, np.int64)


def _varying(dataset: Dataset) -> NDArray[np.int64]:
    """The variables that have more than one state in the data, in ascending arity."""
    varying = [v for v in range(dataset.variables) if dataset.codes[:, v].min() != dataset.codes[:, v].max()]
    return np.array(sorted(varying, key=lambda v: (dataset.arities[v], v)), dtype=np.int64)


def _enumerated(
    problem: CountingProblem,
    workers: Workers,
    shelf: Shelf,
    observer: Observer,
    begun: Enumeration | None,
    on_size: Callable[[Enumeration], None],
) -> Enumeration:
    """All families that can win: by the shared table of joint entropies while the shelf has room, then child by
    child."""
    if begun is None or begun.level is not None:
        begun = enumerate_families(problem, workers, shelf, observer, begun, on_size)
        if begun.done or begun.stopped != MEMORY_LIMIT:
            return begun
    return enumerate_depth_first(problem, replace(begun, stopped=None), workers, shelf, observer, on_size)


def _counting_problem(
    dataset: Dataset, order: NDArray[np.int64], score: ParameterScore, max_parents: int | None
) -> CountingProblem:
    rows, weights = distinct_rows(np.ascontiguousarray(dataset.codes[:, order]))
    arities = dataset.arities[order]
    table = counting_table(rows, weights, arities)
    floors = np.array([_floor(rows, weights, x, table.mlogm) for x in range(order.size)])
    limits = np.zeros(order.size, dtype=np.int64)
    for x, variable in enumerate(order.tolist()):
        others = (arity for y, arity in enumerate(arities.tolist()) if y != x)
        limit = most_parents(score, _alone(dataset, variable), floors[x], others)
        limits[x] = limit if max_parents is None else min(limit, max_parents)
    return CountingProblem(table, limits, floors, score.parameter(dataset.records))


def _floor(rows: NDArray, weights: NDArray[np.int64], x: int, mlogm: NDArray[np.float64]) -> float:
    """N H(X | all other variables) in nats, a little less for rounding."""
    others = np.delete(rows, x, axis=1)
    if others.shape[1] == 0:
        return 0.0
    _, group = np.unique(others, axis=0, return_inverse=True)
    together = np.bincount(group.ravel(), weights=weights).astype(np.int64)
    return max(0.0, float(mlogm[together].sum() - mlogm[weights].sum()) * (1 - 1e-12) - 1e-9)


def _least(problem: CountingProblem, found: Enumeration) -> NDArray[np.float64]:
    """Per child the cheapest family found, or what a larger parent set that was not judged could cost at least."""
    arities = problem.table.arities
    least = np.array([costs[0] if costs.size else math.inf for costs in found.costs])
    if found.done:
        return least
    for x in range(least.size):
        states = math.prod(np.delete(arities, x)[: found.complete_to + 1].tolist())
        least[x] = min(least[x], problem.floors[x] + penalty_of(problem.parameter, int(arities[x]), states))
    return least


def _named(
    dataset: Dataset,
    order: NDArray[np.int64],
    found: Enumeration,
    least: NDArray[np.float64],
    claim: tuple[ParameterScore, int | None],
    shelf: Shelf,
) -> Survivors:
    """Translate from the positions in `order` to the data set's variables; where nothing was found (constant
    variables, or an enumeration that ended at once) there is the empty set alone."""
    n = dataset.variables
    score, max_parents = claim
    parents = [np.zeros((1, words(n)), dtype=np.uint64) for _ in range(n)]
    costs = [np.array([score.cost(_alone(dataset, v))]) for v in range(n)]
    all_least = np.concatenate(costs)
    for position, child in enumerate(order.tolist()):
        if found.costs[position].size:
            varsets = renumber(found.parents[position], order, n)
            rows = canonical_order(varsets, found.costs[position])
            parents[child] = shelf.put(np.ascontiguousarray(varsets[rows]))
            costs[child] = shelf.put(found.costs[position][rows])
        all_least[child] = least[position]
    scores = LocalScores(dataset.names, tuple(parents), tuple(costs), score.name, max_parents)
    return Survivors(scores, all_least, None if found.done else found.stopped, found.varsets)


def _alone(dataset: Dataset, variable: int) -> Cells:
    """A variable without parents."""
    return Cells(np.bincount(dataset.codes[:, variable])[None, :], int(dataset.arities[variable]), 1.0)
