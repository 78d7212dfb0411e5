"""`extbnsl order` and `extbnsl.order`: what is printed and written, and orders that cannot be used."""

import gzip
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from commands import a_table, fails, run

import extbnsl
from extbnsl.core import events
from extbnsl.core.errors import InputError
from extbnsl.data.reading import read_csv
from extbnsl.formats.kinds import format_of
from extbnsl.verify.verdict import verify

ORDER = "c\na\n\n d \nb\n"


@pytest.fixture(autouse=True)
def an_order(here):
    Path("order.txt").write_text(ORDER)


def document(folder="data.run"):
    return json.loads((Path(folder) / "result.json").read_text())


def test_the_table_and_the_files(capsys):
    code, out, err = run(capsys, "order", "data.csv", "--order", "order.txt", "--threads", 1)
    assert code == 0, err
    found = document()
    assert (found["status"], found["order_optimal"], found["order"]) == ("heuristic", True, ["c", "a", "d", "b"])
    assert found["lower_bound"] <= found["cost"] == found["upper_bound"]
    assert found["certificate"] is None
    assert verify(found, read_csv("data.csv")).findings == ()
    lines = out.splitlines()
    assert lines[0].split() == ["child", "states", "trapped", "parents"]
    for line, name in zip(lines[1:5], found["order"], strict=True):
        parents = ", ".join(found["parents"][name])
        trapped = "yes" if name in found["stats"]["trapped"] else "no"
        assert line.split(maxsplit=3) == [name, str(found["stats"]["states"][name]), trapped, *filter(None, [parents])]
    assert "\norder        no network that keeps to the order costs less\n" in out
    assert all(len(line) <= 80 for line in (out + err).splitlines())
    assert {"result.json", "network.bif", "network.json", "network.dot"} <= set(os.listdir("data.run"))
    assert found["provenance"]["options"]["method"] == "dfbnb-k3"
    code, out, _ = run(capsys, "verify", "data.run", "data.csv")
    assert code == 0
    assert "no network of its order costs less: all parents that come before were looked at again" in " ".join(
        out.split()
    )
    assert "\nstate        done: heuristic\n" in run(capsys, "status", "data.run")[1]


def test_no_network_of_the_order_costs_less_by_any_exact_method(capsys):
    costs = {}
    for method in ("dfbnb-k3", "suzuki", "k3"):
        options = ("--method", method, "--run-dir", method, "--score", "aic", "--max-parents", 1)
        assert run(capsys, "order", "data.csv", "--order", "order.txt", *options)[0] == 0
        costs[method] = document(method)["cost"]
    assert costs["dfbnb-k3"] == pytest.approx(costs["suzuki"], rel=1e-12)
    assert costs["k3"] >= costs["suzuki"] - 1e-9
    assert document("k3")["order_optimal"] is None
    assert document("k3")["stats"]["trapped"] is None
    shown = run(capsys, "order", "data.csv", "--order", "order.txt", "--method", "k3")[1]
    assert "costs less" not in shown
    assert "K3 at" not in shown


def test_where_k3_is_trapped_is_told(capsys):
    rows = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]] * 20)
    np.savetxt("xor.csv", rows, fmt="%d", delimiter=",", header="x,y,z", comments="")
    Path("xyz").write_text("x\ny\nz")
    out = run(capsys, "order", "xor.csv", "--order", "xyz")[1]
    assert [line.split()[2] for line in out.splitlines()[:4]] == ["trapped", "no", "no", "yes"]
    assert "\ntrapped      K3 at 1 of 3 variables\n" in out
    assert document("xor.run")["stats"]["trapped"] == ["z"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\nb\nd\n", "order.txt lacks 'c' of the variables of data.csv; name each of them once."),
        ("a\n", "order.txt lacks 'b' and 2 more of the variables of data.csv"),
        ("a\nb\nb\nc\nd\n", "order.txt, line 3: 'b' is there already, at order.txt, line 2; name each variable once."),
        ("a\nb\n\nx\nc\nd\n", "order.txt, line 4: 'x' is no variable of data.csv"),
        ("a,b,c,d\n", "order.txt, line 1: 'a,b,c,d' is no variable of data.csv"),
        (" \n\n", "order.txt has no name"),
        ("", "order.txt has no name"),
    ],
)
def test_bad_orders_are_told_in_one_sentence(capsys, text, words):
    Path("order.txt").write_text(text)
    assert words in fails(capsys, "order", "data.csv", "--order", "order.txt", "--quiet")


