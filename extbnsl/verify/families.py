"""The families of a child that matter to a bound, enumerated and counted from the data by code of its own.

It shares nothing with the counting, the costs and the bounds of the solver: see extbnsl/recount.py, which it serves.
For a child X all parent sets P are enumerated depth first, and those handed over whose c'(X, P), the cost less what
the cuts take from it, is below a threshold. That is the sum of the multipliers of some clusters, those disjoint from P.

Parent sets are left out, with all their supersets Q or alone, if one of these holds; let states(P) be the product of
the arities in P, and the penalty of P = unit * states(P), unit = (r_X - 1) ln N / 2:

1. Some subset of Q costs no more than Q. No more is taken from Q than from a subset, which counts for no fewer
   clusters, so in every pass its c' is no larger either: it takes the place of Q in every minimum, and goes only when Q
   can go. It has no more parents, so it is within any limit of their number. By induction over the size the sets that
   no subset beats suffice. Hence
   a. columns that are constant in the data are no parents: they add nothing but, perhaps, penalty;
   b. Q needs floor + penalty(Q) < cost of every subset, where floor = N H(X | all other variables) <= N H(X | Q);
   c. for Y in Q, N I(X; Y | Q - Y) must exceed the penalty that Y adds, unit * states(Q - Y) * (r_Y - 1). For P inside
      Q - Y, that is at least unit * states(P) * (r_Y - 1), while I(X; Y | Q - Y) <= min(H(X | Q - Y), H(Y | Q - Y)) in
      every cell of P (a joint state of P with its rows), so that N I is at most the sum over the cells of P of
      min(N H(X), N H(Y)) within the cell. If that does not exceed it, no Q that holds P and Y is needed.
   Besides, N H(X | Q) is at least N H(X | Q - Y) less that sum.
2. c' of every superset is too high: floor + penalty(Q) less what is taken from Q is at least the threshold, for
   Q = P + Y. A superset has no smaller penalty, and no more is taken from it.

By 1b and 2 a set is the last of its kind where the least penalty of a superset is too high, or the number of parents.
Such a set matters by its own cost alone: it is given up as soon as the cells counted by then make it too dear.

A cell in which X has one state is dropped: it adds nothing to N H(X | Q), nor to 1c, for P inside Q.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Dataset
from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inlined, njit
from extbnsl.kernels.varsets import words
from extbnsl.machine.workers import Stopped, Workers

ROOM = 4096  # families that a search hands over at a time
MOST_FAMILIES = 20_000_000  # of a child
TIE = 1e-9  # nats: sets that are beaten by less than this are kept, against rounding

Families = tuple[NDArray[np.uint64], NDArray[np.float64]]  # varsets (m, words) and costs (m,) in nats


@dataclass(frozen=True)
class Taken:
    """What the cuts of one pass take from the cost of a child's family: the sum of the multipliers (k,), in nats and of
    either sign, of those of the clusters (k, words) uint64 that its parents are disjoint from. More parents never have
    more taken."""

    clusters: NDArray[np.uint64]
    multipliers: NDArray[np.float64]


FamiliesBelow = Callable[[int, float, Taken], Families]  # of a child: all that matter with c' below a threshold


def families_of_data(dataset: Dataset, max_parents: int | None, workers: Workers) -> FamiliesBelow:
    """What counts in the data: families below a threshold, all that matter under the argument of this module.

    Raises Stopped when the workers halt, or with the reason 'memory_limit' at MOST_FAMILIES. Time per parent set:
    about a nanosecond per row and four candidates, and some per cell and candidate. Memory of a thread: rows times
    parents of a set, and rows times states of the candidates.
    """
    rows, weights = np.unique(dataset.codes, axis=0, return_counts=True)
    codes = np.array([np.unique(column, return_inverse=True)[1].reshape(-1) for column in rows.T], np.int64)
    counts = np.arange(dataset.records + 1, dtype=np.float64)
    mlogm = counts * np.log(np.maximum(counts, 1.0))
    problem = _Data(codes, weights.astype(np.int64), dataset.arities, mlogm, max_parents)
    return lambda child, threshold, taken: _search_child(problem, child, threshold, taken, workers)


@dataclass(frozen=True)
class _Data:
    """Distinct rows by the states that occur, codes (n, d), with their weights (d,), declared arities (n,), m ln m for
    m up to the number of records."""

    codes: NDArray[np.int64]
    weights: NDArray[np.int64]
    arities: NDArray[np.int64]
    mlogm: NDArray[np.float64]
    max_parents: int | None

    def misfit(self, child: int, parents: NDArray[np.int64]) -> float:
        """N H(child | parents) in nats. O(rows log(rows) parents)."""
        of_group, of_cell = (self.mlogm[self._weights(columns)] for columns in (parents, np.append(parents, child)))
        return math.fsum(of_group.tolist()) - math.fsum(of_cell.tolist())

    def _weights(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many records have each of the joint states of some columns that occur."""
        groups = np.zeros(self.weights.size, np.int64)
        for y in columns:
            _, groups = np.unique(groups * self.arities[y] + self.codes[y], return_inverse=True)
        return np.bincount(groups, self.weights).astype(np.int64)


