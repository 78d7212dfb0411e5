"""Families within a slack of the best of their subsets: all of them, each once, however they are found."""

import naive
import numpy as np
import pytest
from cases import dataset_of, random_dataset, shelf_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extbnsl.claims import Claim
from extbnsl.events import ignore
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.state import start_enumeration
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.parents.pruning import merged, prune, undominated
from extbnsl.scores.local import local_scores

SETTINGS = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
SLACKS = [1e-6, 0.3, 2.0, 10.0, 1e9]


def families_within(table, slack):
    """{(child, varset): cost} of a table's families that cost less than the best of their subsets and the slack."""
    best = naive.best_scores(table)
    return {
        (x, varset): float(own[varset])
        for x, own in enumerate(table)
        for varset in np.flatnonzero(own < best[x] + slack).tolist()
    }


def as_table(scores):
    """{(child, varset): cost} of local scores; an error if a family is there twice."""
    found = {
        (x, int(varset[0])): float(cost)
        for x in range(scores.variables)
        for varset, cost in zip(scores.parents[x], scores.costs[x], strict=True)
    }
    assert len(found) == scores.families
    return found


def tied_dataset(seed, n, records):
    """Random data in which some columns are copies of others."""
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, records, 4)
    copied = rng.integers(0, n, n) if rng.random() < 0.3 else np.arange(n)
    return dataset_of(dataset.codes[:, copied], dataset.arities[copied].tolist())


@pytest.mark.parametrize("begun", [None, start_enumeration])
@SETTINGS
@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.integers(1, 80),
    st.sampled_from(SLACKS),
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from(["mdl", "aic"]),
)
def test_all_families_within_the_slack_are_found(begun, seed, n, records, slack, limit, score):
    """By level, and child by child; of the variables that vary."""
    dataset = tied_dataset(seed, n, records)
    codes, arities = dataset.codes, dataset.arities
    still = [x for x in range(n) if (codes[:, x] == codes[0, x]).all()]
    table = naive.all_local_scores(codes, arities, limit, score)
    for varset in range(2**n):
        if any(varset >> x & 1 for x in still):
            table[:, varset] = np.inf
    table[still, 1:] = np.inf
    start = begun and begun(n - len(still))
    with Workers(1) as workers:
        found = surviving_families(dataset, Claim(score, limit), workers, shelf_of(), ignore, start, slack=slack)
    assert found.stopped is None
    found.scores.check()
    families = as_table(found.scores)
    assert families_within(table, slack - 1e-7).keys() <= families.keys() <= families_within(table, slack + 1e-7).keys()
    for (x, varset), cost in families.items():
        assert cost == pytest.approx(table[x, varset], abs=1e-8)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([0.0, *SLACKS]))
def test_local_scores_are_pruned_to_those_within_the_slack(seed, n, slack):
    dataset = tied_dataset(seed, n, 30)
    table = naive.all_local_scores(dataset.codes, dataset.arities)
    kept = [np.flatnonzero(np.isfinite(own)) for own in table]
    pairs = [(own.astype(np.uint64)[:, None], table[x][own]) for x, own in enumerate(kept)]
    found = as_table(prune(local_scores(dataset.names, pairs, "file"), slack))
    if slack:
        assert found == families_within(table, slack)
    else:
        best = naive.best_scores(table)
        assert all(cost <= best[x, varset] for (x, varset), cost in found.items())


def test_families_that_are_found_twice_are_there_once():
    """Though their costs, added up in other ways, may differ by a little."""
    old = np.array([[0], [1]], np.uint64), np.array([5.0, 5.5])
    new = np.array([[1], [3], [2]], np.uint64), np.array([5.5 + 1e-12, 6.1, 5.25])
    varsets, costs = merged(old, new, 1.0)
    assert varsets[:, 0].tolist() == [0, 2, 1]
    assert costs.tolist() == [5.0, 5.25, 5.5]
    assert undominated(varsets, costs, 0.5).tolist() == [True, True, False]
