"""What all networks below a limit add up to, against brute force: searched, in pieces, and by choices."""

import itertools
import math

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_below import SETTINGS, all_networks, component_within, context_of, table_of

from extbnsl.kbest import apart, halves
from extbnsl.kbest.apart import Work
from extbnsl.kbest.ledger import Ledger
from extbnsl.kbest.tally import Below, tally_below
from extbnsl.kernels.varsets import pack

BASE = 3.0  # below the optimum
WAYS = (
    {},
    {"MOST_EDGES": -1.0},
    {"MOST_NODES": 3},
    {"MOST_MEETINGS": 1},
    {"MOST_MEETINGS": 9, "BLOCKS": 2, "STEPS": 3},
)


def tallied(component, outside, limit, base, threads=1, **patched):
    with context_of(threads) as context, pytest.MonkeyPatch.context() as patch:
        for name, value in patched.items():
            patch.setattr(apart if hasattr(apart, name) else halves, name, value)
        tally = tally_below(component, np.array(outside), Below(limit, base, Work(context, None, Ledger())))
    tally.check()
    return tally


def check(component, table, outside, limit, base, tally):
    """Against brute force: how many, and the weights by family and by what is outside."""
    n = len(table)
    number = [{tuple(own): i for i, own in enumerate(varsets.tolist())} for varsets in component.parents]
    families, others, networks = [np.zeros(own.size) for own in component.costs], np.zeros(len(outside)), 0
    for dag in naive.all_dags(n):
        cost = sum(table[x][p] for x, p in enumerate(dag))
        for i, own in enumerate(outside):
            if cost + own < limit:
                networks += 1
                weight = math.exp(base - cost - own)
                others[i] += weight
                for x, p in enumerate(dag):
                    varset = pack([v for v in range(n) if p >> v & 1], n)
                    families[x][number[x][tuple(varset.tolist())]] += weight
    assert tally.networks == networks
    assert tally.outside == pytest.approx(others, rel=1e-9)
    for x in range(n):
        assert tally.families[x] == pytest.approx(families[x], rel=1e-9, abs=1e-12)


OUTSIDE = st.lists(st.floats(0.0, 5.0), min_size=1, max_size=8).map(sorted)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.floats(1e-6, 6.0), OUTSIDE, st.sampled_from(WAYS))
def test_all_networks_within_a_slack(seed, n, slack, outside, way):
    table = table_of(seed, n)
    best = float(all_networks(table)[0])
    component, limit = component_within(table, slack), best + outside[0] + slack + 1e-7
    check(component, table, outside, limit, best - BASE, tallied(component, outside, limit, best - BASE, **way))


@pytest.mark.parametrize(("n", "way"), list(itertools.product((3, 4), WAYS)))
def test_every_network_there_is(n, way):
    table = table_of(n, n)
    every = all_networks(table)
    component, limit = component_within(table, math.inf), float(every[-1]) + 1.0
    tally = tallied(component, [0.0], limit, float(every[0]), **way)
    assert tally.networks == len(naive.all_dags(n))
    check(component, table, [0.0], limit, float(every[0]), tally)


@SETTINGS
@given(st.integers(0, 2**32), st.floats(1e-6, 4.0), OUTSIDE, st.sampled_from(WAYS))
def test_parts_that_do_not_touch_are_put_together(seed, slack, outside, way):
    """Two blocks of variables that have no families across."""
    first, second = table_of(seed, 3), table_of(seed + 1, 2)
    table = np.full((5, 32), np.inf)
    for varset in range(8):
        table[:3, varset] = first[:, varset]
    for varset in range(4):
        table[3:, varset << 3] = second[:, varset]
    best = float(all_networks(table)[0])
    component, limit = component_within(table, slack), best + outside[0] + slack + 1e-7
    check(component, table, outside, limit, best, tallied(component, outside, limit, best, **way))


def test_threads_change_nothing():
    component, best = component_within(table_of(11, 5), 5.0), float(all_networks(table_of(11, 5))[0])
    one, three = (tallied(component, [0.0], best + 5.0, best, threads) for threads in (1, 3))
    assert one.networks == three.networks > 100
    for own, other in zip(one.families, three.families, strict=True):
        assert own.tolist() == other.tolist()


def test_no_networks_below_the_limit():
    table = table_of(3, 4)
    best = float(all_networks(table)[0])
    tally = tallied(component_within(table, 5.0), [0.0, 1.0], best - 1e-6, best)
    assert tally.networks == 0
    assert tally.weight == 0.0
    assert tally.outside.tolist() == [0.0, 0.0]
