"""What columns hold, against Python's own statistics and counters."""

import math
import statistics
from collections import Counter

import numpy as np
import pytest
from cases import from_array

from extbnsl.core.data_options import DataOptions
from extbnsl.data import measured
from extbnsl.data.dataset import spreads, state_counts
from extbnsl.data.given import given


def test_states_are_counted():
    rows = np.random.default_rng(0).integers(0, 5, (300, 4))
    data = from_array(rows, names=list("abcd"))
    for column, states, counts in zip(rows.T, data.states, state_counts(data), strict=True):
        expected = Counter(map(str, column.tolist()))
        assert dict(zip(states, counts, strict=True)) == expected


def test_a_state_that_no_record_has_is_counted_as_none():
    data = from_array(np.array([[0], [2], [2]]), names=["a"], states={"a": 4})
    assert dict(zip(data.states[0], state_counts(data)[0], strict=True)) == {"0": 1, "1": 0, "2": 2, "3": 0}


@pytest.mark.parametrize(("unit", "offset"), [(1.0, 0.0), (1e-120, 0.0), (1e120, 0.0), (1.0, 1e9), (0.0, 7.0)])
def test_numbers_are_summed_up_in_any_unit_and_at_any_offset(unit, offset):
    values = np.random.default_rng(1).normal(size=(200, 2)) * unit + offset
    for column, found in zip(values.T.tolist(), spreads(given(values).made(measured, DataOptions())), strict=True):
        assert (found.smallest, found.largest) == (min(column), max(column))
        assert found.mean == pytest.approx(statistics.mean(column), rel=1e-12)
        exact = math.sqrt(statistics.pvariance([x / (unit or 1.0) for x in column])) * (unit or 1.0)
        assert found.standard_deviation == pytest.approx(exact, rel=1e-9)
