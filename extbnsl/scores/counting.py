"""Joint entropies of many varsets at once: depth-first refinement of weighted distinct rows.

The kernel fills, for a range of varsets of one size, T(V) = sum over the joint states of V of m ln m, where m is
the number of records in that state. N times the entropy of V is then N ln N - T(V), and N H(X | P) =
T(P) - T(P + X).

A node of the depth-first search is a prefix of variables with its *entries*: distinct rows, each with its weight and
the cell (joint state of the prefix) it lies in. Three things keep the work small:

- The last variable of a varset is never refined: one pass over the entries of the prefix counts it, and all other
  possible last variables with it, in packed lanes of 64-bit words.
- A cell with one entry left can never be split: it adds a constant and its entry is dropped.
- Varsets are visited in descending numeric order, so a node needs ever fewer variables: entries that agree on all
  those still needed are merged. Tall data shrink to their contingency tables.

A varset may have any number of variables of any number: it is a walk by rank (ranks.py), not a bitmask.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.ranks import find_place, go_to, last_present, start_walk


def mlogm_table(records: int) -> NDArray[np.float64]:
    """m ln m for m = 0 to `records`, in nats."""
    counts = np.arange(records + 1, dtype=np.float64)
    counts[1:] *= np.log(counts[1:])
    return counts


PACKED_ARITY = 3  # variables of more states are counted one by one: their lanes would be mostly empty


class CountingTable(NamedTuple):
    """Distinct weighted rows, prepared for counting; variables in ascending arity, none constant.

    states (n, d) uint8 or uint16; weights (d,) uint32; arities (n,) int64; lanes (w, d) uint64: per word a lane for
    the total and one for each state but 0 of its packed variables; lane_width in bits; word_of, shift_of (n,) int64
    place the first lane of a variable (word -1: not packed); patterns (d,) uint64: the states of the lowest variables
    as bit fields; pattern_bits (n + 1,) int64: bits taken by the variables below v (64: beyond the word);
    mlogm (N + 1,) float64. base (d,) uint32: the joint state, one of `bases`, of what is part of every varset: nothing,
    or parents that must be.
    """

    states: NDArray[Any]
    weights: NDArray[np.uint32]
    arities: NDArray[np.int64]
    lanes: NDArray[np.uint64]
    lane_width: int
    word_of: NDArray[np.int64]
    shift_of: NDArray[np.int64]
    patterns: NDArray[np.uint64]
    pattern_bits: NDArray[np.int64]
    mlogm: NDArray[np.float64]
    base: NDArray[np.uint32]
    bases: int


class Nodes(NamedTuple):
    """A stack of prefixes of variables with their entries; each array has a place or a row for each node.

    row, weight, cell (depth, d) uint32: of the entries;
    entries, cells (depth,) int64: how many;
    dropped: what is known of the cells that were dropped: (depth,) float64 the sum of m ln m, or (depth, k) int64 how
    many had so many records.
    """

    row: NDArray[np.uint32]
    weight: NDArray[np.uint32]
    cell: NDArray[np.uint32]
    entries: NDArray[np.int64]
    cells: NDArray[np.int64]
    dropped: NDArray[Any]


class Space(NamedTuple):
    """What counting by rows works on, in one thread at a time; `counting_space` makes it.

    ids (d,) uint32: of each entry the cell by all variables but the lowest;
    slot, hist uint32 and acc uint64, as long as there may be cells: scratch; the last two are zero between uses.
    """

    nodes: Nodes
    table: CountingTable
    ids: NDArray[np.uint32]
    slot: NDArray[np.uint32]
    hist: NDArray[np.uint32]
    acc: NDArray[np.uint64]


def counting_table(rows: NDArray[np.integer], weights: NDArray[np.int64], arities: NDArray[np.int64]) -> CountingTable:
    """Prepare distinct rows (d, n) with weights (d,) for the kernel; the sum of the weights is below 2^32."""
    records = int(weights.sum())
    width = max(2, records.bit_length())
    states: NDArray[Any] = np.ascontiguousarray(rows.T, dtype=np.uint8 if arities.max(initial=1) <= 256 else np.uint16)
    lanes, word_of, shift_of = _lanes(states, arities, width)
    patterns, bits = _patterns(states, arities)
    return CountingTable(
        states=states,
        weights=weights.astype(np.uint32),
        arities=arities,
        lanes=lanes,
        lane_width=width,
        word_of=word_of,
        shift_of=shift_of,
        patterns=patterns,
        pattern_bits=bits,
        mlogm=mlogm_table(records),
        base=np.zeros(weights.size, np.uint32),
        bases=1,
    )


def _lanes(
    states: NDArray, arities: NDArray[np.int64], width: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """The lanes, and word and bit offset of each packed variable's first; the lowest lane of a word is its total."""
    per_word = 64 // width
    word_of, shift_of = np.full(arities.size, -1, dtype=np.int64), np.zeros(arities.size, dtype=np.int64)
    lanes, used = [np.ones(states.shape[1], np.uint64)], 1
    for v, arity in enumerate(arities.tolist()):
        if arity > min(PACKED_ARITY, per_word):
            continue
        if used + arity - 1 > per_word:
            lanes.append(np.ones(states.shape[1], np.uint64))
            used = 1
        word_of[v], shift_of[v] = len(lanes) - 1, used * width
        for state in range(1, arity):
            lanes[-1] |= (states[v] == state).astype(np.uint64) << np.uint64((used + state - 1) * width)
        used += arity - 1
    return np.array(lanes), word_of, shift_of


