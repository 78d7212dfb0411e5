"""Networks without parameters: model strings, tables of arcs, and files of networks."""

import networkx
import pytest

from extbnsl.core.errors import InputError
from extbnsl.formats.described import Described
from extbnsl.formats.export import bnlearn_written
from extbnsl.formats.structure_reader import read_structure
from extbnsl.networks.network import Network
from extbnsl.results.exporting import write_export
from extbnsl.results.structures import structure_given, together


def arcs(structure):
    names = structure.network.names
    return [(names[p], names[x]) for p, x in structure.network.arcs()]


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("[a]", ("a",), []),
        ("[a][b|a][c|a:b]", ("a", "b", "c"), [("a", "b"), ("a", "c"), ("b", "c")]),
        (" [b|a] [a] \n", ("b", "a"), [("a", "b")]),
        ("[age, years|sex (m/f)][sex (m/f)]", ("age, years", "sex (m/f)"), [("sex (m/f)", "age, years")]),
    ],
)
def test_model_strings(tmp_path, text, names, expected):
    (tmp_path / "m.txt").write_text(text)
    for found in (read_structure(text), read_structure(str(tmp_path / "m.txt"))):
        assert (found.network.names, arcs(found), found.whole) == (names, expected, True)


def test_a_model_string_comes_back_with_its_names(tmp_path):
    network = Network(("a[t-1]", "b|c", "d"), ((), (0,), (0, 1)))
    write_export(tmp_path / "n.txt", bnlearn_written(Described(network, 0.0)), False, "overwrite")
    assert (tmp_path / "n.txt").read_text().startswith("[a_t_1_]")
    assert read_structure(str(tmp_path / "n.txt")).network == network
    (tmp_path / "n.txt.names.json").write_text("mine")
    with pytest.raises(InputError, match=r"n\.txt\.names\.json does not tell names as extbnsl does"):
        read_structure(str(tmp_path / "n.txt"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[a][b|c]", "The parent 'c' of 'b' is not a variable"),
        ("[a|b][b|a]", "the model string: The network has the cycle 'a' -> 'b' -> 'a'"),
        ("[a][a]", "the model string has 'a' twice"),
        ("[a]b", "is no model string from 'b' on"),
        ("[a][b|]", "is no model string from"),
        ("[]", "is no model string from"),
        ("[a|a]", "cycle"),
        ("[a][b|a:a]", "parents of 'b' must be distinct"),
        ("nothing", "nothing is no network: give a run, a network.json, a file of a network"),
        ("nothing.bif", "nothing.bif cannot be read"),
    ],
)
def test_what_is_no_network_is_refused(tmp_path, monkeypatch, text, sentence):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=sentence):
        read_structure(text)


@pytest.mark.parametrize(
    "text",
    [
        "from,to\na,b\nb,c\n",
        '"","from","to"\n"1","a","b"\n"2","b","c"\n',
        "from;to;strength;direction\na;b;0.9;1\nb;c;0.7;0.5\n",
        '"from" "to" "strength"\n"1" "a" "b" 0.5\n"2" "b" "c" 0.25\n',
        "a,b\nb,c\n",
    ],
)
def test_tables_of_arcs(tmp_path, text):
    (tmp_path / "arcs.csv").write_text(text)
    found = read_structure(str(tmp_path / "arcs.csv"))
    assert (arcs(found), found.whole) == ([("a", "b"), ("b", "c")], False)
    assert found.over(("c", "x", "b", "a"), "data").parents == ((2,), (), (3,), ())


def test_a_table_with_an_arc_twice_or_more_columns_without_names_is_refused(tmp_path):
    (tmp_path / "twice.csv").write_text("from,to\na,b\na,b\n")
    with pytest.raises(InputError, match="has the arc from 'a' to 'b' twice"):
        read_structure(str(tmp_path / "twice.csv"))
    (tmp_path / "more.csv").write_text("a,b,0.5\n")
    with pytest.raises(InputError, match="3 fields, where an arc has a parent and a child"):
        read_structure(str(tmp_path / "more.csv"))


def test_other_variables_are_told():
    found = read_structure("[a][b|a]")
    with pytest.raises(InputError, match="the model string has the variable 'b', which data lacks"):
        found.over(("a",), "data")
    with pytest.raises(InputError, match="data has the variables 'c' and 'd', which the model string lacks"):
        found.over(("a", "b", "c", "d"), "data")


def test_what_python_has():
    graph = networkx.DiGraph([("a", "b")])
    graph.add_node("c")
    whole = (("a", "b", "c"), [("a", "b")], True)
    for given in (graph, {"a": [], "b": ["a"], "c": []}, Network(("a", "b", "c"), ((), (0,), ())), "[a][b|a][c]"):
        found = structure_given(given)
        assert (found.network.names, arcs(found), found.whole) == whole
    pairs = structure_given([("a", "b")])
    assert (arcs(pairs), pairs.whole) == ([("a", "b")], False)
    one, other = together(pairs, structure_given(graph))
    assert one == other
    for wrong in (5, [("a",)], None, [1, 2]):
        with pytest.raises(InputError, match="is no network: give a result"):
            structure_given(wrong)
