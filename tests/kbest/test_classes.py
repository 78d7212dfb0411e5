"""Equivalence classes, ranks and averages against what is obvious."""

import itertools
import math

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.kbest.networks import Networks
from extbnsl.kbest.ranking import arc_shares, class_keys, family_shares, numbered, ranks, shares
from extbnsl.networks.network import Network, cpdag
from extbnsl.results.networks import varsets_of


def all_parents(n):
    return np.array(naive.all_dags(n), np.uint64)[:, :, None]


@pytest.mark.parametrize(("n", "classes"), [(1, 1), (2, 2), (3, 11), (4, 185), (5, 8782)])
def test_networks_have_the_same_key_exactly_if_they_are_equivalent(n, classes):
    """The numbers of classes: OEIS A007984."""
    number = numbered(class_keys(all_parents(n)))
    assert number.max() + 1 == classes
    if n < 5:
        names = tuple(f"v{i}" for i in range(n))
        graphs = [cpdag(Network(names, tuple(map(tuple, map(naive.members, dag))))) for dag in naive.all_dags(n)]
        known = {}
        for graph, own in zip(graphs, number.tolist(), strict=True):
            assert known.setdefault(graph, own) == own
        assert len(known) == classes


def test_classes_are_numbered_as_they_come():
    keys = np.array([[5, 1], [2, 9], [5, 1], [2, 8], [2, 9]], np.uint64)
    assert numbered(keys).tolist() == [0, 1, 0, 2, 1]


def test_wide_networks_have_keys():
    """A chain of 130 variables either way is one class; with a collider it is another."""
    n = 130
    parents = np.zeros((3, n, 3), np.uint64)
    for v in range(1, n):
        parents[0, v, (v - 1) // 64] = np.uint64(1) << np.uint64((v - 1) % 64)
        parents[1, v - 1, v // 64] = np.uint64(1) << np.uint64(v % 64)
    parents[2] = parents[0]
    parents[2, 100] |= parents[1, 100]
    parents[2, 101] = 0
    assert numbered(class_keys(parents)).tolist() == [0, 0, 1]


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), max_size=20))
def test_ranks_are_one_more_than_there_are_cheaper_networks(values):
    costs = np.sort(np.array(values, float)) + 1e-12 * np.arange(len(values))
    expected = [1 + sum(other < own for other in values) for own in sorted(values)]
    assert ranks(costs).tolist() == expected


def test_costs_that_creep_do_not_tie_for_ever():
    found = ranks(1.0 + 1e-9 * np.arange(10.0))
    assert found[0] == 1
    assert found[-1] > 1


def test_shares_are_those_of_the_costs():
    found = shares(np.array([7000.0, 7000.0 + math.log(2), 7000.0 + math.log(4)]))
    assert found.tolist() == pytest.approx([4 / 7, 2 / 7, 1 / 7])
    assert shares(np.zeros(0)).size == 0


def test_arcs_have_the_weights_of_their_networks():
    rng, n = np.random.default_rng(4), 4
    dags = [naive.all_dags(n)[i] for i in rng.integers(0, 543, 30)]
    varsets = [sorted({dag[x] for dag in dags}) for x in range(n)]
    rows = np.array([[varsets[x].index(dag[x]) for x in range(n)] for dag in dags], np.int32)
    weights = shares(np.sort(rng.random(30)))
    networks, parents = Networks(rows, np.zeros(30)), [np.array(own, np.uint64)[:, None] for own in varsets]
    families = family_shares(networks, [len(own) for own in varsets], weights)
    found = arc_shares(parents, families)
    for p, x in itertools.product(range(n), repeat=2):
        expected = sum(w for dag, w in zip(dags, weights, strict=True) if dag[x] >> p & 1)
        assert found[p, x] == pytest.approx(expected)
    assert [tuple(row[:, 0].tolist()) for row in varsets_of(parents, rows)] == dags
    assert varsets_of(parents, rows[3:5]).shape == (2, n, 1)
