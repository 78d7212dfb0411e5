"""What all networks below a limit add up to, against brute force: searched, in pieces, and by choices."""

import itertools
import math
import threading

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patching import sized
from portions import first
from test_below import SETTINGS, context_of, table_of
from twins import all_networks, component_within

from extbnsl.core.claims import INTERRUPTED
from extbnsl.core.errors import RunDirectoryError
from extbnsl.kbest import halves
from extbnsl.kbest.below import Work
from extbnsl.kbest.ledger import Entry, Ledger
from extbnsl.kbest.tally import Below, tally_below
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Stopped

BASE = 3.0  # below the optimum
CHOICES = {"MOST_SEARCH_NS": -1.0}
PIECES = {"MOST_MEETINGS": 1, "halves.STEPS": 9, "BLOCKS": 1}
WAYS = (
    {},
    CHOICES,
    {"below.MOST_NODES": 3},
    {"MOST_MEETINGS": 1},
    {"MOST_MEETINGS": 9, "BLOCKS": 2, "halves.STEPS": 3},
)


def tallied(component, outside, limit, base, threads=1, way=()):
    with context_of(threads) as context, sized(way):
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
@given(st.integers(0, 2**32), st.integers(1, 4), st.floats(1e-6, 6.0), OUTSIDE, st.sampled_from(WAYS))
def test_all_networks_within_a_slack(seed, n, slack, outside, way):
    table = table_of(seed, n)
    best = float(all_networks(table)[0])
    component, limit = component_within(table, slack), best + outside[0] + slack + 1e-7
    check(component, table, outside, limit, best - BASE, tallied(component, outside, limit, best - BASE, way=way))


@pytest.mark.parametrize(("n", "way"), [*itertools.product((3, 4), WAYS)])
def test_every_network_there_is(n, way):
    table = table_of(n, n)
    every = all_networks(table)
    component, limit = component_within(table, math.inf), float(every[-1]) + 1.0
    tally = tallied(component, [0.0], limit, float(every[0]), way=way)
    assert tally.networks == len(naive.all_dags(n))
    check(component, table, [0.0], limit, float(every[0]), tally)


@pytest.mark.slow
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
    check(component, table, outside, limit, best, tallied(component, outside, limit, best, way=way))


FORGED_HALVES = {
    "depth": lambda a: a + 99,
    "left": lambda a: a ^ np.uint64(1 << 40),
    "child": lambda a: a - 7,
    "row": lambda a: a + 10_000,
    "gone": lambda a: a.astype(np.float32),
    "all-states": lambda a: a + 1000,
    "all-families": lambda a: -1.0 - a,
    "all-meetings": lambda a: a[:-1],
    "all-sums": lambda a: a[:, :-1],
    "all-networks": lambda a: np.zeros(0, np.int64),
}
FORGED_CHOICES = {
    "done": lambda a: -1 - a,
    "outside": lambda a: np.append(a, 1.0),
    "families": lambda a: a + 1.0,
}


HALVES = {"MOST_MEETINGS": 1, "halves.STEPS": 1}


def tally_of(ledger, way):
    component, best = component_within(table_of(11, 4), 5.0), float(all_networks(table_of(11, 4))[0])
    with context_of() as context, sized(way):
        return tally_below(component, np.zeros(1), Below(best + 5.0, best, Work(context, None, ledger)))


@pytest.fixture(scope="module")
def left_behind():
    """By the name of an array, all that a stop leaves when it is first there; whoever goes on from that counts all."""
    left = {}

    def look():
        for key, entry in ledger.entries.items():
            arrays = entry.arrays()
            if not left.keys() >= arrays.keys():
                here = {name: np.array(array) for name, array in arrays.items()}
                left.update((name, (key, here)) for name in arrays if name not in left)

    for way, names in ((HALVES, FORGED_HALVES), (CHOICES, FORGED_CHOICES)):
        ledger = Ledger({}, look)
        whole = tally_of(ledger, way)
        for key, arrays in {id(left[name]): left[name] for name in names}.values():
            again = tally_of(Ledger({key: Entry(lambda arrays=arrays: arrays)}), way)
            assert again.networks == whole.networks
    return left


@pytest.mark.slow
@pytest.mark.parametrize(
    ("forged", "by", "way"),
    [
        *((name, by, HALVES) for name, by in FORGED_HALVES.items()),
        *((name, by, CHOICES) for name, by in FORGED_CHOICES.items()),
    ],
)
def test_what_no_tally_has_left_is_refused_before_a_kernel_takes_it(forged, by, way, left_behind):
    key, arrays = left_behind[forged]
    damaged = arrays | {forged: by(arrays[forged])}
    with pytest.raises(RunDirectoryError, match="networks that no run has written"):
        tally_of(Ledger({key: Entry(lambda: damaged)}), way)


@pytest.mark.parametrize("way", first(1, [PIECES, CHOICES]))
def test_whoever_is_stopped_again_and_again_finds_the_same(way):
    table = table_of(12, 4)
    component, best = component_within(table, 4.0), float(all_networks(table)[0])
    outside, entries, processes, tally = [0.0, 0.5], {}, 0, None
    undisturbed = tallied(component, outside, best + 4.0, best, way=way)
    while tally is None:
        processes, looks = processes + 1, itertools.count()

        def look(looks=looks):
            if next(looks) == 3:
                raise Stopped(INTERRUPTED)

        ledger = Ledger(entries, look)
        with context_of() as context, sized(way):
            try:
                work = Work(context, None, ledger)
                tally = tally_below(component, np.array(outside), Below(best + 4.0, best, work))
            except Stopped:
                copies = {key: {k: np.array(a) for k, a in e.arrays().items()} for key, e in ledger.entries.items()}
                entries = {key: Entry(lambda own=own: own) for key, own in copies.items()}
    assert processes > 3
    assert not ledger.entries
    assert tally.networks == undisturbed.networks
    for own, other in zip(tally.families, undisturbed.families, strict=True):
        assert own.tolist() == other.tolist()


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


def test_a_deaf_kernel_changes_nothing_that_is_kept(monkeypatch, sizes):
    """It may still be at work on its blocks while they are written to a checkpoint."""
    over, rounds, find = threading.Event(), [], halves._end_on

    def deaf_at_last(walk, own, *given):
        rounds.append(1)
        if len(rounds) <= 4:
            return find(walk, own, *given)
        for array in (*walk, *own):
            array[:] = 77
        over.wait(60)
        return None

    sizes(PIECES | {"workers.GRACE_SECONDS": 0.2})
    monkeypatch.setattr(halves, "_end_on", deaf_at_last)
    table = table_of(12, 4)
    component, best, ledger = component_within(table, 4.0), float(all_networks(table)[0]), Ledger()
    below = lambda context: Below(best + 4.0, best, Work(context, None, ledger))  # noqa: E731
    try:
        with context_of(2, lambda: INTERRUPTED if len(rounds) > 4 else None) as context, pytest.raises(Stopped):
            tally_below(component, np.zeros(1), below(context))
        kept = {key: {name: np.array(a) for name, a in e.arrays().items()} for key, e in ledger.entries.items()}
    finally:
        over.set()
    monkeypatch.setattr(halves, "_end_on", find)
    assert kept
    ledger = Ledger({key: Entry(lambda own=own: own) for key, own in kept.items()})
    with context_of() as context:
        found = tally_below(component, np.zeros(1), below(context))
    assert found.networks == tallied(component, [0.0], best + 4.0, best).networks
