"""The enumeration child by child against the one by levels, and where only the former can work."""

import naive
import numpy as np
import pytest

from extbnsl.data import from_array
from extbnsl.events import ignore
from extbnsl.parents.surviving import surviving_families
from extbnsl.workers import Workers

PLENTY = 1 << 30


def families(dataset, memory, threads=1, max_parents=None, stop=lambda: None):
    with Workers(threads, stop) as workers:
        return surviving_families(dataset, max_parents, workers, memory, ignore)


def assert_same(one, other):
    for parents, costs, parents2, costs2 in zip(one.parents, one.costs, other.parents, other.costs, strict=True):
        assert costs == pytest.approx(costs2, rel=1e-9, abs=1e-9)
        assert {tuple(p) for p in parents.tolist()} == {tuple(p) for p in parents2.tolist()}


def random_data(seed, variables, records, top=4):
    """Records in which every third variable follows from two others, with noise, so that parent sets win."""
    rng = np.random.default_rng(seed)
    arities = rng.integers(2, top + 1, variables)
    codes = rng.integers(0, arities, (records, variables))
    for v in range(2, variables, 3):
        follows = (codes[:, v - 1] + codes[:, v - 2]) % arities[v]
        codes[:, v] = np.where(rng.random(records) < 0.85, follows, codes[:, v])
    return from_array(codes)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("memory", [1, 2000, 20_000])
def test_little_memory_gives_the_same_families(seed, memory):
    dataset = random_data(seed, 9, 400)
    plenty = families(dataset, PLENTY)
    little = families(dataset, memory, threads=1 + seed % 3)
    assert little.stopped is None
    assert max(len(c) for c in plenty.scores.costs) > 1
    assert_same(plenty.scores, little.scores)


@pytest.mark.parametrize("max_parents", [0, 1, 2])
def test_the_users_limit_is_kept(max_parents):
    dataset = random_data(3, 8, 500)
    assert_same(families(dataset, PLENTY, 1, max_parents).scores, families(dataset, 1, 2, max_parents).scores)


@pytest.mark.parametrize("seed", range(4))
def test_best_scores_are_those_of_all_families(seed):
    dataset = random_data(seed, 6, 200, top=3)
    n = dataset.variables
    scores = families(dataset, 1).scores
    best = naive.best_scores(naive.all_local_scores(dataset.codes, dataset.arities))
    for child in range(n):
        for varset in range(1 << n):
            if not varset >> child & 1:
                inside = (scores.parents[child][:, 0] & ~np.uint64(varset)) == 0
                assert scores.costs[child][inside].min() == pytest.approx(best[child][varset], rel=1e-9)


def test_more_than_64_variables():
    dataset = random_data(5, 70, 300, top=2)
    scores = families(dataset, PLENTY, threads=2, max_parents=2).scores
    alone = np.array([naive.mdl(dataset.codes, dataset.arities, child, ()) for child in range(70)])
    for child in (2, 35, 68):
        best = min(
            naive.mdl(dataset.codes, dataset.arities, child, (a, b))
            for a in range(70)
            for b in range(a)
            if child not in (a, b)
        )
        assert scores.costs[child][0] == pytest.approx(min(best, scores.costs[child][0]), rel=1e-9)
        assert scores.costs[child][0] <= best + 1e-9
        assert scores.costs[child][0] < alone[child]


@pytest.mark.parametrize("polls", [0, 1, 2, 5, 9])
def test_a_stop_leaves_what_was_complete(polls):
    dataset = random_data(1, 9, 400)
    left = [polls]

    def stop():
        left[0] -= 1
        return "interrupted" if left[0] < 0 else None

    partial = families(dataset, 1, stop=stop)
    whole = families(dataset, PLENTY)
    if partial.stopped is not None:
        assert partial.stopped == "interrupted"
        for child in range(9):
            assert partial.least[child] <= whole.scores.costs[child][0] + 1e-9
