"""What networks cost, and why an arc is there: whole networks scored by the naive twin."""

import math

import naive
import numpy as np
import pytest
from cases import EVERY_SCORE, claim_by, from_array, numbers_of, random_dataset, random_numbers

from extbnsl.core.claims import Claim
from extbnsl.core.knowledge import Knowledge
from extbnsl.networks.families import CLOSES, SINGULAR, by_rise, figures_from, network_cost, reasons
from extbnsl.networks.network import Network
from extbnsl.scores.local import named_scores

NAMES = ("a", "b", "c", "d")


def drawn(n, rng):
    return naive.all_dags(n)[rng.integers(len(naive.all_dags(n)))]


def network_of(names, graph):
    return Network(tuple(names), tuple(tuple(naive.members(varset)) for varset in graph))


def twin_cost(data, score, parents):
    if score == "gaussian-bic":
        return sum(naive.gaussian_cost(data.values, child, own) for child, own in enumerate(parents))
    return naive.network_cost(data.codes, data.arities.tolist(), parents, score)


@pytest.mark.parametrize("score", [*EVERY_SCORE, "gaussian-bic"])
def test_a_network_costs_what_its_families_do(score):
    rng = np.random.default_rng(1)
    for _ in range(6):
        data = random_numbers(rng, 4, 60) if score == "gaussian-bic" else random_dataset(rng, 4, 60)
        network = network_of(data.names, drawn(4, rng))
        found = network_cost(network, data, claim_by(score))
        assert found.cost == pytest.approx(twin_cost(data, score, network.parents), rel=1e-9)
        assert found.cost == pytest.approx(math.fsum(one.cost for one in found.families), rel=1e-12)
        assert [one.parents for one in found.families] == [tuple(own) for own in network.parents_by_name().values()]


def test_parameters_are_the_free_ones():
    data = from_array(np.array([[0, 0, 0], [1, 1, 2], [0, 1, 1]]), list("abc"))
    found = network_cost(Network(tuple("abc"), ((), (0,), (0, 1))), data, Claim())
    assert [one.parameters for one in found.families] == [1, 2, 8]
    assert found.parameters == 11


@pytest.mark.parametrize("score", [*EVERY_SCORE, "gaussian-bic"])
def test_reasons_are_differences_of_whole_networks(score):
    rng = np.random.default_rng(2)
    for _ in range(4):
        data = random_numbers(rng, 4, 60) if score == "gaussian-bic" else random_dataset(rng, 4, 60)
        network = network_of(data.names, drawn(4, rng))
        for x in range(4):
            found = reasons(network, claim_by(score), figures_from(data, claim_by(score)), x)
            assert len(found) == 6
            for one in found:
                parent, child = data.names.index(one.parent), data.names.index(one.child)
                assert x in (parent, child)
                own = set(network.parents[child])
                assert one.present == (parent in own)
                less, more = (tuple(sorted(own - {parent})), tuple(sorted(own | {parent})))
                with_it, without = (
                    twin_cost(data, score, [*network.parents[:child], way, *network.parents[child + 1 :]])
                    for way in (more, less)
                )
                assert one.rise == pytest.approx(with_it - without, abs=1e-6 * (1 + abs(with_it)))
                assert one.price == pytest.approx(one.rise + one.gain, abs=1e-9)
                assert one.gain > -1e-6  # more parents never explain less
                if score == "mdl":
                    assert one.price == pytest.approx(one.parameters * math.log(data.records) / 2)
                graph = [sum(1 << p for p in way) for way in network.parents]
                graph[child] |= 1 << parent
                assert (one.barred == CLOSES) == (
                    not one.present and not naive.is_acyclic(graph) and child not in network.parents[parent]
                )


def test_what_bars_an_arc_is_told():
    data = random_dataset(np.random.default_rng(3), 4, 60)
    network = Network(data.names, ((), (0,), (1,), ()))
    names = dict(zip("abcd", data.names, strict=True))
    knowledge = Knowledge(
        required=((names["a"], names["b"]),), forbidden=((names["d"], names["a"]),), max_parents=((names["c"], 1),)
    )
    claim = Claim(knowledge=knowledge)
    figures = figures_from(data, claim)
    told = {(one.parent, one.child): one.barred for x in range(4) for one in reasons(network, claim, figures, x)}
    told = {(data.names.index(p), data.names.index(x)): why for (p, x), why in told.items()}
    assert told[0, 1] == "it is required"
    assert told[1, 0] == "the other way is required"
    assert told[2, 1] == "it is there the other way round"
    assert told[2, 0] == CLOSES
    assert told[3, 0] == "it is forbidden"
    assert told[3, 2] == f"{names['c']!r} has as many parents as it may have"
    assert told[1, 2] is told[0, 3] is told[3, 1] is None


def test_local_scores_tell_what_they_list():
    scores = named_scores({"a": {(): 3.0, ("b",): 1.0}, "b": {(): 2.0}})
    network = Network(scores.names, ((), ()))
    known, lacking = reasons(network, Claim(), figures_from(scores, Claim()), 0)
    assert (known.rise, known.gain, known.price, known.parameters) == (-2.0, None, None, None)
    assert (lacking.rise, lacking.barred) == (None, None)
    assert by_rise([lacking, known]) == [known, lacking]
    found = network_cost(Network(scores.names, ((), (0,))), scores, Claim())
    assert (found.cost, found.families[1].cost) == (None, None)
    assert network_cost(network, scores, Claim()).cost == 5.0


def test_columns_that_determine_each_other_have_no_cost():
    rng = np.random.default_rng(4)
    values = rng.normal(size=(50, 3))
    data = numbers_of(np.column_stack([values, values[:, 0] + values[:, 1]]))
    network = Network(data.names, ((), (0,), (), (0, 1)))
    found = network_cost(network, data, Claim("gaussian-bic"))
    assert (found.cost, found.families[3].cost) == (math.inf, math.inf)
    assert math.isfinite(network_cost(Network(data.names, ((), (0,), (), (0,))), data, Claim("gaussian-bic")).cost)
    half = Network(data.names, ((), (), (), (0,)))
    told = reasons(half, Claim("gaussian-bic"), figures_from(data, Claim("gaussian-bic")), 3, 1)
    (into_it,) = [one for one in told if one.parent == data.names[1]]
    assert (into_it.rise, into_it.barred) == (None, SINGULAR)


def test_one_variable_has_no_arcs():
    data = from_array(np.array([[0], [1]]), ["a"])
    assert reasons(Network(("a",), ((),)), Claim(), figures_from(data, Claim()), 0) == []
