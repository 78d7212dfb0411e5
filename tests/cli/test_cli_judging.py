"""extbnsl cost, compare and why: what given networks cost, how they differ, and why arcs are there or not."""

import json
import shlex
from pathlib import Path

import naive
import numpy as np
import pandas
import pytest
from commands import a_table, fails, run

import extbnsl
from extbnsl.cli import main
from extbnsl.core.errors import InputError

CHAIN = "[a][b|a][c][d|b:c]"
COSTLY = "[a][b][c|a:b][d|a:b:c]"


@pytest.fixture
def solved_run(capsys):
    assert main(["solve", "data.csv", "--quiet", "--threads", "1", "--run-dir", "r"]) == 0
    capsys.readouterr()
    return json.loads(Path("r/result.json").read_text())


def twin(parents, score="mdl"):
    table = a_table()
    return naive.network_cost(table, (table.max(axis=0) + 1).tolist(), parents, score)


@pytest.mark.parametrize("score", ["mdl", "bdeu", "k2"])
def test_a_network_costs_what_the_twin_says(capsys, score):
    code, out, err = run(capsys, "cost", CHAIN, "data.csv", "--score", score, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["cost"] == pytest.approx(twin([(), (0,), (), (1, 2)], score))
    assert [own["parents"] for own in told["families"]] == [[], ["a"], [], ["b", "c"]]
    assert (told["score"], told["log_base"], told["run"]) == (score, "e", None)
    lines = run(capsys, "cost", CHAIN, "data.csv", "--score", score)[1].splitlines()
    assert [line.split("  ")[0] for line in lines[:-1]] == ["family", "a", "b | a", "c", "d | b, c"]
    assert f"{told['cost']:.6f} nats" in lines[-1]


def test_beside_a_run_its_own_network_stands(capsys, solved_run):
    told = json.loads(run(capsys, "cost", COSTLY, "r", "--json")[1])
    assert told["run"]["cost"] == pytest.approx(solved_run["cost"])
    assert told["run"]["status"] == "optimal"
    code, out, err = run(capsys, "cost", COSTLY, "r")
    assert (code, err) == (0, "")
    more = told["cost"] - solved_run["cost"]
    assert more > 0
    assert f"{more:.6f} nats more than the optimum, in r." in " ".join(out.split())
    assert "as much as the optimum" in run(capsys, "cost", "r", "r")[1]
    assert "as much as the optimum" in run(capsys, "cost", "r/network.json", "r/result.json")[1]
    assert "as much as the optimum" in run(capsys, "cost", "r/network.bif", "r")[1]


def test_what_a_run_would_not_allow_is_told(capsys):
    arguments = ["solve", "data.csv", "--quiet", "--threads", "1", "--max-parents", "1", "--forbidden", "a,b"]
    assert main([*arguments, "--run-dir", "k"]) == 0
    capsys.readouterr()
    err = run(capsys, "cost", COSTLY, "k")[2]
    assert "k allows no such network: 'c' has 2 parents, and at most 1 are allowed" in " ".join(err.split())
    err = run(capsys, "cost", "[a][b|a][c][d]", "k")[2]
    assert "allows no such network: the network has the arc from 'a' to 'b', but it is forbidden" in " ".join(
        err.split()
    )


def test_a_run_that_is_not_proved_has_no_optimum(capsys):
    run(capsys, "approximate", "data.csv", "--time", "1s", "--quiet", "--threads", "1", "--run-dir", "h")
    document = json.loads(Path("h/result.json").read_text())
    document |= {"status": "time_limit", "lower_bound": document["cost"] - 1.5}
    Path("h/result.json").write_text(json.dumps(document))
    out = " ".join(run(capsys, "cost", COSTLY, "h")[1].split())
    assert "the best that h has found, which is not proved to be the best of all (lower bound" in out


def test_local_scores(capsys):
    Path("s.jkl").write_text("2\na 2\n-3 0\n-1 1 b\nb 1\n-2 0\n")
    assert "costs 3.000000 nats (local scores)." in run(capsys, "cost", "[b][a|b]", "s.jkl")[1]
    code, _, err = run(capsys, "cost", "[a][b|a]", "s.jkl")
    assert code == 30
    assert "s.jkl has no score of 'b' with the parents (a)" in " ".join(err.split())
    main(["solve", "s.jkl", "--quiet", "--threads", "1", "--run-dir", "s"])
    capsys.readouterr()
    lines = run(capsys, "why", "s", "a", "b")[1].splitlines()
    assert lines[1].split()[:6] == ["b", "->", "a", "there", "unknown", "unknown"]
    assert lines[2].split()[-1] == "round"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["cost", "[a][b|a]", "data.csv"], "data.csv has the variables 'c' and 'd', which the model string lacks"),
        (["cost", f"{CHAIN}[e]", "data.csv"], "has the variable 'e', which data.csv lacks"),
        (["cost", "[a|b][b|a][c][d]", "data.csv"], "has the cycle"),
        (["cost", CHAIN, "nothing.csv"], "nothing.csv"),
        (["cost", CHAIN, "data.csv", "--score", "gaussian-bic", "--ess", "2"], "no equivalent sample size"),
        (["compare", CHAIN, "[a][b]"], "same variables; a table of arcs (.csv) need not name those without"),
        (["compare", CHAIN, "nothing"], "nothing is no network"),
        (["why", "nothing", "a"], "nothing"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_a_sentence(capsys, arguments, sentence):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (30, "")
    assert sentence in " ".join(err.split())


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"variables": 5, "parents": {}}, "n.json is no network.json, by its variables: correct it."),
        ({"variables": ["a"], "parents": {"a": 3}}, "n.json is no network.json, by its parents.a: correct it."),
        ({"variables": ["a"], "parents": {"a": ["z"]}}, "n.json: The parent 'z' of 'a' is not a variable."),
        ({"variables": ["a"], "parents": {"a": ["a"]}}, "n.json: The network has the cycle 'a' -> 'a'."),
    ],
)
def test_a_document_that_is_no_network_is_refused(capsys, document, sentence):
    Path("n.json").write_text(json.dumps(document))
    assert fails(capsys, "cost", "n.json", "data.csv") == f"extbnsl: {sentence}\n"


