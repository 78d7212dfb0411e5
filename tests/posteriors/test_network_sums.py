"""Sums over all networks, against sums over each of them."""

import contextlib
import itertools
import math
from collections import Counter
from fractions import Fraction

import naive
import numpy as np
import pytest
from cases import scores_of, shelf_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from summing import random_scores, summed

from extbnsl.core.claims import INTERRUPTED
from extbnsl.core.codec import decode, encode
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.events import ignore
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors import layer_draws
from extbnsl.posteriors.network_samples import draw_networks
from extbnsl.posteriors.networks import NetworkSums, log_weight, parts_of, sum_over_networks

SETTINGS = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))


def states_of(scores, threads=1, begun=None):
    with Workers(threads) as workers:
        yield from sum_over_networks(scores, Means(workers, shelf_of(), ignore), begun)


def sums_of(scores, threads=1):
    return list(states_of(scores, threads))[-1]


WAYS = (  # how the work is divided: not at all, and in ever smaller parts; and without lanes
    {},
    {"networks.LARGE": 4},
    {"networks.LARGE": 3, "networks.MOST_KEYS": 1, "networks.TOGETHER": 1, "networks.ROWS": 1},
    {"networks.MOST_RANGE": -1.0, "networks.LARGE": 6, "networks.MOST_TOPS": 1},
)


