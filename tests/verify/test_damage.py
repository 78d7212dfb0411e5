"""Damaged certificates: whatever is no certificate is refused in one sentence."""

import json
import math

import pytest
from certified import proved

from extbnsl.core.errors import RunDirectoryError
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.branching import Answer, Branching, TreeNode
from extbnsl.verify.certificate import MOST_UNITS
from extbnsl.verify.certificate_reader import read_certificate
from extbnsl.verify.steps import Pass, Search

TAKEN_AWAY = object()


def change(path, value):
    """The certificate of `proved()` with the value at `path` replaced or taken away."""
    document = json.loads(json.dumps(proved().certificate.to_document()))
    with_cuts = next(i for i, c in enumerate(document["components"]) if c["steps"][0]["cuts"])
    path = [with_cuts if key == "with cuts" else key for key in path]
    at = document
    for key in path[:-1]:
        at = at[key]
    if value is TAKEN_AWAY:
        del at[path[-1]]
    else:
        at[path[-1]] = value(at[path[-1]]) if callable(value) else value
    return document


FIRST = ("components", 0)
WITH_CUTS = ("components", "with cuts")
STEPS = (*WITH_CUTS, "steps")
PASS = (*STEPS, 0)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("components",), TAKEN_AWAY, "'components'"),
        (("components",), 3, "list"),
        (("components",), [], "in no component"),
        (FIRST, 1, "'variables'"),
        ((*FIRST, "variables"), lambda v: [*v, "stranger"], "stranger"),
        ((*FIRST, "variables"), lambda v: v + v, "v"),
        ((*FIRST, "variables"), [], "empty"),
        ((*FIRST, "variables"), [1], "names"),
        ((*FIRST, "lower_bound"), math.nan, "finite"),
        ((*FIRST, "lower_bound"), math.inf, "finite"),
        ((*FIRST, "lower_bound"), -math.inf, "finite"),
        ((*FIRST, "lower_bound"), 10**400, "finite"),
        ((*FIRST, "lower_bound"), True, "finite"),
        ((*FIRST, "lower_bound"), "1", "finite"),
        (("units_per_nat",), 1 << 37, "units to the nat"),
        (("units_per_nat",), float(1 << 36), "whole number"),
        (("units_per_nat",), TAKEN_AWAY, "'units_per_nat'"),
        ((*FIRST, "steps"), TAKEN_AWAY, "'steps'"),
        ((*FIRST, "steps"), [], "does not begin with a pass over all its variables"),
        ((*FIRST, "steps"), None, "list"),
        ((*FIRST, "steps", 0), None, "'cuts'"),
        ((*FIRST, "steps", 0), {}, "'cuts'"),
        ((*PASS, "cuts", 0), [[]], "empty cluster"),
        ((*PASS, "cuts", 0), lambda c: [c[0] + c[0]], "twice"),
        ((*PASS, "cuts", 0), [["stranger"]], "stranger"),
        ((*PASS, "cuts", 0), lambda c: [c[0], c[0], ["stranger"]], "stranger"),
        ((*PASS, "cuts", 0), [], "a cut of 0 clusters"),
        ((*PASS, "cuts", 0), lambda c: [c[0], c[0]], "a cut of 2 clusters"),
        ((*PASS, "cuts"), lambda c: c[1:], "multipliers"),
        ((*PASS, "cuts"), "v0", "list of cuts"),
        ((*PASS, "cuts"), [["v0"]], "list of cuts"),
        ((*PASS, "multipliers", 0), 0, "above 0"),
        ((*PASS, "multipliers", 0), -1, "above 0"),
        ((*PASS, "multipliers", 0), 1.0, "above 0"),
        ((*PASS, "multipliers", 0), True, "above 0"),
        ((*PASS, "multipliers", 0), math.nan, "above 0"),
        ((*PASS, "multipliers", 0), math.inf, "above 0"),
        ((*PASS, "multipliers", 0), MOST_UNITS, "units together"),
        ((*PASS, "multipliers", 0), 10**400, "units together"),
        ((*PASS, "multipliers"), lambda m: [*m, 1], "multipliers"),
        ((*WITH_CUTS, "least"), {}, "'least'"),
        ((*WITH_CUTS, "least"), lambda least: least | {"stranger": 1}, "stranger"),
        ((*WITH_CUTS, "least"), lambda least: dict.fromkeys(least, 1.0), "whole"),
        ((*WITH_CUTS, "least"), lambda least: dict.fromkeys(least, False), "whole"),
        ((*WITH_CUTS, "least"), lambda least: dict.fromkeys(least, -math.inf), "whole"),
    ],
)
def test_damage_is_one_sentence(path, value, says):
    assert_refused(change(path, value), says, proved().network.names)


