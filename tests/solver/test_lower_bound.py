"""The lower bound of given families: never above the optimum, and at it where linear programs prove it."""

import math

import naive
import numpy as np
import pytest
from cases import random_families, scores_of

from extbnsl.machine.workers import Workers
from extbnsl.parents.components import Component
from extbnsl.solver import components as lower_bound
from extbnsl.solver.components import bound_of_listed, raised_bound

ROOM = 1 << 30
PLENTY = 1000.0  # seconds


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
    assert (bound > least) == (best != pytest.approx(least))
    assert bound == pytest.approx(best, rel=1e-3)


def test_without_memory_or_time_the_cheapest_families_are_the_bound():
    scores = scores_of(random_families(np.random.default_rng(1), 7))
    least = math.fsum(float(costs[0]) for costs in scores.costs)
    with Workers(1) as workers:
        assert raised_bound(scores, least + 5, 100, workers, 0) == least
    with Workers(1, lambda: "interrupted") as workers:
        assert raised_bound(scores, least + 5, ROOM, workers, 0) == least


def some_listed(rng, families):
    """The families with some of each child left out, as one component, and what those that are left out cost least."""
    parts, unlisted = [], []
    for own in families:
        left_out = rng.random(len(own)) < rng.choice([0.0, 0.3, 0.9])
        left_out[[varset == 0 for varset, _ in own]] = False
        unlisted.append(min((cost for (_, cost), out in zip(own, left_out, strict=True) if out), default=math.inf))
        parts.append([one for one, out in zip(own, left_out, strict=True) if not out])
    scores = scores_of(parts)
    return Component(tuple(range(len(parts))), scores.parents, scores.costs), unlisted


@pytest.mark.parametrize("most", [lower_bound.MOST_LISTED, 14])
@pytest.mark.parametrize("seed", range(20))
def test_what_is_not_listed_may_be_in_every_network(seed, most, sizes):
    sizes({"components.MOST_LISTED": most})
    rng = np.random.default_rng(seed)
    families = random_families(rng, 7)
    component, unlisted = some_listed(rng, families)
    assert bound_of_listed(component, unlisted, ROOM, seed, PLENTY) <= optimum(families) + 1e-9


def test_cycles_of_the_families_that_are_listed_raise_the_bound(sizes):
    families = [[(0b10, 1.0), (0, 5.0)], [(0b01, 2.0), (0, 8.0)], [(0, 4.0)]]
    scores = scores_of(families)
    component = Component((0, 1, 2), scores.parents, scores.costs)
    assert bound_of_listed(component, [math.inf, math.inf, math.inf], ROOM, 0, PLENTY) == pytest.approx(5 + 2 + 4)
    assert bound_of_listed(component, [math.inf, math.inf, 3.0], ROOM, 0, PLENTY) == pytest.approx(5 + 2 + 3)
    assert bound_of_listed(component, [1.5, math.inf, math.inf], ROOM, 0, PLENTY) == pytest.approx(1.5 + 2 + 4)
    assert bound_of_listed(component, [1.5, math.inf, math.inf], 0, 0, PLENTY) == 1 + 2 + 4
    assert bound_of_listed(component, [1.5, math.inf, math.inf], ROOM, 0, 0.0) == 1 + 2 + 4
    assert 1 + 2 + 4 <= bound_of_listed(component, [1.5, math.inf, math.inf], ROOM, 0, 1e-9) <= 1.5 + 2 + 4 + 1e-6
    sizes({"components.WIDEST": 2})
    assert bound_of_listed(component, [1.5, math.inf, math.inf], ROOM, 0, PLENTY) == 1 + 2 + 4
