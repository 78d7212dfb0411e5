"""The search for a good order: true costs, true gains, the optimum on small problems, the same on any threads."""

import itertools
import math
import threading
import time

import naive
import numpy as np
import pytest
from calling import called
from cases import cost_of_order, random_families, scores_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extbnsl.machine.workers import Workers
from extbnsl.orders.local_search import (
    BRIEF,
    LONG,
    USUAL,
    _best_insertion,
    _insert,
    _score_places,
    improve_order,
    search_orders,
)
from extbnsl.parents.best_score import byte_tables, scratch
from extbnsl.parents.pruning import prune
from extbnsl.scores.local import feasible_order

_best_insertion, _insert, _score_places, scratch = map(called, (_best_insertion, _insert, _score_places, scratch))

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
GO_ON, STOP = np.zeros(1, np.uint8), np.ones(1, np.uint8)


def problem(seed, n):
    """Byte tables and BestScore as a table of random families."""
    families = random_families(np.random.default_rng(seed), n, most=30)
    scores = prune(scores_of(families))
    return byte_tables(scores.parents, scores.costs), naive.best_scores(naive.cost_table(n, families))


def search(tables, n, threads=1, seed=0, effort=USUAL, **signal):
    told = []
    with Workers(threads, **signal) as workers:
        found = search_orders(tables, n, workers, seed, effort, told.append)
    return found, told


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(0, 6))
def test_the_cost_is_that_of_the_order(seed, n, kicks):
    tables, best = problem(seed, n)
    rng = np.random.default_rng(seed)
    order = rng.permutation(n).astype(np.int64)
    before = cost_of_order(order, best)
    missing, cost = improve_order(order, np.array([seed + 1], dtype=np.uint64), kicks, GO_ON, tables)
    assert sorted(order.tolist()) == list(range(n))
    assert missing == 0
    assert cost == pytest.approx(cost_of_order(order, best), rel=1e-12)
    assert cost <= before


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 8))
def test_an_insertion_changes_the_cost_by_what_it_says(seed, n):
    tables, best = problem(seed, n)
    order = np.random.default_rng(seed).permutation(n).astype(np.int64)
    places, prefix = np.empty(n, np.int64), np.zeros((n + 1, tables.members.shape[1]), np.uint8)
    rows = scratch(tables)
    missing, total = _score_places(order, 0, n, places, prefix, tables, rows)
    assert missing == 0
    assert total == pytest.approx(cost_of_order(order, best), rel=1e-12)
    for source in range(n):
        target, fewer, change = _best_insertion(order, source, places, prefix, tables, rows)
        costs = []
        for other in range(n):
            moved = np.delete(order, source).tolist()
            moved.insert(other, int(order[source]))
            costs.append(cost_of_order(moved, best))
        assert fewer == 0
        assert change == pytest.approx(min(costs) - total, abs=1e-9)
        assert costs[target] == pytest.approx(min(costs), rel=1e-12)
        after = order.copy()
        _insert(after, source, target)
        assert cost_of_order(after, best) == pytest.approx(costs[target], rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_the_optimum_of_small_problems(seed):
    n = 2 + seed % 7
    tables, best = problem(seed, n)
    found, told = search(tables, n)
    assert found.cost == pytest.approx(naive.optimal_cost_dp(n, best), rel=1e-12)
    assert found.cost == pytest.approx(cost_of_order(found.order, best), rel=1e-12)
    assert told[-1] == found.cost
    assert all(later < earlier for earlier, later in itertools.pairwise(told))


@pytest.mark.slow
@pytest.mark.parametrize("effort", [BRIEF, USUAL, LONG])
def test_repeats_exactly_on_any_number_of_threads(effort):
    tables, _ = problem(9, 8)
    first, told = search(tables, 8, seed=4, effort=effort)
    for threads in (1, 2, 5):
        again, told_again = search(tables, 8, threads=threads, seed=4, effort=effort)
        assert again.cost == first.cost
        assert again.order.tolist() == first.order.tolist()
        assert told_again == told


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_a_stop_leaves_an_order_of_its_cost(rounds):
    tables, best = problem(11, 8)
    polls = itertools.count()
    found, _ = search(tables, 8, stop=lambda: "interrupted" if next(polls) >= rounds else None)
    assert sorted(found.order.tolist()) == list(range(8))
    assert found.cost == pytest.approx(cost_of_order(found.order, best), rel=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_children_that_need_a_parent(seed):
    """Where the empty set is not on offer the order must still be one that every child can live with."""
    n = 6
    rng = np.random.default_rng(seed)
    families = random_families(rng, n, most=12)
    for x in range(1, n):
        families[x] = [*[f for f in families[x] if f[0] > 1], (1, 25.0)]
    scores = prune(scores_of(families))
    best = naive.best_scores(naive.cost_table(n, families))
    feasible, left = feasible_order(scores.parents)
    assert not left
    tables = byte_tables(scores.parents, scores.costs)
    with Workers(1) as workers:
        found = search_orders(tables, n, workers, 0, USUAL, lambda cost: None, np.array(feasible))
    assert found.cost == pytest.approx(naive.optimal_cost_dp(n, best), rel=1e-9)
    assert math.isfinite(cost_of_order(found.order, best))


@SETTINGS
@given(st.integers(0, 2**32), st.floats(1.0, 1e12))
def test_an_order_that_lacks_parent_sets_says_how_many(seed, scale):
    """Fewer of them are better whatever the others cost."""
    order, best, tables = needing_parents(seed, scale)
    lacked = lacking(order, best)
    missing, cost = improve_order(order, np.array([seed + 1], dtype=np.uint64), 3, GO_ON, tables)
    assert missing == lacking(order, best) <= lacked
    if missing == 0:
        assert cost == pytest.approx(cost_of_order(order, best), rel=1e-12)


def test_an_order_that_nobody_has_time_to_improve_says_what_it_still_lacks():
    still = 0
    for seed in range(30):
        order, best, tables = needing_parents(seed, 1.0)
        lacked = lacking(order, best)
        missing, _ = improve_order(order, np.array([seed + 1], dtype=np.uint64), 3, STOP, tables)
        assert missing == lacking(order, best) <= lacked
        still += missing > 0
    assert still > 5


def needing_parents(seed, scale):
    """An order of six variables of which most have no empty parent set; their best scores; and tables of them."""
    rng, n = np.random.default_rng(seed), 6
    families = random_families(rng, n, most=8)
    for x in range(1, n):
        if rng.random() < 0.7:
            families[x] = [*[(p, c * scale) for p, c in families[x] if p > 1], (1, 30.0 * scale)]
    scores = prune(scores_of(families))
    tables = byte_tables(scores.parents, scores.costs)
    best = naive.best_scores(naive.cost_table(n, families))
    return rng.permutation(n).astype(np.int64), best, tables


def lacking(order, best):
    """The variables that have no parent set before them."""
    before, count = 0, 0
    for x in order.tolist():
        count += not math.isfinite(best[x][before])
        before |= 1 << x
    return count


def test_a_stop_leaves_time_for_a_good_order():
    """One descent from each of the first orders is not enough for these."""
    n, optimal = 9, 0
    for seed in range(10):
        tables, best = problem(seed, n)
        found, _ = search(tables, n, stop=lambda: "interrupted")
        optimal += found.cost <= naive.optimal_cost_dp(n, best) + 1e-9
    assert optimal >= 9


def test_an_order_that_a_deaf_kernel_is_at_work_on_is_not_looked_at(monkeypatch, sizes):
    """It may write anything, at any time."""
    over, begun = threading.Event(), threading.Event()
    sizes({"workers.GRACE_SECONDS": 0.2})
    main = threading.current_thread()

    def deaf(order, state, *given):
        if threading.current_thread() is main:
            return improve_order(order, state, *given)
        order[:], state[:] = -1, 0
        begun.set()
        over.wait(60)
        order[:] = -1

    monkeypatch.setattr("extbnsl.orders.local_search.improve_order", deaf)
    tables, best = problem(11, 8)
    try:
        found, _ = search(tables, 8, 2, stop=lambda: "interrupted" if begun.is_set() else None)
    finally:
        over.set()
    time.sleep(0.1)
    assert sorted(found.order.tolist()) == list(range(8))
    assert found.cost == pytest.approx(cost_of_order(found.order, best), rel=1e-12)


def test_what_follows_a_stop_takes_no_more_than_its_moment(monkeypatch, sizes):
    """Each round of these finds something better, and each takes as long as it may."""
    costs, halts = itertools.count(1000, -1), []

    def better(order, state, kicks, halt, tables):
        while not halt[0]:
            time.sleep(0.01)
        halts.append(time.monotonic())
        return 0, float(next(costs)) if len(halts) < 100 else 0.0

    monkeypatch.setattr("extbnsl.orders.local_search.improve_order", better)
    sizes(MOMENT=0.3)
    tables, _ = problem(11, 8)
    search(tables, 8, stop=lambda: "interrupted")
    assert 100 < len(halts) < 200
    assert halts[-1] - halts[0] < 30
