"""Networks drawn by their weight, layer by layer, from the weights of completions: the kernel.

A layer of a network are the variables whose parents all lie in the layers before, one at least in the last. When A are
the variables before the last layer and B all that are placed, the completions in which I is the set of those whose
parents all lie in B weigh, by inclusion and exclusion,

    M(I) = sum over T that hold I of (-1)^(|T| - |I|) prod over j in T of alpha_j(B) H(B + T).

Of these, each i of I has its families inside B but not inside A in alpha_i(B) - alpha_i(A) of alpha_i(B). So the next
layer is I with a weight of M(I) times the product of these shares, and i then has such a family by its weight.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.random import random_share
from extbnsl.posteriors.lanes import LOW, share
from extbnsl.posteriors.wide import LOWEST, Wide, normal

NEAR = 10  # variables over whose subsets products are tabled; those over the others are made as they come


class Lists(NamedTuple):
    """The families of all children of a component, one child after the other, of each by descending weight.

    first (n + 1,): where those of each child begin. varsets (m,) uint64, weights (m,).
    """

    first: NDArray[np.int64]
    varsets: NDArray[np.uint64]
    weights: Wide


class Draws(NamedTuple):
    """Networks that have the same variables placed, those with the same before the last layer beside each other.

    before (k,): what each has before the last layer. states (k,): of the random numbers. layers (k,) gets the next
    layer, and rows (k, n) int32 the family of each variable in it. A layer of nothing: rounding has led to where no
    network leads, which is as good as impossible; begin again.
    """

    before: NDArray[np.uint64]
    states: NDArray[np.uint64]
    layers: NDArray[np.uint64]
    rows: NDArray[np.int32]


class _Inside(NamedTuple):
    """Of each child outside B the families inside B and not inside A: which, what they weigh up to each in units of
    the heaviest one, how many; and what those inside B weigh."""

    which: NDArray[np.int32]
    sums: NDArray[np.float64]
    counts: NDArray[np.int64]
    alphas: Wide


@njit
def draw_layer(lists, table, placed, draws, halt):
    """Draw the next layer of networks, with its families. table: H. placed: B, not all. O(2^w w + m) for w variables
    outside, and O(2^w + m) for each A."""
    lists, table, draws = borrowed((lists, table, draws))
    n = lists.first.size - 1
    free = np.empty(n, np.int64)
    outside = 0
    for j in range(n):
        if placed >> u64(j) & u64(1) == 0:
            free[outside] = j
            outside += 1
    free = free[:outside]
    inside = _Inside(
        np.empty(lists.varsets.size, np.int32),
        np.empty(lists.varsets.size),
        np.zeros(n, np.int64),
        (np.zeros(n), np.full(n, LOWEST, np.int32)),
    )
    shares, near = np.ones(n), min(NEAR, free.size)
    chunks = 1 << free.size - near
    sums, low = np.empty(chunks), np.empty(1 << near)
    weights = np.empty(0)
    for k in range(draws.before.size):
        if halt[0]:
            return
        if k == 0 or draws.before[k] != draws.before[k - 1]:
            for i in free:
                shares[i] = _list_inside(lists, i, placed, draws.before[k], placed > 0, inside)
            if k == 0:
                weights = _weights(table, placed, free, inside.alphas, near)
            _sum_chunks(weights, free, shares, near, low, sums)
        state = draws.states[k : k + 1]
        layer = _pick(weights, sums, low, random_share(state))
        draws.layers[k] = 0
        for b in range(free.size):
            if layer >> b & 1:
                i = free[b]
                draws.layers[k] |= u64(1) << u64(i)
                draws.rows[k, i] = _family(lists, i, inside, random_share(state))


@inner
def _list_inside(lists, i, placed, before, later, inside):
    """List the families of a child inside `placed` and, for a later layer than the first, not inside `before`. Returns
    their share of those inside `placed`."""
    (mantissas, exponents), first, count = lists.weights, lists.first[i], 0
    total, unit, own, own_unit = 0.0, LOWEST, 0.0, LOWEST
    for f in range(first, lists.first[i + 1]):
        if lists.varsets[f] & ~placed or mantissas[f] == 0.0:
            continue
        if total == 0.0:
            unit = exponents[f]
        total += mantissas[f] * share(np.int64(exponents[f]) - np.int64(unit))
        if later and lists.varsets[f] & ~before == 0:
            continue
        if count == 0:
            own_unit = exponents[f]
        own += mantissas[f] * share(np.int64(exponents[f]) - np.int64(own_unit))
        inside.which[first + count], inside.sums[first + count] = f - first, own
        count += 1
    inside.counts[i] = count
    inside.alphas[0][i], inside.alphas[1][i] = total, unit
    return own / total * share(np.int64(own_unit) - np.int64(unit)) if count else 0.0


@inner
def _weights(table, placed, free, alphas, near):
    """M(I) over H(B), for each I as a choice of `free`; what rounding left below 0 is 0, and so is M of nothing."""
    near_products, places = (np.ones(1 << near), np.zeros(1 << near, np.int32)), np.zeros(1 << near, np.int64)
    for b in range(near):
        for s in range(1 << b):
            at, j = 1 << b | s, free[b]
            product = near_products[0][s] * alphas[0][j]
            exponent = max(np.int64(LOWEST), np.int64(near_products[1][s]) + np.int64(alphas[1][j]))
            near_products[0][at], near_products[1][at] = normal(product, exponent)
            places[at] = places[s] | 1 << j
    numbers, exponents = table
    at = np.int64(placed)
    whole, unit = _normal_of(numbers[at], exponents[at >> LOW])
    weights = np.empty(1 << free.size)
    for chunk in range(1 << free.size - near):
        mantissa, exponent, base = 1.0, np.int32(0), at
        for b in range(near, free.size):
            if chunk >> b - near & 1:
                mantissa, exponent = normal(mantissa * alphas[0][free[b]], exponent + alphas[1][free[b]])
                base |= 1 << free[b]
        for s in range(1 << near):
            number, scale = _normal_of(numbers[base | places[s]], exponents[(base | places[s]) >> LOW])
            up = np.int64(near_products[1][s]) + np.int64(exponent) + scale - unit
            own = number / whole * (mantissa * near_products[0][s])
            weights[chunk << near | s] = own * share(up) if own > 0.0 else 0.0
    bit = 1
    while bit < weights.size:
        for first in range(0, weights.size, 2 * bit):
            for s in range(first, first + bit):
                weights[s] -= weights[s + bit]
        bit *= 2
    weights[0] = 0.0
    for s in range(weights.size):
        weights[s] = max(weights[s], 0.0)
    return weights


@inlined
def _normal_of(mantissa, exponent):
    """The number, normal; its mantissa may be much less."""
    lower = np.int64(exponent)
    while 0.0 < mantissa < 2.0**-128:
        mantissa *= 2.0**256
        lower -= 1
    return mantissa, lower


@inner
def _sum_chunks(weights, free, shares, near, low, sums):
    """Let low be the products of shares over each choice of the first variables, and sums what the layers weigh up to
    each choice of the others."""
    low[0] = 1.0
    for b in range(near):
        for s in range(1 << b):
            low[1 << b | s] = low[s] * shares[free[b]]
    total = 0.0
    for chunk in range(sums.size):
        product, own = 1.0, 0.0
        for b in range(near, free.size):
            if chunk >> b - near & 1:
                product *= shares[free[b]]
        for s in range(low.size):
            own += weights[chunk * low.size + s] * low[s]
        total += product * own
        sums[chunk] = total


@inner
def _pick(weights, sums, low, share_of_all):
    """A layer by its weight; none if rounding leaves nothing."""
    if sums[-1] == 0.0:
        return 0
    wanted = share_of_all * sums[-1]
    chunk = min(np.searchsorted(sums, wanted, "right"), sums.size - 1)
    first = chunk * low.size
    before = sums[chunk - 1] if chunk else 0.0
    own, last = 0.0, 0
    for s in range(low.size):
        own += weights[first + s] * low[s]
    wanted = (wanted - before) / (sums[chunk] - before) * own
    total = 0.0
    for s in range(low.size):
        weight = weights[first + s] * low[s]
        if weight > 0.0:
            total += weight
            last = first + s
            if total > wanted:
                break
    return last


@inner
def _family(lists, i, inside, share_of_all):
    """A listed family of a child by its weight."""
    first, count = lists.first[i], inside.counts[i]
    sums = inside.sums[first : first + count]
    at = min(np.searchsorted(sums, share_of_all * sums[-1], "right"), count - 1)
    return inside.which[first + at]
