"""The weight of all networks, against a sum over all of them."""

import math

import numpy as np
import pytest
from cases import scores_of
from hypothesis import given
from hypothesis import strategies as st
from test_below import SETTINGS, all_networks, table_of

from extbnsl.kbest.total import log_weight_of_all


def scores_from(table):
    """All families of a table of costs by child and varset."""
    n = len(table)
    return scores_of([[(v, float(table[x][v])) for v in range(1 << n) if np.isfinite(table[x][v])] for x in range(n)])


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([0.1, 1.0, 100.0]))
def test_the_weight_of_all_networks(seed, n, scale):
    table = scale * table_of(seed, n)
    costs = all_networks(table)
    expected = math.log(np.exp(costs[0] - costs).sum()) - costs[0]
    assert log_weight_of_all(scores_from(table)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("n", "networks"), [(1, 1), (4, 543), (7, 1_138_779_265), (9, 1_213_442_454_842_881)])
def test_where_nothing_costs_anything_networks_are_counted(n, networks):
    """The numbers are those of Robinson 1973."""
    table = np.zeros((n, 1 << n))
    for x in range(n):
        table[x, [v for v in range(1 << n) if v >> x & 1]] = np.inf
    assert log_weight_of_all(scores_from(table)) == pytest.approx(math.log(networks), abs=1e-9)
