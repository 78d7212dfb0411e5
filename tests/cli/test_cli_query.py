"""extbnsl query: what a network says of some variables, given others; of runs and of BIF files."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas
import pytest
from commands import fails, run
from joint_states import joint_table, summed

import extbnsl
from extbnsl.cli import main
from extbnsl.core.errors import InputError
from extbnsl.formats.network_reader import read_network

NAMES = ["a", "b", "c", "d"]


@pytest.fixture
def solved_run(capsys):
    assert main(["solve", "data.csv", "--quiet", "--threads", "1", "--run-dir", "r", "--required", "b,d"]) == 0
    capsys.readouterr()
    return read_network("r/network.bif")


@pytest.fixture
def measurements(capsys):
    """A run of numbers, in which y follows x."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    frame = pandas.DataFrame({"x": x, "y": 2 * x + rng.normal(size=200), "z": rng.normal(size=200)})
    frame.to_csv("g.csv", index=False)
    assert main(["solve", "g.csv", "--score", "gaussian-bic", "--quiet", "--threads", "1", "--run-dir", "g"]) == 0
    capsys.readouterr()
    return frame


def expected(read, targets, given):
    """The posterior of the targets by the joint distribution in full."""
    known = [read.network.names.index(name) for name in given]
    codes = np.zeros(len(read.states), int)
    for at, state in zip(known, given.values(), strict=True):
        codes[at] = read.states[at].index(state)
    own = summed(joint_table(read.network, read.tables), codes, known, list(map(read.network.names.index, targets)))
    return own / own.sum()


def test_a_table_for_people_wherever_the_variables_stand(capsys, solved_run):
    code, out, err = run(capsys, "query", "r", "a", "d", "--given", "c=1")
    assert (code, err) == (0, "")
    assert run(capsys, "query", "r", "--given", "c=1", "a", "d")[1] == out
    assert run(capsys, "query", "r", "a", "--given", '"c"="1"', "d")[1] == out
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["variable", "state", "probability"]
    assert [line[:2] for line in lines[1:] if len(line) == 3] == [["a", "0"], ["d", "0"]]
    found = [float(line[-1]) for line in lines[1:]]
    assert found == pytest.approx(
        [*expected(solved_run, ["a"], {"c": "1"}), *expected(solved_run, ["d"], {"c": "1"})], abs=1e-6
    )


def test_json_and_csv_of_all_variables_that_are_not_given(capsys, solved_run):
    document = json.loads(run(capsys, "query", "r", "--given", "d=2", "--json", "-o", "all.csv")[1])
    assert document["given"] == {"d": "2"}
    assert list(document["variables"]) == ["a", "b", "c"]
    for name, own in document["variables"].items():
        assert list(own.values()) == pytest.approx(expected(solved_run, [name], {"d": "2"}).tolist())
    rows = list(csv.DictReader(Path("all.csv").read_text().splitlines()))
    assert [(row["variable"], row["state"]) for row in rows] == [(name, s) for name in "abc" for s in "01"]
    assert float(rows[0]["probability"]) == document["variables"]["a"]["0"]
    assert "all.csv exists already; give --overwrite" in fails(capsys, "query", "r", "a", "-o", "all.csv")


def test_several_variables_together(capsys, solved_run):
    given = {"b": "1"}
    document = json.loads(run(capsys, "query", "r", "d", "a", "--given", "b=1", "--joint", "--json")[1])
    found = [row["probability"] for row in document["joint"]]
    assert found == pytest.approx(expected(solved_run, ["d", "a"], given).ravel().tolist())
    assert document["joint"][1]["states"] == {"d": "0", "a": "1"}
    lines = run(capsys, "query", "r", "d", "a", "--given", "b=1", "--joint")[1].splitlines()
    assert (lines[0].split(), len(lines)) == (["d", "a", "probability"], 1 + len(found))


def test_a_bif_file_says_what_its_run_says(capsys, solved_run):
    asked = ("a", "c", "--given", "d=2", "--json")
    of_run, of_file = (json.loads(run(capsys, "query", source, *asked)[1]) for source in ("r", "r/network.bif"))
    for name in ("a", "c"):
        assert of_file["variables"][name] == pytest.approx(of_run["variables"][name])
    for option, value in (("--smoothing", "1"), ("--training", "data.csv")):
        said = fails(capsys, "query", "r/network.bif", option, value)
        assert f"{option} is for networks of runs, and r/network.bif has its parameters" in said


