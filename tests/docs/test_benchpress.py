"""The module for Benchpress in `examples`: its script runs as Snakemake runs it, on data of either kind."""

import csv
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cases import dataset_of

import extbnsl

MODULE = Path(__file__).parents[2] / "examples" / "benchpress" / "extbnsl"
ITEM = json.loads((MODULE / "schema.json").read_text())["items"]


def run(tmp_path, rows, **wildcards):
    """The script with these rows of data; its exit code, and what it has written."""
    with (tmp_path / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "extbnsl"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m extbnsl "$@"\n')
    command.chmod(0o755)
    given = {
        "snakemake_input": {"data": "data.csv"},
        "snakemake_output": {"adjmat": "adjmat.csv", "time": "time.txt"},
        "snakemake_wildcards": wildcards,
        "snakemake": {"threads": 1},
    }
    said = [
        f"declare -A {name}=({' '.join(f'[{key}]={shlex.quote(str(value))}' for key, value in own.items())})"
        for name, own in given.items()
    ]
    (tmp_path / "job.sh").write_text("\n".join(said) + "\n" + (MODULE / "script.sh").read_text())
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    how = {"capture_output": True, "text": True, "timeout": 300}
    return subprocess.run(["bash", "job.sh"], cwd=tmp_path, env=environment, check=False, **how)


def matrix(tmp_path):
    names, *rows = csv.reader((tmp_path / "adjmat.csv").read_text().splitlines())
    return names, np.array(rows, np.int64)


def chained(rng, records):
    codes = [rng.integers(0, 2, records)]
    for _ in range(3):
        codes.append(np.where(rng.random(records) < 0.8, codes[-1], rng.integers(0, 3, records)))
    return np.stack(codes, axis=1)


def test_states(tmp_path):
    codes = chained(np.random.default_rng(1), 200)
    rows = [["a", "b", "c", "d"], [2, 3, 3, 4], *codes.tolist()]
    ended = run(tmp_path, rows, score="bdeu", ess="10", max_parents="2", timeout="None")
    assert ended.returncode == 0, ended.stderr
    best = extbnsl.learn(dataset_of(codes, (2, 3, 3, 4)), score="bdeu", ess=10.0, max_parents=2)
    names, found = matrix(tmp_path)
    assert names == ["a", "b", "c", "d"]
    assert {(int(p), int(x)) for p, x in np.argwhere(found)} == set(best.network.arcs())
    assert best.network.arcs()
    assert float((tmp_path / "time.txt").read_text()) > 0.0


def test_numbers(tmp_path):
    rng = np.random.default_rng(2)
    first = rng.normal(size=100)
    values = np.stack([first, first + rng.normal(size=100), rng.normal(size=100)], axis=1)
    rows = [["a", "b", "c"], *values.tolist()]
    ended = run(tmp_path, rows, score="gaussian-bic", ess="None", max_parents="None", timeout="60")
    assert ended.returncode == 0, ended.stderr
    _, found = matrix(tmp_path)
    assert found.sum() == found[:2, :2].sum() == 1


def test_bad_data_fail(tmp_path):
    ended = run(tmp_path, [["a", "a"], [2, 2], [0, 1]], score="mdl", ess="None", max_parents="None", timeout="None")
    assert ended.returncode == 30
    assert not (tmp_path / "time.txt").exists()


@pytest.mark.parametrize("example", ITEM["examples"], ids=lambda one: one["id"])
def test_examples_have_what_the_script_asks_for(example):
    assert set(example) == set(ITEM["required"]) == set(ITEM["properties"])
    asked = (MODULE / "script.sh").read_text()
    assert all(f"snakemake_wildcards[{name}]" in asked for name in ITEM["required"] if name != "id")


def test_every_score_is_known():
    from extbnsl.scores.known import NAMES

    assert set(ITEM["properties"]["score"]["enum"]) <= set(NAMES)
