"""What a network says of some variables in records; and what several say of them, mixed."""

import math
from dataclasses import dataclass

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

    def mixed(self, other: "Answer", share: float) -> "Answer":
        """What is said if the other one holds with probability `share`, and this one else; the moments are those of the
        mixture."""

        def part(one: NDArray[np.float64], two: NDArray[np.float64]) -> NDArray[np.float64]:
            return (1.0 - share) * one + share * two

        states = {v: part(own, other.states[v]) for v, own in self.states.items()}
        joint = None if self.joint is None or other.joint is None else part(self.joint, other.joint)
        apart = other.means - self.means
        between = share * (1.0 - share) * apart[:, :, None] * apart[:, None, :]
        covariances = part(self.covariances, other.covariances) + between
        return Answer(states, self.means + share * apart, covariances, joint)


class Mixture:
    """Answers of several networks, each with the logarithm of a weight, mixed one by one."""

    def __init__(self) -> None:
        self.answer: Answer | None = None
        self._log_total = -math.inf

    def add(self, answer: Answer, log_weight: float) -> None:
        """Mix in one more, of a finite weight."""
        if self.answer is None:
            self.answer, self._log_total = answer, log_weight
            return
        self._log_total = float(np.logaddexp(self._log_total, log_weight))
        self.answer = self.answer.mixed(answer, math.exp(log_weight - self._log_total))
