"""Which arcs may turn, wherever that is told: knowledge decides it too."""

import csv
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from commands import fails, run

import extbnsl
from extbnsl.files.names import ARC_FREQUENCIES, DOCUMENT, DOT, RESULT

ASIA = Path(__file__).resolve().parents[2] / "examples" / "asia.csv"
# Knowledge as options and as an argument, and the pairs that it leaves open: without any, lung - smoke - bronc.
CASES = [
    ((), {}, {("smoke", "lung"), ("smoke", "bronc")}),
    (("--roots", "smoke"), {"roots": ["smoke"]}, set()),
    (("--required", "smoke,bronc"), {"required": [["smoke", "bronc"]]}, {("smoke", "lung")}),
    (("--forbidden", "smoke,lung"), {"forbidden": [["smoke", "lung"]]}, set()),  # lung -> smoke -> bronc follows
    (("--max-parents-of", "smoke=0"), {"max_parents": {"smoke": 0}}, {("smoke", "lung"), ("smoke", "bronc")}),
]


def pairs(arcs):
    """Arcs as the pairs that they join."""
    return {frozenset(arc) for arc in arcs}


@pytest.fixture(params=CASES, ids=[" ".join(case[0]) for case in CASES])
def solved(request, capsys):
    """Which pairs are open of a run in `asia.run`, with resamples, and whether it has knowledge."""
    options, _, open_ = request.param
    assert run(capsys, "solve", ASIA, *options, "--bootstrap", 8, "--quiet")[0] == 0
    return pairs(open_), bool(options)


def table(name):
    with open(name, newline="") as file:
        return list(csv.DictReader(file))


def test_every_face_tells_the_class_that_knowledge_leaves(capsys, solved):
    open_, known = solved
    document = json.loads(Path("asia.run", DOCUMENT).read_text())
    assert pairs(document["cpdag"]["undirected"]) == open_
    assert pairs(document["cpdag"]["directed"]) == pairs(document["arcs"]) - open_
    dashed = re.findall(r'"(\w+)" -> "(\w+)" \[style=dashed\]', Path("asia.run", DOT).read_text())
    assert pairs(dashed) == open_
    for name, options in (("a.csv", ()), ("a.graphml", ()), ("a.dot", ("--cpdag",)), ("a.json", ())):
        assert run(capsys, "export", "asia.run", "-o", name, *options)[0] == 0
    assert pairs((row["from"], row["to"]) for row in table("a.csv") if row["compelled"] == "false") == open_
    graph = ElementTree.parse("a.graphml").getroot()
    space = "{http://graphml.graphdrawing.org/xmlns}"
    assert [each.text for each in graph.iter(f"{space}data")].count("false") == len(open_)
    assert pairs(re.findall(r'"(\w+)" -> "(\w+)" \[dir=none\]', Path("a.dot").read_text())) == open_
    assert json.loads(Path("a.json").read_text()) == document
    assert run(capsys, "plot", "asia.run", "--network", "-o", "a.svg")[0] == 0
    assert pairs(re.findall(r"(\w+) → (\w+); could point the other way", Path("a.svg").read_text())) == open_
    assert run(capsys, "report", "asia.run", "-o", "a.html")[0] == 0
    page = Path("a.html").read_text()
    assert len(re.findall(r"<td>either way</td>", page)) == len(open_)
    assert ("of the equivalence class that keeps to the knowledge has them so" in page) == known


def test_resamples_tell_the_class_that_knowledge_leaves(capsys):
    assert run(capsys, "solve", ASIA, "--roots", "smoke", "--bootstrap", 20, "--quiet")[0] == 0
    rows = {(row["from"], row["to"]): row for row in table(Path("asia.run", ARC_FREQUENCIES))}
    told = rows["smoke", "bronc"]
    assert told["strength"] == told["compelled"] == told["direction"] == "1.0"
    into_root = [row for (_, to), row in rows.items() if to == "smoke"]
    assert {(row["direction"], row["compelled"], row["reversible"]) for row in into_root} == {("0.0", "0.0", "0.0")}


@pytest.mark.parametrize(("known", "open_"), [case[1:] for case in CASES])
def test_results_in_python_tell_it_too(known, open_):
    pytest.importorskip("networkx")
    result = extbnsl.learn(extbnsl.read_csv(ASIA), knowledge=known)
    assert pairs(result.cpdag()[1]) == pairs(open_)
    graph = result.to_networkx()
    assert pairs(result.cpdag()[0]) == pairs(graph.edges) - pairs(open_)
    assert pairs(arc for arc, told in graph.edges.items() if not told["compelled"]) == pairs(open_)
    assert len(re.findall("style=dashed", result.to_dot())) == len(open_)
    assert result._repr_html_().count("could point the other way") == len(open_)


def test_each_of_the_best_networks_has_the_class_that_knowledge_leaves(capsys):
    out = run(capsys, "kbest", ASIA, "-k", 5, "--roots", "smoke")[1]
    assert "equivalence classes under the knowledge; the heaviest" in " ".join(out.split())
    for name in (DOCUMENT, "network-2.json", "network-5.json"):
        told = json.loads(Path("asia.run", name).read_text())
        assert {tuple(arc) for arc in told["cpdag"]["directed"]} >= {("smoke", x) for x in ("lung", "bronc")}
    assert run(capsys, "verify", "asia.run", ASIA)[0] == 0


def test_files_from_before_are_read_and_told_anew(capsys):
    assert run(capsys, "solve", ASIA, "--roots", "smoke", "--quiet")[0] == 0
    told = json.loads(Path("asia.run", DOCUMENT).read_text())
    moved = [["smoke", "lung"], ["smoke", "bronc"]]
    before = {"directed": [arc for arc in told["cpdag"]["directed"] if arc not in moved], "undirected": moved}
    Path("asia.run", DOCUMENT).write_text(json.dumps(told | {"format_version": 1, "cpdag": before}))
    assert run(capsys, "export", "asia.run", "-o", "a.json")[0] == 0
    assert json.loads(Path("a.json").read_text()) == told


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"knowledge": {"roots": ["lung"]}}, "has the arc from 'smoke' to 'lung', but 'lung' is a root"),
        ({"knowledge": {"required": [["asia", "tub"]]}}, "lacks the arc from 'asia' to 'tub', which is required"),
        ({"knowledge": {"roots": 3}}, "is damaged or no result"),
    ],
)
def test_a_network_that_its_knowledge_does_not_allow_is_refused(capsys, change, why):
    assert run(capsys, "solve", ASIA, "--roots", "smoke", "--quiet")[0] == 0
    document = json.loads(Path("asia.run", RESULT).read_text())
    Path("asia.run", RESULT).write_text(json.dumps(document | change))
    assert why in fails(capsys, "export", "asia.run", "-o", "a.dot", code=31)
    assert "damaged" in fails(capsys, "report", "asia.run", "-o", "a.html", code=31)
    assert "damaged" in fails(capsys, "plot", "asia.run", "--network", "-o", "a.svg", code=31)
