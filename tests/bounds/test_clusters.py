"""Cluster multipliers: admissible, consistent, and what they are said to be."""

import math
from dataclasses import replace

import naive
import numpy as np
import pytest
from cases import random_dataset, random_families, scores_of, shelf_of
from fixed import count, rooted
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_invariants import check_clusters, check_families, check_multipliers, cluster_value

from extbnsl.bounds.ascent import ascend_nodes, find_multipliers
from extbnsl.bounds.at_nodes import cluster_bound
from extbnsl.bounds.multipliers import MEMBERS, UNIT, families_of, multipliers_of, requirements
from extbnsl.core.claims import Claim
from extbnsl.core.events import ignore
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.parents.pruning import prune

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


def families_in(scores):
    return families_of(scores.parents, scores.costs)


def cost_to_go(n, best):
    """The least cost of the variables outside each varset, all inside given."""
    rest = {(1 << n) - 1: 0.0}
    for varset in range((1 << n) - 2, -1, -1):
        outside = [x for x in range(n) if not varset >> x & 1]
        rest[varset] = min(best[x, varset] + rest[varset | 1 << x] for x in outside)
    return rest


def found(scores, rounds=4, seed=0, start=None, threads=1):
    with Workers(threads) as workers:
        return find_multipliers(families_in(scores), start, rounds, seed, workers)


def random_problem(seed, n, most=25):
    families = random_families(np.random.default_rng(seed), n, most)
    return prune(scores_of(families)), naive.best_scores(naive.cost_table(n, families))


def random_cuts(rng, n, size):
    """Clusters, and cuts of three of them, of at least one variable each: (size, 3, 1)."""
    cuts = rng.integers(1, 1 << n, (size, MEMBERS, 1)).astype(np.uint64)
    cuts[rng.random(size) < 0.4, 1:] = 0
    return cuts


def with_random_cuts(scores, seed, rounds=2):
    """Multipliers that begin with some of random cuts."""
    rng, families = np.random.default_rng(seed), families_in(scores)
    cuts = random_cuts(rng, families.first.size - 1, 5)
    start = multipliers_of(families, cuts, rng.integers(1, int(3 / UNIT), 5))
    return found(scores, rounds, seed % 1000, start)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 8), st.sampled_from([0, 3]), st.booleans())
def test_h1_is_admissible_and_consistent(seed, n, rounds, triples):
    scores, best = random_problem(seed, n)
    multipliers = with_random_cuts(scores, seed, rounds) if triples else found(scores, rounds, seed % 1000)
    check_families(families_in(scores))
    check_multipliers(multipliers, families_in(scores))
    rest = cost_to_go(n, best)
    h = {varset: cluster_value(multipliers, varset) for varset in range(1 << n)}
    assert h[0] == pytest.approx(multipliers.root, abs=1e-9)
    assert abs(h[(1 << n) - 1]) < 1e-9
    for varset in range(1 << n):
        assert h[varset] <= rest[varset] + 1e-9
        for x in range(n):
            if not varset >> x & 1:
                assert h[varset] <= best[x, varset] + h[varset | 1 << x] + 1e-9


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 8))
def test_any_multipliers_bound_what_they_say(seed, n):
    """The definition, spelled out: reduced costs, their least, and the root bound."""
    rng = np.random.default_rng(seed)
    scores, best = random_problem(seed, n)
    cuts, weights = random_cuts(rng, n, 6), rng.integers(1, int(5 / UNIT), 6)
    multipliers = multipliers_of(families_in(scores), cuts, weights)

    def times(cut, x, p):
        return math.ceil(sum(m >> x & 1 and not m & p for m in cut[:, 0].tolist()) / 2)

    assert requirements(cuts).tolist() == [1 if cut[1] == 0 else 2 for cut in cuts]
    at = 0
    for x in range(n):
        reduced = [
            cost - sum(w * UNIT * times(cut, x, int(p)) for cut, w in zip(cuts, weights.tolist(), strict=True))
            for p, cost in zip(scores.parents[x][:, 0], scores.costs[x], strict=True)
        ]
        assert multipliers.least[x] == pytest.approx(min(reduced), abs=1e-9)
        own = multipliers.reduced[at : at + len(reduced)]
        assert own == pytest.approx(np.array(reduced) - min(reduced), abs=1e-9)
        at += len(reduced)
    assert multipliers.root <= cost_to_go(n, best)[0] + 1e-9


def test_the_ascent_beats_the_static_bound_and_rounds_do_no_harm():
    for seed in range(20):
        scores, best = random_problem(seed, 8)
        static = sum(costs[0] for costs in scores.costs)
        plain, better = found(scores, 0), found(scores, 20)
        optimum = cost_to_go(8, best)[0]
        assert static <= plain.root + 1e-5
        assert plain.root <= better.root + 1e-5 <= optimum + 2e-5
        again = found(scores, 5, start=better)
        assert again.root >= better.root - 1e-5


def test_the_multipliers_do_not_depend_on_the_threads():
    scores, _ = random_problem(5, 9, 40)
    one, two = found(scores, 10, threads=1), found(scores, 10, threads=2)
    assert (one.cuts == two.cuts).all()
    assert (one.weights == two.weights).all()


