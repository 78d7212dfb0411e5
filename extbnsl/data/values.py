"""A column of values as callers and packages have them, a series of any kind of data frame, an array or a list, on its
way to a Column.
"""

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import dropped
from extbnsl.data.column import Column, column_of_levels, column_of_numbers, column_of_texts

if TYPE_CHECKING:
    import narwhals

NUMERIC = "biuf"  # kinds of dtypes of numpy
TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
SEVERAL = (list, tuple, set, frozenset, Mapping, np.ndarray)


def column_of_values(name: str, values: Any, source: str) -> Column:
    """The column of a series of narwhals, of a 1-D array, which may be masked, or of a list of Python's values.

    Declared categories are all its states, in their order, whether they occur or not. None, NaN, NA and what is masked
    are no values, nor are the texts in `missing.MARKERS`. Whole floats are labelled as integers, and bytes as the text
    in UTF-8 that they are. Raises InputError for dates and times, for values that are several (lists and so on),
    complex numbers, bytes that are no text, and infinite numbers. O(N log N).
    """
    if isinstance(values, np.ma.MaskedArray):
        return _among(np.ma.getmaskarray(values), _of_present(name, values.compressed(), source))
    if isinstance(values, np.ndarray | list):
        return _of_present(name, values, source)
    if (levels := _levels(values)) is not None:
        return column_of_levels(name, *levels, source, "categories")
    if values.dtype.is_temporal():
        raise unfit(name, "dates or times", source)
    if values.dtype.is_nested():
        raise unfit(name, "lists or other values of several parts", source)
    present = values.drop_nulls()
    column = _of_present(name, present.to_numpy() if kind_of(values) in NUMERIC else present.to_list(), source)
    return _among(np.asarray(values.is_null().to_numpy(), np.bool_), column)


def column_of_times(name: str, values: Any, source: str) -> Column:
    """The same of a column of times: dates and moments are texts then, as ISO 8601 has them."""
    if isinstance(values, list):
        own = values
    elif isinstance(values, np.ndarray):
        if values.dtype.kind != "M":
            return column_of_values(name, values, source)
        own = [None if np.isnat(one) else str(one) for one in values]
    elif values.dtype.is_temporal():
        own = values.to_list()
    else:
        return column_of_values(name, values, source)
    return column_of_values(name, [_moment(one) for one in own], source)


def _moment(value: Any) -> Any:
    """A date or a moment as a text, None for one that is none (NaT); other values as they are."""
    if isinstance(value, datetime.date):  # moments are dates too
        return value.isoformat() if value == value else None
    return str(value) if isinstance(value, np.datetime64) else value


def kind_of(values: Any) -> str:
    """The kind of a column's dtype as numpy calls it, "O" where it is none of numpy's. O(1)."""
    if isinstance(values, np.ndarray | list):
        return values.dtype.kind if isinstance(values, np.ndarray) else "O"
    import narwhals

    kind = values.dtype
    if kind == narwhals.Boolean:
        return "b"
    if kind in (narwhals.Int128, narwhals.UInt128):  # which numpy has not
        return "O"
    return "i" if kind.is_integer() else "f" if kind.is_float() else "O"


def _levels(series: "narwhals.Series[Any]") -> tuple[Sequence[Any], NDArray[Any]] | None:
    """The categories that a series declares, and the code of each record, -1 where it has no value; None if it declares
    none: what polars calls Categorical is a text that is kept once."""
    import narwhals

    if series.dtype not in (narwhals.Categorical, narwhals.Enum):
        return None
    native: Any = series.to_native()
    if hasattr(getattr(native, "dtype", None), "pyarrow_dtype"):  # pandas with columns of pyarrow
        native = native.array.__arrow_array__()
    if hasattr(native, "unify_dictionaries"):
        array = native.unify_dictionaries().combine_chunks()
        array = array.chunk(0) if hasattr(array, "num_chunks") else array
        return array.dictionary.to_pylist(), array.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):
        return native.cat.categories, np.asarray(native.cat.codes)
    if isinstance(series.dtype, narwhals.Enum):
        place = {level: code for code, level in enumerate(series.dtype.categories)}
        return list(place), np.fromiter((place.get(value, -1) for value in series.to_list()), np.int64, len(series))
    return None


def _of_present(name: str, values: NDArray[Any] | Sequence[Any], source: str) -> Column:
    """The column of an array or of a list."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind in NUMERIC:
            return column_of_numbers(name, values, source)
        if values.dtype.kind in "mM":
            raise unfit(name, "dates or times", source)
    own: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    kinds = set(map(type, own))
    if kinds == {str}:
        return column_of_texts(name, map(str.strip, own))
    for kind in kinds:
        _check_kind(name, kind, own, source)
    try:
        return column_of_texts(name, map(_text, own))
    except UnicodeDecodeError as error:
        raise unfit(name, "bytes that are no text", source) from error


def _check_kind(name: str, kind: type, values: Sequence[Any], source: str) -> None:
    """Raise InputError if there are values of a kind that cannot be states."""
    if issubclass(kind, SEVERAL):
        raise unfit(name, "lists or other values of several parts", source)
    if issubclass(kind, complex):
        raise unfit(name, "complex numbers", source)
    own: list[Any] = [value for value in values if type(value) is kind] if issubclass(kind, (*TIMES, float)) else []
    if issubclass(kind, TIMES) and any(value == value for value in own):  # pandas.NaT is a time that equals nothing
        raise unfit(name, "dates or times", source)
    if issubclass(kind, float) and any(map(math.isinf, own)):
        raise InputError(f"{source}: column '{name}' has an infinite value: remove or replace it.", names=[name])


def _text(value: Any) -> str | None:
    """The text of a value, None where there is none; that of NaN and of pandas.NA is a marker of missing values."""
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return (value.decode() if isinstance(value, bytes) else str(value)).strip()


def _among(lacking: NDArray[np.bool_], column: Column) -> Column:
    """The column of all records, of which some lack a value, from that of the others."""
    if not lacking.any():
        return column
    codes = np.full(len(lacking), -1, column.codes.dtype)
    codes[~lacking] = column.codes
    return replace(column, codes=codes)


def unfit(name: str, what: str, source: str) -> InputError:
    """The refusal of a column for `what` it has."""
    return InputError(
        f"{source}: column '{name}' has {what}",
        names=[name],
        advice=("make it a few states, or leave it out", dropped([name])),
    )
