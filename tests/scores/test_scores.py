"""What a family costs by each score, and what its supersets cost at least, against the naive formulas."""

import math
from dataclasses import replace

import naive
import numpy as np
import pytest
from calling import called
from cases import EVERY_SCORE, claim_by, in_parts, random_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.core.claims import ALIASES
from extbnsl.core.data_options import NUMBERS, STATES
from extbnsl.core.errors import InputError
from extbnsl.scores import formula
from extbnsl.scores.cells import Cells
from extbnsl.scores.gaussian import GaussianBIC
from extbnsl.scores.known import CHOICES, NAMES, WITH_ESS, kind_of, score_named, score_of
from extbnsl.scores.penalty import added, family_penalty, grown, shrunk
from extbnsl.scores.rows import Rows, first_cost, log_rising
from extbnsl.scores.score import DEFAULT_ESS, penalty_of

added, family_penalty, grown, shrunk = map(called, (added, family_penalty, grown, shrunk))
first_of, least_of = map(called, (formula.first_of, formula.least_of))
PRIORS = [name for name in EVERY_SCORE if name.partition(":")[0] in ("bdeu", "bds", "k2")]


def cells_of(dataset, child, parents):
    """The counts of a family, by looking at one record after the other."""
    states = sorted({tuple(row) for row in dataset.codes[:, parents].tolist()})
    counts = np.zeros((len(states), int(dataset.arities[child])), np.int64)
    for row in dataset.codes.tolist():
        counts[states.index(tuple(row[p] for p in parents)), row[child]] += 1
    return Cells(counts, int(dataset.arities[child]), float(np.prod(dataset.arities[parents])))


def test_every_score_of_states_is_tested():
    states = {ALIASES.get(name, name) for name in NAMES if kind_of(name) == STATES}
    assert {name.partition(":")[0] for name in EVERY_SCORE} == states, "add it in tests/cases.py and tests/naive.py"


@pytest.mark.parametrize("name", EVERY_SCORE)
@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 40))
def test_costs_and_their_bounds(name, seed, n, records):
    dataset, score = random_dataset(np.random.default_rng(seed), n, records), score_of(claim_by(name))
    costs = naive.all_local_scores(dataset.codes, dataset.arities, score=name)
    misfits = naive.joint_misfits(dataset.codes)
    everyone = 2**n - 1
    for child in range(n):
        floor = misfits[everyone] - misfits[everyone ^ 1 << child]
        for varset in (v for v in range(2**n) if not v >> child & 1):
            cells = cells_of(dataset, child, naive.members(varset))
            cost = score.cost(cells)
            assert cells.records == records
            assert cost == pytest.approx(costs[child, varset], rel=1e-9, abs=1e-8)
            least = score.least(cells, floor)
            supersets = [v for v in range(2**n) if v & varset == varset and not v >> child & 1]
            assert least <= costs[child, supersets].min() + 1e-8


@pytest.mark.parametrize("name", [*PRIORS, "bdeu:1e4", "bds:1e-90"])
@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 40))
def test_costs_and_their_bounds_where_rows_are_parts_of_records(name, seed, n, records):
    rng = np.random.default_rng(seed)
    dataset, score = in_parts(rng, random_dataset(rng, n, records)), score_of(claim_by(name))
    weights, everyone = np.full(dataset.records, dataset.each), 2**n - 1
    misfits = naive.joint_misfits(dataset.codes) * dataset.each
    lightest = dataset.each * int(np.unique(dataset.codes, axis=0, return_counts=True)[1].min())
    for child in range(n):
        floor, arity = misfits[everyone] - misfits[everyone ^ 1 << child], int(dataset.arities[child])
        sets = [v for v in range(2**n) if not v >> child & 1]
        costs = {
            v: naive.family_cost(name, dataset.codes, dataset.arities, child, naive.members(v), weights) for v in sets
        }
        for varset in sets:
            cells = replace(cells_of(dataset, child, naive.members(varset)), weight=dataset.each)
            assert score.cost(cells) == pytest.approx(costs[varset], rel=1e-9, abs=1e-8)
            dearer = min(costs[v] for v in sets if v & varset == varset) + 1e-8
            assert score.least(cells, 0.0) <= score.least(cells, floor) <= dearer
            occurring, prior = int((cells.counts > 0).sum()), score.prior(cells)
            assert occurring * first_cost(lightest, prior, float(arity)) <= dearer
            form = score.formula(Rows(dataset.records, dataset.each, lightest), dataset.arities, n)
            figures, states = np.array([float(len(cells.counts)), 0.0]), cells.configurations
            assert least_of(figures, occurring, states, child, 0.0, form) <= dearer
            joint = figures[0] if form.kind == formula.OCCURRING else states
            by_kernel = first_of(joint, form.classes[child], form)
            assert by_kernel <= first_cost(lightest, prior, float(arity)) * (1.0 + 1e-12)
            assert by_kernel >= first_cost(lightest, 2.0 * prior, float(arity)) * (1.0 - 1e-12)


