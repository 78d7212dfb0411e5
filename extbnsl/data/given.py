"""Records that callers of Python give: data frames and arrays, at once or one call after another.

A fitted network sees new records later, in the columns that it knows, perhaps in another order and without one of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError
from extbnsl.core.figures import counted
from extbnsl.core.sentences import asking
from extbnsl.data.column import (
    Column,
    check_lengths,
    check_names,
    clean_name,
    column_of_levels,
    column_of_numbers,
    column_of_texts,
    listed,
    narrowest,
)
from extbnsl.data.encode import UNLIMITED, Made, Make, prepare
from extbnsl.data.missing import mark_missing
from extbnsl.data.text import Reading
from extbnsl.data.treatment import LARGEST_ARITY, Treatment, treatment
from extbnsl.machine.workers import chunks

ARRAY, FRAME = "<array>", "<dataframe>"
PART = LARGEST_ARITY  # records that are read at a time as they stand: no column of them has too many states


def made_of_frame(make: Make[Made], frame: Any, options: DataOptions) -> Made:
    """What `make`, which is `prepare` or `measured`, makes of a data frame, of pandas or of anything alike.

    `frame.columns` are the names and `frame[name]` a column: with `.to_numpy()`, or a sequence; of booleans,
    integers, floats, texts, categories or other objects that have a text. None, NaN and NA are missing, and
    so are the texts in `missing.MARKERS`. Whole floats are labelled as integers. Ordered categories are the states,
    in their order, whether they occur or not; of other categories, those that occur. Raises InputError for names that
    occur twice, and lengths that differ.
    """
    wanted = treatment(options)
    if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
        raise InputError(f"{FRAME}: a {type(frame).__name__} has no columns: give a data frame.")
    keys = list(frame.columns)
    names = [clean_name(str(key)) for key in keys]
    # Before a column is taken: for a name that occurs twice, a frame gives a frame.
    check_names(names, FRAME)
    columns = [column_of_series(name, frame[key], FRAME) for name, key in zip(names, keys, strict=True)]
    check_lengths(columns, FRAME)
    return make(columns, FRAME, wanted, UNLIMITED)


def made_of_array(make: Make[Made], array: ArrayLike, names: Sequence[str] | None, options: DataOptions) -> Made:
    """What `make`, which is `prepare` or `measured`, makes of a 2-D array (N, n) of integers, booleans or floats.

    The labels are the numbers, negative ones too, in numeric order; booleans are "False" and "True". NaN is a missing
    value. States must be whole numbers, unless they are to be cut or are discrete. `names` defaults to X0, X1, ...
    Raises InputError for other shapes and dtypes, and if there are not as many names as columns.
    """
    wanted = treatment(options)
    values = _checked(array)
    if isinstance(names, str) or not isinstance(names, Iterable | None):
        raise InputError(f"names: {names!r} is no list of names: give one name for each column.")
    own = _numbered(values) if names is None else tuple(clean_name(str(name)) for name in names)
    if len(own) != values.shape[1]:
        found = f"{counted(len(own), 'name')} for {counted(values.shape[1], 'column')}"
        raise InputError(f"names: {found} of the array: give one for each.")
    if make is prepare and values.dtype.kind == "f" and not wanted.rules:
        used = [wanted.uses(name) and not wanted.is_discrete(name) for name in own]
        _refuse_fractions(values, own, np.array(used, dtype=np.bool_))
    columns = [column_of_numbers(name, values[:, j], ARRAY) for j, name in enumerate(own)]
    return make(columns, ARRAY, wanted, UNLIMITED)


def column_of_series(name: str, series: Any, source: str, declared: bool = False) -> Column:
    """The column of one series or sequence; the levels of ordered categories, and of others if all are `declared`, are
    all its states."""
    kind: Any = getattr(series, "dtype", None)
    if getattr(kind, "ordered", False) or (declared and hasattr(kind, "categories")):
        return column_of_levels(name, kind.categories, np.asarray(series.array.codes), source, "categories")
    values = series.to_numpy() if hasattr(series, "to_numpy") else np.asarray(series)
    if values.ndim != 1:
        raise InputError(f"{source}: column '{name}' has {values.ndim} dimensions: give one value for each record.")
    if values.dtype.kind in "biuf":
        return column_of_numbers(name, values, source)
    if values.dtype.kind in "mM":
        raise InputError(f"{source}: column '{name}' has dates or times: remove it or make it a few states.")
    # The text of NaN and of pandas.NA is a marker of missing values; that of None may be a state's name.
    return column_of_texts(name, ["" if value is None else str(value).strip() for value in values.tolist()])


def _checked(array: ArrayLike) -> NDArray[Any]:
    """The array as numpy has it, two-dimensional and of a usable dtype."""
    if isinstance(array, np.ma.MaskedArray):
        raise InputError(f"{ARRAY} is a masked array: fill the masked values, with NaN if they are missing.")
    values = _as_array(array, ARRAY)
    if values.ndim == 0:
        raise InputError(f"{array!r} is no data: give a data frame, or an array of records by variables.")
    if values.ndim != 2:
        raise InputError(f"{ARRAY} has {counted(values.ndim, 'dimension')}: give two, records by variables.")
    if values.dtype.kind not in "biuf":
        raise InputError(
            f"{ARRAY} has the dtype {values.dtype}: give integers, or a pandas data frame (pandas.DataFrame(array)) "
            "for texts."
        )
    return values


def _as_array(data: Any, who: str) -> NDArray[Any]:
    try:
        return np.asarray(data)
    except ValueError:
        raise InputError(f"{who} is ragged: give every row the same number of values.") from None


def _numbered(array: NDArray[Any]) -> tuple[str, ...]:
    """The names of the columns of an array: X0, X1, ..."""
    return tuple(f"X{j}" for j in range(array.shape[1]))


def _refuse_fractions(values: NDArray[Any], names: Sequence[str], used: NDArray[np.bool_]) -> None:
    """Raise InputError naming the first column with a number that is not whole, of those that are used."""
    fractional = np.isfinite(values) & (values != np.trunc(values)) & used
    columns = np.flatnonzero(fractional.any(axis=0))
    if columns.size:
        row, name = int(fractional[:, columns[0]].argmax()), names[columns[0]]
        value = values[row, columns[0]]
        raise InputError(
            f"{ARRAY}: column '{name}' is continuous ({value} in row {row + 1})",
            names=[name],
            value=value,
            row=row + 1,
            advice=("give whole numbers for states, or cut it, such as with ", asking("discretise", "mean")),
        )


@dataclass(frozen=True, eq=False)
class Given:
    """Columns of equal length under the names that networks have; `made_of_frame` takes it for a data frame.

    keys: as the caller calls the columns, (n,).
    names: as networks call them, (n,).
    framed: whether the caller has given a data frame.
    whole: the array, if the caller has given one of numbers.
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

    def made(self, make: Make[Made], **options: Any) -> Made:
        """What `make`, which is `prepare` or `measured`, makes of it with `DataOptions`; InputError for what
        cannot be used."""
        if self.whole is not None:
            return made_of_array(make, self.whole, self.names, DataOptions(**options))
        return made_of_frame(make, self, DataOptions(**options))

    def with_gaps(
        self, make: Make[Made], filled: str | Mapping[str, str], **options: Any
    ) -> tuple[Made, NDArray[np.bool_]]:
        """What `make` makes of it if every missing value were this text, or that of its column; and which values are
        missing, (N, n)."""
        gaps: list[NDArray[np.bool_]] = []

        def make_whole(columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading) -> Made:
            whole = []
            for column in columns:
                marked = mark_missing(column, wanted.markers)
                gaps.append(marked.codes < 0)
                text = filled if isinstance(filled, str) else filled[column.name]
                whole.append(_filled(marked, text) if gaps[-1].any() else marked)
            return make(whole, source, wanted, reading)

        return self.made(make_whole, **options), np.column_stack(gaps)

    def parts(self, most: int = PART) -> Iterator["Given"]:
        """The records in parts of at most so many, in their order."""
        for start, end in chunks(self.records, most):
            series = tuple(getattr(one, "iloc", one)[start:end] for one in self.series)
            whole = None if self.whole is None else self.whole[start:end]
            yield replace(self, series=series, records=end - start, whole=whole)

    def in_order(self, names: Sequence[str], who: str, spare: str | None = None) -> "Given":
        """The columns that a network knows, in its order; `spare` is left out.

        A data frame is ordered by its names and may lack some, an array must have all columns. Raises InputError naming
        what is too much.
        """
        if self.framed:
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
        chosen = tuple(name for name in names if name != spare and name in own)
        at = [own.index(name) for name in chosen]
        whole = None if self.whole is None else self.whole[:, at]
        return Given(chosen, chosen, tuple(self.series[i] for i in at), self.records, self.framed, whole)


