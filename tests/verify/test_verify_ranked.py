"""The networks of a ranked list: true ones pass, and every way of lying about them is found."""

import copy
import itertools
import json
import math
from functools import cache
from pathlib import Path

import naive
import numpy as np
import pytest
from cases import dataset_of, random_dataset, random_families, scores_of

from extbnsl.claims import Claim
from extbnsl.cli import main
from extbnsl.data import read_csv
from extbnsl.files.atomic import pieces
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.networks.equivalence import cpdag
from extbnsl.networks.network import Network
from extbnsl.solver.k_best import k_best_networks
from extbnsl.verify.ranked import MOST_SAID, untold, verify_networks
from extbnsl.verify.structures import class_key, is_acyclic, network_key, scored_family

ONE = Budgets(threads=1, memory=1 << 30)
NAMES = ("v0", "v1", "v2", "v3", "v4")


def document_of(result):
    """The document of a result, as a file holds it."""
    _, content = next(result.files(result.document()))
    return json.loads(b"".join(pieces(content)))


def shortened(document, listed):
    """The document with the first networks alone, and all that is said of all of them."""
    document = copy.deepcopy(document)
    networks = document["networks"][:listed]
    share = math.fsum(one["probability"] for one in networks)
    return document | {
        "networks": networks,
        "count": {"networks": len(document["networks"]), "listed": listed, "probability": share, "of_all": None},
    }


def findings_of(document, problem):
    return verify_networks(document, iter(document["networks"]), problem)


@cache
def a_problem(n=5):
    return random_dataset(np.random.default_rng(n), n, 60, 3)


@cache
def a_result(n=5, factor=30.0):
    return k_best_networks(a_problem(n), Scope(within_factor=factor), budgets=ONE)


def a_document(n=5, factor=30.0):
    return document_of(a_result(n, factor))


SCOPES = [
    Scope(k=1),
    Scope(k=40),
    Scope(k=10**5),
    Scope(within_factor=1.0),
    Scope(within_factor=50.0),
    Scope(30, 50.0),
    Scope(k=7, classes=True),
    Scope(k=10**5, classes=True),
    Scope(within_factor=50.0, classes=True),
]


@pytest.mark.parametrize("scope", SCOPES, ids=str)
@pytest.mark.parametrize(("n", "limit", "score"), [(1, None, "mdl"), (3, 1, "aic"), (4, None, "mdl"), (5, 2, "mdl")])
def test_true_results_hold(scope, n, limit, score):
    for seed in range(3):
        dataset = random_dataset(np.random.default_rng(seed), n, 10 + 40 * seed, 3)
        result = k_best_networks(dataset, scope, Claim(score, limit), budgets=ONE)
        assert findings_of(document_of(result), dataset) == ()


@pytest.mark.parametrize("scope", SCOPES, ids=str)
def test_true_results_of_local_scores_hold(scope):
    for seed in range(6):
        scores = scores_of(random_families(np.random.default_rng(seed), 4))
        assert findings_of(document_of(k_best_networks(scores, scope, budgets=ONE)), scores) == ()


def test_a_list_of_some_of_the_networks_holds():
    document, problem = a_document(), a_problem()
    for listed in (1, 2, len(document["networks"]) - 1):
        assert findings_of(shortened(document, listed), problem) == ()
    assert untold(document) == ("that no others cost less was not checked again",)
    assert "arcs" in untold(shortened(document, 2))[1]
    assert untold(a_document(4)) == ()


def change(at, key, value):
    """A forger who gives network `at`, or the document if that is None, another value under a key."""

    def forge(document):
        target = document if at is None else document["networks"][at]
        target[key] = value(target[key]) if callable(value) else value

    return forge


def take(at, key):
    def forge(document):
        del (document if at is None else document["networks"][at])[key]

    return forge


def swap(i, j):
    def forge(document):
        networks = document["networks"]
        networks[i], networks[j] = networks[j], networks[i]

    return forge


def repeat(at):
    def forge(document):
        document["networks"].insert(at, copy.deepcopy(document["networks"][at]))

    return forge


