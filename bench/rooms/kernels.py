"""What all kernels are made of, in loops of the benchmarks' own: it has no way in from Python."""

import numpy as np

from bench.work import Benchmark, Work
from extbnsl.kernels.bits import highest, lowest, popcount, u64
from extbnsl.kernels.compiler import njit
from extbnsl.kernels.random import new_state, random_below, random_share
from extbnsl.kernels.ranks import binomial_table, go_to, place_of, rank_swapped, rank_without, start_walk


@njit
def _members(count):
    """Go through the members of so many varsets."""
    total, varset = u64(0), u64(0x9E3779B97F4A7C15)
    for _ in range(count):
        varset = varset * u64(6364136223846793005) + u64(1442695040888963407)
        rest = varset
        total += popcount(rest) + highest(rest)
        while rest:
            total += lowest(rest)
            rest &= rest - u64(1)
    return total


@njit
def _walk(size, ranks, binomials, places):
    """Go to so many ranks, and look up a neighbour of each by the loss of a member and one by its exchange."""
    walk = start_walk(size, binomials)
    total = u64(0)
    for rank in range(ranks):
        go_to(rank, walk, binomials)
        total += place_of(rank_without(rank % size, walk), places)
        if walk.members[0] > 0:
            total += u64(rank_swapped(size - 1, 0, 0, walk, binomials))
    return total


@njit
def _draw(count):
    """Draw so many whole numbers and shares."""
    state, total = new_state(1), 0.0
    for k in range(count):
        total += random_below(state, k + 1) * random_share(state)
    return total


def _bits(tiny: bool) -> Work:
    count = 1 << (8 if tiny else 18)
    return Work(_members, [(count,)], 32 * count)


def _ranks(tiny: bool) -> Work:
    n, size = 30, 5
    binomials = binomial_table(n, size)
    ranks = 1000 if tiny else int(binomials[n, size])
    blocks = np.arange(-(-int(binomials[n, size - 1]) // 64), dtype=np.uint64)
    places = np.stack((np.full(blocks.size, 2**64 - 1, np.uint64), 64 * blocks), axis=1)
    return Work(_walk, [(size, ranks, binomials, places)] * (1 if tiny else 10), ranks * (1 if tiny else 10))


def _random(tiny: bool) -> Work:
    count = 1000 if tiny else 1 << 23
    return Work(_draw, [(count,)], count)


BENCHMARKS = (
    Benchmark("kernels.bits", "member", _bits),
    Benchmark("kernels.ranks", "varset", _ranks),
    Benchmark("kernels.random", "pair of numbers", _random),
)
