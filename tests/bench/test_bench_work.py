"""What is timed and how: recorded calls, copies of their arguments, the arithmetic of a timing."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from bench import timing, work
from bench.copies import copies_of
from bench.reference import reference, reference_table
from bench.timing import Timing, rounds_of, timed
from bench.work import Rise, Work, of_run, recorded


class Pair(NamedTuple):
    whole: np.ndarray
    part: np.ndarray


def add_to(array, times):
    """Something that writes to its arguments."""
    array += times
    return int(array.sum())


def caller_of(kernel):
    """A module that knows this kernel."""
    return SimpleNamespace(kernel=kernel)


def test_the_calls_that_do_most_are_recorded_as_they_were(monkeypatch):
    monkeypatch.setattr(work, "MOST_CALLS", 2)
    caller = caller_of(add_to)

    def run():
        array = np.zeros(3)
        for times in (5, 1, 7, 2):
            caller.kernel(array, times)

    found = recorded(caller, "kernel", lambda arguments, result: arguments[1], run)
    assert [(array.tolist(), times) for array, times in found.calls] == [([0, 0, 0], 5), ([6, 6, 6], 7)]
    assert found.units == 12
    assert found.kernel is caller.kernel is add_to


def test_units_may_be_what_a_count_rises_by():
    caller, array = caller_of(add_to), np.array([100])

    def run():
        for times in (5, 1):
            caller.kernel(array, times)

    assert recorded(caller, "kernel", Rise(lambda arguments: arguments[0][0]), run).units == 6


def test_what_does_otherwise_once_more_is_no_benchmark():
    seen = []
    caller = caller_of(lambda array: seen.append(1) or len(seen))
    with pytest.raises(AssertionError, match="kernel does the same once more"):
        recorded(caller, "kernel", lambda arguments, result: 1, lambda: caller.kernel(np.zeros(1)))


def test_a_run_without_such_calls_is_no_benchmark():
    with pytest.raises(AssertionError, match="somebody calls kernel"):
        recorded(caller_of(add_to), "kernel", lambda arguments, result: 1, lambda: None)


def test_a_kernel_that_fails_is_put_back():
    caller = caller_of(add_to)
    with pytest.raises(TypeError):
        recorded(caller, "kernel", lambda arguments, result: 1, lambda: caller.kernel(None, 1))
    assert caller.kernel is add_to


def test_a_benchmark_of_a_run_takes_the_kernel_by_its_name():
    caller = caller_of(add_to)
    benchmark = of_run("a.b.kernel/word", caller, "unit", lambda a, _: a[1], lambda tiny: caller.kernel(np.ones(1), 3))
    assert (benchmark.kernel, benchmark.prepare(True).units) == ("a.b.kernel", 3)


def test_copies_share_memory_as_the_arguments_do():
    whole = np.arange(12.0).reshape(3, 4)
    column = np.asfortranarray(np.arange(6, dtype=np.uint16).reshape(2, 3))
    calls = [(Pair(whole, whole[1:, ::2]), whole.view(np.int64)), (whole, column, [1, "two"], None, 3.0)]
    (pair, ints), (again, own, *others) = copies_of(calls)
    assert isinstance(pair, Pair)
    for copy, array in ((pair.whole, whole), (pair.part, whole[1:, ::2]), (ints, whole.view(np.int64)), (own, column)):
        assert (copy.dtype, copy.strides) == (array.dtype, array.strides)
        np.testing.assert_array_equal(copy, array)
        assert not np.shares_memory(copy, array)
    pair.whole[1, 2] = 99.0
    assert (pair.part[0, 1], again[1, 2], ints.view(np.float64)[1, 2]) == (99.0, 99.0, 99.0)
    assert whole[1, 2] == 6.0
    assert others == [[1, "two"], None, 3.0]
    assert others[0] is not calls[1][2]


def test_arrays_of_any_kind_are_copied():
    arrays = np.zeros(0), np.zeros((3, 0)), np.array(5.0), np.broadcast_to(np.arange(2), (3, 2)), np.arange(9)[::-1]
    for array, copy in zip(arrays, copies_of([arrays])[0], strict=True):
        assert (copy.dtype, copy.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(copy, array)


def test_a_timing_is_the_least_of_its_repeats(monkeypatch):
    own = iter([9.0, 0.5, *(0.4, 0.3, 0.6)])  # compiling, how long it takes, and three repeats
    loop = iter([0.08, 0.02, 0.04])
    monkeypatch.setattr(timing, "_seconds", lambda work: next(own))
    monkeypatch.setattr(timing, "_reference_seconds", lambda: next(loop))
    monkeypatch.setattr(timing, "STEPS", 1_000_000)
    found = timed(Work(add_to, [], 100_000), repeats=3)
    assert found.ns == pytest.approx(3000.0)
    assert found.reference_ns == pytest.approx(20.0)
    assert found.ratio == pytest.approx(150.0)


def test_short_work_is_done_several_times(monkeypatch):
    assert rounds_of(0.01, 0.011) == 5
    assert rounds_of(10.0, 10.0) == rounds_of(0.0, 1.0) == 1
    assert rounds_of(0.001, 0.09) == 3, "copies take most of the time"
    done = []
    monkeypatch.setattr(timing, "_seconds", lambda work: done.append(1) or 0.01 * len(done))
    monkeypatch.setattr(timing, "_reference_seconds", lambda: 1.0)
    monkeypatch.setattr(timing, "rounds_of", lambda seconds, wall_seconds: 4)
    found = timed(Work(add_to, [], 1), repeats=2)
    assert len(done) == 2 + 2 * 4
    assert found.ns == pytest.approx(1e9 * np.mean([0.03, 0.04, 0.05, 0.06]))


def test_only_calls_count_not_their_copies(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(timing.time, "process_time", lambda: next(clock))
    seen = []
    assert timing._seconds(Work(lambda array: seen.append(array), [(np.ones(1),)] * 2, 1)) == 1
    assert len(seen) == 2


def test_the_reference_is_the_same_work_every_time():
    tables = reference_table(), reference_table()
    assert reference(10_000, tables[0]) == reference(10_000, tables[1]) != reference(10_100, reference_table())
    np.testing.assert_array_equal(*tables)
    assert Timing(6.0, 2.0).ratio == 3.0
