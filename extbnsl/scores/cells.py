"""The counts that a family's cost follows from."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
