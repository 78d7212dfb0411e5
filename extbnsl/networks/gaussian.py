"""The parameters of a Gaussian network: a linear regression of each variable on its parents."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.data import Numbers
from extbnsl.networks.network import Network, relevant
from extbnsl.networks.parameters import by_observed
from extbnsl.scores.gaussian import LEAST_SHARE, OWN_PARAMETERS, blurred

SMALLEST_VARIANCE = float(np.finfo(np.float64).tiny)  # below, a number has fewer digits


@dataclass(frozen=True)
class Regression:
    """X = intercept + sum of coefficients times parents + noise of this variance, in the units of the data.

    coefficients (k,) float64, of the parents in ascending order.
    """

    intercept: float
    coefficients: NDArray[np.float64]
    variance: float


def regressions(
    network: Network, numbers: Numbers, regression: Callable[[int, tuple[int, ...]], Regression] | None = None
) -> tuple[Regression, ...]:
    """The maximum-likelihood parameters of each variable; regression: what fits one in place of `regression_in`.

    Raises InputError if the names are not those of the data.
    """
    if network.names != numbers.names:
        raise InputError(f"The variables of the network are not those of {numbers.source}.")
    fitted = partial(regression_in, numbers) if regression is None else regression
    return tuple(fitted(child, own) for child, own in enumerate(network.parents))


def regression_in(numbers: Numbers, child: int, parents: tuple[int, ...]) -> Regression:
    """That of a child by its records; the variance is RSS / N. O(N k^2) for k parents."""
    return regression_of(_records(numbers, child, parents), child, parents, numbers.resolution)


def log_densities(
    network: Network,
    fitted: Sequence[Regression],
    values: NDArray[np.float64],
    observed: Collection[int] | None = None,
    children: Collection[int] | None = None,
) -> NDArray[np.float64]:
    """The log-density in nats of the observed variables, by default all, in each record (N, n): float64 (N,); minus
    infinity or nan where it is no finite number.

    fitted: of each variable, as `regressions` gives them. children: of the families of these alone, among them those of
    all variables there that are not observed; by default of all that matter. Raises InputError for a variance of 0.
    O(N) for each variable and arc, and as `conditioned` for those that are not observed.
    """
    known = range(len(fitted)) if observed is None else observed
    counted = set(relevant(network, (), known) if children is None else children)
    likeliest = _likeliest(network, fitted, values, counted, known)
    with np.errstate(over="ignore", invalid="ignore"):
        total: NDArray[np.float64] = -(likeliest.errors**2).sum(axis=1) / 2
        for child in counted.intersection(known):
            total -= math.log(2 * math.pi) / 2 + math.log(_deviation(network, fitted, child))
        return total - np.log(np.abs(likeliest.root.diagonal())).sum()


def log_densities_observed(
    network: Network, fitted: Sequence[Regression], values: NDArray[np.float64], lacking: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """`log_densities` of what is observed of each record (N, n), of which others are lacking: float64 (N,)."""
    found = np.zeros(len(values))
    for observed, rows in by_observed(lacking):
        found[rows] = log_densities(network, fitted, values[rows], observed)
    return found


def conditioned(
    network: Network,
    fitted: Sequence[Regression],
    values: NDArray[np.float64],
    targets: Sequence[int],
    observed: Collection[int],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The means of some variables given the observed ones in each record (N, n), float64 (N, targets), infinite or nan
    where they are no finite numbers; and their covariance, which is the same in all records, (targets, targets).

    Only the observed columns are looked at, and none of them is a target. They are those of the joint Gaussian
    (Shachter and Kenley 1989), of which the families that matter suffice. Raises InputError for a variance of 0 there.
    O(f m^2 + N f m) for f families with m variables that are not observed.
    """
    likeliest = _likeliest(network, fitted, values, relevant(network, targets, observed), observed)
    at = [likeliest.unobserved.index(target) for target in targets]
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.linalg.solve(likeliest.root, np.eye(len(likeliest.unobserved)))[at]
        spread *= likeliest.deviations[at, None]
        return likeliest.means[:, at], spread @ spread.T


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


def is_regular(numbers: Numbers, members: Sequence[int]) -> bool:
    """Whether the others of a family, of which the child is the last, leave each of its columns LEAST_SHARE of its
    variance in the records that are its, as `scores.gaussian` has it. O(N k^2) for k columns."""
    *parents, child = members
    own = _records(numbers, child, parents)[:, list(members)]
    own = own - own.mean(axis=0)
    if len(own) <= len(members):
        return False
    if numbers.resolution:
        own = blurred(own, np.array(numbers.resolution)[list(members)])
    lengths = np.sqrt((own**2).sum(axis=0))
    if not lengths.all():
        return False
    triangle = np.asarray(np.linalg.qr(own / lengths, mode="r"))
    if (np.diag(triangle) ** 2 < LEAST_SHARE).any():
        return False
    shares = 1.0 / (np.linalg.solve(triangle, np.eye(len(members))) ** 2).sum(axis=1)
    return bool((shares >= LEAST_SHARE).all())


