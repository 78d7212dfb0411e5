"""The families of one child of data of both kinds, depth first: configurations of its parents of states, and in them
regressions on its parents of numbers. See scores/conditional.py for the cost.

**Parents of states** D come from a walk over all subsets of the candidates, which divides the records into
configurations as a candidate is added. D and all its supersets are left out where they are singular (a configuration
has too few records); where the candidate that came last divides nothing, unless some slack is asked for (all families
with it have the same misfit without it, and cost less); and where they cost too much, see below.

**Parents of numbers** C come, for each D, from a walk over subsets of the candidates in a fixed order, by covariances
within each configuration, from which each member of C is eliminated (the Schur complement). Each time the candidates
behind place k are eliminated from the last one on, so that what C and all that may follow leave of the child is known.

What ends the walks. Let T be what some subset of a parent set costs that is known. With all that may be added besides,
a family costs at least what these leave of the child and the price of the least of these parent sets: the misfit never
rises with a parent, and the price never falls. If that is no less than T, and the slack, the set and its supersets are
left out. Where C and all that may follow are singular in a configuration, a family that is allowed leaves there at
least LEAST_SHARE of the variance; so that is taken. T may be of a family that is singular: then so are its supersets.

Rounding. Columns have variance 1. Covariances in a configuration are means of products, off by some 2^-50 for each of m
columns; what is eliminated divides this by the smallest pivot. So a share is off by at most `rounding` = m 2^-50 / that
pivot. A pivot is zero only if it is below LEAST_SHARE by more than that; a share that is less than SURE times its
rounding is taken for the least there can be. Costs are compared with that margin. Families that are within it are
costed again by whoever asks.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.scores.gaussian import LEAST_SHARE

ROUNDING = 2.0**-50
SURE = 1e3
FLOOR = math.log(LEAST_SHARE) / 2  # nats a record
OVER, FULL = 0, 1


class Divided(NamedTuple):
    """The candidates of states, and the records as those divide them that must be parents.

    codes (d, N) uint16, arities (d,) int64; base (N,) int32: the number of the configuration of those that must be, of
    `bases` that occur; joint: how many there might be.
    """

    codes: NDArray[np.uint16]
    arities: NDArray[np.int64]
    base: NDArray[np.int32]
    bases: int
    joint: float


class Columns(NamedTuple):
    """The numbers of records (N, k) float64, of variance 1: rows: of those that must be parents, which are so many,
    candidates, and the child; alone: without candidates."""

    rows: NDArray[np.float64]
    alone: NDArray[np.float64]
    must: int


class Asked(NamedTuple):
    """What is asked of a child.

    limit: the most parents beside those that must be; price: of a parameter, in nats; slack: as in
    `surviving_families`; own: what is part of every cost.
    """

    limit: int
    price: float
    slack: float
    own: float


class Known(NamedTuple):
    """Families that are known, the cheapest first: masks (e, w) uint64 and costs (e,) float64, of which used[0] are
    there. Bit i of a mask: candidate i of numbers; behind them, of states."""

    masks: NDArray[np.uint64]
    costs: NDArray[np.float64]
    used: NDArray[np.int64]


class FoundFamilies(NamedTuple):
    """Room for families that are found: masks (f, w), costs (f,), errors (f,) what these may be off; counts: how many
    are found, and how many were looked at."""

    masks: NDArray[np.uint64]
    costs: NDArray[np.float64]
    errors: NDArray[np.float64]
    counts: NDArray[np.int64]


def known_families(words: int, most: int) -> Known:
    """Room for so many."""
    return Known(np.zeros((most, words), np.uint64), np.full(most, np.inf), np.zeros(1, np.int64))


def room_for(words: int, most: int) -> FoundFamilies:
    """Room for so many."""
    return FoundFamilies(np.zeros((most, words), np.uint64), np.zeros(most), np.zeros(most), np.zeros(2, np.int64))


@inlined
def _beaten(cost, mask, known):
    """Whether a subset of a parent set is known that costs no more."""
    for i in range(known.used[0]):
        if known.costs[i] > cost:
            return False
        inside = True
        for w in range(mask.size):
            if known.masks[i, w] & ~mask[w]:
                inside = False
                break
        if inside:
            return True
    return False


@inlined
def _learn(cost, mask, known):
    """Put a family among those that are known, in the place of the dearest if there is no room."""
    if known.used[0] == known.costs.size:
        if known.costs[known.costs.size - 1] <= cost:
            return
        known.used[0] -= 1
    at = known.used[0]
    while at > 0 and known.costs[at - 1] > cost:
        known.costs[at] = known.costs[at - 1]
        known.masks[at] = known.masks[at - 1]
        at -= 1
    known.costs[at] = cost
    known.masks[at] = mask
    known.used[0] += 1


@inlined
def _find(cost, error, mask, found):
    """Put a family among those that are found."""
    at = found.counts[0]
    found.masks[at], found.costs[at], found.errors[at] = mask, cost, error
    found.counts[0] += 1


@inlined
def _set(mask, bit):
    mask[bit >> 6] |= u64(1) << u64(bit & 63)


@inlined
def _unset(mask, bit):
    mask[bit >> 6] &= ~(u64(1) << u64(bit & 63))


class Walk(NamedTuple):
    """The stack of the walk over parents of states: which (depth, N) int32: the configuration of each record; occur
    (depth,) how many there are; joint (depth,) how many there might be; next (depth,) the next candidate; numbers
    (table,) and counts (depth, N) of the configurations."""

    which: NDArray[np.int32]
    occur: NDArray[np.int64]
    joint: NDArray[np.float64]
    next: NDArray[np.int64]
    numbers: NDArray[np.int32]
    counts: NDArray[np.int64]


@inner
def _new_walk(divided, depth):
    """The walk with its first node, those that must be alone."""
    records = divided.base.size
    widest = 1
    for arity in divided.arities:
        widest = max(widest, arity)
    walk = Walk(
        np.empty((depth + 1, records), np.int32),
        np.zeros(depth + 1, np.int64),
        np.zeros(depth + 1),
        np.zeros(depth + 1, np.int64),
        np.full(records * widest, -1, np.int32),
        np.zeros((depth + 1, records), np.int64),
    )
    walk.which[0] = divided.base
    walk.occur[0], walk.joint[0] = divided.bases, divided.joint
    for row in range(records):
        walk.counts[0, divided.base[row]] += 1
    return walk


@inner
def _divide(top, y, divided, walk):
    """Divide the configurations of node `top` by candidate y, in the order in which they occur; the records of the
    smallest. O(N)."""
    up, arity, numbers = top + 1, divided.arities[y], walk.numbers
    occur = 0
    walk.counts[up] = 0
    for row in range(divided.base.size):
        cell = walk.which[top, row] * arity + divided.codes[y, row]
        number = numbers[cell]
        if number < 0:
            number = np.int32(occur)
            numbers[cell] = number
            occur += 1
        walk.which[up, row] = number
        walk.counts[up, number] += 1
    for cell in range(walk.occur[top] * arity):
        numbers[cell] = -1
    walk.occur[up], walk.joint[up] = occur, walk.joint[top] * arity
    least = divided.base.size
    for number in range(occur):
        least = min(least, walk.counts[up, number])
    return least


class Frames(NamedTuple):
    """The stack of the walk over parents of numbers, m and the child.

    left (depth, q, m + 1, m + 1): what each node leaves of the covariances in each configuration, lower triangles;
    unsure (depth, q): where rounding hides that; rounding (depth,): of shares;
    least (depth, m + 1): what a node and the numbers from each on leave of the child at least, a sum over the records,
    in nats; next (depth,).
    """

    left: NDArray[np.float64]
    unsure: NDArray[np.bool_]
    rounding: NDArray[np.float64]
    least: NDArray[np.float64]
    next: NDArray[np.int64]


@inner
def _new_frames(must, most, q, m):
    """Room for nodes of so many candidates beside those that must be, in q configurations, out of m."""
    depth, width = must + most + 1, must + m + 1
    return Frames(
        np.empty((depth, q, width, width)),
        np.zeros((depth, q), np.bool_),
        np.full(depth, width * ROUNDING),
        np.zeros((depth, width)),
        np.zeros(depth, np.int64),
    )


@inner
def _covariances(which, counts, occur, rows, out):
    """The covariances of records (N, m) in each configuration: lower triangles into out (q, m, m). O(N m^2)."""
    m = rows.shape[1]
    means = np.zeros((occur, m))
    out[:] = 0.0
    for row in range(which.size):
        j, own = which[row], rows[row]
        for a in range(m):
            means[j, a] += own[a]
            for b in range(a + 1):
                out[j, a, b] += own[a] * own[b]
    for j in range(occur):
        n = counts[j]
        for a in range(m):
            for b in range(a + 1):
                out[j, a, b] = (out[j, a, b] - means[j, a] * means[j, b] / n) / n


@inlined
def _pivot(share, rounding):
    """-1 if what is left of a column is nothing for sure, 0 if it may be, 1 if it is something."""
    if share + rounding < LEAST_SHARE:
        return -1
    return 1 if share >= max(LEAST_SHARE, SURE * rounding) else 0


@inner
def _eliminate(t, v, first, frames):
    """Eliminate column v from node t into node t + 1, for the columns from `first` > v on; whether it is not
    singular."""
    up, (q, m) = t + 1, frames.left.shape[1:3]
    rounding = frames.rounding[t]
    smallest = 1.0
    for j in range(q):
        old, new = frames.left[t, j], frames.left[up, j]
        pivot = old[v, v]
        state = _pivot(pivot, rounding)
        if state < 0 and not frames.unsure[t, j]:
            return False
        frames.unsure[up, j] = frames.unsure[t, j] or state == 0
        if frames.unsure[up, j]:
            continue
        smallest = min(smallest, pivot)
        for a in range(first, m):
            factor = old[a, v] / pivot
            for b in range(first, a + 1):
                new[a, b] = old[a, b] - factor * old[b, v]
    frames.rounding[up] = max(rounding, m * ROUNDING / smallest)
    return True


@inner
def _leave_behind(t, k, counts, frames, work):
    """Fill least[t, i] for the candidates i >= k. work: (m + 1, m + 1). O(q m^3)."""
    q, m = frames.left.shape[1], frames.left.shape[2] - 1
    frames.least[t, k:m] = 0.0
    for j in range(q):
        half, rounding = counts[j] / 2, frames.rounding[t]
        gone = frames.unsure[t, j]
        if not gone:
            for a in range(k, m + 1):
                for b in range(k, a + 1):
                    work[a, b] = frames.left[t, j, a, b]
        for i in range(m - 1, k - 1, -1):
            if not gone:
                pivot = work[i, i]
                gone = pivot < max(LEAST_SHARE, SURE * rounding)
                if not gone:
                    rounding = max(rounding, m * ROUNDING / pivot)
                    factor = work[m, i] / pivot
                    for b in range(k, i):
                        work[m, b] -= factor * work[i, b]
                    work[m, m] -= factor * work[m, i]
                    for a in range(k, i):
                        across = work[i, a] / pivot
                        for b in range(k, a + 1):
                            work[a, b] -= across * work[i, b]
                    gone = work[m, m] < max(LEAST_SHARE, SURE * rounding)
            share = work[m, m]
            frames.least[t, i] += counts[j] * FLOOR if gone else half * (math.log(share) - rounding / share)


@inlined
def _bound(t, k, more, counts, frames, work):
    """Know what the candidates from k on leave of the child, if so many more than one may come: a single one is costed
    in less time."""
    if more > 1:
        _leave_behind(t, k, counts, frames, work)
    else:
        frames.least[t, k:] = -np.inf


@inner
def _misfit_with(t, k, counts, frames):
    """What node t and candidate k leave of the child, a sum over the records in nats, infinite if they are singular;
    and what it may be off."""
    q, m = frames.left.shape[1], frames.left.shape[2] - 1
    total, error = 0.0, 0.0
    for j in range(q):
        left, rounding, half = frames.left[t, j], frames.rounding[t], counts[j] / 2
        if frames.unsure[t, j]:
            total += counts[j] * FLOOR
            error = np.inf
            continue
        pivot = left[k, k]
        state = _pivot(pivot, rounding)
        if state < 0:
            return np.inf, 0.0
        share = left[m, m] - left[m, k] * left[m, k] / max(pivot, LEAST_SHARE)
        rounding = max(rounding, m * ROUNDING / max(pivot, LEAST_SHARE))
        own = _pivot(share, rounding)
        if state > 0 and own < 0:
            return np.inf, 0.0
        if state == 0 or own == 0:
            total += counts[j] * FLOOR
            error = np.inf
        else:
            total += half * math.log(share)
            error += half * rounding / share
    return total, error


@inner
def _alone(t, counts, frames):
    """The same of node t by itself."""
    q, m = frames.left.shape[1], frames.left.shape[2] - 1
    total, error = 0.0, 0.0
    for j in range(q):
        share, rounding = frames.left[t, j, m, m], frames.rounding[t]
        own = 0 if frames.unsure[t, j] else _pivot(share, rounding)
        if own < 0:
            return np.inf, 0.0
        if own == 0:
            total += counts[j] * FLOOR
            error = np.inf
        else:
            total += counts[j] / 2 * math.log(share)
            error += counts[j] / 2 * rounding / share
    return total, error


@inlined
def _judge(cost, error, mask, asked, known, found):
    """Keep a family if no subset is known that beats it; what is known of it is known of its supersets."""
    found.counts[1] += 1
    margin = 0.0 if error == np.inf else error
    if _beaten(cost - margin - asked.slack, mask, known):
        return
    _find(cost, error, mask, found)
    if error < np.inf:
        _learn(cost + error, mask, known)


@inner
def _regress(up, mask, walk, numbers, asked, known, found, halt):
    """Judge all families with the parents of states of node `up` of the walk, whose parents are so many and the mask
    has; -1 if they are singular, and all with more of these, else OVER or FULL."""
    q, counts, must = walk.occur[up], walk.counts[up], numbers.must
    m = numbers.rows.shape[1] - 1 - must
    smallest = counts[0]
    for j in range(q):
        smallest = min(smallest, counts[j])
    most = min(smallest - 2 - must, asked.limit - up, m)
    if most < 0:
        return -1
    if most == 0:
        m = 0
    frames = _new_frames(must, most, q, m)
    _covariances(walk.which[up], counts, q, numbers.rows if m > 0 else numbers.alone, frames.left[0])
    for v in range(must):
        if not _eliminate(v, v, v + 1, frames):
            return -1
    step = asked.price * walk.joint[up]
    price = asked.own + step * (must + 2)
    total, error = _alone(must, counts, frames)
    if total == np.inf:
        return -1
    if found.counts[0] >= found.costs.size - m - 1:
        return FULL
    _judge(price + total, error, mask, asked, known, found)
    if most == 0:
        return OVER
    last = must + m  # the child
    work = np.empty((last + 1, last + 1))
    frames.next[must] = must
    _bound(must, must, most, counts, frames, work)
    t = must  # members of the node; those that must be are the first
    chosen = np.zeros(must + most + 1, np.int64)
    while t >= must and not halt[0]:
        k = frames.next[t]
        if k >= last:
            if t > must:
                _unset(mask, chosen[t] - must)
            t -= 1
            continue
        frames.next[t] += 1
        _set(mask, k - must)
        size = t + 1 - must
        least = price + step * size + frames.least[t, k]
        if not _beaten(least - asked.slack, mask, known):
            if found.counts[0] >= found.costs.size - 1:
                return FULL
            total, error = _misfit_with(t, k, counts, frames)
            if total < np.inf:
                _judge(price + step * size + total, error, mask, asked, known, found)
                deeper = size < most and k + 1 < last and not _beaten(least + step - asked.slack, mask, known)
                if deeper and _eliminate(t, k, k + 1, frames):
                    t += 1
                    chosen[t], frames.next[t] = k, k + 1
                    _bound(t, k + 1, most - size, counts, frames, work)
                    continue
        _unset(mask, k - must)
    return OVER


@njit
def search_numbers(firsts, divided, numbers, asked, known, found, halt):
    """Judge the families of a child of numbers whose first parent of states is from firsts[0] on and before firsts[1],
    and if firsts[2] those without one; OVER, or FULL if `found` has no room.

    O(N m^2) for each set of parents of states, and O(q m^3) for each family from which the search goes on, of m numbers
    and q configurations.
    """
    divided, numbers, known, found, halt = borrowed((divided, numbers, known, found, halt))
    must = numbers.must
    d, m = divided.arities.size, numbers.rows.shape[1] - 1 - must
    depth = min(d, asked.limit)
    walk = _new_walk(divided, depth)
    mask = np.zeros(known.masks.shape[1], np.uint64)
    if firsts[2] == 1:
        state = _regress(0, mask, walk, numbers, asked, known, found, halt)
        if state != OVER:
            return max(state, OVER)
    top = 0
    walk.next[0] = firsts[0]
    members = np.zeros(depth + 1, np.int64)
    while top >= 0 and not halt[0]:
        y, up = walk.next[top], top + 1
        if y >= (firsts[1] if top == 0 else d) or top == depth:
            if top > 0:
                _unset(mask, m + members[top])
            top -= 1
            continue
        walk.next[top] += 1
        _set(mask, m + y)
        least = _divide(top, y, divided, walk)
        idle = walk.occur[up] == walk.occur[top] and asked.slack == 0.0
        floor = asked.own + divided.base.size * FLOOR + asked.price * walk.joint[up] * (must + 2)
        if least >= must + 2 and not idle and not _beaten(floor - asked.slack, mask, known):
            state = _regress(up, mask, walk, numbers, asked, known, found, halt)
            if state == FULL:
                return FULL
            if state == OVER:
                top = up
                members[top], walk.next[top] = y, y + 1
                continue
        _unset(mask, m + y)
    return OVER


@inner
def _misfit_of_states(up, child, arity, walk, mlogm, cells):
    """N H(child | the parents of node `up`), in nats. cells: (N * arity,) zeros, and zeros again. O(N)."""
    total = 0.0
    for j in range(walk.occur[up]):
        total += mlogm[walk.counts[up, j]]
    for row in range(child.size):
        cells[walk.which[up, row] * arity + child[row]] += 1
    for cell in range(walk.occur[up] * arity):
        if cells[cell] > 0:
            total -= mlogm[cells[cell]]
            cells[cell] = 0
    return total


@njit
def search_states(firsts, divided, child, arity, asked, known, found, halt):
    """`search_numbers` of a child of states, codes (N,) of so many states, whose candidates are of states alone.

    asked.own: what all candidates leave of it, in nats.
    """
    divided, child, known, found, halt = borrowed((divided, child, known, found, halt))
    d, records = divided.arities.size, child.size
    depth = min(d, asked.limit)
    walk = _new_walk(divided, depth)
    mask = np.zeros(known.masks.shape[1], np.uint64)
    mlogm = np.zeros(records + 1)
    for count in range(1, records + 1):
        mlogm[count] = count * math.log(count)
    error = 8 * ROUNDING * mlogm[records]
    cells = np.zeros(records * arity, np.int64)
    price = asked.price * (arity - 1)
    if firsts[2] == 1:
        cost = _misfit_of_states(0, child, arity, walk, mlogm, cells) + price * walk.joint[0]
        _judge(cost, error, mask, asked, known, found)
    top = 0
    walk.next[0] = firsts[0]
    members = np.zeros(depth + 1, np.int64)
    while top >= 0 and not halt[0]:
        y, up = walk.next[top], top + 1
        if y >= (firsts[1] if top == 0 else d) or top == depth:
            if top > 0:
                _unset(mask, members[top])
            top -= 1
            continue
        walk.next[top] += 1
        _set(mask, y)
        least = asked.own + price * walk.joint[top] * divided.arities[y]
        if not _beaten(least - error - asked.slack, mask, known):
            _divide(top, y, divided, walk)
            if walk.occur[up] > walk.occur[top] or asked.slack > 0.0:
                if found.counts[0] >= found.costs.size - 1:
                    return FULL
                cost = _misfit_of_states(up, child, arity, walk, mlogm, cells) + price * walk.joint[up]
                _judge(cost, error, mask, asked, known, found)
                top = up
                members[top], walk.next[top] = y, y + 1
                continue
        _unset(mask, y)
    return OVER