@contextlib.contextmanager
def divided(way):
    """The program while it divides the work in another way."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in way.items():
            patch.setattr(f"extbnsl.posteriors.{name}", value)
        yield


@SETTINGS
@given(
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.sampled_from([0.1, 1.0, 30.0, 90.0, 130.0, 250.0, 700.0, 1e5]),
    st.sampled_from(WAYS),
)
def test_weight_and_families_are_those_of_all_networks(seed, n, scale, way):
    scores = random_scores(np.random.default_rng(seed), n, scale)
    log_weight, families, _ = summed(scores, "uniform")
    with divided(way):
        found = sums_of(scores)
    assert found.log_weight == pytest.approx(log_weight, rel=1e-14, abs=1e-9)
    for own, expected in zip(found.families, families, strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-9)
        assert own.sum() == pytest.approx(1.0, abs=1e-12)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(3, 5), st.floats(200.0, 263.0))
def test_numbers_of_a_row_that_are_as_far_apart_as_they_may_be(seed, n, far):
    """Families cost nothing or so much, the empty sets always; three variables share what doubles have room for."""
    rng = np.random.default_rng(seed)
    scores = scores_of(
        [
            [(0, far), *((v, far * int(rng.integers(0, 2))) for v in range(1, 1 << n) if not v >> x & 1)]
            for x in range(n)
        ]
    )
    log_weight, families, _ = summed(scores, "uniform")
    found = sums_of(scores)
    assert len(parts_of(scores)) == 1
    assert parts_of(scores)[0].size == n, "there is no company"
    assert found.log_weight == pytest.approx(log_weight, rel=1e-14, abs=1e-9)
    for own, expected in zip(found.families, families, strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-9)


def mixed_scores(seed, n, families, scale):
    """Some families of each of many variables, that may lie on cycles all together or not."""
    rng, found = np.random.default_rng(seed), []
    for x in range(n):
        varsets = {0} | {
            int(v) & ~(1 << x) for v in rng.integers(0, 1 << n, families) & rng.integers(0, 1 << n, families)
        }
        found.append(
            [(v, float(cost)) for v, cost in zip(sorted(varsets), rng.normal(size=len(varsets)) * scale, strict=True)]
        )
    return scores_of(found)


@pytest.mark.parametrize("scale", [3.0, 60.0])
def test_the_weight_of_more_variables_by_the_sets_of_sinks(scale):
    """In exact arithmetic, from the empty set up: what shares nothing with the sums but the idea."""
    scores = mixed_scores(1, 9, 40, scale)
    n, weights = 9, [Fraction(1)] + [Fraction(0)] * 511
    alphas = [[Fraction(0)] * 512 for _ in range(n)]
    least = [float(own[0]) for own in scores.costs]
    for x in range(n):
        for (v,), cost in zip(scores.parents[x].tolist(), scores.costs[x].tolist(), strict=True):
            for u in (u for u in range(512) if u & v == v):
                alphas[x][u] += Fraction(math.exp(least[x] - cost))
    for u in range(1, 512):
        for s in (s for s in range(1, 512) if s & u == s):
            product = math.prod((alphas[x][u ^ s] for x in naive.members(s)), start=weights[u ^ s])
            weights[u] += product if s.bit_count() % 2 else -product
    expected = math.log(weights[-1].numerator) - math.log(weights[-1].denominator) - math.fsum(least)
    for way in WAYS:
        with divided(way):
            found = sums_of(scores)
        off = abs(math.expm1(found.log_weight - expected))
        assert off <= found.error + 4.0 * math.ulp(expected)
        assert found.error < 1e-9


def bits_of(state):
    """All that a state holds, to the last bit."""
    return encode(state, {np.ndarray: lambda array: array.tobytes().hex()})


def restored(state):
    """The state again, of copies, as files would have it."""
    arrays = []
    told = encode(state, {np.ndarray: lambda array: arrays.append(array.copy()) or len(arrays) - 1})
    return decode(NetworkSums, told, {np.ndarray: arrays.__getitem__})


@pytest.mark.parametrize("way", WAYS)
def test_threads_change_nothing(way):
    scores = mixed_scores(2, 9, 60, 5.0)
    with divided(way):
        one, two = sums_of(scores), sums_of(scores, threads=2)
    assert bits_of(one) == bits_of(two)


@pytest.mark.parametrize("n", [1, 3, 8])
def test_it_goes_on_from_each_state_as_if_nothing_had_been(n):
    """From what a file would hold of it, with what is not known yet lost."""
    scores = random_scores(np.random.default_rng(n), n, 2.0, 0.9)
    with divided({"networks.LARGE": 3, "networks.MOST_TOPS": 2}):
        states = list(states_of(scores))
        expected, ends = bits_of(states[-1]), [bits_of(state) for state in states if state.done == len(state.errors)]
        assert len(states) >= 2
        assert [state.answers for state in states] == [False] * (len(states) - 1) + [True]
        for state in states_of(scores):
            again = restored(state)
            going_on = list(states_of(scores, begun=again))
            assert bits_of(going_on[-1] if going_on else again) == expected
    assert ends[-1] == expected


def test_a_stop_leaves_the_last_state_as_it_was():
    """Wherever the threads are stopped."""
    scores = mixed_scores(4, 8, 30, 2.0)
    with divided({"networks.LARGE": 3, "networks.MOST_TOPS": 2}):
        expected = bits_of(sums_of(scores))
        for polls in range(1, 200, 7):
            left, last = itertools.count(polls, -1), None

            def stop(left=left):
                return INTERRUPTED if next(left) <= 0 else None

            with contextlib.suppress(Stopped), Workers(1, stop) as workers:
                for state in sum_over_networks(scores, Means(workers, shelf_of(), ignore)):
                    last, held = state, bits_of(state)
            if last is None:
                continue
            assert (held["done"], held["blocks"]) == (last.done, last.blocks)
            again = list(states_of(scores, begun=last))
            assert bits_of(again[-1] if again else last) == expected


def test_what_cannot_lie_on_a_cycle_costs_nothing():
    """Thirty-nine variables in a row, each of which may have the two before it as parents."""
    rng = np.random.default_rng(5)
    families = []
    for x in range(39):
        before = [1 << y for y in range(max(0, x - 2), x)]
        varsets = [0, *before, *([sum(before)] if len(before) == 2 else [])]
        families.append([(v, float(rng.normal())) for v in varsets])
    scores = scores_of(families)
    found = sums_of(scores)
    expected = sum(np.logaddexp.reduce(-own) for own in scores.costs)
    assert found.log_weight == pytest.approx(expected, abs=1e-12)
    for own, costs in zip(found.families, scores.costs, strict=True):
        np.testing.assert_allclose(own, np.exp(-costs) / np.exp(-costs).sum(), rtol=1e-12)


def test_too_many_variables_and_too_little_memory_are_refused():
    ring = scores_of([[(0, 0.0), (1 << (x + 1) % 30, 1.0)] for x in range(30)])
    with pytest.raises(InputError, match="30 variables may lie on cycles together"):
        sums_of(ring)
    scores, small = mixed_scores(1, 9, 40, 1.0), shelf_of(10_000)
    with pytest.raises(BudgetError, match="give more memory"), Workers(1) as workers:
        list(sum_over_networks(scores, Means(workers, small, ignore)))


def test_who_watches_hears_how_far_it_is():
    events = []
    scores = mixed_scores(6, 7, 30, 2.0)
    with Workers(1) as workers, divided(WAYS[1]):
        states = list(sum_over_networks(scores, Means(workers, shelf_of(), events.append)))
    done = [event.done for event in events]
    assert len(events) == len(states) == 16
    assert done == sorted(set(done))
    assert done[-1] == events[0].total


@pytest.mark.parametrize(("scale", "way"), [(1.0, WAYS[0]), (2.0, WAYS[2]), (3.0, WAYS[3])])
def test_networks_are_drawn_by_their_weight(scale, way):
    """Of four variables: how often each of the 543 networks is drawn, by chi square, rare ones as one."""
    scores = random_scores(np.random.default_rng(7), 4, scale, 0.2)
    draws = 20_000
    with divided(way), Workers(1) as workers:
        rows = draw_networks(scores, sums_of(scores), workers, 1, range(draws))
    log_weight, *_ = summed(scores, "uniform")
    found = Counter(map(tuple, rows.tolist()))
    expected, seen = [], []
    for row in itertools.product(*(range(own.size) for own in scores.costs)):
        parents = tuple(int(scores.parents[x][f, 0]) for x, f in enumerate(row))
        if naive.is_acyclic(parents):
            cost = sum(float(scores.costs[x][f]) for x, f in enumerate(row))
            expected.append(draws * math.exp(-cost - log_weight))
            seen.append(found.pop(row, 0))
    assert not found, "these have cycles"
    expected, seen = np.array(expected), np.array(seen)
    often = expected > 10.0
    expected, seen = (np.append(own[often], own[~often].sum()) for own in (expected, seen))
    statistic = float(((seen - expected) ** 2 / expected).sum())
    freedom = expected.size - 1
    assert freedom > 3
    assert abs(statistic - freedom) < 4.0 * math.sqrt(2.0 * freedom)


def test_draws_depend_on_the_seed_and_their_number_alone():
    scores = mixed_scores(8, 9, 50, 1.0)
    sums = sums_of(scores)
    with Workers(1) as one, Workers(2) as two:
        rows = draw_networks(scores, sums, one, 3, range(200))
        assert (rows == draw_networks(scores, sums, two, 3, range(200))).all()
        assert (rows[50:60] == draw_networks(scores, sums, one, 3, range(50, 60))).all()
        assert (rows != draw_networks(scores, sums, one, 4, range(200))).any()
    for row in rows.tolist():
        assert naive.is_acyclic([int(scores.parents[x][f, 0]) for x, f in enumerate(row)])
    assert draw_networks(scores, sums, one, 3, range(0)).shape == (0, 9)


def assert_drawn(scores, draws, seed):
    """The families are drawn as often as they are probable."""
    sums = sums_of(scores)
    with Workers(1) as workers:
        rows = draw_networks(scores, sums, workers, seed, range(draws))
    for x, own in enumerate(sums.families):
        counts = np.bincount(rows[:, x], minlength=own.size)
        spread = np.sqrt(draws * own * (1.0 - own).clip(0.0))
        assert (np.abs(counts - draws * own) <= 6.0 * spread + 3.0).all()


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([1.0, 30.0, 1e5]))
def test_draws_have_families_as_often_as_they_are_probable(seed, n, scale):
    assert_drawn(random_scores(np.random.default_rng(seed), n, scale), 2000, seed % 1000)


@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_draws_of_more_variables_than_have_a_table(scale):
    """The products of shares over those that have none are made layer by layer."""
    scores = mixed_scores(9, layer_draws.NEAR + 3, 12, scale)
    assert max(part.size for part in parts_of(scores)) > layer_draws.NEAR + 1
    assert_drawn(scores, 20_000, 1)


@pytest.mark.parametrize(
    ("n", "networks"),
    [(1, 1), (2, 3), (4, 543), (7, 1_138_779_265), (9, 1_213_442_454_842_881), (10, 4175098976430598143)],
)
def test_where_nothing_costs_anything_networks_are_counted(n, networks):
    """The numbers are those of Robinson 1973."""
    scores = scores_of([[(v, 0.0) for v in range(1 << n) if not v >> x & 1] for x in range(n)])
    with Workers(1) as workers:
        found = log_weight(scores, Means(workers, shelf_of(), ignore))
    assert found == pytest.approx((math.log(networks),) * 2, abs=1e-12)


def test_a_weight_that_rounding_leaves_in_doubt_is_not_told(monkeypatch):
    scores = random_scores(np.random.default_rng(1), 4, 1.0)
    error = sums_of(scores).error
    with Workers(1) as workers:
        means = Means(workers, shelf_of(), ignore)
        monkeypatch.setattr("extbnsl.posteriors.networks.MOST_ERROR", 0.5 * error)
        assert log_weight(scores, means) is None
        monkeypatch.setattr("extbnsl.posteriors.networks.MOST_ERROR", 2.0 * error)
        low, high = log_weight(scores, means)
        assert low < sums_of(scores).log_weight < high
        assert high - low == pytest.approx(2.0 * error, rel=1e-2)
