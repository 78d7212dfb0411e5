"""The search for the families of one child of numbers that matter, with given parents of states: kernels.

See `both_families` for what is left out and why. In each configuration of the parents of states the columns are
vectors. A node is a set of parents of numbers; it holds what these leave of the vectors of the candidates behind its
last one, and of the child: each has the part along the last parent taken off (modified Gram-Schmidt). The candidates
behind are taken off one after the other from the last one, which tells what all sets below a node leave of the child at
least.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.verify import UNITS_PER_NAT

SAFE = 1e-6  # of a mean square: pivots that are larger lose hardly anything to rounding,
LOST = 1e-6  # no more than this part of a mean square
FULL, COARSE = -1, -2


class BothChild(NamedTuple):
    """What the search reads: q configurations, b parents that must be, m candidates, k clusters. Costs in nats."""

    counts: NDArray[np.int64]  # (q,) records
    own: float  # what a family costs that leaves all of the child, without the price of parents of numbers
    price: float  # of one of these
    base: int  # b
    margin: float  # what is compared may be off by less than half of it
    lead: float  # by what a subset must beat a set to take its place, infinity where none is left out for that
    threshold: int  # of the reduced costs, in units
    depth: int  # most candidates of a set
    cheapest: float  # the least known cost of a family with fewer parents of states
    least: float  # of a mean square: less is singular
    error: float  # of the coordinates of a column, a part of its length
    most: float  # that may be of what is left of the child
    candidates: NDArray[np.int64]  # (m,)
    hits: NDArray[np.bool_]  # (k, m) whether a candidate is in a cluster
    multipliers: NDArray[np.int64]  # (k,) in units


class BothFrames(NamedTuple):
    """A stack of nodes, by how many parents they have. Vectors are those of the parents that must be, the candidates,
    and the child; their squares are means over the records of a configuration, of columns of variance 1."""

    vectors: NDArray[np.float64]  # (depth, q, b + m + 1, d) one a row: what a node leaves of them
    along: NDArray[np.float64]  # (q, depth, b + m + 1) their coordinates along each parent
    inverse: NDArray[np.float64]  # (q, depth, depth) of the triangle that the parents make
    rows: NDArray[np.float64]  # (depth, q, depth) the squares of its rows
    members: NDArray[np.int64]  # (depth,) places of the parents
    squares: NDArray[np.float64]  # (q, b + m + 1) of the vectors
    below: NDArray[np.float64]  # (depth, b + m + 1) what a node and all from a place on leave at least, in nats
    next: NDArray[np.int64]
    cheapest: NDArray[np.float64]
    rest: NDArray[np.bool_]  # (depth, k) clusters disjoint from it
    taken: NDArray[np.int64]
    work: NDArray[np.float64]


def both_frames(child: BothChild, vectors: NDArray[np.float64], apart: NDArray[np.bool_]) -> BothFrames:
    """A stack with the empty set on it. vectors: (q, b + m + 1, d); apart (k,): clusters that are disjoint from
    the parents of states."""
    q, w, d = vectors.shape
    depth, clusters = child.base + child.depth + 1, apart.size
    frames = BothFrames(
        vectors=np.zeros((depth, q, w, d)),
        along=np.zeros((q, depth, w)),
        inverse=np.zeros((q, depth + 1, depth + 1)),
        rows=np.zeros((depth, q, depth + 1)),
        members=np.zeros(depth, np.int64),
        squares=(vectors**2).sum(axis=2),
        below=np.zeros((depth, w)),
        next=np.zeros(depth, np.int64),
        cheapest=np.full(depth, child.cheapest),
        rest=np.zeros((depth, clusters), np.bool_),
        taken=np.zeros(depth, np.int64),
        work=np.zeros((w, d)),
    )
    frames.vectors[0] = vectors
    frames.rest[0], frames.taken[0] = apart, int(child.multipliers[apart].sum())
    return frames


@inlined
def _grown(j, k, v, square, old, new, least, frames):
    """Fill new (k + 1,) with the squares of the rows of the inverse if vector v comes to k parents, which leave such a
    square of it; whether they are not singular."""
    if square < least:
        return False
    length = math.sqrt(square)
    for i in range(k):
        part = 0.0
        for r in range(i, k):
            part += frames.inverse[j, i, r] * frames.along[j, r, v]
        part /= length
        frames.inverse[j, i, k] = -part
        new[i] = old[i] + part * part
        if new[i] * least > 1.0:
            return False
    frames.inverse[j, k, k] = 1.0 / length
    new[k] = 1.0 / square
    return True


@inner
def _push(k, v, least, frames):
    """Put the vector at place v to the k parents of a node, into the next one; whether they are not singular."""
    q, w, d = frames.vectors.shape[1:4]
    for j in range(q):
        old, new = frames.vectors[k, j], frames.vectors[k + 1, j]
        square = 0.0
        for i in range(d):
            square += old[v, i] * old[v, i]
        if not _grown(j, k, v, square, frames.rows[k, j], frames.rows[k + 1, j], least, frames):
            return False
        length = math.sqrt(square)
        for u in range(v + 1, w):
            part = 0.0
            for i in range(d):
                part += old[v, i] * old[u, i]
            frames.along[j, k, u] = part / length
            part /= square
            for i in range(d):
                new[u, i] = old[u, i] - part * old[v, i]
    frames.members[k] = v
    return True


@inner
def _cost(k, child, frames, spare):
    """What the k parents of a node leave of the child, a sum over the records in nats, infinity if they are singular;
    and whether it is known: otherwise it is that at least. spare: (depth + 1,)."""
    q, w, d = frames.vectors.shape[1:4]
    total, known = 0.0, True
    for j in range(q):
        own, square = frames.vectors[k, j, w - 1], 0.0
        for i in range(d):
            square += own[i] * own[i]
        if not _grown(j, k, w - 1, square, frames.rows[k, j], spare, child.least, frames):
            return np.inf, True
        spread = frames.squares[j, w - 1] * spare[k]
        for i in range(k):
            spread += frames.squares[j, frames.members[i]] * spare[i]
        off = child.error * math.sqrt((k + 1) * spread)
        if not off <= child.most:
            known = False
            square = max(child.least, square * (1.0 - 2.0 * off)) if off < 0.125 else child.least
        total += child.counts[j] / 2 * math.log(square)
    return total, known


@inner
def _fill_below(k, first, child, frames):
    """Fill below[k, i] for the places i >= first of candidates: what the node and all from i on leave at least."""
    q, w, d = frames.vectors.shape[1:4]
    work = frames.work
    frames.below[k] = 0.0
    for j in range(q):
        half, gone, square = child.counts[j] / 2, False, 0.0
        for u in range(first, w):
            work[u] = frames.vectors[k, j, u]
        for v in range(w - 2, first - 1, -1):
            if not gone:
                pivot = 0.0
                for i in range(d):
                    pivot += work[v, i] * work[v, i]
                gone = pivot < SAFE
            if not gone:
                for u in range(first, w):
                    if u < v or u == w - 1:
                        part = 0.0
                        for i in range(d):
                            part += work[v, i] * work[u, i]
                        part /= pivot
                        for i in range(d):
                            work[u, i] -= part * work[v, i]
                square = 0.0
                for i in range(d):
                    square += work[w - 1, i] * work[w - 1, i]
                gone = square < SAFE
            frames.below[k, v] += half * math.log(child.least if gone else square * (1.0 - LOST))


@inlined
def _room(k, child, frames):
    """What a set costs less than that matters, by the node with k parents."""
    return min(frames.cheapest[k], (child.threshold + frames.taken[k]) / UNITS_PER_NAT + child.margin)


@njit
def search_both(child, frames, halt, varset, varsets, costs):
    """Write the families of the child that matter, and what they cost, varset (words,) being the parents of states; how
    many there are, FULL if there is no room for more, COARSE if rounding may hide what they cost."""
    frames, halt, varsets, costs = borrowed((frames, halt, varsets, costs))
    b, w = child.base, frames.vectors.shape[2]
    written = 0
    spare = np.zeros(frames.inverse.shape[1] + 1)
    for k in range(b):
        frames.rest[k + 1], frames.taken[k + 1] = frames.rest[k], frames.taken[k]
        if not _push(k, k, child.least, frames):
            return written
    k = b
    total, is_known = _cost(k, child, frames, spare)
    if total == np.inf:
        return written
    cost = child.own + child.price * b + total
    if cost < _room(k, child, frames):
        if not is_known:
            return COARSE
        varsets[written], costs[written] = varset, cost
        written += 1
    if is_known:
        frames.cheapest[k] = min(frames.cheapest[k], cost + child.lead)
    frames.next[k] = b
    _fill_below(k, b, child, frames)
    while k >= b and not halt[0]:
        v = frames.next[k]
        if v >= w - 1 or k - b == child.depth:
            k -= 1
            continue
        frames.next[k] += 1
        up = k + 1
        taken = np.int64(0)
        for c in range(child.multipliers.size):
            left = frames.rest[k, c] and not child.hits[c, v - b]
            frames.rest[up, c] = left
            if left:
                taken += child.multipliers[c]
        frames.taken[up], frames.cheapest[up] = taken, frames.cheapest[k]
        price = child.own + child.price * up
        if price + frames.below[k, v] >= _room(up, child, frames) or not _push(k, v, child.least, frames):
            continue
        total, is_known = _cost(up, child, frames, spare)
        if total == np.inf:
            continue
        cost = price + total
        if cost < _room(up, child, frames):
            if not is_known:
                return COARSE
            if written == costs.size:
                return FULL
            varsets[written] = varset
            for i in range(up):
                number = child.candidates[frames.members[i]]
                varsets[written, number >> 6] |= u64(1) << u64(number & 63)
            costs[written] = cost
            written += 1
        if is_known:
            frames.cheapest[up] = min(frames.cheapest[up], cost + child.lead)
        if up - b < child.depth and v + 1 < w - 1:
            frames.next[up] = v + 1
            _fill_below(up, v + 1, child, frames)
            k = up
    return written
