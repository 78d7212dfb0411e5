"""The networks of a ranked list: true ones pass, and every way of lying about them is found."""

import copy
import itertools
import json
import math
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import naive
import numpy as np
import pytest
from asking import k_best_networks
from cases import dataset_of, random_dataset, random_families, scores_of
from forge.consistent import renumbered

from extbnsl.cli import main
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.data.reading import read_csv
from extbnsl.files.atomic import pieces
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Workers
from extbnsl.networks.network import Network, cpdag
from extbnsl.results.reading import read_networks
from extbnsl.verify import others
from extbnsl.verify.listed import MOST_SAID, class_key, cycle_of, network_key, scored_family
from extbnsl.verify.question import COUNT, MISSING, OF_ALL, SHARES, Unchecked
from extbnsl.verify.ranked import verify_networks

ONE = Budgets(threads=1, memory=1 << 30)
NAMES = ("v0", "v1", "v2", "v3", "v4")


def document_of(result):
    """The document of a result, as a file holds it."""
    _, content = next(result.files(result.document()))
    return json.loads(b"".join(pieces(content)))


def shortened(document, listed):
    """The document with the first networks alone, and all that is said of all of them: the others are counted."""
    document = copy.deepcopy(document)
    networks, count = document["networks"][:listed], document["count"]
    share, classes = math.fsum(one["share"] for one in networks), [one["equivalence_class"] for one in networks]
    of_classes = [
        math.fsum(one["share"] for one in networks if one["equivalence_class"] == c) for c in range(1, max(classes) + 1)
    ]
    document["provenance"]["options"]["k"] = listed
    return document | {
        "networks": networks,
        "count": count | {"listed": listed, "share": share, "written": min(10, listed)},
        "top": document["top"][:listed],
        "classes": {
            "listed": max(classes),
            "heaviest": of_classes.index(max(of_classes)) + 1,
            "share": max(of_classes),
        },
    }


def written_to(folder, document):
    """The folder, which has the document as its result."""
    (folder / "result.json").write_text(json.dumps(document))
    return folder


def checked(document, problem, stop=lambda: None):
    """What becomes of the list, as it is read from a file, and if that holds, of what is said of other networks."""
    with TemporaryDirectory() as folder, Workers(1) as workers:
        found = verify_networks(document, read_networks(written_to(Path(folder), document)), problem, workers)
    if found.findings:
        return found
    with Workers(1, stop) as workers:
        return others.check_others(found, document, workers)


def findings_of(document, problem):
    return checked(document, problem).findings


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


@pytest.mark.slow
@pytest.mark.parametrize("scope", SCOPES, ids=str)
@pytest.mark.parametrize(
    ("n", "limit", "score"),
    [(1, None, "mdl"), (3, 1, "aic"), (4, None, "mdl"), pytest.param(5, 2, "mdl", marks=pytest.mark.slow)],
)
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


def beyond(sizes, variables=0):
    """Let no network be looked for that is not listed, as of many variables."""
    sizes({"sums.MOST_VARIABLES": variables, "complete.LARGEST": 0})


def left(document, problem):
    """What is not checked of a document of which nothing is found wrong."""
    found = checked(document, problem)
    assert found.findings == ()
    return [one.what for one in found.unchecked]


def test_a_list_of_some_of_the_networks_holds(sizes):
    document, problem = a_document(), a_problem()
    for listed in (1, 2, len(document["networks"]) - 1):
        assert left(shortened(document, listed), problem) == []
    beyond(sizes)
    assert left(shortened(document, len(document["networks"]) - 1), problem) == [MISSING, COUNT, SHARES, OF_ALL]
    assert left(document, problem) == [MISSING, COUNT, OF_ALL]
    stopped = document | {"status": "time_limit", "within": None, "count": document["count"] | {"of_all": None}}
    assert left(stopped, problem) == [COUNT]
    stopped["count"]["networks"] = None
    assert left(stopped, problem) == []


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


def take_count(key):
    def forge(document):
        del document["count"][key]

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


def option(key, value):
    """A forger of what was asked for."""

    def forge(document):
        document["provenance"]["options"][key] = value

    return forge


