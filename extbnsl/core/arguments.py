"""What callers give as arguments: checked for its kind, since Python does not, before anything is computed with it; and
the packages that it takes, which need not be installed.
"""

import importlib
from pathlib import Path
from typing import Any

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Raise InputError unless `value`, that of the argument `name`, is an int from `least` to `most`; no bool is."""
    if isinstance(value, int) and not isinstance(value, bool) and least <= value and (most is None or value <= most):
        return
    if most is None:
        raise InputError(f"{name}: {value!r} is not a whole number of at least {least}.")
    raise InputError(f"{name}: {value!r} is not a whole number from {least} to {most}; give a number in that range.")


def check_number(name: str, value: Any, least: float, most: float, what: str = "number") -> None:
    """Raise InputError unless `value`, that of the argument `name`, is a number from `least` to `most`; no bool is."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise InputError(f"{name}: {value!r} is no {what}; give a number from {least:g} to {most:g}.")


def check_share(name: str, value: Any) -> None:
    """Raise InputError unless `value`, that of the argument `name`, is a number above 0 and at most 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= 1.0:
        raise InputError(f"{name}: {value!r} is no share; give a number above 0 and at most 1.")


def check_switch(name: str, value: Any) -> None:
    """Raise InputError unless `value`, that of the argument `name`, is True or False."""
    if not isinstance(value, bool):
        raise InputError(f"{name}: {value!r} is neither True nor False.")


def path_of(value: Any, name: str) -> Path:
    """The path that `value` is, that of the argument `name`; InputError if it is none."""
    try:
        return Path(value)
    except TypeError:
        raise InputError(f"{name}: {value!r} is no path.") from None


def plain(value: Any) -> Any:
    """A number or truth value of numpy as Python's own; anything else as it is."""
    import numpy

    return value.item() if isinstance(value, numpy.generic) else value


def imported(module: str, who: str | Mention, package: str) -> Any:
    """The module of a package that is no part of every installation; InputError that says `who` needs it, and how to
    install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(who, f" needs {module.partition('.')[0]}: pip install '{package}'.") from error


def texts_of(text: str) -> tuple[str, ...]:
    """The texts of a list that has commas between them, as options take it: double quotes keep a comma in a text, as in
    CSV, and each run of white space is one space."""
    import csv

    parts = next(csv.reader([" ".join(text.split())], skipinitialspace=True), [])
    return tuple(part.strip() for part in parts)


def written_number(text: str) -> int | None:
    """The whole number of at least 0 that a text of up to 18 digits writes; None if it is none, or longer."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None