def gaussian_cost(numbers: Numbers, child: int, parents: tuple[int, ...], price: float) -> float:
    """What a family costs, in nats, if a parameter costs the price: nothing if the child is given; infinity if too few
    records tell of it. O(N k^2) for k parents."""
    if child in numbers.given:
        return 0.0
    values, targets = _records(numbers, child, parents), numbers.targets
    if numbers.gaps and len(values) < len(parents) + OWN_PARAMETERS:
        return math.inf
    records = numbers.records if targets is None else int(targets.left(child).sum())
    variance = regression_of(values, child, parents, numbers.resolution).variance
    misfit = numbers.each * records / 2 * (math.log(2 * math.pi * variance) + 1)
    return misfit + price * (len(parents) + OWN_PARAMETERS)


def _records(numbers: Numbers, child: int, parents: Sequence[int]) -> NDArray[np.float64]:
    """The records that are a family's, (M, n)."""
    counted = numbers.counted(child, parents)
    return numbers.values if counted is None else numbers.values[counted]


@dataclass(frozen=True, eq=False)
class _Likeliest:
    """The likeliest values of m variables that are not observed, given those of others, in N records.

    means: (N, m).
    errors: of each family's child at these values, in units of its noise, (N, families).
    deviations: of the noise of the variables that are not observed, (m,).
    root: upper triangular, (m, m); its square, root.T @ root, is their precision in units of these.
    """

    unobserved: tuple[int, ...]
    means: NDArray[np.float64]
    errors: NDArray[np.float64]
    deviations: NDArray[np.float64]
    root: NDArray[np.float64]


def _likeliest(
    network: Network,
    fitted: Sequence[Regression],
    values: NDArray[np.float64],
    children: Collection[int],
    observed: Collection[int],
) -> _Likeliest:
    """The likeliest values by the families of these children: a least-squares problem, since the log-density is the sum
    of their squared errors. It is solved as the distance from the values that the parents suggest."""
    wanted, given = set(children), set(observed)
    families = [child for child in network.order() if child in wanted]
    free = {child: j for j, child in enumerate(child for child in families if child not in given)}
    deviation = {child: _deviation(network, fitted, child) for child in families}
    supposed, errors = values.copy(), np.zeros((len(values), len(families)))
    slopes = np.zeros((len(families), len(free)))
    with np.errstate(over="ignore", invalid="ignore"):
        for row, child in enumerate(families):
            mean = _mean(network, fitted[child], child, supposed)
            if child in free:
                supposed[:, child] = mean
                slopes[row, free[child]] = 1.0
            else:
                errors[:, row] = (supposed[:, child] - mean) / deviation[child]
            for parent, coefficient in zip(network.parents[child], fitted[child].coefficients.tolist(), strict=True):
                if parent in free:
                    slopes[row, free[parent]] = -coefficient * deviation[parent] / deviation[child]
        deviations, root = np.array([deviation[child] for child in free]), np.zeros((0, 0))
        if free:
            turned, root = np.linalg.qr(slopes)
            shift = -np.linalg.solve(root, turned.T @ errors.T).T
            errors += shift @ slopes.T
            supposed[:, list(free)] += shift * deviations
    return _Likeliest(tuple(free), supposed[:, list(free)], errors, deviations, root)


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


def regression_of(
    values: NDArray[np.float64], child: int, parents: tuple[int, ...], errors: Sequence[float] = ()
) -> Regression:
    """By least squares of centred and scaled columns: neither offsets nor units harm it. errors: of measurement of all
    variables, none for 0; see scores/gaussian.py."""
    columns = values[:, [*parents, child]]
    first = columns[0]
    means = first + (columns - first).mean(axis=0)  # exact where a large offset is common to all records
    columns = columns - means
    scales = np.abs(columns).max(axis=0)
    scales[scales == 0.0] = 1.0  # of a column that never varies
    columns = columns / scales
    if errors:
        columns = blurred(columns, np.array(errors)[[*parents, child]] / scales)
    slopes = np.linalg.lstsq(columns[:, :-1], columns[:, -1], rcond=None)[0]
    residual = columns[:, -1] - columns[:, :-1] @ slopes
    coefficients = slopes * scales[-1] / scales[:-1]
    variance = float((residual**2).sum()) / len(values) * float(scales[-1]) ** 2
    return Regression(float(means[-1] - means[:-1] @ coefficients), coefficients, variance)
