"""Certificates of columns of both kinds: families that the check counts by itself, and what they prove."""

import json
import math

import naive
import numpy as np
import pytest
from cases import random_mixed
from certified import below, checked, reduced_by
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge

from extbnsl import learn
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.data import Mixed
from extbnsl.machine.workers import Workers
from extbnsl.verify.block_families import families_by_blocks
from extbnsl.verify.both_families import families_of_both
from extbnsl.verify.certificate import ceil_units, floor_units
from extbnsl.verify.demands import demands_of
from extbnsl.verify.passes import cuts_of
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.steps import Pass

SETTINGS = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
NEAR = 1e-6
SCORE = "cg-bic"
# By score: what counts its families, what they cost by obvious code, and how near that is.
BY_SCORE = {
    SCORE: (families_of_both, naive.all_conditional_costs, NEAR),
    "dg-bic": (families_by_blocks, naive.all_degenerate_costs, 1e-4),  # the twin takes determinants of covariances
}


@pytest.mark.parametrize("score", BY_SCORE)
@SETTINGS
@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.sampled_from([6, 20, 90]),
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from([0.0, 3.0, 100.0]),
    st.booleans(),
    st.booleans(),
)
def test_counted_families_are_the_oracles(score, seed, n, records, max_parents, beyond, knowing, every):
    """All admitted sets that no subset beats are found, with their costs, if c' is below the threshold."""
    (made_by, all_costs, near), rng = BY_SCORE[score], np.random.default_rng(seed)
    data = random_mixed(rng, n, records)
    knowledge = random_knowledge(rng, data.names, max_parents) if knowing else NOTHING
    allowed = admitted(knowledge, data.names, max_parents)
    costs = np.where(allowed, all_costs(data), np.inf)
    masks = [rng.integers(1, 1 << n, size).tolist() for size in (1, 3, 1, 3, 1)]
    cuts = tuple(tuple(tuple(data.names[i] for i in naive.members(m)) for m in some) for some in masks)
    one = Pass(cuts, tuple(map(ceil_units, rng.uniform(0.1, 8.0, 5).tolist())))
    reduced = reduced_by(one, data.names, costs)
    with Workers(1) as workers:
        leads = np.full(n, math.inf if every else 0.0)
        source = made_by(data, Claim(score), demands_of(data.names, max_parents, knowledge), workers, leads)
        for x in np.flatnonzero(np.isfinite(costs).any(axis=1)).tolist():
            threshold = reduced[x].min() + beyond + 1e-6
            varsets, own = below(source, x, floor_units(threshold), cuts_of(one, data.names))
            listed = {int(v): c for v, c in zip(varsets[:, 0], own.tolist(), strict=True)}
            assert len(listed) == own.size
            for varset, cost in listed.items():
                if math.isfinite(costs[x, varset]):
                    assert cost == pytest.approx(costs[x, varset], abs=near)
                else:  # by a hair
                    assert allowed[x, varset]
            for varset in range(1 << n):
                if reduced[x, varset] < threshold - near and varset not in listed:
                    assert not every
                    assert any(
                        s & varset == s and s != varset and costs[x, s] <= costs[x, varset] + near
                        for s in range(varset)
                    )


@pytest.mark.parametrize("score", BY_SCORE)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([None, None, 1, 2]), st.booleans())
def test_certificates_of_solves_are_accepted(score, seed, n, max_parents, knowing):
    rng = np.random.default_rng(seed)
    data = random_mixed(rng, n, int(rng.choice([8, 40, 200])))
    knowledge = random_knowledge(rng, data.names, max_parents) if knowing else NOTHING
    try:
        result = learn(data, score=score, max_parents=max_parents, knowledge=knowledge, threads=1)
    except InputError:  # what must be is singular
        return
    optimality = checked(result)
    assert optimality.complete
    assert not optimality.findings


def parity(records=400):
    """A column of numbers that three of states tell together, and a fourth and another of numbers nearly."""
    rng = np.random.default_rng(2)
    codes = np.zeros((records, 6), np.uint16)
    codes[:, :4] = rng.integers(0, 2, (records, 4))
    values = np.zeros((records, 6))
    values[:, 4] = rng.normal(size=records)
    sign = 1.0 - 2.0 * (codes[:, :3].sum(axis=1) % 2)
    values[:, 5] = sign * (2.0 + values[:, 4]) + 0.3 * rng.normal(size=records)
    states = (("a", "b"),) * 4
    return Mixed(tuple("uvwxyz"), (*states, (), ()), codes, values, "<test>")


def test_a_certificate_that_hides_a_large_family_proves_nothing():
    data = parity()
    free, few = (learn(data, score=SCORE, max_parents=most, threads=1) for most in (None, 3))
    assert set(free.parents["z"]) == {"u", "v", "w", "y"}
    assert few.cost > free.cost + 10.0
    assert checked(free).complete
    assert checked(few).complete
    optimality = checked(few, few.document() | {"max_parents": None})
    assert not optimality.complete
    assert optimality.findings


def test_what_is_proved_under_knowledge_is_not_proved_of_all():
    data = parity()
    bound = learn(data, score=SCORE, knowledge=Knowledge(forbidden=(("u", "z"), ("z", "u"))), threads=1)
    assert checked(bound).complete
    tiers = bound.document()["knowledge"]["tiers"]
    optimality = checked(bound, bound.document() | {"knowledge": {"tiers": tiers}})
    assert optimality.findings


def test_wrong_figures_of_a_certificate_prove_nothing():
    data = parity()
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


@pytest.mark.parametrize("noise", [1e-2, 1e-4])
def test_columns_that_nearly_determine_each_other_in_a_state(noise):
    rng = np.random.default_rng(7)
    codes = np.zeros((120, 4), np.uint16)
    codes[:, 0] = rng.integers(0, 2, 120)
    values = np.zeros((120, 4))
    values[:, 1:] = rng.normal(size=(120, 3))
    close = codes[:, 0] == 0
    values[close, 2] = values[close, 1] + noise * values[close, 2]
    values[:, 3] = values[:, 2] - values[:, 1] + 0.01 * values[:, 3]
    data = Mixed(tuple("abcd"), (("u", "v"), (), (), ()), codes, values * [0.0, 1e6, 1e-6, 1.0] + 3.0, "<test>")
    result = learn(data, score=SCORE, threads=1)
    costs = naive.all_conditional_costs(data)
    best = min(sum(costs[i][graph[i]] for i in range(4)) for graph in naive.all_dags(4))
    assert result.cost == pytest.approx(best, abs=1e-6)
    optimality = checked(result)
    assert not optimality.findings
    assert optimality.complete == (noise == 1e-2)
