"""Directions down: by averages of all slopes so far, as sums over them have it."""

import numpy as np
import pytest

from extbnsl.posteriors.descent import LEAST_SQUARE, Descent


def test_directions_are_averages_of_slopes_beside_their_size():
    slopes, descent = np.random.default_rng(1).normal(size=(12, 4)), Descent(4, 0.8, 0.95)
    for step in range(1, 13):
        found = descent.direction(slopes[step - 1])
        weights = {kept: kept ** np.arange(step - 1, -1, -1.0) for kept in (0.8, 0.95)}
        mean = weights[0.8] @ slopes[:step] / weights[0.8].sum()
        square = weights[0.95] @ slopes[:step] ** 2 / weights[0.95].sum()
        assert found == pytest.approx(mean / np.sqrt(square + LEAST_SQUARE), rel=1e-12)


def test_no_slope_is_no_direction():
    assert Descent(3, 0.9, 0.99).direction(np.zeros(3)).tolist() == [0.0] * 3
