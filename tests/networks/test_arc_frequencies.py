"""Counts of arcs against equivalence classes that are listed, and the consensus."""

import naive
import numpy as np
import pytest
from classes import allows, members
from knowing import random_knowledge

from extbnsl.core.knowledge import NOTHING
from extbnsl.networks.arc_frequencies import Counts, arc_frequencies, consensus, count_arcs
from extbnsl.networks.network import Network


def network(graph):
    """The network of parents as bitmasks."""
    return Network(tuple(f"v{i}" for i in range(len(graph))), tuple(tuple(naive.members(own)) for own in graph))


def naive_counts(graphs, n, *knowledge):
    """arcs, compelled and reversible, parent by child, from the members of each class."""
    arcs, compelled, reversible = np.zeros((3, n, n), int)
    for graph in graphs:
        listed = members(graph, *knowledge)
        has = np.array([[[own >> p & 1 for own in one] for p in range(n)] for one in listed], bool)
        arcs += [[own >> p & 1 for own in graph] for p in range(n)]
        compelled += has.all(axis=0)
        reversible += has.any(axis=0) & has.any(axis=0).T
    return arcs, compelled, reversible


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_counts_are_those_of_the_listed_classes(n):
    rng, names = np.random.default_rng(n), network((0,) * n).names
    dags = naive.all_dags(n)
    for knowledge in (NOTHING, *(random_knowledge(rng, names) for _ in range(20))):
        graphs = [dags[i] for i in rng.integers(len(dags), size=30) if allows(knowledge, names, dags[i])]
        found = count_arcs(map(network, graphs), n, knowledge)
        arcs, compelled, reversible = naive_counts(graphs, n, knowledge, names)
        assert (found.arcs == arcs).all()
        assert (found.compelled == compelled).all()
        assert (found.reversible == reversible).all()
        assert (found.joined == compelled + compelled.T + reversible).all()


def test_frequencies_are_shares_strongest_pair_first():
    # 0 -> 2 <- 1 twice, 0 -> 2 alone once, nothing once
    graphs = [(0, 0, 0b011)] * 2 + [(0, 0, 0b001), (0, 0, 0)]
    told = [vars(one) for one in arc_frequencies(count_arcs(map(network, graphs), 3), ("a", "b", "c"))]
    keys = ("parent", "child", "strength", "direction", "arc", "compelled", "reversible")
    assert told == [
        dict(zip(keys, row, strict=True))
        for row in (
            ("a", "c", 0.75, 2.5 / 3, 0.75, 0.5, 0.25),
            ("c", "a", 0.75, 0.5 / 3, 0.0, 0.0, 0.25),
            ("b", "c", 0.5, 1.0, 0.5, 0.5, 0.0),
            ("c", "b", 0.5, 0.0, 0.0, 0.0, 0.0),
        )
    ]


def counts_of(networks, compelled):
    """Counts in which each of these arcs is compelled so often."""
    n = 1 + max(max(arc) for arc in compelled)
    table = np.zeros((n, n), np.int64)
    for arc, often in compelled.items():
        table[arc] = often
    return Counts(networks, table, table, np.zeros_like(table))


def test_an_arc_that_closes_a_cycle_is_left_out_unless_it_comes_first():
    counts = counts_of(10, {(0, 1): 10, (1, 2): 9, (2, 0): 8})
    assert consensus(counts, 0.5) == ((0, 1), (1, 2))
    assert consensus(counts, 0.5, first=[(2, 0)]) == ((0, 1), (2, 0))
    assert consensus(counts, 0.95) == ((0, 1),)


def test_the_threshold_is_reached_exactly():
    counts = counts_of(3, {(0, 1): 1, (1, 2): 2})
    assert consensus(counts, 2 / 3) == ((1, 2),)
    assert consensus(counts, 1 / 3) == ((0, 1), (1, 2))


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.8])
def test_a_consensus_is_acyclic_and_has_nothing_weak(threshold):
    rng = np.random.default_rng(3)
    dags = naive.all_dags(4)
    for _ in range(50):
        graphs = [dags[i] for i in rng.integers(len(dags), size=7)]
        counts = count_arcs(map(network, graphs), 4)
        found = consensus(counts, threshold)
        own = [sum(1 << p for p, x in found if x == child) for child in range(4)]
        assert naive.is_acyclic(tuple(own))
        strong = {(a, b) for a in range(4) for b in range(a) if counts.joined[a, b] / 7 >= threshold}
        taken = {(max(arc), min(arc)) for arc in found}
        assert taken <= strong
        for a, b in strong - taken:  # each that is missing would close a cycle
            assert not (
                naive.is_acyclic(tuple(o | (1 << a if x == b else 0) for x, o in enumerate(own)))
                and naive.is_acyclic(tuple(o | (1 << b if x == a else 0) for x, o in enumerate(own)))
            )


def test_without_networks_there_is_nothing():
    counts = count_arcs([], 3)
    assert arc_frequencies(counts, ("a", "b", "c")) == ()
    assert consensus(counts, 0.5) == ()
