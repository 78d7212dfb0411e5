"""Distinct rows against an obvious count."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extbnsl.data import distinct_rows


def _naive(codes):
    counted = sorted(Counter(map(tuple, codes.tolist())).items())
    return [list(row) for row, _ in counted], [weight for _, weight in counted]


def _agrees(codes):
    before = codes.copy()
    rows, weights = distinct_rows(codes)
    assert (codes == before).all()
    assert rows.dtype == codes.dtype
    assert weights.dtype == np.int64
    assert rows.flags.c_contiguous
    assert (rows.tolist(), weights.tolist()) == _naive(codes)


@given(
    st.integers(0, 40),
    st.integers(1, 30),
    st.sampled_from([1, 2, 3, 17, 256, 65536]),
    st.integers(0, 2**32 - 1),
)
def test_random_rows(records, variables, arity, seed):
    highest = np.random.default_rng(seed).integers(1, arity + 1, variables)
    codes = np.random.default_rng(seed).integers(0, highest, (records, variables)).astype(np.uint16)
    _agrees(codes)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_wide_and_long(dtype):
    random = np.random.default_rng(3)
    wide = random.integers(0, 3, (50, 700)).astype(dtype)
    _agrees(np.concatenate([wide, wide[:20]]))
    _agrees(random.integers(0, 2, (5000, 8)).astype(dtype))


def test_words_filled_to_the_last_bit():
    codes = np.random.default_rng(4).integers(0, 2**16, (200, 8)).astype(np.uint16)
    codes[0] = 2**16 - 1
    _agrees(codes[:, :4])
    _agrees(codes)


def test_one_row_and_constant_columns():
    _agrees(np.array([[5, 0, 7]], dtype=np.uint16))
    _agrees(np.zeros((4, 3), dtype=np.uint16))
