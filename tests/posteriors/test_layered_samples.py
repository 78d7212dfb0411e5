"""Samples of orders and networks, against the probabilities of all of them."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from cases import scores_of, shelf_of
from patching import sized
from summing import last, log_sum, sparse_scores

from extbnsl.core.events import ignore
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors.layered_samples import sample_in_layers
from extbnsl.posteriors.layers import Limits, sum_in_layers

LIMITS = Limits(1e-9, 1 << 20)


def sampled(scores, seed, numbers, threads=1, limits=LIMITS):
    with Workers(threads) as workers:
        means = Means(workers, shelf_of(), ignore)
        sums = last(sum_in_layers(scores, means, limits))
        return sample_in_layers(scores, sums, means, limits, seed, numbers)


def all_pairs(scores):
    """The probability of each order with each choice of families inside."""
    n, logs = scores.variables, {}
    for order in itertools.permutations(range(n)):
        before, choices = 0, [{}]
        for x in order:
            inside = [j for j, own in enumerate(scores.parents[x][:, 0].tolist()) if not own & ~before]
            choices = [{**rest, x: j} for rest in choices for j in inside]
            before |= 1 << x
        for rows in choices:
            logs[order, tuple(rows[x] for x in range(n))] = -sum(float(scores.costs[x][j]) for x, j in rows.items())
    total = log_sum(list(logs.values()))
    return {pair: math.exp(log - total) for pair, log in logs.items()}


def test_each_is_drawn_as_often_as_it_weighs():
    """Four variables, costs that differ by 1,000 nats as well: chi square below its 1e-4 quantile."""
    rng = np.random.default_rng(2)
    scores = scores_of(
        [[(v, float(rng.normal()) + 1000.0 * (v == 8)) for v in range(16) if not v >> x & 1] for x in range(4)]
    )
    exact, count = all_pairs(scores), 40_000
    orders, rows = sampled(scores, 5, range(count))
    found = Counter(zip(map(tuple, orders.tolist()), map(tuple, rows.tolist()), strict=True))
    assert set(found) <= set(exact)
    common = {pair: share for pair, share in exact.items() if count * share >= 10.0}
    rest, others = 1.0 - sum(common.values()), count - sum(found[pair] for pair in common)
    assert rest > 0.01
    terms = [(found[pair] - count * share) ** 2 / (count * share) for pair, share in common.items()]
    terms.append((others - count * rest) ** 2 / (count * rest))
    freedom = len(terms) - 1
    assert freedom > 100
    assert abs(sum(terms) - freedom) < 4.0 * math.sqrt(2.0 * freedom)


def test_samples_can_be_extended_and_threads_change_nothing():
    scores = sparse_scores(9)
    orders, rows = sampled(scores, 3, range(700), threads=3)
    for numbers in (range(0, 5), range(5, 700), range(400, 401)):
        some = sampled(scores, 3, numbers)
        assert np.array_equal(some[0], orders[numbers.start : numbers.stop])
        assert np.array_equal(some[1], rows[numbers.start : numbers.stop])
    assert not np.array_equal(sampled(scores, 4, range(700))[0], orders)


def test_samples_are_networks_along_their_orders():
    scores = sparse_scores(10, spread=30.0)
    limits = Limits(1e-3, 120)
    with sized(NODES_AT_FIRST=4):
        orders, rows = sampled(scores, 1, range(200), limits=limits)
    for order, own in zip(orders.tolist(), rows.tolist(), strict=True):
        assert sorted(order) == list(range(10))
        before = 0
        for x in order:
            assert not int(scores.parents[x][own[x], 0]) & ~before
            before |= 1 << x


def test_one_variable():
    orders, rows = sampled(scores_of([[(0, 3.5)]]), 1, range(3))
    assert orders.tolist() == rows.tolist() == [[0]] * 3


def test_a_stop_is_heard():
    scores = sparse_scores(8)
    with Workers(1) as workers:
        means = Means(workers, shelf_of(), ignore)
        sums = last(sum_in_layers(scores, means, LIMITS))
    with Workers(1, lambda: "time_limit") as workers, pytest.raises(Stopped):
        sample_in_layers(scores, sums, Means(workers, shelf_of(), ignore), LIMITS, 1, range(10))
