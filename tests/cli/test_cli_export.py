"""extbnsl export: from a run to files of other programs."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import a_table, fails, run

import extbnsl
from extbnsl.core.errors import InputError
from extbnsl.formats.kinds import MADE_OF_PARAMETERS, SUFFIXES
from extbnsl.formats.network_reader import read_network
from extbnsl.networks.parameters import log_likelihoods

ENDINGS = {suffix.removeprefix(".") for suffix in SUFFIXES.values()}
DATA = 'a,"b, c",c,é\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run of data with odd names."""
    folder = tmp_path_factory.mktemp("made")
    rows = "\n".join(",".join(map(str, row)) for row in a_table().tolist())
    (folder / "odd.csv").write_text(f"{DATA}{rows}\n")
    before = os.getcwd()
    os.chdir(folder)
    try:
        assert extbnsl.cli.main(["solve", "odd.csv", "--quiet"]) == 0
    finally:
        os.chdir(before)
    return folder / "odd.run"


@pytest.fixture
def odd(made):
    shutil.copytree(made, "r")
    return made.parent / "odd.csv"


def test_every_ending_has_its_format(capsys, odd):
    for ending in ENDINGS:
        code, out, err = run(capsys, "export", "r", "-o", f"x.{ending}")
        assert (code, err) == (0, "")
        assert out.startswith(f"The network of r is written to x.{ending}.")
        beside = Path(f"x.{ending}.names.json")
        assert beside.exists() == (ending in ("xdsl", "net"))
        assert ("in another way" in out) == (ending in ("bif", "xdsl", "net"))
    assert Path("x.bif").read_bytes() == Path("r/network.bif").read_bytes()
    assert Path("x.dot").read_bytes() == Path("r/network.dot").read_bytes()
    assert Path("x.json").read_bytes() == Path("r/network.json").read_bytes()
    assert {"variable": "b__c", "name": "b, c"} in json.loads(Path("x.net.names.json").read_text())


