"""What answers for a network about records that come after `fit`: of states, or of numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.arguments import plain
from extbnsl.core.data_options import Texts
from extbnsl.core.errors import InputError
from extbnsl.data import Dataset, measured, prepare
from extbnsl.data.alike import advice_for_new_records, encoded_alike
from extbnsl.data.column import clean_name, listed
from extbnsl.data.given import PART, Given, as_they_were, given, kind_of
from extbnsl.networks import gaussian
from extbnsl.networks.gaussian import Regression, conditional_means, log_densities
from extbnsl.networks.network import Network
from extbnsl.networks.parameters import log_conditionals, log_likelihoods, sampled


@dataclass(frozen=True, eq=False)
class Reader:
    """How records are read as those of `fit` were.

    keys, names, framed: of the columns of X in `fit`, as in `Given`. missing, na: as for `learn`, of `fit` too. who:
    what its sentences call the estimator.
    """

    keys: tuple[Any, ...]
    names: tuple[str, ...]
    framed: bool
    missing: str
    na: Texts | None
    who: str

    @property
    def rules(self) -> dict[str, Any]:
        """What to make of missing values; to drop a record would leave it without an answer."""
        return {"missing": "refuse" if self.missing == "drop" else self.missing, "na": self.na}

    def new(self, X: Any, unseen: int | None) -> Given:
        """New records in the columns that `fit` had, in their order, without the column `unseen`."""
        return given(X).in_order(self.names, self.who, None if unseen is None else self.names[unseen])

    def position(self, target: Any) -> int:
        """The place of the column that is called so; InputError if there is none."""
        if target is None:
            raise InputError("target: say which column to predict, as predict(X, target) or by the parameter target.")
        number = plain(target)
        if not self.framed and isinstance(number, int) and 0 <= number < len(self.names):
            return number
        if target in self.keys:
            return self.keys.index(target)
        if isinstance(target, str) and clean_name(target) in self.names:
            return self.names.index(clean_name(target))
        raise InputError(f"target: {target!r} is no column of the network; it has {listed(self.names)}.")

    def returned(self, columns: Sequence[NDArray[Any]]) -> Any:
        """Columns as what X was in `fit`: a data frame or an array."""
        if not self.framed:
            return np.column_stack(columns)
        frame = pandas_frame(dict(enumerate(columns)))
        frame.columns = list(self.keys)
        return frame


def pandas_frame(data: Any, index: Any = None, columns: Any = None) -> Any:
    """A data frame of pandas; InputError if that is not installed."""
    try:
        import pandas
    except ImportError as error:
        raise InputError("What is a data frame for a data frame needs pandas: pip install pandas.") from error
    return pandas.DataFrame(data, index=index, columns=columns)


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
        return log_likelihoods(self.network, self.dataset, self.codes(X), self.smoothing)

    def predict_proba(self, X: Any, target: int) -> NDArray[np.float64]:
        """The probability of each state of the variable `target` in each record of X."""
        each = log_conditionals(self.network, self.dataset, self.codes(X, target), target, self.smoothing)
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
        codes = sampled(self.network, self.dataset, records, random, self.smoothing)
        return self.reader.returned([self.values[name][codes[:, j]] for j, name in enumerate(self.network.names)])

    def codes(self, X: Any, unseen: int | None = None) -> NDArray[np.uint16]:
        """The codes of new records (N, n) in the states of the network; 0 in the column `unseen`."""
        data = self.reader.new(X, unseen)
        codes = np.zeros((data.records, len(self.network.names)), np.uint16)
        if data.names:
            for start, part in zip(range(0, data.records, PART), data.parts(), strict=True):
                with advice_for_new_records():
                    new = part.made(prepare, **self.reader.rules, discrete="all")
                codes[start : start + part.records] = encoded_alike(new, self.raw, self.dataset)
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
        return self.reader.returned(list(gaussian.sampled(self.network, self.fitted, records, random).T))

    def _values(self, X: Any, unseen: int | None = None) -> NDArray[np.float64]:
        """The numbers of new records (N, n); 0 in the column `unseen`."""
        data, at = self.reader.new(X, unseen), [j for j in range(len(self.network.names)) if j != unseen]
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
