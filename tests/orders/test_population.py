"""The search over many orders: the optimum of small problems, the same on any threads, feasible, told to stop."""

import functools
import itertools
import operator
import threading
import time

import naive
import numpy as np
import pytest
from fake_hands import WAYS as WAYS_OF_HANDS
from fake_hands import hands_that_are
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lists import cost_along, cost_of_network, random_lists
from lists import given as as_given
from patching import sized
from portions import first

from extbnsl.core.errors import InputError
from extbnsl.lab.baselines.swaps import SEARCHES
from extbnsl.machine.workers import Workers
from extbnsl.orders.kicks import Kicks, improve_by_kicks
from extbnsl.orders.parent_lists import parent_lists
from extbnsl.orders.population import METHODS, improve_network, search_lists

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
GO_ON = np.zeros(1, np.uint8)
WAYS = METHODS | SEARCHES


def search(lists, threads=1, seed=0, stop=None, **how):
    told = []
    with Workers(threads, **({} if stop is None else {"stop": stop})) as workers:
        found = search_lists(lists, workers, seed, told.append, **how)
    assert told[-1] == pytest.approx(found.cost, rel=1e-12)
    assert all(later < earlier for earlier, later in itertools.pairwise(told))
    return found


def optimum(families):
    n = len(families)
    return naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))


def check(found, families):
    """What a search returns is one network, along its order, of its cost."""
    assert sorted(found.order.tolist()) == list(range(len(families)))
    assert found.cost == pytest.approx(cost_along(found.order, families), rel=1e-12)
    assert found.cost == pytest.approx(cost_of_network(found.parents, families), rel=1e-12)
    before = {int(x): set(found.order[:k].tolist()) for k, x in enumerate(found.order)}
    assert all(set(own) <= before[x] for x, own in enumerate(found.parents))


@pytest.mark.parametrize("method", WAYS)
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_of_small_problems(method, seed):
    families, lists = random_lists(seed, 3 + seed)
    found = search(lists, improve=WAYS[method], rounds=3)
    check(found, families)
    assert found.cost == pytest.approx(optimum(families), rel=1e-12)


@pytest.mark.parametrize("way", WAYS_OF_HANDS)
def test_hands_improve_as_many_orders_as_they_have_slots(way):
    """Until they are told to stop: then what has come is kept."""
    families, lists = random_lists(5, 8)
    rounds, hands = [], hands_that_are(way)

    def on_round(population):
        rounds.append(population)
        assert population.orders.shape == (max(8, hands._slots), 8)

    def stop():
        return "time_limit" if len(rounds) > 3 else None

    with sized(START_SECONDS=0.0, FAR_VARIABLES=1), Workers(2, stop, hands) as workers:
        found = search_lists(lists, workers, 0, lambda cost: None, on_round=on_round)
    check(found, families)
    assert found.cost == pytest.approx(optimum(families), rel=1e-12)
    assert bool(hands.bundles) == (way != "nobody")


def test_a_cost_of_large_ones_that_cancel_is_rounded_once():
    costs = [1e16, 1.0, -1e16, 1.0]
    nobody = np.zeros(0, np.int64)
    lists = parent_lists((np.array([cost]), np.zeros(1, np.int64), nobody) for cost in costs)
    assert search(lists, rounds=1).cost == 2.0 != functools.reduce(operator.add, costs)


@pytest.mark.parametrize("seed", range(3))
def test_patience_is_for_rounds_in_turn(seed, calls, sizes):
    """As if each round had been asked for: it ends when so many more would have found nothing."""
    rounds = calls("orders.population", "_improve")
    sizes({"population.NUMBER": 1})
    _, lists = random_lists(seed, 12)
    found = search(lists, patience=3)
    done = len(rounds)
    costs = [search(lists, rounds=k).cost for k in range(done + 1)]
    assert costs[-1] == found.cost == costs[done - 3]
    assert all(costs[k] < costs[k - 3] for k in range(3, done))


@pytest.mark.parametrize("seed", range(4))
def test_a_network_is_improved_from_its_order(seed):
    families, lists = random_lists(seed, 9)
    order = np.random.default_rng(seed).permutation(9).tolist()
    with Workers(1) as workers:
        found = improve_network(order, lists, workers)
    check(found, families)
    assert found.cost < cost_along(np.array(order), families)


@pytest.mark.parametrize("seed", range(6))
def test_children_that_need_a_parent(seed):
    families, lists = random_lists(seed, 7, needy=0.8)
    found = search(lists, rounds=3)
    check(found, families)
    assert found.cost == pytest.approx(optimum(families), rel=1e-12)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(1, 3), st.booleans())
