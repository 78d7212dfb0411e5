"""Climbs by swaps: each swap gains what a fresh evaluation says, and a climb ends where none is better."""

import itertools

import numpy as np
import pytest
from asking import approximate_network
from calling import called
from cases import scores_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lists import cost_along, random_lists

from extbnsl.core.claims import Claim
from extbnsl.lab.baselines.swaps import SEARCHES, climb_by_swaps, swap_gain
from extbnsl.machine.budgets import Budgets
from extbnsl.orders.line import new_line
from extbnsl.solver.methods import ApproximateMethods

new_line, swap_gain = called(new_line), called(swap_gain)

SETTINGS = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
GO_ON = np.zeros(1, np.uint8)


def problem(seed, n):
    families, lists = random_lists(seed, n)
    return families, lists, np.random.default_rng(seed).permutation(n).astype(np.int32)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 9))
def test_a_swap_gains_what_it_says(seed, n):
    families, lists, order = problem(seed, n)
    line = new_line(order, lists)
    for k in range(n - 1):
        after = order.copy()
        after[[k, k + 1]] = after[[k + 1, k]]
        expected = cost_along(after, families) - cost_along(order, families)
        assert swap_gain(k, line, lists) == pytest.approx(expected, abs=1e-9)
        assert line.place.tolist() == np.argsort(order).tolist()


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 9))
def test_a_climb_ends_where_no_swap_is_better(seed, n):
    families, lists, order = problem(seed, n)
    before = cost_along(order, families)
    cost = climb_by_swaps(order, GO_ON, lists)
    assert cost == pytest.approx(cost_along(order, families), rel=1e-12)
    assert cost <= before
    for k in range(n - 1):
        after = order.copy()
        after[[k, k + 1]] = after[[k + 1, k]]
        assert cost_along(after, families) >= cost - 1e-9


def test_a_climb_that_is_told_to_stop_leaves_the_order():
    families, lists, order = problem(1, 8)
    before = order.copy()
    assert climb_by_swaps(order, np.ones(1, np.uint8), lists) == pytest.approx(cost_along(before, families))
    assert order.tolist() == before.tolist()


@pytest.mark.parametrize("search", SEARCHES)
def test_a_question_is_answered_by_the_search_that_it_names(search, monkeypatch):
    families, _ = random_lists(2, 5)
    climbs, known = [], SEARCHES[search]
    monkeypatch.setitem(SEARCHES, search, lambda *given: climbs.append(search) or known(*given))
    methods = ApproximateMethods(search=search)
    result = approximate_network(scores_of(families), Claim(), methods, Budgets(threads=1, time_limit=30.0))
    assert climbs
    assert result.cost == pytest.approx(min(cost_along(order, families) for order in itertools.permutations(range(5))))
    assert result.options["search"] == search
