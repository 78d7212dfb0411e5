"""Data sets from files of any kind that is known, as their names say; delimited text among them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TypeVar, Unpack

from extbnsl.core.errors import InputError
from extbnsl.data.column import Column
from extbnsl.data.dataset import Dataset
from extbnsl.data.encode import prepare
from extbnsl.data.foreign import check_table
from extbnsl.data.header import Judged, judge, told, with_header, without_header
from extbnsl.data.numbers import Numbers, measured
from extbnsl.data.other_files import is_other_file, other_columns
from extbnsl.data.reading import Reading
from extbnsl.data.table import parse
from extbnsl.data.text import called, given_delimiter, other_delimiter, sniff_delimiter, source_name, text_blocks
from extbnsl.data.treatment import Options, Treatment, read_arities, treatment

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


def read_data(
    path: str | PathLike[str],
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    arities: str | PathLike[str] | None = None,
    records: int | None = None,
    reading: Reading | None = None,
    **options: Unpack[Options],
) -> Dataset:
    """Read the data set in a delimited text file, as `read_csv` does, or in a Parquet, ARFF or RDS file.

    Parameters
    ----------
    path : str or path-like
        The file; its suffix tells the kind, parquet, pq, arff or rds, and it is text otherwise.
    header : bool, optional
        For texts, as for `read_csv`. The other files have names of their columns.
    delimiter : str, optional
        For texts, as for `read_csv`.
    arities : str or path-like, optional
        A file of declared arities. The values of a nominal attribute, the levels of a factor and the categories of an
        ordered dictionary are states, whether they occur or not.
    records : int, optional
        How many records to use, the first ones; None for all.
    reading : Reading, optional
        The memory and the time that it may take, and who hears of it, an `extbnsl.data.Reading`; None for three
        quarters of the free memory, as long as it takes.
    **options : as for `learn`
        What to make of the columns. Those of several texts take a sequence, or one text with commas. `missing`:
        "refuse" (the default), "drop" the record, or make it a "state". `na`: further texts that stand for a missing
        value. `columns`, `drop`: the columns to use, and to leave out. `discrete`: columns to take as they are, however
        many states they have, or "all". `discretise`: "mean", "quantile:k", "width:k" or "paper" for continuous
        columns, and COLUMN=RULE for one column. `weights`: the column that says how many records each row stands for.

    Returns
    -------
    Dataset
        The data set, encoded.

    Raises
    ------
    InputError
        For whatever cannot be used, or if the package is missing that reads such a file.
    BudgetError
        If the memory or the time does not do.
    """
    wanted = treatment(**options, arities=None if arities is None else read_arities(arities), records=records)
    return _made(prepare, path, header, delimiter, wanted, reading or Reading())


def read_numbers(
    path: str | PathLike[str],
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    arities: str | PathLike[str] | None = None,
    records: int | None = None,
    reading: Reading | None = None,
    **options: Unpack[Options],
) -> Numbers:
    """The columns of numbers in a file of any kind that `read_data` reads, for the score "gaussian-bic".

    The options are those of `read_data`; those that make states of columns, `arities` among them, are an InputError.
    Raises as `read_data` does, and for a column that has no numbers.
    """
    wanted = treatment(**options, arities=None if arities is None else read_arities(arities), records=records)
    return _made(measured, path, header, delimiter, wanted, reading or Reading())


def _made(
    make: Callable[[Sequence[Column], str, Treatment, Reading], Made],
    path: str | PathLike[str],
    header: bool | None,
    delimiter: str | None,
    wanted: Treatment,
    reading: Reading,
) -> Made:
    """What `make` makes of the columns of a file."""
    if not is_other_file(path):
        return made_of_csv(make, path, header, delimiter, wanted, reading)
    source = source_name(path)
    for option, given in (("--delimiter", delimiter), ("--header or --no-header", header)):
        if given is not None:
            raise InputError(f"{option} is for texts, and {source} names its columns itself; leave it out.")
    made = make(other_columns(path, source, reading), source, wanted, reading)
    return replace(made, layout=Path(path).suffix[1:].lower())
