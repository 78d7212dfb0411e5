"""Records that come one call after another from Python: which columns they have, in which order, and in which parts.

A fitted network sees new records later, in the columns that it knows, perhaps in another order and without one of them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from extbnsl.core.errors import InputError
from extbnsl.core.figures import counted
from extbnsl.data.array import from_array, numbers_from_array
from extbnsl.data.column import clean_name, listed
from extbnsl.data.dataframe import from_dataframe, numbers_from_dataframe
from extbnsl.data.dataset import Dataset
from extbnsl.data.numbers import Numbers
from extbnsl.data.treatment import LARGEST_ARITY

PART = LARGEST_ARITY  # records that are read at a time as they stand: no column of them has too many states


@dataclass(frozen=True, eq=False)
class Given:
    """Columns of equal length under the names that networks have; `from_dataframe` takes it for a data frame.

    keys: as the caller calls the columns, names: as networks do; both (n,). framed: whether the caller has given a data
    frame. whole: the array, if the caller has given one of numbers.
    """

    keys: tuple[Any, ...]
    names: tuple[str, ...]
    series: tuple[Any, ...]
    records: int
    framed: bool
    whole: Any = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names, as a data frame calls them."""
        return self.names

    def __getitem__(self, name: str) -> Any:
        return self.series[self.names.index(name)]

    def dataset(self, **options: Any) -> Dataset:
        """The data set, see `treatment.Options`; InputError for what cannot be used."""
        if self.whole is not None:
            return from_array(self.whole, self.names, **options)
        return from_dataframe(self, **options)

    def numbers(self, **options: Any) -> Numbers:
        """The Numbers, with options as for `dataset`; those that make states are an InputError."""
        if self.whole is not None:
            return numbers_from_array(self.whole, self.names, **options)
        return numbers_from_dataframe(self, **options)

    def parts(self, most: int = PART) -> Iterator["Given"]:
        """The records in parts of at most so many, in their order."""
        for start in range(0, self.records, most):
            yield self._rows(start, min(self.records, start + most))

    def in_order(self, names: Sequence[str], who: str, spare: str | None = None) -> "Given":
        """The columns that a network knows, in its order; `spare` may be missing, and is left out.

        A data frame is ordered by its names, an array must have all columns. Raises InputError naming what is missing
        and what is too much.
        """
        if self.framed:
            lacking = [name for name in names if name not in self.names and name != spare]
            if lacking:
                raise InputError(f"X lacks the {_columns(lacking)} of the network: give all its columns.")
            unknown = [name for name in self.names if name not in names]
            if unknown:
                raise InputError(
                    f"X has the {_columns(unknown)} that the network does not know: leave out what is new."
                )
        elif len(self.names) != len(names):
            raise InputError(
                f"X has {len(self.names)} features, but {who} is expecting {len(names)} features as input: give as "
                "many columns as for fit, in the same order."
            )
        own = self.names if self.framed else tuple(names)
        at = [own.index(name) for name in names if name != spare]
        whole = None if self.whole is None else self.whole[:, at]
        chosen = tuple(name for name in names if name != spare)
        return Given(chosen, chosen, tuple(self.series[i] for i in at), self.records, self.framed, whole)

    def _rows(self, start: int, end: int) -> "Given":
        series = tuple(getattr(one, "iloc", one)[start:end] for one in self.series)
        whole = None if self.whole is None else self.whole[start:end]
        return Given(self.keys, self.names, series, end - start, self.framed, whole)


def given(data: Any) -> Given:
    """What a caller gives: a data frame, or a 2-D array or lists of numbers or texts; InputError for others."""
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        keys = tuple(data.columns)
        names = tuple(clean_name(str(key)) for key in keys)
        if len(set(names)) == len(keys):
            return Given(keys, names, tuple(data[key] for key in keys), len(data), True)
        from_dataframe(data)  # which says what is wrong with the names
    array = _array(data)
    names = tuple(f"X{j}" for j in range(array.shape[1]))
    whole = array if array.dtype.kind in "biuf" else None
    return Given(names, names, tuple(array.T), array.shape[0], False, whole)


def as_they_were(labels: Sequence[str], kind: str) -> np.ndarray[Any, Any]:
    """The values that these states had in a column of that `kind` of dtype, (states,): numbers and truth values where
    all states are such, otherwise the labels."""
    readers: dict[str, Callable[[str], Any]] = {"i": int, "u": int, "f": float, "b": _truth}
    try:
        return np.array([readers[kind](label) for label in labels])
    except (KeyError, ValueError):
        return np.array(labels, dtype=object)


def kind_of(series: Any) -> str:
    """The kind of a column's dtype as numpy calls it, "O" where it is none of numpy's."""
    return str(getattr(getattr(series, "dtype", None), "kind", "O"))


def _truth(label: str) -> bool:
    return {"True": True, "False": False}[label]


def _array(data: Any) -> np.ndarray[Any, Any]:
    if hasattr(data, "tocsr"):
        raise InputError("X is a sparse matrix: give a dense array (X.toarray()).")
    try:
        array = np.asarray(data)
    except ValueError:
        raise InputError("X is ragged: give every row the same number of values.") from None
    if array.ndim != 2:
        what = f"has {counted(array.ndim, 'dimension')}" if array.ndim else f"is {data!r}"
        raise InputError(f"X {what}: give records by variables. Reshape your data, or give a data frame.")
    if array.dtype.kind == "c":
        raise InputError("Complex data not supported: give a few states for each column.")
    if array.shape[1] == 0:
        raise InputError(f"0 feature(s) (shape={array.shape}) while a minimum of 1 is required: give a column.")
    if array.shape[0] == 0:
        raise InputError(f"0 sample(s) (shape={array.shape}) while a minimum of 1 is required: give a record.")
    return array


def _columns(names: Sequence[str]) -> str:
    return f"column{'' if len(names) == 1 else 's'} {listed(names)}"
