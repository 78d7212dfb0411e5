"""BestScore(X | U): the cheapest parent set of child X inside varset U, by byte tables.

The parent sets of a child lie in score order. For each byte of the varset and each of its 256 values a bitset tells
which parent sets have no member of that byte outside the value; the AND over the bytes leaves the parent sets inside
U, and its first one is the best. Malone et al. 2011, Section 4, answers the same question by parent graphs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import is_subset, lowest, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.varsets import words

NONE_INSIDE = np.int64(-1)


class ByteTables(NamedTuple):
    """BestScore of every child, ready for kernels; c children over varsets of w words.

    costs (m,) float64 and first (c + 1,) int64: the costs of child X are costs[first[X]:first[X + 1]], ascending.
    bits (t,) uint64: word i of the bitset of child X for value v of its block b is bits[start[X] + (b * 256 + v) *
    width[X] + i]: a query reads from a few places on, one word after the other. Block b stands for byte
    byte[block_first[X] + b] of the varset; only bytes in which the child has parents get a block. Memory: 8 bytes * 256
    * blocks * width per child. members (m, 8 w) uint8: the parent sets themselves, byte by byte, in the order of
    `costs`.
    """

    costs: NDArray[np.float64]
    first: NDArray[np.int64]
    bits: NDArray[np.uint64]
    start: NDArray[np.int64]
    width: NDArray[np.int64]
    byte: NDArray[np.int64]
    block_first: NDArray[np.int64]
    members: NDArray[np.uint8]


def byte_tables(
    parents: Sequence[NDArray[np.uint64]], costs: Sequence[NDArray[np.float64]], bytes_of_all: int = 0
) -> ByteTables:
    """Build the tables of families in score order: parents[X] (m, w) varsets, costs[X] (m,) ascending.

    The first `bytes_of_all` bytes get a block for every child, whether it has parents there or not.
    """
    n = len(costs)
    columns, used, width = list[NDArray[np.uint8]](), list[NDArray[np.int64]](), np.zeros(n, np.int64)
    first, start, block_first = np.zeros((3, n + 1), np.int64)
    for child, varsets in enumerate(parents):
        column = as_bytes(varsets)
        own = np.flatnonzero(column.any(axis=0) | (np.arange(column.shape[1]) < bytes_of_all))
        columns.append(column)
        used.append(own)
        width[child] = -(-column.shape[0] // 64)
        first[child + 1] = first[child] + costs[child].size
        start[child + 1] = start[child] + 256 * width[child] * own.size
        block_first[child + 1] = block_first[child] + own.size
    bits = np.zeros(start[n], dtype=np.uint64)
    for child, (column, own) in enumerate(zip(columns, used, strict=True)):
        blocks = bits[start[child] : start[child + 1]].reshape(own.size, 256, width[child])
        _fill_blocks(np.ascontiguousarray(column[:, own]), blocks)
    return ByteTables(
        costs=np.concatenate(costs) if costs else np.zeros(0),
        first=first,
        bits=bits,
        start=start[:n],
        width=width,
        byte=np.concatenate(used) if used else np.zeros(0, np.int64),
        block_first=block_first,
        members=np.concatenate(columns),
    )


def byte_tables_bytes(costs: Sequence[NDArray[np.float64]], variables: int) -> int:
    """About the memory of the tables of so many families over so many variables, at most."""
    return sum(_child_bytes(c.size, variables) for c in costs)


def by_bytes(costs: Sequence[NDArray[np.float64]], variables: int, most: int) -> list[list[int]]:
    """The children in groups whose tables take at most so many bytes together, or of one child."""
    groups: list[list[int]] = [[]]
    taken = 0
    for child, own in enumerate(costs):
        size = _child_bytes(own.size, variables)
        if groups[-1] and taken + size > most:
            groups.append([])
            taken = 0
        groups[-1].append(child)
        taken += size
    return groups


def cheapest_families(
    parents: Sequence[NDArray[np.uint64]], costs: Sequence[NDArray[np.float64]], most: int, needed: Sequence[int]
) -> tuple[Sequence[NDArray[np.uint64]], Sequence[NDArray[np.float64]]]:
    """The cheapest families of each child, as many as tables of `most` bytes have room for, and its `needed` one."""
    n, longest = len(costs), max(map(len, costs))
    rows = longest
    while rows > 64 and sum(_child_bytes(min(c.size, rows), n) for c in costs) > most:
        rows //= 2
    if rows == longest:
        return parents, costs
    kept = [np.union1d(np.arange(min(c.size, rows - 1)), row) for c, row in zip(costs, needed, strict=True)]
    return [p[k] for p, k in zip(parents, kept, strict=True)], [c[k] for c, k in zip(costs, kept, strict=True)]


def _child_bytes(families: int, variables: int) -> int:
    return 2048 * -(-families // 64) * -(-variables // 8) + families * 8 * (1 + words(variables))


def as_bytes(varsets: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """The bytes of varsets (..., words), least significant first: (..., 8 * words) uint8."""
    return np.ascontiguousarray(varsets.astype("<u8", copy=False)).view(np.uint8)


@njit
def _fill_blocks(column, blocks):
    """blocks[b, value] = bitset of the rows j with column[j, b] inside `value`: set once, spread to supersets."""
    for b in range(blocks.shape[0]):
        for j in range(column.shape[0]):
            blocks[b, column[j, b], j >> 6] |= u64(1) << u64(j & 63)
        for bit in range(8):
            for value in range(256):
                if not (value >> bit) & 1:
                    for w in range(blocks.shape[2]):
                        blocks[b, value | (1 << bit), w] |= blocks[b, value, w]


@inlined
def block_row(child, block, value, tables):
    """Where `bits` has the first word of a child's bitset for this value of one of its blocks."""
    return tables.start[child] + ((block << 8) + value) * tables.width[child]


