"""Sums over layers of kept nodes, against sums over all orders: no exact value lies outside its interval."""

import math
from dataclasses import replace

import numpy as np
import pytest
from cases import scores_of, shelf_of
from hypothesis import given, settings
from hypothesis import strategies as st
from patching import sized
from summing import by_orders, by_varsets, last, log_sum, problems, sparse_scores

from extbnsl.core.errors import BudgetError
from extbnsl.core.events import ignore
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors.layers import LayeredSum, Limits, nodes_in, sum_in_layers
from extbnsl.posteriors.steps import Nodes
from extbnsl.posteriors.tuning import Sample

SETTINGS = settings(max_examples=60, deadline=None)
PLENTY = 1 << 20  # nodes


def sums_of(scores, within=1e-3, nodes=PLENTY, begun=None, threads=1):
    """The answer."""
    with Workers(threads) as workers:
        return last(sum_in_layers(scores, Means(workers, shelf_of(), ignore), Limits(within, nodes), begun))


def check_answer(scores, answer, exact):
    """That no exact value lies outside its interval, but for rounding of the exact one."""
    log_z, families = exact
    off = 1e-13 * (1.0 + math.fsum(float(np.abs(own).max()) for own in scores.costs))
    assert answer.log_weight <= log_z + off
    whole = log_sum([answer.log_weight, answer.log_ignored])
    assert log_z <= whole + off
    kept, ignored = math.exp(answer.log_weight - whole), math.exp(answer.log_ignored - whole)
    for own, real in zip(answer.families, families, strict=True):
        assert own.sum() == pytest.approx(1.0, abs=1e-12)
        assert (own * kept <= np.array(real) * (1.0 + 10 * off) + 1e-12).all()
        assert (np.array(real) <= (own * kept + ignored) * (1.0 + 10 * off) + 1e-12).all()


WITHIN = st.sampled_from([0.0, 1e-12, 1e-6, 1e-2, 0.5])


@SETTINGS
@given(problems(5), WITHIN, st.sampled_from([1, 7, 20, PLENTY]), st.sampled_from([1, 1 << 9]))
def test_every_value_lies_in_its_interval(scores, within, nodes, first):
    """first: nodes of a layer in the first pass; with few, later passes know what may be dropped."""
    with sized(NODES_AT_FIRST=first):
        answer = sums_of(scores, within, nodes)
    check_answer(scores, answer, by_orders(scores))
    if nodes == PLENTY and within >= 1e-6:
        assert answer.log_ignored - answer.log_weight <= math.log(within)
    if within == 0.0 and nodes == PLENTY:
        assert answer.log_ignored - answer.log_weight <= math.log(1e-5)


@settings(max_examples=15, deadline=None)
@given(problems(9), WITHIN, st.sampled_from([10, 100, PLENTY]))
def test_every_value_lies_in_its_interval_of_more_variables(scores, within, nodes):
    with sized(NODES_AT_FIRST=8):
        check_answer(scores, sums_of(scores, within, nodes), by_varsets(scores))


def test_the_two_exact_sums_agree():
    scores = sparse_scores(5)
    one, other = by_orders(scores), by_varsets(scores)
    assert one[0] == pytest.approx(other[0], abs=1e-12)
    assert np.concatenate(one[1]) == pytest.approx(np.concatenate(other[1]), abs=1e-12)


def test_nodes_are_dropped_and_what_they_bring_is_bounded():
    scores = sparse_scores(10)
    with sized(NODES_AT_FIRST=16):
        answer = sums_of(scores, 1e-3)
    check_answer(scores, answer, by_varsets(scores))
    assert answer.kept < 2**10 // 2
    assert answer.log_ignored - answer.log_weight <= math.log(1e-3)


def test_fewer_nodes_make_the_interval_wider_never_wrong():
    scores = sparse_scores(9, spread=2.0)
    exact, widths = by_varsets(scores), []
    for nodes in (1, 30, 100, 200, 512):
        answer = sums_of(scores, 1e-6, nodes)
        check_answer(scores, answer, exact)
        assert answer.kept <= max(nodes, 10)
        widths.append(answer.log_ignored - answer.log_weight)
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 0.0
    assert widths[-1] <= math.log(1e-6)


def assert_same(one, other):
    """That two states are the same to the last bit."""
    for name in ("log_weight", "log_ignored", "done", "turn", "dropped", "capped", "reached", "total", "groups"):
        assert getattr(one, name) == getattr(other, name)
    for some, others in ((one.families, other.families), (one.sample, other.sample)):
        assert all(map(np.array_equal, some, others))
    assert np.array_equal(one.shares, other.shares)
    assert np.array_equal(one.multipliers, other.multipliers)
    assert len(one.layers) == len(other.layers)
    for some, others in zip(one.layers, other.layers, strict=True):
        assert all(map(np.array_equal, some, others))