class _Child(NamedTuple):
    """What the search for the families of one child reads: d rows, m candidates, k clusters.

    The lanes of a row hold counters, several in a word: for each state that occurs of each candidate, but the last, the
    weight of the row if it has that state. Words add counters at once, and no sum overflows.
    """

    floor: float
    threshold: float
    unit: float
    depth: int  # most parents that matter
    candidates: NDArray[np.int64]  # (m,)
    arities: NDArray[np.float64]  # declared (m,)
    codes: NDArray[np.int64]  # (m + 1, d) of the candidates, and of a constant
    first: NDArray[np.int64]  # first counter of each of these, and of none (m + 2,)
    lanes: NDArray[np.uint64]  # (d, words of counters)
    states: NDArray[np.int64]  # of the child (d,)
    weights: NDArray[np.int64]  # (d,)
    mlogm: NDArray[np.float64]
    hits: NDArray[np.float64]  # the multiplier of each cluster that a candidate is in, 0 elsewhere (k, m)
    multipliers: NDArray[np.float64]  # (k,)


class _Frames(NamedTuple):
    """A stack of nodes, that is parent sets; each array has a place or a row for each. Lists begin the rows."""

    rows: NDArray[np.uint32]  # (depth, d) cell by cell of the node without its last parent
    ends: NDArray[np.uint32]  # (depth, d) of these cells
    cells: NDArray[np.int64]  # number of them
    last: NDArray[np.int64]  # the last parent; of the empty set the constant
    varset: NDArray[np.uint64]  # (depth, words)
    states: NDArray[np.float64]  # product of the arities
    own: NDArray[np.float64]  # N H(child | node)
    cheapest: NDArray[np.float64]  # least known cost of a subset of the node
    disjoint: NDArray[np.int64]  # (depth, k) clusters disjoint from the node
    disjoints: NDArray[np.int64]  # number of them
    candidates: NDArray[np.int64]  # (depth, m) that may still be added
    left: NDArray[np.int64]  # number of them
    next: NDArray[np.int64]  # position of the next candidate to descend to; -1: not opened yet
    # (depth, m), by the position of a candidate:
    misfit: NDArray[np.float64]  # N H(child | node and candidate)
    gain: NDArray[np.float64]  # the bound 1c on what it gains; of the node without its last parent until opened
    least: NDArray[np.float64]  # least known cost of a subset of node and candidate with the candidate