WRONG_FIGURES = [
    (key, value)
    for key in ("cost", "share", "rank", "equivalence_class", "parents")
    for value in (None, "1", True, [], math.nan, math.inf, -math.inf, 10**400, -(10**400))
]

FORGERIES = [
    (change(2, "cost", lambda c: c - 1e-3), "Network 3 costs"),
    (change(4, "cost", lambda c: c * (1 + 1e-7)), "Network 5 costs"),
    (swap(0, -1), "is said to cost less than the one before"),
    (repeat(3), "Network 5 has been listed before"),
    (change(6, "rank", lambda r: r + 1), "Network 7 has the rank"),
    (change(0, "rank", 2), "Network 1 has the rank 1, but is said to have 2"),
    (change(6, "rank", (1 << 63) - 1), "Network 7 has the rank"),
    (change(5, "equivalence_class", (1 << 63) - 1), "Network 6 is of equivalence class"),
    (change(2, "share", lambda p: p * 1.001), "Network 3 is said to have the share"),
    (change(2, "share", lambda p: p + 0.1), "shares of the networks add up to"),
    (change(2, "share", 1.5), "Network 3 has no share as its 'share'"),
    (change(2, "share", -0.5), "Network 3 has no share as its 'share'"),
    (change(5, "equivalence_class", lambda c: c + 1), "Network 6 is of equivalence class"),
    (change(0, "equivalence_class", 2), "Network 1 is of equivalence class 1, but is said to be of 2"),
    (change(1, "parents", lambda own: dict(list(own.items())[1:])), "Network 2 gives no parents for 'v0'"),
    (change(1, "parents", with_parents(v2=["w"])), "Network 2 gives 'v2' the parent 'w', which is not a variable"),
    (change(1, "parents", with_parents(v2=["v0", "v0"])), "Network 2 gives 'v2' a parent twice"),
    (change(1, "parents", with_parents(v2=["v2"])), "Network 2 has 'v2' among its own parents"),
    (change(1, "parents", with_parents(w=[])), "Network 2 gives parents to 'w', which is not a variable"),
    (
        change(1, "parents", with_parents(v0=["v1"], v1=["v0"])),
        "Network 2 is none: it has the cycle 'v0' -> 'v1' -> 'v0'",
    ),
    (change(None, "max_parents", 0), "but the limit is 0"),
    (change(None, "networks", []), "The result lists no networks"),
    (change(None, "networks", lambda own: own[:-1]), "The result says that it lists"),
    (change(None, "networks", lambda own: own[1:]), "not the first of its networks"),
    (change(None, "count", of("networks", 2)), "The result says that there are 2 networks, but it lists"),
    (change(None, "count", of("listed", 2)), "The result says that it lists 2 networks"),
    (change(None, "count", of("share", 0.5)), "add up to"),
    (change(None, "count", of("share", 0.5)), "No other networks were counted, but"),
    (change(None, "count", of("share", 2)), "The 'share' of the result is not a share"),
    (change(None, "count", of("networks", True)), "The 'networks' of the result is not a number of networks"),
    (change(None, "count", of("networks", -1)), "The 'networks' of the result is not a number of networks"),
    (change(None, "count", of("listed", "9")), "The 'listed' of the result is not a number of networks"),
    (change(None, "count", {}), "The result has no 'networks'"),
    (take_count("of_all"), "The result has no 'of_all'"),
    (take_count("share"), "The result has no 'share'"),
    (
        change(None, "count", of("of_all", 0.5)),
        "The 'of_all' of the result is not two shares or null",
    ),
    (
        change(None, "count", of("of_all", {"at_least": 0.5, "at_most": 1.5})),
        "The 'of_all' of the result is not two shares",
    ),
    (change(None, "count", None), "The 'count' of the result is not an object"),
    (take(None, "count"), "The result has no 'count'"),
    (take(None, "within"), "The result has no 'within'"),
    (take(None, "arc_shares"), "The result has no 'arc_shares'"),
    (change(None, "within", lambda w: w / 2), "nats above the first"),
    (change(None, "within", lambda w: w * 2), "The factor that was asked for is"),
    (change(None, "within", None), "'within' does not say how many nats that is"),
    (change(None, "shared_arcs", [["v0", "v1"], ["v1", "v0"]]), "said to be in all networks"),
    (change(None, "shared_arcs", lambda own: [*own, ["v3", "v4"]]), "from 'v3' to 'v4' is said to be in all networks"),
    (change(None, "shared_arcs", [["v0"]]), "have ['v0'], which is no arc"),
    (change(None, "shared_arcs", [["v0", "w"]]), "which is no arc between its variables"),
    (change(None, "shared_arcs", None), "The 'shared_arcs' of the result is not a list"),
    (change(None, "classes", of("listed", lambda c: c + 1)), "equivalence classes, not of"),
    (change(None, "classes", of("heaviest", lambda c: c + 1)), "is said to be the heaviest, but"),
    (change(None, "classes", of("heaviest", 0)), "Class 0 is said to be the heaviest, but"),
    (change(None, "classes", of("share", lambda s: s / 2)), "The heaviest class is said to have the share"),
    (change(None, "classes", {}), "The result has no 'listed'"),
    (change(None, "top", []), "The 'top' of the result has 0 networks, but there are 10 to tell"),
    (change(None, "top", lambda own: [own[0], own[-1], *own[2:]]), "does not tell network 2 as"),
    (change(None, "top", lambda own: own + own[:1]), "The 'top' of the result has 11 networks, but there are 10"),
    (change(None, "top", [7]), "has something that is not an object"),
    *(
        (
            change(None, "top", lambda own, key=key: [own[0] | {key: own[0][key] + 1}, *own[1:]]),
            "does not tell network 1",
        )
        for key in ("rank", "cost", "share", "equivalence_class", "arcs")
    ),
    (change(None, "count", of("written", 3)), "says that 3 networks have files of their own, but 10 were asked for"),
    (option("k", 3), "The 3 best networks were asked for, but the result lists"),
    (option("k", 10**6), None),
    (option("k", 0), "The 'k' of the result is not a number above 0 or null"),
    (option("within_factor", 7.0), "The factor that was asked for is"),
    (option("within_factor", 0.5), "The 'within_factor' of the result is not a number from 1 on or null"),
    (option("classes", None), "The 'classes' of the result is not true or false"),
    (change(None, "provenance", {"data_digest": None}), "The result has no 'options'"),
    *((change(None, "within", value), "'within' of the result") for value in (-1.0, "1", True, math.nan, math.inf)),
    (change(None, "arc_shares", []), "'arc_shares' of the result is not an object"),
    (change(None, "arc_shares", of("v1", [])), "have 'v1', which is not a variable with an object"),
    (change(None, "arc_shares", of("w", {})), "have 'w', which is not a variable with an object"),
    (change(None, "arc_shares", of("v1", of("v2", lambda p: abs(p - 0.1)))), "arc from 'v2' to 'v1' is said"),
    (change(None, "arc_shares", of("v1", {})), "to 'v1' is said to have the share 0.0"),
    *(
        (change(None, "arc_shares", of("v1", of("v0", p))), "'v1' have no share above 0 for 'v0'")
        for p in (None, True, "1", math.nan, -0.1, 0, 1.1, 10**400)
    ),
    (change(None, "arc_shares", of("v1", {"w": 0.5})), "'w', which is no other variable"),
    (change(None, "arc_shares", of("v1", {"v1": 0.5})), "'v1', which is no other variable"),
    (change(None, "parents", with_parents(v0=["v1", "v2", "v3", "v4"])), "not the first of its networks"),
    (change(None, "cost", lambda c: c + 1), "but its first network costs"),
]

