"""What a linear Gaussian network answers about records of numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.data import measured
from extbnsl.data.alike import advice_for_new_records
from extbnsl.networks.gaussian import Regression, conditional_means, log_densities, sampled
from extbnsl.networks.network import Network
from extbnsl.python.estimator.records import Reader


@dataclass(frozen=True, eq=False)
class NumberAnswers:
    """The answers of a Gaussian network with the regression of each variable."""

    network: Network
    fitted: tuple[Regression, ...]
    reader: Reader

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The log-density of each record in X."""
        return _finite(log_densities(self.network, self.fitted, self._values(X)))

    def predict(self, X: Any, target: int) -> NDArray[np.float64]:
        """The mean of the variable `target` in each record of X."""
        return _finite(conditional_means(self.network, self.fitted, self._values(X, target), target))

    def sample(self, records: int, random: np.random.Generator) -> Any:
        """So many records drawn from the network, as X was."""
        return self.reader.returned(list(sampled(self.network, self.fitted, records, random).T))

    def _values(self, X: Any, unseen: int | None = None) -> NDArray[np.float64]:
        """The numbers of new records (N, n); 0 in the column `unseen`."""
        data, at = self.reader.new(X, unseen), self.reader.others(unseen)
        values = np.zeros((data.records, len(self.network.names)))
        if at:
            with advice_for_new_records():
                values[:, at] = data.made(measured, **self.reader.rules).values
        return values


def _finite(each: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is asked of each record; InputError if floating-point numbers do not reach so far."""
    if not np.isfinite(each).all():
        record = int((~np.isfinite(each)).argmax()) + 1
        raise InputError(
            f"X: record {record} is so far from the records of fit that no answer is finite; leave such records out."
        )
    return each
