"""Verification: true claims pass, and every way of lying about a network is found."""

import copy
import json
import math

import naive
import numpy as np
import pytest

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.data import Dataset
from extbnsl.networks.network import Network
from extbnsl.scores.local import local_scores
from extbnsl.verify.document import FORMAT_VERSION
from extbnsl.verify.rescoring import score_network
from extbnsl.verify.verdict import verify

NAMES = ("a", "b", "c", "d")


def random_data(seed, records=50):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, [2, 3, 1, 2], (records, 4)).astype(np.uint16)
    codes[:, 3] = codes[:, 0] ^ (rng.random(records) < 0.2)
    states = (("0", "1"), ("0", "1", "2", "declared"), ("only",), ("0", "1"))
    return Dataset(NAMES, states, codes, "mine.csv")


def result_of(dataset, parents, **claims):
    """The document of a result with these parents (by name), true unless `claims` say otherwise."""
    network = Network.from_names(NAMES, parents)
    cost = naive.network_cost(dataset.codes, dataset.arities, network.parents)
    document = {
        "format_version": FORMAT_VERSION,
        "status": "optimal",
        "cost": cost,
        "lower_bound": cost - 1e-9,
        "upper_bound": cost,
        "score": "mdl",
        "sign": "minimised",
        "log_base": "e",
        "variables": list(NAMES),
        "parents": network.parents_by_name(),
        "order": [NAMES[i] for i in network.order()],
        "max_parents": None,
        "provenance": {"data_digest": dataset.fingerprint},
    }
    return document | claims


TRUTH = {"d": ["a"], "b": ["a", "d"]}


@pytest.mark.parametrize("records", [1, 2, 50, 2000])
@pytest.mark.parametrize("seed", range(5))
def test_score_network_is_the_oracle(seed, records):
    dataset = random_data(seed, records)
    for graph in naive.all_dags(4)[seed::60]:
        network = Network(NAMES, tuple(tuple(naive.members(v)) for v in graph))
        expected = naive.network_cost(dataset.codes, dataset.arities, network.parents)
        assert score_network(dataset, network, Claim()) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_one_record_costs_nothing():
    assert score_network(random_data(0, 1), Network.from_names(NAMES, TRUTH), Claim()) == 0


def test_score_network_wants_the_variables_of_the_data():
    with pytest.raises(InputError, match=r"mine\.csv"):
        score_network(random_data(0), Network(("x",), ((),)), Claim())


def test_large_arities_do_not_overflow():
    names = tuple("abcdefgh")
    codes = np.arange(200, dtype=np.uint16).reshape(-1, 1).repeat(8, axis=1)
    wide = Dataset(names, (tuple(map(str, range(60_000))),) * 8, codes, "<array>")
    cost = score_network(wide, Network(names, (tuple(range(1, 8)), *[()] * 7)), Claim())
    assert cost == pytest.approx(math.log(200) / 2 * 59_999 * 60_000.0**7, rel=1e-12)


@pytest.mark.slow
def test_a_cost_that_no_float_holds_is_not_believed():
    names = tuple(f"v{i}" for i in range(70))
    wide = Dataset(names, (tuple(map(str, range(60_000))),) * 70, np.zeros((2, 70), np.uint16), "<array>")
    claims = {"variables": list(names), "order": list(names[::-1]), "provenance": {"data_digest": wide.fingerprint}}
    claims["parents"] = {name: list(names[1:]) if name == names[0] else [] for name in names}
    verdict = verify(result_of(random_data(1), {}) | claims, wide)
    assert any("but the network costs inf" in finding for finding in verdict.findings)


@pytest.mark.parametrize("parents", [{}, TRUTH, {"a": ["b", "c", "d"]}])
@pytest.mark.parametrize("status", ["optimal", "time_limit"])
def test_a_true_result_passes(parents, status):
    dataset = random_data(1)
    document = json.loads(json.dumps(result_of(dataset, parents, status=status)))
    verdict = verify(document, dataset)
    assert not verdict.findings
    assert verdict.findings == ()
    assert verdict.cost == pytest.approx(document["cost"], rel=1e-12)


def test_an_order_of_indices_will_do():
    dataset = random_data(1)
    order = [NAMES.index(name) for name in result_of(dataset, TRUTH)["order"]]
    assert not verify(result_of(dataset, TRUTH, order=order), dataset).findings


def test_a_result_that_is_not_proved_may_have_a_gap():
    dataset = random_data(1)
    assert not verify(result_of(dataset, TRUTH, status="time_limit", lower_bound=-1e300), dataset).findings


LIES = [
    ({"cost": 1.0, "lower_bound": 1.0, "upper_bound": 1.0}, "claimed cost is 1.0, but the network costs"),
    ({"upper_bound": 1e9}, "upper bound 1000000000.0 is not the cost"),
    ({"lower_bound": 1e9}, "lower bound 1000000000.0 is not at or below"),
    ({"lower_bound": 0.0}, "status is 'optimal', but the bounds 0.0 and"),
    ({"status": "perfect"}, "status 'perfect' is unknown"),
    ({"variables": ["a", "b", "d", "c"]}, "not those of mine.csv"),
    ({"variables": ["a", "b", "c"]}, "not those of mine.csv"),
    ({"parents": {"a": [], "b": [], "c": []}}, "gives no parents for 'd'"),
    ({"parents": {"a": [], "b": [], "c": [], "d": ["e"]}}, "'e' of 'd' is not a variable"),
    ({"parents": {"a": [], "b": [], "c": [], "d": ["a", "a"]}}, "parents of 'd' must be distinct"),
    ({"parents": {"a": [], "b": [], "c": [], "d": [], "e": []}}, "parents to 'e', which is not"),
    (
        {"parents": {"a": ["d"], "b": [], "c": [], "d": ["a"]}},
        "cycle 'a' -> 'd' -> 'a'",
    ),
    ({"order": ["d", "a", "b", "c"]}, "'a' comes after its child 'd'"),
    ({"order": ["a", "a", "b", "c"]}, "not an order of its variables"),
    ({"order": [0, 1, 2, 7]}, "not an order of its variables"),
    ({"max_parents": 1}, "'b' has 2 parents, but the limit is 1"),
    ({"provenance": {"data_digest": "0" * 64}}, "about other data"),
]


