"""Lower bounds against brute force: admissible and consistent for every varset, exact for one group."""

import naive
import numpy as np
import pytest
from cases import random_families, scores_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_invariants import group_value

from extbnsl.bounds.at_nodes import group_bound
from extbnsl.bounds.patterns import (
    group_families,
    pattern_bytes,
    pattern_table,
    static_table,
)
from extbnsl.parents.pruning import prune

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


def remaining_costs(n, best):
    """The least cost of what comes after U, for every U: the dynamic program from the goal back."""
    rest = np.full(2**n, np.inf)
    rest[-1] = 0.0
    for varset in range(2**n - 2, -1, -1):
        for x in range(n):
            if not varset >> x & 1:
                rest[varset] = min(rest[varset], best[x, varset] + rest[varset | 1 << x])
    return rest


def cut(n, data):
    """Contiguous groups of the variables."""
    groups, at = [], 0
    while at < n:
        width = data.draw(st.integers(1, n - at))
        groups.append(tuple(range(at, at + width)))
        at += width
    return groups


def problem(seed, n, negative=False):
    rng = np.random.default_rng(seed)
    costs = (lambda m: rng.normal(0, 10, m)) if negative else None
    families = random_families(rng, n, most=25, costs=costs)
    scores = prune(scores_of(families))
    return scores, naive.best_scores(naive.cost_table(n, families))


def pattern_bound(scores, groups):
    tables = [pattern_table(*group_families(scores.parents, scores.costs, g)) for g in groups]
    return group_bound(tables)


def static_bound(scores, groups):
    return group_bound([static_table(np.array([scores.costs[x][0] for x in g])) for g in groups])


@pytest.mark.parametrize("make", [pattern_bound, static_bound])
@SETTINGS
@given(seed=st.integers(0, 2**32), n=st.integers(1, 8), negative=st.booleans(), data=st.data())
def test_admissible_and_consistent(make, seed, n, negative, data):
    scores, best = problem(seed, n, negative)
    bound = make(scores, cut(n, data))
    h = np.array([group_value(bound, varset) for varset in range(2**n)])
    assert h[-1] == 0.0
    assert (h <= remaining_costs(n, best) + 1e-9).all()
    for varset in range(2**n):
        for x in range(n):
            if not varset >> x & 1:
                assert h[varset] <= best[x, varset] + h[varset | 1 << x] + 1e-9


@SETTINGS
@given(seed=st.integers(0, 2**32), n=st.integers(1, 8))
def test_one_group_is_exact(seed, n):
    scores, best = problem(seed, n)
    bound = pattern_bound(scores, [tuple(range(n))])
    h = [group_value(bound, varset) for varset in range(2**n)]
    np.testing.assert_allclose(h, remaining_costs(n, best), rtol=1e-12, atol=1e-9)


@SETTINGS
@given(seed=st.integers(0, 2**32), n=st.integers(2, 8), data=st.data())
def test_a_group_is_the_problem_with_the_others_given(seed, n, data):
    """Any group, contiguous or not: entry A is the cost of the rest when all variables outside are before."""
    scores, best = problem(seed, n)
    group = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1)))
    table = pattern_table(*group_families(scores.parents, scores.costs, group))
    outside = (1 << n) - 1 & ~sum(1 << v for v in group)
    k = len(group)
    assert table.shape == (2**k,)
    rest = np.full(2**k, np.inf)
    rest[-1] = 0.0
    for part in range(2**k - 2, -1, -1):
        before = outside | sum(1 << group[i] for i in range(k) if part >> i & 1)
        rest[part] = min(best[group[i], before] + rest[part | 1 << i] for i in range(k) if not part >> i & 1)
    np.testing.assert_allclose(table, rest, rtol=1e-12, atol=1e-9)


@SETTINGS
@given(seed=st.integers(0, 2**32), n=st.integers(2, 8), data=st.data())
def test_backward_a_group_is_the_problem_over_its_members(seed, n, data):
    """Entry A is the cost of A when all variables outside the group are before, and no more of the group."""
    scores, best = problem(seed, n)
    group = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1)))
    table = pattern_table(*group_families(scores.parents, scores.costs, group), True)
    outside = (1 << n) - 1 & ~sum(1 << v for v in group)
    k = len(group)
    least = np.full(2**k, np.inf)
    least[0] = 0.0
    for part in range(1, 2**k):
        for i in range(k):
            if part >> i & 1:
                rest = part ^ 1 << i
                before = outside | sum(1 << group[j] for j in range(k) if rest >> j & 1)
                least[part] = min(least[part], least[rest] + best[group[i], before])
    np.testing.assert_allclose(table, least, rtol=1e-12, atol=1e-9)


@SETTINGS
@given(seed=st.integers(0, 2**32), n=st.integers(1, 8), data=st.data())
def test_patterns_are_at_least_static(seed, n, data):
    scores, _ = problem(seed, n)
    groups = cut(n, data)
    pattern, static = pattern_bound(scores, groups), static_bound(scores, groups)
    assert all(group_value(pattern, v) >= group_value(static, v) - 1e-9 for v in range(2**n))


def test_bytes():
    assert pattern_bytes(1) == 8 + 16
    assert pattern_bytes(4) == 8 * 4 * 8 + 8 * 16
