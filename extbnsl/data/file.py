"""Data sets from files of any kind that is known, as their names say."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Unpack

from extbnsl.data.arities import read_arities
from extbnsl.data.column import Column
from extbnsl.data.csv_file import Made, made_of_csv
from extbnsl.data.dataset import Dataset
from extbnsl.data.encode import prepare
from extbnsl.data.numbers import Numbers, measured
from extbnsl.data.other_files import is_other_file, other_columns
from extbnsl.data.reading import Reading
from extbnsl.data.text import source_name
from extbnsl.data.treatment import Options, Treatment, treatment
from extbnsl.errors import InputError


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
