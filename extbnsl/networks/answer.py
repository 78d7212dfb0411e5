"""What a network says of some variables in records; and what several say of them, mixed."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Answer:
    """What a network says of some variables in N records.

    states: of each of states, its probabilities (N, arity); means (N, m) and covariances (N, m, m) of those of numbers,
    in their order. joint: of those of states together, (N, *their arities), if that was asked for. nan where what is
    observed cannot be.
    """

    states: dict[int, NDArray[np.float64]]
    means: NDArray[np.float64]
    covariances: NDArray[np.float64]
    joint: NDArray[np.float64] | None = None

    @staticmethod
    def of_states(states: dict[int, NDArray[np.float64]], joint: NDArray[np.float64] | None = None) -> "Answer":
        """An answer about no numbers."""
        return Answer(states, np.zeros((1, 0)), np.zeros((1, 0, 0)), joint)

    @property
    def is_finite(self) -> bool:
        """Whether all that is said is finite."""
        said = (*self.states.values(), self.means, self.covariances, *(() if self.joint is None else (self.joint,)))
        return all(bool(np.isfinite(own).all()) for own in said)

    def mixed(self, other: "Answer", shares: NDArray[np.float64]) -> "Answer":
        """What is said if in each record the other one holds with a probability of `shares`, (N,), and this one else;
        the moments are those of the mixture."""

        def part(one: NDArray[np.float64], two: NDArray[np.float64]) -> NDArray[np.float64]:
            share = _along(shares, one)
            both = (1.0 - share) * one + share * two
            return np.where(share == 0.0, one, np.where(share == 1.0, two, both))  # what is nan may have no share

        states = {v: part(own, other.states[v]) for v, own in self.states.items()}
        joint = None if self.joint is None or other.joint is None else part(self.joint, other.joint)
        spread = shares * (1.0 - shares)
        apart = np.where(spread[:, None] > 0.0, other.means - self.means, 0.0)
        between = spread[:, None, None] * apart[:, :, None] * apart[:, None, :]
        covariances = part(self.covariances, other.covariances) + between
        return Answer(states, part(self.means, other.means), covariances, joint)

    def only(self, where: NDArray[np.bool_]) -> "Answer":
        """What is said of the records `where` this holds, (N,); nan of others."""

        def part(own: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.where(_along(where, own), own, np.nan)

        states = {v: part(own) for v, own in self.states.items()}
        joint = None if self.joint is None else part(self.joint)
        return Answer(states, part(self.means), part(self.covariances), joint)


def _along(each: NDArray[Any], own: NDArray[Any]) -> NDArray[Any]:
    """A value of each record, (N,), beside an array whose first axis is of records."""
    return each.reshape(-1, *(1,) * (own.ndim - 1))


class Mixture:
    """Answers of several networks about N records, each with the logarithms of its weights there, mixed one by one."""

    def __init__(self) -> None:
        self.answer: Answer | None = None
        self._log_totals = np.array(-math.inf)

    def add(self, answer: Answer, log_weights: NDArray[np.float64]) -> None:
        """Mix in one more, with weights (N,); what it says where these are 0 does not count."""
        if self.answer is None:
            heard = np.isfinite(log_weights)
            self.answer, self._log_totals = answer if heard.all() else answer.only(heard), log_weights
            return
        self._log_totals = np.logaddexp(self._log_totals, log_weights)
        with np.errstate(invalid="ignore"):  # nan where all so far are impossible
            shares = np.exp(log_weights - self._log_totals)
        self.answer = self.answer.mixed(answer, shares)