def test_bad_arguments_are_told_in_one_sentence(capsys):
    assert "none.txt cannot be read" in fails(capsys, "order", "data.csv", "--order", "none.txt")
    assert "--order" in fails(capsys, "order", "data.csv")
    assert "standard input has the data already" in fails(capsys, "order", "-", "--order", "-")
    assert "did you mean suzuki?" in fails(capsys, "order", "data.csv", "--order", "order.txt", "--method", "susuki")
    Path("x.jkl").write_text("1\na 1\n-1 0\n")
    assert "x.jkl holds local scores" in fails(capsys, "order", "x.jkl", "--order", "order.txt")
    assert run(capsys, "order", "data.csv", "--order", "order.txt")[0] == 0
    assert "--overwrite" in fails(capsys, "order", "data.csv", "--order", "order.txt", "--run-dir", "data.run")


def test_the_order_may_come_from_standard_input(capsys):
    reading, writing = os.pipe()
    os.write(writing, b"b\na\nc\nd\n")
    os.close(writing)
    kept = os.dup(0)
    os.dup2(reading, 0)
    try:
        code, out, _ = run(capsys, "order", "data.csv", "--order", "-", "--json")
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(reading)
    assert (code, json.load(io.StringIO(out))["order"]) == (0, ["b", "a", "c", "d"])


def test_a_signal_ends_it_with_the_network_so_far(capsys, signalling):
    signalling("solver.ordered", "choose_parents")
    code, out, err = run(capsys, "order", "data.csv", "--order", "order.txt", "--quiet")
    assert code == 10, err
    found = document()
    assert (found["status"], found["order_optimal"]) == ("interrupted", None)
    assert found["stats"]["unfinished"]
    assert out.startswith("interrupted: cost ")
    assert verify(found, read_csv("data.csv")).findings == ()


def test_from_python():
    told = []
    data = {"names": ["a", "b", "c", "d"], "threads": 1, "progress": told.append}
    result = extbnsl.order(a_table(), ["c", "a", "d", "b"], **data)
    assert (result.status, result.order_optimal, result.optimal) == ("heuristic", True, False)
    assert set(result.stats["states"]) == {"a", "b", "c", "d"}
    assert any(isinstance(event, events.StageEnded) for event in told)
    best = extbnsl.learn(a_table(), names=["a", "b", "c", "d"], threads=1)
    order = [best.network.names[i] for i in best.order]
    assert extbnsl.order(a_table(), order, names=["a", "b", "c", "d"]).cost == pytest.approx(best.cost, rel=1e-9)
    assert result.lower_bound <= best.cost <= result.cost + 1e-9
    for given, words in (
        (["a", "b", "c"], "order lacks 'd'"),
        (["a", "b", "c", "d", "a"], r"order\[4\]: 'a' is there already, at order\[0\]"),
        (["a", "b", "c", 4], r"order\[3\]: '4' is no variable"),
        ("abcd", "give a list of names"),
        (set("abcd"), "a set has no order"),
        (None, "order: None is no list of names"),
    ):
        with pytest.raises(InputError, match=words):
            extbnsl.order(a_table(), given, names=["a", "b", "c", "d"])
    with pytest.raises(InputError, match="local scores cannot be ordered"):
        extbnsl.order({"a": {(): 1.0}}, ["a"])
    with pytest.raises(InputError, match="method: 'k2' is not known"):
        extbnsl.order(a_table(), list("abcd"), names=list("abcd"), method="k2")


@pytest.mark.parametrize("name", ["n.bif", "n.bif.gz", "n.bifxml", "n.XDSL", "n.net"])
def test_the_order_of_a_network_in_any_format(capsys, name):
    """Its variables, parents first; what the data do not have is passed over."""
    assert run(capsys, "solve", "data.csv", "--run-dir", "r", "--quiet")[0] == 0
    kind = format_of(Path(name.lower().removesuffix(".gz")), None)
    assert run(capsys, "export", "r", "-o", "plain", "--format", kind)[0] == 0
    content = Path("plain").read_bytes()
    Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    code, _, err = run(capsys, "order", "data.csv", "--order", name, "--run-dir", "o", "--drop", "d")
    assert code == 0, err
    assert document("o")["order"] == [each for each in read_order(name) if each != "d"]


def read_order(name):
    network = extbnsl.read_network(name).network
    return [network.names[x] for x in network.order()]
