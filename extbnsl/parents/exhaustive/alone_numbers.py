"""The cheapest family of a child of numbers whose candidates are all given; see alone.py.

S are the correlations of the candidates, b those with the child, v is its variance, and D and d > 0 are such that S - D
has no negative eigenvalue, nor has D - diag(d) over any regular set. Coefficients B of such a set leave
v - 2 b'B + B'SB. For any w that is no less than

    v - w'(S - D) w + sum of (d_i B_i^2 - 2 c_i B_i),   c = b - (S - D) w,

since (B - w)'(S - D)(B - w) is not negative, nor is B'DB less than the sum of d_i B_i^2. So no set leaves less than
v - w'(S - D) w without c_i^2 / d_i of each of its members: a sum. Of the sets of each size that have the members of a
node, the largest squares of the others tell what they leave at least, and so which candidates are in no set that costs
less than the best so far. Any w is safe. A good one are the coefficients of the perspective relaxation (Frangioni and
Gentile 2006, Mathematical Programming 106; of regressions: Dong, Chen and Linderoth 2015, arXiv 1510.06083), in which a
member has a price by its share of the variance. Each price has the best bound for one number of members: so it is
raised or lowered a little after each node, towards the number of which the bound says least. (Bounds by all candidates
that are left, Furnival and Wilson 1974, Technometrics 16, say little where these are many; those by eigenvalues little
where they are correlated.)

Where the candidates are regular together, D is diag(d). Where some determine each other, D has a block for each group
of such: S is singular there, but a regular set lacks one of them, and over what it has D is not. Once no others of a
group than those of a regular set may come to a node, D is diag(d) there too, so that members cost the bound nothing.
Where eigenvalues of S - D are as low as -e, by rounding or because groups are not quite apart, d is less by 2 e, and
the bound by 2 e w'w: (B - w)'(B - w) is at most 2 B'B + 2 w'w. A candidate joins a node if its members and the child
are regular then, by the test of the score wherever little is left of one (scores/gaussian.py); no superset of others
is. (Groups have their regular sets by another order of the columns. Of one whose least share is LEAST_SHARE but for
rounding, the bound may say too much, as the score may say that it is not regular.)
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, inner, njit
from extbnsl.parents.exhaustive.choice import TIE, Choice, new_choice, offer
from extbnsl.parents.exhaustive.problem import CountingProblem
from extbnsl.scores.determinants import LEAST, SQUARES, least_share, new_room, squared
from extbnsl.scores.gaussian import LEAST_SHARE

ROUNDING = 2.0**-50  # of a sum of products of correlations and weights, per candidate
SUSPECT = 1e-4  # share: rounding may be more than a tie where less is left
SWEEPS = 2  # of coordinate descent for a node: they go on where the node before ended
STEP = 1.02  # by which the price of a member in the relaxation changes
FREE, IN, OUT = 0, 1, 2  # where candidates of a node are: in some sets, in all, in none


class Groups(NamedTuple):
    """Groups of candidates that determine each other, out of m.

    own (m,) int64: which each is in, or -1; sets (s, m) bool: their regular sets, among them all to which none of the
    group can be added; first (g + 1,) int64: where those of each group begin; part (m, m) float64: D; shares (s + 1, m)
    float64: d where no others of the group than those of a set may come, and in the last row where any may.
    """

    own: NDArray[np.int64]
    sets: NDArray[np.bool_]
    first: NDArray[np.int64]
    part: NDArray[np.float64]
    shares: NDArray[np.float64]


class Numbers(NamedTuple):
    """What sets of m candidates are judged from.

    matrix (m + 1, m + 1) float64: the correlations, those with the child last; factor (m + 1, r) float64: what they are
    of, see `unexplained`; rest (m, m) float64: S - D, shares (m,): d, both as they are at a node; short: how far below
    0 eigenvalues of the rest may be; half: N / 2; price: of a parent; shift: what is added to half ln v; floor: ln v is
    at least this.
    """

    matrix: NDArray[np.float64]
    factor: NDArray[np.float64]
    groups: Groups
    rest: NDArray[np.float64]
    shares: NDArray[np.float64]
    short: float
    half: float
    price: float
    shift: float
    floor: float


class Tangent(NamedTuple):
    """Where the bound of a node is taken, of m candidates: weights (m,): w; rest (m,): c; taken (m,): c^2 / d, at least
    where w is new; level (1,): what a member costs where w is the best, as a multiple of its price."""

    weights: NDArray[np.float64]
    rest: NDArray[np.float64]
    taken: NDArray[np.float64]
    level: NDArray[np.float64]


class Regression(NamedTuple):
    """What each of the first members adds: triangle (most, most) of their correlations, and its inverse; along (most,):
    what each has in common with the child besides those before it; left (most + 1,): what is left of the child then;
    squares, common (most + 1, most): of the columns of the inverse then, the squares, and what they make of `along`."""

    triangle: NDArray[np.float64]
    inverse: NDArray[np.float64]
    along: NDArray[np.float64]
    left: NDArray[np.float64]
    squares: NDArray[np.float64]
    common: NDArray[np.float64]


def best_of_numbers(
    x: int, chosen: NDArray[np.int64], most: int, problem: CountingProblem, halt: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], Choice]:
    """The candidates, and the best set of them."""
    table, columns = problem.moments, problem.columns
    assert columns is not None, "moments are of some"
    members = [*chosen.tolist(), x]
    matrix = np.ascontiguousarray(table.matrix[np.ix_(members, members)])
    groups, short = _split(matrix[:-1, :-1], _regular_sets(chosen, columns.groups))
    numbers = Numbers(
        matrix=matrix,
        factor=columns.factor[members],
        groups=groups,
        rest=matrix[:-1, :-1] - groups.part,
        shares=groups.shares[-1].copy(),
        short=short,
        half=table.half,
        price=problem.step,
        shift=problem.parameter - float(table.least[x]),
        floor=float(table.least[x] / table.half),
    )
    best = new_choice(numbers.half * math.log(matrix[-1, -1]) + numbers.shift, most)
    if most:
        search_numbers(most, numbers, best, halt)
    return chosen, best


def _regular_sets(
    chosen: NDArray[np.int64], groups: Iterable[Iterable[tuple[int, ...]]]
) -> list[list[NDArray[np.int64]]]:
    """What these candidates have of the regular sets of each group, as places; without groups that are regular then."""
    found = list[list[NDArray[np.int64]]]()
    for group in groups:
        own = {tuple(np.flatnonzero(np.isin(chosen, regular)).tolist()) for regular in group}
        if max(map(len, own)) < len(set().union(*own)):
            found.append([np.array(places) for places in sorted(own - {()}, key=lambda places: (-len(places), places))])
    return found


def _split(matrix: NDArray[np.float64], groups: list[list[NDArray[np.int64]]]) -> tuple[Groups, float]:
    """D and d of columns with these correlations (m, m) and such groups, and how far below 0 eigenvalues of S - D may
    be. O(m^3), and O(k^3) for each regular set of k.

    A column that is in no group is one by itself, and Q has a regular set of each. Let E say how those of Q determine
    the others of their group, and V have of each group what all of Q that are not in it leave of its part of Q. With H
    the inverse of S over Q and V = WW', S - t EVE' has no negative eigenvalue if W'HW has none above 1 / t; and what Q
    leaves of the others, where it is more than nothing, may be in D too. Of rounding t is a little less.
    """
    m, sets = len(matrix), [regular for group in groups for regular in group]
    kept, own = np.ones(m, np.bool_), np.full(m, -1)
    for number, group in enumerate(groups):
        members = np.unique(np.concatenate(group))
        own[members], kept[members], kept[group[0]] = number, False, True
    inverse = np.linalg.inv(matrix[np.ix_(kept, kept)])
    left, places = 1.0 / np.diag(inverse), np.cumsum(kept) - 1
    part, roots = np.zeros((m, m)), np.sqrt(left)
    part[kept, kept] = left
    for number, group in enumerate(groups):
        members, basis = np.flatnonzero(own == number), group[0]
        at, here = places[basis], np.ix_(members, members)
        told = np.linalg.solve(matrix[np.ix_(basis, basis)], matrix[np.ix_(basis, members)])
        over = np.linalg.inv(inverse[np.ix_(at, at)])
        part[here] = told.T @ over @ told + matrix[here] - matrix[np.ix_(members, basis)] @ told
        root, roots[at] = np.linalg.cholesky(over), 1.0
        inverse[at] = root.T @ inverse[at]
        inverse[:, at] = inverse[:, at] @ root
    most = float(np.linalg.eigvalsh(inverse * np.outer(roots, roots))[-1]) if m else 1.0
    part, short = part / (most + len(left) ** 2 * ROUNDING / float(left.min(initial=1.0))), 0.0
    if groups:
        short = m**2 * ROUNDING - min(0.0, float(np.linalg.eigvalsh(matrix - part)[0]))
    shares, inside = np.tile(np.diag(part), (len(sets) + 1, 1)), np.zeros((len(sets), m), np.bool_)
    for number, regular in enumerate(sets):
        inside[number, regular] = True
        least, all_of_it = _least_eigenvalue(part, regular), own == own[regular[0]]
        shares[number, regular] *= least
        shares[-1, all_of_it] = np.minimum(shares[-1, all_of_it], np.diag(part)[all_of_it] * least)
    first = np.cumsum([0, *map(len, groups)])
    return Groups(own, inside, first, part, np.maximum(shares - 2.0 * short, SQUARES)), short


def _least_eigenvalue(matrix: NDArray[np.float64], members: NDArray[np.int64]) -> float:
    """The least eigenvalue of a part of a matrix, scaled to a diagonal of ones, or less."""
    part = matrix[np.ix_(members, members)]
    size = np.sqrt(np.diag(part))
    return float(np.linalg.eigvalsh(part / np.outer(size, size))[0]) - len(members) * ROUNDING


@inner
def _descend(where, level, numbers, tangent):
    """w, nearer to the coefficients of the perspective relaxation where each member costs `level`, by coordinate
    descent; c with it."""
    weights, rest = tangent.weights, tangent.rest
    m = weights.size
    for _ in range(SWEEPS):
        for y in range(m):
            row, share, new = numbers.rest[y], numbers.shares[y], 0.0
            along = rest[y] + row[y] * weights[y]
            if where[y] == IN:
                new = along / (row[y] + share)
            elif where[y] == FREE:
                more = abs(along) - math.sqrt(share * level)
                if more > row[y] * math.sqrt(level / share):
                    new = along / (row[y] + share)
                elif more > 0.0:
                    new = math.copysign(more / row[y], along)
            change = new - weights[y]
            if change != 0.0:
                weights[y] = new
                for z in range(m):
                    rest[z] -= change * row[z]


@inner
def _first_regular(g, where, groups):
    """The first regular set of a group that has all of it that are not out, or how many sets there are in all."""
    for k in range(groups.first[g], groups.first[g + 1]):
        inside = True
        for y in range(where.size):
            if groups.own[y] == g and where[y] != OUT and not groups.sets[k, y]:
                inside = False
                break
        if inside:
            return k
    return len(groups.sets)


@inner
def _resolve(where, numbers, tangent, state):
    """D and d of a node, and c with them; state (g,) has `_first_regular` of each group."""
    groups, m, changed = numbers.groups, where.size, False
    for g in range(state.size):
        found = _first_regular(g, where, groups)
        if found == state[g]:
            continue
        state[g], changed = found, True
        whole = found == len(groups.sets)
        for y in range(m):
            if groups.own[y] != g:
                continue
            share = groups.shares[found, y]
            numbers.shares[y] = share
            for z in range(m):
                if groups.own[z] == g:
                    off = groups.part[y, z] if whole else (share if y == z else 0.0)
                    numbers.rest[y, z] = numbers.matrix[y, z] - off
    if changed:
        _take_out(numbers, tangent)


@inner
def _take_out(numbers, tangent):
    """c at w."""
    weights, rest = tangent.weights, tangent.rest
    m = weights.size
    rest[:] = numbers.matrix[m, :m]
    for y in range(m):
        if weights[y] != 0.0:
            row = numbers.rest[y]
            for z in range(m):
                rest[z] -= weights[y] * row[z]


@inner
def _settle(where, numbers, tangent):
    """c and c^2 / d at w; returns what the members leave without what others take, a little less for rounding."""
    weights, rest, taken = tangent.weights, tangent.rest, tangent.taken
    _take_out(numbers, tangent)
    m, size, squares = weights.size, 1.0, 0.0
    for y in range(m):
        size += abs(weights[y])
        squares += weights[y] * weights[y]
    off = m * ROUNDING * size
    left = numbers.matrix[m, m] - off * size - 2.0 * numbers.short * squares
    for y in range(m):
        taken[y] = (abs(rest[y]) + off) ** 2 / numbers.shares[y]
        left -= weights[y] * (numbers.matrix[m, y] - rest[y])
        if where[y] == IN:
            left -= taken[y]
    return left


@inner
def _spare(left, size, most, where, numbers, tangent, limit):
    """What a candidate may take so that no set of at most `most` with it costs less than the limit; infinity if no set
    at all does but perhaps the members; and how many more members the bound says least of."""
    free = np.sort(-tangent.taken[where == FREE])
    spare, some, least, worst = np.inf, False, np.inf, 0
    for k in range(min(free.size, most - size)):
        log = (limit - numbers.shift - numbers.price * (size + k + 1)) / numbers.half
        if log <= numbers.floor:
            break
        need = math.exp(log)
        spare = min(spare, left - need)
        left += free[k]
        some = some or left < need
        if left / need < least:
            least, worst = left / need, k + 1
    return (spare if some else np.inf), worst


@inner
def _bound(size, most, where, numbers, tangent, state, limit):
    """`_spare` of a node with so many members, w being made better before, and the level for the next one."""
    _resolve(where, numbers, tangent, state)
    more = limit - numbers.shift - numbers.price * size
    level = tangent.level[0] * numbers.price / numbers.half * math.exp(max(numbers.floor, more / numbers.half))
    _descend(where, level, numbers, tangent)
    left = _settle(where, numbers, tangent)
    spare, worst = _spare(left, size, most, where, numbers, tangent, limit)
    count = 0.0  # members of the relaxation, in parts
    for y in range(where.size):
        if where[y] == FREE:
            count += min(1.0, abs(tangent.weights[y]) * math.sqrt(numbers.shares[y] / level))
    if abs(worst - count) > 0.5:
        tangent.level[0] *= STEP if worst < count else 1.0 / STEP
    return spare


@inner
def _leave_out(spare, where, numbers, tangent, state, gone, count):
    """Let no candidate that takes no more than `spare` be in a set of a node: they join the `count` in `gone`. Returns
    how many are there, and which of the others weighs most, or -1; of those first that weigh something and whose group
    is not regular yet, for the bound is better then."""
    own, found, first = numbers.groups.own, -1, False
    for y in range(where.size):
        if where[y] != FREE:
            continue
        if tangent.taken[y] <= spare:
            where[y] = OUT
            gone[count] = y
            count += 1
            continue
        urgent = own[y] >= 0 and state[own[y]] == len(numbers.groups.sets) and tangent.weights[y] != 0.0
        if found < 0 or urgent > first or (urgent == first and abs(tangent.weights[y]) > abs(tangent.weights[found])):
            found, first = y, urgent
    return count, found


@inner
def _join(y, size, members, where, numbers, regression, exact):
    """Candidate y, which is in, joins so many members. Returns the least share that the others of them and the child
    leave any of them; where it is little, what the score finds."""
    triangle, inverse, along = regression.triangle, regression.inverse, regression.along
    own, shared = numbers.matrix[y, y], numbers.matrix[y, numbers.shares.size]
    for j in range(size):
        part = numbers.matrix[y, members[j]]
        for k in range(j):
            part -= triangle[size, k] * triangle[j, k]
        part /= triangle[j, j]
        triangle[size, j] = part
        own -= part * part
        shared -= part * along[j]
    members[size] = y
    pivot = math.sqrt(max(own, LEAST))
    triangle[size, size], along[size] = pivot, shared / pivot
    left = regression.left[size] - along[size] * along[size]
    least = max(left, LEAST)
    squares, common = regression.squares, regression.common
    squares[size, size] = common[size, size] = 0.0
    for j in range(size + 1):
        part = -1.0 if j == size else 0.0
        for k in range(j, size):
            part += triangle[size, k] * inverse[k, j]
        part /= -pivot
        inverse[size, j] = part
        squares[size + 1, j] = squares[size, j] + part * part
        common[size + 1, j] = common[size, j] + part * along[size]
        least = min(least, 1.0 / (squares[size + 1, j] + common[size + 1, j] ** 2 / max(left, LEAST)))
    if least < SUSPECT:
        least, left = _exactly(where, numbers, exact)
    regression.left[size + 1] = left
    return least


@inner
def _exactly(where, numbers, exact):
    """The least share of the members and the child, and what is left of the child, as the score has them."""
    basis, room = exact
    size = 0
    for y in range(where.size):
        if where[y] == IN:
            basis[size] = numbers.factor[y]
            size += 1
    basis[size] = numbers.factor[where.size]
    least = least_share(size + 1, basis, room)
    return least, squared(basis[size])


@inner
def _leave_determined(y, where, numbers, exact, gone, count):
    """Leave out what the members determine of the group of candidate y, which is one; returns how many are left out."""
    own = numbers.groups.own
    for z in range(where.size):
        if own[y] >= 0 and own[z] == own[y] and where[z] == FREE:
            where[z] = IN
            least, _ = _exactly(where, numbers, exact)
            where[z] = FREE
            if least < LEAST_SHARE:
                where[z], gone[count] = OUT, z
                count += 1
    return count


@inner
def _take_back(count, before, gone, where):
    """Let all but the first `before` that were left out be free again; returns how many are left out now."""
    for k in range(before, count):
        where[gone[k]] = FREE
    return before


@njit
def search_numbers(most, numbers, best, halt):
    """The best set of at most so many candidates; `best` has the empty one. Ends early when halt[0] is set.

    A branch has the candidate that weighs most as a member, the next one does without it.
    """
    numbers, best, halt = borrowed((numbers, best, halt))
    m = numbers.shares.size
    tangent = Tangent(np.zeros(m), numbers.matrix[m, :m].copy(), np.zeros(m), np.ones(1))
    regression = Regression(
        np.zeros((most, most)),
        np.zeros((most, most)),
        np.zeros(most),
        np.full(most + 1, numbers.matrix[m, m]),
        np.zeros((most + 1, most)),
        np.zeros((most + 1, most)),
    )
    state = np.full(numbers.groups.first.size - 1, len(numbers.groups.sets))
    exact = np.zeros((most + 2, numbers.factor.shape[1])), new_room(most + 2)  # one may be tried beside, and the child
    where, gone, members = np.full(m, FREE), np.zeros(m, np.int64), np.zeros(most, np.int64)
    branch, before = np.zeros(m, np.int64), np.zeros(m, np.int64)
    depth, size, count = 0, 0, 0
    while not halt[0]:
        y = -1
        if size < most:
            best.counted[0] += 1
            limit = best.cost[0] - TIE * (1.0 + abs(best.cost[0]))
            spare = _bound(size, most, where, numbers, tangent, state, limit)
            count, y = _leave_out(spare, where, numbers, tangent, state, gone, count)
        if y >= 0:
            where[y] = IN
            if _join(y, size, members, where, numbers, regression, exact) < LEAST_SHARE:
                where[y], gone[count] = OUT, y
                count += 1
                continue
            branch[depth], before[depth] = y, count
            count = _leave_determined(y, where, numbers, exact, gone, count)
            depth += 1
            size += 1
            log = math.log(max(regression.left[size], LEAST))
            offer(numbers.half * max(numbers.floor, log) + numbers.price * size + numbers.shift, members, size, best)
            continue
        while depth > 0 and where[branch[depth - 1]] == OUT:
            depth -= 1
            where[branch[depth]] = FREE
            count = _take_back(count, before[depth], gone, where)
        if depth == 0:
            break
        where[branch[depth - 1]] = OUT
        size -= 1
        count = _take_back(count, before[depth - 1], gone, where)
