"""What must hold of data, and of the table that counting takes of them."""

import numpy as np

from extbnsl.data.dataset import LARGEST_NUMBER


def _check_records(data, records, dtype):
    """Assert that the names are distinct and not empty, and that the array (N, n) is of this dtype, in C order."""
    assert data.names
    assert len(set(data.names)) == len(data.names)
    assert all(data.names)
    assert records.shape[0] >= 1
    assert records.shape[1:] == (len(data.names),)
    assert records.dtype == dtype
    assert records.flags.c_contiguous


def check_dataset(dataset):
    """Assert every invariant of `Dataset`."""
    _check_records(dataset, dataset.codes, np.uint16)
    assert len(dataset.states) == dataset.variables
    assert all(labels and len(set(labels)) == len(labels) for labels in dataset.states)
    assert bool((dataset.codes.max(axis=0) < dataset.arities).all())


def check_numbers(numbers):
    """Assert every invariant of `Numbers`."""
    _check_records(numbers, numbers.values, np.float64)
    assert bool((np.abs(numbers.values) <= LARGEST_NUMBER).all())


def check_table(table):
    """Assert every invariant of `CountingTable`."""
    n, d = table.states.shape
    assert table.weights.shape == table.patterns.shape == (d,), "a weight and a pattern for each row"
    assert table.arities.shape == (n,), "a number of states for each variable"
    assert (table.states < table.arities[:, None]).all(), "states are below the arity"
    assert (table.weights > 0).all(), "no row is without records"
    assert table.mlogm.size == int(table.weights.sum()) + 1, "m ln m for every count"
    assert (np.diff(table.arities) >= 0).all(), "arities ascend"
