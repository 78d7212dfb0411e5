"""The example files are what their README says, and what their script writes."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from cases import from_array
from data_invariants import check_dataset

from extbnsl.data.reading import read_csv

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize(
    ("name", "shape", "first", "states"),
    [
        ("asia", (1000, 8), "asia", ("no", "yes")),
        ("wine", (178, 14), "cultivar", ("1", "2", "3")),
        ("wdbc", (569, 31), "diagnosis", ("benign", "malignant")),
    ],
)
def test_examples(name, shape, first, states):
    data = read_csv(EXAMPLES / f"{name}.csv")
    check_dataset(data)
    assert data.codes.shape == shape
    assert data.names[0] == first
    assert data.states[0] == states
    assert data.arities[1:].tolist() == [2] * (shape[1] - 1)
    assert data.warnings == ()


def test_the_script_writes_the_same_files(tmp_path):
    pytest.importorskip("sklearn")
    runpy.run_path(str(ROOT / "tools" / "make_examples.py"))["main"](tmp_path)
    for path in sorted(EXAMPLES.glob("*.csv")):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    assert len(list(tmp_path.iterdir())) == 3


def test_the_papers_rule_cuts_the_measurements_alike():
    datasets = pytest.importorskip("sklearn.datasets")
    for name, raw in (("wdbc", datasets.load_breast_cancer()), ("wine", datasets.load_wine())):
        cut = from_array(raw.data, discretise="paper").codes
        high = read_csv(EXAMPLES / f"{name}.csv").codes[:, 1:] == 0  # "high" sorts before "low"
        assert (cut == high).all()
        assert np.unique(cut).tolist() == [0, 1]
