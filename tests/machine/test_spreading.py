"""Spreading tasks over hands: the same results in the same order whatever the hands do; losses, ends, stops."""

import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
from fake_hands import WAYS, FakeHands, hands_that_are

import extbnsl.machine.hands
import extbnsl.machine.spreading
from extbnsl.core.claims import NO_WORKERS
from extbnsl.core.errors import BudgetError, RunDirectoryError
from extbnsl.machine.hands import LARGE, Driver, Lost, Parcels, Part, difference, done_by, told_of_this, unpacked
from extbnsl.machine.spreading import OUT_PER_SLOT
from extbnsl.machine.workers import Stopped, Workers

TABLE = np.arange(LARGE, dtype=np.float64)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    """Threads have no time for themselves."""
    monkeypatch.setattr(extbnsl.machine.spreading, "START_SECONDS", 0.0)


def entry(number, table, halt):
    """A task: an entry of a table, and what can be seen of how it travelled."""
    assert halt[0] == 0
    assert table.flags.writeable
    assert table.flags.aligned
    return number, float(table[number]), np.full(3, number)


def of_none(number):
    """A task that fails at one number."""
    if number == 7:
        raise ValueError(f"no {number}")
    return number


def until_halted(number, halt):
    """A task that only a halt ends."""
    while not halt[0]:
        time.sleep(0.002)
    return number


def alone(number, seconds):
    """A task that takes its time."""
    time.sleep(seconds)
    return number


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("sized", [True, False])
def test_the_same_results_whatever_hands_do(way, ordered, sized):
    with Workers(2, hands=hands_that_are(way)) as workers:
        tasks = [(number, TABLE, workers.halt) for number in range(60)]
        found = list(workers.spread(entry, tasks if sized else iter(tasks), 8, ordered=ordered))
    numbers = [number for number, _, _ in found]
    assert (numbers if ordered else sorted(numbers)) == list(range(60))
    for number, value, array in found:
        assert value == TABLE[number]
        assert array.tolist() == [number] * 3
        assert array.flags.writeable


def test_no_tasks_and_one():
    with Workers(1, hands=FakeHands()) as workers:
        assert list(workers.spread(alone, [], 4)) == []
        assert list(workers.spread(alone, [(1, 0.0)], 4)) == [1]


def test_tasks_are_asked_for_as_they_are_sent():
    asked = []

    def tasks():
        for number in range(40):
            asked.append(number)
            yield number, 0.002

    hands = FakeHands(slots=2)
    with Workers(1, hands=hands) as workers:
        results = workers.spread(alone, tasks(), 4)
        assert next(results) == 0
        assert len(asked) <= 1 + 2 * extbnsl.machine.spreading.OUT_PER_SLOT
        assert list(results) == list(range(1, 40))


def test_what_a_task_raises_is_raised_once_and_ends_the_others():
    hands = FakeHands()
    with Workers(1, hands=hands) as workers, pytest.raises(ValueError, match="no 7"):
        list(workers.spread(of_none, [(number,) for number in range(30)], 4))
    assert hands.given_up


def test_short_streams_are_never_sent(monkeypatch):
    monkeypatch.setattr(extbnsl.machine.spreading, "START_SECONDS", 60.0)
    hands = FakeHands()
    with Workers(2, hands=hands) as workers:
        assert list(workers.spread(alone, [(number, 0.0) for number in range(50)], 4)) == list(range(50))
    assert hands.bundles == []


def test_long_tasks_are_sent_at_once(monkeypatch):
    monkeypatch.setattr(extbnsl.machine.spreading, "START_SECONDS", 0.3)
    for lasting, sent in ((0.2, 0), (0.4, 6)):
        hands = FakeHands(slots=2)
        with Workers(2, hands=hands) as workers:
            found = list(workers.spread(alone, [(number, 0.0) for number in range(6)], 4, lasting=lasting))
        assert found == [*range(6)]
        assert sum(hands.bundles) == sent


def test_tasks_that_no_thread_has_begun_are_sent(monkeypatch):
    monkeypatch.setattr(extbnsl.machine.spreading, "START_SECONDS", 0.1)
    hands = FakeHands(slots=4)
    with Workers(1, hands=hands) as workers:
        assert list(workers.spread(alone, [(number, 0.4) for number in range(9)], 4)) == list(range(9))
    assert 7 <= sum(hands.bundles) <= 8


def test_bundles_last_about_a_second_and_never_take_the_last_of_a_sized_stream():
    hands = FakeHands(slots=2)
    with Workers(1, hands=hands) as workers:
        list(workers.spread(alone, [(number, 0.001) for number in range(400)], 4))
    assert max(hands.bundles) > 10
    assert hands.bundles[-1] < 10
    assert sum(hands.bundles) == 400


