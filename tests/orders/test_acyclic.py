"""Acyclic selection: never a cycle, never worse than along the order, what the slow twin chooses."""

import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lists import acyclic_choice, cost_along, cost_of_network, distinct_costs, random_lists
from lists import given as as_given

from extbnsl.orders.acyclic import acyclic_choices, settle, topological_order
from extbnsl.orders.parent_lists import parent_lists

SETTINGS = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
GO_ON, STOP = np.zeros(1, np.uint8), np.ones(1, np.uint8)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 10))
def test_acyclic_selection_is_acyclic_and_never_worse(seed, n):
    families, _ = random_lists(seed, n)
    rng = np.random.default_rng(seed)
    families = distinct_costs(families, rng)
    lists = parent_lists(as_given(families))
    order = rng.permutation(n).astype(np.int32)
    choice = acyclic_choices(order, GO_ON, lists)
    parents = lists.chosen(choice)
    varsets = [sum(1 << p for p in own) for own in parents]
    assert varsets == acyclic_choice(order, families)
    assert naive.is_acyclic(varsets)
    cost = cost_of_network(parents, families)
    assert cost <= cost_along(order, families) + 1e-9
    after = topological_order(order, choice, lists)
    place = np.argsort(after)
    assert sorted(after.tolist()) == list(range(n))
    assert all(place[p] < place[x] for x, own in enumerate(parents) for p in own)
    assert cost_along(after, families) <= cost + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_of_more_variables_than_a_word_has_bits(seed):
    """Each wants one random parent, and knows no other: there is no cheaper choice than to want and get."""
    n = 200
    rng = np.random.default_rng(seed)
    wanted = [int(rng.choice([p for p in range(n) if p != x])) for x in range(n)]
    families = [[(0, 10.0), (1 << p, 1.0)] for p in wanted]
    lists = parent_lists(as_given(families))
    order = rng.permutation(n).astype(np.int32)
    parents = lists.chosen(acyclic_choices(order, GO_ON, lists))
    varsets = [sum(1 << p for p in own) for own in parents]
    assert naive.is_acyclic(varsets)
    # one child of each cycle of wishes goes without
    assert sum(not own for own in parents) == cycles(wanted)
    assert varsets == acyclic_choice(order, families)


def cycles(wanted):
    """How many cycles the graph has in which each has one arc."""
    seen, count = {}, 0
    for start in range(len(wanted)):
        x = start
        while x not in seen:
            seen[x] = start
            x = wanted[x]
        count += seen[x] == start  # the walk from here came back to itself
    return count


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 9), st.floats(0.0, 1.0))
def test_settling_is_never_worse_and_says_the_cost(seed, n, needy):
    families, lists = random_lists(seed, n, needy)
    order = np.random.default_rng(seed).permutation(n).astype(np.int32)
    before = cost_along(order, families)
    cost = settle(order, GO_ON, lists)
    after = cost_along(order, families)
    assert after <= before
    if after < np.inf:
        assert cost == pytest.approx(after, rel=1e-12)
    assert settle(order.copy(), GO_ON, lists) == cost


def test_settling_looks_at_halt_before_it_changes_anything():
    families, lists = random_lists(3, 9)
    for drawn in range(20):
        order = np.random.default_rng(drawn).permutation(9).astype(np.int32)
        settled, halted = order.copy(), order.copy()
        if settle(settled, GO_ON, lists) < cost_along(order, families) - 1e-9:
            break
    assert settle(halted, STOP, lists) == pytest.approx(cost_along(order, families), rel=1e-12)
    assert halted.tolist() == order.tolist() != settled.tolist()