# What is no list of networks is not read from a file at all.
DAMAGES = [
    (change(6, "rank", -1), "network 7 is damaged: rank is not"),
    (change(6, "rank", 0), "network 7 is damaged: rank is not"),
    (change(6, "rank", 1 << 70), "network 7 is damaged: rank is not"),
    (change(5, "equivalence_class", 0), "network 6 is damaged: equivalence_class is not"),
    (change(1, "parents", with_parents(v2=None)), "network 2 is damaged: parents.v2 is not"),
    (change(1, "parents", with_parents(v2="v0")), "network 2 is damaged: parents.v2 is not"),
    (change(1, "parents", with_parents(v2={"v0": 1})), "network 2 is damaged: parents.v2 is not"),
    (change(1, "parents", with_parents(v2=[1])), "network 2 is damaged: parents.v2.0 is not"),
    (change(1, "parents", with_parents(v2=[["v0"]])), "network 2 is damaged: parents.v2.0 is not"),
    (change(None, "networks", lambda own: [7, *own]), "network 1 is damaged: it is not"),
    *((change(3, key, value), "is damaged") for key, value in WRONG_FIGURES),
    *((take(3, key), f"network 4 is damaged: {key} is not") for key in dict(WRONG_FIGURES)),
]


@pytest.mark.parametrize(("damage", "told"), DAMAGES)
def test_a_network_that_is_none_is_not_read(damage, told, tmp_path):
    document = a_document()
    damage(document)
    with pytest.raises(RunDirectoryError, match=re.escape(told)):
        list(read_networks(written_to(tmp_path, document)))


