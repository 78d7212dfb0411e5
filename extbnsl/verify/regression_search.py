"""The depth-first search for the families of one child that matter, by Gaussian BIC: kernels.

See `regression_families` for what is left out and why. A node is a parent set P; its children add one of the
candidates after the last one of P. A node holds what P leaves of the candidates that may still come, and of the child,
in coordinates: a triangle by Givens rotations, the last candidate first. So the squares of the child beyond its first
coordinates are what P and the last candidates leave of it (Furnival and Wilson 1974 bound all subsets so);
`regression_bound` bounds what only some of them leave. The coordinates along the parents themselves make a triangle
too, and tell what P leaves without one of them.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.verify.regression_bound import room_of, rule_out

TINY = 1e-290  # of a column whose largest number is about 1: nothing


class RegressionChild(NamedTuple):
    """What the search for the families of one child reads: m candidates, k clusters. Costs in nats."""

    half: float  # N / 2
    worth: float  # a parent that takes no more than this part of what its set leaves is dearer than it is worth
    own: float  # what a family costs that leaves squares of 1 in the coordinates, without the price of candidates
    price: float  # of a parent
    margin: float  # what is compared may be off by less than half of it
    lead: float  # by what a subset must beat a set to take its place, infinity where none is left out for that
    threshold: int  # of the reduced costs, in units
    depth: int  # most candidates of a set
    candidates: NDArray[np.int64]  # (m,)
    hits: NDArray[np.int64]  # (k, m) the multiplier of each cluster that a candidate is in, in units, 0 elsewhere
    multipliers: NDArray[np.int64]  # (k,)
    # Of sets that are singular, if some are; b members are part of all sets, and come first:
    least: float  # squares that a family leaves of the child, 0 if none is singular
    most: float  # what the squares of a row of an inverse are at most, by those of the column; else infinity
    squares: NDArray[np.float64]  # (b + m + 1,) of the columns, the candidates by place, the child last
    before: NDArray[np.float64]  # (b, m + 1) the coordinates of the candidates and the child along the first b


class RegressionFrames(NamedTuple):
    """A stack of nodes; each array has a place or a row for each. Place p is that of candidate m - 1 - p."""

    triangle: NDArray[np.float64]  # (depth, m, m) coordinates by row of the candidates by place, a triangle
    goal: NDArray[np.float64]  # (depth, m) of the child
    left: NDArray[np.float64]  # (depth, m) the squares of it that the node and the candidates at places 0 to p leave
    next: NDArray[np.int64]  # the place to try next, all above it are done
    out: NDArray[np.bool_]  # (depth, m) which candidates by place are in no set below that matters
    varset: NDArray[np.uint64]  # (depth, words)
    cheapest: NDArray[np.float64]  # the least known cost of its subsets, and the lead
    rest: NDArray[np.int64]  # (depth, k) 1 for clusters disjoint from it
    taken: NDArray[np.int64]  # their multipliers, in units
    # Of the last parent, if it is no root:
    place: NDArray[np.int64]
    along: NDArray[np.float64]  # (depth, m) the coordinates along it of the candidates by place
    length: NDArray[np.float64]  # the coordinate of itself
    part: NDArray[np.float64]  # that of the child
    # The members in this order, b and the parents from the root on, have coordinates that are a triangle:
    inverse: NDArray[np.float64]  # (b + depth + 1, same) the inverse of it, by row; it grows by columns
    rows: NDArray[np.float64]  # (depth + 1, b + depth + 1) the squares of its rows, at each depth
    squares: NDArray[np.float64]  # (b + depth + 1,) of the members' columns
    column: NDArray[np.float64]  # (b + depth + 1,) working space


def new_regression_frames(
    child: RegressionChild,
    alone: float,
    base: NDArray[np.uint64],
    coordinates: NDArray[np.float64],
    apart: NDArray[np.bool_],
) -> RegressionFrames:
    """A stack with room for all nodes, and the first parent set on it, which costs so much: `base` (words,), which is
    part of all, with b members. coordinates (b + m + 1, same): of these, the candidates by place, and the child, a
    triangle. apart (k,): the clusters disjoint from it."""
    m, depth, b = child.candidates.size, child.depth + 1, len(child.before)
    inverse, rows = np.zeros((b + depth + 1, b + depth + 1)), np.zeros((depth + 1, b + depth + 1))
    if child.most < math.inf:
        inverse[:b, :b] = np.linalg.solve(coordinates[:b, :b], np.eye(b))
        rows[:] = (inverse**2).sum(axis=1)
    coordinates = coordinates[b:, b:]
    triangle, goal, left = np.zeros((depth, m, m)), np.zeros((depth, m)), np.zeros((depth, m))
    triangle[0], goal[0] = coordinates[:m, :m], coordinates[:m, m]
    left[0] = np.cumsum(coordinates[:0:-1, m] ** 2)[::-1]
    return RegressionFrames(
        triangle=triangle,
        goal=goal,
        left=left,
        next=np.full(depth, m - 1),
        out=np.zeros((depth, m), np.bool_),
        varset=np.tile(base, (depth, 1)),
        cheapest=np.full(depth, alone + child.lead),
        rest=np.tile(apart.astype(np.int64), (depth, 1)),
        taken=np.full(depth, int(child.multipliers[apart].sum())),
        place=np.zeros(depth, np.int64),
        along=np.zeros((depth, m)),
        length=np.zeros(depth),
        part=np.zeros(depth),
        inverse=inverse,
        rows=rows,
        squares=np.append(child.squares[:b], np.zeros(depth + 1)),
        column=np.zeros(b + depth + 1),
    )


@inlined
def _rotation(a, b):
    """Cosine, sine and length by which (a, b) turns into (length, 0); no turn where there is next to nothing."""
    length = math.hypot(a, b)
    if length < TINY:
        return 1.0, 0.0, 0.0
    return a / length, b / length, length


@njit
def triangulate(rows):
    """Turn a matrix (m, n) into a triangle by Givens rotations, in place. O(m n^2)."""
    m, n = rows.shape
    for j in range(n):
        for i in range(j + 1, m):
            cosine, sine, rows[j, j] = _rotation(rows[j, j], rows[i, j])
            rows[i, j] = 0.0
            for q in range(j + 1, n):
                above, below = rows[j, q], rows[i, q]
                rows[j, q] = cosine * above + sine * below
                rows[i, q] = cosine * below - sine * above


@inlined
def _eliminate(top, p, frames):
    """Take the candidate at place p out of the places before it and of the child, into the next frame; the squares
    that are left of the child. O(p^2)."""
    up = top + 1
    old, new, along = frames.triangle[top], frames.triangle[up], frames.along[up]
    goal, left = frames.goal[up], frames.left[up]
    along[:p] = 0.0
    part, length = frames.goal[top, p], old[p, p]
    squares = frames.left[top, p]
    for r in range(p - 1, -1, -1):  # turn all of the candidate into the first coordinate, and put that aside
        cosine, sine, length = _rotation(old[r, p], length)
        for q in range(r, p):
            above, below = old[r, q], along[q]
            along[q] = cosine * above + sine * below
            new[r, q] = cosine * below - sine * above
        goal[r] = cosine * part - sine * frames.goal[top, r]
        part = cosine * frames.goal[top, r] + sine * part
        left[r] = squares
        squares += goal[r] * goal[r]
    frames.place[up], frames.length[up], frames.part[up] = p, length, part
    return squares


@inlined
def _grows(k, length, squares, most, old, new, frames):
    """Add a member to k others, with the coordinates `column` along them and `length` apart; whether they are not
    singular together. squares: of its column; old, new: the squares of rows before and after. O(k^2)."""
    inverse, column = frames.inverse, frames.column
    apart = length * length
    if squares > most * apart:
        return False
    for i in range(k):
        along = 0.0
        for j in range(i, k):
            along += inverse[i, j] * column[j]
        inverse[i, k] = -along / length
        new[i] = old[i] + inverse[i, k] * inverse[i, k]
        if new[i] * frames.squares[i] > most:
            return False
    inverse[k, k], new[k], frames.squares[k] = 1.0 / length, 1.0 / apart, squares
    return True


@inlined
def _is_regular(up, p, left, child, frames):
    """Whether the parents of a node, the last of them the candidate at place p, are not singular, nor they and the
    child, of which they leave so many squares."""
    b, m = child.before.shape
    k, column, rows = b + up - 1, frames.column, frames.rows
    for i in range(b):
        column[i] = child.before[i, p]
    for j in range(1, up):
        column[b + j - 1] = frames.along[j, p]
    if not _grows(k, frames.length[up], child.squares[b + p], child.most, rows[up - 1], rows[up], frames):
        return False
    for i in range(b):
        column[i] = child.before[i, m - 1]
    for j in range(1, up + 1):
        column[b + j - 1] = frames.part[j]
    last = child.squares[b + m - 1]
    return _grows(k + 1, math.sqrt(left), last, child.most, rows[up], rows[up + 1], frames)


@inlined
def _least_taken(up, enough, frames, row):
    """The square that one of the parents of a node before its last takes of the child beside all others: of the first
    one found that takes no more than enough, infinity if there is none. row: working space (depth,). O(k^3)."""
    for j in range(up - 1, 0, -1):
        rest = frames.part[j]
        for q in range(j + 1, up + 1):
            row[q] = frames.along[j, frames.place[q]]
        for r in range(j + 1, up + 1):  # without that parent, its coordinate is turned into those of the later ones
            cosine, sine, _ = _rotation(row[r], frames.length[r])
            for q in range(r + 1, up + 1):
                row[q] = cosine * frames.along[r, frames.place[q]] - sine * row[q]
            rest = cosine * frames.part[r] - sine * rest
        if rest * rest <= enough:
            return rest * rest
    return np.inf


@inlined
def _take(top, y, child, frames):
    """The next frame knows the clusters disjoint from the node and candidate y, and what their multipliers take."""
    total = np.int64(0)
    for c in range(child.multipliers.size):
        left = frames.rest[top, c] and child.hits[c, y] == 0
        frames.rest[top + 1, c] = left
        if left:
            total += child.multipliers[c]
    frames.taken[top + 1] = total


@njit
def search_regressions(top, child, frames, relaxed, halt, varsets, costs):
    """Go on with the search until it is over, halted or there is no room for families; the top of the stack, -1 when
    it is over, and how many families there are."""
    frames, relaxed, halt, varsets, costs = borrowed((frames, relaxed, halt, varsets, costs))
    m = child.candidates.size
    row = np.empty(child.depth + 1)
    written = 0
    while top >= 0 and not halt[0] and written < costs.size:
        p, up = frames.next[top], top + 1
        if p < 0 or top == child.depth:
            top -= 1
            continue
        frames.next[top] -= 1
        if frames.out[top, p]:
            continue
        price = child.own + child.price * up
        least = price + child.half * math.log(max(frames.left[top, p], child.least))
        matter = least < room_of(top, frames.cheapest[top], child, frames)
        if matter and p + 1 >= relaxed.fewest:
            matter = rule_out(top, p, child, frames, relaxed)
        if not matter:
            frames.next[top] = -1  # the places that are left leave more of the child
            continue
        if frames.out[top, p]:
            continue
        y = m - 1 - p
        _take(top, y, child, frames)
        room = room_of(up, frames.cheapest[top], child, frames)
        if least >= room:
            continue
        squares = _eliminate(top, p, frames)
        if child.most < np.inf and not _is_regular(up, p, squares, child, frames):
            continue
        cost = price + child.half * math.log(squares)
        for word in range(frames.varset.shape[1]):
            frames.varset[up, word] = frames.varset[top, word]
        for q in range(p):
            frames.out[up, q] = frames.out[top, q]
        v = child.candidates[y]
        frames.varset[up, v >> 6] |= u64(1) << u64(v & 63)
        cheapest = cost
        if cost < room:
            taken = _least_taken(up, child.worth * squares, frames, row)
            if taken < np.inf:
                cheapest = price - child.price + child.half * math.log(squares + taken)
            else:
                varsets[written] = frames.varset[up]
                costs[written] = cost
                written += 1
        frames.cheapest[up] = min(frames.cheapest[top], cheapest + child.lead)
        frames.next[up] = p - 1
        top = up
    return top, written
