"""Data sets from delimited text files."""

from dataclasses import replace
from itertools import chain
from os import PathLike

from extbnsl.data.arities import read_arities
from extbnsl.data.dataset import Dataset
from extbnsl.data.delimiter import called, given_delimiter, sniff_delimiter
from extbnsl.data.encode import check_rules, prepare
from extbnsl.data.reading import Reading
from extbnsl.data.table import is_header, parse, with_header, without_header
from extbnsl.data.text import text_blocks
from extbnsl.errors import InputError


def read_csv(
    path: str | PathLike[str],
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    missing: str = "refuse",
    discretise: str | None = None,
    arities: str | PathLike[str] | None = None,
    reading: Reading | None = None,
) -> Dataset:
    """The data set in a delimited text file, plain or gzip.

    `header`: whether the first row has the names; None decides as `table.is_header` says. Without one the
    names are X0, X1, ... `delimiter`: one character (a space stands for any run of blanks); None decides as
    `sniff_delimiter` says. `missing`: "refuse", "drop" the record, or make it a "state"; a value is missing
    if its text is in `missing.MARKERS`. `discretise`: None, "mean", "quantile:k", "width:k" or "paper", see
    `discretise.settle_states`. `arities`: a file of declared arities, see `read_arities`. States are the
    texts, without surrounding blanks, sorted as `column.ordered` says. `reading`: what it may take, and who hears of
    it. Raises InputError for whatever cannot be used, BudgetError if the memory or the time does not do.
    """
    reading = reading or Reading()
    check_rules(missing, discretise, arities)
    declared = None if arities is None else read_arities(arities)
    asked = None if delimiter is None else given_delimiter(delimiter)
    source = str(path)
    blocks = text_blocks(path, reading)
    head = next(blocks, b"")
    separator = asked or sniff_delimiter(head)
    table = parse(chain([head], blocks), separator, source, reading)
    named = is_header(table) if header is None else header
    if named and table.records == 1:
        raise InputError(
            f"{source} has a header but no records: give at least one row of data (or say --no-header if the "
            "first row is one)."
        )
    columns = with_header(table) if named else without_header(table)
    dataset = prepare(columns, source, missing=missing, discretise=discretise, arities=declared, reading=reading)
    return replace(dataset, layout=f"{called(separator)}, {'header' if named else 'no header'}")
