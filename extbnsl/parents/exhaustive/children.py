"""What is known of a child that is judged by itself, its families apart."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.parents.exhaustive.problem import CountingProblem


@dataclass(frozen=True)
class Child:
    """A child that is not finished: variables (m,) int64 that may be parents, ascending; pairs (m, m) uint8 of them.

    pairs[a, b]: whether some parent set with both may win; of variables alone on the diagonal.
    """

    index: int
    variables: NDArray[np.int64]
    pairs: NDArray[np.uint8]


def child_of(problem: CountingProblem, x: int) -> Child:
    """A child with all parents that it may have beside those that it must have, and all pairs of them."""
    own = np.flatnonzero(problem.allowed[:, x] & ~problem.required[:, x])
    return Child(x, own, np.ones((own.size, own.size), np.uint8))
