"""Components of the parent relation: they partition, come in order, and their optima add up."""

import naive
import numpy as np
from cases import random_families, scores_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extbnsl.kernels.varsets import unpack
from extbnsl.parents.components import components
from extbnsl.parents.pruning import prune

SETTINGS = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))


def sparse_families(seed, n):
    """Families with few parents, so that there are several components."""
    rng = np.random.default_rng(seed)
    families = random_families(rng, n, most=4)
    reach = int(rng.integers(1, 2**n))
    return [sorted({v & reach: c for v, c in own}.items()) for own in families]


def keep(array):
    return array


def naive_components(candidates):
    """Sets of variables that reach each other, by the transitive closure."""
    n = len(candidates)
    reach = np.eye(n, dtype=bool)
    for child, parents in enumerate(candidates):
        reach[child, list(parents)] = True
    for middle in range(n):
        reach |= np.outer(reach[:, middle], reach[middle])
    return {frozenset(np.flatnonzero(reach[x] & reach[:, x]).tolist()) for x in range(n)}


def test_families_inside_their_component_are_not_pruned_again(calls):
    """With a million families that takes seconds, in which no stop is noticed."""
    ring = [{0: 5.0, 1 << (x + 1) % 6: 4.0, 1 << (x + 2) % 6: 4.0, 0b111111 ^ 1 << x: 1.0 + x} for x in range(6)]
    scores = prune(scores_of([sorted(own.items()) for own in ring]))
    pruned = calls("parents.pruning", "undominated")
    (component,) = components(scores, keep)
    assert not pruned
    for x in range(6):
        assert np.array_equal(component.parents[x], scores.parents[x])
        assert np.array_equal(component.costs[x], scores.costs[x])


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 8))
def test_strongly_connected_and_in_order(seed, n):
    scores = prune(scores_of(sparse_families(seed, n)))
    candidates = [unpack(np.bitwise_or.reduce(p, axis=0)) for p in scores.parents]
    found = components(scores, keep)
    assert {frozenset(c.variables) for c in found} == naive_components(candidates)
    assert sorted(v for c in found for v in c.variables) == list(range(n))
    before = set()
    for component in found:
        before |= set(component.variables)
        assert component.size == len(component.variables)
        for x in component.variables:
            assert set(candidates[x]) <= before


def projected(varset, variables):
    """A varset over all variables as one over some of them, the others left out."""
    return sum(1 << j for j, v in enumerate(variables) if varset >> v & 1)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 8))
def test_optima_add_up(seed, n):
    families = sparse_families(seed, n)
    optimum = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))
    scores = prune(scores_of(families))
    total, before = 0.0, 0
    for component in components(scores, keep):
        k = component.size
        inside = [
            list(zip(p[:, 0].tolist(), c.tolist(), strict=True))
            for p, c in zip(component.parents, component.costs, strict=True)
        ]
        total += naive.optimal_cost_dp(k, naive.best_scores(naive.cost_table(k, inside)))
        before |= sum(1 << v for v in component.variables)
        for i, x in enumerate(component.variables):
            given_before = {(projected(v, component.variables), c) for v, c in families[x] if not v & ~before}
            assert set(inside[i]) <= given_before
            assert (np.diff(component.costs[i]) >= 0).all()
    assert total == optimum


def test_a_long_chain_does_not_recurse():
    n = 64
    scores = scores_of([[(0, 2.0), (1 << (x + 1) % n, 1.0)] for x in range(n)])
    (ring,) = components(scores, keep)
    assert ring.variables == tuple(range(n))