def assert_refused(document, says, names):
    """A certificate of these variables is refused in one sentence."""
    with pytest.raises(RunDirectoryError) as caught:
        read_certificate(document, names)
    message = str(caught.value)
    assert says in message
    assert message.endswith("it is damaged.")
    assert "\n" not in message


NAMES = tuple("abcde")


def settling():
    """A certificate of five variables: a search settles two of them, a tree two others, with a pass after each."""
    cuts = {"cuts": [[["a", "b"]], [["a"], ["b"], ["a", "b"]]], "multipliers": [3, 4]}
    passes = [{"cuts": [1, 0], "multipliers": [1, 2]}, {"cuts": [], "multipliers": []}]
    nodes = [{"above": -1, "answer": None, "passes": passes}]
    nodes += [{"above": 0, "answer": ["c", "d", has], "passes": []} for has in (True, False)]
    steps = {
        "first": {"cuts": [[["a", "e"]]], "multipliers": [1]},
        "search": {"variables": ["a", "b"], "lower_bound": 1.5, **cuts},
        "between": {"cuts": [[["c", "e"]]], "multipliers": [1]},
        "tree": {"variables": ["c", "d"], "lower_bound": 1.0, "cuts": [[["c", "d"]], [["d"]]], "nodes": nodes},
        "last": {"cuts": [[["e"]]], "multipliers": [1]},
    }
    component = {"variables": list(NAMES), "lower_bound": 3.5, "least": dict.fromkeys(NAMES, 1), "steps": steps}
    return {"units_per_nat": UNITS_PER_NAT, "components": [component]}


def with_steps(document):
    """The document with its steps in a list, as `read_certificate` takes it."""
    (component,) = document["components"]
    return document | {"components": [component | {"steps": list(component["steps"].values())}]}


def test_steps_that_settle_are_read_as_they_were_written():
    document = with_steps(settling())
    certificate = read_certificate(document, NAMES)
    assert certificate.to_document() == document
    (component,) = certificate.components
    first, search, between, tree, last = component.steps
    assert component.first == first == Pass(((("a", "e"),),), (1,))
    assert search == Search(("a", "b"), 1.5, Pass(((("a", "b"),), (("a",), ("b",), ("a", "b"))), (3, 4)))
    assert (between, last) == (Pass(((("c", "e"),),), (1,)), Pass(((("e",),),), (1,)))
    root = TreeNode(-1, None, (((1, 0), (1, 2)), ((), ())))
    sides = tuple(TreeNode(0, Answer("c", "d", has), ()) for has in (True, False))
    assert tree == Branching(("c", "d"), 1.0, ((("c", "d"),), (("d",),)), (root, *sides))


