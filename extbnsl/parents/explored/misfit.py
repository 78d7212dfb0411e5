"""N H(child | parents), in nats, of one parent set after the other, by splits of bit columns or by records.

By splits: a depth-first walk splits the records by the first parent, each part by the second, and so on; a part is a
column of bits, so that a split by a state is an AND and a count of ones, a third of a nanosecond for 64 records and a
state of the child. The last state of the last parent follows by subtraction. Parts in which the child has one state
add nothing and end there. By records: each gets the number of its cell, and the cells are counted: some two nanoseconds
for each record. Up to six or seven parents of two states the first is less work, and tenfold for two.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import popcount, u64
from extbnsl.kernels.compiler import inlined, inner, njit
from extbnsl.parents.explored.columns import Columns

MOST_SLOTS = 1 << 22  # counters for the cells of all records
SPLIT, SPLIT_WORD = 10.0, 0.3  # nanoseconds of a split, and of it for each word and state of the child: measured
RECORD, RECORD_PARENT = 1.5, 0.1  # nanoseconds of a record, and of it for each parent


class Splits(NamedTuple):
    """Working space for the parent sets of one child; d parents at most, r states of the child, w words.

    parts (d + 2, w) uint64: the part at each depth, all records first; counts (d + 2, r) int64: its records by state
    of the child; state (d + 1,) int64: the next state to split by. ids (N,) int32: the cell of each record; slots
    int32: a number or a count for each cell.
    """

    parts: NDArray[np.uint64]
    counts: NDArray[np.int64]
    state: NDArray[np.int64]
    ids: NDArray[np.int32]
    slots: NDArray[np.int32]


def new_splits(child: int, parents: int, data: Columns) -> Splits:
    """Working space for parent sets of at most so many parents of a child."""
    own = slice(data.first[child], data.first[child + 1])
    splits = Splits(
        np.zeros((parents + 2, data.bits.shape[1]), np.uint64),
        np.zeros((parents + 2, int(data.arities[child])), np.int64),
        np.zeros(parents + 1, np.int64),
        np.zeros(data.records, np.int32),
        np.zeros(min(MOST_SLOTS, data.records * int(data.arities.max())), np.int32),
    )
    splits.parts[0] = np.bitwise_or.reduce(data.bits[own])
    splits.counts[0] = data.counts[own]
    return splits


def splits_bytes(parents: int, data: Columns) -> int:
    """Memory of the working space for parent sets of at most so many parents, at most."""
    widest = int(data.arities.max())
    parts = (parents + 2) * 8 * (data.bits.shape[1] + widest + 1)
    return parts + 4 * data.records + 4 * min(MOST_SLOTS, data.records * widest)


@inlined
def _spread(counts, mlogm):
    """N H(child) within a part, its records by state of the child."""
    records = np.int64(0)
    states = 0.0
    for m in counts:
        records += m
        states += mlogm[m]
    return mlogm[records] - states


@inlined
def _split(part, column, child, data, into, counts):
    """into = the records of `part` in a column, counts = these by state of the child; returns whether several occur."""
    bits, first = data.bits, data.first[child]
    all_ = u64(0)
    for w in range(part.size):
        word = part[w] & bits[column, w]
        into[w] = word
        all_ += popcount(word)
    rest, most = np.int64(all_), np.int64(0)
    for t in range(1, counts.size):
        ones = u64(0)
        for w in range(part.size):
            ones += popcount(into[w] & bits[first + t, w])
        counts[t] = np.int64(ones)
        rest -= counts[t]
        most = max(most, counts[t])
    counts[0] = rest
    return max(most, rest) < np.int64(all_)


@inlined
def _split_last(depth, v, child, data, splits):
    """The misfit of a part that is split by variable v and no further."""
    parts, counts = splits.parts, splits.counts
    part, into, found, rest = parts[depth], parts[depth + 1], counts[depth + 1], counts[depth]
    total = 0.0
    for s in range(data.arities[v] - 1):
        if data.counts[data.first[v] + s]:
            several = _split(part, data.first[v] + s, child, data, into, found)
            if several:
                total += _spread(found, data.mlogm)
            for t in range(found.size):
                rest[t] -= found[t]
    return total + _spread(rest, data.mlogm)


@inner
def _by_splits(child, members, size, data, splits):
    """The misfit of members[:size] by a walk over parts."""
    parts, counts, state = splits.parts, splits.counts, splits.state
    for t in range(counts.shape[1]):  # the walk uses them up
        counts[0, t] = data.counts[data.first[child] + t]
    total, depth = 0.0, 0
    state[0] = 0
    while depth >= 0:
        v = members[depth]
        s = state[depth]
        state[depth] += 1
        if depth == size - 1:
            total += _split_last(depth, v, child, data, splits)
            depth -= 1
        elif s == data.arities[v]:
            depth -= 1
        elif data.counts[data.first[v] + s]:
            several = _split(parts[depth], data.first[v] + s, child, data, parts[depth + 1], counts[depth + 1])
            if several:
                depth += 1
                state[depth] = 0
    return total


@inlined
def _renumber(ids, cells, slots):
    """Number the cells that occur 0, 1, ... in order of appearance; returns how many there are."""
    for c in range(cells):
        slots[c] = 0
    named = 0
    for i in range(ids.size):
        name = slots[ids[i]]
        if name == 0:
            named += 1
            name = named
            slots[ids[i]] = name
        ids[i] = name - 1
    return np.int64(named)


@inner
def _by_records(child, members, size, data, splits):
    """The misfit of members[:size] by the cell of each record; there are slots for all cells and states."""
    ids, slots, mlogm = splits.ids, splits.slots, data.mlogm
    for i in range(ids.size):
        ids[i] = data.codes[members[0], i]
    cells = data.arities[members[0]]
    for k in range(1, size):
        if cells > ids.size:
            cells = _renumber(ids, cells, slots)
        codes, arity = data.codes[members[k]], np.int32(data.arities[members[k]])
        for i in range(ids.size):
            ids[i] = ids[i] * arity + np.int32(codes[i])
        cells *= data.arities[members[k]]
    if cells > ids.size:
        cells = _renumber(ids, cells, slots)
    codes, states = data.codes[child], splits.counts.shape[1]
    for c in range(cells * states):
        slots[c] = 0
    for i in range(ids.size):
        slots[np.int64(ids[i]) * states + codes[i]] += 1
    total = 0.0
    for c in range(cells):
        records = 0
        for t in range(states):
            records += slots[c * states + t]
            total -= mlogm[slots[c * states + t]]
        total += mlogm[records]
    return max(0.0, total)


@inlined
def _splits_are_cheaper(members, size, data, splits):
    """Whether splits are less work than records, or there are not enough slots for these."""
    words, states, records = splits.parts.shape[1], splits.counts.shape[1], splits.ids.size
    widest = np.int64(states)
    work = 0.0
    for k in range(size - 1, -1, -1):
        arity = data.arities[members[k]]
        widest = max(widest, arity)
        work = arity - 1.0 if k == size - 1 else arity * (1.0 + work)
    by_splits = work * (SPLIT + SPLIT_WORD * words * states)
    return by_splits < records * (RECORD + RECORD_PARENT * size) or records * widest > splits.slots.size


@inner
def misfit(child, members, size, data, splits):
    """N H(child | the variables members[:size]), in nats, not negative; size is at least 1."""
    if _splits_are_cheaper(members, size, data, splits):
        return _by_splits(child, members, size, data, splits)
    return _by_records(child, members, size, data, splits)


@njit
def misfits(child, sets, data, splits):
    """N H(child | sets[i]) of each row of `sets` (m, k) int32: float64 (m,), in nats."""
    found = np.empty(sets.shape[0], np.float64)
    for i in range(sets.shape[0]):
        found[i] = misfit(child, sets[i], sets.shape[1], data, splits)
    return found
