"""Interventional classes: networks that no intervention with these targets tells apart."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from cases import dataset_of
from cases_of_records import cost_of

from extbnsl.core.claims import Claim
from extbnsl.core.knowledge import NOTHING
from extbnsl.data.beside import Targets
from extbnsl.kbest.ranking import class_keys, numbered
from extbnsl.networks.network import Network, cpdag, with_targets
from extbnsl.verify.listed import class_key, scored_family, told_by_targets


def data(sets, n=4, records=60, seed=0):
    """Random records in which each of these sets was set."""
    rng = np.random.default_rng(seed)
    of = rng.integers(0, len(sets), records).astype(np.uint16)
    dataset = dataset_of(rng.integers(0, 2, (records, n)), [2] * n)
    return replace(dataset, targets=Targets(tuple(sets), of))


def looks(graph, sets):
    """What tells a class by its definition: skeleton and v-structures, and the skeleton when arcs into what is set are
    gone, for each set."""
    n = len(graph)
    arcs = {(p, x) for x in range(n) for p in naive.members(graph[x])}
    skeleton = frozenset(map(frozenset, arcs))
    colliders = frozenset(
        (frozenset((a, b)), x)
        for a, x in arcs
        for b, y in arcs
        if x == y and a != b and frozenset((a, b)) not in skeleton
    )
    cut = tuple(frozenset(frozenset(arc) for arc in arcs if arc[1] not in own) for own in sets)
    return skeleton, colliders, cut


SETS = [((), (0,)), ((), (0, 1)), ((), (0,), (1, 2)), ((0,), (1,), (2, 3)), ((), (0, 1, 2), (3,))]


@pytest.mark.parametrize("sets", SETS)
def test_classes_are_those_of_the_definition(sets):
    dataset, n = data(sets), 4
    graphs = naive.all_dags(n)
    classes = {}
    for graph in graphs:
        classes.setdefault(looks(graph, sets), []).append(graph)
    parents = np.array(graphs, np.uint64)[:, :, None]
    numbers = numbered(class_keys(parents, apart=dataset.targets.apart(n))).tolist()
    told = told_by_targets(dataset)
    for members in classes.values():
        arcs = [{(p, x) for x in range(n) for p in naive.members(graph[x])} for graph in members]
        common = set.intersection(*arcs)
        for graph in members:
            network = Network(dataset.names, tuple(tuple(naive.members(own)) for own in graph))
            knowledge = with_targets(network, NOTHING, dataset.targets.names(dataset.names))
            directed, undirected = cpdag(network, knowledge)
            assert set(directed) == common
            assert len(directed) + len(undirected) == len(arcs[0])
        assert len({numbers[graphs.index(graph)] for graph in members}) == 1
        keys = {
            class_key(
                [scored_family(dataset, x, tuple(naive.members(own)), Claim()) for x, own in enumerate(graph)], told
            )
            for graph in members[:3]
        }
        assert len(keys) == 1
    assert len(set(numbers)) == len(classes)


@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize("score", ["mdl", "bdeu:3", "qnml"])
def test_members_of_a_class_cost_the_same(sets, score):
    dataset, costs, by_class = data(sets), {}, {}
    for graph in naive.all_dags(4):
        cost = 0.0
        for x, own in enumerate(graph):
            key = x, own
            if key not in costs:
                costs[key] = cost_of(dataset, x, naive.members(own), score)
            cost += costs[key]
        by_class.setdefault(looks(graph, sets), []).append(cost)
    assert any(len(own) > 1 for own in by_class.values())
    for own in by_class.values():
        assert max(own) == pytest.approx(min(own), abs=1e-8)
