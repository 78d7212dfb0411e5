"""Varsets of one size by colexicographic rank: walks from one to another, and which of them are present.

The varset {p_0 < p_1 < ...} has the rank C(p_0, 1) + C(p_1, 2) + ..., its place in numeric order. So the varsets that
share their members from p_j up have neighbouring ranks, and a walk in rank order changes the low members mostly.

Present varsets are told by `places` (b, 2) uint64, a block for 64 ranks: places[i, 0] has a bit for each of the ranks
64 i ... 64 i + 63 that is present, places[i, 1] says how many are present in the blocks before. The entries of a column
over the present varsets follow their ranks. (Jacobson 1989, Succinct static data structures: rank on a bit vector.)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import highest, lowest, popcount, u64
from extbnsl.kernels.compiler import inlined, inner

BLOCK = 64  # ranks


class Walk(NamedTuple):
    """A walk over the varsets of some size of n variables, all (size + 1,) int64.

    members: ascending, and n behind them. same[j], up[j], down[j]: sums over i >= j of C(p_i, i + 1), C(p_i, i + 2),
    C(p_i, i); same[0] is the rank.
    """

    members: NDArray[np.int64]
    same: NDArray[np.int64]
    up: NDArray[np.int64]
    down: NDArray[np.int64]


def binomial_table(n: int, most: int | None = None) -> NDArray[np.int64]:
    """C(i, j) for i <= n, j <= most + 2, for walks over varsets of at most `most` variables (None: of any number).

    Those beyond 2^62 are capped, no rank ever uses them.
    """
    table = np.zeros((n + 1, (n if most is None else most) + 3), dtype=np.int64)
    table[:, 0] = 1
    for i in range(1, n + 1):
        lower, same = table[i - 1, :-1], table[i - 1, 1:]
        table[i, 1:] = lower + np.minimum(same, (1 << 62) - lower)
    return table


def rank_of(members: NDArray[np.int64], binomials: NDArray[np.int64]) -> int:
    """The rank of the varset of these members, ascending."""
    return int(binomials[members, np.arange(1, members.size + 1)].sum())


@inlined
def start_walk(size, binomials):
    """The walk over the varsets of `size` of n variables, at rank 0."""
    members = np.arange(size + 1)
    members[size] = binomials.shape[0] - 1
    down = size - np.arange(size + 1)
    return Walk(members, np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64), down)


@inlined
def go_to(rank, walk, binomials):
    """Let the walk be at `rank`: O(1) for a neighbour on average, O(n) at worst."""
    members, same, up, down = walk.members, walk.same, walk.up, walk.down
    j = 0
    while rank < same[j] or rank - same[j] >= binomials[members[j], j]:
        j += 1
    rest = rank - same[j]
    for k in range(j - 1, -1, -1):
        v = members[k] if k else rest  # C(v, 1) = v
        while binomials[v, k + 1] > rest:
            v -= 1
        while binomials[v + 1, k + 1] <= rest:
            v += 1
        members[k] = v
        rest -= binomials[v, k + 1]
        same[k] = same[k + 1] + binomials[v, k + 1]
        up[k] = up[k + 1] + binomials[v, k + 2]
        down[k] = down[k + 1] + binomials[v, k]


@inlined
def rank_without(k, walk):
    """Rank of the walk's varset without its k-th member."""
    same, down = walk.same, walk.down
    return same[0] - same[k] + down[k + 1]


@inlined
def rank_with(x, j, walk, binomials):
    """Rank of the walk's varset with x, which comes before its j-th member."""
    same, up = walk.same, walk.up
    return same[0] - same[j] + binomials[x, j + 1] + up[j]


@inlined
def rank_swapped(k, x, j, walk, binomials):
    """Rank of the walk's varset without its k-th member and with x, which comes before its j-th."""
    same, up, down = walk.same, walk.up, walk.down
    if k >= j:
        return same[0] - same[j] + binomials[x, j + 1] + up[j] - up[k] + same[k + 1]
    return same[0] - same[k] + down[k + 1] - down[j] + binomials[x, j] + same[j]


@inlined
def is_present(rank, places):
    """Whether the varset of this rank is present."""
    return (places[u64(rank) >> u64(6), 0] >> (u64(rank) & u64(63))) & u64(1) != u64(0)


@inlined
def place_of(rank, places):
    """Where the entry of the varset of this rank is; it is present."""
    block = u64(rank) >> u64(6)
    before = places[block, 0] & ((u64(1) << (u64(rank) & u64(63))) - u64(1))
    return places[block, 1] + popcount(before)


@inner
def find_place(place, places):
    """The block with the entry at `place`, and the bits of its ranks before that one."""
    lo, hi = np.int64(0), places.shape[0]
    while hi - lo > 1:
        middle = (lo + hi) // 2
        if places[middle, 1] <= u64(place):
            lo = middle
        else:
            hi = middle
    rest = places[lo, 0]
    for _ in range(u64(place) - places[lo, 1]):
        rest &= rest - u64(1)
    return lo, places[lo, 0] & ~rest


@inlined
def next_present(block, left, places):
    """The first present rank of a block's bits `left` or of the blocks after: (block, bits left after it, rank)."""
    while left == 0:
        block += 1
        left = places[block, 0]
    rank = (block << 6) + np.int64(lowest(left))
    return block, left & (left - u64(1)), rank


@inlined
def last_present(block, left, places):
    """The last present rank of a block's bits `left` or of the blocks before: (block, bits left before it, rank)."""
    while left == 0:
        block -= 1
        left = places[block, 0]
    high = highest(left)
    return block, left & ~(u64(1) << high), (block << 6) + np.int64(high)
