"""Arrays that lie in memory or on disk: the same values, counted as long as they are there, and no files left."""

import errno
import gc
import os
from pathlib import Path

import numpy as np
import pytest

from extbnsl.core.errors import BudgetError
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store


def room(folder, memory=1000, disk=10_000):
    return Shelf(memory, Store(folder, disk))


def test_what_does_not_fit_memory_lies_on_disk(tmp_path):
    store = Store(tmp_path, 10_000)
    held = Shelf(1000, store)
    arrays = [np.arange(i, i + 100, dtype=np.float64) for i in range(4)]
    kept = [held.put(array) for array in arrays]
    assert (held.held, held.on_disk, store.used) == (800, 2400, 2400)
    assert kept[0] is arrays[0]
    for array, other in zip(arrays, kept, strict=True):
        assert type(other) is np.ndarray
        assert np.array_equal(array, other)
        assert other.flags.writeable  # for the kernels it is an array like any other
    assert not os.listdir(tmp_path)
    del kept[:], array, other
    gc.collect()
    assert (held.held, held.on_disk, store.used) == (800, 0, 0)  # the caller still has the first
    arrays.clear()
    assert held.held == 0
    assert store.peak == 2400


@pytest.mark.parametrize("memory", [0, 1 << 20])
@pytest.mark.parametrize(("shape", "dtype"), [((0,), np.uint64), ((5, 3), np.uint64), ((7,), np.uint8)])
def test_rows_are_filled_in_any_order(tmp_path, memory, shape, dtype):
    values = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    column = room(tmp_path, memory).column(shape, dtype)
    for i in reversed(range(shape[0])):
        column.fill(i, values[i : i + 1])
    assert column.array().dtype == dtype
    assert np.array_equal(column.array(), values)


def test_a_part_of_a_larger_array_does_not_hold_it(tmp_path):
    large = np.arange(100_000.0)
    part = room(tmp_path).put(large[10:20])
    assert part.base is None
    assert np.array_equal(part, large[10:20])


def test_no_room_in_memory_or_on_disk(tmp_path):
    held = room(tmp_path, 100, 1000)
    assert held.fits(1100)
    assert not held.fits(1101)
    first = held.put(np.zeros(100))
    assert first.nbytes == held.on_disk == 800
    assert not held.fits(400)
    with pytest.raises(BudgetError, match=r"no room left within the disk budget"):
        held.put(np.zeros(50))
    del first
    assert held.put(np.zeros(100)).size == 100


@pytest.mark.parametrize("call", ["posix_fallocate", "pwrite"])
def test_a_full_disk_is_said(tmp_path, failing, call):
    held = room(tmp_path, 0)
    failing(f"os.{call}", errno.ENOSPC)
    with pytest.raises(BudgetError, match=r"full|No space left"):
        held.put(np.zeros(5))
    assert held.on_disk == 0
    assert not os.listdir(tmp_path)


def test_writing_goes_on_where_the_system_stopped(tmp_path, monkeypatch):
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda descriptor, data, at: real(descriptor, data[:3], at))
    assert room(tmp_path, 0).put(np.arange(9.0)).tolist() == list(range(9))


def test_pages_that_were_read_leave_memory(tmp_path, sizes):
    sizes(PAGES_HELD=1000)
    held = room(tmp_path, 0, 1 << 30)
    array = held.put(np.arange(1 << 19, dtype=np.float64))

    def resident():
        """Bytes of the mapping that this process has in memory."""
        rows = iter(Path("/proc/self/smaps").read_text().splitlines())
        for row in rows:
            if row.endswith("(deleted)") and str(tmp_path) in row:
                return next(int(r.split()[1]) << 10 for r in rows if r.startswith("Rss:"))
        raise AssertionError("it is mapped")

    assert array.sum() == (1 << 18) * ((1 << 19) - 1)
    assert resident() == array.nbytes
    held.touched(999)
    assert resident() == array.nbytes
    held.touched(1)
    assert resident() == 0
    assert array[-1] == (1 << 19) - 1