@pytest.mark.parametrize("n", [63, 64, 65, 70, 130])
def test_many_variables(n):
    """Two words and more: a long cycle of strong wishes, which a single cluster resolves."""
    families = [[(0, 10.0), (1 << (x + 1) % n, 1.0)] for x in range(n)]
    parents = [
        np.array([[v >> 64 * w & (1 << 64) - 1 for w in range(-(-n // 64))] for v, _ in own], dtype=np.uint64)
        for own in families
    ]
    costs = [np.array([c for _, c in own]) for own in families]
    with Workers(1) as workers:
        multipliers = find_multipliers(families_of(parents, costs), None, 0, 0, workers)
    assert multipliers.root == pytest.approx(n + 9, abs=1e-4)  # one of the wishes cannot be had
    assert multipliers.cuts.shape == (1, 3, -(-n // 64))
    assert int(np.bitwise_count(multipliers.cuts).sum()) == n


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 9))
def test_relabelling(seed, n):
    scores, _ = random_problem(seed, n)
    multipliers = with_random_cuts(scores, seed)
    new = np.random.default_rng(seed).permutation(n)
    bound = cluster_bound(multipliers, new)
    check_clusters(bound)
    for varset in range(0, 1 << n, 3):
        moved = sum(1 << int(new[x]) for x in range(n) if varset >> x & 1)
        outside = sum(int(w) for m, w in zip(bound.masks, bound.weights, strict=True) if not int(m) & moved)
        waiting = sum(float(bound.waiting[b, moved >> 8 * b & 255]) for b in range(8))
        assert outside * UNIT + waiting == pytest.approx(cluster_value(multipliers, varset), abs=1e-9)


def test_check_finds_what_is_broken():
    scores, _ = random_problem(3, 6)
    families, multipliers = families_in(scores), with_random_cuts(scores, 3)
    bound = cluster_bound(multipliers, np.arange(6))
    assert multipliers.weights.size > 1
    own = np.repeat(np.uint64(1) << np.arange(6, dtype=np.uint64), np.diff(families.first))
    for broken in (
        families._replace(costs=families.costs[1:]),
        families._replace(parents=families.parents | own),
        families._replace(parents=families.parents | np.uint64(1 << 6)),
        families._replace(first=families.first[::-1]),
    ):
        with pytest.raises(AssertionError):
            check_families(broken)
    for change in (
        {"weights": -multipliers.weights},
        {"cuts": multipliers.cuts[:, ::-1]},
        {"reduced": multipliers.reduced + 1.0},
        {"least": multipliers.least[1:]},
    ):
        with pytest.raises(AssertionError):
            check_multipliers(replace(multipliers, **change), families)
    for change in (
        {"masks": np.zeros_like(bound.masks)},
        {"weights": bound.weights + 1},
        {"waiting": bound.waiting + 1.0},
        {"multipliers": bound.multipliers[1:]},
    ):
        with pytest.raises(AssertionError):
            check_clusters(bound._replace(**change))


def networks_below(n, families, limit):
    """Every acyclic choice of families that costs less than the limit: lists of (child, parents)."""

    def extend(x, chosen, cost):
        if cost >= limit:
            return
        if x == n:
            if naive.is_acyclic(chosen):
                yield list(chosen)
            return
        for p, c in families[x]:
            yield from extend(x + 1, [*chosen, p], cost + c)

    yield from extend(0, [], 0.0)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5), st.sampled_from([0.5, 3.0, 10.0]), st.sampled_from([0, 4]))
def test_fixing_drops_no_family_of_a_cheaper_network(seed, n, slack, rounds):
    rng = np.random.default_rng(seed)
    scores = prune(scores_of(random_families(rng, n, 10)))
    families = [
        [(int(p), float(c)) for p, c in zip(scores.parents[x][:, 0], scores.costs[x], strict=True)] for x in range(n)
    ]
    optimum = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))
    limit = optimum + slack
    with Workers(1) as workers:
        fixed = rooted(scores, limit, workers, rounds=rounds)
        untouched = rooted(scores, limit, workers, rounds=rounds, fixing=False)
    assert not fixed.proved  # the optimum itself is below the limit
    assert count(untouched) == scores.families
    left = [set(p[:, 0].tolist()) for p in fixed.parents]
    for network in networks_below(n, families, limit):
        assert all(p in left[x] for x, p in enumerate(network))


def test_on_data():
    """A projection of structured data: the root bound is close, and fixing proves the optimum alone or nearly."""
    dataset = random_dataset(np.random.default_rng(3), 8, 300)
    with Workers(1) as workers:
        scores = surviving_families(dataset, Claim(), Means(workers, shelf_of(), ignore)).scores
        optimum = naive.optimal_cost(dataset.codes, dataset.arities)
        multipliers = find_multipliers(families_in(scores), None, 10, 0, workers)
        static = sum(costs[0] for costs in scores.costs)
        assert static <= multipliers.root <= optimum + 1e-6
        assert optimum - multipliers.root <= 0.2 * (optimum - static) + 1e-6
        assert count(rooted(scores, math.inf, workers, rounds=3)) == scores.families


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 8), st.sampled_from([0.5, 3.0, 12.0]))
def test_an_ascent_at_a_node_drops_none_that_leads_below_the_limit(seed, n, slack):
    rng = np.random.default_rng(seed)
    scores, best = random_problem(seed, n)
    families, multipliers, rest = families_in(scores), with_random_cuts(scores, seed, 1), cost_to_go(n, best)
    limit = rest[0] + slack
    varsets = np.arange(1 << n, dtype=np.uint64)
    g = rng.uniform(0, 2 * slack, varsets.size)
    g[0], g[-1] = 0.0, limit + 1.0  # one that leads below the limit, and one that does not
    keep = np.zeros(varsets.size, np.uint8)
    given = cluster_bound(multipliers, np.arange(n))
    ascend_nodes(varsets, g, limit, families, given, keep, np.zeros(1, np.uint8))
    for varset in range(1 << n):
        if g[varset] + rest[varset] < limit - 1e-6:
            assert keep[varset]
        if g[varset] + cluster_value(multipliers, varset) >= limit + 1e-6:
            assert not keep[varset]
    assert (keep[0], keep[-1]) == (1, 0)