def test_a_sum_goes_on_from_any_state():
    scores = sparse_scores(8)
    with sized(NODES_AT_FIRST=4), Workers(1) as workers:
        means = Means(workers, shelf_of(), ignore)
        states = [LayeredSum(), *sum_in_layers(scores, means, Limits(1e-3, PLENTY))]
        assert states[-1].turn > 0, "there are several passes"
        for k in range(0, len(states) - 1, 5):
            again = list(sum_in_layers(scores, means, Limits(1e-3, PLENTY), states[k]))
            assert len(again) == len(states) - 1 - k
            for one, other in zip(again, states[k + 1 :], strict=True):
                assert_same(one, other)


def test_threads_and_tasks_change_nothing():
    scores = sparse_scores(11, spread=3.0)
    with sized(NODES_AT_FIRST=40):
        with sized(TASK_EDGES=64, TASK_NODES=16):
            one, three = sums_of(scores, threads=1), sums_of(scores, threads=3)
        assert_same(one, three)
        assert one.turn > 0
        whole = sums_of(scores)
    assert whole.log_weight == pytest.approx(one.log_weight, abs=1e-12)
    assert whole.kept == one.kept
    assert np.concatenate(whole.families) == pytest.approx(np.concatenate(one.families), abs=1e-12)


def test_a_stop_is_heard_and_the_sum_goes_on_after_it():
    scores, states = sparse_scores(10), list[LayeredSum]()
    with Workers(1, lambda: "time_limit" if len(states) == 15 else None) as workers, pytest.raises(Stopped):
        states.extend(sum_in_layers(scores, Means(workers, shelf_of(), ignore), Limits(1e-3, PLENTY)))
    assert len(states) == 15
    assert_same(sums_of(scores, begun=states[-1]), sums_of(scores))


def test_a_state_tells_its_arrays():
    """A state made again of its numbers and copies of its arrays goes on alike."""
    scores = sparse_scores(8)
    with Workers(1) as workers:
        means = Means(workers, shelf_of(), ignore)
        states = list(sum_in_layers(scores, means, Limits(1e-3, 60)))
    state = states[len(states) // 2]
    layers = tuple(Nodes(*(column.copy() for column in own)) for own in state.layers)
    families, sample = tuple(own.copy() for own in state.families), Sample(*(own.copy() for own in state.sample))
    arrays = {"layers": layers, "families": families, "sample": sample}
    arrays |= {name: getattr(state, name).copy() for name in ("shares", "multipliers")}
    assert_same(sums_of(scores, nodes=60, begun=replace(state, **arrays)), states[-1])


def test_one_variable():
    answer = sums_of(scores_of([[(0, 3.5)]]))
    assert answer.log_weight == pytest.approx(-3.5, abs=1e-12)
    assert answer.families[0].tolist() == [1.0]
    assert answer.done


@pytest.mark.parametrize("dear", [50.0, 300.0])
def test_64_variables(dear):
    """A chain: each has no parents, or for some nats less the one before it. So an order weighs by how many come before
    the one before them, and as many orders as Euler's numbers say have k of these."""
    scores = scores_of([[(0, 0.0)], *([(0, dear), (1 << x - 1, 0.0)] for x in range(1, 64))])
    answer = sums_of(scores, 1e-3, 20_000)
    orders = [1]
    for n in range(2, 65):
        orders = [(k + 1) * (orders[k] if k < n - 1 else 0) + (n - k) * (orders[k - 1] if k else 0) for k in range(n)]
    assert sum(orders) == math.factorial(64)
    cheap = math.log1p(math.exp(-dear))
    log_z = log_sum([math.log(many) - dear * k + cheap * (63 - k) for k, many in enumerate(orders)])
    assert answer.log_weight <= log_z <= log_sum([answer.log_weight, answer.log_ignored])
    assert (answer.log_ignored - answer.log_weight <= math.log(1e-3)) == (dear == 300.0)


def test_arrays_lie_on_disk_or_nowhere(tmp_path):
    scores = sparse_scores(9)
    with Workers(1) as workers:
        on_disk = Means(workers, shelf_of(1000, tmp_path), ignore)
        assert_same(last(sum_in_layers(scores, on_disk, Limits(1e-3, PLENTY))), sums_of(scores))
        with pytest.raises(BudgetError):
            last(sum_in_layers(scores, Means(workers, shelf_of(1000), ignore), Limits(1e-3, PLENTY)))


def test_of_equal_nodes_some_stay():
    """All nodes of a layer bring the same; there is room for few."""
    scores = scores_of([[(v, 1.0) for v in range(64) if not v >> x & 1] for x in range(6)])
    answer = sums_of(scores, 1e-3, 20)
    check_answer(scores, answer, by_varsets(scores))
    assert answer.kept <= 20


def test_a_pass_that_ignores_more_than_a_double_holds_is_no_answer():
    passed = LayeredSum(log_weight=-900.0, log_ignored=-201.0, families=(np.ones(1),))
    assert passed.answers
    assert passed.ignored > 1e300
    assert not replace(passed, log_ignored=0.0).answers


def test_nodes_in_memory():
    assert nodes_in(0) == 1
    assert nodes_in(64_000_000) == 1_000_000
