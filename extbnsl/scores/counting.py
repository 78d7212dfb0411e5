"""Joint entropies of many varsets at once: depth-first refinement of weighted distinct rows.

The kernel fills, for a range of varsets of one size, T(V) = sum over the joint states of V of m ln m, where m is
the number of records in that state. N times the entropy of V is then N ln N - T(V), and N H(X | P) =
T(P) - T(P + X).

A node of the depth-first search is a prefix of variables with its *entries*: distinct rows, each with its weight and
the cell (joint state of the prefix) it lies in, one cell behind the other. Three things keep the work small:

- The last three variables of a varset are not refined: the entries of a cell that have a state of one are bits
  (bit_columns.py), and the joint states are counted as bits that they have in common. Where this is no gain, as there
  are many states, all but two are refined, and one pass over the entries counts the last variable.
- A cell with one entry left can never be split: it adds a constant and its entry is dropped.
- Varsets are visited in descending numeric order, so a node needs ever fewer variables: entries that agree on all
  those still needed are merged. Tall data shrink to their contingency tables.

A varset may have any number of variables of any number: it is a walk by rank (ranks.py), not a bitmask.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit, spliced
from extbnsl.kernels.ranks import find_place, go_to, last_present, start_walk
from extbnsl.scores.bit_columns import (
    ONES,
    Columns,
    Parts,
    add_up_bits,
    columns_of,
    divide_by,
    have_masked,
    parts_of,
    words_of,
)

WORDS = 4  # of bits that are looked at in the time of one entry
ALONE = np.uint32(0xFFFFFFFF)  # the cell of an entry that has none of its own yet


def mlogm_table(records: int, each: float = 1.0) -> NDArray[np.float64]:
    """m ln m for m = 0 to `records`, in nats; of rows that stand for so many records each, times that."""
    counts = np.arange(records + 1, dtype=np.float64)
    counts[1:] *= np.log(counts[1:])
    return counts if each == 1.0 else counts * each


class CountingTable(NamedTuple):
    """Distinct weighted rows, prepared for counting; variables in ascending arity, none constant.

    states (n, d) uint8 or uint16; weights (d,) uint32; arities (n,) int64; patterns (d,) uint64: the states of the
    lowest variables as bit fields; pattern_bits (n + 1,) int64: bits taken by the variables below v (64: beyond the
    word); mlogm (N + 1,) float64: m ln m. base (d,) uint32: the joint state, one of `bases`, of what is part of every
    varset: nothing, or parents that must be.
    """

    states: NDArray[Any]
    weights: NDArray[np.uint32]
    arities: NDArray[np.int64]
    patterns: NDArray[np.uint64]
    pattern_bits: NDArray[np.int64]
    mlogm: NDArray[np.float64]
    base: NDArray[np.uint32]
    bases: int


class Nodes(NamedTuple):
    """A stack of prefixes of variables with their entries; each array has a place or a row for each node.

    row, weight, cell (depth, d) uint32: of the entries, by ascending cells;
    entries, cells (depth,) int64: how many; name (depth + 1,) int64: a number that no other node, or node with other
    entries, has, and the largest one that was given;
    dropped: what is known of the cells that were dropped: (depth,) float64 the sum of m ln m, or (depth, k) int64 how
    many had so many records.
    """

    row: NDArray[np.uint32]
    weight: NDArray[np.uint32]
    cell: NDArray[np.uint32]
    entries: NDArray[np.int64]
    cells: NDArray[np.int64]
    name: NDArray[np.int64]
    dropped: NDArray[Any]


class Space(NamedTuple):
    """What counting by rows works on, in one thread at a time; `counting_space` makes it.

    columns, parts: the entries of a node as bits;
    ids (d,) uint32: of each entry the cell by all variables but the lowest;
    slot, hist uint32, as long as there may be cells: scratch; the last one is zero between uses;
    sums (n,) float64: of varsets that differ in their lowest member alone, for each.
    """

    nodes: Nodes
    table: CountingTable
    columns: Columns
    parts: Parts
    ids: NDArray[np.uint32]
    slot: NDArray[np.uint32]
    hist: NDArray[np.uint32]
    sums: NDArray[np.float64]


def counting_table(
    rows: NDArray[np.integer], weights: NDArray[np.int64], arities: NDArray[np.int64], each: float = 1.0
) -> CountingTable:
    """Prepare distinct rows (d, n) with weights (d,) for the kernel; the sum of the weights is below 2^32. The heaviest
    rows come first, so that few words of bits have heavy ones. each: see `mlogm_table`."""
    order = np.argsort(-weights.astype(np.int64), kind="stable")
    rows, weights = rows[order], weights[order]
    states: NDArray[Any] = np.ascontiguousarray(rows.T, dtype=np.uint8 if arities.max(initial=1) <= 256 else np.uint16)
    patterns, bits = _patterns(states, arities)
    return CountingTable(
        states=states,
        weights=weights.astype(np.uint32),
        arities=arities,
        patterns=patterns,
        pattern_bits=bits,
        mlogm=mlogm_table(int(weights.sum()), each),
        base=np.zeros(weights.size, np.uint32),
        bases=1,
    )


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
def refined(cell, row, column, arity, entries, refined):
    """refined[i] = the cell of entry i split by the variable whose states are `column`."""
    for i in range(entries):
        refined[i] = cell[i] * arity + column[row[i]]


@inlined
def _name(at, nodes):
    """Give a node a new name."""
    nodes.name[-1] += 1
    nodes.name[at] = nodes.name[-1]


@inlined
def _merge_needed(level, members, nodes, table, slot):
    """Merge the entries of a node where variables from `members` up are no longer needed, if that halves them."""
    bits = table.pattern_bits[members]
    entries, cells = nodes.entries, nodes.cells[level]
    if bits < 40 and (cells << bits) * 2 <= entries[level]:
        before = entries[level]
        entries[level] = _merge(
            nodes.row[level], nodes.weight[level], nodes.cell[level], before, cells, bits, table.patterns, slot
        )
        if entries[level] < before:
            _name(level, nodes)


@inlined
def refine(top, v, space, drop):
    """Make node top + 1 of node `top`, its cells divided by variable v. drop(weight, at, space) is asked of each cell
    of one entry whether it is dropped, and notes it."""
    nodes, table, slot = space.nodes, space.table, space.slot
    _merge_needed(top, v + 1, nodes, table, slot)
    column, arity = table.states[v], np.int64(table.arities[v])
    row, weight, cell = nodes.row, nodes.weight, nodes.cell
    lo, to, cells, after = 0, 0, 0, top + 1
    while lo < nodes.entries[top]:
        hi = lo
        slot[:arity] = 0
        while hi < nodes.entries[top] and cell[top, hi] == cell[top, lo]:
            slot[column[row[top, hi]]] += 1
            hi += 1
        for s in range(arity):  # slot: where the entries of a state go; behind it, their cell
            several = slot[s]
            slot[s], slot[arity + s] = to, ALONE if several == 1 else cells
            to += several if several > 1 else 0
            cells += several > 1
        for i in range(lo, hi):
            s = column[row[top, i]]
            at = np.int64(slot[s])
            if slot[arity + s] == ALONE:
                if drop(weight[top, i], after, space):
                    continue
                at, slot[arity + s] = to, cells
                to += 1
                cells += 1
            row[after, at], weight[after, at], cell[after, at] = row[top, i], weight[top, i], slot[arity + s]
            slot[s] = at + 1
        lo = hi
    nodes.entries[after], nodes.cells[after] = to, cells
    _name(after, nodes)


@inlined
def _split(top, variables, space):
    """ids[i] = the cell of entry i of node `top`, split by these variables."""
    nodes, table, ids = space.nodes, space.table, space.ids
    entries, cells = nodes.entries[top], nodes.cells[top]
    for i in range(entries):
        ids[i] = nodes.cell[top, i]
    for v in variables:
        refined(ids, nodes.row[top], table.states[v], table.arities[v], entries, ids)
        cells *= table.arities[v]
        if cells > entries:
            cells = number(ids, entries, cells, space.slot)


def counting_space(table: CountingTable, size: int, light: int = 0) -> Space:
    """The space for counting varsets of this size, with `light` places for cells that are dropped, or for their sum.

    It is made once and used for one task after the other: that of a million rows takes longer to make, in a hundred
    megabytes of new pages, than to count some varsets.
    """
    d, depth = table.weights.size, max(1, size - 1)  # see `depth_of`
    width = (d + 1) * int(table.arities[-1]) + 1  # arities ascend
    row, weight, cell = (np.empty((depth, d), np.uint32) for _ in range(3))
    entries, cells, name = np.zeros(depth, np.int64), np.zeros(depth, np.int64), np.zeros(depth + 1, np.int64)
    dropped = np.zeros((depth, light), np.int64) if light else np.zeros(depth)
    ids, slot, hist = np.zeros(d, np.uint32), np.empty(width, np.uint32), np.zeros(width, np.uint32)
    nodes = Nodes(row, weight, cell, entries, cells, name, dropped)
    columns, parts, sums = columns_of(table.arities, d), parts_of(table.arities, d), np.zeros(table.arities.size)
    return Space(nodes, table, columns, parts, ids, slot, hist, sums)


@inlined
def depth_of(size):
    """How many nodes a stack for varsets of this size has, the root among them: the last two variables need none."""
    return max(1, size - 1)


@inlined
def begin_at_root(space):
    """Put the empty prefix on the stack: all rows, in the cells of what is part of every varset."""
    nodes, table, slot = space.nodes, space.table, space.slot
    for c in range(table.bases + 1):
        slot[c] = 0
    for i in range(table.weights.size):
        slot[table.base[i] + 1] += 1
    for c in range(table.bases):
        slot[c + 1] += slot[c]
    for i in range(table.weights.size):
        at = slot[table.base[i]]
        slot[table.base[i]] += 1
        nodes.row[0, at], nodes.weight[0, at], nodes.cell[0, at] = i, table.weights[i], table.base[i]
    nodes.entries[0], nodes.cells[0] = table.weights.size, table.bases
    _name(0, nodes)


@spliced
def descend(asked, together, space, push, enough, finish, values, out):
    """Fill out[i] for the present varset V of `size` >= 1 members at place first + i, for each i, in descending order.

    asked: (size, first, places, binomials), of which places tell which varsets are present (ranks.py). The stack
    of nodes in `space` stands for a varset's members but the lowest two, the largest first, or but the lowest three if
    enough(top, walk, space), and keeps those that the next one shares. push(top, v, space) makes node top + 1;
    finish(top, walk, wanted, space, values) gives values[v] for each v of `wanted`, descending, as the lowest member.
    Varsets that differ in that alone have neighbouring ranks: if `together`, they are finished at once. values (n, ...)
    is scratch.
    """
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
        while top < size - 2 and not (top == size - 3 and enough(top, walk, space)):
            variable[top] = members[size - 1 - top]
            push(top, variable[top], space)
            top += 1
        finish(top, walk, wanted[:group], space, values)
        for k in range(group):
            left -= 1
            out[left] = values[wanted[k]]


@inlined
def _words_for(top, members, space):
    """How many words are looked at to count varsets by the bits of a node, for each state of the lowest member but one;
    -1 if they cannot be. All members are refined but the lowest three, or two if there are no more."""
    size, arities = members.size - 1, space.table.arities
    if top != max(0, size - 3) or size < 2:
        return -1
    _merge_needed(top, members[size - top], space.nodes, space.table, space.slot)
    words = words_of(top, space.nodes, space.columns)
    if size > 2:
        words *= arities[members[2]]
    return words * (arities[members[1]] - 1) if words <= space.parts.met.size else -1


@inlined
def needs_no_more(top, walk, space):
    """Whether a node of all but three members is enough: at least for variables of the fewest states it takes no longer
    to look at bits than at entries."""
    words = _words_for(top, walk.members, space)
    return words >= 0 and (space.table.arities[0] - 1) * words <= WORDS * space.nodes.entries[top]


@spliced
def add_up_group(top, walk, wanted, space, begin, add, end, given):
    """The records of each joint state of the walk's varset, with each v of `wanted` as its lowest member.

    begin(top, ones, given) is told of so many joint states of one record and makes the sum to begin with, add(sum, m,
    given) adds one of m records, end(sum, v, walk, given) takes it. Joint states of no record may be added.
    """
    nodes, table, members, size = space.nodes, space.table, walk.members, walk.members.size - 1
    columns, parts, last, is_split = space.columns, space.parts, members[1 : size - top], False
    words = _words_for(top, members, space)
    if words >= 0:
        divide_by(members[2] if size > 2 else -1, top, table, nodes, columns, parts)
        have_masked(members[1], top, table, nodes, columns, parts)
    elif size > 1:
        _merge_needed(top, members[1] + 1, nodes, table, space.slot)
    for v in wanted:
        if words >= 0 and (table.arities[v] - 1) * words <= WORDS * nodes.entries[top]:
            have_masked(v, top, table, nodes, columns, parts)
            total = begin(top, parts.counts[ONES], given)
            total = add_up_bits(members[1], v, total, columns, parts, table, add, given)
        else:
            if not is_split:
                _split(top, last, space)
                is_split = True
            total = _add_up_rows(top, v, begin(top, np.int64(0), given), space, add, given)
        end(total, v, walk, given)


@inlined
def _add_up_rows(top, v, total, space, add, given):
    """The sum over the cells `ids` of the entries of a node, by the states of one variable."""
    nodes, ids, hist = space.nodes, space.ids, space.hist
    row, weight, column, arity = nodes.row[top], nodes.weight[top], space.table.states[v], u64(space.table.arities[v])
    for i in range(nodes.entries[top]):
        hist[u64(ids[i]) * arity + u64(column[row[i]])] += weight[i]
    for i in range(nodes.entries[top]):
        key = u64(ids[i]) * arity + u64(column[row[i]])
        m = hist[key]
        if m:
            total = add(total, u64(m), given)
            hist[key] = 0
    return total


@inlined
def _drop(weight, at, space):
    """Count a cell of one entry, which is dropped."""
    space.nodes.dropped[at] += space.table.mlogm[weight]
    return True


@inner
def _push(top, v, space):
    """Refine node `top` by variable v into node top + 1."""
    space.nodes.dropped[top + 1] = space.nodes.dropped[top]
    refine(top, v, space, _drop)


@inlined
def _begin_sum(top, ones, space):
    """The sum over the cells that were dropped."""
    return space.nodes.dropped[top]


@inlined
def _add_to_sum(total, m, space):
    """The sum with a cell of m records."""
    return total + space.table.mlogm[m]


@inlined
def _end_sum(total, v, walk, space):
    """Take the sum of the varset whose lowest member is v."""
    space.sums[v] = total


@spliced
def _sum_group(top, walk, wanted, space, sums):
    """sums[v], which are the space's, for every v of `wanted`."""
    add_up_group(top, walk, wanted, space, _begin_sum, _add_to_sum, _end_sum, space)


@njit
def count(size, first, places, binomials, space, out):
    """Fill out[i] with T(V) of the present varset V of `size` >= 1 members at place first + i, for each i.

    places: which varsets are present (ranks.py). Work per varset: about a ns per word of 64 entries of a cell and
    state, and one look-up per cell and state; or, where cells are small, some ns per entry.
    """
    places, binomials, space, out = borrowed((places, binomials, space, out))
    begin_at_root(space)
    descend((size, first, places, binomials), True, space, _push, needs_no_more, _sum_group, space.sums, out)
