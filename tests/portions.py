"""Which of many parameters a test gets by default, and which with -m slow alone."""

import pytest


def first(count, values):
    """The first values are tested by default, those after them with -m slow."""
    return [*values[:count], *(pytest.param(value, marks=pytest.mark.slow) for value in values[count:])]