def with_parents(**parents):
    return lambda own: own | parents


def of(key, value):
    """The change of one value in an object."""
    return lambda own: own | {key: value(own[key]) if callable(value) else value}


WRONG_FIGURES = [
    (key, value)
    for key in ("cost", "probability", "rank", "equivalence_class", "parents")
    for value in (None, "1", True, [], math.nan, math.inf, -math.inf, 10**400, -(10**400))
]

FORGERIES = [
    (change(2, "cost", lambda c: c - 1e-3), "Network 3 costs"),
    (change(4, "cost", lambda c: c * (1 + 1e-7)), "Network 5 costs"),
    (swap(0, -1), "is said to cost less than the one before"),
    (repeat(3), "Network 5 has been listed before"),
    (change(6, "rank", lambda r: r + 1), "Network 7 has the rank"),
    (change(6, "rank", -1), "Network 7 has no whole number from 1 on as its 'rank'"),
    (change(6, "rank", 0), "Network 7 has no whole number from 1 on as its 'rank'"),
    (change(0, "rank", 2), "Network 1 has the rank 1, but is said to have 2"),
    (change(6, "rank", 1 << 70), "Network 7 has no whole number from 1 on as its 'rank'"),
    (change(2, "probability", lambda p: p * 1.001), "Network 3 is said to have the probability"),
    (change(2, "probability", lambda p: p + 0.1), "probabilities of the networks add up to"),
    (change(2, "probability", 1.5), "Network 3 has no probability as its 'probability'"),
    (change(2, "probability", -0.5), "Network 3 has no probability as its 'probability'"),
    (change(5, "equivalence_class", lambda c: c + 1), "Network 6 is of equivalence class"),
    (change(0, "equivalence_class", 2), "Network 1 is of equivalence class 1, but is said to be of 2"),
    (change(5, "equivalence_class", 0), "Network 6 has no whole number from 1 on as its 'equivalence_class'"),
    (change(1, "parents", lambda own: dict(list(own.items())[1:])), "Network 2 gives no parents for 'v0'"),
    (change(1, "parents", with_parents(v2=None)), "Network 2 gives no parents for 'v2'"),
    (change(1, "parents", with_parents(v2="v0")), "Network 2 gives no parents for 'v2'"),
    (change(1, "parents", with_parents(v2={"v0": 1})), "Network 2 gives no parents for 'v2'"),
    (change(1, "parents", with_parents(v2=[1])), "Network 2 gives 'v2' parents that are not names"),
    (change(1, "parents", with_parents(v2=[["v0"]])), "Network 2 gives 'v2' parents that are not names"),
    (change(1, "parents", with_parents(v2=["w"])), "Network 2 gives 'v2' the parent 'w', which is not a variable"),
    (change(1, "parents", with_parents(v2=["v0", "v0"])), "Network 2 gives 'v2' a parent twice"),
    (change(1, "parents", with_parents(v2=["v2"])), "Network 2 has 'v2' among its own parents"),
    (change(1, "parents", with_parents(w=[])), "Network 2 gives parents to 'w', which is not a variable"),
    (
        change(1, "parents", with_parents(v0=["v1"], v1=["v0"])),
        "Network 2 is none: it has the cycle 'v0' -> 'v1' -> 'v0'",
    ),
    (change(None, "max_parents", 0), "but the limit is 0"),
    (change(None, "networks", lambda own: [7, *own]), "Network 1 is not an object"),
    (change(None, "networks", []), "The result lists no networks"),
    (change(None, "networks", lambda own: own[:-1]), "The result says that it lists"),
    (change(None, "networks", lambda own: own[1:]), "not the first of its networks"),
    (change(None, "count", of("networks", 2)), "The result says that there are 2 networks, but it lists"),
    (change(None, "count", of("listed", 2)), "The result says that it lists 2 networks"),
    (change(None, "count", of("probability", 0.5)), "add up to"),
    (change(None, "count", of("probability", 0.5)), "All networks are listed, but"),
    (change(None, "count", of("probability", 2)), "The 'probability' of the result is not a probability"),
    (change(None, "count", of("networks", True)), "The 'networks' of the result is not a number of networks"),
    (change(None, "count", of("networks", -1)), "The 'networks' of the result is not a number of networks"),
    (change(None, "count", of("listed", "9")), "The 'listed' of the result is not a number of networks"),
    (change(None, "count", {}), "The result has no 'probability'"),
    (change(None, "count", {"probability": 1.0}), "The result has no 'of_all'"),
    (change(None, "count", {"probability": 1.0, "of_all": None}), "The result has no 'networks'"),
    (change(None, "count", of("of_all", 1.5)), "The 'of_all' of the result is not a probability"),
    (change(None, "count", None), "The 'count' of the result is not an object"),
    (take(None, "count"), "The result has no 'count'"),
    (take(None, "within"), "The result has no 'within'"),
    (take(None, "arc_probabilities"), "The result has no 'arc_probabilities'"),
    (change(None, "within", lambda w: w / 2), "nats above the first"),
    *((change(None, "within", value), "'within' of the result") for value in (-1.0, "1", True, math.nan, math.inf)),
    (change(None, "arc_probabilities", []), "'arc_probabilities' of the result is not an object"),
    (change(None, "arc_probabilities", of("v1", [])), "have 'v1', which is not a variable with an object"),
    (change(None, "arc_probabilities", of("w", {})), "have 'w', which is not a variable with an object"),
    (change(None, "arc_probabilities", of("v1", of("v2", lambda p: abs(p - 0.1)))), "arc from 'v2' to 'v1' is said"),
    (change(None, "arc_probabilities", of("v1", {})), "to 'v1' is said to have the probability 0.0"),
    *(
        (change(None, "arc_probabilities", of("v1", of("v0", p))), "'v1' have no probability for 'v0'")
        for p in (None, True, "1", math.nan, -0.1, 1.1, 10**400)
    ),
    (change(None, "arc_probabilities", of("v1", {"w": 0.5})), "'w', which is no other variable"),
    (change(None, "arc_probabilities", of("v1", {"v1": 0.5})), "'v1', which is no other variable"),
    (change(None, "parents", with_parents(v0=["v1", "v2", "v3", "v4"])), "not the first of its networks"),
    (change(None, "cost", lambda c: c + 1), "but its first network costs"),
    *((change(3, key, value), f" as its {key!r}") for key, value in WRONG_FIGURES),
    *((take(3, key), f"Network 4 has no {key!r}") for key in dict(WRONG_FIGURES)),
]


