"""Lists of networks: the cheapest of them, lists that are put together, families that are found again."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patching import sized
from twins import component_within

from extbnsl.kbest.networks import Cheapest, Networks, joined, no_networks, numbers_in
from extbnsl.parents.components import split

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


def random_list(rng, most, variables):
    """Costs with ties, some below zero; rows that tell the networks apart."""
    m = int(rng.integers(0, most + 1))
    costs = np.sort(rng.integers(0, 8, m) / 4.0) + rng.integers(-3, 4)
    return Networks(rng.permutation(1000)[: m * variables].reshape(m, variables).astype(np.int32), costs)


@SETTINGS
@given(st.integers(0, 2**32), st.one_of(st.none(), st.integers(1, 9)))
def test_the_cheapest_are_kept_in_whatever_parts_they_come(seed, most):
    rng = np.random.default_rng(seed)
    rows, costs = rng.integers(0, 99, (40, 2)).astype(np.int32), rng.integers(0, 12, 40) / 4.0
    cheapest, at = Cheapest(no_networks(2), 2.5, most), 0
    while at < 40:
        size = int(rng.integers(1, 12))
        cheapest.add(rows[at : at + size], costs[at : at + size])
        at += size
    found = cheapest.networks()
    found.check()
    expected = np.sort(costs[costs < 2.5])[:most]
    assert found.costs.tolist() == expected.tolist()
    assert {(*row, cost) for row, cost in zip(map(tuple, found.rows), found.costs, strict=True)} <= {
        (*row, cost) for row, cost in zip(map(tuple, rows), costs, strict=True)
    }
    assert cheapest.limit == (expected[-1] if expected.size == most else 2.5)


def test_the_room_is_kept():
    """As long as it has room for those that are wanted and for what is added, they are found; else that is said."""
    rows, costs = np.arange(400).reshape(200, 2).astype(np.int32), np.random.default_rng(1).permutation(200) / 1.0

    def added(most, room, step):
        cheapest = Cheapest(no_networks(2), math.inf, most, room)
        for at in range(0, 200, step):
            cheapest.add(rows[at : at + step], costs[at : at + step])
        return cheapest.networks().costs.tolist()

    for most, room in ((10, 16 * 20), (10, math.inf), (None, 16 * 200)):
        assert added(most, room, 10) == list(range(most or 200))
    for most, room in ((10, 16 * 9), (None, 16 * 199)):
        with pytest.raises(MemoryError):
            added(most, room, 1)


@SETTINGS
@given(st.integers(0, 2**32), st.one_of(st.none(), st.integers(1, 30)), st.integers(-36, 48), st.integers(1, 50))
def test_lists_are_put_together_as_their_product(seed, most, quarters, pairs):
    rng, limit = np.random.default_rng(seed), quarters / 4.0
    places = [[1], [0, 3], [2]]
    lists = [random_list(rng, 6, len(own)) for own in places]
    with sized({"networks.PAIRS": pairs}):
        found = joined(lists, places, limit, most)
    found.check()
    product = []
    for chosen in itertools.product(*(range(own.costs.size) for own in lists)):
        row = np.zeros(4, np.int32)
        for own, i, at in zip(lists, chosen, places, strict=True):
            row[at] = own.rows[i]
        product.append((sum(own.costs[i] for own, i in zip(lists, chosen, strict=True)), tuple(row.tolist())))
    below = sorted(one for one in product if one[0] < limit)
    assert found.costs.tolist() == pytest.approx([cost for cost, _ in below][:most])
    rows = list(map(tuple, found.rows.tolist()))
    assert len(rows) == len(set(rows))
    assert {(round(cost, 9), row) for cost, row in zip(found.costs.tolist(), rows, strict=True)} <= {
        (round(cost, 9), row) for cost, row in below
    }


def test_of_no_list_there_is_one_network_without_variables():
    found = joined([], [], 1.0, None)
    assert found.rows.shape == (1, 0)
    assert found.costs.tolist() == [0.0]
    assert joined([no_networks(1)], [[0]], 1.0, None).costs.size == 0


def test_families_of_a_part_are_found_in_the_whole_though_they_look_alike_there():
    """Child 1 has families that differ outside the part alone, two of which cost the same."""
    table = np.full((3, 8), np.inf)
    table[0, [0, 2]] = 3.0, 2.0
    table[1, [0, 1, 4, 5]] = 5.0, 4.0, 4.0, 4.0
    table[2, 0] = 1.0
    whole = component_within(table, 10.0)
    parts = split(whole.parents, whole.costs, lambda array: array, 10.0)
    assert [part.variables for part in parts] == [(2,), (0, 1)]
    numbers = numbers_in(whole, parts[1])
    masks = [[int(p[0]) for p in own] for own in parts[1].parents]
    assert masks == [[2, 0], [0, 1, 1, 0]]
    found = [[int(whole.parents[child][i][0]) for i in own] for child, own in zip((0, 1), numbers, strict=True)]
    assert found[0] == [2, 0]
    assert found[1][0] == 4
    assert sorted(found[1][1:3]) == [1, 5]
    assert found[1][3] == 0
    alone = numbers_in(whole, replace(parts[0]))
    assert alone[0].tolist() == [0]


def test_numbers_are_given_again():
    own = Networks(np.array([[0, 1], [1, 0]], np.int32), np.array([1.0, 2.0]))
    again = own.with_numbers([np.array([7, 3], np.int32), np.array([5, 4], np.int32)])
    assert again.rows.tolist() == [[7, 4], [3, 5]]
    assert again.costs.tolist() == [1.0, 2.0]
