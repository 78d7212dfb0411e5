"""The script that makes records of columns of states and numbers."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from extbnsl.cli import main as solve

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from make_mixed import main, random_columns

ASKED = ["--states", "3", "--numbers", "4", "--records", "200"]


def test_a_file_is_mixed_data_with_arcs(tmp_path):
    made = tmp_path / "made.csv"
    assert main([*ASKED, "--seed", "2", "--output", str(made)]) == 0
    assert solve(["solve", str(made), "--score", "cg-bic", "--run-dir", str(tmp_path / "run"), "--quiet"]) == 0
    found = json.loads((tmp_path / "run" / "result.json").read_text())
    assert found["variables"] == ["D0", "D1", "D2", "C0", "C1", "C2", "C3"]
    assert sum(map(len, found["parents"].values())) > 2


def test_the_same_arguments_make_the_same_records(tmp_path):
    texts = []
    for at, seed in enumerate("112"):
        path = tmp_path / f"{at}.csv"
        assert main([*ASKED, "--seed", seed, "--output", str(path)]) == 0
        texts.append(path.read_bytes())
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(("states", "numbers"), [(5, 0), (0, 5), (1, 0)])
def test_one_kind_alone(states, numbers):
    columns = random_columns(states, numbers, 50, 1)
    assert list(columns) == [f"D{i}" for i in range(states)] + [f"C{i}" for i in range(numbers)]
    assert all(own.shape == (50,) for own in columns.values())
    assert all(np.isin(own, range(4)).all() for name, own in columns.items() if name[0] == "D")


@pytest.mark.parametrize("counts", [("0", "0", "10"), ("1", "1", "0")])
def test_nothing_to_make_is_told_in_one_sentence(tmp_path, capsys, counts):
    asked = [part for pair in zip(ASKED[::2], counts, strict=True) for part in pair]
    assert main([*asked, "--output", str(tmp_path / "made.csv")]) == 30
    assert "give at least one column, and one record" in capsys.readouterr().err
    assert not (tmp_path / "made.csv").exists()
