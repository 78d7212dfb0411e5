"""What answers for a network of a time series: about each time given those before it, and one step ahead."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError
from extbnsl.data.encode import UNLIMITED
from extbnsl.data.given import FRAME, Given
from extbnsl.data.series import parted
from extbnsl.data.treatment import treatment
from extbnsl.networks.network import Network
from extbnsl.python.estimator.answers import Answers, Reader, RowAnswers, records_of


@dataclass(frozen=True, eq=False)
class SeriesAnswers(Answers):
    """The answers of a network of a time series to records in time, one for each record.

    There is none, so NaN or None, where records of the steps before are missing, or lack a value.

    answers: of the network, to rows of a time and those before it. network, reader: those of these. options: those of
    time. present: how many variables are of the present.
    """

    network: Network
    reader: Reader
    answers: RowAnswers
    options: DataOptions
    present: int

    def with_limits(self, smoothing: float, memory: int | None) -> Self:
        return replace(self, answers=self.answers.with_limits(smoothing, memory))

    def has_states(self, target: int) -> bool:
        return self.answers.has_states(target)

    @property
    def lags(self) -> int:
        """How many steps before a time matter."""
        return len(self.reader.names) // self.present - 1

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The log-likelihood of what is observed at each time, given the steps before it."""
        answers = self.answers

        def told(rows: Given) -> NDArray[np.float64]:
            known, lacking = answers.read(rows)
            return self._where_known(lacking, answers.likelihoods_in_time(known, lacking, self.present))

        return self._each(X, self.lags + 1, 0, told, np.float64, ())

    def predict_proba(self, X: Any, target: int) -> NDArray[np.float64]:
        """The probability of each state of the variable `target` one step after each record."""
        answers = self.answers

        def told(rows: Given) -> NDArray[np.float64]:
            return self._where_known(answers.read(rows)[1], answers.predict_proba(rows, target))

        shape = (len(answers.values[answers.network.names[target]]),)
        return self._each(X, self.lags, 1, told, np.float64, shape)

    def predict(self, X: Any, target: int) -> NDArray[Any]:
        """The most probable state of the variable `target` one step after each record, or the mean."""
        answers = self.answers
        if self.has_states(target):
            each = self.predict_proba(X, target)
            unknown = np.isnan(each).any(axis=1)
            found = answers.likeliest(np.where(np.isnan(each), 0.0, each), target)
            if unknown.any():
                found = found.astype(object)
                found[unknown] = None
            return found

        def told(rows: Given) -> NDArray[np.float64]:
            return self._where_known(answers.read(rows)[1], answers.predict(rows, target))

        return self._each(X, self.lags, 1, told, np.float64, ())

    def _where_known(self, lacking: NDArray[np.bool_], each: NDArray[np.float64]) -> NDArray[np.float64]:
        """What is told of each row, NaN where something of the past is missing."""
        each[lacking[:, self.present :].any(axis=1)] = np.nan
        return each

    def sample(self, records: int, random: np.random.Generator) -> Any:
        """InputError: nothing is known of how a series begins."""
        raise InputError("sample: the network tells how a time follows from those before, not how a series begins.")

    def _each(
        self,
        X: Any,
        length: int,
        first: int,
        told: Callable[[Given], NDArray[Any]],
        dtype: Any,
        shape: tuple[int, ...],
    ) -> NDArray[Any]:
        """What is told of each record of X that ends `length` consecutive ones, which are the slices from lag `first`
        on; NaN of others."""
        data = records_of(X)
        wanted = treatment(self.options)
        assert wanted.slicing is not None, "there is a time"
        _, series = parted(data.read(wanted, FRAME, UNLIMITED), wanted, FRAME)
        assert series is not None, "there is a time"
        rows = series.following(length)
        found = np.full((data.records, *shape), np.nan, dtype)
        if len(rows):
            names, at = self.reader.names, {name: j for j, name in enumerate(data.names)}
            columns = {
                names[(first + lag) * self.present + j]: _taken(data.columns[at[name]], rows[:, lag])
                for lag in range(length)
                for j, name in enumerate(names[: self.present])
                if name in at
            }
            if extra := [name for name in data.names if name not in (*names, *wanted.slicing.columns)]:
                raise InputError(
                    f"X has the column {extra[0]!r} that the network does not know: leave out what is new."
                )
            own = tuple(columns)
            found[rows[:, 0]] = told(Given(own, own, tuple(columns.values()), len(rows), True))
        return found


def _taken(values: Any, rows: NDArray[np.int64]) -> Any:
    """The values in these rows, as they come."""
    if isinstance(values, list):
        return [values[row] for row in rows.tolist()]
    return values[rows] if isinstance(values, np.ndarray) else values[rows.tolist()]
