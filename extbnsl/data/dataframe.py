"""Data sets from data frames: whatever has `.columns` and gives a column for `frame[name]`."""

from collections import defaultdict
from typing import Any, Unpack

import numpy as np

from extbnsl.core.errors import InputError
from extbnsl.data.array import column_of_numbers
from extbnsl.data.column import Column, check_names, clean_name, narrowest
from extbnsl.data.dataset import Dataset
from extbnsl.data.encode import prepare
from extbnsl.data.numbers import Numbers, measured
from extbnsl.data.treatment import Options, treatment

SOURCE = "<dataframe>"


def from_dataframe(frame: Any, **options: Unpack[Options]) -> Dataset:
    """The data set in a data frame, of pandas or of anything alike.

    `frame.columns` are the names and `frame[name]` a column: with `.to_numpy()`, or a sequence; of booleans,
    integers, floats, texts, categories or other objects that have a text. None, NaN and NA are missing, and
    so are the texts in `missing.MARKERS`. Whole floats are labelled as integers. Ordered categories are the states,
    in their order, whether they occur or not; of other categories, those that occur. `options`: see
    `treatment.Options`. Raises InputError for what cannot be used.
    """
    wanted = treatment(**options)
    return prepare(_columns(frame), SOURCE, wanted)


def numbers_from_dataframe(frame: Any, **options: Unpack[Options]) -> Numbers:
    """The Numbers in a data frame, of columns of numbers or of texts that write some.

    `options` are as for `from_dataframe`; those that make states are an InputError.
    """
    return measured(_columns(frame), SOURCE, treatment(**options))


def _columns(frame: Any) -> list[Column]:
    """The columns of a data frame; InputError for names that occur twice, and lengths that differ."""
    if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
        raise InputError(f"{SOURCE}: a {type(frame).__name__} has no columns: give a data frame.")
    keys = list(frame.columns)
    names = [clean_name(str(key)) for key in keys]
    # Before a column is taken: for a name that occurs twice, a frame gives a frame.
    check_names(names, SOURCE)
    columns = [_column(name, frame[key]) for name, key in zip(names, keys, strict=True)]
    lengths = {len(column.codes) for column in columns}
    if len(lengths) > 1:
        raise InputError(f"{SOURCE} has columns of {min(lengths)} to {max(lengths)} values: make them equally long.")
    return columns


def _column(name: str, series: Any) -> Column:
    """The column of one series or sequence."""
    kind: Any = getattr(series, "dtype", None)
    if getattr(kind, "ordered", False):
        return _of_levels(name, kind.categories, series)
    values = series.to_numpy() if hasattr(series, "to_numpy") else np.asarray(series)
    if values.ndim != 1:
        raise InputError(f"{SOURCE}: column '{name}' has {values.ndim} dimensions: give one value for each record.")
    if values.dtype.kind in "biuf":
        return column_of_numbers(name, values, SOURCE)
    if values.dtype.kind in "mM":
        raise InputError(f"{SOURCE}: column '{name}' has dates or times: remove it or make it a few states.")
    codes: defaultdict[str, int] = defaultdict()
    codes.default_factory = codes.__len__
    # The text of NaN and of pandas.NA is a marker of missing values; that of None may be a state's name.
    texts = ["" if value is None else str(value).strip() for value in values.tolist()]
    encoded = np.fromiter(map(codes.__getitem__, texts), dtype=np.int32, count=len(texts))
    return Column(name, tuple(codes), encoded.astype(narrowest(len(codes))))


def _of_levels(name: str, categories: Any, series: Any) -> Column:
    """The column of ordered categories; InputError if two have the same text."""
    levels = [str(category) for category in categories]
    if len(set(levels)) < len(levels):
        raise InputError(f"{SOURCE}: column '{name}' has two categories with the same text: rename one of them.")
    return Column(name, tuple(levels), np.asarray(series.array.codes).astype(narrowest(len(levels))), levels=True)
