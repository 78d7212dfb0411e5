"""Orders and networks drawn as often as they weigh among those that sums by layers have kept.

An order is drawn from its beginning: after the variables U comes i with probability alpha_i(U) h(U + i) / h(U), and i
gets each of its families inside U as often as that weighs. So a sample is one of all orders, but for a share of at most
what is ignored.
"""

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inner, njit
from extbnsl.kernels.random import random_share, random_words
from extbnsl.machine.workers import chunks
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors.inside import Families, inside_tables, one_inside, sums_inside
from extbnsl.posteriors.layers import LayeredSum, Limits, cut_of
from extbnsl.posteriors.wide import LOWEST, normal, share_of
from extbnsl.scores.local import LocalScores

TASK = 256  # samples of a task


def sample_in_layers(
    scores: LocalScores, sums: LayeredSum, means: Means, limits: Limits, seed: int, numbers: range
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The samples of these numbers, of those that belong to a seed, when a pass of the sums is complete: orders (s, n)
    int32, the variables from first to last, and rows (s, n) int32, of each variable the number of its family in the
    scores. limits: those of the sums.

    A sample is the same whatever others are drawn, and whatever the threads. Raises Stopped. O(n) sums of weights for
    each place of an order.
    """
    assert sums.reached == 0, "the way back is over"
    n, workers = scores.variables, means.workers
    families = Families([own[:, 0] for own in scores.parents], scores.costs)
    tables, places = inside_tables(families, cut_of(limits, n))
    row_of = np.full(tables.weights.size, -1, np.int32)
    for own in places:
        row_of[own] = np.arange(own.size)
    states = np.maximum(random_words(seed, numbers.stop)[numbers.start :], np.uint64(1))
    before = np.zeros(states.size, np.uint64)
    orders, rows = np.zeros((2, states.size, n), np.int32)
    for size in range(n):
        following = sums.layers[size + 1]
        means.shelf.touched(sum(column.nbytes for column in following))
        tasks = [
            (before[lo:hi], states[lo:hi], following, tables, row_of, orders[lo:hi, size], rows[lo:hi], workers.halt)
            for lo, hi in chunks(states.size, TASK)
        ]
        workers.map(_draw, tasks)
        workers.check()
    return orders, rows


@njit
def _draw(before, states, following, tables, row_of, chosen, rows, halt):
    """Let one variable more come to each order, with its family: before (s,) uint64 and states (s,) go on."""
    following, tables, halt = borrowed((following, tables, halt))
    n = tables.start.size
    varset, weights = np.empty(1, np.uint64), np.empty(n)
    totals, levels, products, tops = np.empty(n), np.empty(n, np.int32), np.empty(n), np.empty(n, np.int32)
    for s in range(before.size):
        if halt[0]:
            break
        varset[0] = before[s]
        for i in range(n):
            products[i], tops[i] = 0.0, LOWEST
            target = before[s] | (u64(1) << u64(i))
            at = np.searchsorted(following.varsets, target)
            if target != before[s] and at < following.varsets.size and following.varsets[at] == target:
                sums_inside(i, varset, tables, 0, totals[i : i + 1], levels[i : i + 1])
                products[i] = totals[i] * following.mantissas[at]
                products[i], tops[i] = normal(products[i], levels[i] + following.exponents[at])
        top = tops.max()
        for i in range(n):
            weights[i] = products[i] * share_of(top - tops[i])
        x = _one_of(weights, states[s : s + 1])
        share = random_share(states[s : s + 1])
        chosen[s] = x
        rows[s, x] = row_of[one_inside(x, before[s], (totals[x], levels[x]), share, tables)]
        before[s] |= u64(1) << u64(x)


@inner
def _one_of(weights, state):
    """A number as often as it weighs."""
    left = random_share(state) * weights.sum()
    found = 0
    for i in range(weights.size):
        if weights[i] > 0.0:
            found = i
            left -= weights[i]
            if left < 0.0:
                break
    return found
