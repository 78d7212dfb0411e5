"""Types of arrays, by whatever numpy and whatever Python."""

import types

import numpy as np
import pytest
from numpy.typing import NDArray

from extbnsl.core.codec import decode, element_of


class NDArray25:
    """What an alias of Python 3.12 is called by."""


NDArray25.__name__ = "NDArray"


@pytest.mark.parametrize("element", [np.int64, np.uint8, np.float64])
@pytest.mark.parametrize("made", [lambda own: NDArray[own], lambda own: types.GenericAlias(NDArray25, (own,))])
def test_an_array_type_tells_its_elements(made, element):
    assert element_of(made(element)) is element
    found = decode(made(element), [1, 2, 3])
    assert found.dtype == element
    assert found.tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", [int, list[int], tuple[int, ...], int | None, dict[str, int]])
def test_other_types_are_none(kind):
    assert element_of(kind) is None
