"""Orders and networks drawn exactly as often as they weigh, by what sums over all orders have left.

An order is drawn from its beginning: after the variables U comes x with probability alpha_x(U) h(U + x) / h(U), and x
gets each of its families inside U as often as that weighs. All samples go a step at a time. What takes no part in the
lattice is put anywhere at last.
"""

import mmap
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.hashing import GOLDEN, mixed
from extbnsl.kernels.random import random_words
from extbnsl.machine.workers import chunks
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors.draws import draw
from extbnsl.posteriors.order_layout import Layout, layout_of
from extbnsl.posteriors.orders import BLOCK_POSITIONS, OrderSums
from extbnsl.posteriors.wide import Wide
from extbnsl.scores.local import LocalScores

TOGETHER = 1 << 14  # samples that go a step at a time
TASK = 64  # samples of a task: some tenths of a second at most


class OrderSamples(NamedTuple):
    """Samples, each a row. orders: (s, n) int32, the variables from first to last. rows: (s, n) int32, of each variable
    the number of its family in the scores."""

    orders: NDArray[np.int32]
    rows: NDArray[np.int32]


def sample_orders(
    scores: LocalScores, sums: OrderSums, means: Means, seed: int, first: int, count: int
) -> OrderSamples:
    """The samples from number `first` on, of those that belong to a seed, when the sums are done.

    Each sample is an order with the probability of that order, and a network with the probability that it has given the
    order. A sample is the same whatever others are drawn. Raises Stopped as the workers do. O(n + families) at worst
    for each position of a sample.
    """
    layout = layout_of(scores, BLOCK_POSITIONS)
    states = np.maximum(random_words(seed, first + count)[first:], np.uint64(1))
    keys = mixed.py_func(states[:, None] + np.arange(1, scores.variables + 1, dtype=np.uint64) * GOLDEN)
    parts = [_drawn(layout, sums, means, states[lo:hi]) for lo, hi in chunks(count, TOGETHER)]
    steps = np.concatenate([np.empty((0, layout.size, 2), np.int32), *parts])
    rows = np.zeros((count, scores.variables), np.int32)
    for at, x in enumerate(layout.variables):
        k, step = np.nonzero(steps[:, :, 0] == at)
        rows[k, x] = layout.rows[at][steps[k, step, 1]]
    return OrderSamples(_with_others(layout, steps[:, :, 0], keys), rows)


def _drawn(layout: Layout, sums: OrderSums, means: Means, states: NDArray[np.uint64]) -> NDArray[np.int32]:
    """What each step of some samples takes, (s, size, 2); the random states go on."""
    steps, before = np.empty((states.size, layout.size, 2), np.int32), np.zeros(states.size, np.int64)
    for step in range(layout.size):
        following, chosen = _following(sums, before, layout.size), np.empty((states.size, 2), np.int32)
        means.shelf.touched(2 * mmap.PAGESIZE * following[0].size)
        tasks = (
            (
                layout.families,
                before[lo:hi],
                (following[0][lo:hi], following[1][lo:hi]),
                states[lo:hi],
                chosen[lo:hi],
                means.workers.halt,
            )
            for lo, hi in chunks(states.size, TASK)
        )
        means.workers.map(draw, tasks)
        means.workers.check()
        steps[:, step] = chosen
        before |= np.int64(1) << chosen[:, 0]
    return steps


def _following(sums: OrderSums, before: NDArray[np.int64], size: int) -> Wide:
    """h of varsets with each position, (s, size)."""
    varsets = before[:, None] | np.int64(1) << np.arange(size)
    slab_size = sums.slabs[0][0].size
    numbers, exponents = np.empty(varsets.shape), np.empty(varsets.shape, np.int32)
    of_slab = varsets // slab_size
    for slab in np.unique(of_slab):
        here = of_slab == slab
        numbers[here], exponents[here] = (own[varsets[here] % slab_size] for own in sums.slabs[slab])
    return numbers, exponents


def _with_others(layout: Layout, positions: NDArray[np.int32], keys: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Orders of all variables, from those of positions: the others lie anywhere, by random keys of each place."""
    n, count = keys.shape[1], len(layout.variables)
    others = np.setdiff1d(np.arange(n), layout.variables)
    orders = np.empty(keys.shape, np.int32)
    places = np.argsort(keys, axis=1)
    np.put_along_axis(orders, places[:, : others.size], others[None, :], axis=1)
    variables = np.array([*layout.variables, *[-1] * (layout.size - count)], np.int32)
    ordered = variables[positions]
    own = ordered[ordered >= 0].reshape(len(orders), count)
    np.put_along_axis(orders, np.sort(places[:, others.size :], axis=1), own, axis=1)
    return orders
