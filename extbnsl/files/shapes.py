"""JSON documents, and the shape of values that come from outside: what kinds they are of, and in which ranges.

A shape is a function that raises Misfit unless a value has it. `check` names the place of what does not fit.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

MOST = 2**63 - 1
Shape = Callable[[Any], None]


class Misfit(ValueError):
    """A value that has not the shape it should have; the arguments are the keys on the way to it, innermost first."""


def whole(least: int = 0, most: int = MOST) -> Shape:
    """An integer of this range."""

    def look(value: Any) -> None:
        if type(value) is not int or not least <= value <= most:
            raise Misfit

    return look


def number(value: Any) -> None:
    """A finite number that a double can hold."""
    if type(value) not in (int, float) or not abs(value) <= 1e300:
        raise Misfit


def text(value: Any) -> None:
    """Any text."""
    if not isinstance(value, str):
        raise Misfit


def truth(value: Any) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise Misfit


def such(accepts: Callable[[str], object]) -> Shape:
    """A text of which `accepts` says something true."""

    def look(value: Any) -> None:
        if not isinstance(value, str) or not accepts(value):
            raise Misfit

    return look


def one_of(*values: object) -> Shape:
    """One of a few texts, numbers or null."""

    def look(value: Any) -> None:
        if not any(type(value) is type(other) and value == other for other in values):
            raise Misfit

    return look


def maybe(shape: Shape) -> Shape:
    """Null, or a value of this shape."""

    def look(value: Any) -> None:
        if value is not None:
            shape(value)

    return look


def either(*shapes: Shape) -> Shape:
    """A value of one of these shapes."""

    def look(value: Any) -> None:
        for shape in shapes:
            try:
                return shape(value)
            except Misfit:
                continue
        raise Misfit

    return look


def every(shape: Shape) -> Shape:
    """A list of values of this shape."""

    def look(value: Any) -> None:
        if not isinstance(value, list):
            raise Misfit
        for at, item in enumerate(value):
            _inside(str(at), shape, item)

    return look


def exactly(count: int, shape: Shape) -> Shape:
    """A list of so many values of this shape."""
    each = every(shape)

    def look(value: Any) -> None:
        each(value)
        if len(value) != count:
            raise Misfit

    return look


def by_name(shape: Shape) -> Shape:
    """An object of any keys, with values of this shape."""

    def look(value: Any) -> None:
        if not isinstance(value, dict):
            raise Misfit
        for key, item in value.items():
            _inside(key, shape, item)

    return look


def record(shapes: Mapping[str, Shape], further: Mapping[str, Shape] = {}) -> Shape:
    """An object of exactly these keys, and perhaps of further ones, with values of these shapes."""
    known = {**shapes, **further}

    def look(value: Any) -> None:
        if not isinstance(value, dict):
            raise Misfit
        for key in (*shapes, *value):
            if key not in known or key not in value:
                raise Misfit(key)
        for key, item in value.items():
            _inside(key, known[key], item)

    return look


def some_of(shapes: Mapping[str, Shape]) -> Shape:
    """An object of some of these keys, with values of these shapes."""

    def look(value: Any) -> None:
        if not isinstance(value, dict):
            raise Misfit
        for key, item in value.items():
            if key not in shapes:
                raise Misfit(key)
            _inside(key, shapes[key], item)

    return look


def misfit(value: Any, shape: Shape) -> str | None:
    """Where a value has not the shape, such as 'files.3.name'; None if it has."""
    try:
        shape(value)
    except Misfit as found:
        return ".".join(reversed([str(key) for key in found.args])) or "it"
    return None


def _inside(key: str, shape: Shape, value: Any) -> None:
    try:
        shape(value)
    except Misfit as found:
        raise Misfit(*found.args, key) from None


MOST_DIGITS = 308  # of a whole number: a double holds it


def json_value(content: str | bytes) -> Any:
    """The value of JSON that comes from outside; ValueError if it is none, has too many levels, or a whole number that
    no double can hold."""
    try:
        return json.loads(content, parse_int=_whole)
    except RecursionError as error:
        raise ValueError("it has too many levels") from error


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"it has a number of {len(digits):,} digits")
    return int(digits)


_AS_THEY_ARE = {str, int, bool, type(None)}


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON that every reader accepts: numpy values as numbers and lists, NaN and infinity as null."""
    return json.dumps(_plain(value), indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if type(value) in _AS_THEY_ARE:  # most values, of which a document may have millions
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # a numpy scalar or array, known without importing numpy
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