class _Space(NamedTuple):
    """What one node is counted in: lanes and records of its cells' parts (states of the last parent, states of the
    child and all of them together, ...), the counters of these lanes, the lanes in use; and by position of a candidate:
    the multipliers lost, what the misfit must stay below, whether no superset matters, and positions yet in question.
    """

    sums: NDArray[np.uint64]
    counters: NDArray[Any]
    records: NDArray[np.int64]
    used: NDArray[np.int64]
    lost: NDArray[np.float64]
    room: NDArray[np.float64]
    final: NDArray[np.bool_]
    alive: NDArray[np.int64]


def _search_child(data: _Data, child: int, threshold: float, taken: Taken, workers: Workers) -> Families:
    """All families of one child that matter, with c' below the threshold."""
    n = data.arities.size
    unit = math.log(data.mlogm.size - 1) / 2 * (int(data.arities[child]) - 1)
    varying = np.flatnonzero(data.codes.max(axis=1))
    candidates = varying[varying != child]
    own = data.misfit(child, candidates[:0])
    floor = max(0.0, data.misfit(child, candidates) - TIE)
    parts = [(np.zeros((1, words(n)), np.uint64), np.array([own + unit]))]
    candidates = candidates[floor + unit * data.arities[candidates] < own + unit]  # 1b; this also bounds `_Space`
    depth = _depth(data, candidates, floor, unit, own + unit)
    if depth == 0:
        return parts[0]
    # the cheapest first: the sets with them are many, and are held against their cost (1b)
    alone = [data.misfit(child, candidates[i : i + 1]) + unit * data.arities[y] for i, y in enumerate(candidates)]
    problem = _child(data, child, candidates[np.argsort(alone)], taken, (floor, threshold, unit, depth))
    frames, space = _frames(problem, own, words(n)), _space(problem)
    room = ROOM + candidates.size
    varsets, costs = np.empty((room, words(n)), np.uint64), np.empty(room)
    written, top = 0, 0
    while top >= 0:
        top, count = _search(top, problem, frames, space, workers.halt, varsets, costs)
        if workers.halt[0]:
            raise Stopped("time_limit")
        parts.append((varsets[:count].copy(), costs[:count].copy()))
        written += count
        if written > MOST_FAMILIES:
            raise Stopped("memory_limit")
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _depth(data: _Data, candidates: NDArray[np.int64], floor: float, unit: float, alone: float) -> int:
    """How many parents a set has at most that the empty one does not beat."""
    states, depth = 1.0, 0
    most = candidates.size if data.max_parents is None else min(data.max_parents, candidates.size)
    for arity in np.sort(data.arities[candidates])[:most].tolist():
        states *= arity
        if floor + unit * states >= alone:
            break
        depth += 1
    return depth


