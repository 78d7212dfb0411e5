"""Delimited text to columns: rows, header, and each distinct text of a column once."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from extbnsl.data.column import Column, clean_name, numbers_of
from extbnsl.data.delimiter import NumberedRow, numbered_rows
from extbnsl.data.missing import MARKERS
from extbnsl.errors import InputError

# Rows held as text at a time: enough to spread the cost per column, little beside the codes.
CHUNK_ROWS = 4096


@dataclass(frozen=True)
class Table:
    """The first row of a text, stripped, and the columns of all rows after it, unnamed."""

    first: tuple[str, ...]
    below: tuple[Column, ...]


def parse(text: str, delimiter: str, source: str) -> Table:
    """The rows of a delimited text.

    Fields are stripped of surrounding white space, within quotes too. Blank lines before the first row and at
    the end are left out; one in between is a row of one empty field. Raises InputError for an empty text, a
    row that has not as many fields as the first (with its line number), and a quote that does not end.
    O(fields), at most CHUNK_ROWS rows as text at a time besides the text.
    """
    # Blanks at the end of the last field go too, which stripping would do anyway.
    body = text.rstrip(" \r\n")
    rows = numbered_rows(body, delimiter, source)
    first = next((row for row, _ in rows if row != [""]), None)
    if first is None:
        raise InputError(f"{source} is empty: give a file with at least one row of data.")
    return Table(tuple(field.strip() for field in first), _columns(rows, len(first), source))


def is_header(table: Table) -> bool:
    """Whether the first row names the columns, judging by what is below it.

    1. If in some column a text that is no number stands over nothing but numbers: yes.
    2. Else, if the first row has a number or a missing value: no.
    3. Else (texts over texts) yes if fewer than half of the texts occur again below in their own columns, as
       values do and names do not. So a single row of texts is a header without data.
    """
    for text, column in zip(table.first, table.below, strict=True):
        if _is_name(text) and _only_numbers(column):
            return True
    if not all(_is_name(text) for text in table.first):
        return False
    again = [text in column.values for text, column in zip(table.first, table.below, strict=True)]
    return 2 * sum(again) < len(again)


def with_header(table: Table) -> list[Column]:
    """The columns below the first row, named by it."""
    return [replace(column, name=clean_name(name)) for name, column in zip(table.first, table.below, strict=True)]


def without_header(table: Table) -> list[Column]:
    """The columns with the first row as their first record, named X0, X1, ..."""
    return [
        Column(f"X{j}", (*column.values, text), np.append(np.int32(len(column.values)), column.codes))
        for j, (text, column) in enumerate(zip(table.first, table.below, strict=True))
    ]


def _columns(rows: Iterator[NumberedRow], width: int, source: str) -> tuple[Column, ...]:
    """The columns of the rows that follow, unnamed."""
    # A dictionary per column that gives each new text the next code.
    seen: list[defaultdict[str, int]] = [defaultdict() for _ in range(width)]
    for texts in seen:
        texts.default_factory = texts.__len__
    pieces: list[list[NDArray[np.int32]]] = [[np.zeros(0, dtype=np.int32)] for _ in range(width)]
    for chunk in _chunks(rows, width, source):
        for column, texts, piece in zip(zip(*chunk, strict=True), seen, pieces, strict=True):
            piece.append(np.fromiter(map(texts.__getitem__, column), dtype=np.int32, count=len(chunk)))
    return tuple(
        Column("", tuple(map(str.strip, texts)), np.concatenate(piece))
        for texts, piece in zip(seen, pieces, strict=True)
    )


def _chunks(rows: Iterator[NumberedRow], width: int, source: str) -> Iterator[list[list[str]]]:
    """The rows by the chunk, each of `width` fields."""
    while chunk := list(islice(rows, CHUNK_ROWS)):
        fields = [row for row, _ in chunk]
        if {*map(len, fields)} != {width}:
            row, line = next((row, line) for row, line in chunk if len(row) != width)
            raise InputError(
                f"{source}, line {line}: {len(row)} field{'s' if len(row) != 1 else ''} where the first row "
                f"has {width}: correct the line, or give the right --delimiter."
            )
        yield fields


def _is_name(text: str) -> bool:
    return text not in MARKERS and numbers_of([text]) is None


def _only_numbers(column: Column) -> bool:
    """Whether there are values that are not missing, and all of them are numbers."""
    return numbers_of([text for text in column.values if text not in MARKERS]) is not None
