"""The scripts that make networks and sample them: what they write is right, and the same every time."""

import csv
import io
import os
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from extbnsl.core.errors import InputError
from extbnsl.formats.described import Described
from extbnsl.formats.export import written
from extbnsl.formats.kinds import MADE_OF_PARAMETERS
from extbnsl.formats.network_reader import read_network

TOOLS = Path(__file__).resolve().parents[2] / "tools"
SAMPLE = runpy.run_path(str(TOOLS / "sample_network.py"))
MAKE = runpy.run_path(str(TOOLS / "make_network.py"))

RAIN = """network rain {
}
variable wet {
  type discrete [ 3 ] { dry, damp, soaked };
}
variable rain {
  type discrete [ 2 ] { no, yes };
}
variable sprinkler {
  type discrete [ 2 ] { off, on };
}
probability ( wet | rain, sprinkler ) {
  (no, off) 1.0, 0.0, 0.0;
  (yes, off) 0.1, 0.2, 0.7;
  (no, on) 0.3, 0.6, 0.1;
  (yes, on) 0.0, 0.1, 0.9;
}
probability ( rain ) {
  table 0.7, 0.3;
}
probability ( sprinkler | rain ) {
  (no) 0.5, 0.5;
  (yes) 0.9, 0.1;
}
"""
CHANCES = {  # of the states of wet, given rain and sprinkler
    ("no", "off"): (1, 0, 0),
    ("yes", "off"): (0.1, 0.2, 0.7),
    ("no", "on"): (0.3, 0.6, 0.1),
    ("yes", "on"): (0, 0.1, 0.9),
}


@pytest.fixture
def rain(tmp_path):
    path = tmp_path / "rain.bif"
    path.write_text(RAIN)
    return path


def sampled(network, *options):
    """What the script writes for a network."""
    output = network.with_name("sampled.csv")
    assert SAMPLE["main"]([str(network), *map(str, options), "--output", str(output)]) == 0
    return output.read_text()


