"""Features of networks that were drawn, against plain reachability."""

import itertools
import math

import numpy as np
import pytest
from naive import all_dags, members

from extbnsl.core.errors import InputError
from extbnsl.posteriors.features import CONDITIONS, NO, features_given, features_of, shares_of

NAMES = tuple("abcd")
DAGS = all_dags(4)
PARENTS = np.array(DAGS, np.uint64)[:, :, None]


def descends(dag, one, other):
    """Whether a directed path leads from one to the other."""
    return any(p == one or descends(dag, one, p) for p in members(dag[other]))


PLAIN = {
    "arcs": lambda dag, a, b: dag[b] >> a & 1 == 1,
    "adjacent": lambda dag, a, b: bool(dag[b] >> a & 1 or dag[a] >> b & 1),
    "paths": descends,
    "blankets": lambda dag, a, b: bool(
        dag[b] >> a & 1 or dag[a] >> b & 1 or any(dag[x] >> a & 1 and dag[x] >> b & 1 for x in range(4))
    ),
}


def share(conditions, weights=None):
    """The share of all networks over four variables, and its error, that has what is asked for."""
    weights = np.ones(len(DAGS)) if weights is None else weights
    return shares_of({"x": conditions}, NAMES, lambda some: PARENTS[some], weights)["x"]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("negated", [False, True])
def test_a_condition_is_what_it_says(condition, negated, sizes):
    sizes({"features.TOGETHER": 16 * 100})  # in several portions
    for a, b in itertools.permutations(range(4), 2):
        holds = [PLAIN[condition](dag, a, b) != negated for dag in DAGS]
        own, error = share({f"{NO * negated}{condition}": [(NAMES[a], NAMES[b])]})
        assert own == sum(holds) / len(DAGS)
        assert error == pytest.approx(math.sqrt(own * (1 - own) / len(DAGS) + len(DAGS) ** -2))


def test_networks_that_count_differently(sizes):
    """The error is that of a ratio of means, as found by drawing again and again."""
    sizes({"features.TOGETHER": 16 * 100})
    rng = np.random.default_rng(1)
    holds = np.array([PLAIN["arcs"](dag, 0, 1) for dag in DAGS])
    weights = np.exp(rng.normal(size=len(DAGS)) + holds)
    own, error = share({"arcs": [("a", "b")]}, weights)
    assert own == pytest.approx(weights[holds].sum() / weights.sum())
    again = [rng.integers(len(DAGS), size=len(DAGS)) for _ in range(4000)]
    spread = np.std([weights[some][holds[some]].sum() / weights[some].sum() for some in again])
    assert error == pytest.approx(spread, rel=0.05)


def test_all_conditions_must_hold():
    asked = {"paths": [("a", "c"), ("b", "c")], "no_adjacent": [("a", "b")]}
    holds = [descends(dag, 0, 2) and descends(dag, 1, 2) and not PLAIN["adjacent"](dag, 0, 1) for dag in DAGS]
    assert share(asked)[0] == sum(holds) / len(DAGS) > 0.0


def test_what_no_network_has_is_not_said_to_be_sure():
    own, error = share({"paths": [("a", "b"), ("b", "a")]})
    assert own == 0.0
    assert error > 0.0


FILE = """\
both ways:
  paths: [[a, b]]
  no_arcs: [[a, b]]
"""


def test_a_file_and_a_dict_say_the_same(tmp_path):
    path = tmp_path / "features.yaml"
    path.write_text(FILE)
    text = features_given(path, "features")
    assert text == features_given({"both ways": {"paths": [["a", "b"]], "no_arcs": [["a", "b"]]}}, "features")
    assert features_of(text, NAMES)["both ways"]["paths"] == [["a", "b"]]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x: {path: [[a, b]]}\n", "1: x.path: there is no such condition"),
        ("x: {paths: [[a, b, c]]}\n", "1: x.paths: give a list of pairs"),
        ("x: {paths: [[a, a]]}\n", "1: x.paths: give a list of pairs"),
        ("x: {paths: []}\n", "1: x.paths: give a list of pairs"),
        ("x: 3\n", "1: x: say what a network has"),
        ("- x\n", "give each feature a name"),
        ("", "give each feature a name"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(content, said, tmp_path):
    path = tmp_path / "features.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as raised:
        features_given(path, "features")
    assert said in str(raised.value)


def test_a_variable_that_there_is_not():
    with pytest.raises(InputError, match="'x' names 'z', and there is no such variable"):
        features_of(features_given({"x": {"arcs": [("a", "z")]}}, "features"), NAMES)
