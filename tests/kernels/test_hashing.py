"""The mixer against its reference, and tables of slots against a dict."""

import numba
import numpy as np
import pytest

from extbnsl.kernels.hashing import GOLDEN, extended, first_slot, hashed, mixed, next_slot, slot_of, spread
from extbnsl.kernels.random import random_words


@numba.njit
def each(keys):
    """The hashes of keys, (4, m)."""
    found = np.empty((4, keys.size), np.uint64)
    for i in range(keys.size):
        found[0, i], found[1, i], found[2, i] = mixed(keys[i]), hashed(keys[i]), spread(keys[i])
        found[3, i] = extended(spread(keys[i]), keys[i])
    return found


@numba.njit
def numbered(keys, slots):
    """The number of each key, in the order in which they come."""
    own, numbers, count = np.empty(keys.size, np.uint64), np.empty(keys.size, np.int64), 0
    for i in range(keys.size):
        at = slot_of(keys[i], mixed(keys[i]), own, slots)
        if not slots[at]:
            own[count] = keys[i]
            count += 1
            slots[at] = count
        numbers[i] = slots[at] - 1
    return numbers


@numba.njit
def walked(hash_, slots):
    """The slots in the order in which a search looks at them."""
    found = np.empty(slots.size, np.int64)
    at = first_slot(hash_, slots)
    for i in range(slots.size):
        found[i] = at
        at = next_slot(at, slots)
    return found


def test_hashes_are_those_of_splitmix64():
    """The first numbers that Vigna's splitmix64.c gives from the seeds 0 and 1234567."""
    keys = np.array([0, 1234567], np.uint64)
    assert each(keys)[1].tolist() == [0xE220A8397B1DCDAF, 6457827717110365317]
    np.testing.assert_array_equal(each(keys)[1], mixed.py_func(keys + GOLDEN))


def test_random_words_stay_what_they_were():
    assert random_words(0, 2).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


def test_neighbours_are_far_apart():
    found = each(np.arange(1 << 12, dtype=np.uint64))
    for hashes in found:
        assert np.unique(hashes >> np.uint64(32)).size > 4090
    assert np.bitwise_count(found[:2, 1:] ^ found[:2, :-1]).mean() == pytest.approx(32, abs=0.5)


@pytest.mark.parametrize(("most", "count"), [(50, 300), (1 << 20, 5000), (1 << 63, 3000)])
def test_a_table_is_a_dict(most, count):
    keys = np.random.default_rng(count).integers(0, most, count).astype(np.uint64)
    keys[::7] = 2**64 - 1
    twin = {}
    expected = [twin.setdefault(key, len(twin)) for key in keys.tolist()]
    for slots in (len(twin) + 1, 2 * count):
        assert numbered(keys, np.zeros(slots, np.int32)).tolist() == expected


def test_a_search_goes_around():
    for size in (1, 2, 3, 100):
        for hash_ in (0, 1 << 63, 2**64 - 1):
            found = walked(np.uint64(hash_), np.zeros(size, np.int32))
            assert found[0] == (hash_ >> 32) * size >> 32
            assert sorted(found.tolist()) == list(range(size))
