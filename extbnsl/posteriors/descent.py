"""Directions down along gradients of a convex function, by what slopes have been so far (Kingma and Ba 2015)."""

import math

import numpy as np
from numpy.typing import NDArray

LEAST_SQUARE = 1e-9  # of a slope: where there is none, there is no way down


class Descent:
    """What slopes by k variables have been, on average, the later ones more.

    mean_kept, square_kept: how much of the average so far, and of that of the squares, stays with each new slope.
    """

    def __init__(self, size: int, mean_kept: float, square_kept: float) -> None:
        self._steps, self._kept = 0, (mean_kept, square_kept)
        self._mean, self._square = np.zeros(size), np.zeros(size)

    def direction(self, slope: NDArray[np.float64]) -> NDArray[np.float64]:
        """The next direction upwards, for each variable about from -1 to 1; slope: the gradient, both (k,)."""
        self._steps += 1
        mean_kept, square_kept = self._kept
        self._mean += (1.0 - mean_kept) * (slope - self._mean)
        self._square += (1.0 - square_kept) * (slope * slope - self._square)
        mean = self._mean / (1.0 - math.pow(mean_kept, self._steps))  # both began with 0
        square = self._square / (1.0 - math.pow(square_kept, self._steps))
        return np.asarray(mean / np.sqrt(square + LEAST_SQUARE))
