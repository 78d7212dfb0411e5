"""Data sets from files of any kind that is known, as their names say; delimited text among them, and whether its first
row names the columns.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path

import numpy as np

from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention, Sentence
from extbnsl.data.column import Column, clean_name, numbers_of
from extbnsl.data.encode import Made, Make
from extbnsl.data.foreign import check_table
from extbnsl.data.missing import MARKERS
from extbnsl.data.table import parse
from extbnsl.data.text import (
    CALLED,
    Reading,
    given_delimiter,
    other_delimiter,
    sniff_delimiter,
    source_name,
    text_blocks,
)
from extbnsl.data.treatment import treatment

OTHER_FILES = (".parquet", ".pq", ".arff", ".rds")  # which `other_files` reads
MOST_VALUES = 256  # of a column whose values are compared with those of others
SHOWN = 4  # texts of the first row
LEAST_NUMBERED = 3  # columns from which on 0, 1, 2 are no accident


def read_file(make: Make[Made], path: str | PathLike[str], options: DataOptions, reading: Reading) -> Made:
    """What `make` makes of the columns of a file of any kind: `prepare` a Dataset, `measured` Numbers, for the score
    "gaussian-bic"."""
    if Path(path).suffix.lower() in OTHER_FILES:
        from extbnsl.data.other_files import read_other_file

        return read_other_file(make, path, options, reading)
    return read_table(make, path, options, reading)


def read_table(make: Make[Made], path: str | PathLike[str], options: DataOptions, reading: Reading) -> Made:
    """What `make` makes of the columns of a delimited text; see `read_csv`."""
    wanted = treatment(options)
    given = None if options.delimiter is None else given_delimiter(options.delimiter)
    source = source_name(path)
    blocks = text_blocks(path, reading)
    head = next(blocks, b"")
    check_table(source, head)
    separator = given or sniff_delimiter(head)
    columns = parse(chain([head], blocks), separator, source, reading)
    doubts: list[str] = [] if len(columns) > 1 else _of_one_column(head, given, source)
    first = [column.values[column.codes[0]] for column in columns]
    named, doubt = judge(first, columns) if options.header is None else (options.header, "")
    if named and len(columns[0].codes) == 1:
        what = f"{source} has a header but no records: give at least one row of data (or say "
        raise InputError(what, Mention("no-header"), " if the first row is one).")
    if doubt:
        shown = ", ".join(map(repr, first[:SHOWN])) + (", ..." if len(first) > SHOWN else "")
        what = f"The first row ({shown}) was read as {'names' if named else 'a record'}, {doubt}: say "
        say = (Mention("header"), " if it has the names of the columns, ", Mention("no-header"), " if it is a record.")
        doubts.append(Sentence(what, *say))
    names = map(clean_name, first) if named else (f"X{j}" for j in range(len(columns)))
    records = [
        replace(column, name=name, codes=column.codes[int(named) :])
        for name, column in zip(names, columns, strict=True)
    ]
    made: Made = make(records, source, wanted, reading)
    layout = f"{CALLED.get(separator, repr(separator))}, {'header' if named else 'no header'}"
    return replace(made, layout=layout, warnings=(*doubts, *made.warnings))


def _of_one_column(head: bytes, given: str | None, source: str) -> list[str]:
    """A warning if a text that was read as one column may have more; InputError if nobody gave its delimiter."""
    other = other_delimiter(head, given or ",")
    if other is None:
        return []
    holds = f"the same number of {other!r} is in each line: say "
    say = (Mention("delimiter", repr(other)[1:-1]), " if that separates columns")
    if given is None:
        raise InputError(
            f"{source} has one column, but {holds}", *say, ", or ", Mention("delimiter"), " , if it does not."
        )
    return [Sentence(f"{source} was read as one column, but {holds}", *say, ".")]


def judge(first: Sequence[str], columns: Sequence[Column]) -> tuple[bool, str]:
    """Whether the texts of the `first` row name the columns, judging by what is below it, and why that is doubtful.

    0. If the first text is empty and over different numbers, and no other is empty: yes, the records are numbered.
    1. If in some column a text that is no number stands over nothing but numbers: yes.
    2. Else, if the first row has a number or a missing value: no.
    3. Else (texts over texts) yes if fewer than half of the texts occur again below in their own columns, as
       values do and names do not. So a single row of texts is a header without data.
    """
    below, records = list(map(_values_below, columns)), len(columns[0].codes)
    if not first[0] and _lacks_a_name(first, below[0], records):
        return True, ""
    names, again = 0, list[str]()
    for text, values in zip(first, below, strict=True):
        if _is_name(text):
            names += 1
            if numbers_of([*set(values) - MARKERS]) is not None:
                return True, ""
        if text in values:
            again.append(text)
    if names == len(first) and 2 * len(again) < len(first):
        return True, f"though '{again[0]}' is a value too" if again else ""
    doubtful = _is_numbered(first) or _is_new(first, below, records) or _is_apart(first, below)
    return False, "though it looks like names" if doubtful else ""


def _lacks_a_name(first: Sequence[str], below: Sequence[str], records: int) -> bool:
    """Whether the first row names all columns but the first, in which each record has a number of its own."""
    if "" in first[1:] or records < LEAST_NUMBERED:
        return False
    return len(below) == records - 1 and numbers_of(below) is not None


def _is_numbered(first: Sequence[str]) -> bool:
    """Whether a row has consecutive whole numbers, as data frames name columns, or years."""
    numbers = numbers_of(first)
    return numbers is not None and len(first) >= LEAST_NUMBERED and bool((np.diff(numbers) == 1).all())


def _is_new(first: Sequence[str], below: Sequence[Sequence[str]], records: int) -> bool:
    """Whether more than half of the first row does not occur below, in columns where values do occur again."""
    new = [
        text not in MARKERS and text not in values and 2 * len(values) < records
        for text, values in zip(first, below, strict=True)
    ]
    return len(set(first)) == len(new) and 2 * sum(new) > len(new)


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
