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
    the parents' arities, of which q occur. priced: by how many records a penalty goes, where these are not the ones
    that are counted; the misfit is that of `weight` times those.
    """

    counts: NDArray[np.int64]
    arity: int
    configurations: float
    priced: float | None = None
    weight: float = 1.0

    @property
    def records(self) -> int:
        return int(self.counts.sum())

    @property
    def misfit(self) -> float:
        """N H(child | parents) in nats: minus the largest log-likelihood of the child's column; infinity if nothing is
        counted."""
        if math.isinf(self.weight):
            return math.inf
        return self.weight * (_sum_mlogm(self.counts.sum(axis=1)) - _sum_mlogm(self.counts.ravel()))


def _sum_mlogm(counts: NDArray[np.int64]) -> float:
    positive = counts[counts > 0].astype(np.float64)
    return float((positive * np.log(positive)).sum())


def cells_of(dataset: "Dataset | Mixed", child: int, parents: Sequence[int] = ()) -> Cells:
    """The counts of a family of variables of states, over the records that are its. O(N parents), or O(N log N) for
    very many joint states.

    A child that is given has one state: by each score it costs nothing.
    """
    if child in dataset.given:
        return Cells(np.array([[dataset.records]]), 1, 1.0)
    arity, counted = len(dataset.states[child]), dataset.counted(child, parents)
    own = _column(dataset, child, counted)
    if parents:
        configurations, numbers = numbered(dataset, parents, counted)
        counts = np.bincount(configurations * arity + own, minlength=numbers * arity).reshape(numbers, arity)
        counts = counts[counts.any(axis=1)]
    else:
        counts = np.bincount(own)[None, :]
    possible = math.prod(len(dataset.states[parent]) for parent in parents)
    states = float(possible) if possible < 1e300 else math.inf
    if counted is None and dataset.weights is None:
        return Cells(counts, arity, states)
    return Cells(counts, arity, states, dataset.total, _weight(dataset, child, own.size))


def _weight(dataset: "Dataset | Mixed", child: int, records: int) -> float:
    """How many records each row stands for of those that are counted of a child's: by the node average those that lack
    a value are as the others on average (Balov 2013). Infinity if none is counted."""
    own = dataset.records if dataset.targets is None else int(dataset.targets.left(child).sum())
    return dataset.each * own / records if records else math.inf


def _column(dataset: "Dataset | Mixed", variable: int, counted: NDArray[np.bool_] | None) -> NDArray[np.uint16]:
    """The codes of a variable in the records that are counted."""
    return dataset.codes[:, variable] if counted is None else dataset.codes[counted, variable]


def numbered(
    dataset: "Dataset | Mixed", variables: Sequence[int], counted: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], int]:
    """For each record that is counted, all as a rule, a number of the joint state of some variables, with few gaps, and
    how many numbers there are."""
    which, numbers = np.zeros(dataset.records if counted is None else int(counted.sum()), np.int64), 1
    for variable in variables:
        arity = len(dataset.states[variable])
        which, numbers = which * arity + _column(dataset, variable, counted), numbers * arity
        if numbers > FEW:
            which, numbers = _without_gaps(which, numbers)
    return which, numbers


def _without_gaps(which: NDArray[np.int64], numbers: int) -> tuple[NDArray[np.int64], int]:
    if numbers > max(ROOM, 4 * which.size):
        found, which = np.unique(which, return_inverse=True)
        return which.reshape(-1), found.size
    occurs = np.bincount(which, minlength=numbers) > 0
    return (np.cumsum(occurs) - 1)[which], int(occurs.sum())
