"""The cheapest family of a child of states whose candidates are all given; see alone.py.

The candidates come in ascending arity, within it those that tell most of the child alone. At a set P all sets P + y are
counted at once: a row has a counter for each state but one of each candidate, and the rows of each joint state of P and
the child are added up, many counters a word. A child y below P is gone into only if the penalty of the smallest set
that contains it, and what all variables leave of the child, cost less than the best set so far; the misfit of P + y is
added up cell by cell until it is too much.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inner, njit
from extbnsl.parents.exhaustive.choice import TIE, Choice, new_choice, offer
from extbnsl.parents.exhaustive.problem import CountingProblem
from extbnsl.scores.counting import CountingTable

PER_WORD = 4  # counters
DEEPEST = 48  # parents that a set of states can have: 2^48 joint states cost more than anything


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


def best_of_states(
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
    alone = float(table.mlogm[-1] - table.mlogm[occurring(table, x)].sum())
    most = min(most, DEEPEST)
    best = new_choice(alone + price, most)
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
    return float(table.mlogm[both].sum() - table.mlogm[occurring(table, y)].sum())


def occurring(table: CountingTable, x: int) -> NDArray[np.int64]:
    """How many records have each state."""
    return np.bincount(table.states[x], table.weights).astype(np.int64)


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
            offer(misfit + penalty, members, depth + 1, best)
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
