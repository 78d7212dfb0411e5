"""Campaigns whose options say how data are read, and what networks cost: what they find is what `learn` finds."""

import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import extbnsl

LAGGED = {"time-column": "day", "unit-column": "who"}
CASES = {
    "targets": {"targets": "set", "drop": "day,who,age,weight,gaps"},
    "average": {"missing": "average", "columns": ["kids", "ward", "gaps"]},
    "in time": LAGGED | {"columns": ["ward", "kids"], "lags": 2},
    "no instant": LAGGED | {"columns": "ward,kids", "instant": False},
    "arc costs": {"columns": "kids,ward,ill", "arc-costs": "costs.csv"},
    "parent cost": {"columns": "kids,ward,ill", "parent-cost": 1.5, "score": "bdeu"},
    "gamma": {"columns": "kids,ward,ill", "gamma": 0.5},
    "penalty": {"columns": "kids,ward,ill", "penalty": 3},
    "both kinds": {"columns": "age,weight,ward,ill", "score": "cg-bic", "discrete": "ill"},
    "as Gaussian": {"columns": "age,weight,ward,ill", "score": "dg-bic", "discrete": ["ill"]},
    "both kinds, knowledge": {"columns": "age,weight,ward", "score": "cg-bic", "forbidden": "age,weight", "gamma": 1},
    "resolution": {"columns": "age,weight,kids", "score": "gaussian-bic", "resolution": [0.5, "weight=1"]},
    "one resolution": {"columns": "age,weight,ward", "score": "cg-bic", "resolution": 0.5},
    "numbers, targets": {"columns": "age,weight,kids", "score": "gaussian-bic", "targets": "set", "parent-cost": 2},
    "numbers in time": LAGGED | {"columns": "age,weight", "score": "gaussian-bic", "lags": 1},
}
METHODS = [
    "bfbnb",
    {"name": "two best", "command": "kbest", "options": {"k": 2}},
    {"name": "all", "command": "posterior", "options": {"prior": "order", "sample": 20}},
    {"name": "an order", "command": "order", "options": {"order": "order.txt"}},
    {"name": "quick", "command": "approximate", "options": {"time": "1s"}},
]


@pytest.fixture
def table(here):
    """A table of all that the cases ask for, and a file of what arcs cost."""
    draw = np.random.default_rng(8)
    ward, kids = draw.choice(["east", "west"], 120), draw.integers(0, 3, 120)
    age = draw.normal(50, 10, 120).round(1)
    frame = pd.DataFrame(
        {
            "day": np.tile(np.arange(40), 3),
            "who": np.repeat(["a", "b", "c"], 40),
            "ward": ward,
            "kids": kids,
            "ill": (draw.random(120) < np.where(ward == "east", 0.8, 0.3)).astype(int),
            "age": age,
            "weight": (age + draw.normal(0, 5, 120)).round(1),
            "gaps": np.where(draw.random(120) < 0.2, "", np.where(kids > 0, "some", "none")),
            "set": np.where(draw.random(120) < 0.2, "kids", ""),
        }
    )
    frame.to_csv("table.csv", index=False)
    Path("costs.csv").write_text("parent,child,nats\nward,ill,-2\nill,*,0.5\n")


def learned(options):
    """What `learn` finds."""
    own = {name.replace("-", "_"): value for name, value in options.items()}
    knowledge = {"costs": own.pop("arc_costs")} if "arc_costs" in own else {}
    if "forbidden" in own:
        knowledge["forbidden"] = [own.pop("forbidden").split(",")]
    if isinstance(own.get("resolution"), list):
        own["resolution"] = list(map(str, own["resolution"]))
    return extbnsl.learn(pd.read_csv("table.csv", keep_default_na=False), knowledge=knowledge or None, **own)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_options_of_data_and_of_costs(case, table, run, here):
    options = CASES[case]
    own = {"title": case, "data": [{"file": "table.csv", "options": options}], "methods": METHODS}
    Path("c.yaml").write_text(yaml.safe_dump(own | {"options": {"threads": 1}}))
    best = learned(options)
    assert best.optimal
    Path("order.txt").write_text("\n".join(best.network.names[v] for v in best.network.order()))
    code, out, err = run("c.yaml", "--quiet")
    assert code == 0, (out, err)
    with Path("c.campaign/results.csv").open(newline="") as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    for method in ("bfbnb", "two best", "all", "an order"):
        assert rows[method]["status"] in ("optimal", "heuristic")
        assert float(rows[method]["cost"]) == pytest.approx(best.cost)
    assert rows["bfbnb"]["status"] == "optimal"
    assert float(rows["quick"]["cost"]) >= best.cost - 1e-6
    assert 0.0 < float(rows["all"]["best_probability"]) <= 1.0
    assert (rows["all"]["drawn"], rows["two best"]["drawn"]) == ("20", "")
    for method, row in rows.items():
        assert int(row["variables"]) == len(best.network.names), method
        assert int(row["records"]) == best.dataset.records, method
    (folder,) = Path("c.campaign/runs").glob("table--bfbnb--*.run")
    result = json.loads((folder / "result.json").read_text())
    assert result["parents"] == best.parents
    elsewhere = here / "moved"
    shutil.move("c.campaign", elsewhere)
    assert run("c.yaml", "--quiet", "--output-dir", elsewhere, "--resume")[0] == 0


PRIORS = [
    {"name": "uniform", "command": "posterior"},
    {"name": "order", "command": "posterior", "options": {"prior": "order", "within": 0, "features": "what.yaml"}},
]
PAIR = {"features": {"pair": {"arcs": [["a", "b"]]}}, "sample": 30}


