"""Which families the k best networks may need: Theorem 3 of Chen, Darwiche and Choi 2018, of any score that is a sum.

A network with the family X U becomes cheaper with a cheaper subset of U, and stays acyclic. We let subsets of the same
cost count too: in the order of limits.py, by cost and then by arcs, these networks come before it. So a family is not
needed if k of the child's families before it in score order are subsets of it; with k = 1 it is what `undominated` of
parents/pruning.py says. It is enough to count families that are needed: before one that is not there are k that are,
and they are subsets of whatever it is a subset of.
"""

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import popcount, u64
from extbnsl.kernels.compiler import inner, njit
from extbnsl.machine.workers import unhalted
from extbnsl.parents.best_score import as_bytes
from extbnsl.scores.local import LocalScores


def needed_families(
    parents: NDArray[np.uint64], costs: NDArray[np.float64], k: int, halt: NDArray[np.uint8] | None = None
) -> NDArray[np.bool_]:
    """Of one child's families in score order, (m, words) and (m,), those with less than k subsets before them.

    Theorem 3. The list need not have all families of the child. O(m d / 64) at worst with d families that are needed;
    memory: 32 bytes for each of these and each byte of a varset in which there are parents. halt: when it is set this
    ends early, with an answer that is good for nothing.
    """
    if costs.size == 0:
        return np.zeros(0, np.bool_)
    columns = as_bytes(parents)
    used = np.flatnonzero(columns.any(axis=0))
    used = used if used.size else np.zeros(1, np.int64)  # a byte without parents keeps nobody out
    bits = np.zeros((-(-costs.size // 64), used.size, 256), np.uint64)  # what is never written takes no memory
    halt = unhalted() if halt is None else halt
    return _with_few_subsets(np.ascontiguousarray(columns[:, used]), k, bits, halt)


def needed_scores(scores: LocalScores, k: int, halt: NDArray[np.uint8] | None = None) -> LocalScores:
    """The local scores without the families that the k best networks do not need: Theorem 3. halt: as in
    `needed_families`."""
    return scores.only(needed_families(p, c, k, halt) for p, c in zip(scores.parents, scores.costs, strict=True))


@njit
def _with_few_subsets(columns, k, bits, halt):
    """Which rows of columns (m, b) uint8 have less than k subsets among the rows before them that are such rows.

    bits (m / 64, b, 256) uint64, zero: gets a bitset of these rows for each byte and each of its values, of those that
    have no member outside the value. Ends early when halt[0] is set.
    """
    few = np.zeros(columns.shape[0], np.bool_)
    kept = 0
    for i in range(columns.shape[0]):
        if halt[0]:
            break
        subsets = 0
        for word in range((kept + 63) >> 6):
            inside = ~u64(0)
            for b in range(columns.shape[1]):
                inside &= bits[word, b, columns[i, b]]
            subsets += np.int64(popcount(inside))
            if subsets >= k:
                break
        if subsets < k:
            few[i] = True
            for b in range(columns.shape[1]):
                _add_to_supersets(bits[kept >> 6, b], columns[i, b], u64(1) << u64(kept & 63))
            kept += 1
    return few


@inner
def _add_to_supersets(bits, value, bit):
    """Set a bit for each value of a byte, bits (256,), that has all members of `value`."""
    outside = np.int64(255 - value)
    more = outside
    while True:
        bits[255 - outside + more] |= bit
        if more == 0:
            return
        more = (more - 1) & outside
