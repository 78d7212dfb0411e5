"""What columns hold: how many records have each state, or where the numbers lie."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.data.dataset import Dataset
from extbnsl.data.numbers import Numbers


@dataclass(frozen=True)
class Spread:
    """Where the numbers of a variable lie, in the units of the data: their mean, the root of the mean squared deviation
    from it, the smallest and the largest."""

    mean: float
    deviation: float
    least: float
    most: float


def state_counts(dataset: Dataset) -> tuple[tuple[int, ...], ...]:
    """How many records have each state of each variable, in the order of `dataset.states`. O(N n)."""
    columns = zip(dataset.codes.T, dataset.states, strict=True)
    return tuple(tuple(np.bincount(codes, minlength=len(labels)).tolist()) for codes, labels in columns)


def spreads(numbers: Numbers) -> tuple[Spread, ...]:
    """Where the numbers of each variable lie. O(N n)."""
    return tuple(map(_spread, numbers.values.T))


def _spread(values: NDArray[np.float64]) -> Spread:
    """By centred and scaled numbers: neither an offset nor the unit harms it."""
    mean = float(values[0] + (values - values[0]).mean())
    centred = values - mean
    scale = float(np.abs(centred).max()) or 1.0
    deviation = scale * math.sqrt(float(((centred / scale) ** 2).mean()))
    return Spread(mean, deviation, float(values.min()), float(values.max()))
