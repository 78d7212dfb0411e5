"""How two networks differ, beside matrices of their graphs and the classes as the sets of their members."""

import itertools
import random

import naive
import pytest

from extbnsl.networks.comparing import compared
from extbnsl.networks.network import Network

NAMES = ("a", "b", "c", "d")


def network_of(graph):
    return Network(NAMES[: len(graph)], tuple(tuple(naive.members(varset)) for varset in graph))


def skeleton_and_vees(graph):
    """What the members of a class have in common (Verma and Pearl 1990)."""
    joined = {frozenset((p, x)) for x, own in enumerate(graph) for p in naive.members(own)}
    vees = {
        (frozenset((p, q)), x)
        for x, own in enumerate(graph)
        for p, q in itertools.combinations(naive.members(own), 2)
        if frozenset((p, q)) not in joined
    }
    return frozenset(joined), frozenset(vees)


def class_marks(graph, n):
    """For each pair how the members of the class join it: an arc that all have, or a set of both directions."""
    own = skeleton_and_vees(graph)
    members = [other for other in naive.all_dags(n) if skeleton_and_vees(other) == own]
    pairs = itertools.combinations(range(n), 2)
    return {
        (a, b): frozenset((bool(other[b] >> a & 1), bool(other[a] >> b & 1)) for other in members) for a, b in pairs
    }


def twin(one, other, n):
    """Arcs in both, reversed, of each alone, and both distances."""

    def has(graph, p, x):
        return bool(graph[x] >> p & 1)

    arcs = [(p, x) for p in range(n) for x in range(n) if p != x]
    both = [arc for arc in arcs if has(one, *arc) and has(other, *arc)]
    turned = [(p, x) for p, x in arcs if has(one, p, x) and has(other, x, p)]
    first = [arc for arc in arcs if has(one, *arc) and arc not in both and arc not in turned]
    second = [(p, x) for p, x in arcs if has(other, p, x) and not has(one, p, x) and not has(one, x, p)]
    pairs = list(itertools.combinations(range(n), 2))
    distance = sum((has(one, a, b), has(one, b, a)) != (has(other, a, b), has(other, b, a)) for a, b in pairs)
    marks, others = class_marks(one, n), class_marks(other, n)
    return both, turned, first, second, distance, sum(marks[pair] != others[pair] for pair in pairs)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_networks_are_compared_as_their_matrices_and_classes_say(n):
    graphs, rng = naive.all_dags(n), random.Random(n)
    for one, other in [(rng.choice(graphs), rng.choice(graphs)) for _ in range(60)] + [(graphs[-1], graphs[-1])]:
        found = compared(network_of(one), network_of(other))
        *groups, distance, of_classes = twin(one, other, n)
        named = [tuple((NAMES[p], NAMES[x]) for p, x in group) for group in groups]
        assert [found.both, found.reversed, found.first_alone, found.second_alone] == named
        assert (found.distance, found.class_distance) == (distance, of_classes)


def test_a_network_is_as_far_from_another_as_that_from_it():
    rng = random.Random(5)
    for _ in range(20):
        one, other = (network_of(rng.choice(naive.all_dags(4))) for _ in range(2))
        there, back = compared(one, other), compared(other, one)
        assert (there.distance, there.class_distance) == (back.distance, back.class_distance)
        assert there.first_alone == back.second_alone
        assert sorted(arc[::-1] for arc in there.reversed) == sorted(back.reversed)


def test_the_document_has_plain_values():
    found = compared(network_of((0, 1)), network_of((2, 0))).document()
    assert found == {
        "both": [],
        "reversed": [["a", "b"]],
        "first_alone": [],
        "second_alone": [],
        "distance": 1,
        "class_distance": 0,
    }
