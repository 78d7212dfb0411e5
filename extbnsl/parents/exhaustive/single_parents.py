"""The families with one parent, before all others: a network and a bound follow from them if counting is stopped."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.files.shelf import Shelf
from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inner, njit
from extbnsl.kernels.varsets import WORD_BITS, words
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.exhaustive.problem import CountingProblem
from extbnsl.parents.exhaustive.state import Enumeration, start_enumeration
from extbnsl.scores.formula import clear, cost_of_tallies, new_tally, tally_cell
from extbnsl.scores.local import canonical_order
from extbnsl.scores.penalty import family_penalty, grown

MOST_PARENTS = 16  # of a child: the cheapest are enough until all families are judged
SHARE = 1 / 8  # of the shelf's memory that they may take


def with_single_parents(problem: CountingProblem, workers: Workers, shelf: Shelf) -> Enumeration:
    """An enumeration at its beginning that holds the empty set of each child and its cheapest single parents.

    The problem's slack makes no difference: these are for a network and a bound, and those that are within the slack
    are found with all others. If the workers are stopped, it says so and holds those of some children. Time: about a
    nanosecond per row and pair of variables.
    """
    table = problem.table
    n = problem.limits.size
    most = max(1, min(MOST_PARENTS, int(shelf.memory * SHARE) // (8 * n * (words(n) + 1))))
    start = start_enumeration(n)
    parents, costs = list(start.parents), list(start.costs)
    shared = table.states, table.weights, table.arities, table.mlogm
    tasks = ((x, int(problem.limits[x]), *shared, problem.parameter) for x in range(n))
    costs_of: Callable[..., NDArray[np.float64]] = _single_costs
    if problem.form is not None:
        costs_of, tasks = _costs_by_cells, ((x, int(problem.limits[x]), *shared, problem.form) for x in range(n))
    try:
        for x, own in enumerate(workers.stream(costs_of, tasks, 4 * workers.threads, lambda own: None)):
            parents[x], costs[x] = map(shelf.put, _cheapest(x, own, most))
    except Stopped as stop:
        return replace(start, parents=tuple(parents), costs=tuple(costs), stopped=stop.reason)
    return replace(start, parents=tuple(parents), costs=tuple(costs), singles=True)


def _cheapest(x: int, costs: NDArray[np.float64], most: int) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """The empty set of a child and at most so many single parents that cost less, in canonical order."""
    n = costs.size
    better = np.flatnonzero(costs < costs[x])
    if better.size > most:
        better = better[np.argpartition(costs[better], most)[:most]]
    chosen = np.append(better, x)
    varsets = np.zeros((chosen.size, words(n)), np.uint64)
    at = np.arange(better.size)
    varsets[at, better // WORD_BITS] = np.uint64(1) << (better % WORD_BITS).astype(np.uint64)
    order = canonical_order(varsets, costs[chosen])
    return varsets[order], costs[chosen][order]


@inner
def _spread(counts, mlogm):
    """The sum of m ln m over these counts."""
    total = 0.0
    for m in counts:
        total += mlogm[m]
    return total


@njit
def _single_costs(x, limit, states, weights, arities, mlogm, parameter):
    """The cost of child X with each single parent, float64 (n,), and at X that of the empty set; infinity where the
    penalty alone is as much as that, or no parent is allowed."""
    n, d = states.shape
    costs = np.full(n, np.inf)
    alone = np.zeros(arities[x], np.int64)
    for i in range(d):
        alone[states[x, i]] += weights[i]
    penalty = family_penalty(parameter, arities[x], 1.0)
    costs[x] = mlogm[mlogm.size - 1] - _spread(alone, mlogm) + penalty
    for y in range(n):
        own = grown(penalty, arities[y])
        if y == x or limit == 0 or own >= costs[x]:
            continue
        parent, both = np.zeros(arities[y], np.int64), np.zeros(arities[y] * arities[x], np.int64)
        for i in range(d):
            parent[states[y, i]] += weights[i]
            both[u64(states[y, i]) * u64(arities[x]) + u64(states[x, i])] += weights[i]
        costs[y] = _spread(parent, mlogm) - _spread(both, mlogm) + own
    return costs


@njit
def _costs_by_cells(x, limit, states, weights, arities, mlogm, form):
    """The same by a formula; infinity where no parent is allowed."""
    n, d = states.shape
    costs = np.full(n, np.inf)
    parents, families = new_tally(mlogm.size), new_tally(mlogm.size)
    for y in range(n):
        if y != x and limit == 0:
            continue
        own = 1 if y == x else arities[y]  # at X the empty set: one state
        parent, both = np.zeros(own, np.int64), np.zeros(own * arities[x], np.int64)
        for i in range(d):
            at = u64(0) if y == x else u64(states[y, i])
            parent[at] += weights[i]
            both[at * u64(arities[x]) + u64(states[x, i])] += weights[i]
        clear(parents)
        clear(families)
        for m in parent:
            tally_cell(m, parents)
        for m in both:
            tally_cell(m, families)
        costs[y] = cost_of_tallies(parents, families, float(own), x, form)
    return costs