def _patterns(states: NDArray, arities: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Bit fields of the lowest variables of each row, as many as fit 62 bits, and the bits below each variable."""
    patterns = np.zeros(states.shape[1], dtype=np.uint64)
    bits = np.full(arities.size + 1, 64, dtype=np.int64)
    bits[0] = 0
    for v, arity in enumerate(arities.tolist()):
        end = int(bits[v]) + max(1, (arity - 1).bit_length())
        if end > 62:
            break
        patterns |= states[v].astype(np.uint64) << np.uint64(bits[v])
        bits[v + 1] = end
    return patterns, bits


@inner
def _merge(row, weight, cell, entries, cells, bits, patterns, slot):
    """Join, in place, entries of one cell that agree on the lowest `bits` pattern bits; returns their new number."""
    mask = (u64(1) << u64(bits)) - u64(1)
    for key in range(cells << bits):
        slot[key] = 0
    kept = 0
    for i in range(entries):
        key = (u64(cell[i]) << u64(bits)) | (patterns[row[i]] & mask)
        at = slot[key]
        if at == 0:
            row[kept], weight[kept], cell[kept] = row[i], weight[i], cell[i]
            kept += 1
            slot[key] = kept
        else:
            weight[at - 1] += weight[i]
    return kept


@inner
def _drop_singles(row, weight, cell, entries, cells, slot, mlogm):
    """Drop, in place, cells of one entry and number the others without gaps.

    Returns entries, cells and the sum of m ln m of what was dropped.
    """
    for c in range(cells):
        slot[c] = 0
    for i in range(entries):
        slot[cell[i]] += 1
    named = 0
    for c in range(cells):
        if slot[c] > 1:
            slot[c] = named
            named += 1
        else:
            slot[c] = 0xFFFFFFFF
    kept = 0
    dropped = 0.0
    for i in range(entries):
        name = slot[cell[i]]
        if name == 0xFFFFFFFF:
            dropped += mlogm[weight[i]]
        else:
            row[kept], weight[kept], cell[kept] = row[i], weight[i], name
            kept += 1
    return kept, named, dropped


@inner
def number(ids, entries, cells, slot):
    """Rename the cells in `ids` to 0, 1, ... in order of appearance; returns how many there are."""
    for c in range(cells):
        slot[c] = 0
    named = 0
    for i in range(entries):
        name = slot[ids[i]]
        if name == 0:
            named += 1
            name = named
            slot[ids[i]] = name
        ids[i] = name - 1
    return named


@inner
def _sum_many_states(acc, cells, at, width, arity, mlogm):
    """Sum of m ln m over cells x states of a packed variable whose first lane starts at bit `at`."""
    mask = (u64(1) << width) - u64(1)
    part = 0.0
    for c in range(cells):
        counts = acc[c]
        rest = counts & mask
        counts >>= at
        for _ in range(1, arity):
            ones = counts & mask
            counts >>= width
            rest -= ones
            part += mlogm[ones]
        part += mlogm[rest]
    return part


@inner
def _sum_two_states(acc, cells, at, width, mlogm):
    """The same for a variable of two states: two independent chains of additions."""
    mask = (u64(1) << width) - u64(1)
    zeros_part = 0.0
    ones_part = 0.0
    for c in range(cells):
        counts = acc[c]
        ones = (counts >> at) & mask
        ones_part += mlogm[ones]
        zeros_part += mlogm[(counts & mask) - ones]
    return ones_part + zeros_part


@inlined
def sum_lanes(ids, row, weight, entries, cells, lanes, width, acc):
    """acc[c] = the lanes of one word, each the records with its variable's states, summed up over a cell's entries.

    `acc` is zero before. Cells of no or one record are squeezed out; returns how many are left, and how many had one
    record.
    """
    for i in range(entries):
        acc[ids[i]] += u64(weight[i]) * lanes[row[i]]
    mask = (u64(1) << u64(width)) - u64(1)
    kept, ones = 0, 0
    for c in range(cells):
        counts = acc[c]
        records = counts & mask
        acc[c] = 0
        acc[kept] = counts
        kept += records > u64(1)
        ones += records == u64(1)
    return kept, ones


@inlined
def end_of_word(begin, wanted, word_of):
    """Where the variables of `wanted` from `begin` on end that are packed in one lane word, or the one that is not."""
    end, word = begin + 1, word_of[wanted[begin]]
    while end < wanted.size and word >= 0 and word_of[wanted[end]] == word:
        end += 1
    return end


@inner
def _count_one(ids, weight, row, column, entries, arity, hist, mlogm):
    """Sum of m ln m over cells x states of one variable, `column` its states; `hist` is zero before and after."""
    for i in range(entries):
        hist[u64(ids[i]) * arity + u64(column[row[i]])] += weight[i]
    total = 0.0
    for i in range(entries):
        key = u64(ids[i]) * arity + u64(column[row[i]])
        m = hist[key]
        if m:
            total += mlogm[m]
            hist[key] = 0
    return total


@inner
def refined(cell, row, column, arity, entries, refined):
    """refined[i] = the cell of entry i split by the variable whose states are `column`."""
    for i in range(entries):
        refined[i] = cell[i] * arity + column[row[i]]


@inlined
def _merge_needed(level, members, nodes, pattern_bits, patterns, slot):
    """Merge the entries of a node where variables from `members` up are no longer needed, if that halves them."""
    bits = pattern_bits[members]
    entries, cells = nodes.entries, nodes.cells[level]
    if bits < 40 and (cells << bits) * 2 <= entries[level]:
        entries[level] = _merge(
            nodes.row[level], nodes.weight[level], nodes.cell[level], entries[level], cells, bits, patterns, slot
        )


@inlined
def refine(top, v, nodes, table, slot):
    """Put the entries of node `top` into node top + 1, in cells that are divided by variable v; returns how many
    entries and cells there are."""
    row, weight, cell, entries, cells, _ = nodes
    _merge_needed(top, v + 1, nodes, table.pattern_bits, table.patterns, slot)
    e = entries[top]
    for i in range(e):
        row[top + 1, i], weight[top + 1, i] = row[top, i], weight[top, i]
    refined(cell[top], row[top], table.states[v], table.arities[v], e, cell[top + 1])
    return e, cells[top] * table.arities[v]


@inlined
def split(top, members, ids, nodes, table, slot):
    """ids[i] = the cell of entry i of node `top`, split by the first of these members; returns the number of cells."""
    if members.size == 0:
        for i in range(nodes.entries[top]):
            ids[i] = nodes.cell[top, i]
        return nodes.cells[top]
    split = members[0]
    _merge_needed(top, split + 1, nodes, table.pattern_bits, table.patterns, slot)
    arity, entries = table.arities[split], nodes.entries[top]
    refined(nodes.cell[top], nodes.row[top], table.states[split], arity, entries, ids)
    c = nodes.cells[top] * arity
    return number(ids, entries, c, slot) if c > entries else c


def counting_space(table: CountingTable, size: int, light: int = 0) -> Space:
    """The space for counting varsets of this size, with `light` places for cells that are dropped, or for their sum.

    It is made once and used for one task after the other: that of a million rows takes longer to make, in a hundred
    megabytes of new pages, than to count some varsets.
    """
    d, depth = table.weights.size, max(1, size - 1)  # see `depth_of`
    width = d * int(table.arities[-1]) + 1  # arities ascend
    row, weight, cell = (np.empty((depth, d), np.uint32) for _ in range(3))
    entries, cells = np.zeros(depth, np.int64), np.zeros(depth, np.int64)
    dropped = np.zeros((depth, light), np.int64) if light else np.zeros(depth)
    ids, slot, hist = np.zeros(d, np.uint32), np.empty(width, np.uint32), np.zeros(width, np.uint32)
    return Space(Nodes(row, weight, cell, entries, cells, dropped), table, ids, slot, hist, np.zeros(width, np.uint64))


@inlined
def depth_of(size):
    """How many nodes a stack for varsets of this size has, the root among them: the last two variables need none."""
    return max(1, size - 1)


@inlined
def begin_at_root(space):
    """Put the empty prefix on the stack: all rows, in the cells of what is part of every varset."""
    nodes, table = space.nodes, space.table
    for i in range(table.weights.size):
        nodes.row[0, i], nodes.weight[0, i], nodes.cell[0, i] = i, table.weights[i], table.base[i]
    nodes.entries[0], nodes.cells[0] = table.weights.size, table.bases


@inlined
def descend(asked, together, space, push, finish, values, out):
    """Fill out[i] for the present varset V of `size` >= 1 members at place first + i, for each i, in descending order.

    asked: (size, first, places, binomials), of which places tell which varsets are present (ranks.py). The stack
    of nodes in `space` stands for a varset's members but the lowest two, the largest first, and keeps those that the
    next one shares. push(top, v, space) makes node top + 1; finish(top, walk, wanted, space, values) gives values[v]
    for each v of `wanted`, descending, as the lowest member. Varsets that differ in that alone have neighbouring ranks:
    if `together`, they are finished at once. values (n, ...) is scratch.
    """
    asked, space, values, out = borrowed((asked, space, values, out))
    size, first, places, binomials = asked
    wanted, variable = np.empty(values.shape[0], np.int64), np.zeros(depth_of(size), np.int64)
    walk = start_walk(size, binomials)
    members, same = walk.members, walk.same
    top = np.int64(0)
    left = out.shape[0]
    block, before = find_place(first + left - 1, places)
    rest = places[block, 0] & ~before
    block, bits, rank = last_present(block, before | (rest & (~rest + u64(1))), places)
    while left > 0:
        go_to(rank, walk, binomials)
        base = same[1]
        group = 0
        while group < left and rank >= base and (together or group == 0):
            wanted[group] = rank - base
            group += 1
            if group < left:
                block, bits, rank = last_present(block, bits, places)
        shared = np.int64(0)
        while shared < min(top, size - 2) and members[size - 1 - shared] == variable[shared]:
            shared += 1
        top = shared
        while top < size - 2:
            variable[top] = members[size - 1 - top]
            push(top, variable[top], space)
            top += 1
        finish(top, walk, wanted[:group], space, values)
        for k in range(group):
            left -= 1
            out[left] = values[wanted[k]]


@inner
def _push(top, v, space):
    """Refine node `top` by variable v into node top + 1."""
    nodes, table, _, slot, _, _ = space
    row, weight, cell, entries, cells, dropped = nodes
    e, c = refine(top, v, nodes, table, slot)
    dropped[top + 1] = dropped[top]
    if c * 4 > e:
        e, c, lost = _drop_singles(row[top + 1], weight[top + 1], cell[top + 1], e, c, slot, table.mlogm)
        dropped[top + 1] += lost
    entries[top + 1], cells[top + 1] = e, c


@inlined
def _sum_group(top, walk, wanted, space, sums):
    """sums[v] for every v of `wanted`: one pass per lane word, one per variable of many states."""
    nodes, table, ids, slot, hist, acc = space
    cells = split(top, walk.members[1:-1], ids, nodes, table, slot)
    row, weight, entries, mlogm = nodes.row[top], nodes.weight[top], nodes.entries[top], table.mlogm
    arities, width, word_of = table.arities, table.lane_width, table.word_of
    begin = 0
    while begin < wanted.size:
        v, end = wanted[begin], end_of_word(begin, wanted, word_of)
        sums[wanted[begin:end]] = nodes.dropped[top]
        if word_of[v] < 0:
            sums[v] += _count_one(ids, weight, row, table.states[v], entries, u64(arities[v]), hist, mlogm)
        else:
            kept, _ = sum_lanes(ids, row, weight, entries, cells, table.lanes[word_of[v]], width, acc)
            for k in range(begin, end):
                v = wanted[k]
                at = u64(table.shift_of[v])
                if arities[v] == 2:
                    sums[v] += _sum_two_states(acc, kept, at, u64(width), mlogm)
                else:
                    sums[v] += _sum_many_states(acc, kept, at, u64(width), arities[v], mlogm)
            acc[: kept + 1] = 0
        begin = end


@njit
def count(size, first, places, binomials, space, out):
    """Fill out[i] with T(V) of the present varset V of `size` >= 1 members at place first + i, for each i.

    places: which varsets are present (ranks.py). Work per prefix: a few ns per entry and lane word, one look-up per
    cell and state.
    """
    places, binomials, space, out = borrowed((places, binomials, space, out))
    begin_at_root(space)
    sums = np.zeros(space.table.arities.size)
    descend((size, first, places, binomials), True, space, _push, _sum_group, sums, out)
