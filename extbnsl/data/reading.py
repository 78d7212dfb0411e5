"""Data sets from files, for callers in Python: each option of reading data is a keyword."""

from os import PathLike
from typing import Any

from extbnsl.core.data_options import DataOptions
from extbnsl.core.keywords import keywords
from extbnsl.core.options import declared, made_of
from extbnsl.data.dataset import Dataset
from extbnsl.data.encode import prepare
from extbnsl.data.file import read_file, read_table
from extbnsl.data.text import Reading


@keywords(declared(DataOptions))
def read_csv(path: str | PathLike[str], *, reading: Reading | None = None, **options: Any) -> Dataset:
    """Read the data set in a delimited text file, plain or gzip.

    Parameters
    ----------
    path : str or path-like
        The file; "-" is standard input.
    reading : Reading, optional
        The memory and the time that it may take, and who hears of it, an `extbnsl.data.Reading`; None for three
        quarters of the free memory, as long as it takes.
    {options}

    Returns
    -------
    Dataset
        The data set. States are the texts, without surrounding blanks, sorted as `column.ordered` says. Without names
        the columns are X0, X1 and so on.

    Raises
    ------
    InputError
        For whatever cannot be used; the sentence names the row and the column.
    BudgetError
        If the memory or the time does not do.
    """
    return read_table(prepare, path, made_of(DataOptions, options), reading or Reading())


@keywords(declared(DataOptions))
def read_data(path: str | PathLike[str], *, reading: Reading | None = None, **options: Any) -> Dataset:
    """Read the data set in a delimited text file, as `read_csv` does, or in a Parquet, ARFF or RDS file.

    Parameters
    ----------
    path : str or path-like
        The file; its suffix tells the kind, parquet, pq, arff or rds, and it is text otherwise. The other files have
        names of their columns. The values of a nominal attribute, the levels of a factor and the categories of a
        dictionary are states, whether they occur or not.
    reading : Reading, optional
        The memory and the time that it may take, and who hears of it, an `extbnsl.data.Reading`; None for three
        quarters of the free memory, as long as it takes.
    {options}

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
    return read_file(prepare, path, made_of(DataOptions, options), reading or Reading())
