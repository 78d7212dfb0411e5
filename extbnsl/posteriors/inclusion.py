"""The weight H(U) of all ways to complete networks over a varset U: the kernels, block by block.

The other variables take parents from U and from each other, without a cycle. Those whose parents all lie in U hold a
set S at least; by inclusion and exclusion (Robinson 1973; with weights: Tian and He 2009)

    H(U) = sum over nonempty S outside U of (-1)^(|S| + 1) prod over j in S of alpha_j(U) H(U + S),   H(all) = 1,

where alpha_j(U) is what the families of j inside U weigh. Each term is the weight of the completions in which all of S
have their parents in U: none exceeds H(U).

The variables 0, 1, 2 are lanes (lanes.py), the others make a row. For each row, the products of -alpha over the first
FEW of the variables outside are made once; further ones are seeds by which all of them are multiplied. H has one
exponent a row. That does: alpha_j(nothing) H(U + j) <= H(U) <= alpha_j(all) H(U + j), and lanes are variables whose
families weigh at most exp(MOST_RANGE) times as much as the empty set, all three together. Their weights are over one
in the middle; so H in a row, and products of alpha over lanes, differ from the largest by exp(MOST_RANGE / 2) at most.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, popcount, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.posteriors.lanes import (
    LANES,
    LOW,
    PAIRED,
    PAIRS,
    T_OF,
    U_OF,
    add_lanes,
    add_rows,
    divide_row,
    fetch_rows,
    multiply_row,
    pass_rows,
    settle,
    share,
)
from extbnsl.posteriors.wide import LOWEST, Wide, normal

MOST_RANGE = 800.0  # nats
FEW = 6  # 64 products of eight lie in the fastest cache; a sum has so many terms before it joins others
AHEAD = 8  # terms, for which rows are fetched
NEVER = 1 << 28  # of a unit: what is measured in it counts for nothing
_ALL = len(PAIRS)


class Block(NamedTuple):
    """The rows with the same highest variables.

    top: which of the highest are in them. rows: how many variables are neither lanes nor highest. high: how many are no
    lanes. weights, scales: alpha, (n, 8 2^rows), of each child, by the members among all but the highest.
    """

    top: int
    rows: int
    high: int
    weights: NDArray[np.float64]
    scales: NDArray[np.int32]


class _Room(NamedTuple):
    """What the kernels need for one row: products (8 2^FEW,) and their places; seeds, of the further variables from
    each on, and their rows; shift (8,), the units in which products are taken; low (64,), of each u and t the product
    of -alpha(u) over the lanes from u to t; the variables that are free."""

    products: Wide
    places: NDArray[np.int64]
    seeds: Wide
    bases: NDArray[np.int64]
    shift: NDArray[np.int32]
    low: NDArray[np.float64]
    free: NDArray[np.int64]


@inlined
def _room(high):
    return _Room(
        (np.empty(LANES << FEW), np.empty(LANES << FEW, np.int32)),
        np.empty(1 << FEW, np.int64),
        (np.empty(LANES * (high + 1)), np.empty(LANES * (high + 1), np.int32)),
        np.empty(high + 1, np.int64),
        np.empty(LANES, np.int32),
        np.empty(LANES * LANES),
        np.empty(high + 1, np.int64),
    )


@inner
def _begin(block, middle, room):
    """Make the products for a row. Returns how many variables outside it are in them, and how many are left."""
    products, exponents = room.products
    seeds, seed_exponents = room.seeds
    row, count, near = block.top << block.rows | middle, 0, 0
    for b in range(block.high):
        if row >> b & 1 == 0:
            room.free[count] = b
            count += 1
            near += b < block.rows
    few = min(near, FEW)
    for u in range(LANES):
        products[u], exponents[u] = 1.0, 0
    room.places[0] = 0
    for k in range(few):
        half = 1 << k
        for s in range(half):
            room.places[half + s] = room.places[s] | 1 << room.free[k]
            first = (LOW + room.free[k]) * block.weights.shape[1] + LANES * middle
            multiply_row(room.products, LANES * s, LANES * (half + s), (block.weights, block.scales), first)
    for at in range(LANES * (count - few + 1)):
        seeds[at], seed_exponents[at] = 1.0, 0
    for b in range(count - few + 1):
        room.bases[b] = row
    _set_low(block, middle, room.low)
    return few, count - few


@inner
def _seed(block, middle, room, few, choice, changed):
    """Let the seeds be the products over a choice of the further variables; so many, the first, may have changed."""
    seeds, exponents = room.seeds
    for b in range(changed - 1, -1, -1):
        at, v = LANES * b, room.free[few + b]
        if choice >> b & 1:
            room.bases[b] = room.bases[b + 1] | 1 << v
            first = (LOW + v) * block.weights.shape[1] + LANES * middle
            multiply_row(room.seeds, at + LANES, at, (block.weights, block.scales), first)
        else:
            room.bases[b] = room.bases[b + 1]
            for u in range(at, at + LANES):
                seeds[u], exponents[u] = seeds[u + LANES], exponents[u + LANES]


@inner
def _set_low(block, middle, low):
    for u in range(LANES):
        for t in range(LANES):
            at = LANES * u + t
            low[at] = 1.0 if t == u else 0.0
            if t & u == u and t != u:
                j = np.int64(lowest(u64(t ^ u)))
                alpha = block.weights[j, LANES * middle + u] * share(np.int64(block.scales[j, LANES * middle + u]))
                low[at] = -low[at ^ 1 << j] * alpha


@njit
def complete(block, middles, own, whole, halt):
    """Let own[8 m + u] be H of the row m and lane u of the block, of each m of `middles` (k,) int64, none of which is
    inside another. Of larger rows of the block `own` knows it, of larger blocks `whole`. Of unknown rows own is 0."""
    block, middles, own, whole = borrowed((block, middles, own, whole))
    room, values = _room(block.high), (np.empty(LANES), np.empty(LANES, np.int32))
    units, sums, totals = np.empty(LANES, np.int64), np.empty(_ALL), np.empty((block.high + 1) * _ALL)
    for middle in middles:
        if halt[0]:
            return
        few, further = _begin(block, middle, room)
        _set_units(block, middle, room, few + further, (own, whole), units)
        for choice in range(1 << further):
            if choice:
                _seed(block, middle, room, few, choice, np.int64(lowest(u64(choice))) + 1)
            for u in range(LANES):
                room.shift[u] = units[u] - room.seeds[1][u]
            for pair in range(_ALL):
                sums[pair] = 0.0
            base, rows = room.bases[0], whole
            if base >> block.rows == block.top:
                base, rows = base - (block.top << block.rows), own
            if few < 2:
                for s in range(1 << few):
                    add_rows(sums, room.products, LANES * s, room.shift, rows, (base + room.places[s],))
            else:
                one, other = room.places[1], room.places[2]
                for s in range(0, 1 << few, 4):
                    row = (base + room.places[s], one, other)
                    add_rows(sums, room.products, LANES * s, room.shift, rows, row)
            _join(sums, room.seeds[0], totals, choice)
        _finish(room, totals[further * _ALL :], units, values, few + further == 0)
        _put(values, middle, own)


@inlined
def _join(sums, seeds, totals, number):
    """Add the sums number `number`, times the seeds, to those before, pair by pair: each goes through few additions."""
    for pair in range(PAIRED):
        sums[pair] *= seeds[U_OF[pair]]
    level = 0
    while number >> level & 1:
        for pair in range(PAIRED):
            sums[pair] += totals[level * _ALL + pair]
        level += 1
    for pair in range(PAIRED):
        totals[level * _ALL + pair] = sums[pair]


@inner
def _set_units(block, middle, room, free, tables, units):
    """Let units be the exponents in which the sums of each u are kept: that of its largest term of one variable."""
    (own, whole), first = tables, block.top << block.rows
    for u in range(LANES - 1, -1, -1):
        unit = np.int64(2 * LOWEST)
        for k in range(free):
            b = room.free[k]
            rows, row = (own, middle | 1 << b) if b < block.rows else (whole, first | middle | 1 << b)
            exponent = _exponent(rows[0][LANES * row + u], rows[1][row])
            unit = max(unit, exponent + np.int64(block.scales[LOW + b, LANES * middle + u]))
        for j in range(LOW):
            if u >> j & 1 == 0 and units[u | 1 << j] != NEVER:
                unit = max(unit, units[u | 1 << j] + np.int64(block.scales[j, LANES * middle + u]))
        units[u] = unit if unit > LOWEST else NEVER
        if free == 0 and u == LANES - 1:
            units[u] = 0


@inlined
def _exponent(mantissa, exponent):
    """The exponent that a number would have if it were normal."""
    least, lower = 2.0**-128, np.int64(exponent)
    while 0.0 < mantissa < least:
        least /= 2.0**256
        lower -= 1
    return lower if mantissa > 0.0 else np.int64(LOWEST)


@inner
def _finish(room, totals, units, values, full):
    """H of the lanes of a row, from those above it and the sums over other rows. full: with all variables."""
    numbers, exponents = values
    for u in range(LANES - 1, -1, -1):
        if full and u == LANES - 1:
            numbers[u], exponents[u] = 1.0, 0
            continue
        if units[u] == NEVER:
            numbers[u], exponents[u] = 0.0, LOWEST
            continue
        total = 0.0
        for pair in range(PAIRED):
            t = T_OF[pair]
            if U_OF[pair] == u:
                own = totals[pair]
                if t != u and numbers[t] > 0.0:
                    own += numbers[t] * share(min(3, exponents[t] - units[u]))
                total += room.low[LANES * u + t] * own
        numbers[u], exponents[u] = normal(-total, units[u])


@inner
def _put(values, middle, own):
    """Let a row of `own` be these numbers, with one exponent."""
    highest = LOWEST
    for u in range(LANES):
        highest = max(highest, values[1][u])
    for u in range(LANES):
        own[0][LANES * middle + u] = values[0][u] * share(np.int64(values[1][u]) - np.int64(highest))
    own[1][middle] = highest


@njit
def pass_on(block, middles, key, keys, whole, masses, flows, halt):
    """Pass on the probability that a varset has no arc into it, from the rows `middles` (k,) of a block to larger ones.

    q(U) is 1 of the empty set, and each U passes q(U) p(S) to U + S, where the p(S) are the terms of H(U) over H(U).
    Of the highest variables outside the block, the last log2(keys): those of S are `key`. whole: H. masses: q, from
    the first row of the block on. flows (k, n + 2, 8) gets, for each row and lane, of each child the sum of p over the
    S that it is in; the sum of |p|; and, for the key 0, q.
    """
    block, middles, whole, masses, flows = borrowed((block, middles, whole, masses, flows))
    room, steps, held = _room(block.high), np.empty(LANES << FEW), np.empty(LANES)
    units, sums = np.empty(LANES, np.int64), np.zeros(2 * _ALL)
    totals, sizes = np.empty(_ALL), np.empty(_ALL)
    low, given, unheard = np.empty(LANES * LANES), np.empty(LANES * LANES), np.empty_like(flows[0])
    factors = (room.products, room.seeds[0])
    start = block.top << block.rows
    passed = (low, given, masses, LANES * start, steps)
    for i in range(middles.size):
        if halt[0]:
            return
        middle, own = middles[i], flows[i]
        few, further = _begin(block, middle, room)
        _set_relative(room, whole, start + middle, units)
        for u in range(LANES):
            held[u] = masses[LANES * middle + u]
        _hold(room, whole, start + middle, held, units, own if key == 0 else unheard)
        for u in range(LANES):
            for t in range(LANES):
                given[LANES * u + t] = held[u] * room.low[LANES * u + t]
                low[LANES * t + u] = room.low[LANES * u + t]
        for pair in range(_ALL):
            totals[pair] = sizes[pair] = 0.0
        choices = (1 << further) // keys
        for number in range(choices):
            choice = number + key * choices
            _seed(block, middle, room, few, choice, np.int64(lowest(u64(choice))) + 1 if number else further)
            for u in range(LANES):
                room.shift[u] = units[u] - room.seeds[1][u]
            for u in range(LANES):
                room.products[0][u] = 1.0 if choice else 0.0  # a row passes nothing to itself, but by its lanes
            base = room.bases[0]
            if few < 2:
                for s in range(1 << few):
                    row = (base + room.places[s],)
                    pass_rows((sums, _ALL * s), factors, LANES * s, room.shift, whole, row, passed)
            else:
                one, other = room.places[1], room.places[2]
                for s in range(0, 1 << few, 4):
                    odd = _ALL * np.int64(popcount(u64(s)) & u64(1))
                    if s + AHEAD < 1 << few:
                        row = (base + room.places[s + AHEAD], one, other)
                        fetch_rows(whole[0], 0, row)
                        fetch_rows(masses, start, row)
                    row = (base + room.places[s], one, other)
                    pass_rows((sums, odd), factors, LANES * s, room.shift, whole, row, passed)
            settle(sums, totals, sizes)
            _fold(room, few, choice, steps, own)
        for pair in range(PAIRED):
            u, t = U_OF[pair], T_OF[pair]
            _tell(own, u, t, totals[pair] * room.low[LANES * u + t], sizes[pair] * abs(room.low[LANES * u + t]))


@inner
def _set_relative(room, whole, row, units):
    """Let units be the exponents of H of the lanes of a row, and low make terms relative to H; the terms of one
    variable are positive."""
    for u in range(LANES):
        own = whole[0][LANES * row + u]
        units[u] = _exponent(own, whole[1][row]) if own > 0.0 else NEVER
        for _ in range(whole[1][row] - units[u] if own > 0.0 else 0):
            own *= 2.0**256
        for t in range(LANES):
            room.low[LANES * u + t] = -room.low[LANES * u + t] / own if own > 0.0 else 0.0


@inner
def _hold(room, whole, row, held, units, own):
    """Add to q of the lanes of a row what they pass on to each other, and tell of it."""
    (numbers, exponents), n = whole, own.shape[0] - 2
    for u in range(LANES):
        for t in range(u + 1, LANES):
            if t & u == u and units[u] != NEVER:
                number = numbers[LANES * row + t] * share(np.int64(exponents[row]) - units[u])
                p = room.low[LANES * u + t] * number
                held[t] += held[u] * p
                _tell(own, u, t, p, abs(p))
    for u in range(LANES):
        own[n + 1, u] = held[u]


@inlined
def _tell(own, u, t, p, size):
    """Of the terms from u to t: what they add up to, and in size."""
    own[own.shape[0] - 2, u] += size
    for j in range(LOW):
        if (t & ~u) >> j & 1:
            own[j, u] += p


@inner
def _fold(room, few, choice, steps, own):
    """Add the terms of one choice of further variables, steps (8 2^few,), to those of each child that is in them."""
    for k in range(few - 1, -1, -1):
        half = LANES << k
        for at in range(0, half, LANES):
            add_lanes(steps, at, steps, half + at)
        width = half
        while width > LANES:  # the terms with variable k
            width >>= 1
            for at in range(half, half + width, LANES):
                add_lanes(steps, at, steps, at + width)
        add_lanes(own, LANES * (LOW + room.free[k]), steps, half)
    left = choice
    while left:
        b = np.int64(lowest(u64(left)))
        add_lanes(own, LANES * (LOW + room.free[few + b]), steps, 0)
        left &= left - 1


@njit
def gather(block, middles, flows, found):
    """Add up what `pass_on` has told for each key, flows (keys, k, n + 2, 8): found (n, 8 2^rows) gets, for each child
    and varset, the probability that these are the variables that do not descend from the child, over alpha.

    Returns the sum of q times the sum of |p|.
    """
    block, flows, found = borrowed((block, flows, found))
    weights = (block.weights, block.scales)
    keys, n, error, held = flows.shape[0], flows.shape[2] - 2, 0.0, np.empty(LANES)
    for i in range(middles.size):
        own = flows[0, i]
        for key in range(1, keys):
            for j in range(n + 1):
                add_lanes(own, LANES * j, flows[key, i], LANES * j)
        for u in range(LANES):
            held[u] = own[n + 1, u]
            error += held[u] * own[n, u]
        for j in range(n):
            divide_row(found, j * block.weights.shape[1] + LANES * middles[i], own, LANES * j, held, weights)
    return error
