"""The integer program: the optimum by the root alone and by branching, bounds that trust no duals, budgets."""

import itertools

import numpy as np
import pytest
from asking import solve
from cases import random_families, scores_of, wishful
from finding import begun_along, cost_of, needy, optimum_of, outcome_of, scores_of_threes

from extbnsl.bounds.lp.program import Program
from extbnsl.core.claims import INTERRUPTED, MEMORY_LIMIT, OPTIMAL, tolerance
from extbnsl.core.events import IncumbentFound, StageAdvanced
from extbnsl.lab.baselines import integer
from extbnsl.lab.baselines.integer import find


def assert_optimal(outcome, scores, optimum):
    assert outcome.status == OPTIMAL
    assert cost_of(outcome, scores) == pytest.approx(optimum)
    assert outcome.lower_bound <= optimum + tolerance(optimum)


@pytest.fixture
def n():
    """How many variables the families have, unless a test says otherwise."""
    return 7


@pytest.fixture
def misled(until_it_ends, monkeypatch, sizes, n):
    """It begins with the network of the variables as they stand, and branches after a turn at the root."""
    until_it_ends(begun_along)(range(n))
    monkeypatch.setattr(integer.Search, "_search_left", lambda self: None)
    sizes({"WINDOW": 1, "polish.STALE": 1.0, "LESS": 0.0, "integer.FEW": 0.0})


@pytest.mark.parametrize("seed", range(40))
def test_the_optimum(seed):
    rng = np.random.default_rng(seed)
    families = needy(rng, random_families(rng, int(rng.integers(1, 9))))
    if np.isfinite(optimum_of(families)):
        assert_optimal(outcome_of(find, scores_of(families)), scores_of(families), optimum_of(families))


@pytest.mark.usefixtures("misled")
def test_the_optimum_by_branching():
    told = []
    for seed in range(6):
        scores = scores_of(wishful(seed))
        outcome = outcome_of(find, scores, observer=told.append)
        assert_optimal(outcome, scores, optimum_of(wishful(seed)))
        assert outcome.counts["nodes"] > 0
    assert sum(isinstance(event, IncumbentFound) for event in told) > 6
    assert any(isinstance(event, StageAdvanced) and "nodes" in event.unit for event in told)


@pytest.mark.slow
@pytest.mark.usefixtures("misled")
def test_bounds_are_true_wherever_it_stops(sizes):
    """On the way to the optimum too, of one of them at least: how far a turn gets depends on the machine."""
    sizes(PART_EFFORT=1)
    assert max(len(bounds_of_stops(seed)) for seed in range(4)) > 2


def bounds_of_stops(seed):
    """The bounds that it has, stopped later and later, until it is through."""
    scores, optimum, bounds = scores_of(wishful(seed)), optimum_of(wishful(seed)), set()
    for polls in (int(1.5**k) for k in itertools.count()):
        left = iter(range(polls))
        outcome = outcome_of(find, scores, lambda left=left: None if next(left, None) is not None else INTERRUPTED)
        assert outcome.lower_bound <= optimum + tolerance(optimum)
        bounds.add(outcome.lower_bound)
        if outcome.status == OPTIMAL:
            break
        assert outcome.status == INTERRUPTED
    return bounds


@pytest.mark.usefixtures("misled")
@pytest.mark.parametrize("n", [5])
@pytest.mark.parametrize("seed", range(8))
def test_wrong_duals_prove_nothing_wrong(seed, n, monkeypatch):
    """The duals of HiGHS are replaced by others."""
    rng, run = np.random.default_rng(seed), Program.run

    def wrong(self, *given):
        left = run(self, *given)
        self._weights = self._weights * rng.uniform(0.5, 3.0, self._weights.size)
        return left

    monkeypatch.setattr(Program, "run", wrong)
    families = wishful(seed, n)
    assert_optimal(outcome_of(find, scores_of(families)), scores_of(families), optimum_of(families))


@pytest.mark.usefixtures("misled")
def test_a_program_without_a_solution_is_branched_on(monkeypatch):
    """As if HiGHS had numerical trouble each time."""
    monkeypatch.setattr(Program, "run", lambda self, *given: 0)
    families = random_families(np.random.default_rng(1), 7)
    assert_optimal(outcome_of(find, scores_of(families)), scores_of(families), optimum_of(families))


@pytest.mark.usefixtures("misled")
def test_nodes_keep_to_their_memory():
    """There is no room for two of them."""
    scores, optimum = scores_of(wishful(1)), optimum_of(wishful(1))
    outcome = outcome_of(find, scores, memory=600)
    assert outcome.status == MEMORY_LIMIT
    assert outcome.lower_bound <= optimum <= cost_of(outcome, scores)
    assert outcome.counts["nodes"] > 0


def test_more_variables_than_a_word_has_bits():
    scores = scores_of_threes(24)
    outcome = outcome_of(find, scores)
    assert_optimal(outcome, scores, solve(scores).cost)
    assert outcome.counts["cuts"] > 0
