"""The walk against all networks: each below the limit once, whatever interrupts it."""

import naive
import numpy as np
import pytest
from cases import random_dataset
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twins import all_networks, component_within, parents_of, rest_table

from extbnsl.kbest.walk import new_walk, rest_of, walk_families, walk_on

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
GO_ON = np.zeros(1, np.uint8)


def table_of(seed, n, records=40):
    dataset = random_dataset(np.random.default_rng(seed), n, records, 3)
    return naive.all_local_scores(dataset.codes, dataset.arities)


def rest_of_table(table):
    rest = rest_table(table)
    return rest_of([(np.arange(len(rest), dtype=np.uint64), np.array(rest))], len(rest))


def walked(table, limit, most=100, steps=10**9, lower=lambda found: np.inf):
    """The networks of a table below a limit, by their parents, and their costs; `lower` may lower the limit."""
    component, rest = component_within(table, np.inf), rest_of_table(table)
    families, walk = walk_families(component.parents, component.costs), new_walk(len(table))
    found, costs = [], []
    rows, room = np.empty((most, len(table)), np.int32), np.empty(most)
    while walk.depth[0] >= 0:
        limit = min(limit, lower(costs))
        written = walk_on(walk, families, rest, limit, steps, rows, room, GO_ON)
        found += [parents_of(component, row) for row in (rows[:written] - families.first[:-1]).tolist()]
        costs += room[:written].tolist()
    return found, costs


@pytest.mark.parametrize(("n", "networks"), [(1, 1), (2, 3), (3, 25), (4, 543), (5, 29_281)])
def test_without_a_limit_every_network_is_found_once(n, networks):
    found, costs = walked(table_of(n, n), np.inf)
    assert len(found) == len(set(found)) == networks
    assert set(found) == set(naive.all_dags(n))
    assert sorted(costs) == pytest.approx(all_networks(table_of(n, n)).tolist(), abs=1e-8)


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.floats(0.0, 1.0), st.integers(1, 7), st.integers(1, 30))
def test_below_a_limit_all_networks_are_found_however_often_it_is_interrupted(seed, n, share, most, steps):
    table = table_of(seed, n)
    every = all_networks(table)
    limit = every[int(share * (every.size - 1))] + 1e-7
    found, costs = walked(table, limit, most, steps)
    assert len(found) == len(set(found)) == (every < limit).sum()
    assert sorted(costs) == pytest.approx(every[: len(found)].tolist(), abs=1e-8)
    for parents, cost in zip(found, costs, strict=True):
        assert sum(table[x][p] for x, p in enumerate(parents)) == pytest.approx(cost, abs=1e-8)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(1, 40))
def test_a_limit_that_falls_keeps_the_cheapest(seed, n, most):
    table = table_of(seed, n)

    def lower(costs):
        return sorted(costs)[most - 1] if len(costs) >= most else np.inf

    _, costs = walked(table, np.inf, 3, 50, lower)
    every = all_networks(table)
    assert sorted(costs)[:most] == pytest.approx(every[:most].tolist(), abs=1e-8)


def test_a_stop_signal_ends_a_call():
    table = table_of(1, 4)
    component, walk = component_within(table, np.inf), new_walk(4)
    rows, costs = np.empty((9, 4), np.int32), np.empty(9)
    families = walk_families(component.parents, component.costs)
    assert walk_on(walk, families, rest_of_table(table), np.inf, 10**9, rows, costs, np.ones(1, np.uint8)) == 0
    assert walk.depth[0] == 0


def test_families_that_differ_in_their_numbers_alone_make_different_networks():
    """As those do whose parents outside the component are others."""
    parents = [np.array([[0], [0], [2]], np.uint64), np.array([[0], [1]], np.uint64)]
    costs = [np.array([1.0, 1.0, 1.5]), np.array([1.0, 1.25])]
    families, walk = walk_families(parents, costs), new_walk(2)
    rest = rest_of([(np.arange(4, dtype=np.uint64), np.array([0.0, 1.0, 1.0, 2.0]))], 4)
    rows, room = np.empty((9, 2), np.int32), np.empty(9)
    written = walk_on(walk, families, rest, 10.0, 10**9, rows, room, GO_ON)
    found = {tuple(row) for row in (rows[:written] - families.first[:-1]).tolist()}
    assert found == {(0, 0), (1, 0), (2, 0), (0, 1), (1, 1)}


def test_all_64_variables_can_go():
    parents = [np.array([[0]], np.uint64)] * 63 + [np.array([[0], [1]], np.uint64)]
    costs = [np.array([1.0])] * 63 + [np.array([1.0, 1.5])]
    suffixes = [(1 << k) - 1 for k in range(65)] + [((1 << k) - 1) ^ 1 << 63 | 1 << 63 for k in range(1)]
    varsets = np.array([s for s in suffixes if s < 2**64], np.uint64)
    rest = rest_of([(varsets, np.bitwise_count(varsets).astype(float))], varsets.size)
    rows, room = np.empty((9, 64), np.int32), np.empty(9)
    walk = new_walk(64)
    assert walk_on(walk, walk_families(parents, costs), rest, 100.0, 10**9, rows, room, GO_ON) == 2
    assert sorted(room[:2].tolist()) == [64.0, 64.5]


def test_the_table_takes_what_is_said():
    rng = np.random.default_rng(0)
    varsets = np.unique(rng.integers(0, 2**63, 5000).astype(np.uint64))
    rest = rest_of([(varsets[:10], np.arange(10.0)), (varsets[10:], np.arange(10.0, varsets.size))], varsets.size)
    assert rest.keys.size == rest.values.size == 1 << 14
    assert rest.keys.size >= varsets.size / 0.6