def test_smoothing_fits_the_parameters_to_the_data_again(capsys, solved_run):
    assert run(capsys, "export", "r", "-o", "smooth.bif", "--smoothing", "4")[0] == 0
    found = json.loads(run(capsys, "query", "r", "a", "--given", "d=2", "--smoothing", "4", "--json")[1])
    same = json.loads(run(capsys, "query", "smooth.bif", "a", "--given", "d=2", "--json")[1])
    assert found["variables"]["a"] == pytest.approx(same["variables"]["a"])
    assert found["smoothing"] == 4.0
    Path("data.csv").rename("moved.csv")
    assert "data.csv" in fails(capsys, "query", "r", "a", "--smoothing", "4")
    assert run(capsys, "query", "r", "a", "--smoothing", "4", "--training", "moved.csv")[0] == 0


def test_names_and_states_of_any_spelling(capsys):
    rows = ["no,1.5,x", "no,2.5,y", '"a, b",1.5,x', '"a, b",9,y', "p=q,7,x"] * 8
    Path("odd.csv").write_text('"x ray",kv,"x=u"\n' + "\n".join(rows) + "\n")
    assert main(["solve", "odd.csv", "--discretise", "kv=width:2", "--quiet", "--run-dir", "odd"]) == 0
    capsys.readouterr()
    ask = lambda *given: json.loads(run(capsys, "query", "odd", "x=u", "--json", *given)[1])  # noqa: E731
    assert ask("--given", '"x ray"="a, b"')["given"] == {"x ray": "a, b"}
    assert ask("--given", "x ray=a, b") == ask("--given", '"x ray"="a, b"')
    assert ask("--given", "x  ray=no")["given"] == {"x ray": "no"}
    assert ask("--given", "x ray=p=q")["given"] == {"x ray": "p=q"}
    of_state = json.loads(run(capsys, "query", "odd", "kv", "--json", "--given", "x=u=y")[1])
    assert of_state["given"] == {"x=u": "y"}
    in_interval = ask("--given", "kv=2")["variables"]
    states = json.loads(Path("odd/network.json").read_text())["states"]["kv"]
    assert in_interval == ask("--given", f'kv="{states[0]}"')["variables"]
    assert ask("--given", "kv=1e3")["variables"] == ask("--given", f"kv={states[1]}")["variables"]


def test_numbers_by_mean_and_deviation(capsys, measurements):
    document = json.loads(run(capsys, "query", "g", "--given", "x=3.2", "--json")[1])["variables"]
    slope, intercept = np.polyfit(measurements.x, measurements.y, 1)
    noise = measurements.y - intercept - slope * measurements.x
    assert document["y"] == pytest.approx({"mean": intercept + 3.2 * slope, "standard_deviation": noise.std(ddof=0)})
    assert document["z"]["mean"] == pytest.approx(measurements.z.mean())
    together = json.loads(run(capsys, "query", "g", "x", "y", "--joint", "--json")[1])["variables"]
    assert together["x"]["covariance"]["y"] == pytest.approx(np.cov(measurements.x, measurements.y, ddof=0)[0, 1])
    lines = run(capsys, "query", "g", "--joint", "--given", "z=0")[1].splitlines()
    assert lines[0].split() == ["variable", "mean", "x", "y"]
    assert run(capsys, "query", "g", "x")[1].split()[:3] == ["variable", "mean", "standard_deviation"]
    assert "'x' is a number, and 'high' is none; give one." in fails(capsys, "query", "g", "y", "--given", "x=high")


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["aa"], "There is no variable 'aa'; did you mean 'a'?"),
        (["a", "--given", "bb=1"], "There is no variable 'bb'; did you mean 'b'?"),
        (["a", "--given", "b=7"], "'b' has no state '7'; there are '0', '1'."),
        (["a", "--given", "b"], "--given: 'b' is no name and value: write NAME=VALUE."),
        (["a", "--given", "b=1", "--given", "b=0"], "--given: 'b' is given twice: leave one out."),
        (["a", "--given", "a=1"], "'a' is given, and asked for: leave one out."),
        (["--given", "a=1", "--given", "b=1", "--given", "c=1", "--given", "d=1"], "No variable is left to ask for"),
        (["--joint", "a", "a", "--given", "a=0"], "'a' is given, and asked for"),
        (["a", "--smoothing", "-1"], "'-1' is not a number from 0 to 1000000"),
        (["a", "--gven", "b=1"], "unrecognised: --gven; did you mean --given?"),
    ],
)
@pytest.mark.usefixtures("solved_run")
def test_what_cannot_be_asked_is_said_in_a_sentence(capsys, asked, sentence):
    assert sentence in fails(capsys, "query", "r", *asked)


