"""The types that the package ships: a strict program of a user is accepted, and a wrong one is not."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import extbnsl

PACKAGE = Path(extbnsl.__file__).parent
PROGRAM = """
import numpy as np

import extbnsl

table = np.array([[0, 1], [1, 0], [0, 1]])
result: extbnsl.Result = extbnsl.learn(table, score="bdeu", ess=2.0, time_limit="1m", names=["a", "b"])
cost: float = result.cost
parents: dict[str, list[str]] = result.parents
page: str | None = result._repr_html_()
for one in extbnsl.k_best(table, k=3).networks:
    share: float = one.share
for network in extbnsl.best_first(table):
    rank: int = network.rank
data = extbnsl.read_csv("data.csv", missing="drop")
print(extbnsl.approximate(data, time=2.5).lower_bound, extbnsl.order(data, ["a", "b"]).order)
print(extbnsl.learn(extbnsl.read_scores("scores.jkl")).status)
learner = extbnsl.BayesianNetworkLearner(scoring_method="bdeu", ess=1.0).fit(table)
likely: float = learner.score(table)
chances = learner.predict_proba(table, target=1).sum(axis=1)
print(learner.network_.names, learner.parents_, learner.result_.lower_bound, learner.sample(3, random_state=1))
"""


WRONG = "extbnsl.learn(table, max_parents='two')\ncost.upper()\n"


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_accepts_a_strict_program_and_refuses_a_wrong_one(tmp_path):
    """Both at once: it takes a minute to read the package."""
    (tmp_path / "right.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text(f"{PROGRAM}{WRONG}")
    options = ("--strict", "--follow-imports=silent", "--config-file=", f"--cache-dir={tmp_path / 'mypy'}")
    settings = os.environ | {"MYPYPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-m", "mypy", *options, "right.py", "wrong.py"]
    run = subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, text=True)
    *errors, last = run.stdout.splitlines()
    assert run.returncode == 1, run.stdout + run.stderr
    assert re.match(r"Found \d+ errors in 1 file \(checked 2 source files\)", last), run.stdout
    assert {line.partition(":")[0] for line in errors} == {"wrong.py"}, run.stdout
    assert [word for word in ("max_parents", "upper") if word not in run.stdout] == [], run.stdout


def test_the_package_says_that_it_has_types():
    assert (PACKAGE / "py.typed").is_file()
