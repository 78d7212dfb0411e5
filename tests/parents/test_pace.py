"""What is said of how far counting is: it goes on evenly, never back, and to the end."""

import math

import numpy as np
import pytest
from cases import random_dataset
from hypothesis import given
from hypothesis import strategies as st

from extbnsl.core.claims import Claim
from extbnsl.core.events import StageAdvanced
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import temporary_store
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.pace import LAST_STEPS, STEPS, Pace
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self):
        return self.now


def shares(n, limits, each, known):
    """(true, told) at each step of a counting whose varsets of a size take each[size] CPU seconds; `known` says which
    part of those possible are needed."""
    clock, largest = Clock(), int(max(limits))
    pace = Pace(np.array(limits), largest, clock)
    varsets = [known[size] * math.comb(n, size + 1) for size in range(largest + 1)]
    taken = [count * seconds for count, seconds in zip(varsets, each, strict=True)]
    whole = sum(sum(STEPS[: LAST_STEPS if size == largest else 5]) * taken[size] for size in range(largest + 1)) or 1.0
    told = []
    for size in range(largest + 1):
        steps = STEPS[: LAST_STEPS if size == largest else 5]
        for step, weight in enumerate(steps):
            if step == 1:
                pace.needs(size, round(varsets[size]))
            for part in (0.0, 0.5):
                told.append((clock.now / whole, pace.share(size, step, part)))
                clock.now += weight * taken[size] / 2
        pace.ended(size)
    return [*told, (clock.now / whole, pace.share(largest, len(STEPS), 0.0))]


def test_it_goes_on_as_the_time_does_though_the_last_sizes_take_nearly_all_of_it():
    """Before there were weights, a size of a second counted as much as one of an hour."""
    told = shares(40, [6] * 40, [1e-6 * 1.2**k for k in range(7)], [1, 1, 1, 1, 1, 0.9, 0.6])
    assert max(abs(share - true) for true, share in told) < 0.15


@given(st.integers(3, 30), st.data())
def test_it_never_falls_and_ends_at_one(n, data):
    limits = data.draw(st.lists(st.integers(0, min(6, n - 1)), min_size=n, max_size=n))
    sizes = max(limits) + 1
    each = data.draw(st.lists(st.floats(1e-9, 1.0), min_size=sizes, max_size=sizes))
    known = data.draw(st.lists(st.floats(0.5, 1.0), min_size=sizes, max_size=sizes))
    told = [share for _, share in shares(n, limits, each, known)]
    assert told == sorted(told)
    assert told[0] >= 0.0
    assert told[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("score", ["mdl", "bdeu"])
def test_counting_tells_it_at_every_size(score, tmp_path):
    events = []
    dataset = random_dataset(np.random.default_rng(1), 9, 300)
    with Workers(1) as workers, temporary_store(tmp_path) as store:
        surviving_families(dataset, Claim(score), Means(workers, Shelf(1 << 28, store), events.append))
    wholes = [event.whole for event in events if isinstance(event, StageAdvanced)]
    assert len(set(wholes)) > 5
    assert wholes == sorted(wholes)
    assert wholes[-1] > 0.5
