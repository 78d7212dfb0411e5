"""Costs below zero, as score files and densities have them: every bound and parent graph finds the optimum."""

import naive
import numpy as np
import pytest
from asking import k_best_networks
from cases import chained_numbers, random_families, scores_of
from flat import solve

from extbnsl import learn
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Workers
from extbnsl.proof.methods import LOWER_BOUNDS, PARENT_GRAPHS, Methods
from extbnsl.verify.statement import verify_optimality


def negative(seed, n=9):
    """Local scores of which most are below zero, as families, and what the cheapest network costs."""
    rng = np.random.default_rng(seed)
    families = random_families(rng, n, 25, lambda m: rng.uniform(-90.0, 10.0, m))
    return families, naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))


@pytest.mark.parametrize("parent_graph", PARENT_GRAPHS)
@pytest.mark.parametrize("lower_bound", LOWER_BOUNDS)
def test_the_optimum_is_found_and_proved(lower_bound, parent_graph, poor_incumbents):
    """Also from a poor network, so that the search has to find it."""
    searched = 0
    for seed in range(12):
        if seed == 6:
            poor_incumbents()
        families, optimum = negative(seed)
        scores = scores_of(families)
        result = solve(scores, threads=1, lower_bound=lower_bound, parent_graph=parent_graph)
        assert result.status == "optimal"
        assert result.cost == pytest.approx(optimum, abs=1e-9)
        assert result.lower_bound <= optimum
        searched += result.stats["nodes_kept"] > 0
        with Workers(1) as workers:
            assert verify_optimality(result.document(), scores, workers).complete
    assert searched


@pytest.mark.parametrize("lower_bound", LOWER_BOUNDS)
def test_the_k_best_are_those_of_all_networks(lower_bound):
    methods = Methods(lower_bound=lower_bound, path_extension=False, ancestral=False)
    for seed in range(6):
        families, _ = negative(seed, 4)
        scores, table = scores_of(families), naive.cost_table(4, families)
        every = np.sort([sum(table[x][p] for x, p in enumerate(dag)) for dag in naive.all_dags(4)])
        result = k_best_networks(scores, Scope(k=10), methods=methods, budgets=Budgets(threads=1, memory=1 << 30))
        found = [one.cost for one in result.networks]
        assert found == pytest.approx(every[np.isfinite(every)][: len(found)].tolist(), abs=1e-7)
        assert len(found) == min(10, np.isfinite(every).sum())


@pytest.mark.parametrize("lower_bound", LOWER_BOUNDS)
def test_densities_of_numbers(lower_bound):
    """In small units the whole network costs less than nothing."""
    for seed in range(3):
        numbers = chained_numbers(np.random.default_rng(seed), 6, 60)
        costs = naive.all_gaussian_costs(numbers.values * 1e-3)
        optimum = naive.optimal_cost_dp(len(costs), naive.best_scores(costs))
        small = learn(numbers.values * 1e-3, score="gaussian-bic", lower_bound=lower_bound, threads=1)
        assert small.cost == pytest.approx(optimum, rel=1e-9)
        assert small.cost < 0
