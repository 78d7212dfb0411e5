"""A* over the order graph: which nodes it expands, what it takes, and what a stop leaves."""

import contextlib
import itertools

import naive
import numpy as np
import pytest
from cases import random_families, scores_of, wishful
from contexts import context_of
from large import most_memory_of

from extbnsl.core.claims import INTERRUPTED, MEMORY_LIMIT, OPTIMAL
from extbnsl.lab.baselines.a_star import find
from extbnsl.machine.workers import Stopped
from extbnsl.proof.methods import LOWER_BOUNDS

SMALL = 1 << 19  # bytes that something else takes for a moment, such as a page that is split


def found(scores, lower_bound="static", **how):
    with context_of(lower_bound, **how) as context:
        return find(scores, context)


def problem(seed, n):
    """Families, costs without ties in every second problem, and their BestScores."""
    rng = np.random.default_rng(seed)
    families = random_families(rng, n, most=30, costs=(lambda m: rng.normal(20, 10, m)) if seed % 2 else None)
    return scores_of(families), naive.best_scores(naive.cost_table(n, families))


def stop_after(polls):
    left = iter(range(polls))
    return lambda: None if next(left, None) is not None else INTERRUPTED


def cost_of(scores, rows):
    return sum(float(costs[row]) for costs, row in zip(scores.costs, rows.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(12))
def test_expands_what_it_must(seed):
    """With the bound of the paper: all nodes with f below the optimum, and none with f above it, each once."""
    n = 9
    scores, best = problem(seed, n)
    g = np.full(1 << n, np.inf)
    g[0] = 0.0
    for varset in range(1, 1 << n):
        g[varset] = min(g[varset ^ 1 << x] + best[x, varset ^ 1 << x] for x in naive.members(varset))
    least = best.min(axis=1)
    f = g + [sum(least[x] for x in range(n) if not varset >> x & 1) for varset in range(1 << n)]
    optimum = g[-1]
    outcome = found(scores)
    assert outcome.status == OPTIMAL
    must, may = int((f < optimum - 1e-6).sum()), int((f[:-1] <= optimum + 1e-6).sum())
    assert must <= outcome.counts["expanded"] <= may
    assert outcome.counts["expanded"] <= outcome.counts["nodes"] <= 1 << n
    assert outcome.counts["generated"] <= n << n - 1


def test_no_more_expansions_than_varsets():
    for lower_bound in LOWER_BOUNDS:
        for seed in range(10):
            scores = scores_of(wishful(seed))
            outcome = found(scores, lower_bound)
            assert outcome.status == OPTIMAL
            assert 7 <= outcome.counts["expanded"] < 1 << 7
            assert outcome.counts["generated"] <= 7 << 6


def test_of_equal_f_the_larger_comes_first():
    """Independent variables: one path is enough."""
    scores = scores_of([[(0, 1.0 + x / 3)] for x in range(12)])
    for lower_bound in LOWER_BOUNDS:
        assert found(scores, lower_bound).counts["expanded"] == 12


def test_better_bounds_expand_less():
    expanded = dict.fromkeys(LOWER_BOUNDS, 0)
    for seed in range(10):
        scores, _ = problem(2 * seed + 1, 11)
        for lower_bound in LOWER_BOUNDS:
            expanded[lower_bound] += found(scores, lower_bound).counts["expanded"]
    assert expanded["auto"] <= min(expanded["pattern"], expanded["clusters"])
    assert max(expanded["pattern"], expanded["clusters"]) < expanded["static"]


@pytest.mark.parametrize("lower_bound", LOWER_BOUNDS)
def test_a_stop_leaves_a_bound_and_a_network(lower_bound, sizes):
    """At every poll. The bound never falls, and the network is one along an order."""
    sizes({"a_star.EDGES": 20})
    scores, best = problem(5, 8)
    optimum = naive.optimal_cost_dp(8, best)
    bounds, polls = [], 0
    while True:
        polls += 1
        try:
            outcome = found(scores, lower_bound, stop=stop_after(polls))
        except Stopped:  # while the bound was made
            continue
        assert outcome.lower_bound <= optimum + 1e-9 <= cost_of(scores, outcome.rows) + 2e-9
        bounds.append(outcome.lower_bound)
        if outcome.status == OPTIMAL:
            break
        assert outcome.status == INTERRUPTED
    assert bounds == sorted(bounds)
    assert bounds[-1] == pytest.approx(optimum, abs=1e-6)
    assert len(bounds) > (10 if lower_bound == "static" else 1)


def test_the_network_of_a_stop_is_completed_with_the_bound():
    """One group of a pattern database is exact: so is what is completed by it, from the empty set on."""
    for seed in range(10):
        scores, best = problem(seed, 10)
        for polls in itertools.count():
            with contextlib.suppress(Stopped):  # while the bound was made
                outcome = found(scores, "pattern", stop=stop_after(polls))
                break
        assert (outcome.status, outcome.counts["expanded"]) == (INTERRUPTED, 0)
        assert cost_of(scores, outcome.rows) == pytest.approx(naive.optimal_cost_dp(10, best))


def test_a_stop_is_heard_between_a_few_expansions(sizes):
    sizes({"a_star.EDGES": 20})
    scores, _ = problem(3, 10)
    polls = []
    outcome = found(scores, stop=lambda: polls.append(None))
    assert len(polls) >= outcome.counts["generated"] / 30


@pytest.mark.slow
def test_memory_is_told_and_kept_to():
    scores, best = problem(1, 17)
    whole = found(scores)
    assert whole.status == OPTIMAL
    told, peak = whole.counts["memory_bytes"], most_memory_of(lambda: found(scores))
    assert told <= peak <= told + SMALL
    less = told // 2
    outcome, peak = found(scores, memory=less), most_memory_of(lambda: found(scores, memory=less))
    assert outcome.status == MEMORY_LIMIT
    assert 0.8 * less <= outcome.counts["memory_bytes"] <= less
    assert outcome.counts["memory_bytes"] <= peak <= outcome.counts["memory_bytes"] + SMALL
    assert outcome.counts["expanded"] < whole.counts["expanded"]
    optimum = naive.optimal_cost_dp(17, best)
    assert cost_of(scores, whole.rows) == pytest.approx(optimum)
    assert outcome.lower_bound <= optimum + 1e-9 <= cost_of(scores, outcome.rows) + 2e-9