@pytest.mark.parametrize(("lie", "finding"), LIES)
def test_a_lie_is_found(lie, finding):
    dataset = random_data(2)
    verdict = verify(result_of(dataset, TRUTH) | lie, dataset)
    assert verdict.findings
    assert any(finding in sentence for sentence in verdict.findings), verdict.findings


def test_a_cost_off_by_more_than_rounding_is_found():
    dataset = random_data(2)
    cost = result_of(dataset, TRUTH)["cost"]
    for error, ok in [(1e-11, True), (1e-7, False)]:
        wrong = cost * (1 + error)
        claims = {"cost": wrong, "lower_bound": wrong, "upper_bound": wrong}
        assert (not verify(result_of(dataset, TRUTH, **claims), dataset).findings) is ok


def test_other_data_are_found_even_without_a_digest():
    document = result_of(random_data(2), TRUTH, provenance={"data_digest": None})
    assert verify(document, random_data(3)).findings


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        *(
            (key, value, f"'{key}' of the result is not a finite number")
            for key in ("cost", "lower_bound", "upper_bound")
            for value in ("12", None, True, math.nan, math.inf, -math.inf, 10**400, -(10**400))
        ),
        ("format_version", 2, "result has format 2, but this version of extbnsl reads format 4"),
        ("format_version", 99, "result has format 99"),
        ("format_version", True, "'format_version' of the result is not a whole number"),
        ("format_version", "3", "'format_version' of the result is not a whole number"),
        ("sign", "maximised", "'sign' of the result is 'maximised'"),
        ("sign", None, "'sign' of the result is not a word"),
        ("log_base", "2", "'log_base' of the result is '2'"),
        ("max_parents", True, "'max_parents' of the result is not a whole number"),
        ("parents", [], "'parents' of the result is not an object of lists of names"),
        ("parents", {"a": [1]}, "'parents' of the result is not an object of lists of names"),
        ("variables", "abcd", "'variables' of the result is not a list of names"),
        ("order", [0.5], "'order' of the result is not a list"),
        ("max_parents", -1, "'max_parents' of the result is not a whole number"),
        ("status", 0, "'status' of the result is not a word"),
        ("score", "bge", "score 'bge', which data cannot verify"),
        ("score", "bdeu", "'ess' of the result is None, which does not go with the score 'bdeu'"),
        ("provenance", None, "'provenance' of the result is not an object"),
        ("provenance", {}, "no 'data_digest'"),
    ],
)
def test_a_malformed_document_is_refused(key, value, message):
    dataset = random_data(2)
    with pytest.raises(InputError, match=message):
        verify(result_of(dataset, TRUTH) | {key: value}, dataset)


def test_every_missing_key_is_named():
    dataset = random_data(2)
    whole = result_of(dataset, TRUTH)
    for key in whole:
        document = copy.deepcopy(whole)
        del document[key]
        with pytest.raises(InputError, match=f"no '{key}'"):
            verify(document, dataset)
    with pytest.raises(InputError, match="not a JSON object"):
        verify([], dataset)


def listed_scores():
    """Families of a, b, c, d: all have the empty set, d also {a}."""
    empty = np.zeros((1, 1), dtype=np.uint64)
    families = [(empty, np.array([cost])) for cost in (1.0, 2.0, 3.0)]
    return local_scores(NAMES, [*families, (np.array([[0], [1]], np.uint64), np.array([4.0, 3.5]))], "file")


def file_result(scores, parents, cost, **claims):
    document = result_of(random_data(0), parents, score="file", cost=cost, lower_bound=cost, upper_bound=cost)
    return document | {"provenance": {"data_digest": scores.fingerprint}} | claims


def test_a_result_from_a_score_file():
    scores = listed_scores()
    assert not verify(file_result(scores, {"d": ["a"]}, 9.5), scores).findings
    assert verify(file_result(scores, {}, 10.0), scores).cost == 10
    wrong = verify(file_result(scores, {"d": ["a"]}, 9.0), scores)
    assert wrong.findings == ("The claimed cost is 9.0, but the network costs 9.5.",)
    assert wrong.cost == 9.5


def test_a_family_that_the_scores_do_not_list():
    scores = listed_scores()
    verdict = verify(file_result(scores, {"d": ["a", "b"]}, 9.5), scores)
    assert verdict.findings == ("The local scores do not list the family of 'd' with 'a', 'b'.",)
    assert math.isnan(verdict.cost)


def test_the_wrong_kind_of_source_is_refused():
    scores = listed_scores()
    with pytest.raises(InputError, match="score 'file', which data cannot verify"):
        verify(file_result(scores, {}, 10.0), random_data(0))
    with pytest.raises(InputError, match="score 'mdl', but the local scores are 'file'"):
        verify(file_result(scores, {}, 10.0, score="mdl"), scores)
    other = verify(file_result(scores, {}, 10.0, provenance={"data_digest": random_data(0).fingerprint}), scores)
    assert other.findings == ("The result is about other data: its digest is not that of the local scores.",)
