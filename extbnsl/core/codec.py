"""Values that travel as JSON, declared once: writing, checking and reading follow from the types of their fields.

`encode` makes JSON values of dataclasses, NamedTuples, tuples, sets, mappings and arrays, and `decode` takes them back.
What is read may come from anyone: whatever its type does not say is a `Misfit`, which knows the place.

    int, float, bool, str       whole numbers of 64 bits, finite numbers, true or false, any text
    tuple[T, ...], list[T], frozenset[T], tuple[T, U], dict[str, T], T | U, T | None
    NDArray[np.int32]           an array of one axis, as a list, or as writers and readers of arrays have it
    a dataclass, NamedTuple     an object of exactly its fields
    or TypedDict

More is said by `Annotated`: `Within` is the range of a number, a function what must be true of the value, `math.inf` or
`-math.inf` the number that null stands for, since JSON has no infinity. A field `Annotated[T, UNKEPT]` is not written
and has its default when it is read; an array `Annotated[NDArray[np.float64], IN_FILE]` lies in a file beside it.

A class may say more of itself. `is_sound()` tells whether its fields go together. `document()` and the class method
`from_document(value)`, which may raise Misfit, are its own way to be written and read.
"""

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNKEPT, IN_FILE = "unkept", "in a file"
MOST = 2**63 - 1
MOST_DIGITS = 308  # of a whole number: a double holds it
LARGEST = 1e300  # of a finite number
_AS_THEY_ARE = {str, int, bool, type(None)}


class Misfit(ValueError):
    """A value that its type does not allow; the arguments are the keys on the way to it, innermost first."""

    @property
    def place(self) -> str:
        """Where it is, such as 'files.3.name'."""
        return ".".join(reversed([str(key) for key in self.args])) or "it"


@dataclasses.dataclass(frozen=True)
class Within:
    """The range of a number, its ends included."""

    least: float = 0
    most: float = MOST

    def __call__(self, value: float) -> bool:
        return self.least <= value <= self.most


Whole = Annotated[int, Within()]  # a count or a number of something
Highest = Annotated[float, math.inf]  # a finite number, or infinity where nothing is known
Lowest = Annotated[float, -math.inf]
ARRAYS = "ndarray", "NDArray"  # what numpy's NDArray is called: itself from Python 3.12 and numpy 2.5 on


Writers = Mapping[type, Callable[[Any], Any]]  # how values of some types are written
Readers = Mapping[type, Callable[[Any], Any]]  # how values of some types are read, wherever they are


@dataclasses.dataclass(frozen=True)
class _Source:
    """What reading takes besides the document: how values of some types are read, and the arrays of its file."""

    readers: Readers
    arrays: Mapping[str, "NDArray[Any]"]


Reader = Callable[[Any, _Source, str], Any]  # of a value, which is at this place among the arrays