@pytest.mark.parametrize(("forge", "finding"), FORGERIES)
def test_a_forgery_is_found(forge, finding):
    document, problem = a_document(), a_problem()
    assert findings_of(document, problem) == ()
    forge(document)
    found = findings_of(document, problem)
    assert (found == ()) if finding is None else any(finding in sentence for sentence in found), found
    assert all(sentence.endswith(".") for sentence in found)
    assert len(found) <= 3 * MOST_SAID


def test_arcs_that_all_networks_share():
    document, problem = document_of(k_best_networks(a_problem(), Scope(k=1), budgets=ONE)), a_problem()
    arcs = document["shared_arcs"]
    assert arcs
    assert findings_of(document, problem) == ()
    (found,) = findings_of(document | {"shared_arcs": arcs[1:]}, problem)
    assert found == f"The arc from {arcs[0][0]!r} to {arcs[0][1]!r} is not said to be in all networks."
    (found,) = findings_of(document | {"shared_arcs": arcs * 2}, problem)
    assert found == "The 'shared_arcs' of the result have an arc twice."


@pytest.mark.parametrize("networks", [None, 7, True, "list", {"0": {}}])
def test_networks_that_are_no_list(networks, tmp_path):
    with pytest.raises(InputError, match="has no list of networks"):
        list(read_networks(written_to(tmp_path, a_document() | {"networks": networks})))


@pytest.mark.parametrize("missing", [0, 4, -1])
def test_a_network_that_is_missing_is_found_among_few_variables(sizes, missing):
    document, problem = a_document(), a_problem()
    assert findings_of(renumbered(document), problem) == ()
    del document["networks"][missing]
    found = findings_of(renumbered(document), problem)
    assert "cost at most" in found[-1]
    assert ("less than the last one, 1 are not listed" in found[0]) == (missing != -1)
    beyond(sizes)
    assert left(renumbered(document), problem) == [MISSING, COUNT]


def a_list_of_classes():
    return document_of(k_best_networks(a_problem(4), Scope(k=9, classes=True), budgets=ONE))


def test_a_class_that_is_missing_is_found():
    document, problem = a_list_of_classes(), a_problem(4)
    assert left(document, problem) == []
    del document["networks"][3]
    document["provenance"]["options"]["k"] = 8
    found = findings_of(renumbered(document), problem)
    assert "1 are not listed" not in found[0]
    assert "are not listed; the best of them costs" in found[0]


def test_the_share_of_a_class_is_that_of_all_of_its_networks():
    document, problem = a_list_of_classes(), a_problem(4)
    first, second = (one["share"] for one in document["networks"][:2])
    moved = first / 2
    for one, share in zip(document["networks"], (first - moved, second + moved), strict=False):
        one["share"] = share
    document = renumbered(document) | {key: document[key] for key in ("count", "arc_shares", "shared_arcs")}
    found = findings_of(document, problem)
    assert found[0].startswith("Class 1 is said to have the share")
    assert found[1].startswith("Class 2 is said to have the share")


