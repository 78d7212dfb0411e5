"""Data sets from numpy arrays."""

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.figures import counted
from extbnsl.data.column import Column, clean_name, narrowest
from extbnsl.data.dataset import Dataset
from extbnsl.data.encode import prepare
from extbnsl.data.numbers import Numbers, measured
from extbnsl.data.treatment import Options, Treatment, treatment

SOURCE = "<array>"


def from_array(array: ArrayLike, names: Sequence[str] | None = None, **options: Unpack[Options]) -> Dataset:
    """The data set in a 2-D array (N, n) of integers, booleans or floats.

    The labels are the numbers, negative ones too, in numeric order; booleans are "False" and "True". NaN is
    a missing value. Floats must be whole numbers, unless `discretise` or `discrete` is given. `names` defaults to X0,
    X1, ...; `options`: see `treatment.Options`. Raises InputError for other shapes and dtypes.
    """
    wanted = treatment(**options)
    values, labels = _checked(array), _labels(array, names)
    if values.dtype.kind == "f" and wanted.rules == (None, {}):
        _refuse_fractions(values, labels, wanted)
    return prepare(_columns(values, labels), SOURCE, wanted)


def numbers_from_array(array: ArrayLike, names: Sequence[str] | None = None, **options: Unpack[Options]) -> Numbers:
    """The Numbers in a 2-D array (N, n) of integers or floats, of which NaN is a missing value.

    `names` and `options` are as for `from_array`; those that make states are an InputError.
    """
    return measured(_columns(_checked(array), _labels(array, names)), SOURCE, treatment(**options))


def _columns(values: NDArray[Any], labels: Sequence[str]) -> list[Column]:
    return [column_of_numbers(name, values[:, j], SOURCE) for j, name in enumerate(labels)]


def _labels(array: ArrayLike, names: Sequence[str] | None) -> list[str]:
    """The names of the columns of an array; InputError if there are not as many as columns."""
    columns = _checked(array).shape[1]
    if isinstance(names, str) or not isinstance(names, Iterable | None):
        raise InputError(f"names: {names!r} is no list of names: give one name for each column.")
    labels = [f"X{j}" for j in range(columns)] if names is None else [clean_name(str(name)) for name in names]
    if len(labels) != columns:
        given = f"{counted(len(labels), 'name')} for {counted(columns, 'column')}"
        raise InputError(f"names: {given} of the array: give one name for each.")
    return labels


def column_of_numbers(name: str, values: NDArray[Any], source: str) -> Column:
    """The column of a 1-D array of booleans, integers or floats; infinity is an InputError."""
    if values.dtype.kind == "f" and bool(np.isinf(values).any()):
        raise InputError(f"{source}: column '{name}' has an infinite value: remove or replace it.")
    distinct, codes = np.unique(values, return_inverse=True)
    return Column(name, tuple(_texts(distinct)), codes.astype(narrowest(len(distinct))))


def _texts(values: NDArray[Any]) -> list[str]:
    """The labels of numbers: the shortest decimals of their dtype, without ".0" where they are whole."""
    texts: list[str] = values.astype(str).tolist()
    if values.dtype.kind == "f":
        for i in np.flatnonzero(values == np.trunc(values)).tolist():
            texts[i] = str(int(values[i]))
    return texts


def _checked(array: ArrayLike) -> NDArray[Any]:
    """The array as numpy has it, two-dimensional and of a usable dtype."""
    if isinstance(array, np.ma.MaskedArray):
        raise InputError(f"{SOURCE} is a masked array: fill the masked values, with NaN if they are missing.")
    try:
        values = np.asarray(array)
    except ValueError:
        raise InputError(f"{SOURCE} is ragged: give every row the same number of values.") from None
    if values.ndim == 0:
        raise InputError(f"{array!r} is no data: give a data frame, or an array of records by variables.")
    if values.ndim != 2:
        raise InputError(f"{SOURCE} has {counted(values.ndim, 'dimension')}: give two, records by variables.")
    if values.dtype.kind not in "biuf":
        raise InputError(
            f"{SOURCE} has the dtype {values.dtype}: give integers, or a pandas data frame (pandas.DataFrame(array)) "
            "for texts."
        )
    return values


def _refuse_fractions(values: NDArray[Any], names: Sequence[str], wanted: Treatment) -> None:
    """Raise InputError naming the first column with a number that is not whole, unless that is wanted."""
    used = [wanted.uses(name) and not wanted.is_discrete(name) for name in names]
    fractional = np.isfinite(values) & (values != np.trunc(values)) & np.array(used, dtype=np.bool_)
    columns = np.flatnonzero(fractional.any(axis=0))
    if columns.size:
        row = int(fractional[:, columns[0]].argmax())
        raise InputError(
            f"{SOURCE}: column '{names[columns[0]]}' is continuous ({values[row, columns[0]]} in row "
            f"{row + 1}): give whole numbers for states, or cut it, such as with --discretise mean."
        )
