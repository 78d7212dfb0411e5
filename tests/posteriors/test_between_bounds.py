"""Bounds of the weight of all networks, from groups of variables: against sums over networks one by one."""

import itertools
import math

import naive
import numpy as np
import pytest
from cases import random_families, scores_of, shelf_of
from hypothesis import given, settings
from hypothesis import strategies as st
from patching import sized
from summing import log_sum, summed

from extbnsl.core.claims import MEMORY_LIMIT
from extbnsl.core.events import ignore
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors.between import not_backwards, weigh
from extbnsl.scores.local import feasible_order, local_scores

IN_GROUPS = {"networks.MOST_SECONDS": -1.0}  # nothing is summed as a whole
NEAR = 1e-8


def found_of(scores, order=None, threads=1, memory=1 << 30):
    """What is found by an order, or by one that some network keeps to."""
    with Workers(threads) as workers:
        order = feasible_order(scores.parents)[0] if order is None else order
        return weigh(scores, order, Means(workers, shelf_of(memory), ignore))


def random_problem(seed, n, scale=1.0):
    """Families of n children with costs whose differences are about `scale` nats; sometimes one must have parents."""
    rng = np.random.default_rng(seed)
    families = random_families(rng, n, 12, lambda many: scale * rng.normal(size=many) + rng.integers(-50, 50))
    if seed % 3 == 0 and len(families[-1]) > 1:
        families[-1] = families[-1][1:]
    return scores_of(families)


def is_acyclic(parents, members):
    """Whether arcs among the members make no cycle."""
    left = set(members)
    while ready := {x for x in left if not any(parents[x] >> p & 1 for p in left)}:
        left -= ready
    return not left


def chosen(scores):
    """All choices of families, with what each costs."""
    lists = [
        list(zip(own[:, 0].tolist(), costs.tolist(), strict=True))
        for own, costs in zip(scores.parents, scores.costs, strict=True)
    ]
    for some in itertools.product(*lists):
        yield [varset for varset, _ in some], math.fsum(cost for _, cost in some)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**32),
    st.integers(2, 5),
    st.sampled_from([0.1, 3.0, 60.0]),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([1 << 24, 40, 0]),
)
def test_the_weight_of_all_networks_is_never_outside(seed, n, scale, below, above, counted):
    scores = random_problem(seed, n, scale)
    total, _, networks = summed(scores, "uniform")
    order = np.random.default_rng(seed).choice(list(networks)) if seed % 2 else None
    order = None if order is None else naive_order(order.tolist())
    with sized(IN_GROUPS | {"between.MOST_COUNTED": counted}, WIDTH_BELOW=below, WIDTH_ABOVE=above):
        found = found_of(scores, order)
    assert found.groups
    assert found.at_least - NEAR <= total <= found.at_most + NEAR


def naive_order(parents):
    """An order that a network with these parents keeps to."""
    order = []
    while len(order) < len(parents):
        order.append(
            next(x for x in range(len(parents)) if x not in order and not set(naive.members(parents[x])) - set(order))
        )
    return order


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(1, 4))
def test_from_below_it_is_what_networks_without_arcs_backwards_weigh(seed, n, width):
    scores = random_problem(seed, n)
    with sized(IN_GROUPS, WIDTH_BELOW=width):
        found = found_of(scores)
    place = {x: at for at, group in enumerate(found.groups) for x in group}
    expected = [
        -cost
        for parents, cost in chosen(scores)
        if is_acyclic(parents, range(n))
        and all(place[p] <= place[x] for x, own in enumerate(parents) for p in naive.members(own))
    ]
    assert found.at_least == pytest.approx(log_sum(expected), abs=NEAR)
    assert [len(group) for group in found.groups[:-1]] == [width] * (len(found.groups) - 1)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(2, 4), st.booleans())
def test_from_above_it_is_at_most_what_choices_without_cycles_in_groups_weigh(seed, n, multipliers):
    """By groups of one variable: all choices, without multipliers."""
    scores = random_problem(seed, n)
    with sized(IN_GROUPS | {"between.MOST_COUNTED": 1 << 24 if multipliers else 0}, WIDTH_ABOVE=1):
        found = found_of(scores)
    expected = log_sum([-cost for _, cost in chosen(scores)])
    assert found.at_most <= expected + NEAR
    if not multipliers:
        assert found.at_most == pytest.approx(expected, abs=NEAR)