@inner
def scratch(tables):
    """Working space for queries: one position per byte of a varset."""
    return np.empty(tables.members.shape[1], np.int64)


@inner
def first_inside(child, varset, begin, end, tables, rows):
    """Position, in the child's score order, of its cheapest parent set inside `varset`; -1 if none is.

    varset: its bytes, uint8, little-endian. Only words begin <= word < end of the bitset are searched (64 parent sets
    each; `end` may be beyond the last): a caller who knows that the answer lies there saves the others.
    rows: scratch(tables).
    """
    first, bits, block_first = tables.first, tables.bits, tables.block_first
    origin = block_first[child]
    blocks = block_first[child + 1] - origin
    for b in range(blocks):
        rows[b] = block_row(child, b, np.int64(varset[tables.byte[origin + b]]), tables)
    for word in range(begin, min(end, tables.width[child])):
        left = ~u64(0)
        for b in range(blocks):
            left &= bits[rows[b] + word]
        if left:
            found = (word << 6) + np.int64(lowest(left))
            # a child without blocks has the empty parent set alone: all ones stand for its one bit
            return found if found < first[child + 1] - first[child] else NONE_INSIDE
    return NONE_INSIDE


@njit
def first_inside_each(child, varsets, begin, tables, halt):
    """Position of the cheapest parent set inside each row of `varsets` (m, bytes) uint8, or -1: int64 (m,). None before
    word begin[i] of the bitsets, (m,) int64, is looked at. Ends early when halt[0] is set."""
    varsets, tables, halt = borrowed((varsets, tables, halt))
    found = np.zeros(varsets.shape[0], np.int64)
    rows = scratch(tables)
    for i in range(varsets.shape[0]):
        if halt[0]:
            break
        found[i] = first_inside(child, varsets[i], begin[i], tables.width[child], tables, rows)
    return found


@njit
def first_subsets(parents):
    """Of each of these parent sets (m, words) the number of the first that is inside it: int64 (m,). O(m^2 words)."""
    parents = borrowed(parents)
    found = np.empty(parents.shape[0], np.int64)
    for i in range(parents.shape[0]):
        j = 0
        while not is_subset(parents[j], parents[i]):
            j += 1
        found[i] = j
    return found


class SharedWords(NamedTuple):
    """What queries of varsets that share all but one or two low bytes share, by tables with the same blocks for all.

    words (n, most) uint64: of each child the words of its bitset, ANDed over the bytes that are shared; the first
    made (n,) uint64 of them are there. low_bytes, blocks: int64.
    """

    words: NDArray[np.uint64]
    made: NDArray[np.uint64]
    low_bytes: int
    blocks: int


@inner
def new_shared_words(tables, low_bits):
    """Room for them, none made yet; None without tables."""
    if tables is None:
        return None
    n = tables.width.size
    return SharedWords(
        np.empty((n, tables.width.max()), np.uint64), np.zeros(n, np.uint64), (low_bits + 7) >> 3, tables.block_first[1]
    )


@inner
def above_low_bytes(varset, word, low_bytes, blocks, own):
    """A word of a child's bitset: the parent sets with no member outside `varset` in the bytes above the low ones; own:
    the tables' bits, where the child has its first row, and its width; with so many blocks for each child."""
    bits, start, width = own
    left = ~u64(0)
    for b in range(low_bytes, blocks):
        left &= bits[start + ((u64(b) << u64(8)) + ((varset >> u64(b << 3)) & u64(255))) * width + word]
    return left