def test_bundles_are_small_where_there_is_no_room_for_results():
    hands = FakeHands(slots=2)
    hands.room = 1 << 10
    with Workers(1, hands=hands) as workers:
        list(workers.spread(entry, [(number, TABLE, workers.halt) for number in range(100)], 4))
    assert max(hands.bundles) <= 3


def test_a_stop_halts_tasks_elsewhere_and_here():
    reason = None
    hands = FakeHands()
    with Workers(1, lambda: reason, hands) as workers:
        results = workers.spread(until_halted, [(number, workers.halt) for number in range(6)], 4)
        reason = "interrupted"
        with pytest.raises(Stopped, match="interrupted"):
            next(results)
        hands._pool.shutdown(wait=True)  # which all tasks end for


def test_what_is_cut_short_never_counts_as_done():
    body, parts = Parcels(FakeHands(), np.zeros(1, np.uint8), lambda: None).packed(alone, [(1, 0.0)])
    assert unpacked(done_by(Driver("driver", told_of_this()), "one", body)).results == [1]
    hands = FakeHands(seed=5)
    hands.give_up("two")
    with pytest.raises(Lost):
        unpacked(done_by(hands._driver, "two", body, *parts))


def test_a_process_that_is_none_that_is_needed_does_nothing(tmp_path):
    body, _ = Parcels(FakeHands(), np.zeros(1, np.uint8), lambda: None).packed(alone, [(1, 0.0)])
    here, mark = told_of_this(), tmp_path / "mark"
    mark.write_text("this one")
    for told, seen, does in [
        (here, None, True),
        (here, (str(mark), "this one"), True),
        (here, (str(mark), "another"), False),
        (here, (str(tmp_path / "none"), "this one"), False),
        (here | {"numba": "0"}, None, False),
    ]:
        answer = done_by(Driver("one", told, seen), "three", body)
        if does:
            assert unpacked(answer).results == [1]
        else:
            with pytest.raises(Lost):
                unpacked(answer)


def test_all_workers_gone_for_too_long():
    hands = FakeHands(slots=0)
    hands.missing = 31.0
    with Workers(1, hands=hands) as workers, pytest.raises(Stopped, match=NO_WORKERS):
        list(workers.spread(alone, [(number, 0.0) for number in range(4)], 4))
    assert hands.nobody


def test_workers_that_come_back_go_on():
    hands = FakeHands(slots=0)
    hands.missing = 1.0

    def tasks():
        yield 0, 0.0
        hands.missing, hands._slots = 0.0, 2
        yield from ((number, 0.0) for number in range(1, 10))

    with Workers(1, hands=hands) as workers:
        results = workers.spread(alone, tasks(), 4)
        hands._slots = 1
        assert list(results) == list(range(10))


def test_a_bundle_that_is_lost_thrice_is_done_here():
    hands = FakeHands(lose=1.0)
    with Workers(1, hands=hands) as workers:
        assert list(workers.spread(alone, [(1, 0.0)], 4)) == [1]
    assert len(hands.bundles) == extbnsl.machine.spreading.MOST_LOSSES


def test_hands_that_take_nothing_leave_it_to_the_driver():
    hands = FakeHands()

    def refuse(*given):
        raise Lost

    hands.send = refuse
    with Workers(1, hands=hands) as workers:
        assert list(workers.spread(alone, [(number, 0.0) for number in range(5)], 4)) == list(range(5))


def test_large_arrays_are_put_once_and_released():
    hands, halt = FakeHands(), np.zeros(1, np.uint8)
    parcels, table = Parcels(hands, halt, lambda: None), TABLE.copy()
    for number in range(3):
        body, parts = parcels.packed(entry, [(number, table, halt), (number + 1, table, halt)])
        assert len(parts) == 1
        assert len(body) < 1000
    assert len(hands._parts) == 1
    seen = weakref.ref(table)
    del table
    gc.collect()
    assert seen() is None
    assert parcels._put == {}


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4),
        np.asfortranarray(np.arange(12).reshape(3, 4)),
        np.arange(12, dtype=np.uint16)[::2],
        np.zeros(0),
        np.frombuffer(bytes(range(1, 26)), np.uint8)[1:].view(np.float64),  # which is not aligned, and read alone
    ],
    ids=["rows", "columns", "strided", "empty", "unaligned"],
)
def test_arrays_arrive_as_they_were(array):
    arrived = pickle.loads(pickle.dumps(Part(array), 5)).array
    assert arrived.dtype == array.dtype
    assert arrived.tobytes() == array.tobytes()
    assert arrived.flags.aligned
    assert arrived.flags.writeable == array.flags.writeable
    assert arrived.flags.f_contiguous == array.flags.f_contiguous or not array.flags.c_contiguous


