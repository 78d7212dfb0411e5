"""All networks below a limit, or the cheapest of them, against brute force: searched, in pieces, and by choices."""

import contextlib
import itertools
import math
import tempfile
from pathlib import Path

import naive
import numpy as np
import pytest
from cases import random_dataset, shelf_of
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from patching import sized
from twins import all_networks, component_within, cost_of, parents_of

from extbnsl.core.claims import INTERRUPTED
from extbnsl.core.errors import RunDirectoryError
from extbnsl.core.events import ignore
from extbnsl.files.arrays import StoredFile
from extbnsl.files.store import Store
from extbnsl.kbest.below import Work, networks_below
from extbnsl.kbest.ledger import Entry, Ledger
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.components import Component
from extbnsl.proof.context import Context, Stages
from extbnsl.proof.methods import Methods

SETTINGS = settings(deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))
METHODS = Methods(path_extension=False, ancestral=False, polish=False)


@contextlib.contextmanager
def context_of(threads=1, stop=lambda: None):
    with tempfile.TemporaryDirectory() as folder, Workers(threads, stop) as workers:
        yield Context(workers, Stages(ignore, {}), 1 << 30, METHODS, Store(Path(folder), 0), shelf_of(1 << 28))


def found_below(component, limit, most=None, threads=1, way=()):
    with context_of(threads) as context, sized(way):
        found = networks_below(component, limit, Work(context, most, Ledger()))
    found.check()
    rows = found.rows.tolist()
    assert len(set(map(tuple, rows))) == len(rows)
    for row, cost in zip(rows, found.costs, strict=True):
        assert cost_of(component, row) == pytest.approx(cost, abs=1e-8)
        assert naive.is_acyclic(parents_of(component, row))
    return found


def table_of(seed, n, independent=0):
    """Local scores of random data, some variables with no arc to the others that could pay."""
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, int(rng.integers(2, 60)), 3)
    return naive.all_local_scores(dataset.codes, dataset.arities)


MOST = 600  # networks within a slack, beside those that cost the same: each is looked at one by one
WAYS = ({}, {"MOST_SEARCH_NS": -1.0}, {"below.MOST_NODES": 3}, {"below.CHUNK": 5, "below.STEPS": 11})


@SETTINGS
@given(
    st.integers(0, 2**32),
    st.one_of(
        st.tuples(st.integers(1, 4), st.floats(1e-6, 6.0)),
        st.tuples(st.just(5), st.floats(1e-6, 0.7)),
    ),
    st.sampled_from(WAYS),
)
def test_all_networks_within_a_slack(seed, size, way):
    n, slack = size
    table = table_of(seed, n)
    every = all_networks(table)
    if every.size > MOST:
        slack = min(slack, every[MOST] - every[0])
    assume(slack >= 1e-6)  # otherwise more than MOST cost the same as the best
    limit = every[0] + slack + 1e-7
    found = found_below(component_within(table, slack), limit, way=way)
    assert found.costs.tolist() == pytest.approx(every[every < limit].tolist(), abs=1e-8)


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(1, 60), st.sampled_from(WAYS))
def test_the_cheapest_networks(seed, n, most, way):
    table = table_of(seed, n)
    every = all_networks(table)
    slack = every[min(most, every.size) - 1] - every[0]
    found = found_below(component_within(table, slack + 1e-7), every[0] + slack + 1e-6, most, way=way)
    assert found.costs.tolist() == pytest.approx(every[:most].tolist(), abs=1e-8)


@pytest.mark.parametrize(
    ("n", "way"),
    [
        *itertools.product((3, 4), WAYS),
        pytest.param(5, {}, marks=pytest.mark.slow),
    ],
)
def test_every_network_there_is(n, way):
    table = table_of(n, n)
    every = all_networks(table)
    found = found_below(component_within(table, math.inf), every[-1] + 1.0, way=way)
    assert found.costs.size == len(naive.all_dags(n))
    assert found.costs.tolist() == pytest.approx(every.tolist(), abs=1e-8)


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.floats(1e-6, 4.0), st.sampled_from(WAYS))
def test_parts_that_do_not_touch_are_put_together(seed, slack, way):
    """Two blocks of variables that have no families across."""
    first, second = table_of(seed, 3), table_of(seed + 1, 2)
    table = np.full((5, 32), np.inf)
    for varset in range(8):
        table[:3, varset] = first[:, varset]
    for varset in range(4):
        table[3:, varset << 3] = second[:, varset]
    every = all_networks(table)
    limit = every[0] + slack + 1e-7
    found = found_below(component_within(table, slack), limit, way=way)
    assert found.costs.tolist() == pytest.approx(every[every < limit].tolist(), abs=1e-8)
    assert every[every < limit].size <= 25 * 3


def test_threads_change_nothing():
    component = component_within(table_of(11, 5), 5.0)
    limit = float(sum(costs[-1] for costs in component.costs))
    one, three = found_below(component, limit, 500), found_below(component, limit, 500, 3)
    assert one.rows.tolist() == three.rows.tolist()


