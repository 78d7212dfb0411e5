"""Data sets from files of any kind that is known, as their names say."""

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Unpack

from extbnsl.data.arities import read_arities
from extbnsl.data.csv_file import read_csv
from extbnsl.data.dataset import Dataset
from extbnsl.data.encode import prepare
from extbnsl.data.other_files import is_other_file, other_columns
from extbnsl.data.reading import Reading
from extbnsl.data.text import source_name
from extbnsl.data.treatment import Options, treatment
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
    """The data set in a delimited text file, as `read_csv` has it, or in a Parquet, ARFF or RDS file.

    These have names of their columns: `header` and `delimiter` are for texts. The values of a nominal attribute, the
    levels of a factor and the categories of an ordered dictionary are the states, whether they occur or not. Raises
    InputError for whatever cannot be used, or if the package is missing that reads such a file, BudgetError if the
    memory or the time does not do.
    """
    if not is_other_file(path):
        return read_csv(
            path, header=header, delimiter=delimiter, arities=arities, records=records, reading=reading, **options
        )
    source = source_name(path)
    for option, given in (("--delimiter", delimiter), ("--header or --no-header", header)):
        if given is not None:
            raise InputError(f"{option} is for texts, and {source} names its columns itself; leave it out.")
    reading = reading or Reading()
    wanted = treatment(**options, arities=None if arities is None else read_arities(arities), records=records)
    dataset = prepare(other_columns(path, source, reading), source, wanted, reading)
    return replace(dataset, layout=Path(path).suffix[1:].lower())
