"""Time series on the command line: a network, its check, its drawing and its report; kills and resumes."""

import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from commands import fails, run

from extbnsl.drawing.layout import Spacing
from extbnsl.drawing.slices import lay_out_slices
from extbnsl.networks.network import Network

TIME = ("--time-column", "day", "--unit-column", "patient")


def write_series(path, patients=12, days=30, columns=4, seed=1):
    """A diary with gaps in which each column follows the one before it a day ago, and the first one the last."""
    rng = np.random.default_rng(seed)
    lines = [",".join(["patient", "day", *(f"v{j}" for j in range(columns))])]
    for patient in range(patients):
        row = rng.integers(0, 3, columns)
        for day in range(days):
            row = np.where(rng.random(columns) < 0.3, rng.integers(0, 3, columns), np.roll(row, 1))
            if rng.random() < 0.95:
                lines.append(",".join([f"p{patient}", str(day), *map(str, row)]))
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def _data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_series("diary.csv")


def document(folder):
    return json.loads((Path(folder) / "result.json").read_text())


def test_from_a_file_to_a_report(capsys):
    code, out, err = run(capsys, "solve", "diary.csv", *TIME, "--lags", "2", "--plot", "diary.svg")
    assert code == 0
    assert "The records are a time series by 'day', in steps of 1" in " ".join(err.split())
    assert re.search(r"series +each time of 'day' with the 2 steps before, in steps of 1; 12 units of 'patient'", out)
    found = document("diary.run")
    assert found["parents"]["v0"] == ["v3[t-1]"]
    assert found["provenance"]["data_options"] == {"time_column": "day", "unit_column": "patient", "lags": 2}
    assert found["time_series"]["rows"] == found["provenance"]["records"]
    assert run(capsys, "verify", "diary.run", "diary.csv")[0] == 0
    Path("known.yaml").write_text("forbidden: [[v0, v1]]")
    for demand, code in {
        "lags=2,time-column=day,instant=none,knowledge=none": 0,
        "lags=1": 1,
        "instant=false": 1,
        "knowledge=known.yaml": 1,
    }.items():
        assert (run(capsys, "verify", "diary.run", "diary.csv", "--require", demand)[0] != 0) == code
    assert run(capsys, "report", "diary.run")[0] == 0
    page = Path("diary.run/report.html").read_text()
    assert "in steps of 1" in page
    assert "and their past" in page
    box = r'<g class="box"><title>([^<]+)</title><rect x="([-\d.]+)" y="([-\d.]+)"'
    boxes = re.findall(box, Path("diary.svg").read_text())
    left = {name: float(x) for name, x, _ in boxes}
    height = {name: float(y) for name, _, y in boxes}
    for j in range(4):
        assert left[f"v{j}[t-2]"] < left[f"v{j}[t-1]"] < left[f"v{j}"]
        assert height[f"v{j}[t-2]"] == height[f"v{j}[t-1]"] == height[f"v{j}"]
    assert run(capsys, "export", "diary.run", "-o", "diary.bif")[0] == 0
    assert run(capsys, "export", "diary.run", "-o", "diary.dot")[0] == 0
    assert '"v3[t-1]" -> "v0"' in Path("diary.dot").read_text()


def test_arcs_within_a_time_are_at_the_right_of_the_present():
    names = ("a", "b", "a[t-1]", "b[t-1]", "a[t-2]", "b[t-2]")
    layout = lay_out_slices(Network(names, ((2,), (0, 4), (), (), (), ())), [40.0] * 6, 2, Spacing())
    within = layout.routes[0, 1]
    right = layout.boxes[0].x + 20
    assert within[0] == (right, layout.boxes[0].y)
    assert within[3] == (right, layout.boxes[1].y)
    assert min(within[1][0], within[2][0]) > right
    assert layout.boxes[0].y < layout.boxes[1].y
    for arc in ((2, 0), (4, 1)):
        xs = [x for x, _ in layout.routes[arc]]
        assert xs == sorted(xs)
    assert layout.width >= max(x for route in layout.routes.values() for x, _ in route)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--lags", "2"], "--lags: it is for time series: say --time-column too"),
        (["--unit-column", "patient"], "--unit-column: it is for time series"),
        (["--no-instant"], "--no-instant: it is for time series"),
        ([*TIME, "--lags", "40"], "--lags: diary.csv: no row has the 40 steps before it"),
        (["--time-column", "day"], "say whose series each is with --unit-column"),
        (["--time-column", "date"], "--time-column: diary.csv has no column 'date'"),
        ([*TIME, "--required", "v0,v1[t-1]"], "'v1[t-1]' is a root"),
        ([*TIME, "--no-instant", "--required", "v0,v1"], "both are in a set without arcs"),
        ([*TIME, "--forbidden", "*[t-2],v1"], "no variable fits '*[t-2]'"),
    ],
)
def test_what_is_refused(capsys, options, said):
    assert said in fails(capsys, "solve", "diary.csv", *options)