@pytest.mark.parametrize(("forge", "finding"), FORGERIES)
def test_a_forgery_is_found(forge, finding):
    document, problem = a_document(), a_problem()
    assert findings_of(document, problem) == ()
    forge(document)
    found = findings_of(document, problem)
    assert any(finding in sentence for sentence in found), found
    assert all(sentence.endswith(".") for sentence in found)
    assert len(found) <= 2 * MOST_SAID


@pytest.mark.parametrize("networks", [None, 7, True, "list", {"0": {}}])
def test_networks_that_are_no_list(networks):
    assert verify_networks(a_document(), networks, a_problem()) == ("The 'networks' of the result are not a list.",)


def renumbered(document):
    """What a forger makes of a list in which a network is missing: all that is said of the networks fits again."""
    document = copy.deepcopy(document)
    networks = document["networks"]
    share, classes = math.fsum(one["probability"] for one in networks), {}
    arcs = {x: dict.fromkeys(own, 0.0) for x, own in document["arc_probabilities"].items()}
    for i, one in enumerate(networks):
        before = networks[i - 1] if i else {"cost": -math.inf}
        one["probability"] /= share
        one["rank"] = before["rank"] if one["cost"] - before["cost"] < 1e-6 else i + 1
        one["equivalence_class"] = classes.setdefault(one["equivalence_class"], len(classes) + 1)
        for x, p in ((x, p) for x, own in one["parents"].items() for p in own):
            arcs[x][p] += one["probability"]
    count = {"networks": len(networks), "listed": len(networks), "probability": 1.0, "of_all": None}
    first = {key: networks[0][key] for key in ("cost", "parents")}
    return document | first | {"count": count, "arc_probabilities": arcs}


