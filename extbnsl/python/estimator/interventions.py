"""What answers for a network that was learned from interventions, about records that may say what was set in them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.data.encode import UNLIMITED
from extbnsl.data.given import Given
from extbnsl.data.targets import sets_of
from extbnsl.data.treatment import Treatment
from extbnsl.networks.network import Network
from extbnsl.python.estimator.answers import Answers, Reader, RowAnswers, finite, records_of


@dataclass(frozen=True, eq=False)
class TargetedAnswers(Answers):
    """The answers of a network to records that have a column of the variables which were set, or lack it: none was.

    What was set has the value that it was given, and tells nothing of its parents: the network is cut there, and the
    variable adds nothing to the likelihood (Pearl 2009). A variable that is to be predicted is so as if it was not set.

    answers: of the network, to records in which nothing was set. network, reader: those of these. columns: those that X
    had in `fit`; targets: the one of them that says what was set.
    """

    network: Network
    reader: Reader
    answers: RowAnswers
    columns: tuple[str, ...]
    targets: str

    def with_limits(self, smoothing: float, memory: int | None) -> Self:
        return replace(self, answers=self.answers.with_limits(smoothing, memory))

    def has_states(self, target: int) -> bool:
        """Whether a variable has states."""
        return self.answers.has_states(target)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The log-likelihood, or log-density, of what is observed of each record in X and was not set."""
        data, column = self.parted(X)
        if column is None:
            return self.answers.score_samples(data)
        answers = self._cut()
        known, lacking = answers.read(data)
        found = np.zeros(data.records)
        for done, rows in self._groups(column, lacking):
            found[rows] = answers.likelihoods(known[rows], lacking[rows], done)
        return found if answers.has_states(0) else finite(found)

    def predict_proba(self, X: Any, target: int) -> NDArray[np.float64]:
        """The probability of each state of the variable `target` given what is observed of each record of X."""
        data, column = self.parted(X)
        if column is None:
            return self.answers.predict_proba(data, target)
        answers = self._cut()
        return self._answered(data, column, answers, target)

    def predict(self, X: Any, target: int) -> NDArray[Any]:
        """The most probable state of the variable `target`, or its mean, in each record of X."""
        data, column = self.parted(X)
        if column is None:
            return self.answers.predict(data, target)
        answers = self._cut()
        return answers.likeliest(self._answered(data, column, answers, target), target)

    def sample(self, records: int, random: np.random.Generator) -> Any:
        """So many records drawn from the network, in which nothing was set."""
        return self.answers.sample(records, random)

    def parted(self, X: Any) -> tuple[Given, Given | None]:
        """The columns that are variables, and the one that says what was set, if X has it."""
        data = X if isinstance(X, Given) else records_of(X)
        names = data.names if data.framed else self.columns
        if self.targets not in names or len(names) != len(data.names):  # an array may lack it
            return data, None
        at = names.index(self.targets)
        others = [j for j in range(len(names)) if j != at]
        return data.chosen(others), data.chosen([at])

    def _answered(self, data: Given, column: Given, answers: RowAnswers, target: int) -> NDArray[np.float64]:
        """What is said of a variable in each record."""
        known, lacking = answers.read(data, target)
        found: NDArray[np.float64] | None = None
        for done, rows in self._groups(column, lacking, target):
            each = answers.told(known[rows], lacking[rows], target, done)
            if found is None:
                found = np.zeros((data.records, *each.shape[1:]))
            found[rows] = each
        assert found is not None, "there are records"
        return answers.sure(found, target)

    def _cut(self) -> RowAnswers:
        """The answers that know what a variable says that was set."""
        if not self.answers.is_told_what_was_set:
            raise InputError(
                f"X: '{self.targets}' says what was set, which answers about both kinds do not go by: leave the column "
                "out, and with it the records in which something was set."
            )
        return self.answers

    def _groups(
        self, column: Given, lacking: NDArray[np.bool_], unset: int | None = None
    ) -> Iterator[tuple[list[int], NDArray[np.int64]]]:
        """The variables that were set, but for one, and the records in which they were. InputError for a name that no
        column has, and where the value of one is missing."""
        names = self.network.names
        (read,) = column.read(Treatment(), "X", UNLIMITED)
        sets, of = sets_of(read, names, self.columns, "X", None)
        for number, own in enumerate(sets):
            rows, done = np.flatnonzero(of == number), [v for v in own if v != unset]
            unsaid = np.argwhere(lacking[rows][:, done])
            if unsaid.size:
                row, at = unsaid[0].tolist()
                raise InputError(
                    f"X: in record {int(rows[row]) + 1} '{names[done[at]]}' was set, and its value is missing: say "
                    "what it was set to, or leave the record out."
                )
            if rows.size:
                yield done, rows
