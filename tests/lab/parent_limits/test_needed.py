"""Theorem 3: families with k subsets before them, against counting, and against all networks."""

import naive
import numpy as np
import pytest
from cases import random_families, scores_of
from kbest_twins import k_best, small_dataset

from extbnsl.kernels.varsets import pack
from extbnsl.lab.parent_limits.needed import needed_families, needed_scores
from extbnsl.parents.pruning import undominated
from extbnsl.scores.local import canonical_order


def by_counting(parents, k):
    """Which varsets, Python integers in score order, have less than k proper subsets before them."""
    return [sum(own & ~parents[i] == 0 for own in parents[:i]) < k for i in range(len(parents))]


@pytest.mark.parametrize("n", [5, 9, 64, 70, 140])
@pytest.mark.parametrize("k", [1, 2, 3, 10, 200])
def test_subsets_are_counted(n, k):
    rng = np.random.default_rng(n + k)
    members = rng.choice(n, min(n, 9), replace=False)
    some = [members[rng.random(members.size) < rng.choice([0.2, 0.5, 0.9])].tolist() for _ in range(500)]
    varsets = np.unique(np.stack([pack(own, n) for own in [[], *some]]), axis=0)
    rng.shuffle(varsets)
    costs = rng.integers(0, 40, len(varsets)).astype(float)
    order = canonical_order(varsets, costs)
    varsets, costs = np.ascontiguousarray(varsets[order]), costs[order]
    as_integers = [sum(int(word) << 64 * i for i, word in enumerate(row)) for row in varsets]
    found = needed_families(varsets, costs, k)
    assert found.tolist() == by_counting(as_integers, k)
    if k == 1:
        assert found.tolist() == undominated(varsets, costs).tolist()
    if k < 200:
        assert not found.all()


def test_no_families_and_the_empty_set_alone():
    assert needed_families(np.zeros((0, 1), np.uint64), np.zeros(0), 3).tolist() == []
    assert needed_families(np.zeros((1, 2), np.uint64), np.ones(1), 1).tolist() == [True]


@pytest.mark.parametrize(("n", "seeds"), [(3, 40), (4, 30), pytest.param(5, 12, marks=pytest.mark.slow)])
def test_the_k_best_are_made_of_needed_families(n, seeds):
    dropped = 0
    for seed in range(seeds):
        dataset = small_dataset(seed, n)
        costs = naive.all_local_scores(dataset.codes, dataset.arities)
        every = [[(v, costs[x, v]) for v in range(2**n) if not v >> x & 1] for x in range(n)]
        dropped += check_needed(n, every, costs)
    assert dropped > 10 * seeds


def check_needed(n, families, costs):
    """Check the k best networks of needed families for several k; how many families were not."""
    scores, dropped = scores_of(families), 0
    for k in (1, 2, 3, 5, 8, 10, 100, 1000):
        needed = needed_scores(scores, k)
        needed.check()
        mask = np.zeros((n, 2**n), bool)
        for x, own in enumerate(needed.parents):
            mask[x, own[:, 0].astype(np.int64)] = True
        dropped += scores.families - needed.families
        np.testing.assert_allclose(k_best(costs, k, mask), k_best(costs, k), rtol=1e-9)
    return dropped


def test_costs_may_be_any_and_many_may_be_equal():
    rng = np.random.default_rng(8)
    dropped = 0
    for _ in range(40):
        families = random_families(rng, 4)
        dropped += check_needed(4, families, naive.cost_table(4, families))
    assert dropped > 100


def test_it_hears_when_it_is_stopped():
    varsets, costs = np.arange(8, dtype=np.uint64)[:, None], np.arange(8.0)
    assert needed_families(varsets, costs, 9).all()
    assert not needed_families(varsets, costs, 9, np.ones(1, np.uint8)).any()
