"""The targets that the nodes of a layer lead to, by the leaf that they gain, and how they are divided into tasks:
blocks.

A target is a partition of the next layer, named by its high part. A block is the targets whose high parts share all
but their `free` lowest bits. Their successors come from the sources with the same shared bits, or with one of these
missing: a few ranges of the current layer. So a task reads little more than what it expands, and blocks in increasing
order emit the next layer sorted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import popcount, u64
from extbnsl.kernels.compiler import borrowed, inner, njit


class Streams(NamedTuple):
    """What the targets of a block are merged from: partitions at[s]:ends[s] (int64), with bits[s] (uint64) added where
    it is missing, by the variables of the varset leaves[s] (uint64). `at` moves on."""

    at: NDArray[np.int64]
    ends: NDArray[np.int64]
    bits: NDArray[np.uint64]
    leaves: NDArray[np.uint64]


class Targets(NamedTuple):
    """Targets highs (k,) uint64, ascending, and where the successors in each of them come from: those in target t from
    partitions[i] (int64) by the variables in leaves[i] (uint64), first[t] <= i < first[t + 1], first (k + 1,) int64."""

    highs: NDArray[np.uint64]
    first: NDArray[np.int64]
    partitions: NDArray[np.int64]
    leaves: NDArray[np.uint64]


@njit
def group_by_leaf(starts, successors):
    """The nodes of each partition sorted by the one leaf that is enough, those that need several last.

    successors (m,) uint8: the number of each node's set, see `ancestral`. Returns free (p,) int64, where the nodes that
    need several begin in each partition, and order (m,) uint32. A target then reads only nodes that have a successor
    in it.
    """
    free = np.empty(starts.size - 1, np.int64)
    order = np.empty(successors.size, np.uint32)
    at = np.empty(65, np.int64)
    for p in range(starts.size - 1):
        at[:] = 0
        for i in range(starts[p], starts[p + 1]):
            at[min(successors[i], 64)] += 1
        position = starts[p]
        for leaf in range(65):
            at[leaf], position = position, position + at[leaf]
        free[p] = at[64]
        for i in range(starts[p], starts[p + 1]):
            leaf = min(successors[i], 64)
            order[at[leaf]] = i
            at[leaf] += 1
    return free, order


@inner
def first_of_number(order, successors, lo, hi, leaf):
    """The first position in lo..hi whose node needs `leaf` alone, or a later one."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if successors[order[middle]] < leaf:
            lo = middle + 1
        else:
            hi = middle
    return lo


@inner
def _without(at, end, highs, bit):
    """The first position from `at` on, below `end`, whose high part lacks the bit; or `end`."""
    while at < end and highs[at] & bit:
        at += 1
    return at


@njit
def next_targets(streams, sources, low_bits, size, room, found):
    """The next targets of a block, ascending, and where the successors in each of them come from.

    A target draws on the partition of the same high part, by any low variable, and on those without one of its high
    bits, by that variable. So the targets are a merge of streams of the partitions of `sources`. The successors have
    `size` variables.

    Fills `found`, and stops when it is full, or the targets can get `room` nodes together: the streams begin where to
    go on. Returns the number of targets and how many nodes they can get at most.
    """
    streams, sources, found = borrowed((streams, sources, found))
    at, ends, bits, leaf = streams.at, streams.ends, streams.bits, streams.leaves
    highs, starts = sources.nodes.highs, sources.nodes.starts
    targets, first, partition, leaves = found.highs, found.first, found.partitions, found.leaves
    most = np.zeros(size + 1, np.int64)  # most[k]: low parts of k variables
    most[0] = 1
    for k in range(1, min(low_bits, size) + 1):
        most[k] = most[k - 1] * (low_bits - k + 1) // k
    none = ~u64(0)
    heads = np.empty(at.size, np.uint64)
    for s in range(at.size):
        at[s] = _without(at[s], ends[s], highs, bits[s])
        heads[s] = highs[at[s]] | bits[s] if at[s] < ends[s] else none
    count, filled, rooms = 0, 0, 0
    while count < targets.size and rooms < room:
        target = none
        for s in range(heads.size):
            target = heads[s] if heads[s] < target else target
        if target == none:
            break
        targets[count], first[count] = target, filled
        nodes = 0
        for s in range(heads.size):
            if heads[s] == target:
                here = at[s]
                partition[filled], leaves[filled] = here, leaf[s]
                filled += 1
                nodes += (starts[here + 1] - starts[here]) * (1 if bits[s] else low_bits)
                at[s] = _without(here + 1, ends[s], highs, bits[s])
                heads[s] = highs[at[s]] | bits[s] if at[s] < ends[s] else none
        rooms += min(nodes, most[size - np.int64(popcount(target))])
        count += 1
    first[count] = filled
    return count, rooms


@dataclass(frozen=True)
class Block:
    """The targets first .. first + 2^free - 1; `first` is a multiple of 2^free."""

    first: int
    free: int

    @property
    def end(self) -> int:
        """The first high part beyond the block."""
        return self.first + (1 << self.free)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """The ranges [lo, hi) of high parts that its sources have, ascending."""
        for bit in reversed(range(self.free, self.first.bit_length())):
            if self.first >> bit & 1:
                lo = self.first ^ 1 << bit
                yield lo, lo + (1 << self.free)
        yield self.first, self.end


@inner
def _sources_weight(highs, weights, first, free):
    """What the sources of a block weigh: at most, and about."""
    size, last = u64(1) << u64(free), highs.size - 1
    most = weights[0] * 0
    about = most
    rest = (first >> u64(free)) << u64(free)
    missing = u64(0)  # at first no bit: the block's own high parts
    while True:
        lo = first ^ missing
        before = max(0, min(np.searchsorted(highs, lo, side="right"), last) - 1)  # the last fence that is not above
        after = min(np.searchsorted(highs, lo + size), last)
        if highs[before] < lo + size and lo < highs[-1]:
            most += weights[after] - weights[before]
            about += weights[max(before, after - 1)] - weights[before]
        if not rest:
            return most, about
        missing = rest & (~rest + u64(1))
        rest ^= missing


@njit
def _plan(highs, weights, high_bits, position, most):
    """Blocks that cover the targets from `position` on, each with sources of at most `most` if that can be."""
    found_first = [u64(0) for _ in range(0)]
    found_free = [0 for _ in range(0)]
    waiting_first = [u64(0)]
    waiting_free = [high_bits]
    while len(waiting_first):
        first = waiting_first.pop()
        free = waiting_free.pop()
        if first + ((u64(1) << u64(free)) - u64(1)) < position:
            continue
        at_most, about = _sources_weight(highs, weights, first, free)
        if at_most == 0:
            continue
        if free == 0 or (about <= most and first >= position):
            found_first.append(first)
            found_free.append(free)
        else:
            waiting_first.append(first | (u64(1) << u64(free - 1)))
            waiting_free.append(free - 1)
            waiting_first.append(first)
            waiting_free.append(free - 1)
    return np.array(found_first), np.array(found_free)


def plan(
    fence_highs: NDArray[np.uint64], weights: NDArray[np.int64], high_bits: int, position: int, most: int
) -> list[Block]:
    """Blocks of the targets from high part `position` on, ascending.

    weights[i] is the weight of the layer's nodes below fence_highs[i]; the sources of a block weigh about `most` or
    less, unless it is a single target. Targets without sources are left out.
    """
    firsts, frees = _plan(fence_highs, weights, high_bits, u64(position), most)
    return [Block(int(first), int(free)) for first, free in zip(firsts, frees, strict=True)]
