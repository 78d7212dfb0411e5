"""Columns that are copies of each other: to leave out what they repeat loses no optimum, in a solve and in a check."""

import json

import naive
import numpy as np
import pytest
from asking import solve
from cases import EVERY_SCORE, claim_by, dataset_of, random_dataset
from certified import no_cuts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge

from extbnsl.core.claims import INTERRUPTED, OPTIMAL, Claim
from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.constraints import constraints_of
from extbnsl.parents.copies import copies_in, needed, without_copies
from extbnsl.verify import copies as of_verify
from extbnsl.verify.demands import demands_of
from extbnsl.verify.families import FamilySource, RecountedFamilies, untold
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.verdict import verify

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


def with_copies(rng, n, records):
    """Data of n columns, some of them others with the states in another order."""
    data = random_dataset(rng, n, records, 3)
    codes, arities = data.codes.astype(np.int64), data.arities.copy()
    for copy in rng.permutation(n)[: n // 2].tolist():
        of = int(rng.integers(n))
        codes[:, copy], arities[copy] = rng.permutation(arities[of])[codes[:, of]], arities[of]
    return dataset_of(codes, arities)


def least(costs):
    """The least cost of any network by a table of all families."""
    return naive.optimal_cost_dp(len(costs), naive.best_scores(costs))


def varsets_of(n):
    return np.arange(2**n, dtype=np.uint64).reshape(-1, 1)


class Table(FamilySource):
    """Every family of a table of costs, whatever the threshold."""

    def __init__(self, costs):
        self.costs = costs

    def below(self, thresholds, cuts, tell):
        found = []
        for child in thresholds:
            some = np.isfinite(self.costs[child])
            found.append(RecountedFamilies(varsets_of(len(self.costs))[some], self.costs[child][some]))
        return found

    def error(self, child):
        return 0.0

    def scale(self, child):
        return 0.0


@pytest.mark.parametrize("score", EVERY_SCORE)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(20, 60), st.sampled_from([None, 1, 2]), st.booleans())
def test_the_optimum_is_among_the_families_that_are_left(score, seed, n, records, limit, knows):
    rng = np.random.default_rng(seed)
    data = with_copies(rng, n, records)
    knowledge = random_knowledge(rng, data.names, limit) if knows else NOTHING
    claim = claim_by(score, limit, knowledge)
    costs = naive.all_local_scores(data.codes, data.arities, limit, score)
    costs[~admitted(knowledge, data.names, limit)] = np.inf
    copies, ours, theirs = copies_in(data, claim), costs.copy(), np.full_like(costs, np.inf)
    constraints = without_copies(constraints_of(claim, data.names), copies, claim.score)
    demands = demands_of(data.names, limit, knowledge)
    with Workers(1) as workers:
        source = of_verify.without_other_copies(Table(costs), data, claim, demands, workers)
    for child, own in enumerate(source.below(dict.fromkeys(range(n), 0), no_cuts(n), untold)):
        left = constraints.admitted(child, varsets_of(n)) & needed(child, varsets_of(n), copies)
        ours[child, ~left] = np.inf
        theirs[child, own.varsets[:, 0].astype(np.int64)] = own.costs
    assert least(ours) == pytest.approx(least(costs), rel=1e-12)
    assert least(theirs) == pytest.approx(least(costs), rel=1e-12)
    beaten = naive.best_scores(ours) <= costs + 1e-9  # a check has no family that the solver left out but for nothing
    assert beaten[np.isfinite(theirs)].all()


@pytest.mark.parametrize("score", EVERY_SCORE)
@settings(SETTINGS, max_examples=4)
@given(st.integers(0, 2**32))
def test_solved_and_checked(score, seed):
    data = with_copies(np.random.default_rng(seed), 6, 60)
    claim = claim_by(score, 3)
    result = solve(data, claim, budgets=Budgets(threads=1))
    assert result.status == OPTIMAL
    assert result.cost == pytest.approx(naive.optimal_cost(data.codes, data.arities, 3, score), rel=1e-9)
    document = json.loads(json.dumps(result.document()))
    assert not verify(document, data).findings
    with Workers(1) as workers:
        assert verify_optimality(document, data, workers).complete


CODES = np.random.default_rng(1).integers(0, 3, (50, 4))
CODES[:, 2] = np.array([2, 0, 1])[CODES[:, 0]]


@pytest.mark.parametrize(
    ("claim", "codes", "arities", "copies"),
    [
        (Claim(), CODES, (3, 3, 3, 3), ((0, 2),)),
        (Claim(), np.where(np.arange(50)[:, None] == 49, 1 - np.minimum(1, CODES), CODES), (3, 3, 3, 3), ()),
        (Claim(), CODES, (3, 3, 4, 3), ()),
        (Claim(knowledge=Knowledge(forbidden=(("v0", "v2"),))), CODES, (3, 3, 3, 3), ()),
        (Claim(knowledge=Knowledge(forbidden=(("v1", "v2"),))), CODES, (3, 3, 3, 3), ()),
        (Claim(knowledge=Knowledge(forbidden=(("v1", "v2"), ("v1", "v0")))), CODES, (3, 3, 3, 3), ((0, 2),)),
        (Claim(knowledge=Knowledge(required=(("v2", "v1"),))), CODES, (3, 3, 3, 3), ()),
        (Claim(knowledge=Knowledge(max_parents=(("v2", 1),))), CODES, (3, 3, 3, 3), ()),
        (Claim(knowledge=Knowledge(costs=(("v1", "v3", 1.0),))), CODES, (3, 3, 3, 3), ()),
        (Claim(), np.column_stack([CODES, CODES[:, 0], 1 + CODES[:, 2]]), (3, 3, 3, 3, 3, 4), ((0, 2, 4),)),
    ],
)
def test_what_can_be_exchanged(claim, codes, arities, copies):
    data = dataset_of(codes, arities)
    assert copies_in(data, claim) == copies
    demands = demands_of(data.names, None, claim.knowledge)
    source = Table(np.zeros((data.variables, 2**data.variables)))
    with Workers(1) as workers:
        found = of_verify.without_other_copies(source, data, claim, demands, workers)
    assert tuple(map(tuple, getattr(found, "copies", ()))) == copies


def test_a_check_that_looks_for_copies_hears_a_stop():
    data = dataset_of(CODES)
    demands = demands_of(data.names, None, NOTHING)
    with Workers(1, lambda: INTERRUPTED) as workers, pytest.raises(Stopped):
        of_verify.without_other_copies(Table(np.zeros((4, 16))), data, Claim(), demands, workers)
