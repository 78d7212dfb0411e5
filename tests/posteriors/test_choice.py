"""Which nodes stay, and what the others bring."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.posteriors.choice import Choice
from extbnsl.posteriors.steps import Nodes

SETTINGS = settings(max_examples=80, deadline=None)


def nodes_of(varsets):
    return Nodes(np.array(varsets, np.uint64), np.ones(len(varsets)), np.zeros(len(varsets), np.int32))


def chosen(through, most, log_allowed=-math.inf, floor=-math.inf, guarded=None, dropped=-math.inf, pieces=1):
    """The varsets that stay, 1 and up in the order of `through`, and the choice."""
    choice = Choice(most, len(through) + 9 if guarded is None else guarded, dropped, log_allowed, floor)
    for part in np.array_split(np.arange(len(through)), pieces):
        choice.add(nodes_of(part + 1), np.array(through, float)[part])
    return choice.made().varsets.tolist(), choice


@SETTINGS
@given(
    st.lists(st.sampled_from([-math.inf, -500.0, -3.0, -2.0, -1.0, 0.0, 0.5, 4.0]), min_size=1, max_size=40),
    st.integers(1, 12),
    st.sampled_from([-math.inf, -700.0, -2.5, 0.0, 1.0]),
    st.sampled_from([-math.inf, -1.0]),
    st.integers(1, 5),
)
def test_what_is_dropped_is_added_up(through, most, log_allowed, before, pieces):
    kept, choice = chosen(through, most, log_allowed, -math.inf, 1, before, pieces)
    assert kept == sorted(kept)
    assert 1 in kept, "it is guarded"
    assert len(kept) <= most
    gone = [log for varset, log in enumerate(through, 1) if varset not in kept]
    total = math.exp(before) + math.fsum(map(math.exp, gone))
    assert total <= math.exp(choice.dropped) <= total * (1 + 1e-3)
    if not choice.capped and before == -math.inf:
        assert total <= math.exp(log_allowed)
    again, other = chosen(through, most, log_allowed, -math.inf, 1, before, 1)
    assert again == kept
    assert other.dropped == pytest.approx(choice.dropped, abs=1e-3)


def test_the_greatest_stay_and_of_equal_ones_the_first():
    kept, choice = chosen([1.0, 3.0, 2.0, 3.0, 2.0], 3)
    assert (kept, choice.capped) == ([2, 3, 4], True)
    assert choice.dropped == pytest.approx(math.log(math.exp(1.0) + math.exp(2.0)), abs=1e-4)


def test_as_much_is_dropped_as_is_allowed():
    kept, choice = chosen([0.0, 0.0, 5.0, 0.0, 0.0], 9, math.log(2.5))
    assert (kept, choice.capped) == ([1, 2, 3], False)
    kept, _ = chosen([0.0, 0.0, 5.0, 0.0, 0.0], 9, math.log(2.5), dropped=math.log(1.0))
    assert kept == [1, 2, 3, 4]


def test_what_brings_less_than_the_floor_goes_at_once():
    kept, choice = chosen([-9.0, 0.0, -8.0], 9, floor=-5.0)
    assert kept == [2]
    assert choice.dropped == pytest.approx(math.log(math.exp(-9.0) + math.exp(-8.0)), abs=1e-4)
