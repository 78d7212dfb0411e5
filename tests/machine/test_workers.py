"""Workers: results in order, stops and failures noticed, nothing left running."""

import threading
import time

import pytest

from extbnsl.machine.workers import POLL_SECONDS, Stopped, Workers, chunks, never


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order(threads):
    with Workers(threads) as workers:

        def late_first(k):
            time.sleep(0.002 * (10 - k))
            return k * k

        assert workers.map(late_first, [(k,) for k in range(10)]) == [k * k for k in range(10)]
        assert workers.map(late_first, []) == []
        assert workers.map(lambda a, b: a + b, [(1, 2), (3, 4)]) == [3, 7]


def test_tasks_run_side_by_side():
    barrier = threading.Barrier(3, timeout=5)
    with Workers(3) as workers:
        workers.map(lambda _: barrier.wait(), [(k,) for k in range(3)])


@pytest.mark.parametrize("threads", [1, 3])
def test_a_failure_is_raised(threads):
    def fail(k):
        if k == 4:
            raise ValueError("four")
        return k

    with Workers(threads) as workers:
        with pytest.raises(ValueError, match="four"):
            workers.map(fail, [(k,) for k in range(40)])
        assert workers.map(lambda k: k, [(1,)]) == [1]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_stop_ends_the_work(threads):
    done = []

    def task(k):
        time.sleep(0.01)
        done.append(k)

    started = time.monotonic()
    with Workers(threads, lambda: "time_limit" if time.monotonic() > started + 0.1 else None) as workers:
        with pytest.raises(Stopped) as stop:
            workers.map(task, [(k,) for k in range(10_000)])
        finished = len(done)
        assert stop.value.reason == "time_limit"
        assert workers.halt[0] == 1
        time.sleep(0.05)
        assert len(done) == finished
    assert finished < (POLL_SECONDS + 2) * 100 * threads


def test_check():
    with Workers(1, lambda: "interrupted") as workers:
        with pytest.raises(Stopped, match="interrupted"):
            workers.check()
        with pytest.raises(Stopped):
            workers.map(lambda: None, [()])
    with Workers(1) as workers:
        workers.check()
        assert workers.halt[0] == 0
    assert never() is None


@pytest.mark.parametrize(
    ("total", "size", "first"), [(0, 3, 0), (7, 3, 0), (9, 3, 0), (9, 4, 5), (5, 1, 0), (5, 100, 2)]
)
def test_chunks_cover(total, size, first):
    ranges = chunks(total, size, first)
    assert [i for lo, hi in ranges for i in range(lo, hi)] == list(range(first, total))
    assert all(0 < hi - lo <= size for lo, hi in ranges)
