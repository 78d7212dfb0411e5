"""The parameters of a Gaussian network: a linear regression of each variable on its parents."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.data import Numbers
from extbnsl.networks.network import Network
from extbnsl.scores.gaussian import OWN_PARAMETERS, GaussianBIC

SMALLEST_VARIANCE = float(np.finfo(np.float64).tiny)  # below, a number has fewer digits


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


def log_densities(network: Network, fitted: Sequence[Regression], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The log-density in nats of each record (N, n): float64 (N,); minus infinity or nan where it is no finite number.

    fitted: of each variable, as `regressions` gives them. Raises InputError for a variance of 0. O(N) for each variable
    and arc.
    """
    total = np.zeros(len(values))
    with np.errstate(over="ignore", invalid="ignore"):
        for child, own in enumerate(fitted):
            deviation = _deviation(network, fitted, child)
            error = (values[:, child] - _mean(network, own, child, values)) / deviation
            total -= math.log(2 * math.pi) / 2 + math.log(deviation) + error**2 / 2
    return total


def conditional_means(
    network: Network, fitted: Sequence[Regression], values: NDArray[np.float64], target: int
) -> NDArray[np.float64]:
    """The mean of the variable `target` given all others in each record (N, n): float64 (N,), infinite or nan where it
    is no finite number.

    Its own column is not looked at. With the mean m and the variance v of the target given its parents, a child c whose
    noise has the variance v_c and in which the target has the coefficient b_c, and e_c its error if the target were m,

        m + sum of b_c e_c v / v_c, divided by 1 + sum of b_c^2 v / v_c.

    That is the conditional mean of the joint Gaussian (Shachter and Kenley 1989) by its matrix of precision (Rue and
    Held 2005, theorem 2.3), of which the Markov blanket alone is needed. Raises InputError for a variance of 0 there.
    O(N) for each arc in the families of the target and its children.
    """
    supposed = values.copy()
    deviation = _deviation(network, fitted, target)
    shift, weight = np.zeros(len(values)), 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        supposed[:, target] = _mean(network, fitted[target], target, values)
        for child in network.children()[target]:
            noise = _deviation(network, fitted, child)
            coefficient = float(fitted[child].coefficients[network.parents[child].index(target)])
            pull = coefficient * deviation / noise
            shift += pull * ((supposed[:, child] - _mean(network, fitted[child], child, supposed)) / noise)
            weight += pull**2
        means: NDArray[np.float64] = supposed[:, target] + deviation * (shift / weight)
    return means


def sampled(
    network: Network, fitted: Sequence[Regression], records: int, random: np.random.Generator
) -> NDArray[np.float64]:
    """So many records drawn from the network, (records, n): forward, parents first (Henrion 1988).

    Raises InputError for a variance of 0. O(records) for each variable and arc.
    """
    values = np.zeros((records, len(network.names)))
    for child in network.order():
        noise = _deviation(network, fitted, child) * random.standard_normal(records)
        values[:, child] = _mean(network, fitted[child], child, values) + noise
    return values


def gaussian_cost(numbers: Numbers, child: int, parents: tuple[int, ...], score: GaussianBIC) -> float:
    """What a family costs, in nats. O(N k^2) for k parents."""
    variance = _regression(numbers.values, child, parents).variance
    misfit = numbers.records / 2 * (math.log(2 * math.pi * variance) + 1)
    return misfit + score.parameter(numbers.records) * (len(parents) + OWN_PARAMETERS)


def _mean(network: Network, own: Regression, child: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of a child given its parents in each record."""
    mean: NDArray[np.float64] = own.intercept + values[:, list(network.parents[child])] @ own.coefficients
    return mean


def _deviation(network: Network, fitted: Sequence[Regression], child: int) -> float:
    """The standard deviation of the noise of a child; InputError if its variance is 0, or too small to compute with."""
    variance = fitted[child].variance
    if not variance >= SMALLEST_VARIANCE:
        raise InputError(
            f"'{network.names[child]}' has no density by the network, which leaves it a variance of {variance:g}: give "
            "the column in larger units, or leave it out."
        )
    return math.sqrt(variance)


def _regression(values: NDArray[np.float64], child: int, parents: tuple[int, ...]) -> Regression:
    """By least squares of centred and scaled columns: neither offsets nor units harm it."""
    columns = values[:, [*parents, child]]
    first = columns[0]
    means = first + (columns - first).mean(axis=0)  # exact where a large offset is common to all records
    columns = columns - means
    scales = np.abs(columns).max(axis=0)
    scales[scales == 0.0] = 1.0  # of a column that never varies
    columns = columns / scales
    slopes = np.linalg.lstsq(columns[:, :-1], columns[:, -1], rcond=None)[0]
    residual = columns[:, -1] - columns[:, :-1] @ slopes
    coefficients = slopes * scales[-1] / scales[:-1]
    variance = float((residual**2).mean()) * float(scales[-1]) ** 2
    return Regression(float(means[-1] - means[:-1] @ coefficients), coefficients, variance)