def encode(value: Any, writers: Writers | None = None) -> Any:
    """The JSON value of a value: numpy's as numbers and lists, NaN and infinity as null; `writers` write the values of
    some types, wherever they are."""
    kind: Any = type(value)
    if kind in _AS_THEY_ARE:  # most values, of which a document may have millions
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if writers and kind in writers:
        return writers[kind](value)
    if hasattr(value, "document"):
        return value.document()
    if (fields := _fields(kind)) is not None:
        return {
            name: encode(getattr(value, name), writers)
            for name, (_, marks) in fields.items()
            if UNKEPT not in marks and IN_FILE not in marks
        }
    if isinstance(value, Mapping):
        return {str(key): encode(item, writers) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [encode(item, writers) for item in value]
    if hasattr(value, "tolist"):  # a numpy scalar or array, known without importing numpy
        return encode(value.tolist(), writers)
    return value


def arrays_of(value: Any, place: str = "") -> "Iterator[tuple[str, NDArray[Any]]]":
    """The arrays of a value that lie in a file, by their places in it."""
    kind: Any = type(value)
    if (fields := _fields(kind)) is not None:
        for name, (_, marks) in fields.items():
            item = getattr(value, name)
            if IN_FILE in marks and item is not None:
                yield place + name, item
            elif UNKEPT not in marks:
                yield from arrays_of(item, f"{place}{name}.")
    elif isinstance(value, tuple | list):
        for at, item in enumerate(value):
            yield from arrays_of(item, f"{place}{at}.")


def decode(
    kind: Any, value: Any, readers: Readers | None = None, arrays: "Mapping[str, NDArray[Any]] | None" = None
) -> Any:
    """The value of this kind that a JSON value stands for; Misfit if it stands for none. arrays: those that lie in a
    file, by their places."""
    return _reader(kind)(value, _Source(readers or {}, arrays or {}), "")


def decode_some(kinds: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """The values of an object of some of these keys, each of its kind; Misfit if it is none."""
    if not isinstance(value, dict):
        raise Misfit
    for key in value:
        if key not in kinds:
            raise Misfit(key)
    return {key: _inside(key, _reader(kinds[key]), item, _Source({}, {}), "") for key, item in value.items()}


@functools.cache
def _fields(kind: Any) -> dict[str, tuple[Any, tuple[Any, ...]]] | None:
    """The type of each field of a dataclass, NamedTuple or TypedDict, and what is said of it beside its type; None of
    any other class."""
    if not (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields") or typing.is_typeddict(kind)):
        return None
    hints = typing.get_type_hints(kind, include_extras=True)
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else list(hints)
    return {name: (hints[name], getattr(hints[name], "__metadata__", ())) for name in names}


def element_of(kind: Any) -> Any:
    """The type of the elements of a type of arrays that numpy's NDArray has made; None of any other type."""
    if getattr(typing.get_origin(kind), "__name__", "") not in ARRAYS:
        return None
    last = typing.get_args(kind)[-1]
    return next(iter(typing.get_args(last)), last)


@functools.cache
def _reader(kind: Any) -> Reader:
    """What reads values of this kind."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return _annotated(parts[0], parts[1:])
    if origin in (typing.Union, types.UnionType):
        return _either([_reader(part) for part in parts])
    if origin is tuple and parts[1:] != (...,):
        return _exactly([_reader(part) for part in parts])
    if origin in (tuple, list, frozenset):
        return _each(_reader(parts[0]), origin)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _by_name(_reader(parts[1]))
    if (element := element_of(kind)) is not None:
        return _listed(element)
    return _PLAIN.get(kind) or _of_class(kind)


def _fitting(fits: Callable[[Any], bool]) -> Reader:
    def reader(value: Any, source: _Source, place: str) -> Any:
        if not fits(value):
            raise Misfit
        return value

    return reader


def _number(value: Any, source: _Source, place: str) -> float:
    if type(value) not in (int, float) or not abs(value) <= LARGEST:
        raise Misfit
    return float(value)


_PLAIN: dict[Any, Reader] = {
    int: _fitting(lambda value: type(value) is int and -MOST <= value < 2 * MOST + 2),
    float: _number,
    str: _fitting(lambda value: isinstance(value, str)),
    bool: _fitting(lambda value: isinstance(value, bool)),
    type(None): _fitting(lambda value: value is None),
    Any: _fitting(lambda value: True),
}


def _annotated(kind: Any, marks: tuple[Any, ...]) -> Reader:
    if IN_FILE in marks:
        return _in_file(kind)
    read, checks = _reader(kind), [mark for mark in marks if callable(mark)]
    infinity = next((mark for mark in marks if isinstance(mark, float)), None)

    def reader(value: Any, source: _Source, place: str) -> Any:
        if value is None and infinity is not None:
            return infinity
        found = read(value, source, place)
        if not all(check(found) for check in checks):
            raise Misfit
        return found

    return reader


def _in_file(kind: Any) -> Reader:
    """What reads the array of a field that lies in a file: None where the type allows that and the file has none."""
    own = next((part for part in typing.get_args(kind) if typing.get_origin(part) is not None), None)
    own, optional = (own, True) if type(None) in typing.get_args(kind) else (kind, False)
    dtype = element_of(own)

    def reader(value: Any, source: _Source, place: str) -> Any:
        array = source.arrays.get(place.removesuffix("."))
        if (array is None and not optional) or (array is not None and array.dtype != dtype):
            raise Misfit
        return array

    return reader


def _either(readers: list[Reader]) -> Reader:
    def reader(value: Any, source: _Source, place: str) -> Any:
        failed = Misfit()
        for read in readers:
            try:
                return read(value, source, place)
            except Misfit as found:
                failed = max(failed, found, key=lambda one: len(one.args))  # the one that came furthest
        raise failed

    return reader


def _each(read: Reader, kind: Callable[[Any], Any]) -> Reader:
    def reader(value: Any, source: _Source, place: str) -> Any:
        if not isinstance(value, list):
            raise Misfit
        return kind([_inside(at, read, item, source, place) for at, item in enumerate(value)])

    return reader


def _exactly(readers: list[Reader]) -> Reader:
    def reader(value: Any, source: _Source, place: str) -> Any:
        if not isinstance(value, list) or len(value) != len(readers):
            raise Misfit
        return tuple(_inside(at, read, value[at], source, place) for at, read in enumerate(readers))

    return reader


def _by_name(read: Reader) -> Reader:
    def reader(value: Any, source: _Source, place: str) -> Any:
        if not isinstance(value, dict):
            raise Misfit
        return {key: _inside(key, read, item, source, place) for key, item in value.items()}

    return reader


def _listed(dtype: Any) -> Reader:
    def reader(value: Any, source: _Source, place: str) -> Any:
        import numpy as np

        if np.ndarray in source.readers:
            array = source.readers[np.ndarray](value)
            if array.dtype != dtype:
                raise Misfit
            return array
        kind = float if np.issubdtype(dtype, np.floating) else int
        numbers = _each(_PLAIN[kind], list)(value, source, place)
        try:
            return np.array(numbers, dtype)
        except OverflowError:
            raise Misfit from None

    return reader


def _of_class(kind: Any) -> Reader:
    """What reads a value of a class: as the source says, or the class itself, or else by its fields."""

    def reader(value: Any, source: _Source, place: str) -> Any:
        if kind in source.readers:
            return source.readers[kind](value)
        if hasattr(kind, "from_document"):
            return kind.from_document(value)
        found = kind(**_read_fields(kind, value, source, place))
        if hasattr(kind, "is_sound") and not found.is_sound():
            raise Misfit
        return found

    return reader


def _read_fields(kind: Any, value: Any, source: _Source, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Misfit
    fields, found = _fields(kind) or {}, {}
    for name in value:
        if name not in fields or UNKEPT in fields[name][1] or IN_FILE in fields[name][1]:
            raise Misfit(name)
    for name, (hint, marks) in fields.items():
        if UNKEPT in marks:
            continue
        if IN_FILE not in marks and name not in value:
            raise Misfit(name)
        found[name] = _inside(name, _reader(hint), value.get(name), source, place)
    return found


def _inside(key: str | int, read: Reader, value: Any, source: _Source, place: str) -> Any:
    try:
        return read(value, source, f"{place}{key}.")
    except Misfit as found:
        raise Misfit(*found.args, key) from None


def json_value(content: str | bytes) -> Any:
    """The value of JSON that comes from outside; ValueError if it is none, has too many levels, or a whole number that
    no double can hold."""
    try:
        return json.loads(content, parse_int=_digits)
    except RecursionError as error:
        raise ValueError("it has too many levels") from error


def _digits(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"it has a number of {len(digits):,} digits")
    return int(digits)


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON that every reader accepts, of a value as `encode` has it."""
    return json.dumps(encode(value), indent=indent, ensure_ascii=False, allow_nan=False)
