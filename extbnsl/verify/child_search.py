"""The depth-first search for the families of one child that matter: kernels, and what they read and write.

See `families` for what is left out and why. A node is a parent set; its children add one of the candidates after it.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inlined, njit
from extbnsl.verify.units import UNITS_PER_NAT

UNIT = 1.0 / UNITS_PER_NAT  # nats


class Child(NamedTuple):
    """What the search for the families of one child reads: d rows, m candidates, k clusters.

    The lanes of a row hold counters, several in a word: for each state that occurs of each candidate, but the last, the
    weight of the row if it has that state. Words add counters at once, and no sum overflows.
    """

    floor: float  # what N H(child | parents) is at least, less the margin
    margin: float  # nats: what is compared may be off by less than half of it, so what is beaten by more is beaten
    lead: float  # nats: by what a subset must beat a set to take its place; infinity where none is left out for that
    price: float  # nats: the penalty of each joint state of the parents
    threshold: int  # of the reduced costs, in units
    depth: int  # most parents that matter
    growth: float  # the fewest states of a candidate
    candidates: NDArray[np.int64]  # (m,)
    arities: NDArray[np.float64]  # declared (m,)
    codes: NDArray[np.int64]  # (m + 1, d) of the candidates, and of a constant
    first: NDArray[np.int64]  # first counter of each of these, and of none (m + 2,)
    lanes: NDArray[np.uint64]  # (d, words of counters)
    states: NDArray[np.int64]  # of the child (d,)
    weights: NDArray[np.int64]  # (d,)
    mlogm: NDArray[np.float64]
    hits: NDArray[np.int64]  # the multiplier of each cluster that a candidate is in, in units, 0 elsewhere (k, m)
    multipliers: NDArray[np.int64]  # in units (k,)


class Frames(NamedTuple):
    """A stack of nodes, that is parent sets; each array has a place or a row for each. Lists begin the rows."""

    rows: NDArray[np.uint32]  # (depth, d) cell by cell of the node without its last parent
    ends: NDArray[np.uint32]  # (depth, d) of these cells
    cells: NDArray[np.int64]  # number of them
    last: NDArray[np.int64]  # the last parent; of the empty set the constant
    varset: NDArray[np.uint64]  # (depth, words)
    states: NDArray[np.float64]  # product of the arities
    own: NDArray[np.float64]  # N H(child | node)
    cheapest: NDArray[np.float64]  # least known cost of a subset of the node, and the lead
    disjoint: NDArray[np.int64]  # (depth, k) clusters disjoint from the node
    disjoints: NDArray[np.int64]  # number of them
    candidates: NDArray[np.int64]  # (depth, m) that may still be added
    left: NDArray[np.int64]  # number of them
    next: NDArray[np.int64]  # position of the next candidate to descend to; -1: not opened yet
    # (depth, m), by the position of a candidate:
    misfit: NDArray[np.float64]  # N H(child | node and candidate)
    gain: NDArray[np.float64]  # the bound 1c on what it gains; of the node without its last parent until opened
    least: NDArray[np.float64]  # least known cost of a subset of node and candidate with the candidate, and the lead


class Space(NamedTuple):
    """What one node is counted in: lanes and records of its cells' parts (states of the last parent, states of the
    child and all of them together, ...), the counters of these lanes, the lanes in use; and by position of a candidate:
    the multipliers lost (units), what the misfit must stay below, whether no superset matters, and positions yet in
    question.
    """

    sums: NDArray[np.uint64]
    counters: NDArray[Any]
    records: NDArray[np.int64]
    used: NDArray[np.int64]
    lost: NDArray[np.int64]
    room: NDArray[np.float64]
    final: NDArray[np.bool_]
    alive: NDArray[np.int64]


def new_frames(
    child: Child, own: float, base: NDArray[np.uint64], groups: NDArray[np.int64], apart: NDArray[np.int64]
) -> Frames:
    """A stack with room for all nodes, and the first parent set on it, not yet opened.

    It is `base` (words,), which is part of all, and divides the rows into groups (d,). own: N H(child | base); apart:
    the clusters disjoint from it.
    """
    depth, d, m, k = child.depth, child.weights.size, child.candidates.size, child.multipliers.size
    ends = np.cumsum(np.bincount(groups))
    ends = np.append(ends, np.full(d - ends.size, d)).astype(np.uint32)
    disjoint = np.append(apart, np.zeros(k - apart.size, np.int64))
    return Frames(
        rows=np.tile(np.argsort(groups, kind="stable").astype(np.uint32), (depth, 1)),
        ends=np.tile(ends, (depth, 1)),
        cells=np.full(depth, int(groups.max(initial=0)) + 1),
        last=np.full(depth, m),
        varset=np.tile(base, (depth, 1)),
        states=np.ones(depth),
        own=np.full(depth, own),
        cheapest=np.full(depth, own + child.price + child.lead),
        disjoint=np.tile(disjoint, (depth, 1)),
        disjoints=np.full(depth, apart.size),
        candidates=np.tile(np.arange(m), (depth, 1)),
        left=np.full(depth, m),
        next=np.full(depth, -1),
        misfit=np.zeros((depth, m)),
        gain=np.full((depth, m), math.inf),
        least=np.full((depth, m), math.inf),
    )


def new_space(child: Child) -> Space:
    """Room to count any node."""
    m, width = child.candidates.size, child.lanes.shape[1]
    parts = int(child.codes.max()) + 1, int(child.states.max()) + 2
    sums = np.zeros((*parts, width), np.uint64)
    return Space(
        sums=sums,
        counters=sums.view(counter_of(child.mlogm)),
        records=np.zeros(parts, np.int64),
        used=np.zeros(width, np.int64),
        lost=np.zeros(m, np.int64),
        room=np.zeros(m),
        final=np.zeros(m, np.bool_),
        alive=np.zeros(m, np.int64),
    )


def counter_of(mlogm: NDArray[np.float64]) -> np.dtype[Any]:
    """The type of a counter that holds all records."""
    return np.dtype(np.uint16 if mlogm.size <= 1 << 16 else np.uint32)


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
    """The multipliers of the clusters disjoint from the node, and as lost those that hold a candidate; exact."""
    lost, hits, candidates, left = space.lost, child.hits, frames.candidates[top], frames.left[top]
    lost[:left] = 0
    rest = np.int64(0)
    for a in range(frames.disjoints[top]):
        c = frames.disjoint[top, a]
        rest += child.multipliers[c]
        for j in range(left):  # locals: what is written could be what is read, for all that the compiler knows
            lost[j] += hits[c, candidates[j]]
    return rest


@inlined
def _narrow(top, child, frames, space):
    """Keep the candidates with which the node, or a larger set, may matter by what is known without counting."""
    price = child.price * frames.states[top]
    below = child.threshold + _find_lost(top, child, frames, space)
    kept = 0
    for j in range(frames.left[top]):
        y, gain, least = frames.candidates[top, j], frames.gain[top, j] + child.lead, frames.least[top, j]
        penalty = price * child.arities[y]
        room = min(frames.cheapest[top], least, (below - space.lost[j]) * UNIT + child.margin) - penalty
        # every further parent multiplies the states, and meets no cluster perhaps
        final = top + 1 == child.depth or child.floor + (child.growth - 1.0) * penalty >= room
        low = max(child.floor, frames.own[top] - gain) if final else child.floor
        if low < room and gain > price * (child.arities[y] - 1.0):
            frames.candidates[top, kept], frames.least[top, kept] = y, least
            space.room[kept], space.final[kept] = room, final
            kept += 1
    frames.left[top] = kept


@inlined
def _open(top, child, frames, space, varsets, costs, written):
    """Judge the node with each of its candidates: hand over the families that matter, and keep the candidates with
    which larger ones may matter. How many families are handed over by now."""
    price = child.price * frames.states[top]
    _narrow(top, child, frames, space)
    if frames.left[top] > 0:
        _count(top, child, frames, space)
    kept = 0
    for j in range(frames.left[top]):
        y, misfit, gain = frames.candidates[top, j], frames.misfit[top, j], frames.gain[top, j]
        penalty = price * child.arities[y]
        if misfit < space.room[j]:
            varsets[written] = frames.varset[top]
            _add(varsets, written, child.candidates[y])
            costs[written] = misfit + penalty
            written += 1
        # a set with this candidate and another one: 1b and 2 as before it was counted, 1b with its own cost, and 1c
        larger = child.floor + (child.growth - 1.0) * penalty < misfit + child.lead
        if not space.final[j] and larger and gain + child.lead > child.growth * (penalty - price):
            frames.candidates[top, kept], frames.misfit[top, kept], frames.gain[top, kept] = y, misfit, gain
            frames.least[top, kept] = min(misfit + penalty + child.lead, frames.least[top, j])
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
        if child.hits[c, y] == 0:
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
def search(top, child, frames, space, halt, varsets, costs):
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
