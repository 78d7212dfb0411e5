"""Partitions of the variables into groups: valid, repeatable, never worse than the one they started from."""

import numpy as np
import pytest
from cases import random_families, scores_of
from search_invariants import check_grouping
from watched import watched

from extbnsl.bounds.groups import (
    SHARE,
    SWAPS_PER_ROUND,
    TABLE_NS,
    Grouping,
    find_grouping,
    pair_weights,
    split_by_weight,
)
from extbnsl.bounds.patterns import group_families, pattern_table
from extbnsl.machine.workers import Workers
from extbnsl.parents.pruning import prune

ROUNDS = 4  # of swaps without improvement


def families_of(seed, n):
    scores = prune(scores_of(random_families(np.random.default_rng(seed), n, most=40)))
    return scores.parents, scores.costs


def table_of(families, group):
    return pattern_table(*group_families(*families, group))


def found(families, widest, threads=1, seed=0, rounds=ROUNDS):
    n = len(families[0])
    width = -(-n // -(-n // widest))
    search_ns = rounds * 1.01 * SWAPS_PER_ROUND * 2 * TABLE_NS * width**2 * 2**width / SHARE
    with Workers(threads) as workers:
        return find_grouping(families, widest, 1000.0, workers, seed, lambda grouping: search_ns)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n", "widest"), [(1, 3), (5, 5), (7, 4), (9, 3), (10, 5), (6, 1)])
def test_groups_partition_the_variables(seed, n, widest):
    families = families_of(seed, n)
    grouping = found(families, widest)
    check_grouping(grouping)
    assert sorted(v for g in grouping.groups for v in g) == list(range(n))
    assert max(len(g) for g in grouping.groups) <= widest
    assert len(grouping.groups) == -(-n // widest)
    for group, table in zip(grouping.groups, grouping.tables, strict=True):
        assert list(group) == sorted(group)
        np.testing.assert_array_equal(table, table_of(families, group))
    assert grouping.root == pytest.approx(sum(table[0] for table in grouping.tables))


@pytest.mark.parametrize("seed", range(6))
def test_swaps_never_lose(seed):
    families = families_of(seed, 10)
    start = split_by_weight(pair_weights(*families), 2)
    root = sum(table_of(families, g)[0] for g in start)
    assert found(families, 5, rounds=0).root == pytest.approx(root)
    assert found(families, 5).root >= root - 1e-9


def test_swaps_gain_something():
    gains = [found(families_of(s, 10), 5).root - found(families_of(s, 10), 5, rounds=0).root for s in range(6)]
    assert max(gains) > 0


@pytest.mark.parametrize("seed", range(3))
def test_repeats_exactly_on_any_number_of_threads(seed):
    families = families_of(seed, 9)
    first = found(families, 4, seed=seed)
    for threads in (1, 3):
        assert found(families, 4, threads=threads, seed=seed).groups == first.groups


def test_pair_weights_by_definition():
    # without 1, variable 0 loses 5; without 0, variable 1 loses 2
    families = [[(0, 10.0), (0b10, 5.0)], [(0, 8.0), (0b01, 6.0)], [(0, 1.0)]]
    scores = scores_of(families)
    weights = pair_weights(scores.parents, scores.costs)
    np.testing.assert_array_equal(weights, [[0, 2, 0], [2, 0, 0], [0, 0, 0]])


def test_pairs_that_need_each_other_stay_together():
    weights = np.zeros((6, 6))
    for i, j in ((0, 3), (3, 5), (0, 5), (1, 2), (2, 4)):
        weights[i, j] = weights[j, i] = 1.0
    weights[1, 4] = weights[4, 1] = np.inf
    assert sorted(map(sorted, split_by_weight(weights, 2))) == [[0, 3, 5], [1, 2, 4]]


def test_root_is_the_sum():
    assert Grouping(((0,), (1,)), (np.array([3.0, 0.0]), np.array([4.0, 0.0]))).root == 7.0


@pytest.mark.slow
def test_groups_are_found_where_rounding_makes_ties_seem_better():
    watched(check_ties, 2)


def check_ties(seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, (50, 50)) * 1e7 * rng.random()
    weights = np.minimum(weights, weights.T)
    np.fill_diagonal(weights, 0.0)
    groups = split_by_weight(weights, 4)
    assert sorted(v for group in groups for v in group) == list(range(50))