def test_a_mapped_array_arrives_as_an_array(tmp_path):
    mapped = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.int64, (LARGE,))
    mapped[:] = 3
    arrived = pickle.loads(pickle.dumps(Part(mapped), 5)).array
    assert type(arrived) is np.ndarray
    assert arrived.sum() == 3 * LARGE


def test_what_makes_a_worker_another():
    here = told_of_this()
    assert difference(here | {"host": "elsewhere"}, here) == ""
    assert "sources" in difference(here | {"extbnsl": "0"}, here)
    assert difference(here | {"Python": "3.99 (CPython)"}, here).startswith("it has Python 3.99 (CPython), where")
    assert "numpy 1.0" in difference(here | {"numpy": "1.0"}, here)
    assert "rounds" in difference(here | {"arithmetic": "0"}, here)
    assert "numba None" in difference({name: told for name, told in here.items() if name != "numba"}, here)


def test_a_driver_that_is_silent_halts_its_work_alone(monkeypatch):
    monkeypatch.setattr(extbnsl.machine.hands, "DRIVER_SECONDS", 0.5)
    work = extbnsl.machine.hands._Work()
    silent, heard = work.halt_of("silent", "a"), work.halt_of("heard", "a")
    end = time.monotonic() + 10.0
    while not silent[0] and time.monotonic() < end:
        work.hear("heard", ())
        time.sleep(0.1)
    assert silent[0]
    assert not heard[0]
    assert not work.halt_of("silent", "a")[0]  # it is heard again, and its next bundles are done
    assert silent[0]


CPU = Path("/proc/cpuinfo")


@pytest.mark.skipif(not CPU.exists() or "fma" not in CPU.read_text(), reason="this processor has one way only")
def test_a_processor_that_rounds_otherwise_is_told_apart():
    """As a process sees it that may not use some of what this processor has."""
    less = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"}
    told = "from extbnsl.machine.hands import told_of_this as t; print(t()['arithmetic'])"
    command = [sys.executable, "-c", told]
    done = [
        subprocess.run(command, env=os.environ | own, capture_output=True, text=True, check=True, timeout=60).stdout
        for own in ({}, {}, less)
    ]
    assert done[0] == done[1] != done[2]


class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")

    def __reduce_ex__(self, protocol):  # distributed, once it is loaded, lets others travel that could not
        raise TypeError("it does not travel")


def failing(error):
    """A task that fails in the threads of `FakeHands`."""
    if threading.current_thread().name.startswith("ThreadPoolExecutor"):
        raise error
    return 7


@pytest.mark.parametrize("error", [OSError, MemoryError, BudgetError, RunDirectoryError])
def test_what_fails_a_worker_alone_is_done_by_the_driver(error):
    with Workers(1, hands=FakeHands()) as workers:
        assert list(workers.spread(failing, [(error,)] * 3, 4)) == [7] * 3


def test_an_error_that_cannot_travel_is_told_in_words():
    with Workers(1, hands=FakeHands()) as workers, pytest.raises(RuntimeError, match="Odd: 1 and 2"):
        list(workers.spread(odd, [()], 4))


def odd():
    raise Odd(1, 2)


def test_so_much_comes_back_at_a_time_as_there_is_room_for(monkeypatch):
    """Also when it is not known yet how much that is."""
    monkeypatch.setattr(extbnsl.machine.spreading, "START_SECONDS", 0.2)
    hands = FakeHands(slots=2)
    hands.room = 1 << 20
    with Workers(1, hands=hands) as workers:
        assert len(list(workers.spread(bytes, [(1 << 16,)] * 5000, 4))) == 5000
    assert max(hands.bundles) * hands.slots * OUT_PER_SLOT <= 16


def test_tasks_are_not_begun_faster_than_the_driver_ends_them():
    """When it has to do them all, as those that it sends do not come back."""
    taken = []
    tasks = ((taken.append(number) or number, 0.01) for number in range(400))
    with Workers(1, hands=FakeHands(lose=1.0, slots=4)) as workers:
        for number, _ in enumerate(workers.spread(alone, tasks, 4)):
            assert len(taken) < number + 100


def test_a_part_tells_its_size():
    assert sys.getsizeof(Part(TABLE)) > TABLE.nbytes
