"""Whether the first row of a table names the columns."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from extbnsl.data.column import Column, clean_name, numbers_of
from extbnsl.data.missing import MARKERS
from extbnsl.data.table import Table

MOST_VALUES = 256  # of a column whose values are compared with those of others
SHOWN = 4  # texts of the first row
LEAST_NUMBERED = 3  # columns from which on 0, 1, 2 are no accident


class Judged(NamedTuple):
    """Whether the first row names the columns, and a warning if that is doubtful."""

    named: bool
    doubt: str | None


def judge(table: Table) -> Judged:
    """Whether the first row names the columns, judging by what is below it.

    0. If the first text is empty and over different numbers, and no other is empty: yes, the records are numbered.
    1. If in some column a text that is no number stands over nothing but numbers: yes.
    2. Else, if the first row has a number or a missing value: no.
    3. Else (texts over texts) yes if fewer than half of the texts occur again below in their own columns, as
       values do and names do not. So a single row of texts is a header without data.
    """
    below = [_values_below(column) for column in table.columns]
    if _lacks_a_name(table, below[0]) or any(
        _is_name(text) and _only_numbers(values) for text, values in zip(table.first, below, strict=True)
    ):
        return Judged(True, None)
    again = [text for text, values in zip(table.first, below, strict=True) if text in values]
    if all(map(_is_name, table.first)) and 2 * len(again) < len(below):
        return Judged(True, f"though '{again[0]}' is a value too" if again else None)
    doubtful = _is_numbered(table.first) or _is_new(table, below) or _is_apart(table.first, below)
    return Judged(False, "though it looks like names" if doubtful else None)


def told(judged: Judged, table: Table) -> str:
    """The warning of a doubtful first row."""
    shown = ", ".join(repr(text) for text in table.first[:SHOWN]) + (", ..." if len(table.first) > SHOWN else "")
    read = "names" if judged.named else "a record"
    return (
        f"The first row ({shown}) was read as {read}, {judged.doubt}: say --header if it has the names of the columns, "
        "--no-header if it is a record."
    )


def with_header(table: Table) -> list[Column]:
    """The columns below the first row, named by it."""
    return [
        replace(column, name=clean_name(name), codes=column.codes[1:])
        for name, column in zip(table.first, table.columns, strict=True)
    ]


def without_header(table: Table) -> list[Column]:
    """The columns with the first row as their first record, named X0, X1, ..."""
    return [replace(column, name=f"X{j}") for j, column in enumerate(table.columns)]


def _lacks_a_name(table: Table, below: Sequence[str]) -> bool:
    """Whether the first row names all columns but the first, in which each record has a number of its own."""
    if table.first[0] or "" in table.first[1:] or table.records < LEAST_NUMBERED:
        return False
    return len(below) == table.records - 1 and numbers_of(below) is not None


def _is_numbered(first: Sequence[str]) -> bool:
    """Whether a row has consecutive whole numbers, as data frames name columns, or years."""
    numbers = numbers_of(first)
    return numbers is not None and len(first) >= LEAST_NUMBERED and bool((np.diff(numbers) == 1).all())


def _is_new(table: Table, below: Sequence[Sequence[str]]) -> bool:
    """Whether more than half of the first row does not occur below, in columns where values do occur again."""
    new = [
        text not in MARKERS and text not in values and 2 * len(values) < table.records
        for text, values in zip(table.first, below, strict=True)
    ]
    return len(set(table.first)) == len(new) and 2 * sum(new) > len(new)


def _is_apart(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has texts, each in one column alone, over columns that have values in common."""
    if len(set(first)) < len(first) or not all(map(_is_name, first)):
        return False
    columns = Counter(text for values in below if len(values) <= MOST_VALUES for text in set(values) - MARKERS)
    own = [columns[text] - (text in values) for text, values in zip(first, below, strict=True)]
    return not any(own) and any(count > 1 for count in columns.values())


def _values_below(column: Column) -> tuple[str, ...]:
    """The texts of a column that occur below its first row."""
    first = int(column.codes[0])
    if (column.codes[1:] == first).any():
        return column.values
    return column.values[:first] + column.values[first + 1 :]


def _is_name(text: str) -> bool:
    return text not in MARKERS and numbers_of([text]) is None


def _only_numbers(texts: Sequence[str]) -> bool:
    """Whether there are texts that are not missing values, and all of them are numbers."""
    return numbers_of([text for text in texts if text not in MARKERS]) is not None
