"""Workers: results in order, stops and failures noticed, nothing left running, and nobody waited for in vain."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from extbnsl.kernels.compiler import njit
from extbnsl.machine.workers import POLL_SECONDS, Stopped, Workers, chunks, halted_after, never

GRACE = 0.3
PATIENCE = 60  # seconds until a process is taken to hang, on a busy machine


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


@njit
def spin(over, turns):
    """Turn until over[0] is set: deaf to everything else."""
    while not over[0]:
        turns[0] += 1


def sleep(over, turns):
    while not over[0]:
        time.sleep(0.01)
        turns[0] += 1


@pytest.fixture
def over(sizes):
    """What ends the deaf tasks of a test, at its end."""
    sizes({"workers.GRACE_SECONDS": GRACE})
    over, turns = np.zeros(1, np.uint8), np.zeros(1, np.int64)
    spin(np.ones(1, np.uint8), turns)  # is compiled
    yield over
    over[0] = 1


@pytest.mark.parametrize("deaf", [spin, sleep])
def test_a_deaf_task_is_left_behind(deaf, over):
    stops = threading.Event()
    turns, halts = np.zeros(1, np.int64), []
    began = time.monotonic()
    with Workers(2, lambda: "interrupted" if stops.is_set() else None) as workers:
        halt = workers.halt

        def hear(_):
            stops.set()
            while not halt[0]:
                time.sleep(0.01)
            halts.append(halt[0])

        with pytest.raises(Stopped) as stop:
            workers.map(lambda task, *a: task(*a), [(deaf, over, turns), (hear, None)])
        assert stop.value.deaf
        assert halts == [1]
        assert halt[0] == 1  # for good
        assert workers.halt is not halt
        assert workers.halt[0] == 1  # it is still time to stop
        before = turns[0]
        stops.clear()
        assert workers.map(lambda k: k, [(k,) for k in range(20)]) == list(range(20))  # by others
        list(workers.stream(lambda k: k, [(k,) for k in range(20)], 4, lambda k: None))
    assert time.monotonic() - began < PATIENCE
    time.sleep(0.1)
    assert turns[0] > before  # it goes on


def test_a_stream_leaves_deaf_tasks_behind_and_forgets_the_others(over):
    forgotten, turns = [], np.zeros(1, np.int64)
    with Workers(2) as workers:

        def task(k):
            if k == 1:
                sleep(over, turns)
            return k

        results = workers.stream(task, [(k,) for k in range(4)], 4, forgotten.append)
        assert next(results) == 0
        while not turns[0]:
            time.sleep(0.01)
        results.close()
    assert set(forgotten) <= {2, 3}
    assert workers.halt[0] == 0


def test_what_the_calling_thread_asks_for_waits_behind_nothing():
    waits = threading.Event()
    with Workers(1) as workers:
        results = workers.stream(lambda k: k or waits.wait(PATIENCE), [(0,), (1,)], 2, lambda k: None)
        threading.Timer(0.05, lambda: workers.run(waits.set)).start()
        assert list(results) == [True, 1]
        with pytest.raises(ZeroDivisionError):
            workers.run(lambda a, b: a / b, 1, 0)


def test_what_is_left_after_a_stop():
    stops = threading.Event()
    with Workers(1, lambda: "interrupted" if stops.is_set() else None) as workers:
        assert workers.left_of(0.2) == 0.2
        stops.set()
        assert workers.left_of(0.2) == 0.2  # nobody has noticed
        for _ in range(2):
            with pytest.raises(Stopped):
                workers.run(time.sleep, 0.0)
        assert 0.0 < workers.left_of(PATIENCE) < PATIENCE
        time.sleep(0.2)
        assert workers.left_of(0.2) == 0.0


def test_stopped_tells_that_all_have_ended(over):
    with Workers(2, lambda: "interrupted") as workers:
        with pytest.raises(Stopped) as stop:
            workers.map(time.sleep, [(0.05,), (0.05,)])
        assert not stop.value.deaf


END = """
import time

import numba
import numpy as np

import extbnsl.machine.workers as module

@numba.njit(nogil=True)
def spin(over, turns):
    while not over[0]:
        turns[0] += 1

module.GRACE_SECONDS = 0.3
over, turns = np.ones(1, np.uint8), np.zeros(1, np.int64)
spin(over, turns)
over[0] = 0
begun = time.monotonic()
try:
    with module.Workers(2, lambda: "interrupted" if time.monotonic() > begun + 0.3 else None) as workers:
        workers.map(lambda task, *a: task(*a), [(spin, over, turns), (time.sleep, 1000)])
except module.Stopped as stop:
    print(stop.reason, stop.deaf, flush=True)
"""


@pytest.mark.slow
def test_a_process_ends_without_its_deaf_tasks():
    ended = subprocess.run([sys.executable, "-c", END], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert ended.stdout == "interrupted True\n"


def test_a_kernel_in_the_own_thread_is_halted_in_time():
    turns = np.zeros(1, np.int64)
    spin(np.ones(1, np.uint8), turns)
    with halted_after(0.1) as halt:
        spin(halt, turns)
    with halted_after(0.1) as halt:
        pass
    time.sleep(0.2)
    assert halt[0] == 0


@pytest.mark.parametrize(
    ("total", "size", "first"), [(0, 3, 0), (7, 3, 0), (9, 3, 0), (9, 4, 5), (5, 1, 0), (5, 100, 2)]
)
def test_chunks_cover(total, size, first):
    ranges = chunks(total, size, first)
    assert [i for lo, hi in ranges for i in range(lo, hi)] == list(range(first, total))
    assert all(0 < hi - lo <= size for lo, hi in ranges)
