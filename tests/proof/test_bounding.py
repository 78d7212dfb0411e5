"""The bounds of pieces: what they tell, and how they go on where no search is possible."""

import re

import numpy as np
import pytest
from cases import scores_of, wishful
from flat import estimate, solve

from extbnsl.bounds.lp.polish import LACKING, ROOT
from extbnsl.core.events import StageAdvanced
from extbnsl.orders import population
from extbnsl.proof.bounding import _Turns
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
def test_the_gap_that_is_told_is_what_a_stop_leaves(turn, poor_incumbents):
    """Also while other components have no bounds yet."""
    poor_incumbents()
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


def test_multipliers_end_where_groups_prove_it(thorough, calls):
    """The families that are cheap enough allow no order, which multipliers do not see: costs that are closer to each
    other than they look at."""
    ascents = calls("bounds.ascent", "find_multipliers")
    ring = [[(1 << 3, 0.0)], [(1 << 2, 0.0)], [(1 << 0, 0.0)], [(1 << 1, 8.99999997), (0, 8.99999999)]]
    result = solve(scores_of(ring), threads=1, polish=False, time_limit=20.0)
    assert result.status == "optimal"
    assert result.cost == 8.99999999
    assert ascents
    assert max(call.given[2] for call in ascents) <= FEWEST_ROUNDS


@pytest.mark.slow
def test_where_no_search_is_possible_bounds_go_on_at_the_root(poor_incumbents, calls):
    """No rounds of improvement and no programs for nodes, which only a search would use; and it is proved."""
    poor_incumbents()  # a good one leaves small pieces at once
    polishing, ascents = calls("bounds.lp.polish", "polished"), calls("bounds.ascent", "find_multipliers")
    result = solve(unsearchable(range(10)), threads=1)
    assert result.status == "optimal"
    goals, rounds = ([call.given[2] for call in made if of_many(call)] for made in (polishing, ascents))
    assert goals
    assert all(goal.share == ROOT != LACKING and goal.left > 0.0 for goal in goals)
    assert rounds
    assert set(rounds) == {0}


def of_many(call):
    """Whether a function got the families of more variables than a search can have."""
    return call.given[0].first.size - 1 > 64


@pytest.mark.slow
@pytest.mark.parametrize("many", [True, False])
def test_where_no_search_is_possible_all_solutions_are_made_networks(many, poor_incumbents, monkeypatch):
    heard, turns = poor_incumbents(), []
    monkeypatch.setattr(_Turns, "_tell", lambda self, done, total, unit: turns.append(unit))
    solve(unsearchable(range(10)) if many else side_by_side([0]), threads=1, polish=True)
    assert len(turns) > 3
    assert (len(heard) == len(turns)) == many
    assert heard


@pytest.mark.parametrize(("how", "brief"), [({}, True), ({"polish": False}, False), ({"lower_bound": "static"}, False)])
def test_descents_do_for_a_first_network_only_where_linear_programs_follow(how, brief, monkeypatch):
    made, real = [], population.search_lists

    def search(*given, **options):
        made.append(options.get("improve"))
        return real(*given, **options)

    monkeypatch.setattr(population, "search_lists", search)
    solve(unsearchable(range(10)), threads=1, stop=lambda: "interrupted" if made else None, **how)
    assert (made[0] is population.by_descent) == brief


def test_a_first_network_that_others_go_on_from_is_searched_for(monkeypatch):
    """The k best networks, and the estimate, make no networks of solutions."""
    made, real = [], population.search_lists

    def search(*given, **options):
        made.append(options.get("improve"))
        return real(*given, **options)

    monkeypatch.setattr(population, "search_lists", search)
    estimate(unsearchable(range(10)), threads=1, effort=1.0)
    assert made
    assert population.by_descent not in made
