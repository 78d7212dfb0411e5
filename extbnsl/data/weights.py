"""A column that says how many records each row stands for."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.data.column import Column, listed
from extbnsl.data.reading import Reading

MOST_RECORDS = (1 << 32) - 1  # that counting takes
COLUMN_BYTES = 2  # of a record, in each column of the data set


def without_weights(columns: Sequence[Column], name: str, source: str) -> tuple[list[Column], Column]:
    """The columns but the one of that name, and this; InputError if there is none, or it is the only one."""
    found = [column for column in columns if column.name == name]
    if not found:
        there = listed([column.name for column in columns])
        raise InputError(f"--weights: {source} has no column '{name}'; its columns are {there}.")
    if len(columns) == 1:
        raise InputError(f"--weights: {source} has no column but '{name}': give at least one variable.")
    return [column for column in columns if column.name != name], found[0]


def repeated(columns: Sequence[Column], weights: Column, source: str, reading: Reading) -> list[Column]:
    """The columns with each row as often as its weight says.

    Raises InputError if a weight is no whole number of at least 0, or all are 0; BudgetError if the records certainly
    take more than the memory of `reading`, if it says one.
    """
    times = _times(weights, source)
    records = int(times.sum())
    if records == 0:
        raise InputError(f"--weights: all weights in column '{weights.name}' of {source} are 0: give a record.")
    if records > MOST_RECORDS:
        raise InputError(
            f"--weights: column '{weights.name}' of {source} stands for {records:,} records: divide the weights so "
            f"that they sum to {MOST_RECORDS:,} at most."
        )
    if reading.memory:
        needed = records * sum(COLUMN_BYTES + column.codes.itemsize for column in columns)
        reading.check_memory(source, needed, f"the {records:,} records that its weights stand for,")
    return [replace(column, codes=np.repeat(column.codes, times)) for column in columns]


def _times(column: Column, source: str) -> NDArray[np.int64]:
    """How often each row counts; InputError for a weight that is no whole number, or negative."""
    meaning = np.array([_whole(text) for text in (*column.values, "")], np.int64)  # the last: no value
    times = meaning[column.codes]
    wrong = np.flatnonzero(times < 0)
    if wrong.size:
        at = int(wrong[0])
        text = "" if column.codes[at] < 0 else column.values[int(column.codes[at])]
        raise InputError(
            f"--weights: record {at + 1} of {source} has the weight {text!r} in column '{column.name}': give a whole "
            "number of at least 0."
        )
    return times


def _whole(text: str) -> int:
    """The whole number that a text writes, -1 if it is none or too large."""
    whole, _, fraction = text.strip().removeprefix("+").partition(".")
    if not (whole.isascii() and whole.isdigit()) or fraction.strip("0") or len(whole) > 18:
        return -1
    return int(whole)
