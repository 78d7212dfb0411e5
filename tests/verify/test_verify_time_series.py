"""Results of time series that somebody has changed: what of time does not hold is found."""

import copy
import math

import pytest
from cases import random_series

import extbnsl
from extbnsl.core.claims import Claim
from extbnsl.machine.workers import Workers
from extbnsl.networks.network import Network
from extbnsl.verify.rescoring import family_costs
from extbnsl.verify.statement import Given, check_result

KINDS = [
    *(("mdl", 3, None), ("mdl", 3, False), ("bdeu", 2, None), ("gaussian-bic", 0, None), ("gaussian-bic", 0, False)),
    *((score, 2, instant) for score in ("cg-bic", "dg-bic") for instant in (None, False)),
]


def checked(document, data):
    with Workers(1) as workers:
        return check_result(Given(document, lambda: [], None, data, {}, {}), workers)


def priced(document, data):
    """The document with what its network costs, as a forger would write it."""
    network = Network.from_names(data.names, document["parents"])
    cost = math.fsum(family_costs(data, network, Claim(document["score"], ess=document["ess"])))
    document |= {"cost": cost, "upper_bound": cost, "lower_bound": min(document["lower_bound"], cost)}
    return document


@pytest.fixture(params=KINDS, ids=str, scope="module")
def true(request):
    score, states, instant = request.param
    both = (1,) if score in ("cg-bic", "dg-bic") else None
    data = random_series(11, 3, 1, states, records=160, instant=instant, both=both)
    return extbnsl.learn(data, score=score).document(), data


def test_a_true_result_holds_and_is_proved(true):
    stated = checked(*true)
    assert stated.holds
    assert stated.optimality.complete
    assert len(stated.optimality.proved) >= 3


@pytest.mark.parametrize("instant", [None, False])
@pytest.mark.parametrize(("score", "states"), [("mdl", 3), ("gaussian-bic", 0)])
def test_a_result_with_charges_is_proved_and_one_without_them_is_not(score, states, instant):
    data = random_series(12, 3, 1, states, records=160, instant=instant)
    found = extbnsl.learn(data, score=score, gamma=2.0, parent_cost=9.0, penalty=4.5)
    document = found.document()
    stated = checked(document, data)
    assert stated.holds
    assert stated.optimality.complete
    plain = extbnsl.learn(data, score=score).document()
    assert plain["parents"] != document["parents"]
    assert not checked(plain | {"gamma": 2.0, "parent_cost": 9.0, "penalty": 4.5}, data).holds


def test_a_parent_of_the_past_is_found(true):
    document, data = copy.deepcopy(true[0]), true[1]
    document["parents"]["v0[t-1]"] = ["v1[t-1]"]
    document["order"] = sorted(document["order"], key=lambda name: (name != "v1[t-1]", name != "v0[t-1]"))
    for knowledge in (document["knowledge"], None, {"roots": ["v1[t-1]"]}):
        stated = checked(priced(document | {"knowledge": knowledge}, data), data)
        assert any("v0[t-1]" in finding and "ruled out" in finding for finding in stated.findings)


def test_an_arc_within_a_time_is_found_where_there_is_none(true):
    document, data = copy.deepcopy(true[0]), true[1]
    if data.slices.instant:
        return
    document["parents"]["v0"] = ["v1"]
    document["order"] = [*data.names[3:], "v1", "v0", "v2"]
    for knowledge in (document["knowledge"], {"roots": list(data.names[3:])}):
        stated = checked(priced(document | {"knowledge": knowledge}, data), data)
        assert any("ruled out" in finding for finding in stated.findings)


@pytest.mark.parametrize("change", [-5.0, 1.0])
def test_another_cost_is_found(true, change):
    document, data = copy.deepcopy(true[0]), true[1]
    for key in ("cost", "lower_bound", "upper_bound"):
        document[key] += change
    assert any("cost" in finding for finding in checked(document, data).findings)


def test_a_dearer_network_is_not_believed(true):
    document, data = copy.deepcopy(true[0]), true[1]
    arc = next((child, own) for child, own in document["parents"].items() if own)
    document["parents"][arc[0]] = arc[1][1:]
    document = priced(document, data)
    document["lower_bound"] = document["cost"]
    for component in document["certificate"]["components"]:
        own = [data.names.index(name) for name in component["variables"]]
        network = Network.from_names(data.names, document["parents"])
        costs = family_costs(data, network, Claim(document["score"], ess=document["ess"]))
        component["lower_bound"] = math.fsum(costs[x] for x in own)
    document["lower_bound"] = math.fsum(c["lower_bound"] for c in document["certificate"]["components"])
    assert not checked(document, data).holds


def test_the_past_costs_nothing_in_a_certificate(true):
    document, data = copy.deepcopy(true[0]), true[1]
    own = [c for c in document["certificate"]["components"] if c["variables"][0] in data.names[3:]]
    assert len(own) == 3
    for component in own:
        assert abs(component["lower_bound"]) < 1e-8
