"""Cuts: they hold in every network, at every node, and the unions say the same as their definition."""

import itertools
import math

import numpy as np
import pytest
from calling import called
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.bounds.at_nodes import weighted_unions
from extbnsl.bounds.multipliers import count_times, holds, no_cuts, requirements, single_cuts, unions

count_times, holds = map(called, (count_times, holds))

SETTINGS = settings(deadline=None, max_examples=30)


def cuts_of(members):
    """Cuts (k, 3, 1) of lists of masks."""
    cuts = no_cuts(1)
    for masks in members:
        padded = np.array([*masks, 0, 0][:3], np.uint64).reshape(1, 3, 1)
        cuts = np.concatenate([cuts, padded])
    return cuts


def left(masks, varset):
    """What a node has left to fulfil."""
    return math.ceil(sum(not mask & varset for mask in masks) / 2)


masks_of = st.lists(st.integers(1, 63), min_size=1, max_size=1) | st.lists(st.integers(1, 63), min_size=3, max_size=3)


def counted(cut, x, parents):
    """How much each parent set of x counts for a cut, by the kernel."""
    times = np.full(len(parents) + 2, 7, np.uint8)
    count_times(np.array([0, *parents, 0], np.uint64).reshape(1, -1), cut, x, 1, len(parents) + 1, times)
    assert times[0] == times[-1] == 7
    return times[1:-1].tolist()


@pytest.mark.slow
@SETTINGS
@given(masks_of, st.integers(0, 5))
def test_families_count_as_defined(masks, x):
    (cut,) = cuts_of([masks])
    parents = [p for p in range(64) if not p >> x & 1]
    assert bool(holds(cut, x)) == any(mask >> x & 1 for mask in masks)
    assert counted(cut, x, parents) == [
        math.ceil(sum(mask >> x & 1 and not mask & p for mask in masks) / 2) for p in parents
    ]


@SETTINGS
@given(st.integers(1, 4), st.data())
def test_every_network_fulfils_them_after_every_node(n, data):
    """All networks of up to four variables, and all orders of them: what comes after U has what U leaves."""
    some = st.integers(1, (1 << n) - 1)
    masks = data.draw(st.lists(some, min_size=3, max_size=3) | st.lists(some, min_size=1, max_size=1))
    (cut,) = cuts_of([masks])
    times = [counted(cut, x, range(1 << n)) for x in range(n)]
    for order in itertools.permutations(range(n)):
        before = [sum(1 << y for y in order[:i]) for i in range(n + 1)]
        for parents in itertools.product(*([p for p in range(1 << n) if not p & ~u] for u in before[:n])):
            total = 0
            for i in reversed(range(n)):
                total += times[order[i]][parents[i]]
                assert total >= left(masks, before[i])
                # no step takes more from what is left than its family counts
                assert left(masks, before[i]) - left(masks, before[i + 1]) <= times[order[i]][parents[i]]
            assert total >= requirements(cut[None])[0]


@SETTINGS
@given(st.lists(masks_of, max_size=6), st.data())
def test_the_unions_say_what_a_node_leaves(members, data):
    cuts = cuts_of(members)
    weights = np.array(data.draw(st.lists(st.integers(1, 1000), min_size=len(cuts), max_size=len(cuts))), np.int64)
    varsets, cut, sign = unions(cuts)
    merged, total = weighted_unions(cuts, weights)
    assert len({int(v) for v in merged[:, 0]}) == len(merged)
    assert (total != 0).all()
    for node in range(64):
        own = [left(masks, node) for masks in members]
        for k, value in enumerate(own):
            assert (
                sum(int(s) for v, c, s in zip(varsets[:, 0], cut, sign, strict=True) if c == k and not int(v) & node)
                == value
            )
        expected = sum(w * value for w, value in zip(weights.tolist(), own, strict=True))
        assert sum(int(w) for v, w in zip(merged[:, 0], total, strict=True) if not int(v) & node) == expected


def test_triangles_need_one_union_more():
    """The three pairs of three variables: two of the three have no two parents among them."""
    varsets, weights = weighted_unions(cuts_of([[0b011, 0b101, 0b110]]), np.array([5]))
    assert dict(zip(varsets[:, 0].tolist(), weights.tolist(), strict=True)) == {0b011: 5, 0b101: 5, 0b110: 5, 0b111: -5}


def test_several_words():
    rng = np.random.default_rng(4)
    for words in (1, 2, 3):
        cuts = rng.integers(0, 2**63, (6, 3, words)).astype(np.uint64)
        cuts[2, 1:] = 0
        parents = rng.integers(0, 2**63, (words, 40)).astype(np.uint64)
        parents[:, ::2] &= rng.integers(0, 2**63, (words, 20)).astype(np.uint64) & np.uint64(0x1111)
        for cut in cuts:
            for x in range(0, 63 * words, 5):
                times = np.zeros(40, np.uint8)
                count_times(parents, cut, x, 0, 40, times)
                own = [row for row in cut if int(row[x >> 6]) >> (x & 63) & 1]
                disjoint = [sum(not (row & parents[:, j]).any() for row in own) for j in range(40)]
                assert times.tolist() == [math.ceil(k / 2) for k in disjoint]
    assert (single_cuts(cuts[:, 0])[:, 0] == cuts[:, 0]).all()
    assert requirements(single_cuts(cuts[:, 0])).tolist() == [1] * 6


def test_no_cuts():
    varsets, weights = weighted_unions(no_cuts(2), np.zeros(0, np.int64))
    assert varsets.shape == (0, 2)
    assert weights.size == 0
