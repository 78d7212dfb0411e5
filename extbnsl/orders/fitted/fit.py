"""The parents of one continuous variable among those before it in an order, by forward and backward steps.

A fit holds the rows of a triangular factor of the parents' correlations, carried on over all variables: row i is what
the first i parents leave of the covariances of parent i with each variable, over its deviation. What all of them leave
of the covariances with the child, and of the variance of each variable, follows: so a look at one more parent is two
products, and a step forward a row. A step backward rotates the rows below the parent that goes (Givens), until the last
one is what that parent alone told; this is stable. Both take O(n k) for k parents of n variables.

Forward steps add the parent that lowers the cost most until none does, backward steps drop the one whose loss lowers it
most, in turn until neither is left (Wienobst, Henckel and Weichwald 2026, of the parents within the moves of an order).
Every step lowers the cost, so that this ends.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import inlined, inner
from extbnsl.scores.determinants import LEAST
from extbnsl.scores.gaussian import LEAST_SHARE

SURE = 2 * LEAST_SHARE  # of the variance of a member, that others leave it at least: more than is asked, for rounding
NOBODY = -1
MUST = np.float32(2.0)  # in place of a squared correlation, of a parent that must be


class Gram(NamedTuple):
    """What families are chosen by, of n variables.

    matrix (n, n) float64: the correlations.
    half: N / 2.
    price: of a parent, in nats.
    allowed, required (n, n) bool: whether [child, parent] may be an arc, or must be.
    needed, limits (n,) int64: how many parents of each must be, and how many there may be.
    missing: what the lack of a parent that must be costs, in nats: more than all else.
    regular: whether all columns together are regular (scores/gaussian.py); otherwise each family is looked at.
    least: the squared partial correlation from which on one more parent pays.
    tiny: a difference of costs that says nothing, in nats.
    """

    matrix: NDArray[np.float64]
    half: float
    price: float
    allowed: NDArray[np.bool_]
    required: NDArray[np.bool_]
    needed: NDArray[np.int64]
    limits: NDArray[np.int64]
    missing: float
    regular: bool
    least: float
    tiny: float

    @property
    def variables(self) -> int:
        """The number n of variables."""
        return self.limits.size


class Fit(NamedTuple):
    """The fit of a child, in working space for any.

    parents (k,) int32, the first size[0] of them; lacking (1,) int64: how many that must be are missing. rows (k, n)
    float64: see above; covariances, variances (n,) float64: what the parents leave of those with the child, and of each
    variable. inverse (k,): a row of the inverse of the triangle; squares, along (k,): the squares of all its rows, and
    the coefficients of the child. refused (n,) bool: with whom the family would be singular.
    """

    parents: NDArray[np.int32]
    size: NDArray[np.int64]
    lacking: NDArray[np.int64]
    rows: NDArray[np.float64]
    covariances: NDArray[np.float64]
    variances: NDArray[np.float64]
    inverse: NDArray[np.float64]
    squares: NDArray[np.float64]
    along: NDArray[np.float64]
    refused: NDArray[np.bool_]


class Before(NamedTuple):
    """Who may be a parent: who stands before the place `end`, and `also`, but not `without`; NOBODY for none."""

    place: NDArray[np.int32]
    end: int
    also: int
    without: int


def new_fit(n: int, most: int) -> Fit:
    """Working space for families of n variables; there are never more parents than so many."""
    return Fit(
        parents=np.zeros(most, np.int32),
        size=np.zeros(1, np.int64),
        lacking=np.zeros(1, np.int64),
        rows=np.zeros((most, n)),
        covariances=np.zeros(n),
        variances=np.zeros(n),
        inverse=np.zeros(most),
        squares=np.zeros(most),
        along=np.zeros(most),
        refused=np.zeros(n, np.bool_),
    )


@inlined
def among(place, end, also, without):
    """Who may be a parent. Kernels are compiled for each kind of number: so it is one."""
    return Before(place, np.int64(end), np.int64(also), np.int64(without))


@inlined
def stands(z, before):
    """Whether z may be a parent."""
    return (before.place[z] < before.end and z != before.without) or z == before.also


@inlined
def cost_of_fit(child, fit, gram):
    """What the family costs, but for what does not depend on the parents."""
    return (
        gram.half * math.log(max(fit.variances[child], LEAST))
        + gram.price * fit.size[0]
        + gram.missing * fit.lacking[0]
    )


@inner
def clear(child, gram, fit):
    """Let the child have no parents."""
    fit.size[0] = 0
    for z in range(fit.variances.size):
        fit.covariances[z] = gram.matrix[child, z]
        fit.variances[z] = 1.0
        fit.refused[z] = False


@inner
def add(z, child, gram, fit):
    """One parent more. O(n k)."""
    k, n = fit.size[0], fit.variances.size
    row = fit.rows[k]
    for x in range(n):
        row[x] = gram.matrix[z, x]
    for j in range(k):
        other, share = fit.rows[j], fit.rows[j, z]
        for x in range(n):
            row[x] -= share * other[x]
    scale = 1.0 / math.sqrt(max(fit.variances[z], LEAST))
    along = row[child] * scale
    for x in range(n):
        row[x] *= scale
        fit.covariances[x] -= along * row[x]
        fit.variances[x] -= row[x] * row[x]
    fit.parents[k] = z
    fit.size[0] = k + 1


@inner
def drop(at, child, fit):
    """The parent of this number less. O(n k)."""
    k, n = fit.size[0], fit.variances.size
    for i in range(at, k - 1):
        fit.parents[i] = fit.parents[i + 1]
        above, below = fit.rows[i], fit.rows[i + 1]
        a, b = above[fit.parents[i]], below[fit.parents[i]]
        length = math.hypot(a, b)
        a, b = a / length, b / length
        for x in range(n):
            kept, left = above[x], below[x]
            above[x] = a * kept + b * left
            below[x] = a * left - b * kept
    last, along = fit.rows[k - 1], fit.rows[k - 1, child]
    for x in range(n):
        fit.covariances[x] += along * last[x]
        fit.variances[x] += last[x] * last[x]
    fit.size[0] = k - 1


@inner
def _invert(child, fit):
    """Fill `squares` and `along` by the inverse of the triangle of the parents. O(k^3 / 6)."""
    k, rows, parents, inverse = fit.size[0], fit.rows, fit.parents, fit.inverse
    for i in range(k - 1, -1, -1):
        # row i of the inverse: from the diagonal to the right
        inverse[i] = 1.0 / rows[i, parents[i]]
        squares, along = inverse[i] * inverse[i], inverse[i] * rows[i, child]
        for m in range(i + 1, k):
            total = 0.0
            for j in range(i, m):
                total += inverse[j] * rows[j, parents[m]]
            inverse[m] = -total / rows[m, parents[m]]
            squares += inverse[m] * inverse[m]
            along += inverse[m] * rows[m, child]
        fit.squares[i], fit.along[i] = squares, along


@inner
def _is_regular(child, fit):
    """Whether the family is, so that rounding can have no part in it."""
    share = fit.variances[child]
    if share < SURE:
        return False
    _invert(child, fit)
    for i in range(fit.size[0]):  # noqa: SIM110 - one over the diagonal of the inverse of the correlations of all members
        if SURE * (fit.squares[i] + fit.along[i] * fit.along[i] / share) > 1.0:
            return False
    return True


@inner
def try_add(z, child, gram, fit):
    """Add a parent, unless the family would be singular; returns whether it is one now."""
    add(z, child, gram, fit)
    if gram.regular or _is_regular(child, fit):
        return True
    drop(fit.size[0] - 1, child, fit)
    fit.refused[z] = True
    return False


@inner
def _most_helpful(child, before, gram, fit):
    """The parent that lowers the cost most, or -1; and what it takes of the child's variance."""
    best, found = gram.least * fit.variances[child], -1
    for z in range(fit.variances.size):
        square = fit.covariances[z] * fit.covariances[z]
        helps = square > best * fit.variances[z] and fit.variances[z] > LEAST
        if helps and stands(z, before) and gram.allowed[child, z] and not fit.refused[z]:
            best, found = square / fit.variances[z], z
    return found, best


