"""What the best network over a varset costs, for every varset that a network within the limit can have begun with.

The layered search leaves it: g of each node. It is a perfect heuristic for whoever takes the variables away again, the
last ones first.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, njit

ENTRY_BYTES = 16
LOAD = 0.6  # of the slots, at most, that are taken
NOBODY = np.uint64(2**64 - 1)  # the key of a free slot; the varset of all 64 variables is asked for by nobody


class Rest(NamedTuple):
    """A hash table: keys (s,) uint64 varsets or NOBODY, values (s,) float64 in nats; s is a power of two."""

    keys: NDArray[np.uint64]
    values: NDArray[np.float64]


def rest_bytes(nodes: int) -> int:
    """Memory of a table of so many varsets."""
    return ENTRY_BYTES * _slots(nodes)


def _slots(nodes: int) -> int:
    return 1 << max(3, int(nodes / LOAD)).bit_length()


def rest_of(columns: Iterable[tuple[NDArray[np.uint64], NDArray[np.float64]]], nodes: int) -> Rest:
    """The table of varsets and costs, given in pieces, of so many in all. Some ten to hundred ns each."""
    slots = _slots(nodes)
    rest = Rest(np.full(slots, NOBODY), np.full(slots, np.inf))
    for varsets, costs in columns:
        _insert(varsets, costs, rest)
    return rest


@inlined
def _slot(varset, mask):
    """The first slot of a varset. (Steele, Lea, Flood 2014: the last steps of splitmix64.)"""
    key = (varset ^ (varset >> u64(30))) * u64(0xBF58476D1CE4E5B9)
    return np.int64((key ^ (key >> u64(27))) & mask)


@njit
def _insert(varsets, costs, rest):
    varsets, costs, rest = borrowed((varsets, costs, rest))
    mask = u64(rest.keys.size - 1)
    for i in range(varsets.size):
        at = _slot(varsets[i], mask)
        while rest.keys[at] != NOBODY:
            at = (at + 1) & np.int64(mask)
        rest.keys[at] = varsets[i]
        rest.values[at] = costs[i]


@inlined
def rest_cost(varset, rest):
    """What the best network over a varset costs; infinity if it is not in the table."""
    mask = u64(rest.keys.size - 1)
    at = _slot(varset, mask)
    while rest.keys[at] != varset and rest.keys[at] != NOBODY:
        at = (at + 1) & np.int64(mask)
    return rest.values[at]