@pytest.mark.parametrize(
    ("step", "path", "value", "says"),
    [
        ("search", ("variables",), [], "empty"),
        ("search", ("variables",), ["a", "a"], "twice"),
        ("search", ("variables",), ["a", "stranger"], "not left to be settled"),
        ("search", ("variables",), ["a"], "not about"),
        ("search", ("variables",), None, "names"),
        ("search", ("variables",), ["a", "f"], "not left to be settled"),
        ("search", ("lower_bound",), math.inf, "finite"),
        ("search", ("lower_bound",), True, "finite"),
        ("search", ("lower_bound",), TAKEN_AWAY, "'lower_bound'"),
        ("search", ("cuts",), TAKEN_AWAY, "'cuts'"),
        ("search", ("cuts", 0, 0), ["e"], "not about"),
        ("search", ("multipliers",), TAKEN_AWAY, "'multipliers'"),
        ("search", ("multipliers",), [3], "2 cuts with 1 multipliers"),
        ("search", ("multipliers", 0), MOST_UNITS, "units together"),
        ("between", ("cuts", 0, 0), ["a"], "not about"),
        ("last", ("cuts", 0, 0), ["e", "c"], "not about"),
        ("tree", ("variables",), ["b", "c"], "not left to be settled"),
        ("tree", ("lower_bound",), math.nan, "finite"),
        ("tree", ("cuts", 0, 0), ["a"], "not about"),
        ("tree", ("nodes",), [], "without nodes"),
        ("tree", ("nodes",), {}, "list"),
        ("tree", ("nodes", 0), None, "'above'"),
        ("tree", ("nodes", 0, "above"), 0, "a node before"),
        ("tree", ("nodes", 0, "above"), -2, "a node before"),
        ("tree", ("nodes", 0, "answer"), ["c", "d", True], "an answer"),
        ("tree", ("nodes", 0, "passes"), {}, "list"),
        ("tree", ("nodes", 0, "passes", 0), [], "'cuts'"),
        ("tree", ("nodes", 0, "passes", 0, "cuts"), [0, 0], "a cut twice"),
        ("tree", ("nodes", 0, "passes", 0, "cuts", 0), 2, "of cuts"),
        ("tree", ("nodes", 0, "passes", 0, "cuts", 0), -1, "of cuts"),
        ("tree", ("nodes", 0, "passes", 0, "cuts", 0), True, "of cuts"),
        ("tree", ("nodes", 0, "passes", 0, "cuts", 0), 0.0, "of cuts"),
        ("tree", ("nodes", 0, "passes", 0, "multipliers"), [1], "2 cuts with 1 multipliers"),
        ("tree", ("nodes", 0, "passes", 0, "multipliers", 1), 0, "above 0"),
        ("tree", ("nodes", 0, "passes", 0, "multipliers", 1), 10**400, "units together"),
        ("tree", ("nodes", 1, "above"), -1, "a node before"),
        ("tree", ("nodes", 1, "above"), 1, "a node before"),
        ("tree", ("nodes", 1, "above"), 2, "a node before"),
        ("tree", ("nodes", 1, "above"), False, "a node before"),
        ("tree", ("nodes", 1, "above"), TAKEN_AWAY, "'above'"),
        ("tree", ("nodes", 1, "answer"), None, "an answer"),
        ("tree", ("nodes", 1, "answer"), ["c", "d"], "an answer"),
        ("tree", ("nodes", 1, "answer"), ["c", "c", True], "an answer"),
        ("tree", ("nodes", 1, "answer"), ["c", "a", True], "an answer"),
        ("tree", ("nodes", 1, "answer"), ["c", "d", 1], "an answer"),
        ("tree", ("nodes", 1, "answer"), [2, 3, True], "an answer"),
        ("tree", ("nodes", 1, "answer"), [["c"], "d", True], "an answer"),
    ],
)
def test_a_damaged_step_is_one_sentence(step, path, value, says):
    document = settling()
    at = document["components"][0]["steps"][step]
    for key in path[:-1]:
        at = at[key]
    if value is TAKEN_AWAY:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    assert_refused(with_steps(document), says, NAMES)


@pytest.mark.parametrize("step", ["search", "tree"])
def test_a_proof_begins_with_a_pass(step):
    document = settling()
    component = document["components"][0]
    component["steps"] = {name: component["steps"][name] for name in (step, "last")}
    assert_refused(with_steps(document), "does not begin with a pass over all its variables", NAMES)
