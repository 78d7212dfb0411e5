"""What must hold of data, of the table that counting takes of them, and of local scores."""

import numpy as np

from extbnsl.data.dataset import LARGEST_NUMBER
from extbnsl.kernels.varsets import sizes, words


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


def check_scores(scores):
    """Assert every invariant of `LocalScores`: shapes, dtypes, the canonical order, and what its own check looks at."""
    n = len(scores.names)
    assert len(scores.parents) == len(scores.costs) == n, "one table of families per variable"
    for varsets, costs in zip(scores.parents, scores.costs, strict=True):
        assert varsets.dtype == np.uint64, f"varsets are uint64, not {varsets.dtype}"
        assert costs.dtype == np.float64, f"costs are float64, not {costs.dtype}"
        assert costs.ndim == 1, "costs have one axis"
        assert varsets.shape == (len(costs), words(n)), "one varset per cost"
        assert varsets.flags.c_contiguous, "varsets are contiguous"
        assert costs.flags.c_contiguous, "costs are contiguous"
        tied = np.ones(max(0, len(costs) - 1), dtype=np.bool_)
        for key in (costs, sizes(varsets), *varsets.T[::-1]):
            assert not (tied & (key[1:] < key[:-1])).any(), "in canonical order"
            tied &= key[1:] == key[:-1]
    scores.check()
