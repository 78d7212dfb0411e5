"""Results that cannot all hold are told; results of different problems are not held against each other."""

from dataclasses import replace

from extbnsl.lab.campaign.plan import Run
from extbnsl.lab.campaign.rows import Row
from extbnsl.lab.report.tables import contradictions

NAMES = {"data": "d", "method": "m", "variant": "-", "budget": "-", "seed": "-"}


def row(method, cost, bound, **problem):
    run = Run(method, NAMES | {"method": method}, ("solve", "d.csv"), None, 60.0, None)
    document = {"cost": cost, "lower_bound": bound, "score": "mdl", "max_parents": None} | problem
    return Row(0, run, "optimal", "", document | {"provenance": {"data_digest": problem.get("digest", "a")}})


def test_a_bound_above_another_networks_cost():
    grid = contradictions([row("right", 100.0, 100.0), row("wrong", 101.0, 101.0), row("open", 150.0, 3.0)])
    assert grid.rows == (("d by wrong", "101.000000", "d by right", "100.000000"),)


def test_a_bound_above_the_own_cost():
    assert len(contradictions([row("wrong", 100.0, 101.0)]).rows) == 1


def test_rounding_is_none():
    assert contradictions([row("a", 100.0, 100.0), row("b", 100.0 - 1e-8, 90.0)]) is None


def test_other_data_scores_limits_and_knowledge_are_other_problems():
    right = row("right", 100.0, 100.0)
    others = [row("b", 200.0, 200.0, digest="b"), row("c", 200.0, 200.0, score="aic")]
    others += [row("e", 200.0, 200.0, ess=2.0), row("f", 200.0, 200.0, knowledge={"roots": ["x"]})]
    assert contradictions([right, *others, row("d", 200.0, 200.0, max_parents=1)]) is None


def test_runs_without_a_result_claim_nothing():
    assert contradictions([row("right", 100.0, 100.0), replace(row("no", 1.0, 1.0), document={})]) is None