def test_multipliers_lower_the_bound():
    """Two variables that want each other: with a multiplier for the pair the bound comes near the truth."""
    scores = scores_of([[(0, 5.0), (2, 0.0)], [(0, 5.0), (1, 0.0)]])
    total = log_sum([-5.0, -5.0, -10.0])
    with sized(IN_GROUPS | {"between.MOST_COUNTED": 0}, WIDTH_ABOVE=1):
        without = found_of(scores).at_most
    with sized(IN_GROUPS, WIDTH_ABOVE=1):
        found = found_of(scores).at_most
    assert without == pytest.approx(log_sum([0.0, -5.0, -5.0, -10.0]))
    assert total < found < total + 0.7 < without


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32), st.integers(1, 5))
def test_where_all_can_be_summed_it_is_known(seed, n):
    scores = random_problem(seed, n)
    found = found_of(scores)
    assert found.groups == ()
    assert found.at_least <= summed(scores, "uniform")[0] <= found.at_most
    assert found.at_most - found.at_least < 1e-8


def test_of_more_variables_than_a_word_has_bits():
    """Of 35 pairs, each with three networks, and an arc from each pair to the next."""
    rng = np.random.default_rng(3)
    families, logs = [], []
    for k in range(35):
        costs = rng.normal(size=4)
        own, before = 2 * k, 1 << 2 * k - 1 if k else 0
        families.append([(0, costs[0]), (1 << own + 1, costs[1])])
        families.append([(0, costs[2]), (1 << own, costs[3])])
        logs.append(log_sum([-costs[0] - costs[2], -costs[0] - costs[3], -costs[1] - costs[2]]))
        if k:
            families[own] += [(varset | before, cost + 1.0) for varset, cost in families[own]]
            logs.append(math.log1p(math.exp(-1.0)))
    sets = [np.array([pack(naive.members(varset), 70) for varset, _ in own]) for own in families]
    costs = [np.array([cost for _, cost in own]) for own in families]
    scores = local_scores([f"v{x}" for x in range(70)], list(zip(sets, costs, strict=True)), "file")
    whole = found_of(scores)
    assert whole.at_least == pytest.approx(math.fsum(logs), abs=NEAR)
    with sized(IN_GROUPS, WIDTH_BELOW=15, WIDTH_ABOVE=9):
        found = found_of(scores, range(70))
    assert found.at_least - NEAR <= math.fsum(logs) <= found.at_most + NEAR
    assert found.at_most - found.at_least < 35.0


def test_costs_of_one_child_may_differ_by_thousands_of_nats():
    """Its cheap families wait for those that cost a lot."""
    scores = scores_of([[(0, 5000.0), (2, 0.0)], [(0, 3000.0), (1, -2000.0)], [(0, 0.0), (1, 900.0)]])
    total = log_sum([-8000.0, -3000.0, -3000.0]) + math.log1p(math.exp(-900.0))
    for widths in ({"WIDTH_BELOW": 1, "WIDTH_ABOVE": 1}, {"WIDTH_BELOW": 2, "WIDTH_ABOVE": 2}):
        with sized(IN_GROUPS | widths):
            found = found_of(scores, [0, 1, 2])
        assert found.at_least <= total <= found.at_most
        assert found.at_least >= -3000.1


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_make_no_difference(threads):
    scores = random_problem(7, 5)
    with sized(IN_GROUPS, WIDTH_BELOW=2, WIDTH_ABOVE=2):
        assert found_of(scores, threads=threads) == found_of(scores)


def test_what_rounding_leaves_in_doubt_is_not_told():
    with sized(MOST_ERROR=0.0):
        assert found_of(random_problem(1, 4)) is None


def test_a_stop_is_heard():
    scores = random_problem(5, 5)
    with sized(IN_GROUPS), Workers(1, stop=lambda: MEMORY_LIMIT) as workers, pytest.raises(Stopped):
        weigh(scores, range(5), Means(workers, shelf_of(), ignore))


def test_which_parent_sets_point_backwards():
    parents = [np.array([[0], [2], [4], [6]], np.uint64)] * 1 + [np.array([[1], [4]], np.uint64)] * 2
    found = not_backwards([(0, 1), (2,)], parents)
    assert [own.tolist() for own in found] == [[True, True, False, False], [True, False], [True, True]]
    assert [own.all() for own in not_backwards((), parents)] == [True] * 3
