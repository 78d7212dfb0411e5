"""The score of a published comparison, beside its formula written out record by record."""

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

import extbnsl
from extbnsl.cli import main as extbnsl_main

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "rescore_network.py"))
family_score = TOOL["family_score"]
RECORDS = "0,0,1\n1,1,0\n1,0,2\n0,0,2\n1,1,1\n" * 20


def family_by_hand(rows, child, parents, arities):
    """The formula as it is written, record by record."""
    r, q = arities[child], math.prod(arities[p] for p in parents)
    n, m = {}, {}
    for row in rows:
        own = tuple(row[p] for p in parents)
        m[own] = m.get(own, 0) + 1
        n[own, row[child]] = n.get((own, row[child]), 0) + 1
    if not parents:
        fit = sum(count * math.log((count + 1 / r) / (len(rows) + 1)) for count in n.values())
        return fit - math.log(len(rows)) * (r - 1) / 2
    fit = sum(count * (math.log(count + 1 / (r * q)) - math.log(m[own] + 1 / r)) for (own, _), count in n.items())
    return fit - math.log(len(rows)) * (r - 1) * math.floor(q / 2)


@pytest.mark.parametrize("parents", [(), (1,), (2,), (1, 2), (1, 2, 3)])
def test_a_family_has_the_published_score(parents):
    rng = np.random.default_rng(len(parents))
    arities = [3, 2, 3, 2]
    codes = rng.integers(0, arities, (60, 4))
    configurations = math.prod(arities[p] for p in parents)
    found = family_score(codes[:, 0], codes[:, list(parents)], 3, configurations)
    assert found == pytest.approx(family_by_hand(codes.tolist(), 0, parents, arities), rel=1e-12)


def test_a_family_of_four_records():
    """(r, q) = (2, 2): the cells hold 2, 1 and 1 records."""
    child, parent = np.array([0, 0, 1, 0]), np.array([[0], [0], [1], [1]])
    by_hand = 2 * math.log(2.25 / 2.5) + 2 * math.log(1.25 / 2.5) - math.log(4)
    assert family_score(child, parent, 2, 2) == pytest.approx(by_hand, rel=1e-12)


def test_the_network_of_a_run_has_the_sum(here, capsys):
    Path("d.csv").write_text(RECORDS)
    assert extbnsl_main(["solve", "d.csv", "--no-header", "--quiet"]) == 0
    parents = extbnsl.learn(extbnsl.read_csv("d.csv", header=False)).network.parents
    capsys.readouterr()
    assert TOOL["main"](["d.run", "d.csv"]) == 0
    rows = [[int(cell) for cell in line.split(",")] for line in RECORDS.split()]
    by_hand = sum(family_by_hand(rows, child, own, [2, 2, 3]) for child, own in enumerate(parents))
    assert float(capsys.readouterr().out) == pytest.approx(by_hand, abs=1e-3)
    assert any(parents), "a network without arcs would prove little"


def test_other_data_are_refused(here, capsys):
    Path("d.csv").write_text(RECORDS)
    Path("other.csv").write_text("0,1\n1,0\n")
    assert extbnsl_main(["solve", "d.csv", "--no-header", "--quiet"]) == 0
    assert TOOL["main"](["d.run", "other.csv"]) == 30
    assert "does not have the variables" in capsys.readouterr().err
