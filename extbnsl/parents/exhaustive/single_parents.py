"""The families with one parent, before all others: a network and a bound follow from them if counting is stopped."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.files.shelf import Shelf
from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inner, njit
from extbnsl.kernels.varsets import as_varsets, gathered, words
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.exhaustive.problem import CountingProblem, of_child
from extbnsl.parents.exhaustive.state import Enumeration, start_enumeration
from extbnsl.scores.counting import CountingTable
from extbnsl.scores.formula import cost_of_tallies, new_tally, tally_cell
from extbnsl.scores.local import in_order
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
    tasks = ((x, problem, workers.halt) for x in children)
    must = as_varsets(problem.required.T)
    try:
        found = workers.spread(single_costs, tasks, 4 * workers.threads)
        for x, own in zip(children, found, strict=True):
            better = np.flatnonzero(own < own[x])
            if better.size > most:
                better = better[np.argpartition(own[better], most)[:most]]
            varsets = gathered(np.arange(better.size), better, better.size + 1, n) | must[x]  # the last has no other
            parents[x], costs[x] = map(shelf.put, in_order(varsets, own[np.append(better, x)]))
    except Stopped as stop:
        return replace(start, parents=tuple(parents), costs=tuple(costs), stopped=stop.reason)
    return replace(start, parents=tuple(parents), costs=tuple(costs), singles=True)


def single_costs(x: int, problem: CountingProblem, halt: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The cost of child X with each single parent beside those that it must have, and at X with these alone: (n,).

    Infinity where a parent is not allowed, or is known to be too dear. Ends early when halt[0] is set.
    """
    must = problem.required[:, x]
    more = problem.allowed[:, x] & ~must & (problem.limits[x] > must.sum())
    if not isinstance(problem.table, CountingTable):
        return _costs_by_moments(x, more, must, problem)
    table, states = of_child(problem, x)
    costs: NDArray[np.float64] = _costs_by_counts(
        x, more, table, problem.parameter * states, states, problem.form, halt
    )
    return costs


@inner
def _spread(counts, mlogm):
    """The sum of m ln m over these counts."""
    total = 0.0
    for m in counts:
        total += mlogm[m]
    return total


@njit
def _costs_by_counts(x, allowed, table, parameter, base, form, halt):
    """`single_costs` of states, `base` being the joint ones of what divides the table. Without a formula infinity where
    the penalty alone is as much as without parents."""
    allowed, table, halt = borrowed((allowed, table, halt))
    arities = table.arities
    costs = np.full(arities.size, np.inf)
    penalty = family_penalty(parameter, arities[x], 1.0)
    nothing = np.zeros(table.weights.size, table.states.dtype)  # the state of no parent
    costs[x] = _cost(_counts(x, nothing, 1, table), base, penalty, x, table.mlogm, form)
    for y in range(arities.size):
        if halt[0]:
            break
        own = grown(penalty, arities[y])
        if allowed[y] and (form is not None or own < costs[x]):
            counts = _counts(x, table.states[y], arities[y], table)
            costs[y] = _cost(counts, base * arities[y], own, x, table.mlogm, form)
    return costs


@inner
def _cost(counts, states, penalty, x, mlogm, form):
    """What a family costs, from the records by joint state of the parents, and by these and the child."""
    parent, both = counts
    if form is None:
        return _spread(parent, mlogm) - _spread(both, mlogm) + penalty
    parents, families = new_tally(mlogm.size), new_tally(mlogm.size)
    for m in parent:
        tally_cell(m, parents)
    for m in both:
        tally_cell(m, families)
    return cost_of_tallies(parents, families, states, x, form)


@inner
def _counts(x, parents, parent_arity, table):
    """The records by base and state of a parent, and by these and state of X."""
    states, base, weights = table.states, table.base, table.weights
    own, arity = u64(parent_arity), u64(table.arities[x])
    parent = np.zeros(table.bases * parent_arity, np.int64)
    both = np.zeros(parent.size * table.arities[x], np.int64)
    for i in range(weights.size):
        at = u64(base[i]) * own + u64(parents[i])
        parent[at] += weights[i]
        both[at * arity + u64(states[x, i])] += weights[i]
    return parent, both


def _costs_by_moments(
    x: int, allowed: NDArray[np.bool_], must: NDArray[np.bool_], problem: CountingProblem
) -> NDArray[np.float64]:
    """The same by determinants, at once."""
    from extbnsl.scores.determinants import LEAST, given

    table = given(problem.moments, must)
    matrix, parameter = table.matrix, problem.parameter + int(must.sum()) * problem.step
    left = matrix[x, x] - np.where(allowed, matrix[x] ** 2 / np.maximum(np.diag(matrix), LEAST), 0.0)
    costs = table.half * np.log(np.maximum(left, LEAST)) - table.least[x] + parameter
    costs += np.where(allowed & (left >= LEAST), problem.step, np.inf)  # else the family is singular
    costs[x] = table.half * math.log(matrix[x, x]) - table.least[x] + parameter
    return costs
