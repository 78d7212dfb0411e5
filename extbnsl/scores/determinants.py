"""Determinants of many varsets at once: depth-first elimination, for scores of linear Gaussian variables.

The kernel fills, for a range of varsets of one size, T(V) = sum of f_X over X in V - N / 2 ln det C[V]; see gaussian.py
for f. So T(P) - T(P + X) is what P leaves of the misfit of X beyond what all variables leave, as with the tables of
entropies (counting.py), whose walk this is.

A node of the search is a prefix of variables with what they leave of the covariances of all lower ones: the Schur
complement. The last two variables of a varset need no node: the pivot of the last one is one subtraction.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit, spliced
from extbnsl.scores.counting import depth_of, descend
from extbnsl.scores.gaussian import LEAST_SHARE

LEAST = LEAST_SHARE / 2  # no pivot counts for less: those of regular sets are larger, whatever rounding does
SQUARES = 1e-300  # of a vector that is not zero, at least


class Moments(NamedTuple):
    """What determinants are computed from, of n variables.

    matrix (n, n) float64: the correlations, or what parents that must be leave of the covariances of standardised
    variables; the identity for these parents. least (n,) float64: f. half: N / 2. arities, factors (n,) int64: 2 and 1:
    a child has one price, and a parent multiplies nothing.
    """

    matrix: NDArray[np.float64]
    least: NDArray[np.float64]
    half: float
    arities: NDArray[np.int64]
    factors: NDArray[np.int64]


class Factored(NamedTuple):
    """What moments are of, where it is asked for more closely.

    factor (n, r) float64: see `unexplained`. groups: of each group of columns that determine each other, regular sets,
    among them all to which none of the group can be added; no column is in two groups.
    """

    factor: NDArray[np.float64]
    groups: tuple[tuple[tuple[int, ...], ...], ...]


def moments(matrix: NDArray[np.float64], least: NDArray[np.float64], total: float) -> Moments:
    """The moments of variables with this matrix and f, in so many records."""
    n = least.size
    return Moments(np.ascontiguousarray(matrix), least, total / 2, np.full(n, 2), np.ones(n, np.int64))


def given(moments: Moments, must: NDArray[np.bool_]) -> Moments:
    """The moments with what these variables, (n,) bool, leave of the covariances of the others. O(n^2 k) of k."""
    if not must.any():
        return moments
    matrix = moments.matrix
    left = matrix - matrix[:, must] @ np.linalg.solve(matrix[np.ix_(must, must)], matrix[must])
    left[must], left[:, must] = 0.0, 0.0
    left[must, must] = 1.0
    return moments._replace(matrix=np.ascontiguousarray((left + left.T) / 2))


class _Prefixes(NamedTuple):
    """A stack of prefixes: what each leaves of the covariances, lefts (depth, n, n), and logs (depth,) the sum of the
    logarithms of their pivots; least, half: see `Moments`."""

    lefts: NDArray[np.float64]
    logs: NDArray[np.float64]
    least: NDArray[np.float64]
    half: float


@inner
def _push(top, v, space):
    """Eliminate v from node `top` into node top + 1; lower triangles."""
    lefts, logs = space.lefts, space.logs
    pivot = max(lefts[top, v, v], LEAST)
    for a in range(v):
        factor = lefts[top, v, a] / pivot
        for b in range(a + 1):
            lefts[top + 1, a, b] = lefts[top, a, b] - factor * lefts[top, v, b]
    logs[top + 1] = logs[top] + math.log(pivot)


@inlined
def _never(top, walk, space):
    """All but two members are eliminated."""
    return False


@inlined
def _pivot(left, members, v):
    """What is left of the variance of v if the one of these members, none or one, is eliminated too."""
    pivot = left[v, v]
    for m in members:
        pivot -= left[m, v] * left[m, v] / max(left[m, m], LEAST)
    return max(pivot, LEAST)


@spliced
def _determine_group(top, walk, wanted, space, sums):
    """T of the varsets of a group."""
    left, least, members, size = space.lefts[top], space.least, walk.members, walk.members.size - 1
    shared, own = space.logs[top], 0.0
    second = members[1 : min(2, size)]
    for m in second:
        shared += math.log(max(left[m, m], LEAST))
    for m in members[1:size]:
        own += least[m]
    for v in wanted:
        sums[v] = own + least[v] - space.half * (shared + math.log(_pivot(left, second, v)))


@njit
def determine(size, first, places, binomials, moments, out):
    """Fill out[i] with T(V) of the present varset V of `size` >= 1 members at place first + i, for each i.

    places: which varsets are present (ranks.py). Work: about n^2 / 6 multiplications for each prefix of all but two
    members, and one logarithm for each varset.
    """
    places, binomials, moments, out = borrowed((places, binomials, moments, out))
    n, depth = moments.least.size, depth_of(size)
    space = _Prefixes(np.empty((depth, n, n)), np.zeros(depth), moments.least, moments.half)
    space.lefts[0] = moments.matrix
    descend((size, first, places, binomials), True, space, _push, _never, _determine_group, np.zeros(n), out)


@njit
def unexplained(child, varsets, factor, halt, out):
    """out[i] = the share of the variance of the child that the i-th varset of parents (m, w) leaves.

    Ends early when halt[0] is set.
    factor (n, r) float64: row v is column v of a triangular factor F of the correlations, F^T F = C. By modified
    Gram-Schmidt, whose relative error is that of the columns' condition, not of its square. O(r k^2) for k parents.
    """
    varsets, factor, halt, out = borrowed((varsets, factor, halt, out))
    basis, residual = np.empty(factor.shape), np.empty(factor.shape[1])
    for i in range(varsets.shape[0]):
        if halt[0]:
            break
        residual[:] = factor[child]
        size = _gather(varsets, i, factor, basis)
        for k in range(size):
            length = squared(basis[k])
            for later in range(k + 1, size):
                _remove(basis[k], length, basis[later])
            _remove(basis[k], length, residual)
        out[i] = max(squared(residual), SQUARES)


@njit
def least_left(child, varsets, factor, halt, out):
    """out[i] = `least_share` of the child and the i-th varset of parents (m, w).

    As `unexplained`. O(r k^2) for k parents.
    """
    varsets, factor, halt, out = borrowed((varsets, factor, halt, out))
    basis, room = np.empty(factor.shape), new_room(factor.shape[0])
    for i in range(varsets.shape[0]):
        if halt[0]:
            break
        size = _gather(varsets, i, factor, basis)
        basis[size] = factor[child]
        out[i] = least_share(size + 1, basis, room)


class Room(NamedTuple):
    """What `least_share` writes of n columns: squares (n,), triangle and inverse (n, n) float64."""

    squares: NDArray[np.float64]
    triangle: NDArray[np.float64]
    inverse: NDArray[np.float64]


@inner
def new_room(n):
    """Room for so many columns."""
    return Room(np.empty(n), np.empty((n, n)), np.empty((n, n)))


@inner
def least_share(size, basis, room):
    """The least share of its variance that the others leave any of so many columns, the first rows of `basis`; if that
    is less than LEAST, what those before a column leave it. What those before it leave of each row is in its place
    then, of all rows if the share is LEAST or more.

    They are one over the diagonal of the inverse of C: the squares of the rows of the inverse of the triangle that the
    columns make, which grows by a column at a time. O(r k^2) for k columns.
    """
    squares, triangle, inverse = room.squares, room.triangle, room.inverse
    least = 1.0
    for k in range(size):
        length = squared(basis[k])
        if length < LEAST:
            return length
        triangle[k, k] = math.sqrt(length)
        for later in range(k + 1, size):
            triangle[k, later] = _remove(basis[k], length, basis[later]) * triangle[k, k]
        squares[k] = 0.0
        for a in range(k + 1):
            along = -1.0 if a == k else 0.0
            for b in range(a, k):
                along += inverse[a, b] * triangle[b, k]
            inverse[a, k] = -along / triangle[k, k]
            squares[a] += inverse[a, k] * inverse[a, k]
            least = min(least, 1.0 / squares[a])
    return least


@inlined
def _gather(varsets, i, factor, basis):
    """basis = the rows of a factor of the members of the i-th varset; returns how many."""
    size = 0
    for q in range(varsets.shape[1]):
        left = varsets[i, q]
        while left:
            basis[size] = factor[(q << 6) + np.int64(lowest(left))]
            left &= left - u64(1)
            size += 1
    return size


@inlined
def squared(vector):
    """The sum of the squares."""
    total = 0.0
    for j in range(vector.size):
        total += vector[j] * vector[j]
    return total


@inner
def _remove(direction, length, vector):
    """Take the part along a direction, of this squared length, out of a vector; returns how often it is there."""
    along = 0.0
    for j in range(vector.size):
        along += direction[j] * vector[j]
    along /= max(length, SQUARES)
    for j in range(vector.size):
        vector[j] -= along * direction[j]
    return along
