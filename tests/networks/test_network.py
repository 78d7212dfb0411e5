"""Networks: orders, equivalence classes against brute force, parameters."""

from collections import defaultdict
from itertools import combinations, pairwise

import naive
import numpy as np
import pytest

from extbnsl.core.errors import InputError, VerificationError
from extbnsl.data import Dataset
from extbnsl.networks.network import Network, cpdag
from extbnsl.networks.parameters import fit


def network_of(graph):
    """The Network of a tuple of parent varsets."""
    return Network(tuple("ABCDE"[: len(graph)]), tuple(tuple(naive.members(v)) for v in graph))


def class_key(graph):
    """Skeleton and v-structures: equal for two DAGs if and only if they are equivalent (Verma and Pearl)."""
    arcs = {(p, child) for child, varset in enumerate(graph) for p in naive.members(varset)}
    skeleton = frozenset(frozenset(arc) for arc in arcs)
    collisions = frozenset(
        (a, child, b)
        for child, varset in enumerate(graph)
        for a, b in combinations(naive.members(varset), 2)
        if frozenset((a, b)) not in skeleton
    )
    return skeleton, collisions


@pytest.mark.parametrize(("n", "classes"), [(1, 1), (2, 2), (3, 11), (4, 185)])
def test_cpdag_is_what_all_members_of_the_class_share(n, classes):
    by_class = defaultdict(list)
    for graph in naive.all_dags(n):
        by_class[class_key(graph)].append(graph)
    assert len(by_class) == classes  # counted by Gillispie and Perlman (2001)
    for graphs in by_class.values():
        networks = [network_of(graph) for graph in graphs]
        arc_sets = [set(network.arcs()) for network in networks]
        shared = set.intersection(*arc_sets)
        turned = {(min(arc), max(arc)) for arc in set.union(*arc_sets) - shared}
        for network in networks:
            assert cpdag(network) == (tuple(sorted(shared)), tuple(sorted(turned)))


@pytest.mark.slow
def test_cpdag_of_five_variables():
    """In every 40th class of five variables: what is directed is what its members share."""
    by_class = defaultdict(list)
    for graph in naive.all_dags(5):
        by_class[class_key(graph)].append(graph)
    assert len(by_class) == 8782
    for graphs in list(by_class.values())[::40]:
        arc_sets = [set(network_of(graph).arcs()) for graph in graphs]
        assert set(cpdag(network_of(graphs[0]))[0]) == set.intersection(*arc_sets)
        assert cpdag(network_of(graphs[0])) == cpdag(network_of(graphs[-1]))


def test_order_is_the_least_topological_order():
    for graph in naive.all_dags(4):
        network = network_of(graph)
        order = network.order()
        assert sorted(order) == [0, 1, 2, 3]
        assert all(order.index(p) < order.index(child) for p, child in network.arcs())
    assert Network(("a", "b", "c"), ((2,), (), ())).order() == (1, 2, 0)


def test_order_names_a_cycle():
    network = Network(("a", "b", "c", "d"), ((), (0, 3), (1,), (2,)))
    with pytest.raises(VerificationError, match="cycle 'b' -> 'c' -> 'd' -> 'b'"):
        network.order()
    with pytest.raises(VerificationError, match="cycle 'a' -> 'a'"):
        Network(("a",), ((0,),)).order()


def test_every_cyclic_graph_of_three_variables_has_its_cycle_named():
    for code in range(8**3):
        graph = (code & 7, code >> 3 & 7, code >> 6)
        if naive.is_acyclic(graph):
            continue
        with pytest.raises(VerificationError) as caught:
            network_of(graph).order()
        walk = ["ABC".index(word.strip("'.")) for word in str(caught.value).split("cycle ")[1].split(" -> ")]
        assert walk[0] == walk[-1]
        assert all(graph[b] >> a & 1 for a, b in pairwise(walk))


def test_names_go_there_and_back():
    network = Network.from_names(["x", "y", "z"], {"z": ["y", "x"]})
    assert network.parents == ((), (), (0, 1))
    assert network.arcs() == ((0, 2), (1, 2))
    assert network.parents_by_name() == {"x": [], "y": [], "z": ["x", "y"]}
    assert Network.from_names(network.names, network.parents_by_name()) == network


@pytest.mark.parametrize(
    ("names", "parents", "message"),
    [
        ("ab", {"c": []}, "'c', which is not a variable"),
        ("ab", {"a": ["c"]}, "'c' of 'a' is not a variable"),
        ("ab", {"a": ["b", "b"]}, "'a' must be distinct"),
        ("aa", {}, "must be distinct"),
    ],
)
def test_bad_names_are_refused(names, parents, message):
    with pytest.raises(InputError, match=message):
        Network.from_names(list(names), parents)


def test_check_refuses_indices_out_of_range():
    with pytest.raises(InputError, match="none of the 2 variables"):
        Network(("a", "b"), ((2,), ())).check()
    with pytest.raises(InputError, match="parents for 1"):
        Network(("a", "b"), ((),)).check()


def test_fit_is_relative_frequency():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, [2, 3, 2], (40, 3)).astype(np.uint16)
    codes[codes[:, 1] == 2, 0] = 0
    data = Dataset(("a", "b", "c"), (("0", "1"), ("0", "1", "2"), ("0", "1", "declared")), codes, "<array>")
    root, inner, leaf = fit(Network(data.names, ((), (0,), (0, 1))), data)
    assert root.shape == (2,)
    assert inner.shape == (2, 3)
    assert leaf.shape == (2, 3, 3)
    for table in (root, inner, leaf):
        assert table.sum(axis=-1) == pytest.approx(1, abs=1e-15)
    assert (leaf[1, 2] == 1 / 3).all(), "a configuration that never occurs is uniform"
    for a, b, c in np.ndindex(2, 3, 3):
        rows = codes[(codes[:, 0] == a) & (codes[:, 1] == b)]
        if len(rows):
            assert leaf[a, b, c] == (rows[:, 2] == c).sum() / len(rows)


def test_fit_wants_the_variables_of_the_data():
    data = Dataset(("a",), (("0",),), np.zeros((1, 1), np.uint16), "mine.csv")
    with pytest.raises(InputError, match=r"mine\.csv"):
        fit(Network(("b",), ((),)), data)
