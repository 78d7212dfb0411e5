"""Exact costs of single parent sets, by splits and by records, against the obvious formula."""

import numpy as np
import pytest
from calling import called
from cases import dataset_of, random_dataset
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive import family_cost
from soundness import check_columns

from extbnsl.parents.explored import misfit
from extbnsl.parents.explored.misfit import (
    MOST_SLOTS,
    bit_columns,
    misfits,
    new_splits,
    single_misfits,
    splits_bytes,
)
from extbnsl.scores.score import penalty_of

SETTINGS = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
BY_RECORDS = called(misfit._by_records)


def misfit_of(codes, arities, child, parents):
    """N H(child | parents): the cost by AIC without its penalty."""
    return family_cost("aic", codes, arities, child, parents) - penalty_of(
        1.0, int(arities[child]), np.prod(np.asarray(arities)[parents].astype(float))
    )


def random_family(rng, n):
    child, *parents = rng.permutation(n)[: int(rng.integers(2, n + 1))].tolist()
    return child, parents


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 7), st.integers(1, 300), st.integers(2, 9))
def test_splits_and_records_give_the_misfit(seed, n, records, largest_arity):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, records, largest_arity)
    data = bit_columns(dataset)
    check_columns(data)
    child, parents = random_family(rng, n)
    expected = misfit_of(dataset.codes, data.arities, child, parents)
    splits, members = new_splits(child, len(parents), data), np.array(parents, np.int32)
    without_slots = splits._replace(slots=np.zeros(0, np.int32))  # for records, so that splits are all there is
    for _ in range(2):
        assert BY_RECORDS(child, members, members.size, data, splits) == pytest.approx(expected, abs=1e-9)
        for room in (without_slots, splits):
            assert misfits(child, members[None, :], data, room) == pytest.approx(expected, abs=1e-9)
    single = single_misfits(child, np.zeros(0, np.int32), data, None, np.zeros(1, np.uint8))
    assert np.isnan(single).nonzero()[0].tolist() == [child]
    for v in parents:
        assert single[v] == pytest.approx(misfit_of(dataset.codes, data.arities, child, [v]), abs=1e-9)


def test_many_states_and_many_cells():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, [2, 300, 40, 17, 2, 2], (900, 6))
    dataset = dataset_of(codes)
    data = bit_columns(dataset)
    sets = np.array([[1, 2, 3, 4], [2, 3, 4, 5], [1, 2, 4, 5]], np.int32)
    found = misfits(0, sets, data, new_splits(0, 4, data))
    assert found == pytest.approx([misfit_of(codes, data.arities, 0, own.tolist()) for own in sets], abs=1e-9)


@pytest.mark.parametrize("records", [1, 63, 64, 65, 128])
def test_the_last_word_of_a_column_may_be_full(records):
    codes = np.random.default_rng(records).integers(0, 3, (records, 4))
    data = bit_columns(dataset_of(codes, [3, 3, 3, 3]))
    check_columns(data)
    found = misfits(0, np.array([[1, 2, 3]], np.int32), data, new_splits(0, 3, data))
    assert found[0] == pytest.approx(misfit_of(codes, data.arities, 0, [1, 2, 3]), abs=1e-9)


def test_a_column_that_does_not_vary_tells_nothing():
    codes = np.stack([np.arange(100) % 2, np.zeros(100, np.int64), np.arange(100) % 5], axis=1)
    data = bit_columns(dataset_of(codes, [2, 1, 6]))
    sets = np.array([[1]], np.int32)
    assert data.entropies[1] == 0.0
    assert misfits(0, sets, data, new_splits(0, 1, data))[0] == pytest.approx(data.entropies[0])
    assert misfits(1, sets + 1, data, new_splits(1, 1, data))[0] == 0.0


def test_few_parents_of_many_records_are_split_and_many_counted_by_records():
    rng = np.random.default_rng(0)
    data = bit_columns(dataset_of(rng.integers(0, 2, (20_000, 12))))
    splits = new_splits(0, 11, data)
    cheaper = called(misfit._splits_are_cheaper)
    members = np.arange(1, 12, dtype=np.int32)
    assert [cheaper(members, size, data, splits) for size in (1, 3, 11)] == [True, True, False]
    assert not cheaper(members, 11, data, splits._replace(slots=np.zeros(MOST_SLOTS, np.int32)))
    assert cheaper(members, 11, data, splits._replace(slots=np.zeros(100, np.int32)))


def test_the_working_space_is_what_is_said():
    data = bit_columns(random_dataset(np.random.default_rng(1), 5, 1000))
    assert sum(array.nbytes for array in new_splits(2, 4, data)) <= splits_bytes(4, data)