def test_a_class_has_the_cost_of_its_cheapest_member():
    scores = scores_of([[(0, 3.0), (2, 1.0)], [(0, 3.0), (1, 2.0)]])
    document = document_of(k_best_networks(scores, Scope(k=9, classes=True), budgets=ONE))
    assert [one["cost"] for one in document["networks"]] == [4.0, 6.0]
    assert findings_of(document, scores) == ()
    dearer = {"cost": 5.0, "parents": {"v0": [], "v1": ["v0"]}}
    document["networks"][0] |= dearer
    for one, weight in zip(document["networks"], (1.0, math.exp(-1.0)), strict=True):
        one["share"] = weight
    found = findings_of(renumbered(document), scores)
    assert found[0].endswith("1 are not listed; the best of them costs 4.0.")


@pytest.mark.parametrize("by", [0.99, 1.01])
@pytest.mark.parametrize("listed", [None, 5])
def test_what_is_found_has_its_share_of_all_networks(by, listed):
    document, problem = a_document(), a_problem()
    document = document if listed is None else shortened(document, listed)
    assert left(document, problem) == []
    of_all = document["count"]["of_all"]
    assert 0.0 < of_all["at_least"] * by <= of_all["at_most"] * by < 1.0
    document["count"]["of_all"] = {end: share * by for end, share in of_all.items()}
    (found,) = findings_of(document, problem)
    assert "of the weight of all networks there are, but they have" in found


def test_what_is_found_may_be_said_to_lie_between_bounds():
    document, problem = a_document(), a_problem()
    share = document["count"]["of_all"]["at_least"]
    for low, high, holds in ((0.0, 1.0, True), (0.5, 1.01, True), (1.01, 2.0, False), (0.0, 0.99, False)):
        document["count"]["of_all"] = {"at_least": share * low, "at_most": min(1.0, share * high)}
        assert (findings_of(document, problem) == ()) is holds


def test_networks_that_are_counted_and_not_listed_are_counted_again():
    document, problem = shortened(a_document(), 5), a_problem()
    assert left(document, problem) == []
    document["count"]["networks"] += 1
    (found,) = findings_of(document, problem)
    assert f"but there are {document['count']['networks'] - 1:,}" in found
    document = shortened(a_document(), 5)
    child, parent = next((x, p) for x, own in document["arc_shares"].items() for p, s in own.items() if 0.1 < s < 0.9)
    document["arc_shares"][child][parent] += 1e-4
    (found,) = findings_of(document, problem)
    assert found.startswith(f"The arc from {parent!r} to {child!r} is said to have the share")


def test_a_search_that_was_stopped_claims_nothing_of_others():
    document, problem = a_document(4), a_problem(4)
    del document["networks"][1:-1]
    del document["networks"][0]
    document = renumbered(document)
    assert findings_of(document, problem) != ()
    document |= {"status": "time_limit", "within": None, "count": document["count"] | {"networks": None}}
    assert left(document, problem) == []


def test_a_list_that_was_stopped_and_says_how_many_there_are_is_held_to_it():
    document, problem = shortened(a_document(4), 3), a_problem(4)
    document |= {"status": "time_limit", "within": None}
    assert any("but there are" in sentence for sentence in findings_of(document, problem))


def test_where_it_takes_too_much_it_is_told(sizes):
    sizes({"complete.LARGEST": 4})
    found = checked(a_document(), a_problem())
    assert (found.findings, found.checked) == ((), (OF_ALL,))
    why = "5 variables hang together, and a search takes 4"
    assert found.unchecked == (Unchecked(MISSING, why), Unchecked(COUNT, why))
    found = checked(a_document(), a_problem(), lambda: "time_limit")
    assert [one.why for one in found.unchecked] == ["time_limit"] * 3


def test_costs_of_any_size_are_read():
    document, problem = a_document(), a_problem()
    document["networks"][0]["cost"] = 1e300
    document["networks"][-1]["cost"] = -1e300
    found = findings_of(document, problem)
    assert found[0].endswith("but is said to cost 1e+300.")


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
def test_arcs_of_networks_that_are_not_listed_must_have_room(sizes, parent, child):
    beyond(sizes)
    document, problem = shortened(a_document(), 3), a_problem()
    rest = 1 - document["count"]["share"]
    parent, child = NAMES[parent], NAMES[child]
    sure = sum(one["share"] for one in document["networks"] if parent in one["parents"][child])
    claims = [(sure, True), (sure + rest, True), (sure - 1e-6, False), (sure + rest + 1e-6, False)]
    possible = [(claimed, holds) for claimed, holds in claims if 0 < claimed < 1]
    assert {holds for _, holds in possible} == {True, False}
    for claimed, holds in possible:
        document["arc_shares"][child][parent] = claimed
        assert (not any("networks listed alone" in one for one in findings_of(document, problem))) == holds


