"""Markov equivalence classes of many networks.

Two networks are equivalent if they have the same skeleton and the same v-structures: parents of a child that are not
adjacent (Verma and Pearl 1990). Both are sets, so a sum of hashes of their members tells them apart: two sums of 64
bits. That two of a million classes have the same sums by chance has a probability of 1e-27.
"""

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inlined, njit
from extbnsl.machine.workers import unhalted


def class_keys(parents: NDArray[np.uint64], halt: NDArray[np.uint8] | None = None) -> NDArray[np.uint64]:
    """A key (m, 2) uint64 of the class of each of m networks, given the parents of each child (m, n, words). halt: when
    it is set this ends early, with an answer that is good for nothing. Time: some ns per pair of variables, and of
    parents of a child."""
    keys = np.zeros((parents.shape[0], 2), np.uint64)
    _fill_keys(np.ascontiguousarray(parents), keys, unhalted() if halt is None else halt)
    return keys


def numbered(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Numbers (m,) from 0 on in the order in which the keys (m, 2) come first."""
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    place = np.empty(first.size, np.int64)
    place[np.argsort(first, kind="stable")] = np.arange(first.size)
    return place[number.ravel()]


@inlined
def _hash(key):
    """A 64-bit hash. (Steele, Lea, Flood 2014: splitmix64.)"""
    key = key + u64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> u64(30))) * u64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> u64(27))) * u64(0x94D049BB133111EB)
    return key ^ (key >> u64(31))


@inlined
def _add(code, keys, i):
    """Add what tells a member of the sets to key i."""
    one = _hash(code)
    keys[i, 0] += one
    keys[i, 1] += _hash(one)


@inlined
def _has(parents, i, child, v):
    """Whether v is a parent of the child in network i."""
    return (parents[i, child, v >> 6] >> u64(v & 63)) & u64(1) != u64(0)


@njit
def _fill_keys(parents, keys, halt):
    n = u64(parents.shape[1])
    own = np.empty(parents.shape[1], np.int64)
    for i in range(parents.shape[0]):
        if halt[0]:
            break
        for child in range(parents.shape[1]):
            count = 0
            for v in range(parents.shape[1]):
                if _has(parents, i, child, v):
                    own[count] = v
                    count += 1
                    _add(n * u64(min(v, child)) + u64(max(v, child)), keys, i)
            for a in range(count):
                for b in range(a + 1, count):
                    if not _has(parents, i, own[a], own[b]) and not _has(parents, i, own[b], own[a]):
                        _add(n * (n * (u64(child) + u64(1)) + u64(own[a])) + u64(own[b]), keys, i)