def test_posteriors_are_those_of_the_function(run, here):
    """Whatever is asked of them, with what their files say beside the file of the campaign."""
    folder, draw = here / "beside", np.random.default_rng(3)
    folder.mkdir()
    a = draw.integers(0, 3, 90)
    frame = pd.DataFrame({"a": a, "b": np.where(draw.random(90) < 0.6, a, 0), "c": draw.integers(0, 2, 90)})
    frame.to_csv(folder / "small.csv", index=False)
    (folder / "what.yaml").write_text(yaml.safe_dump(PAIR["features"]))
    own = {"title": "all", "data": ["small.csv"], "methods": PRIORS, "options": {"sample": 30, "threads": 1}}
    columns = [{"label": "log Z", "figure": "log_weight", "each": "method"}, {"label": "s", "figure": "sum_seconds"}]
    own["tables"] = [{"title": "Weights", "columns": columns}]
    (folder / "c.yaml").write_text(yaml.safe_dump(own))
    code, out, err = run("beside/c.yaml", "--output-dir", "out")
    assert code == 0, (out, err)
    assert "intervals up to " in err
    with Path("out/results.csv").open(newline="") as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    for prior, more in (("uniform", {}), ("order", {"within": 0, **PAIR})):
        found = extbnsl.posterior(frame, **{"prior": prior, "sample": 30, **more}).posterior
        row, (folder,) = rows[prior], Path("out/runs").glob(f"small--{prior}--*.run")
        assert (row["status"], float(row["log_weight"])) == ("optimal", found.log_weight[0])
        assert (float(row["best_probability"]), row["drawn"]) == (found.best.probability, "30")
        assert float(row["widest"]) == pytest.approx(
            found.exactness.width + 2.0 * found.exactness.rounding, rel=1e-12, abs=0.0
        )
        assert float(row["sum_seconds"]) >= 0.0
        assert f"log Z {prior}" in out
        wanted = {name: b"".join([own] if isinstance(own, bytes) else own) for name, own in found.files()}
        assert {name: (folder / name).read_bytes() for name in wanted} == wanted
        assert json.loads((folder / "result.json").read_text())["posterior"] == json.loads(json.dumps(found.document()))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"prior": "orders"}, "argument --prior: 'orders' is not known; did you mean order?"),
        ({"within": 1.5}, "within: 1.5 is no width of an interval"),
        ({"sample": -1}, "--sample: '-1' is not a whole number"),
        ({"features": "none.yaml", "sample": 5}, "none.yaml"),
        ({"features": "bad.yaml", "sample": 5}, "bad.yaml:1: a.loops"),
        ({"features": "good.yaml"}, "features: they are read off networks that are drawn"),
        ({"method": "dp"}, "unrecognised: --method=dp"),
        ({"missing": "em"}, "completes values by a network in rounds of a solve"),
    ],
)
def test_posteriors_that_cannot_be_are_told_before_anything_runs(options, told, table, run):
    Path("bad.yaml").write_text("a: {loops: [[kids, ill]]}\n")
    Path("good.yaml").write_text("a: {paths: [[kids, ill]]}\n")
    methods = ["bfbnb", {"name": "all", "command": "posterior", "options": options}]
    Path("c.yaml").write_text(yaml.safe_dump({"title": "t", "data": ["table.csv"], "methods": methods}))
    code, _, err = run("c.yaml", "--quiet")
    assert code == 30, err
    assert told in err
    assert not Path("c.campaign").exists()


@pytest.mark.slow
def test_what_a_method_does_not_take_is_told_before_anything_runs(table, run):
    data = [
        {"file": "table.csv", "name": name, "options": CASES[name]} for name in ("targets", "average", "both kinds")
    ]
    methods = [{"name": name, "options": {"method": name}} for name in ("dp", "astar", "ilp", "cycles", "pgmpy")]
    Path("c.yaml").write_text(yaml.safe_dump({"title": "t", "data": data, "methods": methods}))
    code, _, err = run("c.yaml", "--quiet")
    assert code == 30
    assert "pgmpy" in err
    Path("c.yaml").write_text(yaml.safe_dump({"title": "t", "data": data, "methods": methods[:4]}))
    code, out, err = run("c.yaml", "--quiet")
    assert code == 0, (out, err)
    with Path("c.campaign/results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for name in ("targets", "average", "both kinds"):
        costs = {round(float(row["cost"]), 6) for row in rows if row["data"] == name}
        assert costs == {round(learned(CASES[name]).cost, 6)}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"time-column": "day", "targets": "set"}, "--time-column and --targets exclude each other"),
        ({"lags": 2}, "it is for time series"),
        ({"score": "gaussian-bic", "resolution": -1}, "--resolution='-1' is no error; give a number of at least 0"),
        ({"score": "mdl", "resolution": 1}, "it is of numbers"),
        ({"score": "gaussian-bic", "discretise": "mean"}, "makes states of columns"),
        ({"score": "cg-bic", "discretise": "mean"}, "cuts every column of numbers"),
        ({"states": "nowhere.yaml"}, "nowhere.yaml"),
        ({"arc-costs": "nowhere.csv"}, "nowhere.csv"),
    ],
)
def test_options_that_cannot_be_are_told_before_anything_runs(options, told, table, run):
    data = [{"file": "table.csv", "name": "fine"}, {"file": "table.csv", "name": "wrong", "options": options}]
    Path("c.yaml").write_text(yaml.safe_dump({"title": "t", "data": data, "methods": ["bfbnb"]}))
    code, _, err = run("c.yaml", "--quiet")
    assert code == 30, err
    assert re.search(told, err), err
    assert "of wrong by the score" in err
    assert not Path("c.campaign").exists()