@pytest.mark.parametrize("missing", [0, 4, -1])
def test_a_network_that_is_missing_is_found_among_few_variables(missing):
    for n in (4, 5):
        document = a_document(n)
        assert findings_of(renumbered(document), a_problem(n)) == ()
        del document["networks"][missing]
        found = findings_of(renumbered(document), a_problem(n))
        assert bool(found) == (n == 4), found
        if n == 4:
            assert "cost at most" in found[-1]
            assert ("less than the last one, 1 are not listed" in found[0]) == (missing != -1)


def test_a_class_that_is_missing_is_found():
    problem = a_problem(4)
    document = document_of(k_best_networks(problem, Scope(k=9, classes=True), budgets=ONE))
    assert findings_of(document, problem) == ()
    del document["networks"][3]
    (found,) = findings_of(renumbered(document), problem)
    assert "1 are not listed" not in found
    assert "are not listed; the best of them costs" in found


def test_a_class_has_the_cost_of_its_cheapest_member():
    scores = scores_of([[(0, 3.0), (2, 1.0)], [(0, 3.0), (1, 2.0)]])
    document = document_of(k_best_networks(scores, Scope(k=9, classes=True), budgets=ONE))
    assert [one["cost"] for one in document["networks"]] == [4.0, 6.0]
    assert findings_of(document, scores) == ()
    dearer = {"cost": 5.0, "parents": {"v0": [], "v1": ["v0"]}}
    document["networks"][0] |= dearer
    for one, weight in zip(document["networks"], (1.0, math.exp(-1.0)), strict=True):
        one["probability"] = weight
    (found,) = findings_of(renumbered(document), scores)
    assert found.endswith("1 are not listed; the best of them costs 4.0.")


@pytest.mark.parametrize("by", [0.99, 1.01])
def test_the_share_of_all_networks_is_that_of_few_variables(by):
    document, problem = a_document(4), a_problem(4)
    assert findings_of(document, problem) == ()
    assert 0.0 < document["count"]["of_all"] * by < 1.0
    document["count"]["of_all"] *= by
    (found,) = findings_of(document, problem)
    assert "of the probability of all networks there are, but they have" in found


def test_too_many_networks_are_claimed():
    document, problem = shortened(a_document(4), 5), a_problem(4)
    assert findings_of(document, problem) == ()
    document["count"]["networks"] += 1
    (found,) = findings_of(document, problem)
    assert f"but there are {document['count']['networks'] - 1:,}" in found


def test_a_search_that_was_stopped_claims_nothing_of_others():
    document, problem = a_document(4), a_problem(4)
    del document["networks"][1:-1]
    del document["networks"][0]
    document = renumbered(document)
    assert findings_of(document, problem) != ()
    document |= {"status": "time_limit", "within": None}
    assert findings_of(document, problem) == ()
    assert untold(document) == ("that no others cost less was not checked again",)


def test_costs_of_any_size_are_read():
    document, problem = a_document(), a_problem()
    document["networks"][0]["cost"] = 1e308
    document["networks"][-1]["cost"] = -1e308
    found = findings_of(document, problem)
    assert found[0].endswith("but is said to cost 1e+308.")


def test_of_each_class_there_is_one():
    document, problem = a_document(), a_problem()
    document["provenance"]["options"]["classes"] = True
    assert any("is equivalent to one before" in sentence for sentence in findings_of(document, problem))


def test_a_family_that_the_scores_do_not_list():
    scores = scores_of([[(0, 1.0)], [(0, 1.0), (1, 1.5)], [(0, 1.0)]])
    document = document_of(k_best_networks(scores, Scope(k=2), budgets=ONE))
    assert findings_of(document, scores) == ()
    document["networks"][1]["parents"] = {"v0": [], "v1": ["v2"], "v2": []}
    found = findings_of(document, scores)
    assert found == ("Network 2 gives 'v1' parents that the local scores do not list.",)