@pytest.mark.parametrize("parents", [3, "a"])
def test_a_dict_of_what_are_no_names_is_refused(parents):
    with pytest.raises(InputError, match=f"'b' the parents {parents!r}: give a list of names"):
        extbnsl.compare({"a": [], "b": parents}, "[a][b|a]")


def test_a_run_has_its_own_data_and_score(capsys, solved_run):
    for given in (["--score", "k2"], ["--missing", "drop"]):
        assert f"r is a run, which has its own {given[0]}; leave that out." in fails(capsys, "cost", CHAIN, "r", *given)


def test_the_data_of_a_run_may_be_elsewhere(capsys, solved_run):
    there = run(capsys, "cost", CHAIN, "r")[1]
    Path("data.csv").rename("moved.csv")
    assert "If the data of r are elsewhere, give them by --training." in fails(capsys, "cost", CHAIN, "r")
    assert run(capsys, "cost", CHAIN, "r", "--training", "moved.csv") == (0, there, "")
    assert run(capsys, "compare", CHAIN, COSTLY, "r", "--training", "moved.csv")[0] == 0
    told = fails(capsys, "cost", CHAIN, "moved.csv", "--training", "moved.csv")
    assert told == "extbnsl: --training is for runs, and moved.csv has its own records; leave it out.\n"


def test_two_networks_are_compared(capsys, solved_run):
    one, other = "[a][b|a][c][d|b:c]", "[b][a|b][c][d|c]"
    told = json.loads(run(capsys, "compare", one, other, "data.csv", "--json")[1])
    assert (told["both"], told["reversed"]) == ([["c", "d"]], [["a", "b"]])
    assert (told["first_alone"], told["second_alone"]) == ([["b", "d"]], [])
    assert (told["distance"], told["class_distance"]) == (2, 2)
    assert told["first_cost"] == pytest.approx(twin([(), (0,), (), (1, 2)]))
    assert told["second_cost"] == pytest.approx(twin([(1,), (), (), (2,)]))
    lines = run(capsys, "compare", one, other, "data.csv")[1].splitlines()
    assert "in both      1 arc: c -> d" in lines
    assert "turned in B  1 arc: a -> b" in lines
    assert any(line.split()[:2] == ["distance", "2"] for line in lines)
    cheaper = "A" if told["first_cost"] < told["second_cost"] else "B"
    assert f"{cheaper} costs" in lines[-1]
    same = run(capsys, "compare", "r", "r/network.bif", "r")[1]
    assert "A and B cost the same" in same
    assert "distance     0" in same


