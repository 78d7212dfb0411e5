"""The E step of numbers: rows that have the conditional means and covariances of what a record lacks.

Gaussian BIC knows data by means and covariances alone. Given what is observed of a record, the k values that it lacks
have a mean m and a covariance V = A A' by the network. T rows stand for it, with the values

    m + sqrt(T) A q_t,

where the q_t are the rows of a matrix (T, k) whose columns are orthonormal and orthogonal to the vector of ones, T
being larger than k. Their mean is m and their covariance V, exactly. T is the same for all records, those that lack
nothing included, so that each row counts for 1/T of a record.
"""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import BudgetError
from extbnsl.core.figures import format_size
from extbnsl.core.sentences import Mention, asking
from extbnsl.data import Data, Numbers
from extbnsl.em.model import Check, Model, parted, with_gaps
from extbnsl.networks.gaussian import Regression, conditioned, log_densities, regressions
from extbnsl.networks.network import Network
from extbnsl.networks.parameters import by_observed

SHARE = 1 / 4  # of the memory, for rows


@dataclass(frozen=True, eq=False)
class ExpectedNumbers:
    """Data of numbers, with latent values; lacking (N, n): which values these are."""

    data: Numbers
    lacking: NDArray[np.bool_]

    @classmethod
    def of(cls, data: Data, memory: int) -> Self:
        """The same; BudgetError if so many bytes of memory do not do."""
        assert isinstance(data, Numbers), "it is of numbers"
        own = cls(data, np.isnan(data.values))
        if own.size > SHARE * memory:
            raise BudgetError(
                f"Records that lack up to {own.rows - 1} values are {own.rows} rows each, which needs "
                f"{format_size(int(own.size / SHARE))} of memory, and ",
                Mention("memory"),
                f" grants {format_size(memory)}",
                advice=("grant more, leave out the columns that lack most, or say ", asking("missing", "average")),
            )
        return own

    @property
    def rows(self) -> int:
        """T: of how many rows a record becomes."""
        return int(self.lacking.sum(axis=1).max()) + 1

    @property
    def size(self) -> int:
        """See `Expectation`."""
        return self.data.records * self.rows * self.data.record_bytes

    def begin(self, network: Network) -> Model:
        """See `Expectation`; InputError where too few records tell of a family."""
        return _model(network, regressions(network, with_gaps(self.data)))

    def step(self, model: Model, check: Check, network: Network | None = None) -> tuple[float, Model]:
        """See `Expectation`. O(T N k^2) for each variable with k parents, and that of `conditioned` for each pattern of
        what records lack."""
        likelihood, fitted = 0.0, _regressions(model)
        for observed, records in by_observed(self.lacking):
            check()
            likelihood += math.fsum(log_densities(model.network, fitted, self.data.values[records], observed).tolist())
        wanted = network or model.network
        return -likelihood * self.data.each, _model(wanted, regressions(wanted, self.completed(model, check)))

    def completed(self, model: Model, check: Check) -> Numbers:
        """See `Expectation`; means and covariances are exact."""
        each, fitted = self.rows, _regressions(model)
        values = np.repeat(self.data.values[:, None, :], each, axis=1)
        turned = contrasts(each) * math.sqrt(each)
        for observed, records in by_observed(self.lacking):
            missing = [v for v in range(self.data.variables) if v not in observed]
            if not missing:
                continue
            check()
            means, covariance = conditioned(model.network, fitted, self.data.values[records], missing, observed)
            spread = turned[:, : len(missing)] @ root_of(covariance).T
            values[np.ix_(records, np.arange(each), np.array(missing))] = means[:, None, :] + spread
        rows = values.reshape(-1, self.data.variables)
        return replace(self.data, values=rows, gaps=False, latent=False, weights=parted(self.data, each))

    def shaped(self, network: Network, flat: tuple[tuple[float, ...], ...]) -> Model:
        """See `Expectation`."""
        for own, name, numbers in zip(network.parents, network.names, flat, strict=True):
            if len(numbers) != len(own) + 2 or not all(map(math.isfinite, numbers)) or numbers[-1] <= 0.0:
                raise ValueError(f"the numbers of {name!r} are no regression")
        return Model(network, tuple(map(np.array, flat)))


def contrasts(size: int) -> NDArray[np.float64]:
    """Orthonormal columns that are orthogonal to the vector of ones, (size, size - 1): those of Helmert."""
    found = np.zeros((size, size - 1))
    for k in range(1, size):
        found[:k, k - 1], found[k, k - 1] = 1.0, -float(k)
        found[:, k - 1] /= math.sqrt(k * (k + 1))
    return found


def root_of(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """A matrix A with A A' = covariance, (k, k): that of Cholesky, of columns in units of their own; or, where rounding
    leaves that none, by eigenvalues."""
    scales = np.sqrt(covariance.diagonal())
    correlation = covariance / np.outer(scales, scales)
    try:
        root = np.linalg.cholesky(correlation)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(correlation)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(scales[:, None] * root)


def _model(network: Network, fitted: tuple[Regression, ...]) -> Model:
    return Model(network, tuple(np.array([own.intercept, *own.coefficients, own.variance]) for own in fitted))


def _regressions(model: Model) -> tuple[Regression, ...]:
    return tuple(Regression(float(own[0]), own[1:-1], float(own[-1])) for own in model.parameters)
