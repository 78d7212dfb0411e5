"""Sums inside varsets, and bounds of what follows a node, against sums over all of it."""

import math

import numpy as np
import pytest
from cases import scores_of
from hypothesis import given, settings
from hypothesis import strategies as st
from patching import sized
from summing import by_varsets, log_sum, problems, sparse_scores

from extbnsl.bounds.multipliers import UNIT
from extbnsl.machine.workers import Workers
from extbnsl.posteriors.completions import (
    Relaxation,
    _alpha,
    across,
    completions,
    log_through,
    relaxed,
)
from extbnsl.posteriors.inside import Families, inside_tables
from extbnsl.posteriors.tuning import Sample, good_groups, gradient, mean_log, tuned, with_pairs
from extbnsl.posteriors.wide import log_of

SETTINGS = settings(max_examples=40, deadline=None)


def families_of_scores(scores):
    return Families([own[:, 0] for own in scores.parents], scores.costs)


def many_families(seed, scale, n=10, count=400):
    """Families of one child, the last variable, in score order, costs of any range with gaps."""
    rng = np.random.default_rng(seed)
    sets = np.unique(rng.integers(0, 1 << (n - 1), count).astype(np.uint64))
    costs = np.sort(scale * rng.random(sets.size) ** rng.integers(1, 4) + scale * rng.integers(0, 3, sets.size))
    return rng.permutation(sets), costs


@SETTINGS
@given(st.integers(0, 2**32), st.sampled_from([0.0, 3.0, 50.0, 400.0, 1e5]), st.sampled_from([2.0**-60, 1e-6, 0.1]))
def test_sums_inside_varsets(seed, scale, cut):
    """From above they are never too low, and too high by what is cut off at most twice."""
    n = 10
    sets, costs = many_families(seed, scale)
    empty = [(np.zeros(1, np.uint64), np.zeros(1))] * (n - 1)
    parents, own = zip(*empty, (sets, costs), strict=True)
    tables, places = inside_tables(Families(parents, own), cut)
    assert len(set(places[-1].tolist())) == sets.size
    varsets = np.arange(1 << (n - 1), dtype=np.uint64)
    totals, exponents = _alpha(n - 1, varsets, tables)
    for varset, total, exponent in zip(varsets.tolist(), totals.tolist(), exponents.tolist(), strict=True):
        inside = (sets & ~np.uint64(varset)) == 0
        exact = log_sum((costs[0] - costs[inside]).tolist())
        found = log_of(total, exponent)
        assert total == 0.0 or 2.0**-128 <= total < 2.0**128
        assert exact == found == -math.inf or -1e-9 <= found - exact <= 2.0 * math.log1p(cut) + 1e-9


def test_sums_across_exponents_are_normal():
    """Between 1e-35, words of which little is inside, and what is nothing beside that."""
    costs = np.concatenate([[0.0, 80.0], 89.0 + np.arange(128) / 1000, [270.0, 271.0]])
    inside = np.isin(costs, (80.0, 89.0, 270.0))
    pairs = np.arange(1, costs.size + 1, dtype=np.uint64)
    sets = np.where(inside, pairs << np.uint64(2), pairs << np.uint64(2) | np.uint64(2))
    empty = [(np.zeros(1, np.uint64), np.zeros(1))]
    parents, own = zip((sets, costs), *empty * 10, strict=True)
    tables, _ = inside_tables(Families(parents, own), 2.0**-60)
    (total,), (exponent,) = _alpha(0, np.array([0b11111111100], np.uint64), tables)
    assert 2.0**-128 <= total < 2.0**128
    assert log_of(total, exponent) == pytest.approx(log_sum([-80.0, -89.0]), abs=1e-12)


def exact_completions(scores):
    """log h of each varset, of weights beside the cheapest family of each child."""
    n = scores.variables
    pairs = zip(scores.parents, scores.costs, strict=True)
    families = [list(zip(p[:, 0].tolist(), (c - c[0]).tolist(), strict=True)) for p, c in pairs]
    h = [-math.inf] * (2**n - 1) + [0.0]
    for u in reversed(range((1 << n) - 1)):
        logs = []
        for i in (i for i in range(n) if not u >> i & 1):
            logs += [h[u | 1 << i] - c for p, c in families[i] if not p & ~u]
        h[u] = log_sum(logs)
    return np.array(h)


