"""Delimited text to columns: rows, header, and each distinct text of a column once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from extbnsl.data.codes import ColumnCodes
from extbnsl.data.column import Column, clean_name, numbers_of
from extbnsl.data.missing import MARKERS
from extbnsl.data.reading import Reading
from extbnsl.data.rows import row_chunks
from extbnsl.errors import InputError

COLUMN_BYTES = 1 << 10  # about what a column takes without any record
LATER_BYTES = 3  # that each field takes later, at least, besides its code: the code in order and the one in the Dataset


@dataclass(frozen=True)
class Table:
    """The columns of a text, unnamed, and its first row, stripped, which is their first record too."""

    first: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def records(self) -> int:
        """The number of rows, the first among them."""
        return len(self.columns[0].codes)


def parse(blocks: Iterable[bytes], delimiter: str, source: str, reading: Reading) -> Table:
    """The rows of a delimited text that comes in blocks of whole lines.

    Fields are stripped of surrounding white space, within quotes too; rows and InputErrors are those of `row_chunks`.
    Raises InputError for an empty text, and BudgetError as soon as the columns, and what is to be made of them, are
    certain to take more than the memory of `reading`. O(fields).
    """
    columns: list[ColumnCodes] = []
    records = 0
    for chunk in row_chunks(blocks, delimiter, source):
        if not columns:
            reading.check_memory(source, COLUMN_BYTES * chunk.width, f"the first row, of {chunk.width:,} columns")
            columns = [ColumnCodes() for _ in range(chunk.width)]
        for column, fields in zip(columns, chunk.columns(), strict=True):
            column.extend(fields)
        records += len(chunk.lines)
        needed = sum(column.nbytes + COLUMN_BYTES for column in columns) + LATER_BYTES * records * len(columns)
        reading.check_memory(source, needed, f"the {records:,} rows of {len(columns):,} columns")
    if not columns:
        raise InputError(f"{source} is empty: give a file with at least one row of data.")
    found = tuple(column.column() for column in columns)
    return Table(tuple(column.values[column.codes[0]] for column in found), found)


def is_header(table: Table) -> bool:
    """Whether the first row names the columns, judging by what is below it.

    1. If in some column a text that is no number stands over nothing but numbers: yes.
    2. Else, if the first row has a number or a missing value: no.
    3. Else (texts over texts) yes if fewer than half of the texts occur again below in their own columns, as
       values do and names do not. So a single row of texts is a header without data.
    """
    below = [_values_below(column) for column in table.columns]
    for text, values in zip(table.first, below, strict=True):
        if _is_name(text) and _only_numbers(values):
            return True
    if not all(_is_name(text) for text in table.first):
        return False
    again = [text in values for text, values in zip(table.first, below, strict=True)]
    return 2 * sum(again) < len(again)


def with_header(table: Table) -> list[Column]:
    """The columns below the first row, named by it."""
    return [
        replace(column, name=clean_name(name), codes=column.codes[1:])
        for name, column in zip(table.first, table.columns, strict=True)
    ]


def without_header(table: Table) -> list[Column]:
    """The columns with the first row as their first record, named X0, X1, ..."""
    return [replace(column, name=f"X{j}") for j, column in enumerate(table.columns)]


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
