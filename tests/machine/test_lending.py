"""Values that processes of one machine look at together."""

import errno
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from extbnsl.machine import lending
from extbnsl.machine.lending import Lent

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no memory to lend")

LOOK = """
import pickle, sys
import numpy as np
array = pickle.load(sys.stdin.buffer).value
flags = array.flags
found = array.copy()
if flags.writeable:
    array[...] = 0
pickle.dump((found, flags.writeable, flags.c_contiguous, flags.f_contiguous), sys.stdout.buffer)
"""


def seen_elsewhere(lent):
    """What another process sees, and whether it may write, and how the array lies; it writes where it may."""
    run = subprocess.run([sys.executable, "-c", LOOK], input=pickle.dumps(lent), capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    return pickle.loads(run.stdout)


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4),
        np.asfortranarray(np.arange(12).reshape(3, 4)),
        read_only(np.arange(5, dtype=np.uint16)),
        np.arange(24).reshape(4, 6)[::2, ::3],
        np.array([True, False]),
        np.zeros(3, [("a", "u1"), ("b", "f8")]),
    ],
)
def test_another_process_sees_it_as_it_is_and_changes_nothing(array):
    lent, before = Lent(array), array.copy()
    for _ in range(2):
        found, writable, by_rows, by_columns = seen_elsewhere(lent)
        assert np.array_equal(found, before)
        assert found.dtype == array.dtype
        assert writable == array.flags.writeable
        if array.flags.c_contiguous or array.flags.f_contiguous:
            assert (by_rows, by_columns) == (array.flags.c_contiguous, array.flags.f_contiguous)
    assert np.array_equal(array, before)


def test_a_process_maps_it_once_and_lets_it_go():
    lent = Lent(np.arange(9))
    first = lent.value
    assert np.shares_memory(pickle.loads(pickle.dumps(lent)).value, first)
    del first
    assert not lending._mapped
    assert lent.value.tolist() == list(range(9))


def test_what_is_held_stays_though_its_owner_gives_it_up():
    lent = Lent(np.arange(9))
    told, given_up = pickle.loads(pickle.dumps(lent)), pickle.loads(pickle.dumps(lent))
    told.hold()
    del lent
    assert told.value.tolist() == list(range(9))
    del told
    with pytest.raises(OSError, match=os.strerror(errno.ENOENT)):
        given_up.hold()


def test_what_is_lent_may_have_any_values_and_many_arrays():
    arrays = [np.arange(1000.0), np.zeros((0, 3)), read_only(np.arange(7, dtype=np.uint8)), np.eye(5)[::2, ::2]]
    value = ({"several": arrays, "same": arrays[0]}, 3.5, None)
    lent = Lent(value)
    found = pickle.loads(pickle.dumps(lent)).value
    for own, before in zip(found[0]["several"], arrays, strict=True):
        assert np.array_equal(own, before)
        assert own.dtype == before.dtype
        assert own.flags.writeable == before.flags.writeable
    assert found[0]["same"] is found[0]["several"][0]
    assert found[1:] == (3.5, None)


def test_what_was_given_up_is_not_taken_for_another_that_has_its_number():
    lent = Lent(np.arange(9))
    told = pickle.dumps(lent)
    del lent
    other = Lent(np.zeros(9))
    with pytest.raises(OSError, match=os.strerror(errno.ESTALE)):
        _ = pickle.loads(told).value
    assert other.value.sum() == 0


def test_it_ends_with_its_owner():
    before = len(os.listdir("/proc/self/fd"))
    lent = [Lent(np.arange(100)) for _ in range(5)]
    assert len(os.listdir("/proc/self/fd")) == before + 5
    del lent
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_system_without_it_says_so(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(OSError, match=os.strerror(errno.ENOTSUP)):
        Lent(np.arange(3))
