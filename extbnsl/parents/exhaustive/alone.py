"""The cheapest family of a child that no arc leads back from: all its candidates are given.

Nothing that others choose keeps such a child from its cheapest family, so no other is wanted. It is found by a
depth-first branch and bound for each child apart; whatever two sets cost that differ by less than TIE is equal, and
fewer parents win.

Of states. The candidates come in ascending arity, within it those that tell most of the child alone. At a set P all
sets P + y are counted at once: a row has a counter for each state but one of each candidate, and the rows of each joint
state of P and the child are added up, many counters a word. A child y below P is gone into only if the penalty of the
smallest set that contains it, and what all variables leave of the child, cost less than the best set so far; the misfit
of P + y is added up cell by cell until it is too much.

Of numbers. A set D besides P takes b' S^-1 b of what P leaves of the child's variance, v, where S is what P leaves of
the covariances of D and b of those with the child. No eigenvalue of S is below one of the correlations of P + D, since
its inverse is part of their inverse; so with e at most the least eigenvalue of the correlations of any |P| + |D|
candidates, D takes at most |b|^2 / e. By Gershgorin's circles the eigenvalues of k columns are at least 1 less the sum
of the k - 1 largest correlations of one of them, and none is below the least eigenvalue of all candidates. So for each
size of D the largest squares tell what it takes at most, and no set leaves less than all candidates do. (Furnival and
Wilson 1974, Technometrics 16, bound by all candidates that are left; where they are many that says little.)
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
ROUNDING = 1e-9  # by which an eigenvalue may be off


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

    matrix (m + 1, m + 1) float64: the correlations, those with the child last; eigenvalues (m + 1,) float64: at most
    the least eigenvalue of any so many candidates; half: N / 2; price: of a parent; shift: what is added to half ln v;
    floor: ln v is at least this.
    """

    matrix: NDArray[np.float64]
    eigenvalues: NDArray[np.float64]
    half: float
    price: float
    shift: float
    floor: float


def _of_numbers(
    x: int, chosen: NDArray[np.int64], most: int, problem: CountingProblem, halt: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], Choice]:
    """The candidates, and the best set of them."""
    table = problem.moments
    members = [*chosen.tolist(), x]
    matrix = np.ascontiguousarray(table.matrix[np.ix_(members, members)])
    numbers = Numbers(
        matrix=matrix,
        eigenvalues=_eigenvalues(matrix[:-1, :-1]),
        half=table.half,
        price=problem.step,
        shift=problem.parameter - float(table.least[x]),
        floor=float(table.least[x] / table.half),
    )
    best = _new_choice(numbers.half * math.log(matrix[-1, -1]) + numbers.shift, most)
    if most:
        search_numbers(most, numbers, best, halt)
    return chosen, best


def _eigenvalues(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """At most the least eigenvalue of any k of m columns with these correlations, for k = 0 to m. O(m^3)."""
    m = len(matrix)
    if m == 0:
        return np.ones(1)
    least = max(float(np.linalg.eigvalsh(matrix)[0]) - ROUNDING, LEAST)
    others = -np.sort(-np.abs(matrix - np.diag(np.diag(matrix))), axis=1)
    circles = 1.0 - np.concatenate(([0.0, 0.0], np.cumsum(others, axis=1).max(axis=0)[: m - 1])) - ROUNDING
    return np.maximum(least, circles)


@inner
def _bound(size, v, squares, count, numbers, most):
    """What a set of so many parents, which leave v, with one to `most` more costs at least, by the squares of what the
    `count` others have in common with the child, the largest first."""
    taken, least = 0.0, np.inf
    for k in range(1, min(count, most - size) + 1):
        taken += squares[k - 1]
        left = v - taken / numbers.eigenvalues[min(size + k, numbers.eigenvalues.size - 1)]
        log = numbers.floor if left <= 0.0 else max(numbers.floor, math.log(left))
        least = min(least, numbers.half * log + numbers.price * (size + k))
        if numbers.half * numbers.floor + numbers.price * (size + k) >= least:
            break
    return least + numbers.shift


@inner
def _condition(y, size, numbers, rows, before, into):
    """into = what the parents and y leave of the covariances with the child and of all variances, (2, m + 1); the row
    of y joins the triangle. before: without y."""
    n = numbers.matrix.shape[0]
    row = rows[size]
    for z in range(n):
        row[z] = numbers.matrix[y, z]
    for j in range(size):
        share = rows[j, y]
        for z in range(n):
            row[z] -= share * rows[j, z]
    scale = 1.0 / math.sqrt(max(before[1, y], LEAST))
    for z in range(n):
        row[z] *= scale
    along = row[n - 1]
    for z in range(n):
        into[0, z] = before[0, z] - along * row[z]
        into[1, z] = before[1, z] - row[z] * row[z]


@njit
def search_numbers(most, numbers, best, halt):
    """The best set of at most so many candidates; `best` has the empty one. Ends early when halt[0] is set.

    Below a node come its candidates with the most in common with the child first; one that was passed over is in no set
    of what follows.
    """
    numbers, best, halt = borrowed((numbers, best, halt))
    n = numbers.matrix.shape[0]
    m = n - 1
    lefts, rows = np.zeros((most + 1, 2, n)), np.zeros((most + 1, n))
    order, squares = np.zeros((most + 1, m), np.int64), np.zeros((most + 1, m))
    count, cursor, members = np.zeros(most + 1, np.int64), np.zeros(most + 1, np.int64), np.zeros(most + 1, np.int64)
    for z in range(n):
        lefts[0, 0, z] = numbers.matrix[m, z]
        lefts[0, 1, z] = numbers.matrix[z, z]
    for z in range(m):
        order[0, z] = z
    count[0] = m
    depth, fresh = 0, True
    while depth >= 0 and not halt[0]:
        left = lefts[depth]
        if fresh:
            values = np.empty(count[depth])
            for k in range(count[depth]):
                values[k] = -(left[0, order[depth, k]] ** 2)
            by = np.argsort(values, kind="mergesort")
            sorted_ = order[depth, : count[depth]][by]
            for k in range(count[depth]):
                order[depth, k] = sorted_[k]
                squares[depth, k] = -values[by[k]]
            cursor[depth] = 0
            fresh = False
        at = cursor[depth]
        tie = TIE * (1.0 + abs(best.cost[0]))
        if at >= count[depth] or depth >= most:
            depth -= 1
            continue
        bound = _bound(depth, max(left[1, m], LEAST), squares[depth, at:], count[depth] - at, numbers, most)
        if bound >= best.cost[0] - tie:
            depth -= 1
            continue
        y = order[depth, at]
        cursor[depth] += 1
        members[depth] = y
        best.counted[0] += 1
        _condition(y, depth, numbers, rows, left, lefts[depth + 1])
        v = max(lefts[depth + 1, 1, m], LEAST)
        cost = numbers.half * max(numbers.floor, math.log(v)) + numbers.price * (depth + 1) + numbers.shift
        _offer(cost, members, depth + 1, best)
        if depth + 1 < most:
            count[depth + 1] = count[depth] - at - 1
            for k in range(count[depth + 1]):
                order[depth + 1, k] = order[depth, at + 1 + k]
            depth += 1
            fresh = True
