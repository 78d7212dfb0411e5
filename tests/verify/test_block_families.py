"""Certificates of columns of both kinds as Gaussian ones: families that the check counts by itself, and what they
prove."""

import json

import naive
import numpy as np
import pytest
from cases import random_mixed
from certified import checked
from hypothesis import HealthCheck, settings

from extbnsl import learn
from extbnsl.core.claims import Claim
from extbnsl.core.knowledge import Knowledge
from extbnsl.data import Mixed
from extbnsl.machine.workers import Workers
from extbnsl.verify.certificate import floor_units
from extbnsl.verify.statement import verify_optimality

SETTINGS = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
NEAR = 1e-4  # the twin takes determinants of covariances
SCORE = "dg-bic"
CLAIM = Claim(SCORE)


def together(records=400):
    """A column of numbers that three of states and one of numbers tell together, each of them hardly anything alone."""
    rng = np.random.default_rng(2)
    codes = np.zeros((records, 6), np.uint16)
    codes[:, :4] = rng.integers(0, 2, (records, 4))
    values = np.zeros((records, 6))
    values[:, 4] = 20.0 * (codes[:, 0] - codes[:, 1] * 1.0 + codes[:, 2]) + rng.normal(size=records)
    values[:, 5] = (
        values[:, 4] - 20.0 * (codes[:, 0] - codes[:, 1] * 1.0 + codes[:, 2]) + 0.3 * rng.normal(size=records)
    )
    states = (("a", "b"),) * 4
    return Mixed(tuple("uvwxyz"), (*states, (), ()), codes, values, "<test>")


def test_a_certificate_that_hides_a_large_family_proves_nothing():
    data = together()
    last = Knowledge(leaves=("z",))
    free, few = (learn(data, score=SCORE, max_parents=most, knowledge=last, threads=1) for most in (None, 3))
    assert set(free.parents["z"]) == {"u", "v", "w", "y"}
    assert few.cost > free.cost + 10.0
    assert checked(free).complete
    assert checked(few).complete
    optimality = checked(few, few.document() | {"max_parents": None})
    assert not optimality.complete
    assert optimality.findings


def test_what_is_proved_under_knowledge_is_not_proved_of_all():
    data = together()
    bound = learn(data, score=SCORE, knowledge=Knowledge(forbidden=(("y", "z"), ("z", "y"))), threads=1)
    assert checked(bound).complete
    optimality = checked(bound, bound.document() | {"knowledge": {}})
    assert optimality.findings


def test_wrong_figures_of_a_certificate_prove_nothing():
    data = together()
    true = json.loads(json.dumps(learn(data, score=SCORE, threads=1).document()))
    more, tried = floor_units(0.5), 0
    for component in true["certificate"]["components"]:
        for key in ("lower_bound",):
            forged = json.loads(json.dumps(true))
            for one in forged["certificate"]["components"]:
                if one == component:
                    one[key] += 0.5
            with Workers(1) as workers:
                optimality = verify_optimality(forged, data, workers)
            assert optimality.findings or not optimality.complete
            tried += 1
    assert tried
    assert more > 0


@pytest.mark.parametrize("noise", [1e-1, 1e-4])
def test_columns_that_nearly_determine_each_other(noise):
    rng = np.random.default_rng(7)
    codes = np.zeros((120, 4), np.uint16)
    codes[:, 0] = rng.integers(0, 3, 120)
    values = np.zeros((120, 4))
    values[:, 1:] = rng.normal(size=(120, 3))
    values[:, 2] = values[:, 1] + noise * values[:, 2]
    values[:, 3] = values[:, 2] - values[:, 1] + (codes[:, 0] == 1) + 0.01 * values[:, 3]
    data = Mixed(
        tuple("abcd"), (("u", "v", "w"), (), (), ()), codes, values * [0.0, 1e6, 1e-6, 1.0] + [0, 3, 3, 3], "<test>"
    )
    result = learn(data, score=SCORE, threads=1)
    costs = naive.all_degenerate_costs(data)
    best = min(sum(costs[i][graph[i]] for i in range(4)) for graph in naive.all_dags(4))
    assert result.cost == pytest.approx(best, abs=1e-4)
    optimality = checked(result)
    assert not optimality.findings
    assert optimality.complete


def test_copies_of_columns_do_not_keep_a_check_from_its_end():
    data = random_mixed(np.random.default_rng(8), 5, 200)
    names = tuple(f"{name}{i}" for i in range(3) for name in data.names)
    data = Mixed(names, data.states * 3, np.tile(data.codes, 3), np.tile(data.values, 3), "<test>")
    result = learn(data, score=SCORE, threads=1)
    assert result.optimal
    assert checked(result).complete
