"""The best parent set that a search for one child has found so far."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import inner

TIE = 1e-9  # of a cost, and nats: less is no difference


class Choice(NamedTuple):
    """The best set so far: its cost (1,) float64, its size (1,) int64, its members (most,) int64 as places of
    candidates; counted (1,) int64: the sets that were looked at."""

    cost: NDArray[np.float64]
    size: NDArray[np.int64]
    members: NDArray[np.int64]
    counted: NDArray[np.int64]


def new_choice(cost: float, most: int) -> Choice:
    """The empty set, of this cost, with room for sets of at most so many."""
    return Choice(np.array([cost]), np.zeros(1, np.int64), np.zeros(max(1, most), np.int64), np.zeros(1, np.int64))


@inner
def offer(cost, members, size, best):
    """Let these members be the best set if they cost less, or as much and are fewer."""
    gap = best.cost[0] - cost
    tie = TIE * (1.0 + abs(best.cost[0]))
    if gap > tie or (gap >= -tie and size < best.size[0]):
        best.cost[0] = cost
        best.size[0] = size
        for k in range(size):
            best.members[k] = members[k]
