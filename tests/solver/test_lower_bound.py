"""The lower bound of given families: never above the optimum, and at it where linear programs prove it."""

import math

import naive
import numpy as np
import pytest
from cases import random_families, scores_of

from extbnsl.machine.workers import Workers
from extbnsl.solver.lower_bound import raised_bound

ROOM = 1 << 30


def optimum(families):
    n = len(families)
    return naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_above_that_of_the_cheapest_families_and_never_above_the_optimum(seed):
    families = random_families(np.random.default_rng(seed), 7)
    best = optimum(families)
    least = sum(min(cost for _, cost in own) for own in families)
    with Workers(2) as workers:
        bound = raised_bound(scores_of(families), best, ROOM, workers, seed)
    assert bound <= best + 1e-9
    assert bound > least or best == pytest.approx(least)
    assert bound == pytest.approx(best, rel=1e-3)


def test_without_memory_or_time_the_cheapest_families_are_the_bound():
    scores = scores_of(random_families(np.random.default_rng(1), 7))
    least = math.fsum(float(costs[0]) for costs in scores.costs)
    with Workers(1) as workers:
        assert raised_bound(scores, least + 5, 100, workers, 0) == least
    with Workers(1, lambda: "interrupted") as workers:
        assert raised_bound(scores, least + 5, ROOM, workers, 0) == least
