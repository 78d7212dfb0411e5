"""Records that callers of Python give: data frames of any package, arrays, and Python's own dicts and lists, at once or
one call after another.

A fitted network sees new records later, in the columns that it knows, perhaps in another order and without one of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.arguments import imported
from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError
from extbnsl.core.figures import counted
from extbnsl.data.alike import filling
from extbnsl.data.column import (
    LARGEST_ARITY,
    LARGEST_EXACT,
    Column,
    check_lengths,
    check_names,
    clean_name,
    listed,
    narrowest,
)
from extbnsl.data.encode import UNLIMITED, Made, Make
from extbnsl.data.text import Reading
from extbnsl.data.treatment import Treatment, treatment
from extbnsl.data.values import column_of_times, column_of_values
from extbnsl.machine.workers import chunks

ARRAY, FRAME = "<array>", "<dataframe>"
PART = LARGEST_ARITY  # records that are read at a time as they stand: no column of them has too many states
SHOWN = 60  # characters of what is no data
NO_DATA = "give a data frame, or an array of records by variables"


@dataclass(frozen=True, eq=False)
class Given:
    """Columns under the names that networks have.

    keys: as the caller calls the columns, (n,).
    names: as networks call them, (n,).
    columns: what `column_of_values` takes, (n,), each of as many records.
    records: number of records N.
    framed: whether the caller has given names.
    warnings: of what is left out.
    """

    keys: tuple[Any, ...]
    names: tuple[str, ...]
    columns: tuple[Any, ...]
    records: int
    framed: bool
    warnings: tuple[str, ...] = ()

    def made(self, make: Make[Made], options: DataOptions) -> Made:
        """What `make`, which is `prepare` or `measured`, makes of it; InputError for what cannot be used."""
        wanted, source = treatment(options), FRAME if self.framed else ARRAY
        made: Made = make(self.read(wanted, source, UNLIMITED), source, wanted, UNLIMITED)
        return replace(made, warnings=(*self.warnings, *made.warnings))

    def read(self, wanted: Treatment, source: str, reading: Reading) -> list[Column]:
        """The columns; those that nobody wants are empty. InputError for names that are empty or occur twice, for
        lengths that differ, and as `column_of_values` does."""
        check_names(self.names, source)
        found = list[Column]()
        for name, values in zip(self.names, self.columns, strict=True):
            reading.check_time(source)
            if wanted.slicing is not None and name == wanted.slicing.time:
                found.append(column_of_times(name, values, source))
            elif wanted.reads(name):
                found.append(column_of_values(name, values, source))
            else:
                found.append(_unread(name, len(values)))
        check_lengths(found, source)
        return found

    def with_gaps(
        self, make: Make[Made], options: DataOptions, filled: str | Mapping[str, str]
    ) -> tuple[Made, NDArray[np.bool_]]:
        """What `make` makes of it if every missing value were this text, or that of its column; and which values are
        missing, (N, n)."""
        gaps: dict[str, NDArray[np.bool_]] = {}
        made = self.made(filling(make, filled, gaps), options)
        return made, np.column_stack([gaps[name] for name in self.names])

    def parts(self, most: int = PART) -> Iterator["Given"]:
        """The records in parts of at most so many, in their order."""
        for start, end in chunks(self.records, most):
            yield replace(self, columns=tuple(values[start:end] for values in self.columns), records=end - start)

    def without(self, name: str) -> "Given":
        """All columns but one of this name."""
        return self.chosen([j for j, own in enumerate(self.names) if own != name])

    def chosen(self, at: Sequence[int]) -> "Given":
        """The columns at these places."""
        keys, names, columns = (tuple(own[j] for j in at) for own in (self.keys, self.names, self.columns))
        return replace(self, keys=keys, names=names, columns=columns)

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
        return replace(self, keys=chosen, names=chosen, columns=tuple(self.columns[own.index(name)] for name in chosen))


def given(data: Any, names: Sequence[str] | None = None, who: str = "data") -> Given:
    """The columns of what a caller gives, called `who` in sentences.

    A data frame of any package that narwhals knows, lazy ones too, or that speaks Arrow; a mapping of names to columns;
    a list of mappings, one for each record, where a name that one lacks is a missing value; a structured array; a 2-D
    array or a list of lists of numbers or texts. The columns of the last two are called X0, X1, ..., or by `names`.
    Raises InputError for what is no data.
    """
    framed = _framed(data, who)
    if framed is None:
        return _of_array(data, names, who)
    if names is not None:
        raise InputError(f"names: a {type(data).__name__} has names of its own; leave them out.")
    return framed


def _framed(data: Any, who: str) -> Given | None:
    """What has names of its columns; None if it has none."""
    if hasattr(data, "tocsr"):
        raise InputError(f"{who} is a sparse matrix: give a dense array (X.toarray()).")
    if isinstance(data, np.ndarray):
        fields = data.dtype.names
        return None if fields is None else _of_pairs([(name, np.ravel(data[name])) for name in fields])
    if isinstance(data, list | tuple):
        rows = [one._asdict() if hasattr(one, "_asdict") else one for one in data]
        if not rows or not all(isinstance(row, Mapping) for row in rows):
            return None
        keys = dict.fromkeys(key for row in rows for key in row)
        return _of_pairs([(key, [row.get(key) for row in rows]) for key in keys])
    if isinstance(data, Mapping):
        return _of_pairs(list(data.items()))
    if isinstance(data, str | bytes) or hasattr(data, "__fspath__"):
        raise InputError(f"{who}: {_shown(data)} is a file name; read the file first, with extbnsl.read_data.")
    return _of_frame(data, who)


def _of_frame(data: Any, who: str) -> Given | None:
    """What a data frame of any package holds, None of what is none."""
    import narwhals
    from narwhals.exceptions import DuplicateError

    try:
        frame = narwhals.from_native(data, pass_through=True, allow_series=True)
        if isinstance(frame, narwhals.LazyFrame):
            frame = frame.collect()
    except DuplicateError:
        check_names([clean_name(str(key)) for key in getattr(data, "column_names", data.columns)], FRAME)
        raise
    except ImportError as error:
        raise InputError(f"{who}: reading a {type(data).__name__} needs a package ({error}): install that.") from error
    if isinstance(frame, narwhals.Series):
        raise InputError(f"{who}: a series is a single column; give a data frame (series.to_frame()).")
    if isinstance(frame, narwhals.DataFrame):
        index = [str(name) for name in getattr(getattr(data, "index", None), "names", ()) if name is not None]
        keys = tuple(frame.columns)
        names = tuple(clean_name(str(key)) for key in keys)
        warnings = (_of_index(index),) if index else ()
        return Given(keys, names, tuple(frame.iter_columns()), len(frame), True, warnings)
    speaks_arrow = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    if speaks_arrow and not hasattr(data, "ndim"):  # arrays of xarray have both, and are arrays
        return _of_frame(imported("pyarrow", f"{who}: reading a {type(data).__name__}", "pyarrow").table(data), who)
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        own = list(data.columns)
        check_names([clean_name(str(key)) for key in own], FRAME)  # of a name that occurs twice it has several
        return _of_pairs([(key, data[key]) for key in own])
    return None


def _of_index(names: Sequence[str]) -> str:
    what, them = ("index", "it") if len(names) == 1 else ("indexes", "them")
    return (
        f"The {what} {listed(names)} of the data frame {'is' if len(names) == 1 else 'are'} left out: reset_index() "
        f"makes {'it a column' if len(names) == 1 else 'them columns'}, if you want {them} among the variables."
    )


def _of_pairs(pairs: Sequence[tuple[Any, Any]]) -> Given:
    """Columns with their keys."""
    names = tuple(clean_name(str(key)) for key, _ in pairs)
    columns = tuple(map(_values, names, (own for _, own in pairs)))
    return Given(tuple(key for key, _ in pairs), names, columns, len(columns[0]) if columns else 0, True)


def _values(name: str, own: Any) -> Any:
    """A column as `column_of_values` takes it; InputError for what is none."""
    if not isinstance(own, np.ndarray | list):
        import narwhals

        series = narwhals.from_native(own, pass_through=True, allow_series=True)
        if isinstance(series, narwhals.Series):
            return series
        if hasattr(own, "__array__"):
            own = np.asarray(own)
        elif isinstance(own, Iterable) and not isinstance(own, str | bytes | Mapping | set | frozenset):
            own = list(own)
        else:
            raise InputError(f"{FRAME}: column '{name}' is {_shown(own)}: give a list of one value for each record.")
    if isinstance(own, np.ndarray) and own.ndim != 1:
        raise InputError(f"{FRAME}: column '{name}' has {own.ndim} dimensions: give one value for each record.")
    return _numbers(own) if isinstance(own, list) else own


def _numbers(values: list[Any]) -> NDArray[Any] | list[Any]:
    """A list of numbers of one kind, or of truth values, as an array that has the same values; others as they are."""
    kinds = set(map(type, values))
    if not kinds or not (kinds <= {int, float} or kinds == {bool}):
        return values
    array = np.array(values)
    exact = array.dtype.kind in "biu" or (array.dtype.kind == "f" and not _beyond(values, kinds))
    return array if exact else values


def _beyond(values: Sequence[Any], kinds: set[type]) -> bool:
    """Whether there are whole numbers that a float cannot tell from their neighbours."""
    return int in kinds and any(type(value) is int and abs(value) >= LARGEST_EXACT for value in values)


def _of_array(data: Any, names: Sequence[str] | None, who: str) -> Given:
    """The columns of a 2-D array, or of what numpy makes one of."""
    try:
        array = data if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
    except ValueError:
        raise InputError(f"{who} is ragged: give every row the same number of values.") from None
    if array.ndim == 0:
        raise InputError(f"{who}: {_shown(data)} is no data: {NO_DATA}.")
    if array.ndim != 2:
        raise InputError(
            f"{who} has {counted(array.ndim, 'dimension')}: give two, records by variables. Reshape your data, or give "
            "a data frame."
        )
    if array.dtype.kind == "c":
        raise InputError(f"{who}: Complex data not supported: give a few states for each column.")
    if isinstance(names, str) or not isinstance(names, Iterable | None):
        raise InputError(f"names: {names!r} is no list of names: give one name for each column.")
    numbered = tuple(f"X{j}" for j in range(array.shape[1]))
    own = numbered if names is None else tuple(clean_name(str(name)) for name in names)
    if len(own) != len(numbered):
        found = f"{counted(len(own), 'name')} for {counted(len(numbered), 'column')}"
        raise InputError(f"names: {found} of the array: give one for each.")
    return Given(own, own, tuple(array.T), len(array), False)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _unread(name: str, records: int) -> Column:
    """A column of that name without values."""
    return Column(name, (), np.full(records, -1, narrowest(1)))


def as_they_were(labels: Sequence[str], kind: str) -> NDArray[Any]:
    """The values that these states had in a column of that `kind` of dtype, (states,): numbers and truth values where
    all states are such, otherwise the labels."""
    readers: Mapping[str, Callable[[str], Any]] = {"i": int, "u": int, "f": float, "b": TRUTHS.__getitem__}
    try:
        return np.array([readers[kind](label) for label in labels])
    except (KeyError, ValueError):
        return np.array(labels, dtype=object)


TRUTHS = {"True": True, "False": False}


def _columns(names: Sequence[str]) -> str:
    return f"column{'' if len(names) == 1 else 's'} {listed(names)}"