def test_what_cannot_be_is_named(capsys):
    Path("same.csv").write_text("a,b,c\n" + "0,0,0\n1,1,0\n0,0,1\n1,1,1\n" * 20)
    assert main(["solve", "same.csv", "--quiet", "--run-dir", "same"]) == 0
    capsys.readouterr()
    sentence = "By the network 'b' cannot be '1' given what stands before it: leave it out, or give --smoothing above 0"
    given = ["--given", "a=0", "--given", "b=1"]  # on which c does not depend
    assert sentence in fails(capsys, "query", "same", "c", *given)
    assert run(capsys, "query", "same", "c", *given, "--smoothing", "1")[0] == 0
    assert run(capsys, "query", "same", "a", "--given", "b=1")[1].splitlines()[2].split() == ["1", "1.000000"]
    result = extbnsl.learn(extbnsl.read_csv("same.csv"), threads=1)
    with pytest.raises(InputError, match=r"'b' cannot be '1' given what .* or give smoothing above 0"):
        result.query(["c"], given={"a": 0, "b": 1})


def test_a_query_that_is_too_large_is_refused(capsys, sizes, solved_run):
    sizes(**{"inference.BYTES": 1 << 30})
    said = fails(capsys, "query", "r", "a", "--memory", "16MiB", code=20)
    assert "GiB of memory, since summing out all other variables takes a table of" in said
    assert "--memory grants 16.0MiB: ask for fewer variables" in said


def test_local_scores_have_no_parameters(capsys):
    assert main(["score", "data.csv", "-o", "data.jkl", "--quiet"]) == 0
    assert main(["solve", "data.jkl", "--quiet", "--run-dir", "s"]) == 0
    capsys.readouterr()
    assert "s has no parameters, since its network was learned from local scores alone." in fails(
        capsys, "query", "s", "a"
    )


def test_a_result_in_python_answers_the_same(capsys, solved_run):
    result = extbnsl.learn(extbnsl.read_csv("data.csv"), knowledge={"required": [["b", "d"]]}, threads=1)
    document = json.loads(run(capsys, "query", "r", "--given", "d=2", "--json")[1])
    found = result.query(given={"d": 2})
    assert {name: pytest.approx(own) for name, own in found.items()} == document["variables"]
    together = result.query(["d", "a"], given={"b": np.int64(1)}, joint=True)
    assert list(together)[:2] == [("0", "0"), ("0", "1")]
    assert list(together.values()) == pytest.approx(expected(solved_run, ["d", "a"], {"b": "1"}).ravel().tolist())
    assert sum(result.query(["a"], smoothing=3.0)["a"].values()) == pytest.approx(1.0)
    with pytest.raises(InputError, match="variables: 'a' is a text; give a list of names"):
        result.query("a")
    with pytest.raises(InputError, match="There is no variable 'A'"):
        result.query(["A"])
    with pytest.raises(InputError, match="query needs data"):
        extbnsl.learn({"a": {(): 1.0}}).query()


def test_a_result_of_numbers_in_python(measurements):
    result = extbnsl.learn(measurements, score="gaussian-bic", threads=1)
    found = result.query(["y"], given={"x": 1})
    assert list(found["y"]) == ["mean", "standard_deviation"]
    assert result.query(["y", "z"], joint=True)["y"]["covariance"]["y"] == pytest.approx(measurements.y.var(ddof=0))
    with pytest.raises(InputError, match="smoothing is for tables of states"):
        result.query(["y"], smoothing=1.0)
    with pytest.raises(InputError, match="so far from the data that no answer is finite"):
        result.query(["y"], given={"x": 1e308})
