"""The counts that a family's cost follows from."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from extbnsl.data import Dataset, Mixed

FEW = 256  # joint states, some of which may not occur
ROOM = 1 << 16  # numbers of joint states that are counted without sorting, however few records there are


@dataclass(frozen=True)
class Cells:
    """The sufficient statistics of a family.

    counts (q, r) int64: the records in each joint state of the parents that occurs, by state of the child; states of
    the child that never occur may be left out. arity: the declared states of the child. configurations: the product of
    the parents' arities, of which q occur.
    """

    counts: NDArray[np.int64]
    arity: int
    configurations: float

    @property
    def records(self) -> int:
        return int(self.counts.sum())

    @property
    def misfit(self) -> float:
        """N H(child | parents) in nats: minus the largest log-likelihood of the child's column."""
        return _sum_mlogm(self.counts.sum(axis=1)) - _sum_mlogm(self.counts.ravel())


def _sum_mlogm(counts: NDArray[np.int64]) -> float:
    positive = counts[counts > 0].astype(np.float64)
    return float((positive * np.log(positive)).sum())


def cells_of(dataset: "Dataset | Mixed", child: int, parents: Sequence[int] = ()) -> Cells:
    """The counts of a family of variables of states. O(N parents), or O(N log N) for very many joint states."""
    arity = len(dataset.states[child])
    if not parents:
        return Cells(np.bincount(dataset.codes[:, child])[None, :], arity, 1.0)
    configurations, numbers = numbered(dataset, parents)
    cells = configurations * arity + dataset.codes[:, child]
    counts = np.bincount(cells, minlength=numbers * arity).reshape(numbers, arity)
    possible = math.prod(dataset.arities[list(parents)].tolist())
    return Cells(counts[counts.any(axis=1)], arity, float(possible) if possible < 1e300 else math.inf)


def numbered(dataset: "Dataset | Mixed", variables: Sequence[int]) -> tuple[NDArray[np.int64], int]:
    """For each record a number of the joint state of some variables, with few gaps, and how many numbers there are."""
    which, numbers = np.zeros(dataset.records, np.int64), 1
    for variable in variables:
        arity = len(dataset.states[variable])
        which, numbers = which * arity + dataset.codes[:, variable], numbers * arity
        if numbers > FEW:
            which, numbers = _without_gaps(which, numbers)
    return which, numbers


def _without_gaps(which: NDArray[np.int64], numbers: int) -> tuple[NDArray[np.int64], int]:
    if numbers > max(ROOM, 4 * which.size):
        found, which = np.unique(which, return_inverse=True)
        return which.reshape(-1), found.size
    occurs = np.bincount(which, minlength=numbers) > 0
    return (np.cumsum(occurs) - 1)[which], int(occurs.sum())
