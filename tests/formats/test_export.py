"""Every format is read back, by a small strict reader of its own and by other packages: structure and parameters are
those that were written."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.core.errors import InputError
from extbnsl.formats.described import Described
from extbnsl.formats.export import names_text, written
from extbnsl.formats.foreign_objects import networkx_graph, pgmpy_model, pyagrum_network
from extbnsl.formats.kinds import FORMATS, LISTED, MADE_OF_PARAMETERS, SUFFIXES, check_choices, format_of
from extbnsl.formats.network_reader import read_network
from extbnsl.networks.arcs import ArcStrength
from extbnsl.networks.network import Network
from extbnsl.results.exporting import write_export

GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


def described(names, parents, states, seed=0):
    """A network with random parameters and strengths; every third reversal is not known."""
    rng = np.random.default_rng(seed)
    network = Network(tuple(names), tuple(parents))
    sizes = [tuple(len(states[v]) for v in (*own, x)) for x, own in enumerate(parents)]
    tables = [rng.random(size) for size in sizes]
    strengths = tuple(
        ArcStrength(names[p], names[x], float(rng.normal()), None if at % 3 == 0 else float(rng.normal()))
        for at, (p, x) in enumerate(network.arcs())
    )
    return Described(network, 12.5, states, [table / table.sum(axis=-1, keepdims=True) for table in tables], strengths)


def chain(n):
    return [tuple(range(max(0, x - 2), x)) for x in range(n)]


YES = ("no", "yes")
CASES = {
    "plain": described("abcd", [(2,), (0, 2), (), ()], [YES, ("x", "y", "z"), YES, ("0", "1")]),
    "one": described(["only"], [()], [YES]),
    "constant": described("abc", chain(3), [YES, ["7"], YES]),
    "no arcs": described("ab", [(), ()], [YES, YES]),
    "wide": described("abc", [(), (0,), (0, 1)], [[f"s{k}" for k in range(80)], [str(k) for k in range(80)], YES]),
    "odd names": described(
        ["a,b", 'say "x"', "a b", "Zürich", "日本", "<&>", "a\\b", "a|b", "[c]", "x:y"], chain(10), [YES] * 10
    ),
    "keywords": described(
        ["node", "net", "potential", "states", "data", "table", "network", "my_node_2", "1", "_"], chain(10), [YES] * 10
    ),
    "collisions": described(["a b", "a_b", "a-b", "a.b", "a_b_2", "A_b"], chain(6), [("a b", "a_b", "a-b")] * 6),
    "states": described(
        "abc", chain(3), [("1.5", "<=3", ""), ("(0, 1]", "(1, 2]", 'q"', "é"), ("node", "-1", "+1", " ", "a\nb")]
    ),
    "controls": described(["a\x00b", "a\rb", "a\nb", "\t"], chain(4), [("\x01", "\ud800"), YES, YES, YES]),
}


def originals(names, labels, made):
    """Names and labels as they were before they were spelled, from what the names file says."""
    told = json.loads(names_text(made.spelled)) if made.spelled else []
    back = {each["variable"]: each["name"] for each in told if "name" in each}
    states = {(each["variable"], each["state"]): each["label"] for each in told if "state" in each}
    assert len(set(names)) == len(names)
    return [back.get(name, name) for name in names], [
        [states.get((name, label), label) for label in row] for name, row in zip(names, labels, strict=True)
    ]


def assert_is(known, made, labels, parents, tables, tolerance=0.0):
    """By names as written: the states, parents in the order of the table, and rows (q, r) of every variable."""
    names = list(labels)
    back, states = originals(names, list(labels.values()), made)
    assert sorted(back) == sorted(known.network.names)
    for name, original, row in zip(names, back, states, strict=True):
        x = known.network.names.index(original)
        assert row == list(known.states[x])
        assert [back[names.index(p)] for p in parents[name]] == [
            known.network.names[p] for p in known.network.parents[x]
        ]
        expected = known.tables[x].reshape(-1, len(row))
        assert np.allclose(np.array(tables[name], float), expected, rtol=0.0, atol=tolerance)


def read_xdsl(text):
    root = ET.fromstring(text.encode())
    assert (root.tag, root.get("version")) == ("smile", "1.0")
    labels, parents, tables = {}, {}, {}
    for node in root.find("nodes"):
        name = node.get("id")
        assert node.tag == "cpt"
        assert re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name)
        labels[name] = [state.get("id") for state in node.findall("state")]
        assert all(re.fullmatch("[A-Za-z][A-Za-z0-9_]*", label) for label in labels[name])
        assert len(set(labels[name])) == len(labels[name])
        parents[name] = node.findtext("parents", "").split()
        assert set(parents[name]) <= set(labels), "a node follows its parents"
        numbers = [float(word) for word in node.findtext("probabilities").split(" ")]
        tables[name] = np.array(numbers).reshape(-1, len(labels[name]))
    shown = {node.get("id"): node.findtext("name") for node in root.iter("node")}
    assert list(shown) == list(labels)
    return labels, parents, tables, shown


def nested(words):
    """The nested lists of numbers that the brackets make."""
    assert words.pop(0) == "("
    found = []
    while words[0] != ")":
        found.append(nested(words) if words[0] == "(" else float(words.pop(0)))
    words.pop(0)
    return found


def read_net(text):
    assert text.isascii()
    words = re.findall(r'"[^"]*"|[{}();=|]|[^\s{}();=|"]+', text)
    assert [words.pop(0) for _ in "net"] == ["net", "{", "}"]
    labels, parents, tables = {}, {}, {}
    while words:
        kind = words.pop(0)
        if kind == "node":
            name = words.pop(0)
            assert re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name)
            assert [words.pop(0) for _ in range(4)] == ["{", "states", "=", "("]
            end = words.index(")")
            labels[name] = [word[1:-1] for word in words[:end]]
            assert words[end + 1 : end + 3] == [";", "}"]
            del words[: end + 3]
            continue
        assert (kind, words.pop(0)) == ("potential", "(")
        end = words.index(")")
        name, *rest = words[:end]
        assert rest[:1] in ([], ["|"])
        parents[name] = rest[1:]
        assert words[end + 1 : end + 4] == ["{", "data", "="]
        del words[: end + 4]
        table = np.array(nested(words))
        assert table.shape == tuple(len(labels[v]) for v in (*parents[name], name))
        tables[name] = table.reshape(-1, table.shape[-1])
        assert [words.pop(0), words.pop(0)] == [";", "}"]
    return labels, parents, tables


def read_model_string(text):
    """The grammar that bnlearn documents for `modelstring`: [node] or [node|parent:parent], each node once."""
    assert text.count("\n") == 1
    assert re.fullmatch(r"(\[[^\[\]|:]+(\|[^\[\]|:]+(:[^\[\]|:]+)*)?\])+\n", text)
    parents = {}
    for node, own in re.findall(r"\[([^|\]]+)\|?([^\]]*)\]", text):
        assert node not in parents
        parents[node] = own.split(":") if own else []
        assert set(parents[node]) < set(parents)
    return parents


@pytest.mark.parametrize("case", CASES)
def test_xdsl_comes_back(case):
    known = CASES[case]
    made = written(known, "xdsl")
    labels, parents, tables, shown = read_xdsl(made.text)
    assert_is(known, made, labels, parents, tables)
    back, _ = originals(list(labels), list(labels.values()), made)
    held = [name for name in back if not re.search("[\x00-\x20]|^$", name)] if case != "odd names" else back
    assert [name for name in shown.values() if name in held] == held


@pytest.mark.parametrize("case", CASES)
def test_net_comes_back(case):
    made = written(CASES[case], "net")
    assert_is(CASES[case], made, *read_net(made.text))


@pytest.mark.parametrize("case", CASES)
def test_xmlbif_comes_back(case):
    """A strict reader of what the DTD of XMLBIF 0.3 allows; names stay as they are but for odd blanks and controls."""
    known, made = CASES[case], written(CASES[case], "xmlbif")
    root = ET.fromstring(made.text.encode())
    assert (root.tag, root.attrib, [each.tag for each in root]) == ("BIF", {"VERSION": "0.3"}, ["NETWORK"])
    labels, parents, tables = {}, {}, {}
    for each in root[0].findall("VARIABLE"):
        assert each.attrib == {"TYPE": "nature"}
        labels[each.findtext("NAME")] = [state.text for state in each.findall("OUTCOME")]
    for each in root[0].findall("DEFINITION"):
        name = each.findtext("FOR")
        parents[name] = [parent.text for parent in each.findall("GIVEN")]
        numbers = [float(word) for word in each.findtext("TABLE").split(" ")]
        tables[name] = np.array(numbers).reshape(-1, len(labels[name]))
    assert_is(known, made, labels, parents, tables)
    assert (case in ("states", "controls")) == bool(made.spelled)


def read_again(folder, known, kind):
    """What `read_network` reads of an exported file is what was written, by names."""
    path = folder / f"x{SUFFIXES[kind]}"
    write_export(path, written(known, kind), True, "")
    found = read_network(path)
    network = known.network
    assert sorted(found.network.names) == sorted(network.names)
    place = {name: at for at, name in enumerate(network.names)}
    assert kind == "xdsl" or found.network.names == network.names
    for name, states, parents, table in zip(
        found.network.names, found.states, found.network.parents, found.tables, strict=True
    ):
        x, own = place[name], [place[found.network.names[p]] for p in parents]
        assert states == tuple(known.states[x])
        assert sorted(own) == list(network.parents[x])
        order = [list(network.parents[x]).index(p) for p in own]
        assert np.array_equal(table, known.tables[x].transpose(*order, len(order)))


@pytest.mark.parametrize("kind", MADE_OF_PARAMETERS)
@pytest.mark.parametrize("case", CASES)
def test_what_is_written_is_read_again(case, kind, tmp_path):
    read_again(tmp_path, CASES[case], kind)


@pytest.mark.parametrize("case", CASES)
def test_model_strings_come_back(case):
    known = CASES[case]
    made = written(known, "bnlearn")
    parents = read_model_string(made.text)
    back, _ = originals(list(parents), [()] * len(parents), made)
    found = {back[at]: [back[list(parents).index(p)] for p in own] for at, own in enumerate(parents.values())}
    assert found == {name: list(own) for name, own in known.network.parents_by_name().items()}


@pytest.mark.parametrize("case", CASES)
def test_a_matrix_has_the_arcs(case):
    known = CASES[case]
    names, *rows = csv.reader(io.StringIO(written(known, "adjacency").text))
    assert [name.removeprefix("'") for name in names] == [name.removeprefix("'") for name in known.network.names]
    assert len(rows) == len(names)
    found = {(p, x) for p, row in enumerate(rows) for x, sign in enumerate(row) if sign == "1"}
    assert found == set(known.network.arcs())
    assert {sign for row in rows for sign in row} <= {"0", "1"}


@pytest.mark.parametrize("case", CASES)
def test_graphml_comes_back(case):
    known = CASES[case]
    made = written(known, "graphml")
    root = ET.fromstring(made.text.encode())
    keys = {key.get("id"): key.get("for") for key in root.iter(f"{GRAPHML}key")}
    nodes, edges = ([*root.iter(GRAPHML + kind)] for kind in ("node", "edge"))

    def data(element):
        found = {each.get("key"): each.text for each in element.findall(f"{GRAPHML}data")}
        assert all(keys[key] == element.tag.removeprefix(GRAPHML) for key in found)
        return found

    back, _ = originals([data(node)["name"] for node in nodes], [()] * len(nodes), made)
    assert tuple(back) == known.network.names
    assert [json.loads(data(node)["states"]) for node in nodes] == [list(row) for row in known.states]
    place = {node.get("id"): at for at, node in enumerate(nodes)}
    assert tuple((place[edge.get("source")], place[edge.get("target")]) for edge in edges) == known.network.arcs()
    for edge, strength in zip(edges, known.strengths, strict=True):
        told = data(edge)
        assert float(told["cost_of_removal"]) == strength.cost_of_removal
        assert (float(told["cost_of_reversal"]) if "cost_of_reversal" in told else None) == strength.cost_of_reversal


@pytest.mark.parametrize("case", CASES)
def test_tables_of_arcs_come_back(case):
    known = CASES[case]
    header, *rows = csv.reader(io.StringIO(written(known, "csv").text, newline=""))
    assert header == ["from", "to", "compelled", "cost_of_removal", "cost_of_reversal"]
    found = [ArcStrength(p, x, float(one), float(two) if two else None) for p, x, _, one, two in rows]
    assert tuple(found) == known.strengths


def test_compelled_arcs_are_told_apart():
    known = described("abcde", [(), (0, 2), (), (), (3,)], [YES] * 5)
    rows = list(csv.DictReader(io.StringIO(written(known, "csv").text)))
    assert [row["compelled"] for row in rows] == ["true", "true", "false"]
    compelled = [each.text for each in ET.fromstring(written(known, "graphml").text).iter(f"{GRAPHML}data")]
    assert [text for text in compelled if text in ("true", "false")] == ["true", "true", "false"]


def test_json_has_the_strengths():
    known = CASES["plain"]
    told = json.loads(written(known, "json").text)["arc_strengths"]
    assert tuple(ArcStrength(*each.values()) for each in told) == known.strengths


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=8), min_size=1, max_size=6, unique=True), st.data())
def test_any_names_and_labels_come_back(tmp_path_factory, names, data):
    states = [data.draw(st.lists(st.text(max_size=6), min_size=1, max_size=4, unique=True)) for _ in names]
    known = described(names, chain(len(names)), states)
    made = written(known, "xdsl")
    assert_is(known, made, *read_xdsl(made.text)[:3])
    made = written(known, "net")
    assert_is(known, made, *read_net(made.text))
    for kind in MADE_OF_PARAMETERS:
        read_again(tmp_path_factory.mktemp("again"), known, kind)
    read_model_string(written(known, "bnlearn").text)
    assert ET.fromstring(written(known, "graphml").text.encode("utf-8"))
    assert all(written(known, kind).text.endswith("\n") for kind in FORMATS)


def test_without_parameters_some_formats_cannot_be():
    bare = Described(CASES["plain"].network, 1.0)
    for kind in FORMATS:
        if kind in MADE_OF_PARAMETERS:
            with pytest.raises(InputError, match="local scores alone"):
                written(bare, kind)
        else:
            assert "a" in written(bare, kind).text


def test_the_help_lists_all_endings():
    assert [line.split()[0] for line in LISTED.splitlines()] == list(SUFFIXES.values())


def test_the_ending_tells_the_format(tmp_path):
    for kind, suffix in SUFFIXES.items():
        assert format_of(tmp_path / f"x{suffix.upper()}", None) == kind
        assert format_of(tmp_path / "x", kind) == kind
    with pytest.raises(InputError, match="does not end as a format does"):
        format_of(tmp_path / "x", None)
    with pytest.raises(InputError, match="'gif' is not known"):
        format_of(tmp_path / "x.bif", "gif")
    for smoothing in (-1, float("nan"), "1", True, 1e7):
        with pytest.raises(InputError, match="not a number from 0"):
            check_choices("bif", smoothing, False)
    with pytest.raises(InputError, match="csv has none"):
        check_choices("csv", 1.0, False)
    with pytest.raises(InputError, match="use dot"):
        check_choices("bif", 0.0, True)


# ---- read by other packages -------------------------------------------------------------------------------------

NAMED = written(CASES["plain"], "csv")  # nothing is spelled in another way
SMALL = [case for case in CASES if case != "wide"]


def of_pgmpy(model):
    """Labels, parents and rows of a model of pgmpy, by name."""
    labels, parents, tables = {}, {}, {}
    for node in model.nodes:
        cpd = model.get_cpds(node)
        own = cpd.variables[1:]
        assert set(own) == set(model.get_parents(node))
        labels[node], parents[node], tables[node] = cpd.state_names[node], own, cpd.get_values().T
    return labels, parents, tables


def of_pyagrum(bn):
    """Labels, parents and rows of a network of pyAgrum, by name."""
    labels, parents, tables = {}, {}, {}
    for name in bn.names():
        variables = list(bn.cpt(name).names)  # the child first; the last one is the slowest, as arrays have it
        labels[name] = list(bn.variable(name).labels())
        parents[name] = variables[:0:-1]
        table = np.array(bn.cpt(name).toarray())
        order = [bn.cpt(name).toarray().ndim - 1 - variables.index(v) for v in (*parents[name], name)]
        tables[name] = table.transpose(order).reshape(-1, len(labels[name]))
    return labels, parents, tables


def in_order(known, made, labels, parents, tables):
    """The same with the parents of each variable in the order of the network, and rows to match."""
    back, _ = originals(list(labels), list(labels.values()), made)
    place = {name: known.network.names.index(original) for name, original in zip(labels, back, strict=True)}
    sorted_parents, rows = {}, {}
    for name, own in parents.items():
        order = sorted(range(len(own)), key=lambda at, own=own: place[own[at]])
        sizes = [len(labels[p]) for p in own]
        table = np.array(tables[name], float).reshape(*sizes, -1)
        sorted_parents[name] = [own[at] for at in order]
        rows[name] = table.transpose(*order, len(own)).reshape(-1, table.shape[-1])
    return labels, sorted_parents, rows


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["xmlbif", "xdsl", "net"])
def test_pgmpy_reads(case, kind, tmp_path):
    readers = pytest.importorskip("pgmpy.readwrite")
    made = written(CASES[case], kind)
    path = tmp_path / f"x{SUFFIXES[kind]}"
    path.write_text(made.text, encoding="utf-8")
    kinds = {"xmlbif": readers.XMLBIFReader, "xdsl": readers.XDSLReader, "net": readers.NETReader}
    model = kinds[kind](str(path)).get_model()
    assert_is(CASES[case], made, *in_order(CASES[case], made, *of_pgmpy(model)), tolerance=1e-12)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["xmlbif", "xdsl", "net"])
def test_pyagrum_reads(case, kind, tmp_path):
    gum = pytest.importorskip("pyagrum")
    if (case, kind) == ("constant", "net"):
        pytest.skip("pyAgrum takes no variable of one state from NET")
    made = written(CASES[case], kind)
    path = tmp_path / f"x{SUFFIXES[kind]}"
    path.write_text(made.text, encoding="utf-8")
    found = of_pyagrum(gum.loadBN(str(path)))
    if kind == "xdsl":  # its names are those that GeNIe shows
        words = {each["name"]: each["variable"] for each in made.spelled if "name" in each}
        labels, parents, tables = ({words.get(name, name): own for name, own in each.items()} for each in found)
        found = labels, {name: [words.get(p, p) for p in own] for name, own in parents.items()}, tables
    labels, parents, tables = in_order(CASES[case], made, *found)
    if kind == "xdsl":  # it takes the first parent for the fastest, which GeNIe does not
        for name, own in parents.items():
            table = tables[name].reshape(*(len(labels[p]) for p in own), -1)
            tables[name] = table.transpose(*reversed(range(len(own))), len(own)).reshape(-1, table.shape[-1])
    # Its reader of NET has numbers of single precision.
    assert_is(CASES[case], made, labels, parents, tables, tolerance=1e-7 if kind == "net" else 1e-12)


@pytest.mark.parametrize("case", ["plain", "one", "no arcs", "wide"])  # of the others, comments tell the names
def test_bif_is_read_by_both(case, tmp_path):
    path = tmp_path / "x.bif"
    path.write_text(written(CASES[case], "bif").text)
    gum, readers = pytest.importorskip("pyagrum"), pytest.importorskip("pgmpy.readwrite")
    for found in (of_pgmpy(readers.BIFReader(str(path)).get_model()), of_pyagrum(gum.loadBN(str(path)))):
        assert_is(CASES[case], NAMED, *in_order(CASES[case], NAMED, *found), tolerance=1e-7)


def assert_reads(path, known, tolerance):
    """The file of another package is read as the network that it was made of."""
    found = read_network(path)
    names = found.network.names
    labels = dict(zip(names, map(list, found.states), strict=True))
    parents = {name: [names[p] for p in own] for name, own in zip(names, found.network.parents, strict=True)}
    rows = {name: table.reshape(-1, table.shape[-1]) for name, table in zip(names, found.tables, strict=True)}
    assert_is(known, NAMED, *in_order(known, NAMED, labels, parents, rows), tolerance=tolerance)


BLANKS = described("abc", chain(3), [("Never", "Very Often"), ("<=55", ">67"), YES])


@pytest.mark.parametrize("case", ["plain", "constant", "wide", "blanks"])
@pytest.mark.parametrize("kind", ["BIF", "XDSL", "NET", "XMLBIF"])
def test_files_of_pgmpy_are_read(case, kind, tmp_path):
    writers = pytest.importorskip("pgmpy.readwrite")
    if (kind, case) == ("XMLBIF", "blanks"):
        pytest.skip("pgmpy writes other labels there")  # "Very_Often"
    known = BLANKS if case == "blanks" else CASES[case]
    getattr(writers, f"{kind}Writer")(pgmpy_model(known)).write(str(tmp_path / "x"))
    assert_reads(tmp_path / "x", known, 1e-7)


@pytest.mark.parametrize("case", ["plain", "wide"])  # other labels it changes, or writes as no other program reads them
@pytest.mark.parametrize("kind", ["bif", "xdsl", "net", "bifxml"])
def test_files_of_pyagrum_are_read(case, kind, tmp_path):
    gum = pytest.importorskip("pyagrum")
    path = tmp_path / f"x.{kind}"
    gum.saveBN(pyagrum_network(CASES[case]), str(path))
    assert_reads(path, CASES[case], 1e-5)  # it writes six digits


@pytest.mark.parametrize("case", CASES)
def test_networkx_reads_graphml(case, tmp_path):
    networkx = pytest.importorskip("networkx")
    known = CASES[case]
    path = tmp_path / "x.graphml"
    made = written(known, "graphml")
    path.write_text(made.text, encoding="utf-8")
    graph = networkx.read_graphml(path)
    names = [graph.nodes[f"n{x}"]["name"] for x in range(len(graph))]
    assert tuple(originals(names, [()] * len(names), made)[0]) == known.network.names
    found = {(int(p[1:]), int(x[1:])): own for p, x, own in graph.edges(data=True)}
    assert tuple(sorted(found)) == known.network.arcs()
    for strength, arc in zip(known.strengths, known.network.arcs(), strict=True):
        assert found[arc]["cost_of_removal"] == strength.cost_of_removal
        assert found[arc].get("cost_of_reversal") == strength.cost_of_reversal
        assert isinstance(found[arc]["compelled"], bool)


@pytest.mark.parametrize("case", SMALL)
def test_objects_of_pgmpy(case):
    pytest.importorskip("pgmpy")
    model = pgmpy_model(CASES[case])
    assert model.check_model()
    assert_is(CASES[case], NAMED, *in_order(CASES[case], NAMED, *of_pgmpy(model)), tolerance=1e-12)


@pytest.mark.parametrize("case", [case for case in SMALL if case not in ("controls", "states")])
def test_objects_of_pyagrum(case):
    pytest.importorskip("pyagrum")
    bn = pyagrum_network(CASES[case])
    assert_is(CASES[case], NAMED, *in_order(CASES[case], NAMED, *of_pyagrum(bn)), tolerance=1e-12)


def test_objects_of_networkx():
    pytest.importorskip("networkx")
    graph = networkx_graph(CASES["plain"])
    assert graph.nodes["b"]["states"] == ["x", "y", "z"]
    assert set(graph.edges) == {("c", "a"), ("a", "b"), ("c", "b")}
    assert graph.edges["c", "b"]["cost_of_removal"] == CASES["plain"].strengths[2].cost_of_removal
    assert graph.edges["c", "b"]["compelled"] is False


def test_a_missing_package_is_named(uninstalled):
    for make, module, package in (
        (networkx_graph, "networkx", "networkx"),
        (pgmpy_model, "pgmpy.models", "pgmpy"),
        (pyagrum_network, "pyagrum", "pyagrum"),
    ):
        uninstalled(module)
        with pytest.raises(InputError, match=f"needs {package}: pip install"):
            make(CASES["plain"])
