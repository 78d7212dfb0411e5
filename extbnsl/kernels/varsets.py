"""Bitmask algebra on varsets: sets of variables as rows of 64-bit words.

A varset over n variables is a row of `words(n)` uint64; bit i % 64 of word i // 64 stands for variable i.
Inside a search (at most 64 variables) a varset is a single uint64 and numeric order is colexicographic order.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

WORD_BITS = 64
ROWS = 1 << 16  # whose members are looked at together


def words(variables: int) -> int:
    """Number of 64-bit words of a varset over `variables` variables, at least one."""
    return max(1, -(-variables // WORD_BITS))


def pack(members: Iterable[int], variables: int) -> NDArray[np.uint64]:
    """The varset of `members`, shape (words(variables),)."""
    bits = np.zeros(WORD_BITS * words(variables), dtype=np.uint8)
    bits[list(members)] = 1
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def as_varsets(members: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """The varsets of rows of (m, n) that say of each variable whether it is a member: (m, words(n))."""
    bits = np.zeros((members.shape[0], WORD_BITS * words(members.shape[1])), np.uint8)
    bits[:, : members.shape[1]] = members
    return np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def add(member: int, varset: NDArray[np.uint64]) -> None:
    """Add a member to a varset (words,), in place."""
    varset[member // WORD_BITS] |= np.uint64(1 << member % WORD_BITS)


def unpack(varset: NDArray[np.uint64]) -> tuple[int, ...]:
    """The members of one varset, ascending."""
    bits = np.unpackbits(np.ascontiguousarray(varset, "<u8").view(np.uint8), bitorder="little")
    return tuple(np.flatnonzero(bits).tolist())


def members(varset: int) -> Iterator[int]:
    """The members of a varset that is a whole number, ascending."""
    while varset:
        yield (varset & -varset).bit_length() - 1
        varset &= varset - 1


def unpacked(varsets: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The members of varsets (m, words): how many each has (m,), and one varset's after the other's, ascending.

    O(m words + members). Memory: 64 bytes per word that is not zero.
    """
    return sizes(varsets), _rows_and_members(varsets)[1]


def _rows_and_members(varsets: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The members of varsets (m, words), ascending, with the row of each."""
    at, word = np.nonzero(varsets)  # the members of wide varsets lie in few words
    bytes_of_words = varsets[at, word, None].astype("<u8", copy=False).view(np.uint8)
    which, bit = np.nonzero(np.unpackbits(bytes_of_words, axis=1, bitorder="little"))
    return at[which], WORD_BITS * word[which] + bit


def gathered(rows: NDArray[np.int64], members: NDArray, count: int, variables: int) -> NDArray[np.uint64]:
    """So many varsets (count, words(variables)): members[i] is one of the varset rows[i]."""
    varsets = np.zeros((count, words(variables)), np.uint64)
    np.bitwise_or.at(varsets, (rows, members // WORD_BITS), np.uint64(1) << (members % WORD_BITS).astype(np.uint64))
    return varsets


def sizes(varsets: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Number of members of each varset; (m, words) -> (m,)."""
    return np.bitwise_count(varsets).sum(axis=-1, dtype=np.int64)


def renumber(varsets: NDArray[np.uint64], new: NDArray[np.int64], variables: int) -> NDArray[np.uint64]:
    """The varsets (m, words) with member v called new[v], or left out where that is -1, over `variables` variables.

    O(m words + members). Memory: 64 bytes per word that is not zero, of ROWS varsets.
    """
    renumbered = np.empty((varsets.shape[0], words(variables)), dtype=np.uint64)
    for begin in range(0, varsets.shape[0], ROWS):
        some = varsets[begin : begin + ROWS]
        row, member = _rows_and_members(some)
        stays = new[member] >= 0
        renumbered[begin : begin + ROWS] = gathered(row[stays], new[member[stays]], some.shape[0], variables)
    return renumbered
