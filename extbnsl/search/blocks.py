"""Blocks: how the targets of a layer are divided into tasks.

A target is a partition of the next layer, named by its high part. A block is the targets whose high parts share all
but their `free` lowest bits. Their successors come from the sources with the same shared bits, or with one of these
missing: a few ranges of the current layer. So a task reads little more than what it expands, and blocks in increasing
order emit the next layer sorted.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inner, njit


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
def _fences(highs, lo, hi):
    """The last fence that is not above `lo` (or the first of all), and the first that is not below `hi`."""
    below, above = 0, highs.size - 1
    while below < above:  # the first fence beyond lo
        middle = (below + above) >> 1
        if highs[middle] <= lo:
            below = middle + 1
        else:
            above = middle
    before = max(0, below - 1)
    above = highs.size - 1
    while below < above:
        middle = (below + above) >> 1
        if highs[middle] < hi:
            below = middle + 1
        else:
            above = middle
    return before, below


@inner
def _sources_weight(highs, weights, first, free):
    """What the sources of a block weigh: at most, and about."""
    size = u64(1) << u64(free)
    most = weights[0] * 0
    about = most
    rest = (first >> u64(free)) << u64(free)
    missing = u64(0)  # at first no bit: the block's own high parts
    while True:
        lo = first ^ missing
        before, after = _fences(highs, lo, lo + size)
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
