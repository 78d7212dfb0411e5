"""Sums over all orders, against sums over each of them, and samples of orders."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from cases import scores_of, shelf_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patching import sized
from summing import by_orders, by_varsets, random_scores

from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.events import ignore
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors.order_samples import sample_orders
from extbnsl.posteriors.orders import bytes_needed, seconds_needed, sum_over_orders
from extbnsl.scores.local import local_scores

SETTINGS = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
SCALES = (0.1, 1.0, 30.0, 700.0, 1e5)
SMALL = {"BLOCK_POSITIONS": 4, "SLAB_POSITIONS": 5, "SLABS": 64}
WIDE = {"PLAIN_NATS": -1.0}


def states_of(scores, threads=1, begun=None, shelf=None):
    with Workers(threads) as workers:
        yield from sum_over_orders(scores, Means(workers, shelf or shelf_of(), ignore), begun)


def sums_of(scores, threads=1, shelf=None):
    *_, sums = states_of(scores, threads, shelf=shelf)
    return sums


def samples_of(scores, sums, seed, first, count, threads=1):
    with Workers(threads) as workers:
        return sample_orders(scores, sums, Means(workers, shelf_of(), ignore), seed, first, count)


def in_decimals(scores):
    """The probabilities of the families, with 60 digits."""
    n = scores.variables
    with localcontext(prec=60, Emin=-(10**9), Emax=10**9):
        weights = [
            {int(v[0]): (-Decimal(float(c))).exp() for v, c in zip(own, costs, strict=True)}
            for own, costs in zip(scores.parents, scores.costs, strict=True)
        ]
        alphas = [
            [sum((w for v, w in own.items() if not v & ~u), Decimal(0)) for u in range(1 << n)] for own in weights
        ]
        g, h = [Decimal(0)] * (1 << n), [Decimal(0)] * (1 << n)
        g[0] = h[-1] = Decimal(1)
        for u in range(1 << n):
            for x in range(n):
                if u >> x & 1:
                    g[u] += g[u ^ 1 << x] * alphas[x][u ^ 1 << x]
        for u in range((1 << n) - 2, -1, -1):
            h[u] = sum((alphas[x][u] * h[u | 1 << x] for x in range(n) if not u >> x & 1), Decimal(0))
        return [
            [
                own[int(v[0])]
                * sum(
                    (g[u] * h[u | 1 << x] for u in range(1 << n) if not u >> x & 1 and not int(v[0]) & ~u), Decimal(0)
                )
                / g[-1]
                for v in scores.parents[x]
            ]
            for x, own in enumerate(weights)
        ]


def assert_is(found, log_weight, families):
    assert found.log_weight == pytest.approx(log_weight, rel=1e-14, abs=1e-9)
    for own, expected in zip(found.families, families, strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-9)


def assert_same(one, other):
    """To the last bit."""
    assert (one.done, one.weight, one.log_factor) == (other.done, other.weight, other.log_factor)
    for a, b in zip((*one.families, *sum(one.slabs, ())), (*other.families, *sum(other.slabs, ())), strict=True):
        np.testing.assert_array_equal(a, b)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from(SCALES))
def test_weight_and_families_are_those_of_all_orders(seed, n, scale):
    scores = random_scores(np.random.default_rng(seed), n, scale)
    assert_is(sums_of(scores), *by_orders(scores))


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(1, 4), st.sampled_from(SCALES))
def test_who_is_alone_comes_anywhere(seed, n, alone, scale):
    scores = random_scores(np.random.default_rng(seed), n, scale, alone=min(alone, n))
    assert_is(sums_of(scores), *by_orders(scores))


@SETTINGS
@given(st.integers(0, 2**32), st.integers(6, 9), st.sampled_from(SCALES), st.sampled_from([{}, WIDE]))
def test_blocks_and_slabs_are_put_together(seed, n, scale, numbers):
    scores = random_scores(np.random.default_rng(seed), n, scale)
    with sized(SMALL, **numbers):
        found = sums_of(scores)
    assert len(found.slabs) == 1 << n - 5
    assert_is(found, *by_varsets(scores))
    assert_is(sums_of(scores), found.log_weight, found.families)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from(SCALES), st.sampled_from([{}, WIDE]))
def test_rounding_changes_no_more_than_is_told(seed, n, scale, numbers):
    """Against sums of fractions with 60 digits more."""
    scores = random_scores(np.random.default_rng(seed), n, scale)
    with sized(SMALL, **numbers):
        found = sums_of(scores)
    assert 0.0 < found.error < 1e-8
    for own, expected in zip(found.families, in_decimals(scores), strict=True):
        for one, other in zip(own.tolist(), expected, strict=True):
            assert abs(Decimal(one) - other) <= Decimal(found.error) * other + Decimal("1e-28")


def test_families_of_a_child_have_probability_one():
    scores = random_scores(np.random.default_rng(1), 11, 10.0)
    with sized(SMALL):
        found = sums_of(scores)
    assert max(abs(own.sum() - 1.0) for own in found.families) < 1e-12


def test_costs_of_a_child_may_differ_by_anything():
    """A child whose best parents cost 10^5 nats less than none, which one of two has to do without."""
    scores = scores_of([[(0, 1e5), (2, 0.0)], [(0, 1e5), (1, 1.0)], [(0, 0.0)]])
    found = sums_of(scores)
    share = 1.0 / (1.0 + math.exp(-1.0))
    assert found.log_weight == pytest.approx(-1e5 + math.log(3.0) + math.log1p(math.exp(-1.0)), rel=1e-14)
    np.testing.assert_allclose(found.families[0], [share, 1.0 - share])
    np.testing.assert_allclose(found.families[1], [1.0 - share, share])


@pytest.mark.parametrize("apart", [1000.0, 1040.0, 1045.0, 1051.0, 1060.0, 1100.0])
def test_weights_are_as_far_apart_as_plain_numbers_go_and_farther(apart):
    rng = np.random.default_rng(int(apart))
    table = apart * (rng.random((7, 128)) < 0.3)
    scores = scores_of([[(v, float(own[v])) for v in range(128) if not v >> x & 1] for x, own in enumerate(table)])
    assert_is(sums_of(scores), *by_varsets(scores))


def test_costs_that_differ_by_more_than_numbers_hold_are_refused():
    almost = [[(0, 0.0), (2, 9e8)], [(0, 0.0), (1, -9e8)]]
    assert sums_of(scores_of(almost)).log_weight == pytest.approx(9e8)
    with pytest.raises(InputError, match="families of 'v1' differ by more than 1,000,000,000 nats"):
        sums_of(scores_of([almost[0], [(0, 0.0), (1, -2e9)]]))


def test_variables_without_any_arc_take_no_room():
    """However many: varsets of 70 take two words. The first may be a parent of the last, if it comes before."""
    families = [(np.zeros((1, 2), np.uint64), np.array([float(x)])) for x in range(69)]
    families.append((np.array([[0, 0], [1, 0]], np.uint64), np.array([69.0, 68.0])))
    scores = local_scores([f"v{x}" for x in range(70)], families, "file")
    found = sums_of(scores)
    assert sum(numbers.size for numbers, _ in found.slabs) == 16
    weight = 1.0 + 0.5 * math.e
    assert found.log_weight == pytest.approx(math.lgamma(71) - sum(range(70)) + math.log(weight))
    np.testing.assert_allclose(found.families[69], [0.5 * math.e / weight, 1.0 / weight])
    assert all(own.tolist() == pytest.approx([1.0]) for own in found.families[:69])
    orders, rows = samples_of(scores, found, 1, 0, 2000)
    assert (np.sort(orders, axis=1) == np.arange(70)).all()
    places = np.argsort(orders, axis=1)
    assert (places[:, 0] < places[:, 69])[rows[:, 69] == 0].all()
    assert abs(places.mean(axis=0)[1:69] - 34.5).max() < 4.5 * 70 / math.sqrt(12 * 2000)


def test_seconds_grow_as_the_work_does():
    assert 3.0 < seconds_needed(30, 0) / seconds_needed(28, 0) < 5.0
    assert seconds_needed(25, 1_386_375) - seconds_needed(25, 0) == pytest.approx(2e-9 * 1_386_375 * 1024)


@pytest.mark.parametrize("numbers", [{}, WIDE])
def test_each_state_can_be_gone_on_from_and_threads_change_nothing(numbers):
    scores = random_scores(np.random.default_rng(3), 8, 5.0)
    with sized(SMALL, **numbers):
        states = list(states_of(scores))
        assert [state.done for state in states] == list(range(1, 17))
        for state in states:
            for further in states_of(scores, 2, state):
                assert_same(further, states[further.done - 1])
        assert further.done == 16


@pytest.mark.parametrize("states", [1, 5, 8, 12])
def test_a_stop_ends_it_and_the_last_state_is_as_good_as_before(states):
    scores, told = random_scores(np.random.default_rng(4), 8, 5.0), []
    with sized(SMALL):
        whole = sums_of(scores)
        with Workers(1, lambda: "limit" if len(told) == states else None) as workers:
            sums = sum_over_orders(scores, Means(workers, shelf_of(), ignore))
            told.extend(itertools.islice(sums, states - 1))
            told.append(next(sums))
            with pytest.raises(Stopped):
                next(sums)
        *_, last = states_of(scores, begun=told[-1])
    assert_same(last, whole)


def test_numbers_lie_on_disk_where_memory_has_no_room(tmp_path):
    scores = random_scores(np.random.default_rng(5), 8, 5.0)
    with sized(SMALL):
        shelf = shelf_of(1000, tmp_path)
        assert_same(sums_of(scores, shelf=shelf), sums_of(scores))


def test_too_little_room_is_told_before_anything_is_done():
    scores = random_scores(np.random.default_rng(6), 8, 5.0)
    assert bytes_needed(8) == 12 * (256 + 256)
    sums_of(scores, shelf=shelf_of(bytes_needed(8)))
    with pytest.raises(BudgetError, match=r"8 variables take 6\.0KiB of memory or disk"):
        sums_of(scores, shelf=shelf_of(bytes_needed(8) - 1))


def test_more_variables_than_any_machine_has_room_for_are_refused():
    ring = [[(0, 0.0), (1 << (x + 1) % 60, 0.0)] for x in range(60)]
    with pytest.raises(BudgetError, match="60 variables"):
        sums_of(scores_of(ring), shelf=shelf_of(1 << 80))


def chi_square(counts, expected):
    """How far counts are off, in standard deviations of the statistic."""
    return (np.sum((counts - expected) ** 2 / expected) - (counts.size - 1)) / math.sqrt(2.0 * (counts.size - 1))


@pytest.mark.parametrize("numbers", [{}, WIDE])
def test_samples_are_drawn_as_often_as_they_weigh(numbers):
    """Orders with their networks, of three variables and one that is alone."""
    scores, many = random_scores(np.random.default_rng(8), 4, 1.0, missing=0.0, alone=1), 40_000
    weights = {}
    for order in itertools.permutations(range(4)):
        inside, before = [[] for _ in range(4)], 0
        for x in order:
            inside[x] = [f for f, v in enumerate(scores.parents[x][:, 0].tolist()) if not v & ~before]
            before |= 1 << x
        for rows in itertools.product(*inside):
            weights[order, rows] = math.exp(-sum(scores.costs[x][f] for x, f in enumerate(rows)))
    with sized(numbers):
        sums = sums_of(scores)
        orders, rows = samples_of(scores, sums, 7, 0, many)
    assert (orders.dtype, rows.dtype, orders.shape, rows.shape) == (np.int32, np.int32, (many, 4), (many, 4))
    drawn = list(zip(map(tuple, orders.tolist()), map(tuple, rows.tolist()), strict=True))
    assert set(drawn) <= set(weights)
    counts, total = dict.fromkeys(weights, 0), math.fsum(weights.values())
    for one in drawn:
        counts[one] += 1
    expected = {one: many * weight / total for one, weight in weights.items()}
    frequent = [one for one in weights if expected[one] >= 5.0]
    assert len(frequent) > 100
    rare = [one for one in weights if expected[one] < 5.0]
    found = [counts[one] for one in frequent] + ([sum(counts[one] for one in rare)] if rare else [])
    awaited = [expected[one] for one in frequent] + ([math.fsum(expected[one] for one in rare)] if rare else [])
    assert abs(chi_square(np.array(found), np.array(awaited))) < 4.0


def test_samples_are_the_same_whatever_else_is_drawn_and_by_any_threads():
    scores = random_scores(np.random.default_rng(9), 8, 2.0, alone=1)
    with sized(SMALL):
        sums = sums_of(scores)
        orders, rows = samples_of(scores, sums, 1, 0, 300)
        more_orders, more_rows = samples_of(scores, sums, 1, 200, 150, threads=2)
        others, _ = samples_of(scores, sums, 2, 0, 300)
    np.testing.assert_array_equal(more_orders[:100], orders[200:])
    np.testing.assert_array_equal(more_rows[:100], rows[200:])
    assert not np.array_equal(orders, others)
    assert len({tuple(own) for own in orders.tolist()}) > 250


@pytest.mark.parametrize("scale", [3.0, 700.0, 1e5])
def test_sampled_families_are_those_that_the_order_allows_as_often_as_their_probabilities(scale):
    scores, many = random_scores(np.random.default_rng(10), 7, scale), 5000
    with sized(SMALL):
        sums = sums_of(scores)
        orders, rows = samples_of(scores, sums, 1, 0, many)
    places = np.argsort(orders, axis=1)
    for x in range(7):
        parents = scores.parents[x][rows[:, x], 0]
        for p in range(7):
            assert (places[:, p] < places[:, x])[parents >> np.uint64(p) & np.uint64(1) == 1].all()
        shares = np.bincount(rows[:, x], minlength=sums.families[x].size) / many
        spread = np.sqrt(sums.families[x] / many) + 1e-3
        assert (np.abs(shares - sums.families[x]) < 5.0 * spread).all()


def test_no_samples_are_none():
    scores = random_scores(np.random.default_rng(11), 3, 2.0)
    orders, rows = samples_of(scores, sums_of(scores), 1, 5, 0)
    assert orders.shape == rows.shape == (0, 3)
