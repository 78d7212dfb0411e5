"""BIF, DOT and network.json, each read back by a small strict reader."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.formats.bif_writer import LABEL, MISREAD, bif_text
from extbnsl.formats.described import Described, network_document
from extbnsl.formats.dot import dot_text
from extbnsl.formats.spelling import words
from extbnsl.networks.network import Network

NETWORK = Network(("rain", "wet grass", "variable", "X_"), ((), (0,), (0, 1), ()))
STATES = (("no", "yes"), ("0", "1", "2+"), ("(0, 1]", "(1, 2]"), ("only",))


def random_tables(network, states, seed=0):
    rng = np.random.default_rng(seed)
    arities = [len(row) for row in states]
    tables = [rng.random((*(arities[p] for p in ps), arities[i])) for i, ps in enumerate(network.parents)]
    return tuple(table / table.sum(axis=-1, keepdims=True) for table in tables)


def read_bif(text):
    """A reader of the dialect of the published networks: (names, labels by name, parents, tables, comments).

    Every line must be one that the writer may write; `tables[child]` maps labels of parents to a row.
    """
    lines = text.split("\n")
    assert lines.pop() == ""
    comments = []
    while lines[0].startswith("// "):
        comments.append(json.loads(lines.pop(0)[3:]))
    assert [lines.pop(0), lines.pop(0)] == ["network unknown {", "}"]
    labels, parents, tables = {}, {}, {}
    while lines and (head := re.fullmatch(r"variable (\w+) \{", lines[0])):
        count, listed = re.fullmatch(r"  type discrete \[ (\d+) \] \{ (.*) \};", lines[1]).groups()
        labels[head[1]] = listed.split(", ")
        assert int(count) == len(labels[head[1]]) == len(set(labels[head[1]]))
        assert lines[2] == "}"
        del lines[:3]
    while lines:
        child, given = re.fullmatch(r"probability \( (\w+)(?: \| ([\w, ]+))? \) \{", lines.pop(0)).groups()
        parents[child] = given.split(", ") if given else []
        rows = tables[child] = {}
        while (line := lines.pop(0)) != "}":
            row = re.fullmatch(r"  table (.*);|  \((.*)\) (.*);", line)
            key = () if row[2] is None else tuple(row[2].split(", "))
            assert key not in rows
            rows[key] = [float(word) for word in (row[1] or row[3]).split(", ")]
    assert list(labels) == list(parents)
    return labels, parents, tables, comments


def originals(labels, comments):
    """Names and labels as they were before they were replaced, in the order of the file."""
    names = {name: name for name in labels}
    states = {name: {label: label for label in row} for name, row in labels.items()}
    for comment in comments:
        if "name" in comment:
            names[comment["variable"]] = comment["name"]
        else:
            states[comment["variable"]][comment["state"]] = comment["label"]
    return tuple(names.values()), tuple(tuple(row.values()) for row in states.values())


def assert_bif_holds(network, states, tables):
    labels, parents, rows, comments = read_bif(bif_text(network, states, tables))
    assert originals(labels, comments) == (network.names, tuple(map(tuple, states)))
    written = list(labels)
    assert [[written.index(p) for p in ps] for ps in parents.values()] == [list(ps) for ps in network.parents]
    for child, table in enumerate(tables):
        found = rows[written[child]]
        assert len(found) == np.prod(table.shape[:-1])
        for configuration in np.ndindex(table.shape[:-1]):
            pairs = zip(network.parents[child], configuration, strict=True)
            key = tuple(labels[written[p]][code] for p, code in pairs)
            assert found[key] == table[configuration].tolist()
            assert sum(found[key]) == pytest.approx(1, abs=1e-12)
    return labels


def test_bif_comes_back_exactly():
    labels = assert_bif_holds(NETWORK, STATES, random_tables(NETWORK, STATES))
    assert list(labels) == ["rain", "wet_grass", "X__2", "X_"]
    assert labels["rain"] == ["no", "yes"]
    assert labels["wet_grass"] == ["0", "1", "2+"]


def test_bif_is_the_dialect_of_the_published_networks():
    network = Network(("a", "b"), ((), (0,)))
    tables = (np.array([0.1, 0.9]), np.array([[0.25, 0.75], [1.0, 0.0]]))
    assert bif_text(network, (("x", "y"), ("0", "1")), tables) == (
        "network unknown {\n}\n"
        "variable a {\n  type discrete [ 2 ] { x, y };\n}\n"
        "variable b {\n  type discrete [ 2 ] { 0, 1 };\n}\n"
        "probability ( a ) {\n  table 0.1, 0.9;\n}\n"
        "probability ( b | a ) {\n  (x) 0.25, 0.75;\n  (y) 1.0, 0.0;\n}\n"
    )


@pytest.mark.parametrize(
    ("names", "written"),
    [
        (("a b", "a_b", "a-b", "a.b", "a_b_2"), ["a_b_3", "a_b", "a_b_4", "a_b_5", "a_b_2"]),
        (("", "X", "X_", "_"), ["X1", "X", "X_", "_"]),
        (("my_probability", "table1", "default", "tables"), ["X_my_", "X_", "X_default", "tables"]),
        (("varivariableable", "network"), ["X", "X_"]),
        (("1", "é", "日本", "X_1"), ["X_1_2", "e", "X3", "X_1"]),
        (('"', "\n", "}", "//", "\\"), ["X1", "X2", "X3", "X4", "X5"]),
        (("日本", "X1", "東京_1", "X1_2"), ["X1_3", "X1", "___1", "X1_2"]),
        (
            ("Zürich", "Straße", "Łódź", "ισχύς", "ıÐæﬁ²", "µ", "Zurich"),
            ["Zurich_2", "Strasse", "Lodz", "iotasigmachiupsilonsigma", "iEthaefi2", "mu", "Zurich"],
        ),
    ],
)
def test_bif_names_are_words_that_both_readers_take(names, written):
    network = Network(names, ((),) * len(names))
    states = (("0", "1"),) * len(names)
    labels = assert_bif_holds(network, states, random_tables(network, states))
    assert bif_text(network, states, random_tables(network, states)).isascii()
    assert list(labels) == written


@pytest.mark.parametrize(
    ("states", "bif", "word"),
    [
        (["<=55", "(55,67]", ">67"], ["le55", "gt55_le67", "gt67"], ["le55", "gt55_le67", "gt67"]),
        (
            ["<=-3.5", "(-3.5,1e-05]", "(1e-05,+2]", ">2"],
            ["le-3.5", "gt-3.5_le1e-05", "gt1e-05_le+2", "gt2"],
            ["leminus3_5", "gtminus3_5_le1eminus05", "gt1eminus05_leplus2", "gt2"],
        ),
        (["[1, 2)", "[2; 3]", "]3,4["], ["ge1_lt2", "ge2_le3", "gt3_lt4"], ["ge1_lt2", "ge2_le3", "gt3_lt4"]),
        (["(-inf, 0]", "(0, inf)", "(-inf,inf)"], ["le0", "gt0", "__inf_inf_"], ["le0", "gt0", "s___inf_inf_"]),
        (["<=50K", ">50K", "≥60", "< 5"], ["le50K", "gt50K", "ge60", "lt5"], ["le50K", "gt50K", "ge60", "lt5"]),
        (["<=2.5", "<=25", "<=2_5"], ["le2.5", "le25", "le2_5"], ["le2_5", "le25", "le2_5_2"]),
        (["<=5", "le5"], ["le5_2", "le5"], ["le5_2", "le5"]),
        (["-1", "1", "+1", "a-1"], ["-1", "1", "+1", "a-1"], ["minus1", "s_1", "plus1", "a_1"]),
    ],
)
def test_cut_states_are_readable(states, bif, word):
    """In BIF, which has points and signs, and in words, as XDSL has them."""
    assert list(words(states, LABEL.fullmatch, "s", MISREAD)) == bif
    assert list(words(states, re.compile("[A-Za-z][A-Za-z0-9_]*").fullmatch, "s")) == word


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=8), min_size=1, max_size=6, unique=True), st.data())
def test_bif_takes_any_names_and_labels(names, data):
    states = [data.draw(st.lists(st.text(max_size=6), min_size=1, max_size=4, unique=True)) for _ in names]
    network = Network(tuple(names), tuple(tuple(range(max(0, i - 2), i)) for i in range(len(names))))
    assert_bif_holds(network, states, random_tables(network, states))


def test_dot():
    """c and a are not joined, so that their arcs to b are compelled; that from b to d follows; e and f may turn."""
    names = ("a", 'say "b"', "c\\d", "d", "e", "f")
    network = Network(names, ((), (0, 2), (), (1,), (), (4,)))
    head = 'digraph network {\n  "a";\n  "say \\"b\\"";\n  "c\\\\d";\n  "d";\n  "e";\n  "f";\n'
    arcs = '  "a" -> "say \\"b\\"";\n  "say \\"b\\"" -> "d";\n  "c\\\\d" -> "say \\"b\\"";\n'
    assert dot_text(network) == f'{head}{arcs}  "e" -> "f" [style=dashed];\n}}\n'
    assert dot_text(network, as_class=True) == f'{head}{arcs}  "e" -> "f" [dir=none];\n}}\n'


def test_document_survives_json():
    tables = random_tables(NETWORK, STATES)
    counts = [list(range(len(states))) for states in STATES]
    known = Described(NETWORK, 12.5, STATES, tables, counts=counts)
    document = json.loads(json.dumps(network_document(known), allow_nan=False))
    assert document["format_version"] == 2
    assert (document["cost"], document["log_base"]) == (12.5, "e")
    assert Network.from_names(document["variables"], document["parents"]) == NETWORK
    assert tuple(map(tuple, document["states"].values())) == STATES
    assert document["counts"] == dict(zip(NETWORK.names, counts, strict=True))
    assert document["arcs"] == [["rain", "wet grass"], ["rain", "variable"], ["wet grass", "variable"]]
    assert document["cpdag"] == {
        "directed": [],
        "undirected": [["rain", "wet grass"], ["rain", "variable"], ["wet grass", "variable"]],
    }
    for table, nested in zip(tables, document["tables"].values(), strict=True):
        assert np.array_equal(np.array(nested), table)


def test_document_of_a_collider():
    network = Network(("a", "b", "c", "d"), ((), (0, 2), (), (0,)))
    found = network_document(Described(network, 0.0))
    assert found["cpdag"] == {"directed": [["a", "b"], ["c", "b"]], "undirected": [["a", "d"]]}
    assert [found[key] for key in ("states", "counts", "tables", "arc_strengths")] == [None] * 4
    assert not found.keys() & {"regressions", "spreads"}
