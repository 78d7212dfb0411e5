"""Node fixing and ancestral successors against their definitions, and that no optimum is lost by them."""

import itertools

import numpy as np
import pytest
from calling import called
from cases import random_families, scores_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_invariants import check_ancestry, cluster_value

from extbnsl.bounds.ascent import find_multipliers
from extbnsl.bounds.at_nodes import cluster_bound
from extbnsl.bounds.multipliers import UNIT, families_of
from extbnsl.machine.workers import Workers, unhalted
from extbnsl.parents.pruning import prune
from extbnsl.search.ancestral import (
    ALL_SUCCESSORS,
    MOST_SETS,
    VARIABLES,
    ancestry,
    closed_set,
    frequent_sets,
    number_of,
)
from extbnsl.search.problem import VECTOR, closed_sets_of, near_clusters, new_near

closed_set, number_of, near_clusters, new_near = map(called, (closed_set, number_of, near_clusters, new_near))

SETTINGS = settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))


def problem(seed, n):
    """Families, and multipliers for them."""
    scores = prune(scores_of(random_families(np.random.default_rng(seed), n, 10)))
    with Workers(1) as workers:
        return scores, find_multipliers(families_of(scores.parents, scores.costs), None, 1, seed, workers)


def reduced_of(scores, multipliers):
    return np.split(multipliers.reduced, np.cumsum([costs.size for costs in scores.costs])[:-1])


def naive_set(scores, reduced, varset, slack):
    """The smallest non-empty set outside the varset that is closed, 0 if a child has no family left; the first child
    that needs no other, or has no family, decides."""
    n = len(scores.costs)
    par = {}
    for x in (x for x in range(n) if not varset >> x & 1):
        needed, some = 0, False
        for parents, rc in zip(scores.parents[x][:, 0].tolist(), reduced[x].tolist(), strict=True):
            if rc < slack:
                some, needed = True, needed | parents & ~varset
            if not parents & ~varset:
                break
        if not some:
            return 0
        if not needed:
            return 1 << x
        par[x] = needed
    for size in range(1, len(par) + 1):
        closed = [
            members
            for members in itertools.combinations(par, size)
            if all(not par[x] & ~sum(1 << y for y in members) for x in members)
        ]
        if closed:
            return sum(1 << x for x in closed[0])
    raise AssertionError("all of them are closed")


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 7), st.sampled_from([0.5, 2.0, 6.0, 30.0]))
def test_the_smallest_closed_set(seed, n, slack):
    scores, multipliers = problem(seed, n)
    reduced = reduced_of(scores, multipliers)
    own = ancestry(scores.parents, tuple(reduced), np.zeros(0, np.uint64))
    check_ancestry(own)
    everything, par = np.uint64((1 << n) - 1), np.empty(64, np.uint64)
    for varset in range((1 << n) - 1):
        found = int(closed_set(np.uint64(varset), everything, slack, own, par))
        assert found == naive_set(scores, reduced, varset, slack)


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 9), st.integers(0, 9))
def test_h1_of_the_kernels_is_that_of_the_formula(seed, n, low_bits):
    """Every node's bound, from what its partition has in common and what it has itself."""
    _, multipliers = problem(seed, n)
    low_bits = min(max(1, low_bits), n)
    clusters = cluster_bound(multipliers, np.arange(n))
    near = new_near(clusters)
    masks, weights = near.masks[2], near.weights[2]
    for varset in range(1 << n):
        high = varset >> low_bits << low_bits
        count = VECTOR * int(near_clusters(np.uint64(high), low_bits, near))
        outside = sum(int(w) for m, w in zip(masks[:count], weights[:count], strict=True) if not int(m) & varset)
        total = outside * UNIT + sum(clusters.waiting[b, varset >> 8 * b & 255] for b in range(8))
        assert total == pytest.approx(cluster_value(multipliers, varset), abs=1e-9)
        assert all(not int(m) & high for m, w in zip(masks[:count], weights[:count], strict=True) if w)


def test_the_set_of_many_nodes_is_that_of_each():
    scores, multipliers = problem(5, 7)
    own = ancestry(scores.parents, tuple(reduced_of(scores, multipliers)), np.zeros(0, np.uint64))
    clusters = cluster_bound(multipliers, np.arange(7))
    varsets, g, limit = np.arange(127, dtype=np.uint64), np.linspace(0, 9, 127), multipliers.root + 12.0
    found = closed_sets_of(varsets, g, 7, clusters, own, limit, unhalted())
    par = np.empty(64, np.uint64)
    for varset, cost, closed in zip(varsets, g, found, strict=True):
        slack = limit - cost - cluster_value(multipliers, int(varset))
        assert closed == closed_set(varset, np.uint64(127), slack, own, par)


def test_numbers_stand_for_the_smallest_set_that_holds_a_nodes():
    sets = np.array([0b1110, 0b110, 0b11110000], np.uint64)
    own = ancestry((np.zeros((1, 1), np.uint64),), (np.zeros(1),), sets)
    check_ancestry(own)
    allowed = own.allowed

    def number(closed, outside=0b11111111):
        return int(number_of(np.uint64(closed), np.uint64(outside), allowed))

    assert number(0b100) == 2
    assert [int(allowed[number(closed)]) for closed in (0b110, 0b1010, 0b11000000)] == [0b110, 0b1110, 0b11110000]
    assert number(0b100001) == ALL_SUCCESSORS
    assert number(0b110, outside=0b110) == ALL_SUCCESSORS
    assert [int(allowed[x]) for x in (0, 63)] == [1, 1 << 63]
    assert int(allowed[ALL_SUCCESSORS]) == (1 << 64) - 1


def test_frequent_sets_are_those_that_save_the_most():
    assert frequent_sets(np.array([1, 2, 2], np.uint64), 8).size == 0
    closed = np.repeat(np.array([0b11, 0b111111, 0b110], np.uint64), [3, 4, 2])
    assert frequent_sets(closed, 8).tolist() == [0b11, 0b110, 0b111111]
    many = np.array([3 << k for k in range(50)] + [0b10001 << k for k in range(50)] + [7 << k for k in range(60)]
                    + [0b1001 << k for k in range(60)], np.uint64)  # fmt: skip
    assert frequent_sets(many, 64).size == MOST_SETS == 255 - VARIABLES