def _child(
    data: _Data, child: int, candidates: NDArray[np.int64], taken: Taken, goal: tuple[float, float, float, int]
) -> _Child:
    """What the kernels read, for the candidates in this order; goal: the first fields."""
    d, m = data.weights.size, candidates.size
    codes = np.vstack((data.codes[candidates], np.zeros((1, d), np.int64)))
    first = np.concatenate(([0], np.cumsum(codes.max(axis=1))))
    counter = _counter(data.mlogm)
    per = 8 // counter.itemsize
    counters = np.zeros((d, -(-int(first[-1]) // per) * per), counter)
    for y in range(m):
        has = np.flatnonzero(codes[y] < first[y + 1] - first[y])
        counters[has, first[y] + codes[y, has]] = data.weights[has]
    inside = taken.clusters[:, candidates // 64] >> (candidates % 64).astype(np.uint64) & np.uint64(1)
    return _Child(
        *goal,
        candidates=candidates,
        arities=data.arities[candidates].astype(np.float64),
        codes=codes,
        first=first,
        lanes=counters.view(np.uint64),
        states=data.codes[child],
        weights=data.weights,
        mlogm=data.mlogm,
        hits=np.ascontiguousarray(inside * taken.multipliers[:, None]),
        multipliers=taken.multipliers,
    )


def _counter(mlogm: NDArray[np.float64]) -> np.dtype[Any]:
    """The type of a counter that holds all records."""
    return np.dtype(np.uint16 if mlogm.size <= 1 << 16 else np.uint32)


def _frames(child: _Child, own: float, width: int) -> _Frames:
    """A stack with room for all nodes, and the empty parent set on it, not yet opened."""
    depth, d, m, k = child.depth, child.weights.size, child.candidates.size, child.multipliers.size
    return _Frames(
        rows=np.tile(np.arange(d, dtype=np.uint32), (depth, 1)),
        ends=np.full((depth, d), d, np.uint32),
        cells=np.ones(depth, np.int64),
        last=np.full(depth, m),
        varset=np.zeros((depth, width), np.uint64),
        states=np.ones(depth),
        own=np.full(depth, own),
        cheapest=np.full(depth, own + child.unit),
        disjoint=np.tile(np.arange(k), (depth, 1)),
        disjoints=np.full(depth, k),
        candidates=np.tile(np.arange(m), (depth, 1)),
        left=np.full(depth, m),
        next=np.full(depth, -1),
        misfit=np.zeros((depth, m)),
        gain=np.full((depth, m), math.inf),
        least=np.full((depth, m), math.inf),
    )


def _space(child: _Child) -> _Space:
    """Room to count any node."""
    m, width = child.candidates.size, child.lanes.shape[1]
    parts = int(child.codes.max()) + 1, int(child.states.max()) + 2
    sums = np.zeros((*parts, width), np.uint64)
    return _Space(
        sums=sums,
        counters=sums.view(_counter(child.mlogm)),
        records=np.zeros(parts, np.int64),
        used=np.zeros(width, np.int64),
        lost=np.zeros(m),
        room=np.zeros(m),
        final=np.zeros(m, np.bool_),
        alive=np.zeros(m, np.int64),
    )


@inlined
def _parts(top, child, frames):
    """Into how many parts the last parent of a node divides a cell."""
    last = frames.last[top]
    return child.first[last + 1] - child.first[last] + 1


@inlined
def _spread(counters, part, x, begin, end, records, mlogm):
    """The sum of m ln m over the states of a candidate, within a part of a cell and a state of the child."""
    total = 0.0
    for q in range(begin, end):
        m = np.int64(counters[part, x, q])
        total += mlogm[m]
        records -= m
    return total + mlogm[records]


@inlined
def _find_lanes(top, child, frames, space):
    """The lanes with counters of the node's candidates, which are in the order of their counters; how many."""
    per = space.counters.shape[2] // space.sums.shape[2]
    used = 0
    for j in range(frames.left[top]):
        y = frames.candidates[top, j]
        for w in range(child.first[y] // per, (child.first[y + 1] - 1) // per + 1):
            if used == 0 or space.used[used - 1] < w:
                space.used[used] = w
                used += 1
    return used


@inlined
def _sum_cell(top, begin, end, used, child, frames, space):
    """Sum the lanes and the records of a cell's rows, by state of the last parent and state of the child."""
    sums, records, lanes, in_use = space.sums, space.records, child.lanes, space.used
    for part in range(_parts(top, child, frames)):
        for x in range(records.shape[1]):
            records[part, x] = 0
            for a in range(used):
                sums[part, x, in_use[a]] = 0
    rows, last, codes, states, weights = frames.rows, frames.last[top], child.codes, child.states, child.weights
    for i in range(begin, end):
        row = rows[top, i]
        part, x = codes[last, row], states[row]
        records[part, x] += weights[row]
        for a in range(used):
            sums[part, x, in_use[a]] += lanes[row, in_use[a]]


@inlined
def _add_part(top, part, alive, used, child, frames, space):
    """Add a part of a cell to the misfits and the gains of the candidates; how many are still alive."""
    sums, counters, records, mlogm = space.sums, space.counters, space.records, child.mlogm
    first, candidates, positions, room, final = child.first, frames.candidates, space.alive, space.room, space.final
    misfit, gain = frames.misfit, frames.gain
    whole = records.shape[1] - 1  # all states of the child together
    of_child = 0.0
    largest = np.int64(0)
    for x in range(whole):
        records[part, whole] += records[part, x]
        largest = max(largest, records[part, x])
        of_child += mlogm[records[part, x]]
    if largest == records[part, whole]:
        return alive
    for x in range(whole):
        for a in range(used):
            sums[part, whole, space.used[a]] += sums[part, x, space.used[a]]
    left = 0
    for a in range(alive):
        j = positions[a]
        begin, end = first[candidates[top, j]], first[candidates[top, j] + 1]
        of_y = _spread(counters, part, whole, begin, end, records[part, whole], mlogm)
        joint = 0.0
        for x in range(whole):
            if records[part, x] > 1:  # 1 ln 1 = 0
                joint += _spread(counters, part, x, begin, end, records[part, x], mlogm)
        misfit[top, j] += of_y - joint
        gain[top, j] += mlogm[records[part, whole]] - max(of_child, of_y)
        if not final[j] or misfit[top, j] < room[j]:
            positions[left] = j
            left += 1
    return left


@inlined
def _count(top, child, frames, space):
    """For each candidate Y of the node P: N H(X | P + Y) as misfit, and the bound 1c of its gain; what is final only as
    far as it may matter."""
    alive = frames.left[top]
    for j in range(alive):
        frames.misfit[top, j] = 0.0
        frames.gain[top, j] = 0.0
        space.alive[j] = j
    used = _find_lanes(top, child, frames, space)
    begin = np.int64(0)
    for cell in range(frames.cells[top]):
        end = np.int64(frames.ends[top, cell])
        _sum_cell(top, begin, end, used, child, frames, space)
        begin = end
        for part in range(_parts(top, child, frames)):
            alive = _add_part(top, part, alive, used, child, frames, space)
        if alive == 0:
            return


@inlined
def _split(top, child, frames, space):
    """The cells of the node, for those above it, without those where the child has one state only."""
    rows, ends, codes = frames.rows, frames.ends, child.codes[frames.last[top]]
    sizes, place = space.records[:, 0], space.records[:, 1]
    begin = np.int64(0)
    filled = np.int64(0)
    cells = np.int64(0)
    for cell in range(frames.cells[top]):
        end = np.int64(ends[top, cell])
        sizes[:] = 0
        place[:] = -1  # the one state of the child, or -2
        for i in range(begin, end):
            part, x = codes[rows[top, i]], child.states[rows[top, i]]
            place[part] = x if sizes[part] == 0 or place[part] == x else -2
            sizes[part] += 1
        for part in range(sizes.size):
            if place[part] == -2:
                place[part] = filled
                filled += sizes[part]
                ends[top + 1, cells] = filled
                cells += 1
            else:
                place[part] = -1
        for i in range(begin, end):
            part = codes[rows[top, i]]
            if place[part] >= 0:
                rows[top + 1, place[part]] = rows[top, i]
                place[part] += 1
        begin = end
    frames.cells[top + 1] = cells


@inlined
def _find_lost(top, child, frames, space):
    """The multipliers of the clusters disjoint from the node, and as lost those of them that hold a candidate."""
    space.lost[: frames.left[top]] = 0.0
    rest = 0.0
    for a in range(frames.disjoints[top]):
        c = frames.disjoint[top, a]
        rest += child.multipliers[c]
        for j in range(frames.left[top]):
            space.lost[j] += child.hits[c, frames.candidates[top, j]]
    return rest


@inlined
def _narrow(top, child, frames, space):
    """Keep the candidates with which the node, or a larger set, may matter by what is known without counting."""
    unit = child.unit * frames.states[top]
    rest = _find_lost(top, child, frames, space)
    kept = 0
    for j in range(frames.left[top]):
        y, gain, least = frames.candidates[top, j], frames.gain[top, j] + TIE, frames.least[top, j]
        penalty = unit * child.arities[y]
        room = min(frames.cheapest[top], least, child.threshold + rest - space.lost[j]) - penalty
        # every further parent has two states or more, and meets no cluster perhaps
        final = top + 1 == child.depth or child.floor + penalty >= room
        low = max(child.floor, frames.own[top] - gain) if final else child.floor
        if low < room and gain > unit * (child.arities[y] - 1.0):
            frames.candidates[top, kept], frames.least[top, kept] = y, least
            space.room[kept], space.final[kept] = room, final
            kept += 1
    frames.left[top] = kept


@inlined
def _open(top, child, frames, space, varsets, costs, written):
    """Judge the node with each of its candidates: hand over the families that matter, and keep the candidates with
    which larger ones may matter. How many families are handed over by now."""
    unit = child.unit * frames.states[top]
    _narrow(top, child, frames, space)
    if frames.left[top] > 0:
        _count(top, child, frames, space)
    kept = 0
    for j in range(frames.left[top]):
        y, misfit, gain = frames.candidates[top, j], frames.misfit[top, j], frames.gain[top, j]
        penalty = unit * child.arities[y]
        if misfit < space.room[j]:
            varsets[written] = frames.varset[top]
            _add(varsets, written, child.candidates[y])
            costs[written] = misfit + penalty
            written += 1
        # a set with this candidate and another one: 1b and 2 as before it was counted, 1b with its own cost, and 1c
        if not space.final[j] and child.floor + penalty < misfit and gain + TIE > 2.0 * (penalty - unit):
            frames.candidates[top, kept], frames.misfit[top, kept], frames.gain[top, kept] = y, misfit, gain
            frames.least[top, kept] = min(misfit + penalty, frames.least[top, j])
            kept += 1
    frames.left[top] = kept
    frames.next[top] = 0
    if kept > 1:
        _split(top, child, frames, space)
    return written


@inlined
def _add(varsets, i, v):
    """Add variable v to a varset."""
    varsets[i, v >> 6] |= u64(1) << u64(v & 63)


@inlined
def _descend(top, child, frames):
    """Put the node with its next candidate on the stack; those after it are its candidates."""
    up, i = top + 1, frames.next[top]
    y = frames.candidates[top, i]
    frames.next[top] += 1
    frames.last[up] = y
    frames.varset[up] = frames.varset[top]
    _add(frames.varset, up, child.candidates[y])
    frames.states[up] = frames.states[top] * child.arities[y]
    frames.own[up] = frames.misfit[top, i]
    frames.cheapest[up] = min(frames.cheapest[top], frames.least[top, i])
    count = 0
    for a in range(frames.disjoints[top]):
        c = frames.disjoint[top, a]
        if child.hits[c, y] == 0.0:
            frames.disjoint[up, count] = c
            count += 1
    frames.disjoints[up] = count
    for j in range(i + 1, frames.left[top]):
        frames.candidates[up, j - i - 1] = frames.candidates[top, j]
        frames.gain[up, j - i - 1] = frames.gain[top, j]
        frames.least[up, j - i - 1] = frames.least[top, j]
    frames.left[up] = frames.left[top] - i - 1
    frames.next[up] = -1


@njit
def _search(top, child, frames, space, halt, varsets, costs):
    """Go on with the search until it is over, halted or there is no room for families; the top of the stack, -1 when
    it is over, and how many families there are."""
    written = 0
    while top >= 0 and not halt[0]:
        if frames.next[top] < 0:
            if written + child.candidates.size > costs.size:
                break
            written = _open(top, child, frames, space, varsets, costs, written)
        elif frames.next[top] + 1 < frames.left[top]:
            _descend(top, child, frames)
            top += 1
        else:
            top -= 1
    return top, written
