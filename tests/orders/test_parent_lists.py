"""Families as lists of parents, what stands where, and random orders that have a network."""

import math

import naive
import numpy as np
import pytest
from cases import scores_of
from lists import cost_along, cost_of_network, given, random_lists

import extbnsl.orders.line as line
from extbnsl.core.errors import InputError
from extbnsl.kernels.varsets import pack, unpacked
from extbnsl.orders.line import random_order
from extbnsl.orders.parent_lists import lists_of_varsets, parent_lists


def state(seed):
    return np.array([seed + 1], np.uint64)


def families_of(lists, x):
    """The families of a child as (parents, cost), the stand-in left out."""
    last = lists.first[x + 1] - lists.stand_in[x]
    return [
        (tuple(lists.parents[lists.starts[f] : lists.starts[f + 1]].tolist()), lists.costs[f])
        for f in range(lists.first[x], last)
    ]


@pytest.mark.parametrize("seed", range(10))
def test_the_lists_are_those_of_the_families_in_score_order(seed):
    families, lists = random_lists(seed, 6, needy=0.3)
    for x, own in enumerate(families):
        empty = dict(own).get(0, math.inf)
        expected = sorted(((tuple(naive.members(v)), c) for v, c in own if c < empty or v == 0), key=lambda f: f[1])
        found = families_of(lists, x)
        assert [c for _, c in found] == [c for _, c in expected if c <= empty]
        assert set(found) <= {(tuple(naive.members(v)), c) for v, c in own}
        assert lists.stand_in[x] == (0 not in dict(own))


@pytest.mark.parametrize("seed", range(5))
def test_pairs_find_each_family_of_a_parent(seed):
    _, lists = random_lists(seed, 6)
    for x in range(6):
        found = set()
        for i in range(lists.pair_first[x], lists.pair_first[x + 1]):
            numbers = lists.with_parent[lists.pair_starts[i] : lists.pair_starts[i + 1]].tolist()
            assert numbers == sorted(numbers)
            found |= {(int(lists.child[i]), f) for f in numbers}
        expected = {(y, f) for y in range(6) for f, (own, _) in enumerate(families_of(lists, y)) if x in own}
        assert found == expected
        may = lists.candidates[lists.candidate_first[x] : lists.candidate_first[x + 1]].tolist()
        assert may == sorted({p for own, _ in families_of(lists, x) for p in own})


def test_scores_and_plain_lists_give_the_same():
    families, lists = random_lists(3, 6)
    scores = scores_of(families)
    other = lists_of_varsets(scores.parents, scores.costs)
    for x in range(6):
        assert sorted(families_of(other, x)) == sorted(families_of(lists, x))


def test_members_of_wide_varsets():
    rows = [(0, 63, 64, 129), (), (128,)]
    sizes, members = unpacked(np.stack([pack(row, 130) for row in rows]))
    assert sizes.tolist() == [4, 0, 1]
    assert members.tolist() == [0, 63, 64, 129, 128]


@pytest.mark.parametrize("seed", range(20))
def test_the_best_network_along_an_order(seed):
    families, lists = random_lists(seed, 7)
    order = np.random.default_rng(seed).permutation(7).astype(np.int32)
    expected = cost_along(order, families)
    choice, cost = line.best_along(order, lists)
    assert cost == pytest.approx(expected, rel=1e-12)
    parents = lists.chosen(choice)
    assert cost_of_network(parents, families) == pytest.approx(expected, rel=1e-12)
    before = {int(x): set(order[:k].tolist()) for k, x in enumerate(order)}
    assert all(set(own) <= before[x] for x, own in enumerate(parents))


def test_an_order_without_a_network_costs_more_than_any_with_one():
    families = [[(0, 0.0)], [(1, 1e6), (0b101, -1e6)], [(0, 5.0), (1, 0.0)]]
    lists = parent_lists(given(families))
    _, worst = line.best_along(np.array([0, 1, 2], np.int32), lists)
    assert math.isinf(cost_along([1, 0, 2], families))
    assert line.best_along(np.array([1, 0, 2], np.int32), lists)[1] > worst


@pytest.mark.parametrize("seed", range(30))
def test_random_orders_have_a_network(seed):
    families, lists = random_lists(seed, 8, needy=0.8)
    order = random_order(state(seed), lists)
    assert sorted(order.tolist()) == list(range(8))
    assert math.isfinite(cost_along(order, families))


def test_where_there_is_no_network_the_order_ends():
    lists = parent_lists(given([[(0b10, 1.0)], [(0b01, 1.0)], [(0, 1.0)]]))
    assert random_order(state(0), lists).tolist() == [2]


def test_random_orders_are_equally_likely():
    lists = parent_lists(given([[(0, 1.0)]] * 3))
    states = state(7)
    seen = [tuple(random_order(states, lists).tolist()) for _ in range(600)]
    assert len(set(seen)) == 6
    assert min(map(seen.count, set(seen))) > 50


def test_a_search_takes_some_variables():
    with pytest.raises(InputError, match="not 0"):
        parent_lists([])