def test_other_questions(capsys):
    assert run(capsys, "solve", "diary.csv", *TIME, "--quiet")[0] == 0
    best = document("diary.run")["cost"]
    Path("order.txt").write_text("v2\nv0\nv1\nv3\n")
    assert run(capsys, "order", "diary.csv", *TIME, "--order", "order.txt", "--run-dir", "o", "--quiet")[0] == 0
    assert document("o")["cost"] >= best - 1e-6
    assert run(capsys, "verify", "o", "diary.csv")[0] == 0
    assert run(capsys, "kbest", "diary.csv", *TIME, "-k", "3", "--run-dir", "k", "--quiet")[0] == 0
    assert document("k")["cost"] == pytest.approx(best)
    assert run(capsys, "verify", "k", "diary.csv")[0] == 0
    assert run(capsys, "approximate", "diary.csv", *TIME, "--time", "2s", "--run-dir", "a", "--quiet")[0] == 0
    assert document("a")["lower_bound"] <= best + 1e-6
    assert run(capsys, "estimate", "diary.csv", *TIME, "--quiet")[0] == 0
    code, out, _ = run(capsys, "describe", "diary.csv", *TIME)
    assert code == 0
    assert re.search(r"day +time", out)
    code, out, _ = run(capsys, "cost", "diary.run", "diary.csv", *TIME, "--json")
    assert json.loads(out)["cost"] == pytest.approx(best)
    assert run(capsys, "solve", "diary.csv", *TIME, "--bootstrap", "3", "--run-dir", "b", "--quiet")[0] == 0
    assert document("b")["bootstrap"]["done"] == 3


def test_a_series_is_judged_time_by_time(capsys):
    assert run(capsys, "solve", "diary.csv", *TIME, "--quiet")[0] == 0
    found = document("diary.run")
    code, out, _ = run(capsys, "score-network", "diary.run", "diary.csv", "--smoothing", "0", "--json")
    told = json.loads(out)
    records = found["provenance"]["records"]
    assert code == 0
    assert told["records"] == records
    penalty = found["stats"]["parameters"] * math.log(records) / 2
    assert told["log_likelihood"] == pytest.approx(penalty - found["cost"])
    assert "--missing drop" in fails(capsys, "score-network", "diary.run", "diary.csv", "--missing", "sum")
    assert run(capsys, "solve", "diary.csv", *TIME, "--score", "gaussian-bic", "--run-dir", "g", "--quiet")[0] == 0
    found = document("g")
    told = json.loads(run(capsys, "score-network", "g", "diary.csv", "--json")[1])
    penalty = found["stats"]["parameters"] * math.log(records) / 2
    assert told["log_likelihood"] == pytest.approx(penalty - found["cost"])


def test_in_a_campaign(capsys):
    options = {"time-column": "day", "unit-column": "patient", "max-parents": 3}
    others = {"A*": {"method": "astar"}, "apart": {"instant": False}}
    methods = ["bfbnb", *({"name": name, "options": own} for name, own in others.items())]
    campaign = {"title": "In time", "data": ["diary.csv"], "methods": methods, "options": options}
    Path("c.yaml").write_text(yaml.safe_dump(campaign))
    code, _, err = run(capsys, "campaign", "c.yaml", "--output-dir", "c", "--quiet")
    assert code == 0, err
    found = [document(path.parent) for path in sorted(Path("c").rglob("result.json"))]
    assert len(found) == 3
    assert len({round(one["cost"], 6) for one in found if one["time_series"]["instant"]}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--no-instant"], ["--no-instant", "--score", "gaussian-bic"]], ids=str)
def test_a_run_that_is_killed_ends_as_one_that_was_not(options):
    write_series("long.csv", patients=20, days=60, columns=9)
    command = [sys.executable, "-m", "extbnsl"]
    question = ["solve", "long.csv", *TIME, "--lags", "2", "--threads", "1", "--quiet", *options]
    subprocess.run([*command, *question, "--run-dir", "whole"], check=True, capture_output=True)
    expected = document("whole")
    draw = random.Random(2)
    for _ in range(6):
        begun = subprocess.Popen([*command, *question, "--run-dir", "r", "--resume"], stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.8, 3.0))
        os.kill(begun.pid, signal.SIGKILL)
        begun.wait()
    subprocess.run([*command, *question, "--run-dir", "r", "--resume"], check=True, capture_output=True)
    found = document("r")
    for key in ("status", "cost", "parents", "knowledge", "time_series", "order"):
        assert found[key] == expected[key]


@pytest.mark.parametrize("score", ["cg-bic", "dg-bic"])
def test_a_series_of_both_kinds_is_scored_as_it_was_learned(score, capsys):
    rng, lines, value, word = np.random.default_rng(4), ["day,x,s"], 0.0, "no"
    for day in range(200):
        value = 0.5 * value + 2.0 * (word == "yes") + rng.normal()
        word = "yes" if rng.random() < (0.7 if word == "yes" else 0.3) else "no"
        lines.append(f"{day},{value:.4f},{word}")
    Path("both.csv").write_text("\n".join(lines) + "\n")
    assert run(capsys, "solve", "both.csv", "--time-column", "day", "--score", score, "--run-dir", "r")[0] == 0
    found = document("r")
    assert "s[t-1]" in found["parents"]["x"]
    assert run(capsys, "verify", "r", "both.csv")[0] == 0
    assert run(capsys, "report", "r")[0] == 0
    code, out, _ = run(capsys, "score-network", "r", "both.csv", "--smoothing", "0", "--json")
    assert code == 0
    told, free = json.loads(out), found["stats"]["parameters"] * math.log(199) / 2
    assert told["records"] == 199
    assert told["log_likelihood"] == pytest.approx(free - found["cost"], rel=1e-9)
