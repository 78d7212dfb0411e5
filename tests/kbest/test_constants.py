"""Constant columns: every network that differs in their arcs counts, with what it costs."""

import naive
import numpy as np
import pytest
from cases import dataset_of, random_dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import component_within

from extbnsl.core.claims import Claim
from extbnsl.core.errors import BudgetError
from extbnsl.kbest import constants
from extbnsl.kbest.constants import with_constants
from extbnsl.scores.local import LocalScores


def with_still(seed, n, records=30):
    """Random data with some constant columns, a few of which have states that do not occur."""
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, records, 3)
    codes, arities = dataset.codes.copy(), dataset.arities.copy()
    for x in np.flatnonzero(rng.random(n) < 0.4):
        codes[:, x] = 0
        arities[x] = 1 + int(rng.random() < 0.3)
    return dataset_of(codes, arities)


def scores_within(dataset, slack, max_parents=None):
    """All families within a slack, and those of the variables that vary alone, as a solve has them."""
    table = naive.all_local_scores(dataset.codes, dataset.arities, max_parents)
    every = component_within(table, slack)
    still = constants.constants(dataset)
    without = table.copy()
    for varset in range(table.shape[1]):
        if any(varset >> x & 1 for x in still):
            without[:, varset] = np.inf
    without[list(still), 1:] = np.inf
    part = component_within(without, slack)
    return every, LocalScores(dataset.names, part.parents, part.costs, Claim("mdl", max_parents))


@settings(deadline=None, max_examples=30)
@given(
    st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([0.0, 0.5, 3.0, 1e9]), st.sampled_from([None, 0, 1, 2])
)
def test_all_families_within_the_slack_are_there(seed, n, slack, max_parents):
    dataset = with_still(seed, n)
    every, own = scores_within(dataset, slack, max_parents)
    found = with_constants(own, dataset, slack, None)
    found.check()
    for x in range(n):
        expected = dict(zip(every.parents[x][:, 0].tolist(), every.costs[x].tolist(), strict=True))
        costs = dict(zip(found.parents[x][:, 0].tolist(), found.costs[x].tolist(), strict=True))
        assert costs.keys() >= expected.keys()
        assert [costs[varset] for varset in expected] == pytest.approx(list(expected.values()), abs=1e-9)


def test_for_few_networks_some_parents_of_one_constant_are_enough():
    dataset = dataset_of(np.column_stack([np.zeros(40), np.random.default_rng(0).integers(0, 2, (40, 11))]))
    _, own = scores_within(dataset, 1.0, 3)
    found = with_constants(own, dataset, 1.0, 20)
    assert found.parents[0].shape == (20, 1)
    assert found.costs[0].tolist() == [0.0] * 20
    assert np.bitwise_count(found.parents[0][:, 0]).max() == 2
    assert all(np.array_equal(a, b) for a, b in zip(found.parents[1:], own.parents[1:], strict=True))


def test_too_many_families_are_refused_by_the_name_of_the_column(sizes):
    sizes({"constants.MOST_FAMILIES": 100})
    dataset = dataset_of(np.column_stack([np.zeros(40), np.random.default_rng(0).integers(0, 2, (40, 9))]))
    _, own = scores_within(dataset, 1.0, 2)
    with pytest.raises(BudgetError, match=r"'v0' has more than 100 parent sets.*leave these columns out"):
        with_constants(LocalScores(own.names, own.parents, own.costs, Claim()), dataset, 1.0, None)
