"""What sets with many candidates in question cost at least, by Gaussian BIC: kernels.

All candidates together may leave next to nothing of a child, though each set that is worth its price leaves much: where
they are many, or correlated. So sets are bounded by their number of members too. At a node the triangle R holds what
its parents leave of the candidates in question, g what they leave of the child, and `rest` what is left beside R. Let
d >= 0 be such that S - diag(d) has no negative eigenvalue, S = R'R. With any weights w, what w leaves, e = g - R w, and
h = R'e, coefficients B leave

    rest + |g - R B|^2 = rest + |e|^2 - 2 h'(B - w) + (B - w)'S(B - w)
                      >= rest + |e|^2 + sum of (d_i (B_i - w_i)^2 - 2 h_i (B_i - w_i)),

a sum over candidates. One that is no member has B_i = 0, one that is adds -h_i^2 / d_i at least: less than before by
c_i^2 / d_i, c = h + d w. So sets with j of the candidates leave at least

    rest + |e|^2 + sum of (d_i w_i^2 + 2 h_i w_i)    without the j largest c_i^2 / d_i.

Any w is safe. A good one solves the perspective relaxation (Frangioni and Gentile 2006, Mathematical Programming 106;
of regressions: Dong, Chen and Linderoth 2015, arXiv 1510.06083), in which a member costs a level by its share of d. It
is found by coordinate descent over all candidates, the parents of the node free: it goes on from the weights of the
node before. The level that suits one number of members goes up or down by a little at each node, towards the number of
which the bound says least.

Parents and candidates that are ruled out do not weaken d: if S - diag(d) has no negative eigenvalue, nor has what is
left of it where some of the columns with d = 0 are regressed on, nor a part of it.

How far the bound may be off: e as computed is exact for a child that is off by no more than `off`, the norm of what
rounding adds to g - R w; so the root of what is left is off by no more than that. Each h_i and c_i is off by a small
part of |R_i| |e| + d_i |w_i|, and so are the terms with w_i by this times |w_i|. All of that is taken from the bound,
more than eight times what m operations in floats may come to.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import inlined, inner, njit
from extbnsl.verify import UNITS_PER_NAT

ROUNDING = 2.0**-49  # of a sum of products, for each of its terms
SWEEPS = 2  # of coordinate descent at a node
SMALLEST, FINEST = -40.0, 0.1  # powers of 2 of parts
FEWEST = 8  # candidates in question that are worth a bound: sets of fewer are sooner looked at
STEP = 1.02  # by which the level changes at a node
OUT, IN_QUESTION, PARENT = 0, 1, 2  # what candidates are at a node


class Relaxation(NamedTuple):
    """The bound of a child with m candidates by place: what it reads, and, from `weights` on, where it is."""

    shares: NDArray[np.float64]  # (m,) d, all zero where the bound says nothing
    squares: NDArray[np.float64]  # (m, m) S at the root
    common: NDArray[np.float64]  # (m,) R'g at the root
    norms: NDArray[np.float64]  # (m,) of the columns of R at the root
    length: float  # |g| at the root
    fewest: int  # candidates in question that are worth a bound
    weights: NDArray[np.float64]  # (m,) w, of parents too
    slopes: NDArray[np.float64]  # (m,) what they leave in common with the child, about
    kinds: NDArray[np.int64]  # (m,) what the candidates are
    apart: NDArray[np.float64]  # (m,) e
    taken: NDArray[np.float64]  # (m,) c^2 / d, at least, of those in question
    level: NDArray[np.float64]  # (1,) what a member costs in the relaxation, by what it costs where most is left


def new_relaxation(triangle: NDArray[np.float64], goal: NDArray[np.float64], relative: float) -> Relaxation:
    """The bound of a child with these coordinates, goal (m,), by those of its candidates, triangle (m, m). relative:
    by what part of itself the norm of any sum of columns may be off at a node; 1 where nobody knows. O(m^3)."""
    m = len(triangle)
    squares = triangle.T @ triangle
    kept = max(0.0, 1.0 - 4.0 * relative)
    return Relaxation(
        shares=_shares(triangle, squares) * kept if kept > 0.0 else np.zeros(m),
        squares=squares,
        common=triangle.T @ goal,
        norms=np.sqrt(np.diag(squares)),
        length=float(np.sqrt((goal**2).sum())),
        fewest=FEWEST,
        weights=np.zeros(m),
        slopes=np.zeros(m),
        kinds=np.zeros(m, np.int64),
        apart=np.zeros(m),
        taken=np.zeros(m),
        level=np.ones(1),
    )


@njit
def _shares(triangle, squares):
    """d of the columns of a triangle (m, m): equal parts of what all others leave of each; zeros if they leave nothing.
    O(m^3)."""
    m = len(triangle)
    left, inverse = np.zeros(m), np.zeros((m, m))
    for i in range(m - 1, -1, -1):
        inverse[i, i] = 1.0 / triangle[i, i]
        for k in range(i + 1, m):
            for q in range(k, m):
                inverse[i, q] -= triangle[i, k] * inverse[k, q] / triangle[i, i]
        for q in range(i, m):
            left[i] += inverse[i, q] * inverse[i, q]
        left[i] = 1.0 / left[i]
    below, above = SMALLEST, 0.0  # powers of 2: that of the largest part is between
    while above - below > FINEST:
        power = (above + below) / 2.0
        if _is_definite(squares, left, 2.0**power, inverse):
            below = power
        else:
            above = power
    for i in range(m):
        left[i] *= 2.0**below if below > SMALLEST else 0.0
    return left


@inner
def _is_definite(squares, left, part, matrix):
    """Whether it is proved that S less this part of `left` on its diagonal has no negative eigenvalue, by its Cholesky
    factorization, in `matrix`.

    One that ends in floats is exact for a matrix that is off by at most (m + 2) 2^-53 of the norms of both columns in
    each place (Higham 2002, theorem 10.3), and S by m 2^-53 of them: together by less than m times as much of each
    square on the diagonal, which is put aside.
    """
    m = left.size
    for i in range(m):
        for j in range(i, m):
            matrix[i, j] = squares[i, j]
        matrix[i, i] -= left[i] * part + m * (m + 8) * ROUNDING * squares[i, i]
    for j in range(m):
        if not matrix[j, j] > 0.0:
            return False
        for i in range(j + 1, m):
            factor = matrix[j, i] / matrix[j, j]
            for q in range(i, m):
                matrix[i, q] -= factor * matrix[j, q]
    return True


@inner
def _enter(top, p, out, place, relaxed):
    """What the candidates are at a node: its parents, those at places 0 to p that are not out, and others. O(m)."""
    kinds = relaxed.kinds
    for q in range(kinds.size):
        kinds[q] = IN_QUESTION if q <= p and not out[q] else OUT
    for j in range(1, top + 1):
        kinds[place[j]] = PARENT


@inlined
def _add(to, factor, row):
    """to += factor row."""
    for q in range(to.size):
        to[q] += factor * row[q]


@inner
def _descend(level, relaxed):
    """Bring the weights nearer to those of the relaxation where a member costs so much. O(m) per weight that is not
    zero, or changes."""
    weights, slopes, kinds = relaxed.weights, relaxed.slopes, relaxed.kinds
    m = weights.size
    for y in range(m):
        slopes[y] = relaxed.common[y]
    for y in range(m):
        if kinds[y] == OUT:
            weights[y] = 0.0
        elif weights[y] != 0.0:
            _add(slopes, -weights[y], relaxed.squares[y])
    for _ in range(SWEEPS):
        for y in range(m):
            if kinds[y] == OUT:
                continue
            own, new = relaxed.squares[y, y], 0.0
            along = slopes[y] + own * weights[y]
            if kinds[y] == PARENT:
                new = along / own
            else:
                share = relaxed.shares[y]
                more, partly = abs(along) - math.sqrt(share * level), own - share
                if more > partly * math.sqrt(level / share):
                    new = along / own
                elif more > 0.0:
                    new = math.copysign(more / partly, along)
            if new != weights[y]:
                _add(slopes, weights[y] - new, relaxed.squares[y])
                weights[y] = new


@inner
def _settle(p, triangle, goal, rest, relaxed):
    """c^2 / d of the candidates in question at the weights, by the triangle and the goal of the node at places 0 to p;
    what is left without that, and what its root may be off. O(p^2)."""
    weights, kinds, apart, taken = relaxed.weights, relaxed.kinds, relaxed.apart, relaxed.taken
    small = (p + 9) * ROUNDING
    norm = relaxed.length
    for q in range(p + 1):
        apart[q], taken[q] = goal[q], 0.0
    for q in range(p + 1):
        if kinds[q] == IN_QUESTION and weights[q] != 0.0:
            norm += abs(weights[q]) * relaxed.norms[q]
            for r in range(q + 1):
                apart[r] -= weights[q] * triangle[r, q]
    squares = 0.0
    for r in range(p + 1):
        squares += apart[r] * apart[r]
        for q in range(r, p + 1):
            taken[q] += apart[r] * triangle[r, q]  # h
    left, length, loose = rest + squares, math.sqrt(squares), 0.0
    for q in range(p + 1):
        if kinds[q] == IN_QUESTION:
            along, scaled = taken[q], relaxed.shares[q] * weights[q]
            off = small * (relaxed.norms[q] * length + abs(scaled))
            left += weights[q] * (2.0 * along + scaled)
            loose += abs(weights[q]) * off
            taken[q] = (abs(along + scaled) + off) ** 2 / relaxed.shares[q] * (1.0 + small)
    return left - 4.0 * loose - small * (rest + squares), small * norm


@inner
def _spare(room, least, left, off, most, child, relaxed):
    """What a candidate may take so that no set with it and at most `most` of those in question costs less than `room`,
    infinity if no set at all does; and how many of them the bound says least of. least: what all of them leave."""
    kinds, taken, rest = relaxed.kinds, relaxed.taken, relaxed.apart
    m = taken.size
    for q in range(m):
        rest[q] = taken[q] if kinds[q] == IN_QUESTION else -1.0
    spare, some, lowest, worst = np.inf, False, np.inf, 0
    for k in range(min(m, most)):
        need = math.exp((room - child.price * (k + 1)) / child.half)
        largest = 0
        for q in range(m):
            if rest[q] > rest[largest]:
                largest = q
        if need <= least or rest[largest] < 0.0:
            break
        need = (math.sqrt(need) + off) ** 2
        spare = min(spare, left - need)
        left -= rest[largest]
        rest[largest] = -1.0
        some = some or left < need
        if left < lowest * need:
            lowest, worst = left / need, k + 1
    return (spare if some else np.inf), worst


@inner
def _suit(level, worst, relaxed):
    """Let the next level be one of which about as many candidates are worth their price as the bound says least of."""
    count = 0.0
    for y in range(relaxed.kinds.size):
        if relaxed.kinds[y] == IN_QUESTION:
            count += min(1.0, abs(relaxed.weights[y]) * math.sqrt(relaxed.shares[y] / level))
    if abs(worst - count) > 0.5:
        relaxed.level[0] *= STEP if worst < count else 1.0 / STEP


@inlined
def room_of(at, cheapest, child, frames):
    """What a set costs less than that matters, if it has as much taken as the node and a subset so cheap."""
    return min(cheapest, (child.threshold + frames.taken[at]) / UNITS_PER_NAT + child.margin)


@njit
def rule_out(top, p, child, frames, relaxed):
    """Rule out candidates at places 0 to p that are in no set of the node that matters; whether any set with one of
    them may. O(p^2)."""
    room = room_of(top, frames.cheapest[top], child, frames) - child.own - child.price * top
    out, goal, rest = frames.out[top], frames.goal[top], frames.left[top, p]
    count = 0
    for q in range(p + 1):
        count += not out[q]
    needed = math.exp((room - child.price) / child.half)
    if count < relaxed.fewest or relaxed.shares[0] == 0.0 or needed >= frames.left[top, 0] + goal[0] * goal[0]:
        return True  # or even one that tells nothing may matter
    level = relaxed.level[0] * child.price / child.half * math.exp(room / child.half)
    _enter(top, p, out, frames.place, relaxed)
    _descend(level, relaxed)
    left, off = _settle(p, frames.triangle[top], goal, rest, relaxed)
    if not left < np.inf:
        return True  # the weights are beyond all numbers
    spare, worst = _spare(room, max(rest, child.least), left, off, child.depth - top, child, relaxed)
    _suit(level, worst, relaxed)
    if spare == np.inf:
        return False
    for q in range(p + 1):
        if relaxed.taken[q] <= spare:
            out[q] = True
    return True
