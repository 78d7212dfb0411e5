"""Counting: sums of m ln m over the joint states of varsets, against numpy.unique on the records themselves."""

import itertools
from math import comb

import numpy as np
import pytest
from cases import places_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from portions import first

from extbnsl.data import distinct_rows
from extbnsl.kernels.ranks import binomial_table
from extbnsl.scores.bit_columns import AT_ONCE
from extbnsl.scores.counting import count, counting_space, counting_table

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


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


def counted(rows, weights, arities, size, present, first, last):
    """T of the varsets at places first..last of those that are present: a bool for each rank."""
    n = len(arities)
    table = counting_table(rows, weights, np.array(arities, dtype=np.int64))
    out = np.full(last - first, np.nan)
    count(size, first, places_of(present), binomial_table(n), counting_space(table, size), out)
    return out


def counted_all(rows, weights, arities, size):
    total = comb(len(arities), size)
    return counted(rows, weights, arities, size, np.ones(total, bool), 0, total)


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
        expected = [naive_sum(rows, weights, v) for v in colexicographic(n, size)]
        np.testing.assert_allclose(counted_all(rows, weights, arities, size), expected, rtol=1e-11, atol=1e-9)


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
    present = rng.random(comb(n, size)) < data.draw(st.sampled_from([0.05, 0.5, 1.0]))
    present[rng.integers(present.size)] = True
    varsets = [v for v, counts in zip(colexicographic(n, size), present, strict=True) if counts]
    first = data.draw(st.integers(0, len(varsets) - 1))
    last = data.draw(st.integers(first + 1, len(varsets)))
    out = counted(rows, weights, arities, size, present, first, last)
    expected = [naive_sum(rows, weights, v) for v in varsets[first:last]]
    np.testing.assert_allclose(out, expected, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("arities", [[2] * 8, [3] * 6, [2, 2, 2, 3, 3, 12], [4, 5, 300]])
@pytest.mark.parametrize("weight", [1, 400_000 // 50])
def test_many_records(arities, weight):
    rng = np.random.default_rng(3)
    rows, weights = random_rows(rng, arities, 50)
    for size in range(1, len(arities) + 1):
        out = counted_all(rows, weights * weight, arities, size)
        expected = [naive_sum(rows, weights * weight, v) for v in colexicographic(len(arities), size)]
        np.testing.assert_allclose(out, expected, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("heaviest", [1, 1000])
def test_where_columns_of_many_variables_are_made_together(heaviest):
    rng = np.random.default_rng(heaviest)
    arities = [2] * 4 + [3] * 5 + [4] * 3 + [5, 6]
    assert len(arities) > AT_ONCE
    rows, weights = random_rows(rng, arities, 300, heaviest)
    for size in (2, 4):
        expected = [naive_sum(rows, weights, v) for v in colexicographic(len(arities), size)]
        np.testing.assert_allclose(counted_all(rows, weights, arities, size), expected, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("words", [1, 3, 40])
@pytest.mark.parametrize("arities", [[2] * 7, [2, 3, 3, 4, 4, 12]])
def test_where_few_words_of_bits_have_room(words, arities, sizes):
    sizes({"WORDS_AT_LEAST": words})
    rng = np.random.default_rng(words)
    rows, weights = random_rows(rng, arities, 150, heaviest=5)
    for size in range(1, len(arities) + 1):
        expected = [naive_sum(rows, weights, v) for v in colexicographic(len(arities), size)]
        np.testing.assert_allclose(counted_all(rows, weights, arities, size), expected, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("n", first(1, [65, 63, 64, 127, 128, 129]))
def test_as_many_variables_as_there_are(n):
    rng = np.random.default_rng(n)
    arities = [2] * (n - 24) + [3] * 20 + [4] * 4
    rows, weights = random_rows(rng, arities, 60)
    expected = [naive_sum(rows, weights, v) for v in colexicographic(n, 2)]
    np.testing.assert_allclose(counted_all(rows, weights, arities, 2), expected, rtol=1e-11, atol=1e-9)
    expected = [naive_sum(rows, weights, (1 << n) - 1 ^ 1 << v) for v in reversed(range(n))]
    np.testing.assert_allclose(counted_all(rows, weights, arities, n - 1), expected, rtol=1e-11, atol=1e-9)