def test_only_the_first_findings_are_told():
    document, problem = a_document(), a_problem()
    for one in document["networks"]:
        one["rank"] = 10**6
    found = findings_of(document, problem)
    assert len(found) == MOST_SAID + 2
    assert found[-2] == f"Further findings about networks: {len(document['networks']) - MOST_SAID:,}."


@pytest.mark.slow
def test_costs_that_no_float_holds_are_not_believed():
    codes = np.zeros((2, 70))
    problem = dataset_of(codes, [60_000] * 70)
    document = document_of(k_best_networks(dataset_of(codes[:, :2]), Scope(k=1), budgets=ONE))
    names = list(problem.names)
    parents = {name: names[1:] if name == "v0" else [] for name in names}
    document |= {"variables": names, "parents": parents, "order": names[::-1], "arc_shares": {}}
    document["networks"][0]["parents"] = parents
    assert findings_of(document, problem)[0].startswith("Network 1 costs inf, but is said to cost")


def networks_of(n):
    """Every network as (families, Network)."""
    problem = dataset_of(np.zeros((1, n)))
    for dag in naive.all_dags(n):
        parents = tuple(tuple(naive.members(v)) for v in dag)
        families = [scored_family(problem, x, own, Claim()) for x, own in enumerate(parents)]
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


@pytest.mark.slow
def test_cycles_are_seen():
    problem, sets = dataset_of(np.zeros((1, 4))), [0] * 4
    for sets in itertools.product(range(16), repeat=4):
        if any(own >> x & 1 for x, own in enumerate(sets)):
            continue
        families = [scored_family(problem, x, tuple(naive.members(own)), Claim()) for x, own in enumerate(sets)]
        cycle = cycle_of(families)
        assert (not cycle) == naive.is_acyclic(sets)
        assert cycle[:1] == cycle[-1:]
        assert all(sets[child] >> parent & 1 for parent, child in itertools.pairwise(cycle))


def test_the_command_tells_of_the_networks(here, sizes, capsys):
    Path("data.csv").write_text("a,b,c,d,e\n" + "0,1,0,1,0\n1,1,0,0,1\n0,0,1,1,1\n1,0,0,1,1\n" * 9)
    document = document_of(k_best_networks(read_csv("data.csv"), Scope(k=1000), budgets=ONE))

    def verified(document):
        Path("r.json").write_text(json.dumps(document))
        code = main(["verify", "r.json", "data.csv"])
        return code, capsys.readouterr().out

    code, out = verified(document)
    assert code == 0
    assert (
        "             the list: its 1,000 networks are distinct, acyclic, as demanded and as dear as it says, " in out
    )
    assert "no network that is not listed costs less than the last: all that cost as little were looked at\n" in out
    sizes({"complete.LARGEST": 1})
    code, out = verified(document | {"count": document["count"] | {"of_all": None}})
    assert code == 11
    assert "\nnot checked  that no network that is not listed costs less than the last one: " in out
    assert "how many networks there are" not in out
    document["networks"][7]["rank"] += 1
    code, out = verified(document)
    assert code == 31
    assert "Network 8 has the rank" in out
    assert out.endswith("r.json does not hold.\n")
    assert verified(document | {"networks": None})[0] == 30


def test_a_list_for_which_there_is_no_time_is_left_as_it_is(tmp_path):
    """It is neither believed nor refuted; whatever was wrong is found by who has the time."""
    document, problem = a_document(4), a_problem(4)
    document["networks"][-1]["cost"] -= 1.0
    polls = itertools.count()
    with Workers(1, lambda: "time_limit" if next(polls) else None) as workers:
        workers.check()
        networks = read_networks(written_to(tmp_path, document))
        found = verify_networks(document, networks, problem, workers)
    assert (found.findings, found.listed, found.why) == ((), None, "time_limit")
    assert findings_of(document, problem)