@pytest.mark.parametrize(("parent", "child"), list(itertools.permutations(range(5), 2)))
def test_arcs_of_networks_that_are_not_listed_must_have_room(parent, child):
    document, problem = shortened(a_document(), 3), a_problem()
    rest = 1 - document["count"]["probability"]
    parent, child = NAMES[parent], NAMES[child]
    sure = sum(one["probability"] for one in document["networks"] if parent in one["parents"][child])
    for claimed, holds in [(sure, True), (sure + rest, True), (sure - 1e-6, False), (sure + rest + 1e-6, False)]:
        if 0 <= claimed <= 1:
            document["arc_probabilities"][child][parent] = claimed
            assert (findings_of(document, problem) == ()) == holds


def test_only_the_first_findings_are_told():
    document, problem = a_document(), a_problem()
    for one in document["networks"]:
        one["rank"] = 10**6
    found = findings_of(document, problem)
    assert len(found) == MOST_SAID + 1
    assert found[-1] == f"Further findings about networks: {len(document['networks']) - MOST_SAID:,}."


def test_costs_that_no_float_holds_are_not_believed():
    codes = np.zeros((2, 70))
    problem = dataset_of(codes, [60_000] * 70)
    document = document_of(k_best_networks(dataset_of(codes[:, :2]), Scope(k=1), budgets=ONE))
    names = list(problem.names)
    parents = {name: names[1:] if name == "v0" else [] for name in names}
    document |= {"variables": names, "parents": parents, "order": names[::-1], "arc_probabilities": {}}
    document["networks"][0]["parents"] = parents
    assert findings_of(document, problem)[0].startswith("Network 1 costs inf, but is said to cost")


def networks_of(n):
    """Every network as (families, Network)."""
    problem = dataset_of(np.zeros((1, n)))
    for dag in naive.all_dags(n):
        parents = tuple(tuple(naive.members(v)) for v in dag)
        families = [scored_family(problem, x, own, "mdl") for x, own in enumerate(parents)]
        yield families, Network(problem.names, parents)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_keys_are_those_of_networks_and_classes(n):
    by_class = {}
    networks = list(networks_of(n))
    for families, network in networks:
        by_class.setdefault(class_key(families), set()).add(cpdag(network))
    assert len({network_key(families) for families, _ in networks}) == len(networks)
    assert all(len(graphs) == 1 for graphs in by_class.values())
    assert len(by_class) == len({cpdag(network) for _, network in networks})


def test_cycles_are_seen():
    problem, sets = dataset_of(np.zeros((1, 4))), [0] * 4
    for sets in itertools.product(range(16), repeat=4):
        if any(own >> x & 1 for x, own in enumerate(sets)):
            continue
        families = [scored_family(problem, x, tuple(naive.members(own)), "mdl") for x, own in enumerate(sets)]
        assert is_acyclic(families) == naive.is_acyclic(sets)


def test_the_command_tells_of_the_networks(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("a,b,c,d,e\n" + "0,1,0,1,0\n1,1,0,0,1\n0,0,1,1,1\n1,0,0,1,1\n" * 9)
    document = document_of(k_best_networks(read_csv("data.csv"), Scope(k=1000), budgets=ONE))

    def verified(document):
        Path("r.json").write_text(json.dumps(document))
        code = main(["verify", "r.json", "data.csv"])
        return code, capsys.readouterr().out

    code, out = verified(document)
    assert code == 0
    assert out.endswith(
        "Its 1,000 networks are distinct, acyclic and cost what they say; that no others cost less was not checked "
        "again.\n"
    )
    code, out = verified(shortened(document, 1))
    assert code == 0
    assert "Its only network is acyclic and costs what it says; that no others cost less was not checked again; " in out
    document["networks"][7]["rank"] += 1
    code, out = verified(document)
    assert code == 31
    assert "Network 8 has the rank" in out
    assert out.endswith("r.json does not hold.\n")
    assert verified(document | {"networks": None})[0] == 30
