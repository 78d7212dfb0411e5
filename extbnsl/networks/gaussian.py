"""The parameters of a Gaussian network: a linear regression of each variable on its parents."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Numbers
from extbnsl.errors import InputError
from extbnsl.networks.network import Network
from extbnsl.scores.gaussian import OWN_PARAMETERS, GaussianBIC


@dataclass(frozen=True)
class Regression:
    """X = intercept + sum of coefficients times parents + noise of this variance, in the units of the data.

    coefficients (k,) float64, of the parents in ascending order.
    """

    intercept: float
    coefficients: NDArray[np.float64]
    variance: float


def regressions(network: Network, numbers: Numbers) -> tuple[Regression, ...]:
    """The maximum-likelihood parameters of each variable; the variance is RSS / N. O(N k^2) for k parents.

    Raises InputError if the names are not those of the data.
    """
    if network.names != numbers.names:
        raise InputError(f"The variables of the network are not those of {numbers.source}.")
    return tuple(_regression(numbers.values, child, parents) for child, parents in enumerate(network.parents))


def log_densities(network: Network, training: Numbers, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The log-density in nats of each record (N, n) by the network fitted to the training data: float64 (N,)."""
    total = np.zeros(len(values))
    for child, fitted in enumerate(regressions(network, training)):
        parents = list(network.parents[child])
        error = values[:, child] - fitted.intercept - values[:, parents] @ fitted.coefficients
        total -= (np.log(2 * np.pi * fitted.variance) + error**2 / fitted.variance) / 2
    return total


def gaussian_cost(numbers: Numbers, child: int, parents: tuple[int, ...], score: GaussianBIC) -> float:
    """What a family costs, in nats. O(N k^2) for k parents."""
    variance = _regression(numbers.values, child, parents).variance
    misfit = numbers.records / 2 * (math.log(2 * math.pi * variance) + 1)
    return misfit + score.parameter(numbers.records) * (len(parents) + OWN_PARAMETERS)


def _regression(values: NDArray[np.float64], child: int, parents: tuple[int, ...]) -> Regression:
    """By least squares of centred and scaled columns: neither offsets nor units harm it."""
    columns = values[:, [*parents, child]]
    means = _means(columns)
    columns = columns - means
    scales = np.abs(columns).max(axis=0)
    columns = columns / scales
    slopes = np.linalg.lstsq(columns[:, :-1], columns[:, -1], rcond=None)[0]
    residual = columns[:, -1] - columns[:, :-1] @ slopes
    coefficients = slopes * scales[-1] / scales[:-1]
    variance = float((residual**2).mean()) * float(scales[-1]) ** 2
    return Regression(float(means[-1] - means[:-1] @ coefficients), coefficients, variance)


def _means(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each column, exact where a large offset is common to all records."""
    first = columns[0]
    means: NDArray[np.float64] = first + (columns - first).mean(axis=0)
    return means