def test_kicks_leave_an_order_of_the_cost_they_say(seed, n, widest, stopped):
    families, lists = random_lists(seed, n)
    rng = np.random.default_rng(seed)
    order = rng.permutation(n).astype(np.int32)
    elsewhere = np.stack([rng.permutation(n) for _ in range(2)]).astype(np.int32)
    kicks = Kicks(widest, flips=40, transplants=30, number=40, flipped=4, transplanted=6)
    before = cost_along(order, families)
    halt = np.full(1, stopped, np.uint8)
    cost = improve_by_kicks(order, np.array([seed + 1], np.uint64), kicks, elsewhere, halt, lists)
    assert sorted(order.tolist()) == list(range(n))
    assert cost == pytest.approx(cost_along(order, families), rel=1e-12)
    assert cost <= before + 1e-9


@pytest.mark.parametrize("method", first(2, [*WAYS]))
def test_repeats_exactly_on_any_number_of_threads(method):
    _, lists = random_lists(9, 8)
    first = search(lists, seed=4, improve=WAYS[method], rounds=2)
    for threads in (2, 5):
        again = search(lists, threads=threads, seed=4, improve=WAYS[method], rounds=2)
        assert again.cost == first.cost
        assert again.order.tolist() == first.order.tolist()
        assert again.parents == first.parents


@pytest.mark.parametrize("method", WAYS)
def test_a_population_goes_on_as_if_nothing_had_happened(method, sizes):
    sizes({"population.NUMBER": 2})
    _, lists = random_lists(4, 25)
    populations, again = [], []
    whole = search(lists, seed=6, improve=WAYS[method], rounds=4, on_round=populations.append)
    assert len(populations) == 5
    rest = search(lists, seed=populations[2], improve=WAYS[method], rounds=2, on_round=again.append)
    assert (rest.cost, rest.order.tolist()) == (whole.cost, whole.order.tolist())
    for one, other in zip(populations[2:], again, strict=True):
        assert one.orders.tolist() == other.orders.tolist()
        assert one.states.tolist() == other.states.tolist()
        assert one.best.cost == other.best.cost


def test_a_stop_tells_the_population_that_has_the_best():
    _, lists = random_lists(11, 10)
    asked, populations = itertools.count(), []
    stop = lambda: "interrupted" if next(asked) >= 3 else None  # noqa: E731
    found = search(lists, stop=stop, on_round=populations.append)
    assert populations[-1].best.cost == found.cost
    assert min(cost_along(order, random_lists(11, 10)[0]) for order in populations[-1].orders) <= found.cost + 1e-9


@pytest.mark.parametrize("polls", [0, 1, 5])
def test_a_stop_keeps_the_best(polls):
    families, lists = random_lists(11, 10)
    asked = itertools.count()
    found = search(lists, stop=lambda: "interrupted" if next(asked) >= polls else None)
    check(found, families)


def test_few_orders_of_many_variables_find_the_optimum_too(sizes):
    sizes(MANY_VARIABLES=5)
    families, lists = random_lists(6, 8, needy=0.5)
    found = search(lists, rounds=6)
    check(found, families)
    assert found.cost == pytest.approx(optimum(families), rel=1e-12)


def test_without_a_network_there_is_none():
    lists = parent_lists(as_given([[(0b10, 1.0)], [(0b01, 1.0)]]))
    with pytest.raises(InputError, match="No choice of families is acyclic"):
        search(lists, rounds=1)


@pytest.mark.parametrize("n", [1, 3])
def test_children_with_the_empty_set_alone(n):
    found = search(parent_lists(as_given([[(0, 2.5)]] * n)), rounds=2)
    assert found.cost == 2.5 * n
    assert found.parents == ((),) * n


def test_a_chain_of_more_variables_than_a_word_has_bits():
    """The first of a chain costs 2, who follows another 1: the optimum has no break."""
    n = 150
    wish = [[(0, 2.0), *[(1 << p, 1.0) for p in (x - 1, x + 1) if 0 <= p < n]] for x in range(n)]
    found = search(parent_lists(as_given(wish)), rounds=3)
    check(found, wish)
    assert found.cost == n + 1


def test_an_order_that_a_deaf_kernel_is_at_work_on_is_not_looked_at(sizes):
    """It may write anything, at any time."""
    over, begun = threading.Event(), threading.Event()
    sizes({"workers.GRACE_SECONDS": 0.2})

    def deaf(order, state, *given):
        order[:], state[:] = 0, 0
        begun.set()
        over.wait(60)
        order[:] = -1

    families, lists = random_lists(3, 6)
    known = []
    try:
        found = search(
            lists, 2, stop=lambda: "interrupted" if begun.is_set() else None, improve=deaf, on_round=known.append
        )
    finally:
        over.set()
    time.sleep(0.1)
    check(found, families)
    assert len(known) == 2
    for population_then in known:
        assert (np.sort(population_then.orders, axis=1) == np.arange(6)).all()
        assert population_then.states.all()
