"""Bitmask algebra on varsets: sets of variables as rows of 64-bit words.

A varset over n variables is a row of `words(n)` uint64; bit i % 64 of word i // 64 stands for variable i.
Inside a search (at most 64 variables) a varset is a single uint64 and numeric order is colexicographic order.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

WORD_BITS = 64


def words(variables: int) -> int:
    """Number of 64-bit words of a varset over `variables` variables, at least one."""
    return max(1, -(-variables // WORD_BITS))


def pack(members: Iterable[int], variables: int) -> NDArray[np.uint64]:
    """The varset of `members`, shape (words(variables),)."""
    row = np.zeros(words(variables), dtype=np.uint64)
    for i in members:
        row[i // WORD_BITS] |= np.uint64(1 << (i % WORD_BITS))
    return row


def unpack(varset: NDArray[np.uint64]) -> tuple[int, ...]:
    """The members of one varset, ascending."""
    return tuple(WORD_BITS * w + b for w, word in enumerate(varset.tolist()) for b in range(WORD_BITS) if word >> b & 1)


def sizes(varsets: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Number of members of each varset; (m, words) -> (m,)."""
    return np.bitwise_count(varsets).sum(axis=-1, dtype=np.int64)


def renumber(varsets: NDArray[np.uint64], new: NDArray[np.int64], variables: int) -> NDArray[np.uint64]:
    """The varsets (m, words) with member v called new[v], or left out where that is -1, over `variables` variables."""
    renumbered = np.zeros((varsets.shape[0], words(variables)), dtype=np.uint64)
    for v in unpack(np.bitwise_or.reduce(varsets, axis=0)):
        target = int(new[v])
        if target >= 0:
            has = (varsets[:, v // WORD_BITS] >> np.uint64(v % WORD_BITS)) & np.uint64(1)
            renumbered[:, target // WORD_BITS] |= has << np.uint64(target % WORD_BITS)
    return renumbered
