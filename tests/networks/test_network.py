"""Networks: orders, equivalence classes against brute force, parameters."""

from itertools import combinations, pairwise

import naive
import numpy as np
import pytest
from classes import allows, arcs_of, by_shape, closed, members, shared
from hypothesis import given, settings
from hypothesis import strategies as st
from knowing import random_knowledge

from extbnsl.core.errors import InputError, VerificationError
from extbnsl.core.knowledge import Knowledge
from extbnsl.data import Dataset
from extbnsl.networks.network import Network, cpdag
from extbnsl.networks.parameters import fit


def network_of(graph):
    """The Network of a tuple of parent varsets."""
    return Network(tuple("ABCDE"[: len(graph)]), tuple(tuple(naive.members(v)) for v in graph))


@pytest.mark.parametrize(("n", "classes"), [(1, 1), (2, 2), (3, 11), (4, 185)])
def test_cpdag_is_what_all_members_of_the_class_share(n, classes):
    assert len(by_shape(n)) == classes  # counted by Gillispie and Perlman (2001)
    for graphs in by_shape(n).values():
        for graph in graphs:
            assert cpdag(network_of(graph)) == shared(graphs)


def test_cpdag_of_five_variables():
    """In every 40th class of five variables: what is directed is what its members share."""
    assert len(by_shape(5)) == 8782
    for graphs in list(by_shape(5).values())[::40]:
        for graph in graphs:
            assert cpdag(network_of(graph)) == shared(graphs)


def settling(arcs, forbid):
    """Knowledge that directs these arcs: that requires them, or forbids to turn those of which `forbid` is true."""
    told = [("ABCDE"[p], "ABCDE"[x]) for p, x in arcs]
    required = tuple(arc for arc, turned in zip(told, forbid, strict=True) if not turned)
    return Knowledge(required, tuple(arc[::-1] for arc, turned in zip(told, forbid, strict=True) if turned))


def test_whatever_arcs_knowledge_directs_all_follows_that_its_members_share():
    """Each network of four variables, and all sets of its arcs: 9,449 cases."""
    more = 0
    for graph in naive.all_dags(4):
        network, bare = network_of(graph), cpdag(network_of(graph))
        for size in range(len(network.arcs()) + 1):
            for number, settled in enumerate(combinations(network.arcs(), size)):
                found = cpdag(network, settling(settled, [(number + at) % 2 for at in range(size)]))
                assert found == shared([one for one in members(graph) if arcs_of(one) >= set(settled)])
                more += len(found[0]) > len(set(bare[0]) | set(settled))
    assert more > 1000, "something follows from knowledge and v-structures together"


def test_whatever_arcs_knowledge_directs_in_five_variables():
    rng = np.random.default_rng(5)
    for graphs in list(by_shape(5).values())[::7]:
        graph = graphs[int(rng.integers(len(graphs)))]
        arcs = network_of(graph).arcs()
        for _ in range(10):
            settled = [arc for arc in arcs if rng.random() < 0.3]
            found = cpdag(network_of(graph), settling(settled, rng.random(len(settled)) < 0.5))
            assert found == shared([one for one in graphs if arcs_of(one) >= set(settled)])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_under_knowledge_of_every_kind_a_class_has_the_members_that_it_allows(n):
    """Limits on parents, which such knowledge has too, direct nothing."""
    rng, names, tried = np.random.default_rng(n), tuple("ABCDE"[:n]), 0
    dags = naive.all_dags(n)
    for _ in range(400):
        knowledge = random_knowledge(rng, names)
        for i in rng.integers(len(dags), size=40):
            if allows(knowledge, names, dags[i]):
                tried += 1
                assert cpdag(network_of(dags[i]), knowledge) == shared(members(dags[i], knowledge, names))
    assert tried > 400


def test_a_pair_that_is_allowed_and_a_limit_direct_nothing_and_tiers_roots_and_leaves_do():
    chain = Network(("a", "b", "c"), ((), (0,), (1,)))
    either, all_ = ((), ((0, 1), (1, 2))), (((0, 1), (1, 2)), ())
    assert cpdag(chain) == either
    assert cpdag(chain, Knowledge(allowed=(("b", "a"), ("c", "b")))) == either
    assert cpdag(chain, Knowledge(max_parents=(("a", 0), ("b", 1)))) == either
    assert cpdag(chain, Knowledge(leaves=("c",))) == (((1, 2),), ((0, 1),))
    for knowledge in (
        Knowledge(roots=("a",)),
        Knowledge(tiers=(("a",), ("b",))),
        Knowledge(required=(("a", "b"),)),
        Knowledge(forbidden=(("b", "a"), ("a", "c"))),
    ):
        assert cpdag(chain, knowledge) == all_, knowledge


@settings(deadline=None)
@given(st.data(), st.integers(2, 9), st.randoms(use_true_random=False))
def test_rules_in_any_order_direct_the_same(data, n, rng):
    share = data.draw(st.sampled_from([0.2, 0.5, 0.8]))
    order = data.draw(st.permutations(range(n)))
    graph = [0] * n
    for at, child in enumerate(order):
        for parent in order[:at]:
            graph[child] |= (rng.random() < share) << parent
    names = tuple(f"v{x}" for x in range(n))
    network = Network(names, tuple(tuple(naive.members(own)) for own in graph))
    settled = data.draw(st.lists(st.sampled_from(network.arcs()), unique=True)) if network.arcs() else []
    knowledge = Knowledge(required=tuple((names[p], names[x]) for p, x in settled))
    assert cpdag(network, knowledge) == closed(tuple(graph), settled, rng)


def test_what_one_arc_directs_goes_through_a_thousand_variables():
    n = 1000
    names = tuple(f"v{x}" for x in range(n))
    chain = Network(names, ((), *((x,) for x in range(n - 1))))
    assert cpdag(chain) == ((), chain.arcs())
    assert cpdag(chain, Knowledge(roots=("v0",))) == (chain.arcs(), ())
    assert cpdag(chain, Knowledge(roots=("v0",), leaves=("v999",))) == (chain.arcs(), ())
    complete = Network(names[:60], tuple(tuple(range(x)) for x in range(60)))
    assert cpdag(complete) == ((), complete.arcs())
    halves = cpdag(complete, Knowledge(tiers=(names[:30], names[30:60])))
    assert halves[0] == tuple(arc for arc in complete.arcs() if arc[0] < 30 <= arc[1])


@pytest.mark.parametrize(
    ("knowledge", "why"),
    [
        (Knowledge(forbidden=(("a", "b"),)), "has the arc from 'a' to 'b', but it is forbidden"),
        (Knowledge(tiers=(("c",), ("b",))), "has the arc from 'b' to 'c', but 'b' is in a later tier than 'c'"),
        (Knowledge(allowed=(("a", "b"),)), "has the arc from 'b' to 'c', but it is not among the allowed pairs"),
        (Knowledge(required=(("a", "b"), ("a", "c"))), "lacks the arc from 'a' to 'c', which is required"),
        (Knowledge(required=(("b", "a"),)), "lacks the arc from 'b' to 'a', which is required"),
    ],
)
def test_a_network_that_knowledge_does_not_allow_has_no_class(knowledge, why):
    with pytest.raises(VerificationError, match=why):
        cpdag(Network(("a", "b", "c"), ((), (0,), (1,))), knowledge)


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
