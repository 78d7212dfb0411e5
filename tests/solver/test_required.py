"""Parents that must be, and children that have no empty parent set: nothing fails, stopped or not, by any method.

Networks are compared with a dynamic program over all families that are admitted.
"""

import itertools
import math

import naive
import numpy as np
import pytest
from asking import solve, solve_by
from cases import claim_by, dataset_of, random_dataset
from knowing import admitted, random_knowledge

import extbnsl
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.lab.baselines.methods import BASELINES, BaselineMethods
from extbnsl.machine.budgets import Budgets
from extbnsl.parents.constraints import constraints_of

ONE = Budgets(threads=1)


def drawn(seed, score="mdl"):
    """Random data, knowledge that requires something, and the costs of all families: infinite where not admitted."""
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, int(rng.integers(4, 7)), 100)
    knowledge = Knowledge()
    while not knowledge.required:
        knowledge = random_knowledge(rng, dataset.names)
    costs = naive.all_local_scores(dataset.codes, dataset.arities, None, score)
    costs[~admitted(knowledge, dataset.names, None)] = np.inf
    return dataset, knowledge, costs


def least_cost(costs):
    return naive.optimal_cost_dp(len(costs), naive.best_scores(costs))


def agrees(result, knowledge):
    """Whether the result's network is one that the knowledge admits."""
    names = tuple(result.parents)
    allowed = admitted(knowledge, names, None)
    rows = [sum(1 << names.index(p) for p in result.parents[name]) for name in names]
    return all(allowed[x, row] for x, row in enumerate(rows))


class After:
    """A stop signal that is heard from the k-th time on that it is asked."""

    def __init__(self, k):
        self.left = k

    def __call__(self):
        self.left -= 1
        return "interrupted" if self.left < 0 else None


@pytest.mark.parametrize("score", ["mdl", "bdeu", "bds:5"])
@pytest.mark.parametrize("seed", range(6))
def test_whoever_stops_has_a_network_that_is_admitted_and_a_bound(seed, score):
    dataset, knowledge, costs = drawn(seed, score)
    claim, least = claim_by(score, None, knowledge), least_cost(costs)
    for k in (0, 1, 2, 3, 5, 8, 13, 21, 34):
        result = solve(dataset, claim, budgets=ONE, stop=After(k))
        assert agrees(result, knowledge)
        assert result.lower_bound - 1e-7 <= least <= result.cost + 1e-7
    assert agrees(solve(dataset, claim, budgets=Budgets(threads=1, time_limit=0.001)), knowledge)


@pytest.mark.parametrize("method", sorted(BASELINES))
@pytest.mark.parametrize("seed", range(4))
def test_methods_find_the_best_that_is_admitted(seed, method):
    dataset, knowledge, costs = drawn(10 + seed)
    claim, least = Claim(knowledge=knowledge), least_cost(costs)
    result = solve_by(dataset, claim, BaselineMethods(method), ONE)
    assert result.cost == pytest.approx(least, rel=1e-9, abs=1e-7)
    for k in (0, 3, 9):
        stopped = solve_by(dataset, claim, BaselineMethods(method), ONE, stop=After(k))
        assert agrees(stopped, knowledge)
        assert stopped.lower_bound <= least + 1e-7


@pytest.mark.parametrize("seed", range(30))
def test_local_scores_without_empty_parent_sets(seed):
    """There may be no network at all; then that is what is said."""
    dataset, _, costs = drawn(100 + seed)
    rng, n, names = np.random.default_rng(seed), len(costs), dataset.names
    costs[rng.random(costs.shape) < 0.6] = np.inf
    given = {
        names[x]: {
            tuple(names[v] for v in naive.members(s)): costs[x, s] for s in np.flatnonzero(costs[x] < np.inf).tolist()
        }
        for x in range(n)
    }
    if not all(given.values()):
        return
    least = least_cost(costs)
    for surely, find in (
        (True, lambda: extbnsl.learn(given, threads=1)),
        (False, lambda: extbnsl.learn(given, threads=1, time_limit=0.001)),
        (True, lambda: extbnsl.learn(given, threads=1, method=sorted(BASELINES)[seed % len(BASELINES)])),
        (True, lambda: extbnsl.k_best(given, 2, threads=1)),
        (False, lambda: extbnsl.approximate(given, time=0.05, threads=1)),
    ):
        if math.isinf(least):
            with pytest.raises(InputError, match=r"\S"):
                find()
        else:
            result = find()
            assert result.cost >= least - 1e-7
            assert result.status == "optimal" if surely else result.status in ("optimal", "time_limit", "heuristic")
            if result.status == "optimal":
                assert result.cost == pytest.approx(least, rel=1e-9, abs=1e-7)


def test_more_than_64_variables():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 2, (60, 70))
    for v in range(1, 70):
        codes[:, v] = np.where(rng.random(60) < 0.8, codes[:, rng.integers(v)], codes[:, v])
    required = tuple((f"v{a}", f"v{b}") for a, b in ((3, 60), (66, 60), (69, 2), (2, 5), (68, 69), (5, 61), (4, 61)))
    claim = Claim(max_parents=2, knowledge=Knowledge(required))
    for limit in (0.001, 0.05, 1.0):
        result = solve(dataset_of(codes), claim, budgets=Budgets(threads=1, time_limit=limit))
        assert all(parent in result.parents[child] for parent, child in required)
        assert result.lower_bound <= result.cost + 1e-7


NAMES = tuple("abcde")


def random_claims(rng):
    """Knowledge that may well contradict itself."""
    arcs = list(itertools.permutations(NAMES, 2))

    def some(of, share):
        return tuple(of[i] for i in np.flatnonzero(rng.random(len(of)) < share))

    tiers = (some(NAMES[:3], 0.5), some(NAMES[3:], 0.5))
    return Knowledge(
        some(arcs, 0.12),
        some(arcs, 0.05),
        some(arcs, 0.8) if rng.random() < 0.3 else (),
        tuple(tier for tier in tiers if tier),
        some(NAMES, 0.05),
        some(NAMES, 0.05),
        tuple((name, int(rng.integers(4))) for name in some(NAMES, 0.1)),
    )


def test_knowledge_is_refused_exactly_if_no_network_agrees_with_it():
    rng, refused = np.random.default_rng(8), 0
    for _ in range(400):
        knowledge = random_claims(rng)
        costs = np.where(admitted(knowledge, NAMES, None), 1.0, np.inf)
        possible = math.isfinite(least_cost(costs))
        try:
            constraints_of(Claim(knowledge=knowledge), NAMES)
        except InputError:
            assert not possible
            refused += 1
        else:
            assert possible
    assert 50 < refused < 350