def test_what_grows_is_a_sum_of_logarithms():
    for prior in (1e-90, 0.3, 12.0, 63.9, 64.1, 1e3, 1e6):
        for weight in (1, 2, 7, 300):
            logs = math.fsum(math.log(prior + i) for i in range(weight))
            assert log_rising(prior, float(weight)) == pytest.approx(logs, rel=1e-13, abs=1e-13)
    assert log_rising(64.0 - 1e-9, 0.37) == pytest.approx(log_rising(64.0 + 1e-9, 0.37), abs=1e-9)


@pytest.mark.parametrize("arity", [2.0, 3.0, 9.0])
def test_first_records_are_dearer_the_more_there_are_and_the_smaller_the_prior(arity):
    priors, weights = np.geomspace(1e6, 1e-90, 300), np.geomspace(1e-6, 1.0, 100)
    firsts = np.array([[first_cost(weight, prior, arity) for weight in weights] for prior in priors])
    assert (np.diff(firsts, axis=0) >= -1e-13).all()
    assert (np.diff(firsts, axis=1) >= -1e-13).all()
    assert firsts[:, -1] == pytest.approx(math.log(arity), abs=1e-13)
    assert first_cost(0.5, 0.0, arity) == math.log(arity)


def test_the_kernels_have_the_same_penalty():
    for parameter, arity, states, more in ((3.4, 2, 8.0, 3), (1.0, 5, 1.0, 2)):
        penalty = penalty_of(parameter, arity, states)
        assert family_penalty(parameter, arity, states) == penalty
        larger = penalty_of(parameter, arity, states * more)
        assert grown(penalty, more) == pytest.approx(larger)
        assert shrunk(larger, more) == pytest.approx(penalty)
        assert added(penalty, more) == pytest.approx(larger - penalty)


def test_each_word_leads_to_its_score():
    for word in NAMES:
        score = score_named(word)
        assert score.name == ALIASES.get(word, word)
        assert score.ess == (DEFAULT_ESS if word in WITH_ESS else None)
        assert isinstance(score, GaussianBIC) == (kind_of(word) == NUMBERS)
    assert set(ALIASES) <= set(NAMES)
    assert f"minus {score_named('mdl').maximised})" in CHOICES


def test_an_unknown_score_is_refused():
    with pytest.raises(InputError, match=f"^score: 'bge' is not known; use one of {', '.join(NAMES)} "):
        score_named("bge")


@pytest.mark.parametrize("ess", [0, -1.0, 5e-324, float("nan"), float("inf"), "1", True, 1e7])
def test_an_equivalent_sample_size_is_a_number_above_zero(ess):
    with pytest.raises(InputError, match=r"^ess: .* is no equivalent sample size; give a number from 1e-100"):
        score_named("bdeu", ess)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITH_ESS])
def test_scores_without_a_prior_take_no_sample_size(name):
    with pytest.raises(InputError, match=r"has no equivalent sample size; leave it out, or use bdeu or bds\.$"):
        score_named(name, 1.0)
