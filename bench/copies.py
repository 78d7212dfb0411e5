"""Copies of what kernels are called with: arrays that share their memory do so in the copies too."""

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arguments = tuple[Any, ...]


def copies_of(calls: list[Arguments]) -> list[Arguments]:
    """The arguments of calls once more: to write to one of the copies changes none of these."""
    known = dict[int, NDArray[np.uint8]]()
    return [_copied(arguments, known) for arguments in calls]


def _copied(value: Any, known: dict[int, NDArray[np.uint8]]) -> Any:
    """A copy of a value; known: by its id what has been copied of the memory that arrays have."""
    if isinstance(value, np.ndarray):
        return _copied_array(value, known)
    if isinstance(value, tuple):
        members = [_copied(member, known) for member in value]
        return type(value)(*members) if hasattr(value, "_fields") else tuple(members)
    return deepcopy(value)


def _copied_array(array: NDArray[Any], known: dict[int, NDArray[np.uint8]]) -> NDArray[Any]:
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if id(owner) not in known:
        known[id(owner)] = owner.ravel(order="K").copy().view(np.uint8)
    offset = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, known[id(owner)], offset, array.strides)
