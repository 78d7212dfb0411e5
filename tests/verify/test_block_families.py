"""Certificates of columns of both kinds as Gaussian ones: families that the check counts by itself, and what they
prove."""

import json
import math

import naive
import numpy as np
import pytest
from cases import random_mixed
from certified import below
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge

from extbnsl import learn
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.data import Mixed
from extbnsl.machine.workers import Workers
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.block_families import families_by_blocks
from extbnsl.verify.certificate import ceil_units, floor_units
from extbnsl.verify.demands import demands_of
from extbnsl.verify.passes import cuts_of
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.steps import Pass
from extbnsl.verify.verdict import verify

SETTINGS = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
NEAR = 1e-4  # the twin takes determinants of covariances
SCORE = "dg-bic"
CLAIM = Claim(SCORE)


def reduced_by(one, names, costs):
    """c' of every family under a pass: (n, 2^n)."""
    reduced = costs.copy()
    for cut, multiplier in zip(one.cuts, one.multipliers, strict=True):
        clusters = [{names.index(name) for name in cluster} for cluster in cut]
        for x in set().union(*clusters):
            for varset in range(costs.shape[1]):
                counts = sum(x in cluster and not cluster & set(naive.members(varset)) for cluster in clusters)
                reduced[x, varset] -= multiplier / UNITS_PER_NAT * math.ceil(counts / 2)
    return reduced


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
def test_counted_families_are_the_oracles(seed, n, records, max_parents, beyond, knowing, every):
    """All admitted sets that no subset beats are found, with their costs, if c' is below the threshold."""
    rng = np.random.default_rng(seed)
    data = random_mixed(rng, n, records)
    knowledge = random_knowledge(rng, data.names, max_parents) if knowing else NOTHING
    allowed = admitted(knowledge, data.names, max_parents)
    costs = np.where(allowed, naive.all_degenerate_costs(data), np.inf)
    masks = [rng.integers(1, 1 << n, size).tolist() for size in (1, 3, 1, 3, 1)]
    cuts = tuple(tuple(tuple(data.names[i] for i in naive.members(m)) for m in some) for some in masks)
    one = Pass(cuts, tuple(map(ceil_units, rng.uniform(0.1, 8.0, 5).tolist())))
    reduced = reduced_by(one, data.names, costs)
    with Workers(1) as workers:
        leads = np.full(n, math.inf if every else 0.0)
        source = families_by_blocks(data, CLAIM, demands_of(data.names, max_parents, knowledge), workers, leads)
        for x in np.flatnonzero(np.isfinite(costs).any(axis=1)).tolist():
            threshold = reduced[x].min() + beyond + 1e-6
            varsets, own = below(source, x, floor_units(threshold), cuts_of(one, data.names))
            listed = {int(v): c for v, c in zip(varsets[:, 0], own.tolist(), strict=True)}
            assert len(listed) == own.size
            for varset, cost in listed.items():
                if math.isfinite(costs[x, varset]):
                    assert cost == pytest.approx(costs[x, varset], abs=NEAR)
                else:  # by a hair
                    assert allowed[x, varset]
            for varset in range(1 << n):
                if reduced[x, varset] < threshold - NEAR and varset not in listed:
                    assert not every
                    assert any(
                        s & varset == s and s != varset and costs[x, s] <= costs[x, varset] + NEAR
                        for s in range(varset)
                    )


def checked(result, document=None):
    document = json.loads(json.dumps(document or result.document()))
    assert not verify(document, result.dataset).findings
    with Workers(1) as workers:
        return verify_optimality(document, result.dataset, workers)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([None, None, 1, 2]), st.booleans())
def test_certificates_of_solves_are_accepted(seed, n, max_parents, knowing):
    rng = np.random.default_rng(seed)
    data = random_mixed(rng, n, int(rng.choice([8, 40, 200])))
    knowledge = random_knowledge(rng, data.names, max_parents) if knowing else NOTHING
    try:
        result = learn(data, score=SCORE, max_parents=max_parents, knowledge=knowledge, threads=1)
    except InputError:  # what must be is singular
        return
    optimality = checked(result)
    assert optimality.complete
    assert not optimality.findings


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
