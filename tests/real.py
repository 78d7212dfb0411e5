"""Real data for the tests: the examples, and known optima."""

import csv
from pathlib import Path

import pytest

from extbnsl.verify.verdict import verify

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def optima(folder):
    """The rows of optima.csv by file."""
    with open(folder / "optima.csv", newline="") as lines:
        return {row["file"]: row for row in csv.DictReader(lines)}


def assert_proved(result, optimum):
    assert result.status == "optimal"
    assert result.cost == pytest.approx(optimum, rel=1e-6)
    assert result.lower_bound <= result.cost
    verdict = verify(result.document(), result.dataset)
    assert not verdict.findings
