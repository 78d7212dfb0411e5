"""What a network of states answers about records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.data import Dataset, prepare
from extbnsl.data.alike import advice_for_new_records, encoded_alike
from extbnsl.data.given import PART, Given, as_they_were, kind_of
from extbnsl.networks.network import Network
from extbnsl.networks.parameters import log_conditionals, log_likelihoods, sampled
from extbnsl.python.estimator.records import Reader


@dataclass(frozen=True, eq=False)
class StateAnswers:
    """The answers of a network of states.

    dataset: what it was learned from; raw: the first of these records with nothing cut. values: those of each variable
    as they were in X. smoothing: the equivalent sample size of the prior of the parameters.
    """

    network: Network
    dataset: Dataset
    raw: Dataset
    values: Mapping[str, NDArray[Any]]
    reader: Reader
    smoothing: float

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The log-likelihood of each record in X."""
        data = self.dataset
        return log_likelihoods(self.network, data.arities, data.codes, self.codes(X), self.smoothing)

    def predict_proba(self, X: Any, target: int) -> NDArray[np.float64]:
        """The probability of each state of the variable `target` in each record of X."""
        data = self.dataset
        codes = self.codes(X, target)
        each = log_conditionals(self.network, data.arities, data.codes, codes, target, self.smoothing)
        impossible = np.isnan(each).any(axis=1)
        if impossible.any():
            raise InputError(
                f"X: record {int(impossible.argmax()) + 1} is impossible by the network whatever "
                f"{self.network.names[target]!r} is; give a smoothing above 0."
            )
        return np.exp(each)

    def predict(self, X: Any, target: int) -> NDArray[Any]:
        """The most probable state of the variable `target` in each record of X."""
        return self.values[self.network.names[target]][self.predict_proba(X, target).argmax(axis=1)]

    def sample(self, records: int, random: np.random.Generator) -> Any:
        """So many records drawn from the network, as X was."""
        data = self.dataset
        codes = sampled(self.network, data.arities, data.codes, records, random, self.smoothing)
        return self.reader.returned([self.values[name][codes[:, j]] for j, name in enumerate(self.network.names)])

    def codes(self, X: Any, unseen: int | None = None) -> NDArray[np.uint16]:
        """The codes of new records (N, n) in the states of the network; 0 in the column `unseen`."""
        data, at = self.reader.new(X, unseen), self.reader.others(unseen)
        codes = np.zeros((data.records, len(self.network.names)), np.uint16)
        if at:
            known, raw = (_columns_of(one, at, self.raw.records) for one in (self.dataset, self.raw))
            for start, part in zip(range(0, data.records, PART), data.parts(), strict=True):
                with advice_for_new_records():
                    new = part.made(prepare, **self.reader.rules, discrete="all")
                codes[start : start + part.records, at] = encoded_alike(new, raw, known)
        return codes


def states_read(data: Given, options: Mapping[str, Any]) -> tuple[Dataset, Dataset]:
    """The data set that X is by the options of `fit`, and the first of its records with nothing cut."""
    dataset = data.made(prepare, **options)
    if options["discretise"] is None:
        return dataset, dataset
    return dataset, next(data.parts()).made(prepare, missing=options["missing"], na=options["na"], discrete="all")


def values_read(data: Given, dataset: Dataset) -> dict[str, NDArray[Any]]:
    """The values of each variable as they were in X, in the order of its states."""
    values = (as_they_were(*pair) for pair in zip(dataset.states, map(kind_of, data.series), strict=True))
    return dict(zip(dataset.names, values, strict=True))


def _columns_of(dataset: Dataset, at: Sequence[int], records: int) -> Dataset:
    """The first records of a data set, in these of its columns."""
    return Dataset(
        tuple(dataset.names[j] for j in at),
        tuple(dataset.states[j] for j in at),
        np.ascontiguousarray(dataset.codes[:records, at]),
        dataset.source,
    )
