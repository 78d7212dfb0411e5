"""Resamples against records that are drawn one by one."""

import numpy as np
import pytest
from cases import dataset_of, numbers_of, random_dataset
from data_invariants import check_dataset, check_numbers

from extbnsl.data import Numbers, resampling
from extbnsl.data.resampling import resampling_of

WORD = 2**64


def drawn_one_by_one(dataset, seed, number):
    """The records of a resample, each chosen by a number of splitmix64 from the sorted records."""
    records = sorted((dataset.values if isinstance(dataset, Numbers) else dataset.codes).tolist())
    chosen = []
    for at in range(len(records)):
        block, place = divmod(at, resampling.DRAWN)
        z = ((seed + 2**32 * number + 2**52 * block) * 0xD1342543DE82EF95 + place + 1) * 0x9E3779B97F4A7C15 % WORD
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % WORD
        z = (z ^ z >> 27) * 0x94D049BB133111EB % WORD
        chosen.append(records[(z ^ z >> 31) % len(records)])
    return sorted(chosen)


@pytest.mark.parametrize("at_a_time", [1 << 20, 7])
@pytest.mark.parametrize("seed", [0, 5, 2**32 - 1])
def test_records_are_those_that_are_drawn_one_by_one(sizes, at_a_time, seed):
    sizes({"resampling.DRAWN": at_a_time})
    dataset = random_dataset(np.random.default_rng(seed), 3, 40)
    for number in (1, 2, 10_000):
        found = resampling_of(dataset).drawn(seed, number)
        check_dataset(found)
        assert found.codes.tolist() == drawn_one_by_one(dataset, seed, number)
        assert (found.names, found.states) == (dataset.names, dataset.states)


def test_numbers_are_drawn_as_states_are():
    rng = np.random.default_rng(2)
    values = rng.integers(0, 3, (40, 3)) / 4
    numbers = numbers_of(values)
    for number in (1, 2):
        found = resampling_of(numbers).drawn(5, number)
        check_numbers(found)
        assert found.values.tolist() == drawn_one_by_one(numbers, 5, number)
        assert found.names == numbers.names
        turned = resampling_of(numbers_of(values[rng.permutation(40)])).drawn(5, number)
        assert turned.fingerprint == found.fingerprint


def test_resamples_depend_on_the_records_as_a_multiset_the_seed_and_the_number_alone():
    dataset = random_dataset(np.random.default_rng(1), 4, 200)
    turned = dataset_of(dataset.codes[::-1], dataset.arities)
    several = {resampling_of(one).drawn(*how).fingerprint for one in (dataset, turned) for how in ((3, 1),) * 2}
    assert len(several) == 1
    others = {resampling_of(dataset).drawn(seed, number).fingerprint for seed in range(5) for number in range(1, 5)}
    assert len(others) == 20


def test_records_come_as_often_as_chance_has_them():
    dataset = dataset_of(np.repeat([[0], [1], [2]], [1, 30, 69], axis=0))
    found = resampling_of(dataset)
    counts = np.array([np.bincount(found.drawn(0, r).codes[:, 0], minlength=3) for r in range(1, 2001)])
    shares = np.array([0.01, 0.3, 0.69])
    assert np.allclose(counts.mean(axis=0), 100 * shares, atol=0.5)
    assert np.allclose(counts.var(axis=0), 100 * shares * (1 - shares), rtol=0.15)


def test_one_record_is_drawn_again_and_again():
    assert resampling_of(dataset_of([[0, 1]], [2, 2])).drawn(0, 1).codes.tolist() == [[0, 1]]
