"""The families of one child of which each variable is a block of Gaussian columns, depth first. See
scores/degenerate.py for the cost.

The columns are vectors of length 1. From a node, a parent set P, the walk goes on with candidates in a fixed order; of
those behind the last member it has what P leaves of their columns, and of the child's (modified Gram-Schmidt). Its
branches are gone through from the last one on, so that all subsets of a set are known before it. Each time the
candidates behind place k are taken out of the child from the last one on, so that what P and all that may follow leave
of it is known.

What ends the walk. Let T be what some subset of a parent set costs that is known. With all that may be added besides, a
family costs at least what these leave of the child and the price of the least of these parent sets: the misfit never
rises with a parent, and the price never falls. If that is no less than T, and the slack, the set and its supersets are
left out. T may be of a family that is singular: then so are its supersets.

Nor does a candidate Y win in a family Q that holds P, and besides only candidates behind Y, if there it explains no
more than it costs. What it explains of X is what X explains of Y: with h(S) half of the records times ln det of S, it
is h(Y | Q) - h(Y | Q + X), where Q is without Y, and at most h(Y | P) - h(Y | P + X + all behind Y), since h is
submodular.

Where a column c of what may follow is all but determined by P and the columns behind it, they leave of it a vector of
length t, with t^2 below half of LEAST_SHARE. It is passed over. A family that is allowed may have c in place of another
column. But then the regression of a column of the child, or of Y, has a coefficient of c of 1 / sqrt(LEAST_SHARE) at
most: it is the root of what the others leave of that column over what they leave of c. So with c moved by t, into the
span of P and those that were not passed over, the residual is longer by t / sqrt(LEAST_SHARE) at most. The length of
what is left is taken that much smaller, for each such column, and never as less than the root of LEAST_SHARE, which an
allowed family leaves.

Rounding. What Gram-Schmidt computes is exact for columns that are off by at most some e of their length (Higham 2002,
theorem 19.13), where e is taken as 2^-48 for each of m columns. A regular set of them has a least singular value of
sqrt(LEAST_SHARE / m) or more, so that what its others leave of one is off by t = e m / sqrt(LEAST_SHARE) of its length,
at most, and a cost by N t for each column of the child. Costs are compared with that margin. A pivot below half of
LEAST_SHARE is that of a singular set. Families within the margin are costed again by whoever asks.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.parents.exhaustive.collected import FULL, OVER, cheapest_inside, judge, learn, put, take_out
from extbnsl.scores.gaussian import LEAST_SHARE

ROUNDING = 2.0**-48  # of a column's length, for each of them
SMALLEST = LEAST_SHARE / 2.0  # of a pivot of a regular set
FLOOR = math.sqrt(LEAST_SHARE)


class BlockChild(NamedTuple):
    """A child and its candidates.

    vectors (c, d) float64: what those that must be parents leave of the columns of the candidates, in their order, and
    of the child's, which come last; starts (m + 2,) int64: of the columns of each of m candidates, and of the child;
    prices (m,): what each adds, in nats; own: what the family of those that must be costs, without half of the
    logarithms of what they leave, in nats; half: half of the records; limit: the most candidates of a family; slack: as
    in `surviving_families`; margin: what a cost may be off, in nats.
    """

    vectors: NDArray[np.float64]
    starts: NDArray[np.int64]
    prices: NDArray[np.float64]
    own: float
    half: float
    limit: int
    slack: float
    margin: float


class Stack(NamedTuple):
    """The stack of the walk, nodes of ever more members.

    left (depth, c, d): what each leaves of the columns behind its last member; least (depth, m + 1): half the records
    times the logarithm of what it and the candidates from each on leave of the child at least; most (depth, m): what
    each explains at most in a family with none but later ones besides; price, cheapest, next,
    chosen (depth,): what it adds to prices, what a subset of it costs at most, the next candidate, of which all behind
    are done, its last member.
    basis (d + b, d), rest, own (x, d), block (b, d): to work in.
    """

    left: NDArray[np.float64]
    least: NDArray[np.float64]
    most: NDArray[np.float64]
    price: NDArray[np.float64]
    cheapest: NDArray[np.float64]
    next: NDArray[np.int64]
    chosen: NDArray[np.int64]
    basis: NDArray[np.float64]
    rest: NDArray[np.float64]
    own: NDArray[np.float64]
    block: NDArray[np.float64]


@inner
def _new_stack(child):
    """The stack with its first node."""
    c, d = child.vectors.shape
    m = child.prices.size
    bare, widest, x = 0, 0, c - child.starts[m]
    for i in range(m):
        bare += child.starts[i] == child.starts[i + 1]
        widest = max(widest, child.starts[i + 1] - child.starts[i])
    depth = min(child.limit, m, d + bare) + 1
    stack = Stack(
        np.empty((depth, c, d)),
        np.full((depth, m + 1), -np.inf),
        np.full((depth, m), np.inf),
        np.zeros(depth),
        np.full(depth, np.inf),
        np.zeros(depth, np.int64),
        np.full(depth, -1, np.int64),
        np.empty((d + widest, d)),
        np.empty((x, d)),
        np.empty((x, d)),
        np.empty((widest, d)),
    )
    stack.left[0] = child.vectors
    return stack


@inlined
def _product(one, other):
    """The sum of the products of two vectors."""
    total = 0.0
    for i in range(one.size):
        total += one[i] * other[i]
    return total


@inlined
def _less(one, other, times):
    """Take so many times another vector from one."""
    for i in range(one.size):
        one[i] -= times * other[i]


@inner
def _logs_left(rows, short):
    """The sum of the logarithms of the squares that rows (x, d) leave of each other, one after the other, of lengths
    that may be so much shorter; infinite if they are singular, where nothing is to be taken off. Rows are lost."""
    total = 0.0
    for a in range(rows.shape[0]):
        squares = _product(rows[a], rows[a])
        if short == 0.0 and squares < SMALLEST:
            return np.inf
        for b in range(a + 1, rows.shape[0]):
            if squares > 0.0:
                _less(rows[b], rows[a], _product(rows[a], rows[b]) / squares)
        length = max(FLOOR * 0.999, math.sqrt(squares) - short)
        total += 2.0 * math.log(length)
    return total


@inner
def _most_explained(t, i, short, child, stack):
    """What candidate i explains at most beside node t and some of those behind it, of which the basis and `rest` are
    what all leave: half the records times a logarithm. The block in work is what they leave of it, and is lost."""
    lo, hi = child.starts[i], child.starts[i + 1]
    x = stack.rest.shape[0]
    for a in range(x):
        stack.own[a] = stack.rest[a]
        for b in range(a):
            _less(stack.own[a], stack.own[b], _product(stack.own[b], stack.own[a]))
        squares = _product(stack.own[a], stack.own[a])
        if squares < SMALLEST:
            return np.inf
        stack.own[a] /= math.sqrt(squares)
    for c in range(hi - lo):
        for a in range(x):
            _less(stack.block[c], stack.own[a], _product(stack.own[a], stack.block[c]))
    least = _logs_left(stack.block[: hi - lo], short)
    stack.block[: hi - lo] = stack.left[t, lo:hi]
    return child.half * (_logs_left(stack.block[: hi - lo], 0.0) - least)


@inner
def _leave_behind(t, k, child, stack):
    """Fill least[t, i] and most[t, i] for the candidates i >= k. O(c^2 d)."""
    left, starts, m = stack.left[t], child.starts, child.prices.size
    stack.rest[:] = left[starts[m] :]
    count, off = 0, ROUNDING * left.shape[0]
    short = off
    for i in range(m - 1, k - 1, -1):
        lo, hi, first = starts[i], starts[i + 1], count
        for c in range(lo, hi):
            column = stack.block[c - lo]
            column[:] = left[c]
            for b in range(first):
                _less(column, stack.basis[b], _product(stack.basis[b], column))
        stack.basis[first : first + hi - lo] = stack.block[: hi - lo]
        stack.most[t, i] = _most_explained(t, i, short, child, stack)
        for c in range(lo, hi):
            column = stack.basis[first + c - lo]
            for b in range(first, count):
                _less(column, stack.basis[b], _product(stack.basis[b], column))
            squares = _product(column, column)
            if squares < SMALLEST:
                short += 1.01 * (math.sqrt(squares) + off) / FLOOR
                continue
            stack.basis[count] = column / math.sqrt(squares)
            for a in range(stack.rest.shape[0]):
                _less(stack.rest[a], stack.basis[count], _product(stack.basis[count], stack.rest[a]))
            count += 1
        stack.own[:] = stack.rest
        stack.least[t, i] = child.half * _logs_left(stack.own, short)


@inner
def _logs_with(t, i, child, stack):
    """The sum of the logarithms of what node t and candidate i leave of the child; infinite if they are singular."""
    left, lo, hi = stack.left[t], child.starts[i], child.starts[i + 1]
    first = child.starts[child.prices.size]
    stack.own[:] = left[first:]
    for c in range(lo, hi):
        stack.basis[c - lo] = left[c]
        for b in range(c - lo):
            _less(stack.basis[c - lo], stack.basis[b], _product(stack.basis[b], stack.basis[c - lo]))
        squares = _product(stack.basis[c - lo], stack.basis[c - lo])
        if squares < SMALLEST:
            return np.inf
        stack.basis[c - lo] /= math.sqrt(squares)
        for a in range(stack.own.shape[0]):
            _less(stack.own[a], stack.basis[c - lo], _product(stack.basis[c - lo], stack.own[a]))
    return _logs_left(stack.own, 0.0)


@inner
def _take(t, i, first, child, stack):
    """Take candidate i, which is not singular, out of node t into node t + 1, of the columns from `first` on."""
    lo, hi = child.starts[i], child.starts[i + 1]
    new, basis = stack.left[t + 1], stack.basis
    new[first:] = stack.left[t, first:]
    for c in range(lo, hi):
        basis[c - lo] = stack.left[t, c]
        for b in range(c - lo):
            _less(basis[c - lo], basis[b], _product(basis[b], basis[c - lo]))
        basis[c - lo] /= math.sqrt(_product(basis[c - lo], basis[c - lo]))
        for other in range(first, new.shape[0]):
            _less(new[other], basis[c - lo], _product(basis[c - lo], new[other]))


@inner
def _begin(child, mask, known, stack):
    """Know what those that must be cost, with each candidate, and with those that a walk takes which takes the best
    each time; the cost without any."""
    m = child.prices.size
    stack.own[:] = stack.left[0, child.starts[m] :]
    alone = child.own + child.half * _logs_left(stack.own, 0.0)
    learn(alone + child.margin, mask, known)
    before, price, t = alone, 0.0, 0
    while t < stack.price.size - 1:
        best, least = -1, before
        for i in range(m):
            if mask[i >> 6] >> np.uint64(i & 63) & np.uint64(1):
                continue
            cost = child.own + price + child.prices[i] + child.half * _logs_with(t, i, child, stack)
            if cost == np.inf:
                continue
            put(mask, i)
            learn(cost + child.margin, mask, known)
            take_out(mask, i)
            if cost < least:
                best, least = i, cost
        if best < 0:
            break
        _take(t, best, 0, child, stack)
        put(mask, best)
        before, price, t = least, price + child.prices[best], t + 1
    mask[:] = 0
    return alone


@njit
def search_blocks(firsts, child, known, found, halt):
    """Judge the families whose first candidate is from firsts[0] on and before firsts[1], and if firsts[2] that without
    one; OVER, or FULL if `found` has no room.

    O(c^2 d) for each family from which the search goes on, of c columns of length d.
    """
    child, known, found, halt = borrowed((child, known, found, halt))
    m, stack = child.prices.size, _new_stack(child)
    mask = np.zeros(known.masks.shape[1], np.uint64)
    alone = _begin(child, mask, known, stack)
    if firsts[2] == 1:
        judge(alone, child.margin, mask, np.inf, child.slack, known, found)
    limit = stack.price.size - 1
    cheapest_behind = np.full(m + 1, np.inf)
    for i in range(m - 1, -1, -1):
        cheapest_behind[i] = min(cheapest_behind[i + 1], child.prices[i])
    stack.cheapest[0], stack.next[0] = alone + child.margin, firsts[1] - 1
    if limit > 1:
        _leave_behind(0, firsts[0], child, stack)
    t = 0
    while t >= 0 and not halt[0]:
        i = stack.next[t]
        if i < (firsts[0] if t == 0 else stack.chosen[t] + 1) or t == limit:
            if t > 0:
                take_out(mask, stack.chosen[t])
            t -= 1
            continue
        stack.next[t] -= 1
        price = stack.price[t] + child.prices[i]
        idle = stack.most[t, i] <= child.prices[i] - child.slack - 2.0 * child.margin
        reach = child.own + price + stack.least[t, i] - child.slack - child.margin
        if idle or reach >= stack.cheapest[t]:
            continue
        logs = _logs_with(t, i, child, stack)
        if logs == np.inf:
            continue
        cost = child.own + price + child.half * logs
        if found.counts[0] >= found.costs.size - 1:
            return FULL
        put(mask, i)
        cheapest = judge(cost, child.margin, mask, cheapest_inside(mask, known), child.slack, known, found)
        if t + 1 < limit and i + 1 < m and reach + cheapest_behind[i + 1] < cheapest:
            _take(t, i, child.starts[i + 1], child, stack)
            t += 1
            stack.chosen[t], stack.next[t] = i, m - 1
            stack.price[t], stack.cheapest[t] = price, cheapest
            stack.least[t], stack.most[t] = -np.inf, np.inf
            if t + 1 < limit:
                _leave_behind(t, i + 1, child, stack)
            continue
        take_out(mask, i)
    return OVER


@njit
def least_left(child):
    """What all candidates leave of a child at least, half the records times its logarithm, as a bound of families that
    are allowed."""
    stack = _new_stack(child)
    if child.prices.size == 0:
        stack.own[:] = stack.left[0]
        return child.half * _logs_left(stack.own, ROUNDING)
    _leave_behind(0, 0, child, stack)
    return stack.least[0, 0]
