"""The shape of JSON values that come from outside: what kinds they are of, and in which ranges.

A shape is a function that raises Misfit unless a value has it. `check` names the place of what does not fit.
"""

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
