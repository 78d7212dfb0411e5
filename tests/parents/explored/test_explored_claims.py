"""Explorations by every score and under knowledge: with all effort they have what counting has."""

import naive
import numpy as np
import pytest
from cases import EVERY_SCORE, claim_by, random_dataset
from charging import naive_costs, random_claim
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge
from soundness import check_list

from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.explored.explore import SELECTIONS, Effort, exploration, explored_families
from extbnsl.parents.explored.neighbours import Chosen, extended
from extbnsl.solver.chained import choices_of

GO_ON = np.zeros(1, np.uint8)


@pytest.mark.slow
@pytest.mark.parametrize("score", EVERY_SCORE)
@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
@given(
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.integers(1, 400),
    st.sampled_from([None, None, 2]),
    st.sampled_from(sorted(SELECTIONS)),
    st.booleans(),
)
def test_with_all_effort_nothing_is_missing(score, seed, n, records, limit, selection, free):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, records)
    knowledge = random_knowledge(rng, dataset.names, limit)
    claim = claim_by(score, limit) if free else claim_by(score, limit, knowledge)
    problem = exploration(dataset, selection, claim, 0.5)
    with Workers(1) as workers:
        found = explored_families(problem, Effort(), workers, 1 << 30)
    costs = naive.all_local_scores(dataset.codes, dataset.arities, limit, score)
    if not free:
        costs[~admitted(knowledge, dataset.names, limit)] = np.inf
    listed = [
        [(sum(1 << v for v in own.families.members(i)), own.families.costs[i]) for i in range(own.families.families)]
        for own in found
    ]
    for own in found:
        check_list(own.families)
    table = naive.cost_table(n, listed)
    here = np.isfinite(table)
    np.testing.assert_allclose(table[here], costs[here], rtol=1e-9, atol=1e-7)
    where = (np.arange(2**n) >> np.arange(n)[:, None]) & 1 == 0
    np.testing.assert_allclose(naive.best_scores(table)[where], naive.best_scores(costs)[where], rtol=1e-9, atol=1e-7)
    for own in found:  # what walks from a family find is allowed, and costs what it should
        start = Chosen(own.families.members(own.families.families - 1), np.ones(n, np.bool_))
        more, _ = extended(own.child, own.families, [start], [], problem, GO_ON)
        for i in range(more.families):
            varset = sum(1 << v for v in more.members(i))
            assert more.costs[i] == pytest.approx(costs[own.child, varset], rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("score", ["mdl", "aic"])
@pytest.mark.parametrize("effort", [0, 1, 4, None])
def test_wherever_it_ends_no_family_costs_less_than_what_is_left(score, effort):
    """By arcs that save, families may win that a subset replaces: nothing is said of these."""
    saving = 0
    for seed in (18, 93, 115, 133, 139, *range(20)):
        rng = np.random.default_rng(seed)
        data = random_dataset(rng, 4, 60)
        dull = [name for name, own in zip(data.names, data.codes.T, strict=True) if np.ptp(own) == 0]
        claim = random_claim(rng, data.names, score, dull)
        costs, problem = naive_costs(data, claim), exploration(data, "independence", claim, 0.5)
        with Workers(1) as workers:
            floors = source_of(data, claim).least_costs(workers)
            found = explored_families(problem, Effort(sets=effort), workers, 1 << 30)
        for own, floor in zip(found, floors, strict=True):
            assert choices_of(own, floor, floor, problem).costs.min() <= costs[own.child].min() + 1e-6
            saving += problem.saved[own.child] > 0.0
    assert saving
