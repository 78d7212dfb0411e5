"""Walks over the varsets of one size and the places of those that are present, against integers as bitmasks."""

import itertools
from math import comb

import numpy as np
import pytest
from calling import called
from cases import places_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extbnsl.kernels.ranks import (
    binomial_table,
    find_place,
    go_to,
    is_present,
    last_present,
    next_present,
    place_of,
    rank_swapped,
    rank_with,
    rank_without,
    start_walk,
)

KERNELS = (go_to, is_present, last_present, next_present, place_of, rank_swapped, rank_with, rank_without, start_walk)
go_to, is_present, last_present, next_present, place_of, rank_swapped, rank_with, rank_without, start_walk = map(
    called, KERNELS
)
find_place = called(find_place)

SETTINGS = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))


def rank_of(members):
    return sum(comb(p, i + 1) for i, p in enumerate(sorted(members)))


def walks(n):
    """Sizes of varsets of n variables whose ranks are small enough."""
    return st.sampled_from([s for s in range(n + 1) if comb(n, s) < 1 << 60])


@pytest.mark.slow
@SETTINGS
@given(st.sampled_from([1, 2, 5, 9, 63, 64, 65, 127, 128, 129, 200]), st.data())
def test_a_walk_goes_from_any_rank_to_any(n, data):
    size, binomials = data.draw(walks(n)), binomial_table(n)
    walk = start_walk(size, binomials)
    assert walk[0][:size].tolist() == list(range(size))
    ranks = st.integers(0, comb(n, size) - 1)
    for begin in data.draw(st.lists(ranks, max_size=10)):
        for rank in (begin, min(begin + 1, comb(n, size) - 1), begin, max(begin - 1, 0)):
            go_to(rank, walk, binomials)
            members = walk[0][:size].tolist()
            assert members == sorted(set(members))
            assert rank_of(members) == walk[1][0] == rank
            if size + 2 <= n and comb(n, size + 2) < 1 << 60:
                for row, step in enumerate((1, 2, 0), 1):
                    assert walk[row].tolist() == [
                        sum(comb(p, i + step) for i, p in enumerate(members) if i >= j) for j in range(size + 1)
                    ]


@pytest.mark.parametrize("n", [1, 4, 9])
def test_a_walk_along_a_level_is_in_numeric_order(n):
    binomials = binomial_table(n)
    for size in range(n + 1):
        varsets = sorted(sum(1 << v for v in chosen) for chosen in itertools.combinations(range(n), size))
        walk = start_walk(size, binomials)
        for order in (1, -1):
            for rank, varset in list(enumerate(varsets))[::order]:
                go_to(rank, walk, binomials)
                assert sum(1 << int(v) for v in walk[0][:size]) == varset


@pytest.mark.slow
@SETTINGS
@given(st.sampled_from([3, 9, 64, 65, 129]), st.integers(0, 2**32))
def test_ranks_of_neighbours(n, seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, min(n - 1, 6)))
    members = sorted(rng.choice(n, size, replace=False).tolist())
    binomials = binomial_table(n)
    walk = start_walk(size, binomials)
    go_to(rank_of(members), walk, binomials)
    x = int(rng.choice(sorted(set(range(n)) - set(members))))
    j = sum(p < x for p in members)
    assert rank_with(x, j, walk, binomials) == rank_of([*members, x])
    for k in range(size):
        left = members[:k] + members[k + 1 :]
        assert rank_without(k, walk) == rank_of(left)
        assert rank_swapped(k, x, j, walk, binomials) == rank_of([*left, x])


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 700), st.sampled_from([0.002, 0.1, 0.9, 1.0]))
def test_places(seed, total, density):
    rng = np.random.default_rng(seed)
    present = rng.random(total) < density
    present[rng.integers(total)] = True
    places, ranks = places_of(present), np.flatnonzero(present).tolist()
    assert [rank for rank in range(total) if is_present(rank, places)] == ranks
    assert [place_of(rank, places) for rank in ranks] == list(range(len(ranks)))
    for place, rank in enumerate(ranks):
        block, bits = find_place(place, places)
        assert (block, int(bits)) == (rank // 64, sum(1 << r % 64 for r in ranks[:place] if r // 64 == rank // 64))
    block, left = 0, places[0, 0]
    for rank in ranks:
        block, left, found = next_present(block, np.uint64(left), places)
        assert found == rank
    block, left = len(places) - 1, places[-1, 0]
    for rank in ranks[::-1]:
        block, left, found = last_present(block, np.uint64(left), places)
        assert found == rank


def test_binomials():
    table = binomial_table(64)
    for i in (0, 1, 5, 30, 64):
        for j in range(66):
            assert table[i, j] == min(comb(i, j), 1 << 62)
