"""Data sets from delimited text files."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from os import PathLike
from typing import TypeVar, Unpack

from extbnsl.data.arities import read_arities
from extbnsl.data.column import Column
from extbnsl.data.dataset import Dataset
from extbnsl.data.delimiter import called, given_delimiter, other_delimiter, sniff_delimiter
from extbnsl.data.encode import prepare
from extbnsl.data.foreign import check_table
from extbnsl.data.header import Judged, judge, told, with_header, without_header
from extbnsl.data.numbers import Numbers
from extbnsl.data.reading import Reading
from extbnsl.data.table import parse
from extbnsl.data.text import source_name, text_blocks
from extbnsl.data.treatment import Options, Treatment, treatment
from extbnsl.errors import InputError

Made = TypeVar("Made", Dataset, Numbers)


def read_csv(
    path: str | PathLike[str],
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    arities: str | PathLike[str] | None = None,
    records: int | None = None,
    reading: Reading | None = None,
    **options: Unpack[Options],
) -> Dataset:
    """Read the data set in a delimited text file, plain or gzip.

    Parameters
    ----------
    path : str or path-like
        The file; "-" is standard input.
    header : bool, optional
        Whether the first row has the names; None decides by looking, as `header.judge` says. Without names the columns
        are X0, X1 and so on.
    delimiter : str, optional
        One character (a space stands for any run of blanks); None decides by looking, as `sniff_delimiter` says.
    arities : str or path-like, optional
        A file of declared arities, see `read_arities`.
    records : int, optional
        How many records to use, the first ones; None for all.
    reading : Reading, optional
        The memory and the time that it may take, and who hears of it, an `extbnsl.data.Reading`; None for three
        quarters of the free memory, as long as it takes.
    **options : as for `read_data`
        What to make of the columns.

    Returns
    -------
    Dataset
        The data set. States are the texts, without surrounding blanks, sorted as `column.ordered` says.

    Raises
    ------
    InputError
        For whatever cannot be used; the sentence names the row and the column.
    BudgetError
        If the memory or the time does not do.
    """
    wanted = treatment(**options, arities=None if arities is None else read_arities(arities), records=records)
    return made_of_csv(prepare, path, header, delimiter, wanted, reading or Reading())


def made_of_csv(
    make: Callable[[Sequence[Column], str, Treatment, Reading], Made],
    path: str | PathLike[str],
    header: bool | None,
    delimiter: str | None,
    wanted: Treatment,
    reading: Reading,
) -> Made:
    """What `make`, such as `prepare`, makes of the columns of a delimited text; see `read_csv`."""
    given = None if delimiter is None else given_delimiter(delimiter)
    source = source_name(path)
    blocks = text_blocks(path, reading)
    head = next(blocks, b"")
    check_table(source, head)
    separator = given or sniff_delimiter(head)
    table = parse(chain([head], blocks), separator, source, reading)
    doubts: list[str] = [] if len(table.columns) > 1 else _of_one_column(head, given, source)
    judged = judge(table) if header is None else Judged(header, None)
    if judged.named and table.records == 1:
        raise InputError(
            f"{source} has a header but no records: give at least one row of data (or say --no-header if the "
            "first row is one)."
        )
    if judged.doubt:
        doubts.append(told(judged, table))
    made: Made = make(with_header(table) if judged.named else without_header(table), source, wanted, reading)
    layout = f"{called(separator)}, {'header' if judged.named else 'no header'}"
    return replace(made, layout=layout, warnings=(*doubts, *made.warnings))


def _of_one_column(head: bytes, given: str | None, source: str) -> list[str]:
    """A warning if a text that was read as one column may have more; InputError if nobody gave its delimiter."""
    other = other_delimiter(head, given or ",")
    if other is None:
        return []
    holds = f"the same number of {other!r} is in each line"
    if given is None:
        raise InputError(
            f"{source} has one column, but {holds}: say --delimiter {other!r} if that separates columns, or "
            "--delimiter , if it does not."
        )
    return [f"{source} was read as one column, but {holds}: say --delimiter {other!r} if that separates columns."]
