"""Tables of which each has the same records, with missing values filled in by chance: multiple imputation (Rubin 1987).

All tables are one data set in which the copies of a record count for one together, so that N is the number of records:
stacked imputations (Wood, White and Royston 2008, Statistics in Medicine 27). The misfit of a family is minus the
largest mean of its log-likelihoods in the tables, by the same parameters. The resamples of such data are the tables.
"""

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.data.beside import Weights
from extbnsl.data.column import Column, listed


def tables_of(column: Column, source: str, rows: NDArray[np.int64] | None = None) -> tuple[NDArray[np.int64], Weights]:
    """The records in the order of their tables, as a column names these, by their places; and what each stands for.
    rows: which records of the data they are, from 0; None for all of them.

    InputError for a record without a table, for one table alone, and for tables of different sizes. O(N log N).
    """
    if (column.codes < 0).any():
        first = int((column.codes < 0).argmax())
        row = (first if rows is None else int(rows[first])) + 1
        raise _wrong(f"record {row} of {source} has no table in column '{column.name}': name one in each.", column)
    occurring, which, counts = np.unique(column.codes, return_inverse=True, return_counts=True)
    names = [column.values[code] for code in occurring.tolist()]
    if len(names) < 2:
        raise _wrong(f"column '{column.name}' of {source} names one table alone, {names[0]!r}: leave it out.", column)
    if len(set(counts.tolist())) > 1:
        told = listed([f"{name} ({count:,})" for name, count in zip(names, counts.tolist(), strict=True)])
        raise _wrong(
            f"the tables in column '{column.name}' of {source} have different numbers of records: {told}; give each "
            "table all records.",
            column,
        )
    order = np.argsort(which.reshape(-1), kind="stable").astype(np.int64)
    return order, Weights(1.0 / len(names), np.cumsum(counts), tables=True)


def _wrong(sentence: str, column: Column) -> InputError:
    return InputError(sentence, option="imputation", names=[column.name])