def test_why_tells_gain_and_price(capsys, solved_run):
    told = json.loads(run(capsys, "why", "r", "a", "c", "--json")[1])["arcs"]
    assert [(one["parent"], one["child"]) for one in told] == [("c", "a"), ("a", "c")]
    own = solved_run["parents"]
    order = list("abcd")
    for one in told:
        parents = [tuple(order.index(p) for p in own[x]) for x in order]
        child = order.index(one["child"])
        more = list(parents)
        more[child] = tuple(sorted({*parents[child], order.index(one["parent"])}))
        assert one["rise"] == pytest.approx(twin(more) - twin(parents), abs=1e-6)
        assert one["price"] == pytest.approx(one["parameters"] * np.log(60) / 2)
    out = run(capsys, "why", "r", "a", "c")[1]
    table = a_table()
    counts = [[str(((table[:, 2] == c) & (table[:, 0] == a)).sum()) for a in (0, 1)] for c in (0, 1)]
    assert [line.split() for line in out.splitlines()[:3]] == [
        ["60", "records", "a=0", "a=1"],
        ["c=0", *counts[0]],
        ["c=1", *counts[1]],
    ]
    assert "(60 records)" in run(capsys, "why", "r", "a")[1]
    assert "--required" in out.splitlines()[-1]
    assert "--run-dir r-with.run" in out.splitlines()[-1]


def test_the_command_that_why_gives_finds_the_best_network_with_the_arc(capsys, solved_run):
    words = shlex.split(run(capsys, "why", "r", "a", "c")[1].splitlines()[-1])
    parent, child = map("abcd".index, words[words.index("--required") + 1].split(","))
    assert main(words[1:]) == 0
    found = json.loads(Path("r-with.run/result.json").read_text())
    with_it = [graph for graph in naive.all_dags(4) if graph[child] >> parent & 1]
    best = min(twin([tuple(naive.members(own)) for own in graph]) for graph in with_it)
    assert found["cost"] == pytest.approx(best)


def test_why_of_one_variable_lists_all_its_arcs(capsys, solved_run):
    told = json.loads(run(capsys, "why", "r", "d", "--json")[1])["arcs"]
    assert len(told) == 6
    lines = run(capsys, "why", "r", "d")[1].splitlines()
    present = [line for line in lines if " there " in line and "not there" not in line]
    assert len(present) == sum("d" in own for own in solved_run["parents"].values()) + len(solved_run["parents"]["d"])
    assert "There is no variable 'x'" in fails(capsys, "why", "r", "x")
    assert "is given twice" in fails(capsys, "why", "r", "d", "d")


def test_why_of_numbers_and_of_many_variables(capsys):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(50, 14)), columns=[f"x{j}" for j in range(14)])
    frame.to_csv("g.csv", index=False)
    assert main(["solve", "g.csv", "--score", "gaussian-bic", "--quiet", "--threads", "1", "--run-dir", "g"]) == 0
    capsys.readouterr()
    out = run(capsys, "why", "g", "x0")[1]
    assert "arcs more that are not there" in out
    assert " records)" not in out


def test_the_same_from_python(solved_run):
    table = pandas.DataFrame(a_table(), columns=list("abcd"))
    found = extbnsl.cost({"a": [], "b": ["a"], "c": [], "d": ["b", "c"]}, table)
    assert found.cost == pytest.approx(twin([(), (0,), (), (1, 2)]))
    result = extbnsl.learn(table, threads=1)
    assert extbnsl.cost(result, table).cost == pytest.approx(result.cost)
    assert extbnsl.compare(result, "r").distance == 0
    (one, other) = result.why("a", "c")
    assert (one.parent, one.child, other.parent, other.child) == ("c", "a", "a", "c")
    assert len(result.why("a")) == 6
    with pytest.raises(InputError, match="There is no variable 'x'"):
        result.why("x")
    with pytest.raises(InputError, match="which the network lacks"):
        extbnsl.cost({"a": ["b"]}, table)


def test_an_arc_that_its_kind_bars_is_told_as_barred_and_not_as_singular():
    rng = np.random.default_rng(0)
    states, numbers = rng.choice(["x", "y"], 60), rng.normal(size=60)
    result = extbnsl.learn(pandas.DataFrame({"a": states, "b": numbers + (states == "x")}), score="cg-bic", threads=1)
    (barred,) = (one for one in result.why("a", "b") if one.parent == "b")
    assert barred.barred == "'b' is in a later tier than 'a'"
