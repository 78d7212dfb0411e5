"""Counting: sums of m ln m over the joint states of varsets, against numpy.unique on the records themselves."""

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extbnsl.data import distinct_rows
from extbnsl.parents.enumerate import binomial_table
from extbnsl.scores.counting import count, counting_table, predecessor, scratch_bytes, unrank

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
UNTOUCHED = -77.0


def colexicographic(n, size):
    """All varsets of `size` of n variables as integers, in numeric order."""
    return sorted(sum(1 << v for v in chosen) for chosen in itertools.combinations(range(n), size))


def naive_sum(rows, weights, varset):
    """Sum of m ln m over the joint states of a varset."""
    members = [v for v in range(rows.shape[1]) if varset >> v & 1]
    _, cell = np.unique(rows[:, members], axis=0, return_inverse=True)
    m = np.bincount(cell.ravel(), weights=weights)
    return float((m * np.log(m)).sum())


def random_rows(rng, arities, records, heaviest=1):
    """Distinct rows and weights; the rows often repeat in part, as real data do."""
    codes = np.stack([rng.integers(0, r, records) for r in arities], axis=1).astype(np.uint16)
    if rng.random() < 0.5:
        codes[:, -1] = codes[:, 0] % arities[-1]
    rows, weights = distinct_rows(codes)
    return rows, weights * rng.integers(1, heaviest + 1, weights.size)


def counted(rows, weights, arities, size, first, last, needed, offset):
    n = len(arities)
    table = counting_table(rows, weights, np.array(arities, dtype=np.int64))
    out = np.full(needed.size, UNTOUCHED)
    number = count(size, first, last, needed, out, offset, binomial_table(n), table.arrays())
    return out, number


@SETTINGS
@given(
    seed=st.integers(0, 2**32),
    arities=st.lists(st.integers(2, 12), min_size=1, max_size=6).map(sorted),
    records=st.sampled_from([1, 2, 5, 30, 200]),
    heaviest=st.sampled_from([1, 3, 1000]),
)
def test_all_varsets(seed, arities, records, heaviest):
    rows, weights = random_rows(np.random.default_rng(seed), arities, records, heaviest)
    n = len(arities)
    for size in range(1, n + 1):
        total = comb(n, size)
        out, number = counted(rows, weights, arities, size, 0, total, np.ones(total, np.uint8), 0)
        expected = [naive_sum(rows, weights, v) for v in colexicographic(n, size)]
        np.testing.assert_allclose(out, expected, rtol=1e-11, atol=1e-9)
        assert number == total


@SETTINGS
@given(
    seed=st.integers(0, 2**32),
    arities=st.lists(st.integers(2, 5), min_size=3, max_size=9).map(sorted),
    data=st.data(),
)
def test_some_varsets_of_a_range(seed, arities, data):
    rng = np.random.default_rng(seed)
    n = len(arities)
    rows, weights = random_rows(rng, arities, 40)
    size = data.draw(st.integers(1, n))
    total = comb(n, size)
    first = data.draw(st.integers(0, total - 1))
    last = data.draw(st.integers(first + 1, total))
    offset = data.draw(st.integers(0, first))
    needed = (rng.random(last - offset) < data.draw(st.sampled_from([0.05, 0.5, 1.0]))).astype(np.uint8)
    out, number = counted(rows, weights, arities, size, first, last, needed, offset)
    varsets = colexicographic(n, size)
    for rank in range(offset, last):
        if rank >= first and needed[rank - offset]:
            expected = naive_sum(rows, weights, varsets[rank])
            assert out[rank - offset] == pytest.approx(expected, rel=1e-11, abs=1e-9)
        else:
            assert out[rank - offset] == UNTOUCHED
    assert number == needed[first - offset :].sum()


@pytest.mark.parametrize("arities", [[2] * 10, [3] * 7, [2, 2, 2, 3, 3, 12], [4, 5, 300]])
@pytest.mark.parametrize("weight", [1, 400_000 // 50])
def test_many_records(arities, weight):
    rng = np.random.default_rng(3)
    rows, weights = random_rows(rng, arities, 50)
    for size in range(1, len(arities) + 1):
        total = comb(len(arities), size)
        out, _ = counted(rows, weights * weight, arities, size, 0, total, np.ones(total, np.uint8), 0)
        expected = [naive_sum(rows, weights * weight, v) for v in colexicographic(len(arities), size)]
        np.testing.assert_allclose(out, expected, rtol=1e-11, atol=1e-9)


def test_sixty_four_variables():
    rng = np.random.default_rng(4)
    arities = [2] * 40 + [3] * 20 + [4] * 4
    rows, weights = random_rows(rng, arities, 60)
    varsets = colexicographic(64, 2)
    out, _ = counted(rows, weights, arities, 2, 0, len(varsets), np.ones(len(varsets), np.uint8), 0)
    np.testing.assert_allclose(out, [naive_sum(rows, weights, v) for v in varsets], rtol=1e-11, atol=1e-9)
    last = comb(64, 63)
    out, _ = counted(rows, weights, arities, 63, last - 1, last, np.ones(1, np.uint8), last - 1)
    assert out[0] == pytest.approx(naive_sum(rows, weights, (1 << 64) - 2), abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_unrank_and_predecessor_walk_the_level(n):
    binomials = binomial_table(n)
    everything = np.uint64((1 << n) - 1)
    for size in range(1, n + 1):
        varsets = colexicographic(n, size)
        assert [int(unrank(rank, size, binomials)) for rank in range(len(varsets))] == varsets
        for smaller, larger in itertools.pairwise(varsets):
            assert int(predecessor(np.uint64(larger), everything)) == smaller


def test_unrank_of_no_members():
    assert int(unrank(0, 0, binomial_table(5))) == 0


def test_binomials():
    table = binomial_table(64)
    for i in (0, 1, 5, 30, 64):
        for j in range(66):
            assert table[i, j] == min(comb(i, j), 1 << 62)


def test_scratch_is_about_what_is_allocated():
    rows, weights = random_rows(np.random.default_rng(1), [2, 3, 4, 5], 100)
    table = counting_table(rows, weights, np.array([2, 3, 4, 5]))
    d = rows.shape[0]
    # nodes of three columns of 4 bytes, the cells' numbers, and slot, histogram and lanes per cell and state
    assert scratch_bytes(table, 4) == d * (3 * 12 + 4) + d * 5 * 16
