"""What is known before the first level: floors, limits, single parents; and that a stop is heard meanwhile."""

import itertools
import math
import pickle
import time

import naive
import numpy as np
import pytest
from cases import EVERY_SCORE, claim_by, dataset_of, random_dataset, shelf_of
from data_invariants import check_table
from hypothesis import given, settings
from hypothesis import strategies as st
from patching import sized
from soundness import check_enumeration, check_problem

from extbnsl.core.claims import Claim
from extbnsl.core.events import ignore
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive import problem as problem_module
from extbnsl.parents.exhaustive.problem import varying
from extbnsl.parents.exhaustive.single_parents import MOST_PARENTS, with_single_parents
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.scores.known import score_of

LONGEST = 1.5  # CPU seconds between two looks at the stop signal


def counted(dataset, claim=Claim(), threads=1):
    """The problem of a data set with its floors, and the order of its variables."""
    order = varying(dataset)
    with Workers(threads) as workers:
        source = source_of(dataset, claim)
        return source.with_floors(source.problem(0.0), workers), order


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 60), st.integers(1, 4), st.integers(1, 50))
def test_floors_are_what_all_others_leave_unexplained(seed, n, records, threads, cells):
    dataset = random_dataset(np.random.default_rng(seed), n, records)
    if varying(dataset).size == 0:
        return
    with sized(CELLS_PER_TASK=cells):
        problem, order = counted(dataset, threads=threads)
    check_problem(problem)
    check_table(problem.table)
    misfits = naive.joint_misfits(dataset.codes)
    expected = [misfits[-1] - misfits[2**n - 1 ^ 1 << x] for x in order]
    np.testing.assert_allclose(problem.floors, expected, rtol=1e-9, atol=1e-6)
    assert (problem.floors <= np.array(expected) + 1e-9).all()
    assert (problem.floors >= 0.0).all()


def test_rows_whose_hashes_meet_are_compared(monkeypatch):
    """With hashes that do not tell rows apart the floors are the same."""
    dataset = random_dataset(np.random.default_rng(5), 5, 60)
    expected = counted(dataset)[0].floors
    assert expected.max() > 1.0

    def one_hash(rows):
        hashes = problem_module._row_hashes(rows)
        return hashes - hashes

    with Workers(1) as workers:
        source = source_of(dataset, Claim())
        problem = source.problem(0.0)
        rows = np.ascontiguousarray(problem.table.states.T)
        table = problem.table
        found = problem_module._unexplained(
            0, rows.shape[1], rows, table.weights, one_hash(rows), table.mlogm
        )  # fmt: skip
        assert found.sum() <= expected.sum() + 1e-6
        monkeypatch.setattr(problem_module, "_hash", lambda variable, state: np.uint64(0))
        assert source.with_floors(problem, workers).floors == pytest.approx(expected)


@pytest.mark.parametrize("score", EVERY_SCORE)
@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(2, 60), st.sampled_from([None, 0, 1, 3]))
def test_single_parents_are_the_cheapest(score, seed, n, records, limit):
    dataset = random_dataset(np.random.default_rng(seed), n, records)
    order = varying(dataset, score_of(claim_by(score)))
    if order.size == 0:
        return
    problem = source_of(dataset, claim_by(score, limit)).problem(0.0)
    with Workers(2) as workers:
        found = with_single_parents(problem, workers, shelf_of())
    assert found.singles
    assert found.stopped is None
    check_enumeration(found)
    for x, child in enumerate(order.tolist()):
        costs = {(): naive.family_cost(score, dataset.codes, dataset.arities, child, [])}
        others = [] if limit == 0 else [p for p in order.tolist() if p != child]
        costs |= {(p,): naive.family_cost(score, dataset.codes, dataset.arities, child, [p]) for p in others}
        better = sorted(cost for cost in costs.values() if cost <= costs[()] + 1e-9)[: MOST_PARENTS + 1]
        surely = (
            sum(cost < costs[()] - 1e-9 for cost in costs.values()) + 1
        )  # a parent that changes nothing may be there
        assert min(surely, MOST_PARENTS + 1) <= len(found.costs[x]) <= len(better)
        assert found.costs[x] == pytest.approx(better[: len(found.costs[x])], rel=1e-9, abs=1e-8)
        assert found.costs[x][0] == pytest.approx(better[0], rel=1e-9, abs=1e-8)
        for varset, cost in zip(found.parents[x][:, 0].tolist(), found.costs[x].tolist(), strict=True):
            own = tuple(order[p] for p in naive.members(varset))
            assert cost == pytest.approx(costs[own], rel=1e-9, abs=1e-8)


def gaps_between_polls(dataset, polls):
    """The longest time between two looks at a stop signal that comes after so many, and what is known then."""
    times = [time.process_time()]

    def stop():
        times.append(time.process_time())
        return "interrupted" if len(times) > polls else None

    with Workers(1, stop) as workers:
        survivors = surviving_families(dataset, Claim(), Means(workers, shelf_of(), ignore))
    times.append(time.process_time())
    return max(later - earlier for earlier, later in itertools.pairwise(times)), survivors


@pytest.mark.slow
@pytest.mark.parametrize(("records", "variables"), [(40_000, 40), (50, 1500), (10, 4000)])
@pytest.mark.parametrize("polls", [2, 12, 60])
def test_a_stop_is_heard_soon_and_leaves_a_network_and_a_bound(records, variables, polls):
    rng = np.random.default_rng(variables)
    column = rng.integers(0, 2, (records, 1))
    codes = column ^ (rng.random((records, variables)) < 0.3)
    gaps_between_polls(dataset_of(codes[:, :6]), 1000)  # compiles what is to be timed
    gap, survivors = gaps_between_polls(dataset_of(codes), polls)
    assert gap < LONGEST
    assert survivors.stopped == "interrupted"
    assert survivors.least.shape == (variables,)
    for least, costs in zip(survivors.least, survivors.scores.costs, strict=True):
        assert 0.0 <= least <= costs[0] + 1e-9
    assert survivors.least.sum() > 0.0


def test_what_is_known_when_counting_has_only_begun():
    """Of forty noisy copies of a coin each has a parent, and the bound is that of two."""
    rng = np.random.default_rng(1)
    column = rng.integers(0, 2, (500, 1))
    dataset = dataset_of(column ^ (rng.random((500, 40)) < 0.2))
    polls = [0]

    def stop():
        polls[0] += 1
        return "interrupted" if polls[0] > 45 else None

    with Workers(1, stop) as workers:
        survivors = surviving_families(dataset, Claim(), Means(workers, shelf_of(), ignore))
    assert survivors.stopped == "interrupted"
    assert all(parents[0].any() for parents in survivors.scores.parents)
    assert (survivors.least >= 4 * math.log(500) / 2 - 1e-6).all()


def test_a_problem_can_be_pickled():
    problem, _ = counted(random_dataset(np.random.default_rng(1), 5, 60))
    again = pickle.loads(pickle.dumps(problem))
    assert np.array_equal(again.table.states, problem.table.states)
    assert np.array_equal(again.floors, problem.floors)