def test_no_data_are_read_for_what_the_run_has(capsys, odd, monkeypatch):
    monkeypatch.setattr("extbnsl.cli.export.training_problem", None)
    for name in ("x.bif", "x.graphml", "x.csv"):
        assert run(capsys, "export", "r/result.json", "-o", name)[0] == 0
    with open("x.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert all(float(row["cost_of_removal"]) > 0 for row in rows)


def test_continuous_variables_have_regressions_and_no_tables(capsys):
    rng = np.random.default_rng(1)
    x = rng.normal(size=50)
    np.savetxt("n.csv", np.column_stack([x, x + rng.normal(size=50) / 9]), delimiter=",", header="x,y", comments="")
    assert run(capsys, "solve", "n.csv", "--score", "gaussian-bic", "--run-dir", "r", "--quiet")[0] == 0
    for ending in ENDINGS - {"bif", "bifxml", "xdsl", "net"}:
        assert run(capsys, "export", "r", "-o", f"x.{ending}")[::2] == (0, "")
    assert Path("x.json").read_bytes() == Path("r/network.json").read_bytes()
    Path("r/network.json").unlink()
    assert run(capsys, "export", "r", "-o", "again.json")[::2] == (0, "")
    again, before = (json.loads(Path(name).read_text()) for name in ("again.json", "x.json"))
    assert again["regressions"] == before["regressions"]
    assert again["spreads"] == before["spreads"]
    for key, value in (("spreads", {"x": {}, "y": {}}), ("regressions", {"x": 1, "y": 1})):
        Path("r/network.json").write_text(json.dumps(before | {key: value}))
        assert "network.json is damaged" in fails(capsys, "export", "r", "-o", "bad.json", code=31)
    older = {key: before[key] for key in before if key != "spreads"}
    Path("r/network.json").write_text(json.dumps(older))
    assert run(capsys, "export", "r", "-o", "old.json")[::2] == (0, "")
    assert json.loads(Path("old.json").read_text()) == older
    for kind in MADE_OF_PARAMETERS:
        code, _, err = run(capsys, "export", "r", "-o", f"x{SUFFIXES[kind]}")
        assert (code, f"{kind} has tables of states, and these variables are continuous; take json." in err) == (
            30,
            True,
        )
    code, _, err = run(capsys, "export", "r", "-o", "s.json", "--smoothing", "1")
    assert (code, "--smoothing is for tables of states: leave it out." in err) == (30, True)


def test_states_alone_have_tables_by_a_score_of_both_kinds(capsys):
    for score in ("cg-bic", "dg-bic"):
        command = ("solve", "data.csv", "--discrete", "all", "--score", score, "--run-dir", score, "--quiet")
        assert run(capsys, *command)[0] == 0
    known = json.loads(Path("cg-bic/network.json").read_text())
    for kind in MADE_OF_PARAMETERS:
        name = f"x{SUFFIXES[kind]}"
        told = fails(capsys, "export", "dg-bic", "-o", name)
        assert f"{kind} has tables of states, and by this score states are Gaussian columns; take json." in told
        assert run(capsys, "export", "cg-bic", "-o", name)[0] == 0
        read = read_network(name)
        assert read.network.parents_by_name() == known["parents"]
        for variable, table in zip(read.network.names, read.tables, strict=True):
            assert np.allclose(table, known["conditionals"][variable]["table"], atol=1e-9)
        assert run(capsys, "export", "cg-bic", "-o", name, "--smoothing", "1", "--overwrite")[0] == 0
        assert min(table.min() for table in read_network(name).tables) > 0.0


def test_smoothing_is_that_of_score_network(capsys, odd):
    assert run(capsys, "export", "r", "-o", "x.bif", "--smoothing", "2")[0] == 0
    found, data = read_network("x.bif"), extbnsl.read_csv(odd)
    expected = log_likelihoods(found.network, data, data.codes, 2.0)
    of_tables = np.zeros(data.records)
    for x, table in enumerate(found.tables):
        family = (*found.network.parents[x], x)
        of_tables += np.log(table[tuple(data.codes[:, v] for v in family)])
    assert of_tables == pytest.approx(expected)


def test_older_runs_have_no_strengths(capsys, odd):
    path = Path("r/network.json")
    document = json.loads(path.read_text())
    del document["arc_strengths"]
    path.write_text(json.dumps(document))
    assert run(capsys, "export", "r", "-o", "x.csv")[:2] == (0, "The network of r is written to x.csv.\n")
    assert run(capsys, "export", "r", "-o", "y.csv", "--training", odd)[0] == 0
    assert Path("x.csv").read_text() == Path("y.csv").read_text()
    code, _, err = run(capsys, "export", "r", "-o", "z.csv", "--training", "data.csv")
    assert code == 0
    assert "z.csv will not say what each arc counts: data.csv has other data" in err
    with open("z.csv", newline="") as file:
        assert all(row["cost_of_removal"] == "" for row in csv.DictReader(file))


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (("export", "r"), "data-of-r.csv"),
        (("export", "r", "--training", "again.csv"), "again.csv"),
        (("report", "r"), "data-of-r.csv"),
        (("report", "r"), "r/result.json"),
        (("export", "r"), "r/result.json"),
        (("score-network", "r", "again.csv"), "r/manifest.json"),
        (("query", "r"), "data-of-r.csv"),
        (("score-network", "r", "again.csv"), "data-of-r.csv"),
        (("score-network", "r", "again.csv"), "again.csv"),
        (("plot", "r", "--network"), "data-of-r.svg"),
        (("score", "data.csv", "--arc-costs", "costs.jkl"), "costs.jkl"),
        (("score", "data.csv", "--required", "arcs.csv"), "arcs.jkl"),
    ],
)
def test_no_output_replaces_what_the_command_or_its_run_reads(capsys, odd, command, named):
    for link in ("data-of-r.csv", "data-of-r.svg"):
        os.link(odd, link)
    shutil.copy(odd, "again.csv")
    Path("costs.jkl").write_text("c,a,1\n")
    Path("arcs.csv").write_text("c,a\n")
    Path("arcs.jkl").symlink_to("arcs.csv")
    told = fails(capsys, *command, "-o", named, "--overwrite")
    assert f"{named} is an input of this command, or of its run, and stays as it is" in told


def test_older_runs_have_no_counts(capsys, odd):
    path = Path("r/network.json")
    document = json.loads(path.read_text())
    path.write_text(json.dumps({key: document[key] for key in document if key != "counts"}))
    assert run(capsys, "export", "r", "-o", "x.json")[0] == 0
    assert json.loads(Path("x.json").read_text()) == document | {"counts": None}


def test_without_network_json_the_data_are_read(capsys, odd):
    Path("r/network.json").unlink()
    assert run(capsys, "export", "r", "-o", "x.bif")[0] == 0
    assert Path("x.bif").read_bytes() == Path("r/network.bif").read_bytes()


