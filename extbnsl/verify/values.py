"""What a JSON value can be."""

import sys
from typing import Any


def is_list(value: Any) -> bool:
    """Whether a JSON value is a list."""
    return isinstance(value, list)


def is_object(value: Any) -> bool:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_truth(value: Any) -> bool:
    """Whether a JSON value is true or false."""
    return isinstance(value, bool)


def is_word(value: Any) -> bool:
    """Whether a JSON value is a string."""
    return isinstance(value, str)


def is_names(value: Any) -> bool:
    """Whether a JSON value is a list of names."""
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number that a float can hold; nan, infinity, true and 10^400 are none."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def is_whole(value: Any) -> bool:
    """Whether a JSON value is a whole number, written without a point; true is none."""
    return type(value) is int
