"""The cheapest family of a child that no arc leads back from: all its candidates are given.

Nothing that others choose keeps such a child from its cheapest family, so no other is wanted. It is found by a
depth-first branch and bound for each child apart; whatever two sets cost that differ by less than TIE is equal, and
fewer parents win.

Of states. The candidates come in ascending arity, within it those that tell most of the child alone. At a set P all
sets P + y are counted at once: a row has a counter for each state but one of each candidate, and the rows of each joint
state of P and the child are added up, many counters a word. A child y below P is gone into only if the penalty of the
smallest set that contains it, and what all variables leave of the child, cost less than the best set so far; the misfit
of P + y is added up cell by cell until it is too much.

Of numbers. S are the correlations of the candidates, b those with the child, v is its variance, and d > 0 is such that
S - diag(d) has no negative eigenvalue. Coefficients B leave v - 2 b'B + B'SB. For any w that is no less than

    v - w'(S - diag(d)) w + sum of (d_i B_i^2 - 2 c_i B_i),   c = b - (S - diag(d)) w,

since (B - w)'(S - diag(d))(B - w) is not negative. So no set leaves less than v - w'(S - diag(d)) w without c_i^2 / d_i
of each of its members: a sum. Of the sets of each size that have the members of a node, the largest squares of the
others tell what they leave at least, and so which candidates are in no set that costs less than the best so far. Any w
is safe. A good one are the coefficients of the perspective relaxation (Frangioni and Gentile 2006, Mathematical
Programming 106; of regressions: Dong, Chen and Linderoth 2015, arXiv 1510.06083), in which a member has a price by
its share of the variance. Each price has the best bound for one number of members: so it is raised or lowered a little
after each node, towards the number of which the bound says least. (Bounds by all candidates that are left, Furnival and
Wilson 1974, Technometrics 16, say little where these are many; those by eigenvalues little where they are correlated.)
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inner, njit
from extbnsl.kernels.varsets import pack
from extbnsl.parents.exhaustive.problem import CountingProblem, Families
from extbnsl.scores.counting import CountingTable
from extbnsl.scores.determinants import LEAST

TIE = 1e-9  # of a cost, and nats: less is no difference
PER_WORD = 4  # counters
DEEPEST = 48  # parents that a set of states can have: 2^48 joint states cost more than anything
ROUNDING = 2.0**-50  # of a sum of products of correlations and weights, per candidate
SWEEPS = 2  # of coordinate descent for a node: they go on where the node before ended
STEP = 1.02  # by which the price of a member in the relaxation changes
FREE, IN, OUT = 0, 1, 2  # where candidates of a node are: in some sets, in all, in none


class Choice(NamedTuple):
    """The best set so far: its cost (1,) float64, its size (1,) int64, its members (DEEPEST,) int64 as places of
    candidates; counted (1,) int64: the sets that were looked at."""

    cost: NDArray[np.float64]
    size: NDArray[np.int64]
    members: NDArray[np.int64]
    counted: NDArray[np.int64]


def cheapest_family(x: int, problem: CountingProblem, halt: NDArray[np.uint8]) -> tuple[Families, int]:
    """The cheapest family of a child of a problem, and the empty set, in score order; and how many sets were looked at.
    Whatever comes when halt[0] is set may be dearer than others. All its candidates are to be given, without slack."""
    table = problem.table
    chosen = np.flatnonzero(problem.allowed[:, x])
    most = int(min(problem.limits[x], chosen.size))
    if isinstance(table, CountingTable):
        order, best = _of_states(x, chosen, most, problem, halt)
        alone = float(table.mlogm[-1] - table.mlogm[_occurring(table, x)].sum())
        alone += problem.parameter * float(table.arities[x] - 1)
    else:
        order, best = _of_numbers(x, chosen, most, problem, halt)
        alone = table.half * math.log(table.matrix[x, x]) - float(table.least[x]) + problem.parameter
    n = problem.limits.size
    empty = pack((), n)[None]
    if best.size[0] == 0:
        return (empty, np.array([alone])), int(best.counted[0])
    own = pack(order[best.members[: best.size[0]]].tolist(), n)[None]
    return (np.concatenate([own, empty]), np.array([best.cost[0], alone])), int(best.counted[0])


def _occurring(table: CountingTable, x: int) -> NDArray[np.int64]:
    """How many records have each state."""
    return np.bincount(table.states[x], table.weights).astype(np.int64)


def _new_choice(cost: float, most: int) -> Choice:
    return Choice(np.array([cost]), np.zeros(1, np.int64), np.zeros(max(1, most), np.int64), np.zeros(1, np.int64))


class Rows(NamedTuple):
    """What sets of m candidates are counted from, d rows.

    child (d,) int32; states (m, d) int32 of the candidates; weights (d,) int64; lanes (d, s / 4) uint64: four counters
    of 16 bits a word, the weight of each row at each state but the first of each candidate; first (m + 1,) int64: where
    those of each begin; arities (m,) int64; own: that of the child; mlogm; price: the penalty of a joint state, floor:
    what all leave, in nats.
    """

    child: NDArray[np.int32]
    states: NDArray[np.int32]
    weights: NDArray[np.int64]
    lanes: NDArray[np.uint64]
    first: NDArray[np.int64]
    arities: NDArray[np.int64]
    own: int
    mlogm: NDArray[np.float64]
    price: float
    floor: float


class Counts(NamedTuple):
    """The records of each joint state of a set and of the child at each lane of `Rows`: as words (g, s / 4) uint64, and
    the same memory as counters (g, s) uint16; and those of each joint state, totals (g,) int64."""

    words: NDArray[np.uint64]
    each: NDArray[np.uint16]
    totals: NDArray[np.int64]


def _of_states(
    x: int, chosen: NDArray[np.int64], most: int, problem: CountingProblem, halt: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], Choice]:
    """The candidates in their order, and the best set of them."""
    table = problem.rows
    own, price = int(table.arities[x]), problem.parameter * float(table.arities[x] - 1)
    single = np.array([_told(table, x, y) for y in chosen.tolist()])
    order = chosen[np.lexsort((-single, table.arities[chosen]))]
    arities = table.arities[order]
    first = np.concatenate(([0], np.cumsum(arities - 1))).astype(np.int64)
    lanes = np.zeros((table.weights.size, -(-int(first[-1]) // PER_WORD) * PER_WORD), np.uint16)
    states = table.states[order].astype(np.int32)
    for j in range(order.size):
        for state in range(1, int(arities[j])):
            lanes[:, first[j] + state - 1] = np.where(states[j] == state, table.weights, 0)
    rows = Rows(
        child=table.states[x].astype(np.int32),
        states=states,
        weights=table.weights.astype(np.int64),
        lanes=lanes.view(np.uint64),
        first=first,
        arities=arities,
        own=own,
        mlogm=table.mlogm,
        price=price,
        floor=float(problem.floors[x]),
    )
    alone = float(table.mlogm[-1] - table.mlogm[_occurring(table, x)].sum())
    most = min(most, DEEPEST)
    best = _new_choice(alone + price, most)
    if most:
        widest = int((float(best.cost[0]) - rows.floor) / price) + 1  # joint states that a set may have
        counts = np.zeros((widest * own, rows.lanes.shape[1]), np.uint64)
        totals = np.zeros(len(counts), np.int64)
        search_rows(most, rows, Counts(counts, counts.view(np.uint16), totals), best, halt)
    return order, best


def _told(table: CountingTable, x: int, y: int) -> float:
    """What one variable tells of another, in nats."""
    arity = int(table.arities[y])
    both = np.bincount(table.states[x].astype(np.int64) * arity + table.states[y], table.weights).astype(np.int64)
    return float(table.mlogm[both].sum() - table.mlogm[_occurring(table, y)].sum())


@inner
def _offer(cost, members, size, best):
    """Let these members be the best set if they cost less, or as much and are fewer."""
    gap = best.cost[0] - cost
    tie = TIE * (1.0 + abs(best.cost[0]))
    if gap > tie or (gap >= -tie and size < best.size[0]):
        best.cost[0] = cost
        best.size[0] = size
        for k in range(size):
            best.members[k] = members[k]


@inner
def _count_rows(cells, joint, begin, rows, counts):
    """counts of the candidates from `begin` on: of the rows in each joint state of a set, cells (d,), and of the
    child."""
    first, width = u64(rows.first[begin] // PER_WORD), u64(rows.lanes.shape[1])  # a signed index costs a test
    totals = counts.totals
    for g in range(joint * rows.own):
        totals[g] = 0
        into = counts.words[g]
        for k in range(first, width):
            into[k] = u64(0)
    for i in range(cells.size):
        g = cells[i] * rows.own + rows.child[i]
        totals[g] += rows.weights[i]
        into, lane = counts.words[g], rows.lanes[i]
        for k in range(first, width):
            into[k] += lane[k]


@inner
def _misfit_with(y, joint, most, rows, counts):
    """The misfit of a set with candidate y in addition; more than `most` as soon as it is known to be."""
    first, others, own = u64(rows.first[y]), u64(rows.arities[y] - 1), u64(rows.own)
    mlogm, each, totals = rows.mlogm, counts.each, counts.totals
    total = 0.0
    for c in range(u64(joint)):
        group = c * own
        last, spread = u64(0), 0.0
        for s in range(own):
            last += u64(totals[group + s])
        for t in range(others):
            together = u64(0)
            for s in range(own):
                m = u64(each[group + s, first + t])
                together += m
                spread -= mlogm[m]
            spread += mlogm[together]
            last -= together
        for s in range(own):
            rest = u64(totals[group + s])
            for t in range(others):
                rest -= u64(each[group + s, first + t])
            spread -= mlogm[rest]
        total += spread + mlogm[last]
        if total > most:
            return total
    return total


@inner
def _look(depth, begin, joint, cells, members, rows, counts, best):
    """Count a set with each candidate from `begin` on that is no member, and let the best of them be known; returns
    that, or -1."""
    _count_rows(cells, joint, begin, rows, counts)
    least, found = np.inf, -1
    for y in range(begin, rows.arities.size):
        penalty = rows.price * joint * rows.arities[y]
        most = best.cost[0] + TIE * (1.0 + abs(best.cost[0])) - penalty
        if rows.floor > most:
            break  # arities ascend
        inside = False
        for k in range(depth):
            inside = inside or members[k] == y
        if inside:
            continue
        best.counted[0] += 1
        misfit = max(0.0, _misfit_with(y, joint, most, rows, counts))
        if misfit <= most:
            members[depth] = y
            _offer(misfit + penalty, members, depth + 1, best)
            if misfit + penalty < least:
                least, found = misfit + penalty, y
    return found


@inner
def _divide(y, cells, rows, into):
    """into = the joint states of a set and candidate y."""
    states, arity = rows.states[y], rows.arities[y]
    for i in range(cells.size):
        into[i] = cells[i] * arity + states[i]


@njit
def search_rows(most, rows, counts, best, halt):
    """The best set of at most so many candidates; `best` has the empty one. Ends early when halt[0] is set."""
    rows, counts, best, halt = borrowed((rows, counts, best, halt))
    d, m = rows.child.size, rows.arities.size
    joints = np.ones(most + 1, np.int64)
    cells = np.zeros((most + 1, d), np.int64)
    members, cursor = np.zeros(most + 1, np.int64), np.zeros(most + 1, np.int64)
    depth = 0  # greedily first: what is found soon bounds all else
    while depth < most and not halt[0]:
        y = _look(depth, 0, joints[depth], cells[depth], members, rows, counts, best)
        if y < 0 or best.size[0] != depth + 1:
            break
        for k in range(depth + 1):
            members[k] = best.members[k]
        _divide(members[depth], cells[depth], rows, cells[depth + 1])
        joints[depth + 1] = joints[depth] * rows.arities[members[depth]]
        depth += 1
    depth = 0
    cursor[0] = 0
    while depth >= 0 and not halt[0]:
        y = cursor[depth]
        cursor[depth] += 1
        deeper = depth + 1 < most and y + 1 < m
        if deeper:
            penalty = rows.price * joints[depth] * rows.arities[y] * rows.arities[y + 1]
            deeper = penalty + rows.floor <= best.cost[0]
        if not deeper:
            depth -= 1
            continue
        members[depth] = y
        _divide(y, cells[depth], rows, cells[depth + 1])
        joints[depth + 1] = joints[depth] * rows.arities[y]
        depth += 1
        cursor[depth] = y + 1
        _look(depth, y + 1, joints[depth], cells[depth], members, rows, counts, best)


class Numbers(NamedTuple):
    """What sets of m candidates are judged from.

    matrix (m + 1, m + 1) float64: the correlations, those with the child last; shares (m,) float64: d; half: N / 2;
    price: of a parent; shift: what is added to half ln v; floor: ln v is at least this.
    """

    matrix: NDArray[np.float64]
    shares: NDArray[np.float64]
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
    """What each of the first members adds: triangle (most, most) of their correlations; along (most,): what each has in
    common with the child besides those before it; left (most + 1,): what is left of the child then."""

    triangle: NDArray[np.float64]
    along: NDArray[np.float64]
    left: NDArray[np.float64]


def _of_numbers(
    x: int, chosen: NDArray[np.int64], most: int, problem: CountingProblem, halt: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], Choice]:
    """The candidates, and the best set of them."""
    table = problem.moments
    members = [*chosen.tolist(), x]
    matrix = np.ascontiguousarray(table.matrix[np.ix_(members, members)])
    numbers = Numbers(
        matrix=matrix,
        shares=_shares(matrix[:-1, :-1]),
        half=table.half,
        price=problem.step,
        shift=problem.parameter - float(table.least[x]),
        floor=float(table.least[x] / table.half),
    )
    best = _new_choice(numbers.half * math.log(matrix[-1, -1]) + numbers.shift, most)
    if most:
        search_numbers(most, numbers, best, halt)
    return chosen, best


def _shares(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """d of columns with these correlations (m, m), a little less for rounding. O(m^3).

    With H their inverse and v one over its diagonal, S - t diag(v) has no negative eigenvalue if H, scaled to a
    diagonal of ones, has none above 1 / t.
    """
    inverse = np.linalg.inv(matrix)
    left = 1.0 / np.diag(inverse)
    scaled = inverse * np.sqrt(np.outer(left, left))
    most = float(np.linalg.eigvalsh(scaled)[-1]) if len(matrix) else 1.0
    return left / (most + len(matrix) ** 2 * ROUNDING / float(left.min(initial=1.0)))


@inner
def _descend(where, level, numbers, tangent):
    """w, nearer to the coefficients of the perspective relaxation where each member costs `level`, by coordinate
    descent; c with it."""
    weights, rest = tangent.weights, tangent.rest
    m = weights.size
    for _ in range(SWEEPS):
        for y in range(m):
            own, share, new = numbers.matrix[y, y], numbers.shares[y], 0.0
            along = rest[y] + (own - share) * weights[y]
            if where[y] == IN:
                new = along / own
            elif where[y] == FREE:
                more = abs(along) - math.sqrt(share * level)
                if more > (own - share) * math.sqrt(level / share):
                    new = along / own
                elif more > 0.0:
                    new = math.copysign(more / (own - share), along)
            change = new - weights[y]
            if change != 0.0:
                weights[y] = new
                row = numbers.matrix[y]
                for z in range(m):
                    rest[z] -= change * row[z]
                rest[y] += change * share


@inner
def _settle(where, numbers, tangent):
    """c and c^2 / d at w; returns what the members leave without what others take, a little less for rounding."""
    weights, rest, taken = tangent.weights, tangent.rest, tangent.taken
    m, size = weights.size, 1.0
    rest[:] = numbers.matrix[m, :m]
    for y in range(m):
        if weights[y] != 0.0:
            size += abs(weights[y])
            row = numbers.matrix[y]
            for z in range(m):
                rest[z] -= weights[y] * row[z]
            rest[y] += weights[y] * numbers.shares[y]
    off = m * ROUNDING * size
    left = numbers.matrix[m, m] - off * size
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
def _bound(size, most, where, numbers, tangent, limit):
    """`_spare` of a node with so many members, w being made better before, and the level for the next one."""
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
def _leave_out(spare, where, tangent, gone, count):
    """Let no candidate that takes no more than `spare` be in a set of a node: they join the `count` in `gone`. Returns
    how many are there, and which of the others weighs most, or -1."""
    found = -1
    for y in range(where.size):
        if where[y] != FREE:
            continue
        if tangent.taken[y] <= spare:
            where[y] = OUT
            gone[count] = y
            count += 1
        elif found < 0 or abs(tangent.weights[y]) > abs(tangent.weights[found]):
            found = y
    return count, found


@inner
def _join(y, size, members, numbers, regression):
    """Candidate y joins so many members."""
    triangle, along = regression.triangle, regression.along
    own, common = numbers.matrix[y, y], numbers.matrix[y, numbers.shares.size]
    for j in range(size):
        part = numbers.matrix[y, members[j]]
        for k in range(j):
            part -= triangle[size, k] * triangle[j, k]
        part /= triangle[j, j]
        triangle[size, j] = part
        own -= part * part
        common -= part * along[j]
    members[size] = y
    triangle[size, size] = math.sqrt(max(own, LEAST))
    along[size] = common / triangle[size, size]
    regression.left[size + 1] = regression.left[size] - along[size] * along[size]


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
    regression = Regression(np.zeros((most, most)), np.zeros(most), np.full(most + 1, numbers.matrix[m, m]))
    where, gone, members = np.full(m, FREE), np.zeros(m, np.int64), np.zeros(most, np.int64)
    branch, before = np.zeros(m, np.int64), np.zeros(m, np.int64)
    depth, size, count = 0, 0, 0
    while not halt[0]:
        y = -1
        if size < most:
            best.counted[0] += 1
            limit = best.cost[0] - TIE * (1.0 + abs(best.cost[0]))
            spare = _bound(size, most, where, numbers, tangent, limit)
            count, y = _leave_out(spare, where, tangent, gone, count)
        if y >= 0:
            branch[depth], before[depth] = y, count
            depth += 1
            where[y] = IN
            _join(y, size, members, numbers, regression)
            size += 1
            log = math.log(max(regression.left[size], LEAST))
            _offer(numbers.half * max(numbers.floor, log) + numbers.price * size + numbers.shift, members, size, best)
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