def test_local_scores_have_structure_alone(capsys):
    assert run(capsys, "score", "data.csv", "-o", "s.jkl", "--quiet")[0] == 0
    assert run(capsys, "solve", "s.jkl", "--run-dir", "s", "--quiet")[0] == 0
    assert "local scores alone" in fails(capsys, "export", "s", "-o", "x.net")
    assert "no parameters" in fails(capsys, "export", "s", "-o", "x.json", "--smoothing", "1")
    assert run(capsys, "export", "s", "-o", "x.csv")[0] == 0
    with open("x.csv", newline="") as file:
        assert any(row["cost_of_removal"] for row in csv.DictReader(file))


def test_what_cannot_be_is_one_sentence(capsys, odd):
    Path("x.bif").write_text("mine")
    assert "exists already; give --overwrite" in fails(capsys, "export", "r", "-o", "x.bif")
    Path("x.net.names.json").write_text("mine")
    assert "x.net.names.json exists already; give --overwrite" in fails(capsys, "export", "r", "-o", "x.net")
    assert "does not end as a format does" in fails(capsys, "export", "r", "-o", "x.gif")
    assert "csv has none" in fails(capsys, "export", "r", "-o", "x.csv", "--smoothing", "1")
    assert "use dot" in fails(capsys, "export", "r", "-o", "x.xdsl", "--cpdag")
    assert "not a number from 0" in fails(capsys, "export", "r", "-o", "x.xdsl", "--smoothing", "nan")
    assert "does not exist" in fails(capsys, "export", "none", "-o", "x.xdsl")
    assert run(capsys, "export", "r", "-o", "x.bif", "--overwrite")[0] == 0


@pytest.mark.parametrize("kind", SUFFIXES)
def test_a_dash_is_standard_output(capsys, odd, kind):
    """The same bytes as in a file, and nothing else; what is spelled in another way is told elsewhere."""
    assert run(capsys, "export", "r", "-o", "file", "--format", kind)[0] == 0
    code, out, err = run(capsys, "export", "r", "-o", "-", "--format", kind)
    assert (code, out) == (0, Path("file").read_text(encoding="utf-8"))
    if kind in ("xdsl", "net"):
        told = "names or states in another way: 'b, c' as b__c, 'é' as e" if kind == "net" else "'b, c' as b__c"
        assert told in " ".join(err.split())
    else:
        assert err == ""
    assert not Path("-").exists()
    assert not Path("-.names.json").exists()


def test_standard_output_is_utf_8_whatever_the_terminal_has(odd):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "extbnsl", "export", "r", "-o", "-", "--format", "xmlbif"]
    ended = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert "<NAME>é</NAME>" in ended.stdout.decode()


def test_standard_output_needs_a_format(capsys, odd):
    assert "no ending that tells a format: give --format" in fails(capsys, "export", "r", "-o", "-")


def test_overwriting_removes_names_that_are_no_longer_told(capsys, odd):
    assert run(capsys, "export", "r", "-o", "x", "--format", "net")[0] == 0
    assert Path("x.names.json").exists()
    assert run(capsys, "export", "r", "-o", "x", "--format", "dot", "--cpdag", "--overwrite")[0] == 0
    assert not Path("x.names.json").exists()


def test_damaged_files_are_named(capsys, odd):
    document = json.loads(Path("r/network.json").read_text())
    uneven = document["counts"] | {document["variables"][0]: [1]}
    for key, value in (
        *(("tables", {"a": [1]}), ("states", {"a": [1]}), ("arc_strengths", [])),
        *(("counts", {"a": [1]}), ("counts", uneven), ("counts", [])),
    ):
        Path("r/network.json").write_text(json.dumps(document | {key: value}))
        assert "network.json is damaged" in fails(capsys, "export", "r", "-o", "x.json", code=31)
    Path("r/result.json").write_text("{}")
    assert "r is damaged" in fails(capsys, "export", "r", "-o", "x.json", code=31)


def test_results_in_python_are_exported_alike(capsys, odd):
    result = extbnsl.learn(extbnsl.read_csv(odd))
    for name, smoothing in (("x.net", 0.0), ("x.bif", 1.0), ("x.csv", 0.0)):
        result.export(name, smoothing=smoothing)
        assert run(capsys, "export", "r", "-o", f"y{name}", "--smoothing", smoothing)[0] == 0
        assert Path(name).read_text() == Path(f"y{name}").read_text()
    with pytest.raises(InputError, match=r"x\.net exists already; give overwrite=True"):
        result.export("x.net")
    result.export("x.net", overwrite=True)
    with pytest.raises(InputError, match="'gif' is not known"):
        result.export("x.gif", format="gif")
    assert [each.cost_of_removal for each in result.arc_strengths()] == [
        each["cost_of_removal"] for each in json.loads(Path("r/network.json").read_text())["arc_strengths"]
    ]
