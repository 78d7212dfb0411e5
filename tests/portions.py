"""Which of many parameters a test gets by default, which with -m slow alone, and which only where all are asked for."""

import os

import pytest


def first(count, values):
    """The first values are tested by default, those after them with -m slow."""
    return [*values[:count], *(pytest.param(value, marks=pytest.mark.slow) for value in values[count:])]


def is_thorough():
    """Whether tests try all that they can, however long that takes: the environment has EXTBNSL_THOROUGH."""
    return bool(os.environ.get("EXTBNSL_THOROUGH"))


def some(values, most):
    """At most so many of a sequence, evenly spaced from the first to the last; all of them where tests are thorough.

    Of one it is the first, always: so tests ask who are not to take long.
    """
    if most == 1:
        return values[:1]
    if is_thorough() or len(values) <= most:
        return values
    return [values[k * (len(values) - 1) // (most - 1)] for k in range(most)]