def bound_at_all(bound, n):
    """log H of each varset."""
    size = 1 << n
    return log_through(np.arange(size, dtype=np.uint64), np.ones(size), np.zeros(size, np.int32), completions(bound))


def some_relaxation(n, rng, scale):
    """Groups and clusters at random."""
    groups = [own.tolist() for own in np.array_split(rng.permutation(n), rng.integers(1, n + 1))]
    clusters = np.unique(rng.integers(0, 1 << n, 12).astype(np.uint64))
    clusters = clusters[across(groups, clusters) & (clusters > 0)]
    multipliers = np.floor(scale * rng.random(clusters.size) / UNIT) * UNIT * rng.integers(0, 2, clusters.size)
    return Relaxation(tuple(tuple(sorted(own)) for own in groups), clusters, multipliers)


@SETTINGS
@given(problems(6), st.integers(0, 2**32), st.sampled_from([0.0, 0.5, 20.0]))
def test_bounds_are_never_below_what_follows(scores, seed, scale):
    n = scores.variables
    with Workers(1) as workers:
        bound = relaxed(some_relaxation(n, np.random.default_rng(seed), scale), families_of_scores(scores), workers)
    assert (bound_at_all(bound, n) >= exact_completions(scores)).all()


def test_one_group_of_all_is_no_bound_but_the_sum():
    scores = sparse_scores(7)
    with Workers(1) as workers, sized(BOUND_CUT=2.0**-60):
        nothing = np.zeros(0, np.uint64), np.zeros(0)
        bound = relaxed(Relaxation((tuple(range(7)),), *nothing), families_of_scores(scores), workers)
    assert bound_at_all(bound, 7) == pytest.approx(exact_completions(scores), abs=1e-6)
    least = math.fsum(float(own[0]) for own in scores.costs)
    assert bound_at_all(bound, 7)[0] == pytest.approx(by_varsets(scores)[0] + least, abs=1e-6)


def of_pairs(scores, groups, rng):
    """A relaxation with a multiplier for each pair that is across."""
    n = scores.variables
    clusters, _ = with_pairs(np.zeros(0, np.uint64), np.zeros(0), n)
    clusters = clusters[across(groups, clusters)]
    return Relaxation(groups, clusters, np.floor(3.0 * rng.random(clusters.size) / UNIT) * UNIT)


def test_the_gradient_is_that_of_the_mean():
    rng = np.random.default_rng(4)
    scores = sparse_scores(6, spread=2.0)
    families, sample = families_of_scores(scores), Sample(np.array([0, 5, 24], np.uint64), np.array([0.5, 0.2, 0.3]))
    start = of_pairs(scores, ((0, 2, 5), (1, 3), (4,)), rng)
    with Workers(1) as workers, sized(BOUND_CUT=2.0**-60):

        def mean(multipliers):
            return mean_log(relaxed(Relaxation(start.groups, start.clusters, multipliers), families, workers), sample)

        slope = gradient(relaxed(start, families, workers), sample, workers)
        for c in range(start.clusters.size):
            step = np.zeros(start.clusters.size)
            step[c] = 2.0**-12
            change = (mean(start.multipliers + step) - mean(start.multipliers - step)) / 2.0**-11
            assert slope[c] == pytest.approx(change, abs=1e-5)


def test_tuned_bounds_are_lower_and_hold():
    """Three pairs of variables that want each other as parents, each pair in two groups: one of each is let down."""
    scores = scores_of([[(0, 6.0 + x), (1 << (x ^ 1), 0.0)] for x in range(6)])
    families, sample = families_of_scores(scores), Sample(np.array([0, 1, 40], np.uint64), np.full(3, 0.7))
    none = of_pairs(scores, ((0, 2, 4), (1, 3, 5)), np.random.default_rng(0))
    none = Relaxation(none.groups, none.clusters, 0.0 * none.multipliers)
    with Workers(1) as workers:
        before, after = (tuned(none, families, sample, steps, workers) for steps in (0, 20))
    assert after.mean < before.mean - 6.0
    assert (bound_at_all(after.bound, 6) >= exact_completions(scores)).all()


def test_groups_cover_all():
    for seed in (None, 1, 2):
        groups = good_groups(np.arange(49.0).reshape(7, 7) % 5, 3, seed)
        assert sorted(x for group in groups for x in group) == list(range(7))
        assert sorted(map(len, groups)) == [2, 2, 3]
