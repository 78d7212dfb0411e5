"""The types that the package ships: a strict program of a user is accepted, and a wrong one is not."""

import importlib.util
import os
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


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
@pytest.mark.parametrize(
    ("wrong", "said"),
    [("", ["Success"]), ("extbnsl.learn(table, max_parents='two')\ncost.upper()", ["max_parents", "upper"])],
)
def test_mypy_accepts_a_strict_program_and_refuses_a_wrong_one(tmp_path, wrong, said):
    (tmp_path / "program.py").write_text(f"{PROGRAM}{wrong}\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=", "program.py"]
    settings = os.environ | {"MYPYPATH": str(PACKAGE.parent)}
    cache = f"--cache-dir={tmp_path.parent / 'mypy'}"
    run = subprocess.run([*command, cache], cwd=tmp_path, env=settings, capture_output=True, text=True)
    assert [word for word in said if word not in run.stdout] == [], run.stdout + run.stderr
    assert (run.returncode == 0) == (wrong == ""), run.stdout


def test_the_package_says_that_it_has_types():
    assert (PACKAGE / "py.typed").is_file()