def records(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("kind", MADE_OF_PARAMETERS)
def test_any_format_gives_the_same_records(rain, kind):
    source = read_network(rain)
    described = Described(source.network, 0.0, source.states, source.tables)
    other = rain.with_name("other")
    other.write_text(written(described, kind).text)
    expected, found = (records(sampled(path, "--records", 50)) for path in (rain, other))
    if kind == "xdsl":  # its variables stand in another order
        assert found[0].keys() == expected[0].keys()
    else:
        assert found == expected


def test_frequencies_are_near_the_tables(rain):
    found = records(sampled(rain, "--records", 20_000, "--seed", 3))
    assert list(found[0]) == ["wet", "rain", "sprinkler"]
    assert sum(record["rain"] == "yes" for record in found) / 20_000 == pytest.approx(0.3, abs=0.02)
    given = Counter((record["rain"], record["sprinkler"]) for record in found)
    assert given["yes", "on"] / 20_000 == pytest.approx(0.03, abs=0.01)
    cells = Counter(tuple(record.values()) for record in found)
    for (wet_rain, sprinkler), chances in CHANCES.items():
        for wet, chance in zip(("dry", "damp", "soaked"), chances, strict=True):
            count = cells[wet, wet_rain, sprinkler]
            assert count / given[wet_rain, sprinkler] == pytest.approx(chance, abs=0.07)
            assert (count == 0) == (chance == 0)


def test_probabilities_that_round_badly_never_give_a_state_that_is_impossible(rain):
    rain.write_text(RAIN.replace("table 0.7, 0.3", "table 0.99, 0.0"))
    assert {record["rain"] for record in records(sampled(rain, "--records", 5000))} == {"no"}


def test_the_same_arguments_give_the_same_records(rain):
    first = sampled(rain, "--records", 100, "--seed", 1)
    assert sampled(rain, "--records", 100, "--seed", 1) == first
    assert sampled(rain, "--records", 100, "--seed", 2) != first
    assert len(records(first)) == 100


def test_without_a_file_records_go_to_standard_output(rain, capsys):
    assert SAMPLE["main"]([str(rain), "--records", "10"]) == 0
    assert capsys.readouterr().out == sampled(rain, "--records", 10)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("table 0.7", "table 0.5", "line 18: the probabilities of 'rain' sum to 0.8 instead of 1"),
        ("(yes) 0.9", "(maybe) 0.9", "line 23: the state 'maybe' is none of no, yes"),
        ("sprinkler | rain", "sprinkler | snow", "line 21: the variable 'snow' is not declared"),
        ("sprinkler | rain", "sprinkler | sprinkler", "line 22: the state 'no' is none of off, on"),
        ("( rain ) {\n  table", "( rain | wet ) {\n  default", "has the cycle"),
    ],
)
def test_bad_networks_are_one_sentence(rain, capsys, before, after, said):
    rain.write_text(RAIN.replace(before, after))
    assert SAMPLE["main"]([str(rain)]) == InputError.exit_code == 30
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert str(rain) in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "arguments", "said"),
    [
        ("sample_network.py", ["none.bif"], "none.bif cannot be read"),
        ("sample_network.py", ["rain.bif", "--output", "none/x.csv"], "create it first"),
        ("sample_network.py", ["rain.bif", "--records", "-1"], "argument --records"),
        ("make_network.py", ["--variables", "0", "--output", "x.bif"], "--variables 0 makes no network"),
        ("make_network.py", ["--variables", "9", "--most-parents", "11", "--output", "x.bif"], "give at most 10"),
        ("make_network.py", ["--variables", "9"], "the following arguments are required: --output"),
    ],
)
def test_bad_arguments_end_as_those_of_the_program(rain, script, arguments, said):
    command = [sys.executable, str(TOOLS / script), *arguments]
    ended = subprocess.run(command, cwd=rain.parent, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (30, "", 1)
    assert said in ended.stderr
    assert os.listdir(rain.parent) == ["rain.bif"]


def made(path, *options):
    assert MAKE["main"]([*map(str, options), "--output", str(path)]) == 0
    return read_network(path)


def test_a_made_network_follows_the_recipe(tmp_path):
    path = tmp_path / "net.bif"
    network = made(path, "--variables", 300, "--most-parents", 3, "--seed", 1)
    assert network.network.names == tuple(f"X{i}" for i in range(300))
    assert {len(row) for row in network.states} == {2, 3, 4}
    assert {len(row) for row in network.network.parents} == {0, 1, 2, 3}
    arcs = network.network.arcs()
    assert 0 < sum(parent > child for parent, child in arcs) < len(arcs), "the order is not that of the file"
    first = path.read_bytes()
    made(path, "--variables", 300, "--most-parents", 3, "--seed", 1)
    assert path.read_bytes() == first
    made(path, "--variables", 300, "--most-parents", 3, "--seed", 2)
    assert path.read_bytes() != first


def test_parents_stand_within_reach():
    order = np.random.default_rng(0).permutation(200)
    place = np.argsort(order)
    for reach, farthest in ((5, 5), (0, 199)):
        parents = MAKE["_parents"](order, 2, reach, np.random.default_rng(1))
        distances = [int(place[child] - place[p]) for child, row in enumerate(parents) for p in row]
        assert min(distances) >= 1
        assert 5 <= max(distances) <= farthest
    assert max(distances) > 100, "without a reach parents come from anywhere"


def test_a_made_network_can_be_sampled(tmp_path):
    network = made(tmp_path / "net.bif", "--variables", 40, "--most-parents", 2, "--reach", 0)
    found = records(sampled(tmp_path / "net.bif", "--records", 30))
    assert len(found) == 30
    for name, states in zip(network.network.names, network.states, strict=True):
        assert {record[name] for record in found} <= set(states)


@pytest.mark.slow
def test_every_published_network_is_sampled(shared_data, tmp_path):
    folder = shared_data / "networks"
    if not folder.is_dir():
        pytest.skip(f"EXTBNSL_DATA has no folder {folder}")
    output, known = tmp_path / "sampled.csv", sorted(folder.glob("*.bif*"))
    assert known
    for path in known:
        assert SAMPLE["main"]([str(path), "--records", "50", "--seed", "1", "--output", str(output)]) == 0
        found, source = records(output.read_text()), read_network(path)
        assert len(found) == 50
        assert list(found[0]) == list(source.network.names)
        for name, labels in zip(source.network.names, source.states, strict=True):
            assert {record[name] for record in found} <= set(labels)
