"""JSON documents."""

import json
import math
from collections.abc import Mapping
from typing import Any

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
