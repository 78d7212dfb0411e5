"""When counting is given up: at the end of its time, or when a size of parent sets cannot be completed in it."""

import pytest

from extbnsl.core.events import StageAdvanced, StageStarted
from extbnsl.solver import gathered as counting_time
from extbnsl.solver.gathered import CountingTime


@pytest.fixture
def at(monkeypatch):
    """Sets the clock."""
    now = [100.0]
    monkeypatch.setattr(counting_time, "clock", lambda: now[0])

    def set_clock(seconds):
        now[0] = 100.0 + seconds

    return set_clock


def advanced(size, share):
    return StageAdvanced("scores", int(1000 * share), 1000, "", detail=f"parent sets of size {size}")


def test_counting_ends_with_its_time_and_not_before(at):
    told = []
    time = CountingTime(110.0, told.append)
    time.observe(StageStarted("scores", ""))
    time.observe(advanced(2, 0.5))
    at(9.9)
    assert not time.over()
    at(10.0)
    assert time.over()
    assert len(told) == 2


def test_a_size_that_takes_longer_than_what_is_left_is_given_up(at):
    time = CountingTime(110.0, lambda event: None)
    at(2.0)
    time.observe(advanced(3, 0.0))
    at(4.0)
    time.observe(advanced(3, 0.2))  # 8 seconds more, of which there are 6
    assert time.over()


def test_a_size_that_fits_goes_on_and_its_time_counts_from_its_own_beginning(at):
    time = CountingTime(110.0, lambda event: None)
    at(1.0)
    time.observe(advanced(2, 0.0))
    at(4.0)
    time.observe(advanced(2, 0.9))
    time.observe(advanced(3, 0.0))
    at(5.0)
    time.observe(advanced(3, 0.2))  # 4 seconds more, of which there are 5
    assert not time.over()


def test_nothing_is_extrapolated_from_little(at):
    time = CountingTime(110.0, lambda event: None)
    time.observe(advanced(2, 0.0))
    at(0.4)
    time.observe(advanced(2, 0.16))
    assert not time.over()
    at(5.0)
    time.observe(advanced(2, 0.1))
    assert not time.over()
    at(5.1)
    time.observe(advanced(2, 0.2))
    assert time.over()
