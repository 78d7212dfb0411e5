"""Orders that arrive one by one: the best of them improved, rounds of kicks as they pay, the same on any threads."""

import naive
import numpy as np
import pytest
from lists import cost_along, cost_of_network, random_lists

from extbnsl.machine.workers import Workers
from extbnsl.orders import arriving
from extbnsl.orders.arriving import ArrivingOrders
from extbnsl.orders.population import NUMBER, by_descent, improve_network


def shuffled(seed, n, number):
    return [np.random.default_rng([seed, k]).permutation(n) for k in range(number)]


def taken(lists, orders, gained=0.0, threads=1, seed=0):
    """What there is after each of the orders."""
    with Workers(threads) as workers:
        arrived = ArrivingOrders(lists, seed)
        return [arrived.take(order, gained, workers) for order in orders]


@pytest.fixture
def kicks(monkeypatch):
    """How many kicks the rounds have; these find nothing."""
    made = []

    def note(number):
        made.append(number)
        return lambda *given: None

    monkeypatch.setattr(arriving, "shorter", note)
    return made


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_small_problems(seed):
    families, lists = random_lists(seed, 4 + seed)
    optimum = naive.optimal_cost_dp(4 + seed, naive.best_scores(naive.cost_table(4 + seed, families)))
    found = taken(lists, shuffled(seed, 4 + seed, 6))
    costs = [network.cost for network in found]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == pytest.approx(optimum, rel=1e-12)
    for network in found:
        assert network.cost == pytest.approx(cost_along(network.order, families), rel=1e-12)
        assert network.cost == pytest.approx(cost_of_network(network.parents, families), rel=1e-12)


def test_it_is_no_worse_than_a_descent_from_each_order(kicks):
    """The kicks find nothing: a later order that is better counts, one that is worse does not."""
    _, lists = random_lists(3, 30)
    orders, seen = shuffled(0, 30, 12), np.inf
    with Workers(1) as workers:
        alone = [improve_network(order.tolist(), lists, workers, by_descent).cost for order in orders]
    found = taken(lists, orders)
    assert len({round(cost, 6) for cost in alone}) > 2
    for cost, network in zip(alone, found, strict=True):
        seen = min(seen, cost)
        assert network.cost == pytest.approx(seen, rel=1e-12)


def test_threads_do_not_matter():
    _, lists = random_lists(5, 40)
    one, two = (taken(lists, shuffled(1, 40, 5), 0.1, threads) for threads in (1, 3))
    assert [n.order.tolist() for n in one] == [n.order.tolist() for n in two]
    assert [n.cost for n in one] == [n.cost for n in two]


def test_rounds_that_bring_nothing_become_rare_and_longer(kicks):
    _, lists = random_lists(3, 30)
    before = []
    with Workers(1) as workers:
        arrived = ArrivingOrders(lists, 0)
        for order in shuffled(0, 30, 128):
            arrived.take(order, 0.0, workers)
            before.append(len(kicks))
    followed = [k for k, (now, then) in enumerate(zip(before, [0, *before[:-1]], strict=True)) if now > then]
    assert followed == [0, 2, 6, 14, 30, 62, 126]
    assert kicks == [50, 75, 112, 168, 252, 378, NUMBER]


@pytest.mark.parametrize(("gained", "most"), [(1e9, 1), (0.0, 1 << 30)])
def test_a_round_that_gains_more_than_the_sender_has_another_one(gained, most, monkeypatch):
    made, real = [], arriving.search_lists
    monkeypatch.setattr(arriving, "search_lists", lambda *given, **how: made.append(1) or real(*given, **how))
    _, lists = random_lists(7, 60)
    first = taken(lists, shuffled(2, 60, 1), gained)[0].cost
    assert 1 <= len(made) <= most
    if gained == 0.0:
        assert len(made) > 2
        assert first < taken(lists, shuffled(2, 60, 1), 1e9)[0].cost


def test_a_stop_ends_it_with_what_there_is():
    _, lists = random_lists(7, 60)
    stops = iter([None] * 3)
    with Workers(1, stop=lambda: next(stops, "interrupted")) as workers:
        found = ArrivingOrders(lists, 0).take(np.arange(60), 0.0, workers)
    assert sorted(found.order.tolist()) == list(range(60))