def given(data: Any) -> Given:
    """What a caller gives: a data frame, or a 2-D array or lists of numbers or texts; InputError for others."""
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        keys = tuple(data.columns)
        names = tuple(clean_name(str(key)) for key in keys)
        if len(set(names)) == len(keys):
            return Given(keys, names, tuple(data[key] for key in keys), len(data), True)
        made_of_frame(prepare, data, DataOptions())  # which says what is wrong with the names
    if hasattr(data, "tocsr"):
        raise InputError("X is a sparse matrix: give a dense array (X.toarray()).")
    array = _as_array(data, "X")
    if array.ndim != 2:
        what = f"has {counted(array.ndim, 'dimension')}" if array.ndim else f"is {data!r}"
        raise InputError(f"X {what}: give records by variables. Reshape your data, or give a data frame.")
    if array.dtype.kind == "c":
        raise InputError("Complex data not supported: give a few states for each column.")
    for at, what, lacking in ((1, "feature", "column"), (0, "sample", "record")):
        if array.shape[at] == 0:
            raise InputError(f"0 {what}(s) (shape={array.shape}) while a minimum of 1 is required: give a {lacking}.")
    whole = array if array.dtype.kind in "biuf" else None
    return Given(_numbered(array), _numbered(array), tuple(array.T), array.shape[0], False, whole)


def as_they_were(labels: Sequence[str], kind: str) -> NDArray[Any]:
    """The values that these states had in a column of that `kind` of dtype, (states,): numbers and truth values where
    all states are such, otherwise the labels."""
    readers: Mapping[str, Callable[[str], Any]] = {"i": int, "u": int, "f": float, "b": TRUTHS.__getitem__}
    try:
        return np.array([readers[kind](label) for label in labels])
    except (KeyError, ValueError):
        return np.array(labels, dtype=object)


def kind_of(series: Any) -> str:
    """The kind of a column's dtype as numpy calls it, "O" where it is none of numpy's."""
    return str(getattr(getattr(series, "dtype", None), "kind", "O"))


TRUTHS = {"True": True, "False": False}


def _filled(column: Column, text: str) -> Column:
    """The column with this text where it has no value."""
    values = column.values if text in column.values else (*column.values, text)
    codes = column.codes.astype(narrowest(len(values)))
    codes[codes < 0] = values.index(text)
    return replace(column, values=values, codes=codes)


def _columns(names: Sequence[str]) -> str:
    return f"column{'' if len(names) == 1 else 's'} {listed(names)}"
