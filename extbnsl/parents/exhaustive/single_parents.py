"""The families with one parent, before all others: a network and a bound follow from them if counting is stopped."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.files.shelf import Shelf
from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inner, njit
from extbnsl.kernels.varsets import WORD_BITS, as_varsets, words
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.exhaustive.problem import CountingProblem, of_child
from extbnsl.parents.exhaustive.state import Enumeration, start_enumeration
from extbnsl.scores.determinants import LEAST, Moments, given
from extbnsl.scores.formula import clear, cost_of_tallies, new_tally, tally_cell
from extbnsl.scores.local import canonical_order
from extbnsl.scores.penalty import family_penalty, grown

MOST_PARENTS = 16  # of a child: the cheapest are enough until all families are judged
SHARE = 1 / 8  # of the shelf's memory that they may take


def with_single_parents(
    problem: CountingProblem, workers: Workers, shelf: Shelf, begun: Enumeration | None = None
) -> Enumeration:
    """An enumeration at its beginning that holds the empty set of each child and its cheapest single parents, both with
    those that it must have.

    Of children that the problem does not have it keeps what `begun` holds. The problem's slack makes no difference:
    these are for a network and a bound, and those that are within the slack are found with all others. If the workers
    are stopped, it says so and holds those of some children. Time: about a nanosecond per row and pair of variables.
    """
    n = problem.limits.size
    most = max(1, min(MOST_PARENTS, int(shelf.memory * SHARE) // (8 * n * (words(n) + 1))))
    start = begun or start_enumeration(n)
    parents, costs = list(start.parents), list(start.costs)
    children = np.flatnonzero(problem.limits >= 0).tolist()
    costs_of: Callable[..., NDArray[np.float64]] = _single_costs
    if problem.form is not None:
        costs_of = _costs_by_cells
    elif isinstance(problem.table, Moments):
        costs_of = _costs_by_moments
    tasks = ((*_arguments(x, problem), workers.halt) for x in children)
    must = as_varsets(problem.required.T)
    try:
        found = workers.stream(costs_of, tasks, 4 * workers.threads, lambda own: None)
        for x, own in zip(children, found, strict=True):
            varsets, costs_found = _cheapest(x, own, most)
            parents[x], costs[x] = shelf.put(varsets | must[x]), shelf.put(costs_found)
    except Stopped as stop:
        return replace(start, parents=tuple(parents), costs=tuple(costs), stopped=stop.reason)
    return replace(start, parents=tuple(parents), costs=tuple(costs), singles=True)


def _arguments(x: int, problem: CountingProblem) -> tuple:
    """What costing a child's single parents takes: the table is divided by those that it must have, or given them."""
    must = problem.required[:, x]
    more = problem.allowed[:, x] & ~must & (problem.limits[x] > must.sum())
    if isinstance(problem.table, Moments):
        return x, more, given(problem.table, must), problem.parameter + int(must.sum()) * problem.step, problem.step
    table, states = of_child(problem, x)
    if problem.form is None:
        return x, more, table, problem.parameter * states
    return x, more, table, problem.form, states


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
def _single_costs(x, allowed, table, parameter, halt):
    """The cost of child X with each single parent, float64 (n,), and at X that of the empty set; infinity where the
    penalty alone is as much as that, or a parent is not allowed. Ends early when halt[0] is set."""
    allowed, table, parameter, halt = borrowed((allowed, table, parameter, halt))
    n, arities, mlogm = table.arities.size, table.arities, table.mlogm
    costs = np.full(n, np.inf)
    together, alone = _own_counts(x, table)
    penalty = family_penalty(parameter, arities[x], 1.0)
    costs[x] = _spread(together, mlogm) - _spread(alone, mlogm) + penalty
    for y in range(n):
        if halt[0]:
            break
        own = grown(penalty, arities[y])
        if not allowed[y] or own >= costs[x]:
            continue
        parent, both = _counts(x, y, table)
        costs[y] = _spread(parent, mlogm) - _spread(both, mlogm) + own
    return costs


@inner
def _own_counts(x, table):
    """The records by base, and by base and state of X."""
    together, alone = np.zeros(table.bases, np.int64), np.zeros(table.bases * table.arities[x], np.int64)
    for i in range(table.weights.size):
        together[table.base[i]] += table.weights[i]
        alone[u64(table.base[i]) * u64(table.arities[x]) + u64(table.states[x, i])] += table.weights[i]
    return together, alone


@inner
def _counts(x, y, table):
    """The records by base and state of Y, and by these and state of X."""
    states, base, weights = table.states, table.base, table.weights
    own, arity = u64(table.arities[y]), u64(table.arities[x])
    parent = np.zeros(table.bases * table.arities[y], np.int64)
    both = np.zeros(parent.size * table.arities[x], np.int64)
    for i in range(weights.size):
        at = u64(base[i]) * own + u64(states[y, i])
        parent[at] += weights[i]
        both[at * arity + u64(states[x, i])] += weights[i]
    return parent, both


def _costs_by_moments(
    x: int, allowed: NDArray[np.bool_], table: Moments, parameter: float, step: float, halt: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """The same by determinants, at once; infinity where a parent is not allowed."""
    matrix = table.matrix
    left = matrix[x, x] - np.where(allowed, matrix[x] ** 2 / np.diag(matrix), 0.0)
    costs = table.half * np.log(np.maximum(left, LEAST)) - table.least[x] + parameter + np.where(allowed, step, np.inf)
    costs[x] = table.half * math.log(matrix[x, x]) - table.least[x] + parameter
    return costs


@njit
def _costs_by_cells(x, allowed, table, form, base, halt):
    """The same by a formula, `base` being the joint states of what divides the table; infinity where a parent is not
    allowed."""
    allowed, table, form, base, halt = borrowed((allowed, table, form, base, halt))
    n = table.states.shape[0]
    costs = np.full(n, np.inf)
    parents, families = new_tally(table.mlogm.size), new_tally(table.mlogm.size)
    for y in range(n):
        if halt[0]:
            break
        if y != x and not allowed[y]:
            continue
        if y == x:  # the empty set: each base is one state
            (parent, both), states = _own_counts(x, table), base
        else:
            (parent, both), states = _counts(x, y, table), base * table.arities[y]
        clear(parents)
        clear(families)
        for m in parent:
            tally_cell(m, parents)
        for m in both:
            tally_cell(m, families)
        costs[y] = cost_of_tallies(parents, families, states, x, form)
    return costs
