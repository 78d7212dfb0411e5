"""Delimited text to columns: rows, and each distinct text of a column once."""

from collections.abc import Iterable
from dataclasses import dataclass

from extbnsl.data.codes import ColumnCodes
from extbnsl.data.column import Column
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
