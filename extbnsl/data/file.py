"""Data sets from files of any kind that is known, as their names say; delimited text among them, and whether its first
row names the columns.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention, Sentence, asking
from extbnsl.data.beginning import CALLED, Beginning, beginning, given_delimiter, other_delimiter
from extbnsl.data.column import Column, clean_name, numbers_of
from extbnsl.data.encode import Made, Make
from extbnsl.data.first_rows import (
    SHOWN,
    empty_end,
    names_again,
    numbering,
    numbers_of_states,
    odd_rows,
    shown,
    values_below,
)
from extbnsl.data.foreign import check_table
from extbnsl.data.missing import MARKERS
from extbnsl.data.table import Table, parse, refuse_long
from extbnsl.data.text import Lines, Reading, source_name, text_blocks
from extbnsl.data.treatment import Treatment, treatment

OTHER_FILES = (".parquet", ".pq", ".arff", ".rds")  # which `other_files` reads
MOST_VALUES = 256  # of a column whose values are compared with those of others
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
    lines = Lines(source_name(path), options.skip_lines, options.comment)
    blocks = lines.kept(text_blocks(path, reading))
    head = next(blocks, b"")
    check_table(lines.source, head)
    begun = beginning(head, given, options.header, lines)
    wanted = replace(wanted, writing=replace(wanted.writing, semicolons=begun.delimiter == ";"))
    table = parse(chain([begun.head], blocks), begun.delimiter, lines, reading)
    of_delimiter = [] if len(table.columns) > 1 else _of_one_column(begun.head, given, lines.source)
    named, records, said, odd = _records(table, begun, options.header, lines)
    records, of_numbering = _without_numbering(records, wanted)
    doubts: list[str] = of_delimiter + said + of_numbering
    if table.has_long:
        refuse_long(filter(wanted.takes, records), lines.source, ", or give the right ", Mention("delimiter"))
    with _blaming(odd):
        made: Made = make(records, lines.source, wanted, reading)
    layout = f"{CALLED.get(begun.delimiter, repr(begun.delimiter))}, {'header' if named else 'no header'}"
    return replace(made, layout=layout, warnings=(*doubts, *made.warnings))


class Odd(NamedTuple):
    """First or last records that are none, by all appearance: the first such row, from 1; what there is to say of them;
    and options that leave out them, or what stands before one that may have the names."""

    row: int
    what: str
    advice: tuple[str | Mention, ...]


def _records(
    table: Table, begun: Beginning, header: bool | None, lines: Lines
) -> tuple[bool, list[Column], list[str], list[Odd]]:
    """Whether the first row has names, the records with these, warnings, and first or last ones that may be none."""
    columns, (ends, last_ends), left_out = _rows(table, lines)
    named, records, said = _named(columns, begun.lacking, header, lines.source)
    said += left_out
    if not named or lines.settled:
        return named, records, said, []
    records, of_states = _without_numbers_of_states(records, ends, lines)
    odd = [*_odd(records, ends, lines), *_odd_at_end(records, last_ends, lines)]
    return named, records, [*said, *of_states, *(_told(one, lines) for one in odd)], odd


def _rows(table: Table, lines: Lines) -> tuple[list[Column], tuple[list[int], list[int]], list[str]]:
    """The columns without what is no field or record for certain: columns that a delimiter at an end of each line
    makes, last rows without a value, and further rows that are the names; where the first and the last rows end; and
    warnings."""
    columns, ends, last_ends, said = list(table.columns), list(table.ends), list(table.last_ends), list[str]()
    for end in (-1, 0):
        while len(columns) > 1 and columns[end].values == ("",):
            columns.pop(end)
    if lines.settled:
        return columns, (ends, last_ends), said
    empty = empty_end(columns) if len(columns) > 1 else 0
    if empty:
        columns = [replace(column, codes=column.codes[:-empty]) for column in columns]
        last_ends = last_ends[:-empty]
        said.append(
            _of_left_out("The last row has" if empty == 1 else f"The last {empty:,} rows have", "no value", lines)
        )
    again = names_again(columns)
    if len(again):
        columns = [replace(column, codes=np.delete(column.codes, again)) for column in columns]
        ends = [end for row, end in enumerate(ends) if row not in again]
        last_ends = []
        more = f" and {len(again) - 1:,} more rows have" if len(again) > 1 else " has"
        what = f"Row {again[0]:,} of the data{more}"
        said.append(_of_left_out(what, "the names of the columns once more", lines))
    return columns, (ends, last_ends), said


def _of_left_out(what: str, why: str, lines: Lines) -> str:
    """The warning of rows that were left out."""
    were = "was" if what.endswith(" has") and "more rows" not in what else "were"
    say = asking("skip-lines", lines.with_all())
    return Sentence(f"{what} {why} and {were} left out: say ", say, " if all rows are records.")


def _named(
    columns: Sequence[Column], lacking: bool, header: bool | None, source: str
) -> tuple[bool, list[Column], list[str]]:
    """Whether the first row names the columns, the columns with their names, and a warning if that is doubtful.

    lacking: whether it had no name for the first column; or for the last, if that has no values.
    """
    first = [column.values[column.codes[0]] for column in columns]
    if lacking and not any(values_below(columns[-1])):
        first, columns = first[1:], columns[:-1]
    named, doubt = (True, "") if lacking else (header, "")
    if named is None:
        named, doubt = judge(first, columns)
    if named and len(columns[0].codes) == 1:
        what = f"{source} has a header but no records: give at least one row of data (or say "
        raise InputError(what, Mention("no-header"), " if the first row is one).")
    said = list[str]()
    if doubt:
        shown = ", ".join(map(repr, first[:SHOWN])) + (", ..." if len(first) > SHOWN else "")
        what = f"The first row ({shown}) was read as {'names' if named else 'a record'}, {doubt}: say "
        say = (Mention("header"), " if it has the names of the columns, ", Mention("no-header"), " if it is a record.")
        said.append(Sentence(what, *say))
    names = map(clean_name, first) if named else (f"X{j}" for j in range(len(columns)))
    start = int(named)
    records = [replace(c, name=name, codes=c.codes[start:]) for name, c in zip(names, columns, strict=True)]
    return named, records, said


def _without_numbers_of_states(records: list[Column], ends: list[int], lines: Lines) -> tuple[list[Column], list[str]]:
    """The records without the first, if that certainly has the numbers of states of the columns, and a warning then."""
    if not numbers_of_states(records)[1]:
        return records, []
    del ends[1]
    what = f"Row 1 of the data {shown(records, 0)} has"
    left = [replace(column, codes=column.codes[1:]) for column in records]
    return left, [_of_left_out(what, "the number of states of each column, as in GOBNILP's files,", lines)]


def _odd(records: Sequence[Column], ends: Sequence[int], lines: Lines) -> list[Odd]:
    """The first records that are none, by all appearance, if there are any."""
    of_states = numbers_of_states(records)[0]
    rows = 1 if of_states else odd_rows(records)
    if not rows:
        return []
    one, texts = rows == 1, [column.values[column.codes[0]] for column in records]
    values = " and ".join(shown(records, row) for row in range(rows))
    why = "looks like no record, since its" if one else "look like no records, since their"
    why = "has the number of states of each column" if of_states else f"{why} values occur in no other row"
    skipped = asking("skip-lines", lines.without(ends[0] + 1, ends[rows]))
    advice: tuple[str | Mention, ...] = (f"leave {'it' if one else 'them'} out with ", skipped)
    if one and all(map(_is_name, texts)):
        before = asking("skip-lines", lines.without(1, ends[0]))
        advice = (*advice, ", what is before it with ", before, " if it has the names")
    return [Odd(1, f"{'row 1' if one else f'rows 1 to {rows}'} of the data {values} {why}", advice)]


def _odd_at_end(records: Sequence[Column], ends: Sequence[int], lines: Lines) -> list[Odd]:
    """The last records that are none, by all appearance, such as totals, if there are any."""
    count, rows = len(records[0].codes), odd_rows(records, last=True)
    if not 0 < rows < len(ends):
        return []
    one, them = rows == 1, "it" if rows == 1 else "them"
    values = " and ".join(shown(records, row) for row in range(count - rows, count))
    looks = "looks like no record, since its" if one else "look like no records, since their"
    what = f"the last {'row' if one else f'{rows} rows'} of the data {values} {looks} values"
    skipped = asking("skip-lines", lines.without(ends[-rows - 1] + 1, ends[-1]))
    return [Odd(count - rows + 1, f"{what} occur in no other row", (f"leave {them} out with ", skipped))]


def _told(odd: Odd, lines: Lines) -> str:
    """The warning of first records that may be none."""
    say = (": ", *odd.advice, ", or say ", asking("skip-lines", lines.with_all()), " if all rows are records.")
    return Sentence(odd.what[0].upper() + odd.what[1:], *say)


@contextlib.contextmanager
def _blaming(odd: Sequence[Odd]) -> Iterator[None]:
    """Let an InputError of records name the first or last of them as the cause, if they are none, by all appearance."""
    try:
        yield
    except InputError as error:
        if not odd or error.option:
            raise
        *parts, last = error.what.parts
        ends = last.removesuffix(".") if isinstance(last, str) else last
        what = Sentence(*parts, ends, f"; {odd[0].what}")
        raise InputError(what, names=error.names, value=error.value, row=odd[0].row, advice=odd[0].advice) from error


def _without_numbering(records: list[Column], wanted: Treatment) -> tuple[list[Column], list[str]]:
    """The records without first columns that only number or name them, if no option names these, and warnings."""
    named = {*wanted.drop, *(wanted.discrete or ()), *wanted.rules, *wanted.states, *wanted.of_records}
    said = list[str]()
    while wanted.columns is None and len(records) > 1 and records[0].name not in named:
        warning = numbering(records[0])
        if not warning:
            break
        records = records[1:]
        said.append(warning)
    return records, said


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

    0. If the first text is empty and over different numbers or texts, and all others are names: yes, the records are
       numbered or named; of numbers the others need not be names.
    1. If in some column a text that is no number stands over nothing but numbers: yes.
    2. Else, if the first row has a number or a missing value: no.
    3. Else (texts over texts) yes if fewer than half of the texts occur again below in their own columns, as
       values do and names do not. So a single row of texts is a header without data.
    """
    below, records = list(map(values_below, columns)), len(columns[0].codes)
    if not first[0] and _lacks_a_name(first, below, records):
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


def _lacks_a_name(first: Sequence[str], below: Sequence[Sequence[str]], records: int) -> bool:
    """Whether the first row names all columns but the first, in which each record has a number or a text of its own."""
    if "" in first[1:] or records < LEAST_NUMBERED or len(below[0]) < records - 1 or not MARKERS.isdisjoint(below[0]):
        return False
    if numbers_of(below[0]) is not None:
        return True
    again = sum(text in values for text, values in zip(first[1:], below[1:], strict=True))
    return all(map(_is_name, first[1:])) and 2 * again < len(first) - 1


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


def _is_name(text: str) -> bool:
    return text not in MARKERS and numbers_of([text]) is None
