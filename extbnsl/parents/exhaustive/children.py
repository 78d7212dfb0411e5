"""What is known of a child that is judged by itself, its families apart; and what a task finds of these."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from extbnsl.parents.exhaustive.problem import CountingProblem

ANY_NUMBER = 1 << 60  # of families, or of parent sets: more than any search has


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


@dataclass(frozen=True)
class Found:
    """What one task found: parent sets (f, w) uint64 and their costs (f,), how many it counted, and the pairs (m, m)
    uint8 of the child's variables of which one was alive: (0, 0) where pairs are not looked at."""

    varsets: NDArray[np.uint64]
    costs: NDArray[np.float64]
    counted: int
    pairs: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
