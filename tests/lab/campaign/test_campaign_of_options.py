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
    for method in ("bfbnb", "two best", "an order"):
        assert rows[method]["status"] in ("optimal", "heuristic")
        assert float(rows[method]["cost"]) == pytest.approx(best.cost)
    assert rows["bfbnb"]["status"] == "optimal"
    assert float(rows["quick"]["cost"]) >= best.cost - 1e-6
    for method, row in rows.items():
        assert int(row["variables"]) == len(best.network.names), method
        assert int(row["records"]) == best.dataset.records, method
    (folder,) = Path("c.campaign/runs").glob("table--bfbnb--*.run")
    result = json.loads((folder / "result.json").read_text())
    assert result["parents"] == best.parents
    elsewhere = here / "moved"
    shutil.move("c.campaign", elsewhere)
    assert run("c.yaml", "--quiet", "--output-dir", elsewhere, "--resume")[0] == 0


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