def test_below_the_optimum_there_is_nothing():
    table = table_of(5, 4)
    component = component_within(table, 2.0)
    assert found_below(component, all_networks(table)[0] - 1e-6).costs.size == 0


@pytest.mark.slow
def test_a_component_too_large_for_a_search_is_taken_apart():
    """A path of 70 variables, each of which prefers its neighbour on one side: 71 orientations without a collider."""
    n = 70
    parents, costs = [], []
    for x in range(n):
        near = [y for y in (x - 1, x + 1) if 0 <= y < n]
        varsets = np.zeros((len(near) + 1, 2), np.uint64)
        for row, y in enumerate(near):
            varsets[row, y // 64] = np.uint64(1) << np.uint64(y % 64)
        parents.append(varsets)
        costs.append(np.array([1.0] * len(near) + [3.0]))
    component = Component(tuple(range(n)), tuple(parents), tuple(costs), 1.0)
    with context_of() as context:
        found = networks_below(component, n - 1 + 3.0 + 0.5, Work(context, None, Ledger()))
    assert found.costs.tolist() == pytest.approx([n - 1 + 3.0] * n)
    assert len(set(map(tuple, found.rows.tolist()))) == n


@pytest.mark.parametrize(
    ("way", "most"),
    [
        ({"below.CHUNK": 10, "below.STEPS": 20}, None),
        ({"below.CHUNK": 10, "below.STEPS": 20}, 40),
        ({}, None),
        pytest.param({"below.MOST_NODES": 3, "below.CHUNK": 40, "below.STEPS": 80}, 40, marks=pytest.mark.slow),
    ],
)
def test_whoever_is_stopped_again_and_again_finds_the_same(way, most):
    """Each process gets one step further than the last one, from copies of what that one left."""
    component = component_within(table_of(11, 4), 5.0)
    limit = float(sum(costs[-1] for costs in component.costs))
    undisturbed, entries, processes = found_below(component, limit, most, way=way), {}, 0
    while True:
        looks, processes = itertools.count(), processes + 1

        def look(looks=looks):
            if next(looks):
                raise Stopped(INTERRUPTED)

        ledger = Ledger(entries, look)
        with context_of() as context, sized(way):
            try:
                found = networks_below(component, limit, Work(context, most, ledger))
                break
            except Stopped:
                copies = {
                    key: {name: np.array(array) for name, array in entry.arrays().items()}
                    for key, entry in ledger.entries.items()
                }
                entries = {key: Entry(lambda own=own: own) for key, own in copies.items()}
    assert found.rows.tolist() == undisturbed.rows.tolist()
    assert found.costs.tolist() == undisturbed.costs.tolist()
    assert not ledger.entries
    assert processes > 3 if way else processes == 1


FORGED_WALKS = {
    "depth": lambda a: a + 99,
    "left": lambda a: a ^ np.uint64(1 << 40),
    "child": lambda a: a - 7,
    "row": lambda a: a + 10_000,
    "rows": lambda a: a - 1000,
    "others": lambda a: a[:-1],
    "gone": lambda a: a.astype(np.float32),
    "rows-0": lambda a: a + 10_000,
    "costs-0": lambda a: a[::-1] if a.size > 1 and a[0] < a[-1] else a[:0],
}


@pytest.mark.parametrize("forged", FORGED_WALKS)
def test_what_no_walk_has_left_is_refused_before_a_kernel_takes_it(forged):
    component = component_within(table_of(11, 4), 5.0)
    limit = float(sum(costs[-1] for costs in component.costs))
    looks = itertools.count()

    def look():
        if next(looks) == 2:
            raise Stopped(INTERRUPTED)

    ledger = Ledger({}, look)
    with context_of() as context, sized({"below.CHUNK": 5}):
        with pytest.raises(Stopped):
            networks_below(component, limit, Work(context, None, ledger))
        ((key, entry),) = ((key, entry) for key, entry in ledger.entries.items() if "depth" in entry.arrays())
        arrays = {name: np.array(array) for name, array in entry.arrays().items()}
        arrays[forged] = FORGED_WALKS[forged](arrays[forged])
        with pytest.raises(RunDirectoryError, match="networks that no run has written"):
            networks_below(component, limit, Work(context, None, Ledger({key: Entry(lambda: arrays)})))


def test_what_failed_half_way_is_forgotten():
    ledger = Ledger({"old": Entry(dict, StoredFile("ranking-1.h5", 1, "0" * 64), fresh=False)})
    ledger.keep("new", dict)
    ledger.keep("old", dict)
    ledger.keep("whole", dict, whole=True)
    ledger.revert()
    assert list(ledger.entries) == ["old", "whole"]
    assert not ledger.entries["old"].fresh
    assert ledger.entries["whole"].fresh


def test_a_stop_is_heard():
    with context_of(stop=lambda: INTERRUPTED) as context, pytest.raises(Stopped):
        networks_below(component_within(table_of(3, 4), 3.0), 1e6, Work(context, None, Ledger()))
