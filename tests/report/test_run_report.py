"""The page about a run: what is in it, and that names, states and files of others are text and nothing else."""

import csv
import html.parser
import json
import random
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from fakes import HOSTILE, fake_networks, fake_result
from runs import stopped

from extbnsl.cli import main
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.drawing.markup import shown
from extbnsl.report.run_page import run_page
from extbnsl.report.run_tables import read_run
from extbnsl.results.facts import claim_told

NAMES = ("<script>alert(1)</script>", "\"'&]]>", "</style></svg><b>", "\u202eevil\u2066", "名前", "<!--")
STATES = ("<img src=x onerror=alert(2)>", "</td></table>\u202e")
VOID = {"meta", "input", "br"}


class Page(html.parser.HTMLParser):
    """The tags and attributes of a page, its text, and whether each tag is closed in its turn."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], set(), [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """A run of data with hostile names and states, with resamples."""
    folder = tmp_path_factory.mktemp("solved")
    rng = random.Random(5)
    with open(folder / "data.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(NAMES)
        for _ in range(200):
            row = [rng.random() < 0.5]
            while len(row) < len(NAMES):
                row.append(row[-1] if rng.random() < 0.9 else not row[-1])
            writer.writerow([STATES[value] for value in row])
    data, run, plot = (str(folder / name) for name in ("data.csv", "data.run", "x.svg"))
    assert main(["solve", data, "--run-dir", run, "--quiet", "--bootstrap", "3", "--plot", plot]) == 0
    return folder


def page_of(path):
    return Page(run_page(read_run(path)))


def test_the_page_has_all_there_is_to_tell_and_nothing_else_is_in_it(solved):
    page = page_of(solved / "data.run")
    assert page.tags == {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "dl", "dt", "dd", "section", "div"),
        *("figure", "svg", "g", "path", "rect", "text", "details", "summary", "table", "thead", "tbody", "tr"),
        *("th", "td", "ul", "li", "pre", "span", "footer"),
    }
    for name in NAMES:
        assert name.replace("\u202e", "\\u202e").replace("\u2066", "\\u2066") in page.text
    for state in STATES:
        assert state.replace("\u202e", "\\u202e") in page.text
    for heading in ("Network", "Arcs", "Resamples", "Data", "Variables", "Parameters", "Time", "Where it comes from"):
        assert heading in page.text
    assert "Proved: no network over these 6 variables has a better score" in page.text
    assert "extbnsl solve" in page.text
    assert "200" in page.text


def test_what_it_says_of_the_drawing_holds_in_dark_and_in_light(tmp_path):
    """The ink is dark on light, and light on dark: a share is told by how faint an arc is, and by no colour."""
    text = re.sub(r"<style>.*?</style>", "", run_page(read_run(ranked(tmp_path / "r"))), flags=re.DOTALL)
    assert "The smaller it is, the fainter the arc." in text
    assert not re.search(r"\b(dark|light|black|white|grey|gray)", text.split("<h2>Arcs", 1)[0])
    drawn = re.findall(r'class="arc[^"]*" opacity="([\d.]+)"><title>[^<]*; share [^<]* ([\d.]+)</title>', text)
    looks = sorted((float(share), float(opacity)) for opacity, share in drawn)
    assert len({share for share, _ in looks}) > 1
    assert [opacity for _, opacity in looks] == sorted(opacity for _, opacity in looks)


def test_regressions_and_what_arcs_count_are_told(tmp_path):
    rng = random.Random(3)
    rows = [(x, x + rng.gauss(0, 0.1)) for x in (rng.gauss(0, 1) for _ in range(60))]
    (tmp_path / "n.csv").write_text("\n".join(["x,y", *(f"{x},{y}" for x, y in rows)]))
    run = tmp_path / "n.run"
    given = ["solve", str(tmp_path / "n.csv"), "--score", "gaussian-bic", "--run-dir", str(run), "--quiet"]
    assert main(given) == 0
    written = json.loads((run / "network.json").read_text())
    (strength,) = written["arc_strengths"]
    page = page_of(run)
    for told in ("Regressions", "nats more without it", f"{strength['cost_of_removal']:,.2f}", "The wider an arc"):
        assert told in page.text
    for own in written["regressions"].values():
        assert f"{own['intercept']:.6g}" in page.text
        assert f"{own['variance']:.6g}" in page.text
    drawn = run_page(read_run(run))
    assert f"strength {strength['cost_of_removal']:.4g}" in drawn


def test_numbers_are_summed_up_as_they_are_in_the_data(tmp_path):
    run, data = tmp_path / "n.run", tmp_path / "n.csv"
    data.write_text("x,y\n1,2\n3,-1.5\n5,4\n8,1\n")
    given = ["solve", str(data), "--score", "gaussian-bic", "--run-dir", str(run), "--quiet"]
    assert main(given) == 0
    drawn = run_page(read_run(run))
    assert "<td>x</td><td>4.25</td><td>2.58602</td><td>1</td><td>8</td>" in drawn
    assert "<td>y</td><td>1.375</td><td>1.98037</td><td>-1.5</td><td>4</td>" in drawn
    assert "<dt>records</dt><dd>4</dd>" in drawn
    written = json.loads((run / "network.json").read_text())
    del written["spreads"]
    (run / "network.json").write_text(json.dumps(written))  # as of an earlier version
    page = page_of(run)
    assert "Regressions" in page.text
    assert "standard deviation" not in page.text


def test_of_each_state_the_page_tells_how_many_records_have_it(solved, tmp_path):
    run = tmp_path / "data.run"
    shutil.copytree(solved / "data.run", run)
    written = json.loads((run / "network.json").read_text())
    with open(solved / "data.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    text = page_of(run).text
    for name in NAMES:
        for state in STATES:
            count = sum(row[name] == state for row in rows)
            assert f"{shown(state)}: {count}\u00a0({count / 2:.1f}\u00a0%)" in text
    del written["counts"]
    (run / "network.json").write_text(json.dumps(written))  # as of an earlier version
    text = page_of(run).text
    assert "their names" in text
    assert ", ".join(map(shown, written["states"][NAMES[0]])) in text


def test_of_many_states_the_most_frequent_come_first(tmp_path):
    counts = [1, *[2] * 78, 4000]
    with open(tmp_path / "m.csv", "w") as file:
        print("a", *(f"s{at}" for at, count in enumerate(counts) for _ in range(count)), sep="\n", file=file)
    run = tmp_path / "m.run"
    assert main(["solve", str(tmp_path / "m.csv"), "--run-dir", str(run), "--quiet"]) == 0
    text = page_of(run).text.replace("\u00a0", " ")
    assert "s79: 4,000 (96.2 %), s1: 2 (< 0.1 %), " in text
    assert "68 more: 135 (3.2 %)" in text
    assert "s0:" not in text
    assert "those that most records have come first" in text


def test_the_page_asks_for_nothing_and_runs_nothing(solved):
    text = run_page(read_run(solved / "data.run"))
    page = Page(text)
    policy = next(value for name, value in page.attributes if value and "default-src" in value)
    assert policy.startswith("default-src 'none'")
    assert "script-src" not in policy
    assert not {name for name, _ in page.attributes} & {"src", "href", "srcset", "action", "xlink:href", "onload"}
    assert not any(name.startswith("on") for name, _ in page.attributes)
    assert "url(" not in text
    assert "@import" not in text
    assert not re.search(r"[\u202a-\u202e\u2066-\u2069]", text)


def test_the_drawing_of_solve_is_that_of_plot(solved):
    run, drawn = solved / "data.run", (solved / "x.svg").read_bytes()
    ElementTree.fromstring(drawn)
    assert main(["plot", str(run), "--network"]) == 0
    assert (run / "network.svg").read_bytes() == drawn


def test_probabilities_of_parameters_are_those_of_the_network(solved):
    page = page_of(solved / "data.run")
    tables = json.loads((solved / "data.run" / "network.json").read_bytes())["tables"]
    root = next(values for values in tables.values() if not isinstance(values[0], list))
    child = next(
        values for values in tables.values() if isinstance(values[0], list) and not isinstance(values[0][0], list)
    )
    for value in (*root, *child[0], *child[1]):
        assert f"{value:.4f}" in page.text


def test_it_writes_its_own_page_again_but_no_other_file(solved, tmp_path, capsys):
    run = str(solved / "data.run")
    for _ in range(2):
        assert main(["report", run]) == 0
    assert capsys.readouterr().out.endswith(f"The report on {run} is in {solved / 'data.run' / 'report.html'}.\n")
    other = tmp_path / "mine.html"
    other.write_text("mine")
    assert main(["report", run, "-o", str(other)]) == 30
    assert other.read_text() == "mine"
    assert "--overwrite" in capsys.readouterr().err
    assert main(["report", run, "-o", str(other), "--overwrite"]) == 0
    assert other.read_text().startswith("<!DOCTYPE html>")


def ranked(path, **changes):
    """The run directory of a search for the k best networks over hostile names."""
    stopped(path)
    (path / "manifest.json").unlink()
    fake_result(fake_networks(30, HOSTILE[:8]), **changes).save(path)
    return path


def test_of_the_k_best_networks_it_tells_the_first_and_how_likely_arcs_are(tmp_path):
    facts = read_run(ranked(tmp_path / "r"))
    page = Page(run_page(facts))
    assert "The best networks" in page.text
    assert "share of the networks found" in page.text
    assert page.text.count("probability") == page.text.count(
        "of the posterior probability of all networks is not known"
    )
    assert "Parameters" not in page.text  # there are no data
    assert "one\\x0atwo" in page.text  # a warning
    assert facts.written["cost"] == facts.document["cost"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"status": "time_limit", "lower_bound": 1000.0},
            r"Not proved \(time limit\): .* costs less than 1000\.000 nats",
        ),
        ({"status": "heuristic", "lower_bound": 0.0}, r"Not proved: the method does not try"),
        ({"status": "heuristic", "order_optimal": True}, r"Proved: no network that keeps to the order costs less"),
        (
            {"claim": Claim(max_parents=4)},
            r"Proved: no network over these 8 variables, of at most 4 parents for each, has",
        ),
    ],
)
def test_what_was_proved_is_said_as_it_is(tmp_path, changes, said):
    assert re.match(said, claim_told(read_run(ranked(tmp_path / "r", **changes)).document))


def test_a_run_that_can_go_on_says_how(tmp_path):
    path = tmp_path / "r"
    stopped(path)
    fake_result(fake_networks(3, "abc"), status="time_limit", lower_bound=5.0).save(path)
    assert f"extbnsl resume {path}" in page_of(path).text


def test_a_run_without_a_result_says_so(tmp_path, capsys):
    path = tmp_path / "r"
    stopped(path)
    assert main(["report", str(path)]) == 30
    said = capsys.readouterr().err
    assert said.replace("\n  ", " ") == (
        f"extbnsl: {path} has no result to report on yet; 'extbnsl status {path}' tells how far it is.\n"
    )
    with pytest.raises(InputError, match="no run directory"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.pop("variables"),
        lambda document: document.update(parents={"a": ["b"], "b": ["a"], "c": []}),
        lambda document: document.update(cost="cheap"),
        lambda document: document.update(stats=[]),
        lambda document: document.update(top=[{}]),
        lambda document: document.update(provenance=3),
        lambda document: document.update(bootstrap={"arcs": [{}]}),
    ],
)
def test_a_damaged_result_is_one_sentence(tmp_path, change):
    path = tmp_path / "r"
    stopped(path)
    fake_result(fake_networks(3, "abc")).save(path)
    document = json.loads((path / "result.json").read_bytes())
    change(document)
    (path / "result.json").write_text(json.dumps(document))
    with pytest.raises(RunDirectoryError, match=r"result\.json is damaged or no result of a solve"):
        run_page(read_run(path))


def test_networks_of_an_earlier_result_are_not_shown(tmp_path):
    path = ranked(tmp_path / "r")
    written = json.loads((path / "network.json").read_bytes())
    (path / "network.json").write_text(json.dumps(written | {"cost": written["cost"] + 1.0}))
    assert read_run(path).written == {}


def test_costs_that_rounding_alone_tells_apart_are_of_one_result(tmp_path):
    path = ranked(tmp_path / "r")
    written = json.loads((path / "network.json").read_bytes())
    (path / "network.json").write_text(json.dumps(written | {"cost": written["cost"] * (1 + 1e-15)}))
    assert read_run(path).written


@pytest.mark.parametrize("name", ["x.png", "x"])
def test_a_network_is_drawn_as_svg_alone(solved, name, here, tmp_path, capsys):
    assert main(["plot", str(solved / "data.run"), "--network", "-o", name]) == 30
    assert "--output: cannot write" in capsys.readouterr().err
    assert main(["solve", str(solved / "data.csv"), "--plot", name]) == 30
    assert "--plot: cannot write" in capsys.readouterr().err
    (tmp_path / "y.svg").write_text("mine")
    assert main(["solve", str(solved / "data.csv"), "--plot", "y.svg"]) == 30
    assert "another --plot" in capsys.readouterr().err.replace("\n  ", " ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["y.svg"]


def test_clean_and_overwrite_know_the_page_and_the_drawing(solved, tmp_path):
    run = tmp_path / "data.run"
    shutil.copytree(solved / "data.run", run)
    assert main(["report", str(run)]) == 0
    assert main(["plot", str(run), "--network"]) == 0
    assert main(["solve", str(solved / "data.csv"), "--run-dir", str(run), "--overwrite", "--quiet"]) == 0
    assert not (run / "report.html").exists()
    assert not (run / "network.svg").exists()


def test_nothing_is_compiled(solved):
    code = f"""
import sys
from extbnsl.cli import main
assert main(["report", {str(solved / "data.run")!r}]) == 0
assert main(["plot", {str(solved / "data.run")!r}, "--network"]) == 0
print({{"numba", "llvmlite", "h5py", "matplotlib", "pandas"}} & set(sys.modules))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "set()"
