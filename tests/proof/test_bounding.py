"""The bounds of pieces: what they tell, and how they go on where no search is possible."""

import re

import numpy as np
import pytest
from cases import scores_of, wishful
from flat import solve
from patching import make_incumbents_poor, patch_everywhere

from extbnsl.bounds.ascent import find_multipliers
from extbnsl.bounds.lp.polish import LACKING, ROOT, polished
from extbnsl.core.events import StageAdvanced
from extbnsl.proof.strategy import FEWEST_ROUNDS
from extbnsl.scores.local import local_scores

HARD = 7  # variables of a component that clusters alone do not prove


def side_by_side(seeds):
    """Local scores of as many components as seeds."""
    families = []
    for k, seed in enumerate(seeds):
        families += [[(p << HARD * k, cost) for p, cost in own] for own in wishful(seed)]
    return scores_of(families)


def unsearchable(seeds):
    """Local scores of one component of many variables: a ring of hard ones, each hung to the one before by an arc."""
    n = HARD * len(seeds)
    pairs = []
    for k, seed in enumerate(seeds):
        for x, own in enumerate(wishful(seed)):
            varsets, costs = [p << HARD * k for p, _ in own], [cost for _, cost in own]
            if x == 0:
                varsets.append(1 << (HARD * k - 1) % n)
                costs.append(min(costs) + 0.1)
            words = [[v >> 64 * w & (1 << 64) - 1 for w in range(-(-n // 64))] for v in varsets]
            pairs.append((np.array(words, np.uint64), np.array(costs)))
    return local_scores([f"v{j}" for j in range(n)], pairs, "file", None)


@pytest.mark.parametrize("turn", [1, 2])
def test_the_gap_that_is_told_is_what_a_stop_leaves(turn, monkeypatch):
    """Also while other components have no bounds yet."""
    make_incumbents_poor(monkeypatch)
    told = []

    def observer(event):
        gap = re.search(r"cuts, gap ([\d.]+)", event.unit) if isinstance(event, StageAdvanced) else None
        if gap:
            told.append(float(gap[1]))

    def stop():
        return "interrupted" if len(told) >= turn else None

    result = solve(side_by_side(range(3)), threads=1, polish=True, observer=observer, stop=stop)
    assert result.status == "interrupted"
    assert len(told) == turn
    assert result.upper_bound - result.lower_bound <= told[-1] + 1e-3


def test_multipliers_end_where_groups_prove_it(thorough, monkeypatch):
    """The families that are cheap enough allow no order, which multipliers do not see: costs that are closer to each
    other than they look at."""
    rounds = []

    def improve(families, start, some, *given):
        rounds.append(some)
        return find_multipliers(families, start, some, *given)

    patch_everywhere(monkeypatch, "bounds.ascent", "find_multipliers", improve)
    ring = [[(1 << 3, 0.0)], [(1 << 2, 0.0)], [(1 << 0, 0.0)], [(1 << 1, 8.99999997), (0, 8.99999999)]]
    result = solve(scores_of(ring), threads=1, polish=False, time_limit=20.0)
    assert result.status == "optimal"
    assert result.cost == 8.99999999
    assert rounds
    assert max(rounds) <= FEWEST_ROUNDS


@pytest.mark.slow
def test_where_no_search_is_possible_bounds_go_on_at_the_root(monkeypatch):
    """No rounds of improvement and no programs for nodes, which only a search would use; and it is proved."""
    make_incumbents_poor(monkeypatch)  # a good one leaves small pieces at once
    goals, rounds = [], []

    def record(families, start, goal, *given):
        goals.append((families.first.size - 1, goal))
        return polished(families, start, goal, *given)

    def improve(families, start, some, *given):
        rounds.append((families.first.size - 1, some))
        return find_multipliers(families, start, some, *given)

    patch_everywhere(monkeypatch, "bounds.lp.polish", "polished", record)
    patch_everywhere(monkeypatch, "bounds.ascent", "find_multipliers", improve)
    result = solve(unsearchable(range(10)), threads=1)
    assert result.status == "optimal"
    large = [goal for n, goal in goals if n > 64]
    assert large
    assert all(goal.share == ROOT != LACKING and goal.left > 0.0 for goal in large)
    assert all(some == 0 for n, some in rounds if n > 64)


@pytest.mark.slow
def test_where_no_search_is_possible_more_solutions_are_made_networks(monkeypatch):
    make_incumbents_poor(monkeypatch)
    heard = []

    def record(*given):
        heard[-1] += 1
        return False

    monkeypatch.setattr("extbnsl.proof.prove.find_better_rounded", record)
    for every in (1, 1 << 30):
        monkeypatch.setattr("extbnsl.proof.bounding.SOLUTIONS", every)
        heard.append(0)
        solve(unsearchable(range(10)), threads=1)
    assert heard[0] > heard[1] > 0
