"""What a stop leaves before the families are pruned or split up, and after the moment that it grants."""

import math

import naive
import numpy as np
import pytest
from cases import random_families, scores_of
from contexts import context_of

from extbnsl.core.claims import INTERRUPTED
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.components import components
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.incumbents import find_parts
from extbnsl.scores.local import feasible_order, network_rows
from extbnsl.solver.families import before_a_stop, without_dominated

N = 8


def problem(seed):
    """Random families, of which some children have none without parents; their scores and the optimum."""
    rng = np.random.default_rng(seed)
    found = random_families(rng, N, 40)
    for x in range(1, N, 3):
        found[x] = [*[one for one in found[x] if one[0] > 1], (1, 25.0)]
    optimum = naive.optimal_cost_dp(N, naive.best_scores(naive.cost_table(N, found)))
    return scores_of(found), optimum


def survivors_of(scores):
    return Survivors(scores, np.full(N, np.inf), None, 0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("most", [1, 5 * N])
def test_the_cheapest_families_are_left_before_a_stop(seed, most, sizes):
    sizes(MOST_NAMED=most)
    scores, optimum = problem(seed)
    with Workers(1, lambda: INTERRUPTED) as workers:
        left, asked = before_a_stop(lambda own, halt: own, survivors_of(scores), workers)
    assert left.stopped == INTERRUPTED
    assert asked is left.scores
    assert not feasible_order(left.scores.parents)[1]
    assert all(own.size <= max(1, most // N) + 1 for own in left.scores.costs)
    assert math.fsum(left.least) <= optimum + 1e-9
    for own, kept, unjudged in zip(scores.costs, left.scores.costs, left.unjudged, strict=True):
        assert kept[0] == own[0]
        assert unjudged == (np.inf if kept.size == own.size else pytest.approx(own[max(1, most // N)]))


def test_nothing_changes_without_a_stop():
    scores, _ = problem(0)
    with Workers(1) as workers:
        left, asked = before_a_stop(lambda own, halt: halt[0], survivors_of(scores), workers)
        assert (left.stopped, asked) == (None, 0)
        assert left.scores is scores
        assert without_dominated(left, workers).scores.families < scores.families


def test_what_has_been_stopped_before_is_looked_at_as_it_is():
    scores, _ = problem(0)
    given = Survivors(scores, np.zeros(N), "time_limit", 3)
    with Workers(1, lambda: INTERRUPTED) as workers:
        left, halted = before_a_stop(lambda own, halt: halt[0], given, workers)
    assert left is given
    assert halted == 0


@pytest.mark.parametrize("seed", range(8))
def test_after_the_moment_any_network_does(seed, monkeypatch):
    scores, optimum = problem(seed)
    found = components(scores, lambda array: array)
    with context_of(stop=lambda: INTERRUPTED) as context:
        with pytest.raises(Stopped):
            context.workers.check()
        monkeypatch.setattr(context.workers, "left_of", lambda seconds: 0.0)
        parts = find_parts(Survivors(scores, np.zeros(N), None, 0), found, context)
    for part, one in zip(parts, found, strict=True):
        cost, before = 0.0, 0
        for x in part.order:
            inside = [
                c for (p,), c in zip(one.parents[x].tolist(), one.costs[x].tolist(), strict=True) if not p & ~before
            ]
            cost += inside[0]
            before |= 1 << x
        assert sorted(part.order) == list(range(one.size))
        assert part.upper_bound == pytest.approx(cost)
    assert math.fsum(part.upper_bound for part in parts) >= optimum - 1e-9


def test_network_rows():
    scores, _ = problem(1)
    order, rows = network_rows(scores.parents)
    assert sorted(order) == list(range(N))
    before = 0
    for x in order:
        fitting = [not p & ~before for p in scores.parents[x][:, 0].tolist()]
        assert rows[x] == fitting.index(True)
        before |= 1 << x
