"""Reading BIF: what the writer writes comes back, other dialects mean the same, and faults name their line."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.core.errors import InputError
from extbnsl.formats.bif_writer import bif_text
from extbnsl.formats.network_reader import read_network
from extbnsl.networks.network import Network

VARIABLES = (
    "network n {\n}\n"
    "variable a {\n  type discrete [ 2 ] { x, y };\n}\n"
    "variable b {\n  type discrete [ 3 ] { 0, 1, 2 };\n}\n"
)
A = "probability ( a ) {\n  table 0.25, 0.75;\n}\n"
B = "probability ( b | a ) {\n  (x) 0.5, 0.5, 0.0;\n  (y) 0.1, 0.2, 0.7;\n}\n"
TABLES = ([0.25, 0.75], [[0.5, 0.5, 0], [0.1, 0.2, 0.7]])


def reading(tmp_path, text):
    path = tmp_path / "net.bif"
    path.write_text(text)
    return read_network(path)


def assert_is(read, network, states, tables):
    assert (read.network, read.states) == (network, tuple(map(tuple, states)))
    assert len(read.tables) == len(tables)
    for found, table in zip(read.tables, tables, strict=True):
        assert np.array_equal(found, table)


def assert_is_the_example(read):
    assert_is(read, Network(("a", "b"), ((), (0,))), (("x", "y"), ("0", "1", "2")), TABLES)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=8), min_size=1, max_size=6, unique=True), st.data())
def test_what_is_written_comes_back(tmp_path_factory, names, data):
    states = [data.draw(st.lists(st.text(max_size=6), min_size=1, max_size=4, unique=True)) for _ in names]
    later = [tuple(i for i in (child + 1, child + 3) if i < len(names)) for child in range(len(names))]
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet(np.ones(len(states[i])), tuple(len(states[p]) for p in ps)) for i, ps in enumerate(later)]
    network = Network(tuple(names), tuple(later))
    folder = tmp_path_factory.mktemp("bif")
    assert_is(reading(folder, bif_text(network, states, tables)), network, states, tables)


def test_plain_and_gzip(tmp_path):
    assert_is_the_example(reading(tmp_path, VARIABLES + A + B))
    (tmp_path / "net.bif.gz").write_bytes(gzip.compress((VARIABLES + A + B).encode()))
    assert_is_the_example(read_network(tmp_path / "net.bif.gz"))


@pytest.mark.parametrize(
    "text",
    [
        B + A + VARIABLES,
        VARIABLES + A + "probability ( b | a ) { default 0.1 0.2 0.7; (x) 0.5 0.5 0; }",
        VARIABLES + A + "probability ( b | a ) { (x) 0.5 0.5 0; default 0.1 0.2 0.7; }",
        VARIABLES + "probability ( a ) { default 0.25 0.75; } probability(b|a){table .5 .1, .5 .2, 0 7e-1;}",
        VARIABLES.replace("}\n", '  property "p; (q)" = {;\n}\n') + A.replace("table", "property x;\n table") + B,
        '// variable z {\n/* A "note"\n of } two lines */' + VARIABLES.replace("{\n", "{ //2 values\n") + A + B,
        (VARIABLES + A + B).replace("a {", '"a" {').replace("x", '"x"').replace("| a", '"a"').replace("\n", "\r\n"),
        '// {"a": 1}\n// {no json}\n// ["a"]\n' + VARIABLES + A + B,
    ],
)
def test_other_dialects_mean_the_same(tmp_path, text):
    assert_is_the_example(reading(tmp_path, text))


def test_tables_of_parents_in_another_order_are_turned(tmp_path):
    """`table` cycles the last parent first, and the child last."""
    declared = VARIABLES + "variable c { type discrete [ 2 ] { n, y }; }\n" + A + "probability (b) { table .2 .3 .5; }"
    chances = np.array([[0.1, 0.6], [0.2, 0.7], [0.3, 0.8]])  # of n, given b and then a
    rows = [f"({b}, {a}) {chances[b, k]} {1 - chances[b, k]};" for b in range(3) for k, a in enumerate("xy")]
    whole = " ".join(map(str, [*chances.ravel(), *(1 - chances).ravel()]))
    for body in (" ".join(rows), f"table {whole};"):
        read = reading(tmp_path, f"{declared} probability ( c | b, a ) {{ {body} }}")
        assert read.network.parents[2] == (0, 1)
        assert np.array_equal(read.tables[2], np.stack([chances.T, 1 - chances.T], axis=-1))


def test_probabilities_of_two_digits_are_kept_as_they_are(tmp_path):
    read = reading(tmp_path, VARIABLES + A + "probability ( b ) { table 0.33, 0.33, 0.33; }")
    assert read.tables[1].tolist() == [0.33] * 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "declares no variable: is it a file of a network"),
        (VARIABLES + A, "has no probabilities of 'b'"),
        ("a,b\n0,1\n", "line 1: expected network, variable, probability and a block in braces, found 'a,b'"),
        (VARIABLES + A + B[:-3], "ends in the middle of a block"),
        (VARIABLES + A + B + A, "line 16: 'a' has probabilities twice"),
        (VARIABLES + VARIABLES, "line 11: the variable 'a' is declared twice"),
        (
            VARIABLES + "variable c [",
            "line 9: expected network, variable, probability and a block in braces, found 'variable c \\['",
        ),
        (VARIABLES + "variable c {\n}", "line 9: the variable 'c' has no states"),
        (VARIABLES.replace("[ 3 ]", "[ 2 ]"), "line 7: expected 'type discrete .*' of 'b'"),
        (VARIABLES.replace("0, 1, 2", "0, 1, 0"), "line 6: the variable 'b' has the state '0' twice"),
        (VARIABLES.replace("discrete [ 3 ] { 0, 1, 2 }", "continuous"), "line 7: expected 'type discrete .*' of 'b'"),
        (VARIABLES + A + B + "probability ( ) { }", "line 16: expected the name of a variable"),
        (VARIABLES + A + B.replace("| a", "| z"), "line 12: the variable 'z' is not declared"),
        (VARIABLES + A + B + "probability ( z ) { }", "line 16: the variable 'z' is not declared"),
        (VARIABLES + A + B.replace("| a", "| a, a"), "line 12: the parent 'a' of 'b' is given twice"),
        (VARIABLES + A + B.replace("(x)", "(z)"), "line 13: the state 'z' is none of x, y"),
        (VARIABLES + A + B.replace("(x)", "(x, y)"), "line 13: expected the states of 1 parents, found 2"),
        (VARIABLES + A + B.replace("(y)", "( )"), "line 14: the state '' is none of x, y"),
        (VARIABLES + A + B.replace("0.5, 0.5, 0.0", "0.5, 0.5"), "line 13: expected 3 probabilities, found 2"),
        (VARIABLES + A + B.replace("(y)", "table"), "line 14: expected 6 probabilities, found 3"),
        (VARIABLES + A + B.replace("0.1", "much"), "line 14: expected numbers from 0 to 1"),
        (VARIABLES + A + B.replace("0.5, 0.5", "1.5, -0.5"), "line 13: expected numbers from 0 to 1"),
        (VARIABLES + A + B.replace("0.1", "nan"), "line 14: expected numbers from 0 to 1"),
        (
            VARIABLES + A + B.replace("(y) 0.1, 0.2, 0.7;", ""),
            r"line 12: there are no probabilities of 'b' given \(a = y\)",
        ),
        (VARIABLES + A + B.replace("(y)", "(x)"), "line 14: these probabilities are given twice"),
        (
            VARIABLES + A + B.replace("0.7", "0.6"),
            r"line 12: the probabilities of 'b' given \(a = y\) sum to 0.9 instead",
        ),
        (VARIABLES + A.replace("0.75", "0.8") + B, "line 9: the probabilities of 'a' sum to 1.05 instead of 1"),
        (VARIABLES + A + B.replace("(y)", "y"), "line 14: expected '\\(', 'table' or 'default', found 'y'"),
    ],
)
def test_faults_are_one_sentence_with_file_and_line(tmp_path, text, said):
    with pytest.raises(InputError, match=said) as caught:
        reading(tmp_path, text)
    assert str(tmp_path / "net.bif") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cycle_is_named(tmp_path):
    back = "probability ( a | b ) { default 0.5, 0.5; }"
    with pytest.raises(InputError, match=r"parents in .*net\.bif: The network has the cycle 'a' -> 'b' -> 'a'"):
        reading(tmp_path, VARIABLES + B + back)
    with pytest.raises(InputError, match="the cycle 'a' -> 'a'"):
        reading(tmp_path, VARIABLES + B + back.replace("| b", "| a"))


def test_a_default_promises_no_more_than_fits(tmp_path, sizes):
    text = VARIABLES + A + "probability ( b | a ) { default 0.1 0.2 0.7; }"
    sizes(LARGEST_TABLES=8)
    reading(tmp_path, text)
    sizes(LARGEST_TABLES=7)
    with pytest.raises(InputError, match="line 12: the tables up to that of 'b' have 8 probabilities, more than 7"):
        reading(tmp_path, text)


def test_originals_that_coincide_are_refused(tmp_path):
    with pytest.raises(InputError, match="must be distinct"):
        reading(tmp_path, '// {"variable": "a", "name": "b"}\n' + VARIABLES + A + B)
