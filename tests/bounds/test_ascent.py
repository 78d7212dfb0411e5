"""The greedy ascent: it ends whatever is tied, after as many steps as it may take, and hears when it is told to."""

import itertools

import naive
import numpy as np
import pytest
from watched import watched

from extbnsl.bounds.ascent import MEMBERS, ZERO, ascend_nodes, ascended, improve
from extbnsl.bounds.at_nodes import cluster_bound
from extbnsl.bounds.multipliers import (
    UNIT,
    FamilyArrays,
    families_of,
    multipliers_of,
    requirements,
    rounded_multipliers,
)

N, SIZE = 12, 5  # 462 parent sets of five of the eleven others
KINDS = ("equal", "nearly equal", "negative", "some infinite", "a child without any", "few values")
PLACES = 4096
GO_ON, STOP = np.zeros(1, np.uint8), np.ones(1, np.uint8)


def tied_families(seed, kind, n=N, size=SIZE):
    """Families with ties by the hundred: the parent sets of so many variables, of every child or of the first alone,
    which the others want as a parent."""
    rng = np.random.default_rng(seed)
    everywhere = rng.random() < 0.3
    families = []
    for x in range(n):
        others = [v for v in range(n) if v != x]
        many = everywhere or x == 0
        sets = [sum(1 << v for v in own) for own in itertools.combinations(others, size)] if many else [1]
        sets += [0] if rng.random() < 0.8 else []
        costs = costs_of(kind, rng, len(sets), x) + np.array([0.0 if v else 10.0 for v in sets])
        families.append(list(zip(sets, costs.tolist(), strict=True)))
    return families


def costs_of(kind, rng, m, x):
    """What the families of child x cost in addition."""
    if kind == "nearly equal":
        return 1e-9 * rng.integers(0, 2000, m)
    if kind == "negative":
        return -100.0 * rng.integers(1, 3, m)
    if kind == "some infinite":
        return rng.choice([0.0, np.inf], m)
    if kind == "a child without any":
        return np.full(m, np.inf if x == 3 else 0.0)
    return rng.choice([0.0, 0.1, 0.2], m) if kind == "few values" else np.zeros(m)


def arrays_of(families):
    parents = [np.array([[v] for v, _ in own], np.uint64) for own in families]
    return families_of(parents, [np.array([cost for _, cost in own]) for own in families])


def room(places=PLACES):
    return np.zeros((places, MEMBERS, 1), np.uint64), np.zeros(places)


def order_is_found(families, reduced):
    """Whether families that cost hardly more than the cheapest of their child allow an order."""
    placed, n = 0, families.first.size - 1
    for _ in range(n):
        for x in range(n):
            own = slice(families.first[x], families.first[x + 1])
            free = families.parents[0, own][reduced[own] <= 2 * ZERO]
            if (free & ~np.uint64(placed) == 0).any():
                placed |= 1 << x
    return placed == (1 << n) - 1


def check_ties(seed, kind):
    given = tied_families(seed, kind)
    families = arrays_of(given)
    cuts, weights = room()
    count, root = improve(families, cuts, weights, 0, 0, seed, GO_ON)
    assert count <= families.costs.size  # a step frees a family, and adds a cut
    assert (weights[:count] > ZERO).all()
    assert len(np.unique(cuts[:count], axis=0)) == count
    found = rounded_multipliers(families, cuts[:count], weights[:count])
    optimum = naive.optimal_cost_dp(N, naive.best_scores(naive.cost_table(N, given)))
    if np.isfinite(found.least).all():
        assert root == pytest.approx(found.root, abs=1e-6)
        assert found.root <= optimum + 1e-6
    if np.isfinite(optimum):
        assert count < PLACES
        assert order_is_found(families, found.reduced)
    improve(families, cuts, weights, count, 3, seed, GO_ON)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_ascent_ends_whatever_is_tied(kind):
    watched(check_each, kind, 6)


def check_each(kind, seeds):
    for seed in range(seeds):
        check_ties(seed, kind)


@pytest.mark.slow
def test_the_ascent_at_nodes_ends_too():
    watched(check_nodes)


def check_nodes():
    for seed, kind in itertools.product(range(2), ("equal", "nearly equal", "few values")):
        given = tied_families(seed, kind)
        families = arrays_of(given)
        cuts, weights = room()
        count, _ = improve(families, cuts, weights, 0, 0, seed, GO_ON)
        clusters = cluster_bound(rounded_multipliers(families, cuts[:count], weights[:count]), np.arange(N))
        nodes = np.random.default_rng(seed).integers(0, 1 << N, 30).astype(np.uint64)
        keep = np.empty(nodes.size, np.uint8)
        ascend_nodes(nodes, np.zeros(nodes.size), -np.inf, families, clusters, keep, GO_ON)
        assert not keep.any()


@pytest.mark.slow
def test_many_families_of_a_child_are_free_and_the_set_is_no_cluster():
    """The shortest case that a list of the first free families gets wrong: the last one lets its child go first."""
    sets = [sum(1 << v for v in own) for own in itertools.combinations(range(1, N), SIZE)]
    families = [[*((v, 0.0) for v in sets), (0, 0.0)], *([(1, 0.0), (0, 5.0)] for _ in range(1, N))]
    watched(check_no_cut, families)


def check_no_cut(families):
    count, root = improve(arrays_of(families), *room(), 0, 0, 0, GO_ON)
    assert (count, root) == (0, 0.0)


def test_a_halt_is_heard_at_every_step():
    families = arrays_of(tied_families(0, "few values"))
    cuts, weights = room()
    assert improve(families, cuts, weights, 0, 5, 0, STOP)[0] == 0
    assert improve(families, cuts, weights, 0, 5, 0, GO_ON)[0] > 0
    assert weights.max() > ZERO
    keep, nodes = np.zeros(3, np.uint8), np.arange(3, dtype=np.uint64)
    clusters = cluster_bound(multipliers_of(families, cuts[:0], np.zeros(0, np.int64)), np.arange(N))
    ascend_nodes(nodes, np.zeros(3), -np.inf, families, clusters, keep, STOP)
    assert keep.all()
    ascend_nodes(nodes, np.zeros(3), -np.inf, families, clusters, keep, GO_ON)
    assert not keep.any()


def test_an_ascent_that_has_no_time_gives_what_it_has():
    families = arrays_of(tied_families(1, "few values"))
    least = sum(families.costs[lo:hi].min() for lo, hi in itertools.pairwise(families.first.tolist()))
    cut_short, whole = ascended(families, 0, 0.0), ascended(families, 0, 60.0)
    assert least <= cut_short.root + 1e-6
    assert cut_short.root <= whole.root
    assert whole.root > least + 1.0
    assert whole.root == pytest.approx(float(whole.weights @ requirements(whole.cuts)) * UNIT + whole.least.sum())


def test_there_may_be_no_families():
    none = FamilyArrays(np.zeros((1, 0), np.uint64), np.zeros(0), np.zeros(3, np.int64))
    assert improve(none, *room(), 0, 2, 0, GO_ON) == (0, np.inf)
