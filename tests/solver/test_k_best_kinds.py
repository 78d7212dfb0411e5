"""The k best networks and classes of odd problems: constant and equal columns, declared states, gaps in score files.

Brute force ranks them; tests/solver/test_k_best.py has what any data are asked.
"""

import itertools
import math
from functools import cache

import naive
import numpy as np
import pytest
from asking import k_best_networks
from cases import dataset_of, scores_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extbnsl.core.claims import OPTIMAL, Claim
from extbnsl.core.errors import InputError
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets

SETTINGS = settings(deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))
ONE = Budgets(threads=1, memory=1 << 30)
NEAR = 1e-7  # nats


def structure(dag):
    """What equivalent networks share: the skeleton and the v-structures."""
    edges = {frozenset((p, x)) for x, own in enumerate(dag) for p in naive.members(own)}
    couples = {(p, x, q) for x, own in enumerate(dag) for p, q in itertools.combinations(naive.members(own), 2)}
    return frozenset(edges), frozenset((p, x, q) for p, x, q in couples if frozenset((p, q)) not in edges)


@cache
def structures(n):
    return [structure(dag) for dag in naive.all_dags(n)]


def columns_that_never_vary(rng, n):
    codes = rng.integers(0, 2, (int(rng.integers(1, 60)), n))
    codes[:, rng.choice(n, int(rng.integers(1, 3)), replace=False)] = 0
    return codes, codes.max(axis=0) + 1 + rng.integers(0, 2, n)


def columns_that_are_equal(rng, n):
    codes = rng.integers(0, 3, (int(rng.integers(1, 60)), n))
    codes[:, 1:] = codes[:, :1] if rng.random() < 0.3 else np.where(rng.random(n - 1) < 0.5, codes[:, :1], codes[:, 1:])
    return codes, codes.max(axis=0) + 1


def columns_that_tell_nothing(rng, n):
    return np.array(list(itertools.product((0, 1), repeat=n)) * int(rng.integers(1, 4))), np.full(n, 2)


def declared_states(rng, n):
    codes = rng.integers(0, 2, (int(rng.integers(1, 9)), n))
    return codes, codes.max(axis=0) + 1 + rng.integers(0, 3, n)


KINDS = (columns_that_never_vary, columns_that_are_equal, columns_that_tell_nothing, declared_states)
SCOPES = st.builds(
    Scope,
    st.sampled_from([1, 2, 30, 10**5]),
    st.sampled_from([None, 1.0, 20.0, 1e12, 1e300]),
    st.booleans(),
)


def check(result, table, scope):
    """Against brute force: how many, their costs, their ranks, each its own cost, distinct, the numbers of classes."""
    n = len(table)
    dags, kinds = naive.all_dags(n), structures(n)
    costs = np.array([sum(table[x][p] for x, p in enumerate(dag)) for dag in dags])
    order = np.argsort(costs, kind="stable")[: int(np.isfinite(costs).sum())]
    if scope.classes:
        first = {}
        for i in order.tolist():
            first.setdefault(kinds[i], i)
        order = np.array(list(first.values()))
    ascending = costs[order]
    allowed = ascending[0] + (math.inf if scope.slack is None else scope.slack)
    expected = ascending[ascending <= allowed + NEAR][: scope.k]
    assert result.status == OPTIMAL
    assert [one.cost for one in result.networks] == pytest.approx(expected.tolist(), abs=NEAR)
    assert result.networks.ranks.tolist() == [1 + int((expected < cost - NEAR).sum()) for cost in expected]
    number, numbers = {dag: i for i, dag in enumerate(dags)}, {}
    found = [number[tuple(sum(1 << p for p in own) for own in one.network.parents)] for one in result.networks]
    assert len(set(found)) == len(found)
    assert [one.cost for one in result.networks] == pytest.approx(costs[found].tolist(), abs=NEAR)
    assert result.networks.classes.tolist() == [numbers.setdefault(kinds[i], len(numbers) + 1) for i in found]
    arcs, members = np.zeros((n, n)), found
    if scope.slack is not None and not scope.classes:  # all within the factor
        members = np.flatnonzero(costs <= allowed + NEAR).tolist()
        assert result.counted == len(members)
    if scope.classes:  # all that are found of each
        within = math.inf if result.within is None else result.within
        members = [
            i for i in np.argsort(costs).tolist() if kinds[i] in numbers and costs[i] <= ascending[0] + within + NEAR
        ]
    weights = np.exp(ascending[0] - costs[members])
    for i, likely in zip(members, weights / weights.sum(), strict=True):
        for x, own in enumerate(dags[i]):
            arcs[naive.members(own), x] += likely
    assert result.arcs == pytest.approx(arcs, abs=1e-9)
    if not scope.classes:
        weights_of_listed = np.exp(ascending[0] - expected)
        assert result.networks.shares == pytest.approx(weights_of_listed / weights.sum(), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@SETTINGS
@given(seed=st.integers(0, 2**32), n=st.integers(2, 4), scope=SCOPES, score=st.sampled_from(["mdl", "aic"]))
def test_odd_columns(kind, seed, n, scope, score):
    rng = np.random.default_rng(seed)
    codes, arities = kind(rng, n)
    limit = [None, 0, 1, 2][seed % 4]
    dataset = dataset_of(codes, arities)
    result = k_best_networks(dataset, scope, Claim(score, limit), budgets=ONE)
    check(result, naive.all_local_scores(dataset.codes, dataset.arities, limit, score), scope)


@pytest.mark.slow
@SETTINGS
@given(seed=st.integers(0, 2**32), n=st.integers(2, 5), scope=SCOPES)
def test_score_files_with_gaps(seed, n, scope):
    rng = np.random.default_rng(seed)
    families = []
    for x in range(n):
        sets = sorted({int(v) & ~(1 << x) for v in rng.integers(0, 1 << n, int(rng.integers(1, 12)))})
        families.append([(own, float(cost)) for own, cost in zip(sets, rng.integers(-3, 3, len(sets)), strict=True)])
    try:
        scores = scores_of(families)
    except InputError:  # no choice of families is acyclic
        return
    check(k_best_networks(scores, scope, budgets=ONE), naive.cost_table(n, families), scope)