@inner
def _least_helpful(child, gram, fit):
    """The parent without which the variance of the child grows least, and by how much; -1 if all of them must be."""
    _invert(child, fit)
    least, found = np.inf, -1
    for i in range(fit.size[0]):
        more = fit.along[i] * fit.along[i] / fit.squares[i]
        if more < least and not gram.required[child, fit.parents[i]]:
            least, found = more, i
    return found, least


@inner
def _go_forward(child, before, gram, fit):
    """Add parents as long as they lower the cost."""
    while fit.size[0] < gram.limits[child]:
        z, _ = _most_helpful(child, before, gram, fit)
        if z < 0:
            return
        try_add(z, child, gram, fit)


@inner
def _go_backward(child, gram, fit):
    """Drop parents as long as that lowers the cost, or there are more than there may be; returns whether any was."""
    dropped = False
    while fit.size[0]:
        at, more = _least_helpful(child, gram, fit)
        share = max(fit.variances[child], LEAST)
        helps = gram.half * math.log1p(more / share) > gram.price - gram.tiny
        if at < 0 or (helps and fit.size[0] <= gram.limits[child]):
            break
        drop(at, child, fit)
        dropped = True
    return dropped


@inner
def exchange(child, before, gram, fit):
    """Exchange a parent for another one if that lowers the cost; returns whether it did. O(n k^2)."""
    for _ in range(fit.size[0]):
        z, now = np.int64(fit.parents[0]), fit.variances[child]
        drop(0, child, fit)
        refused = fit.refused[z]
        fit.refused[z] = True
        w, taken = _most_helpful(child, before, gram, fit)
        fit.refused[z] = refused
        left = max(fit.variances[child] - taken, LEAST)
        better = w >= 0 and not gram.required[child, z] and gram.half * math.log(now / left) > gram.tiny
        if better and try_add(w, child, gram, fit):
            return True
        add(z, child, gram, fit)  # the last one then, so that the next is the first
    return False


@inner
def choose(child, before, gram, fit):
    """Go forward and backward from the parents that the fit has, until neither lowers the cost; where there may be no
    more parents, exchange them."""
    cost = np.inf
    while True:
        _go_forward(child, before, gram, fit)
        dropped = _go_backward(child, gram, fit)
        lower = cost_of_fit(child, fit, gram)
        if lower >= cost - gram.tiny:  # what rounding says of families that are nearly singular goes in circles
            return
        cost = lower
        full = fit.size[0] >= gram.limits[child]
        if not exchange(child, before, gram, fit) if full else not dropped:
            return
