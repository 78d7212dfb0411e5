"""The best parent set that a depth-first search has met so far, and which sets could take its place.

Costs that differ by less than TIE are equal; then fewer parents win, and among as many those that come first in the
order. So all exact methods choose the same parents.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import inlined, inner
from extbnsl.parents.ordered.table import TIE


class Incumbent(NamedTuple):
    """cost float64 (1,) in nats; size int64 (1,); members int64 (limit,): the first `size` are the candidates in the
    set, ascending; path int64 (limit,) has room for another."""

    cost: NDArray[np.float64]
    size: NDArray[np.int64]
    members: NDArray[np.int64]
    path: NDArray[np.int64]


@inlined
def new_incumbent(cost, parents, limit):
    """The incumbent of this cost, with these candidates as parents."""
    incumbent = Incumbent(
        np.full(1, cost), np.full(1, parents.size), np.empty(max(1, limit), np.int64), np.empty(max(1, limit), np.int64)
    )
    _sort_into(incumbent.members, parents, parents.size)
    return incumbent


@inlined
def may_win(least, size, incumbent):
    """Whether a set of so many parents or more, which costs at least so much, could take the incumbent's place."""
    gap = incumbent.cost[0] - least
    return gap > TIE or (gap >= -TIE and size <= incumbent.size[0])


@inner
def offer(cost, chosen, size, incumbent):
    """Let the first `size` of these candidates be the incumbent if they are better."""
    gap = incumbent.cost[0] - cost
    if gap < -TIE or (gap <= TIE and size > incumbent.size[0]):
        return
    _sort_into(incumbent.path, chosen, size)
    if gap <= TIE and size == incumbent.size[0]:
        k = 0
        while k < size and incumbent.path[k] == incumbent.members[k]:
            k += 1
        if k == size or incumbent.path[k] > incumbent.members[k]:
            return
    incumbent.cost[0], incumbent.size[0] = cost, size
    for k in range(size):
        incumbent.members[k] = incumbent.path[k]


@inlined
def _sort_into(target, source, size):
    """The first `size` of the source, ascending: a few."""
    for k in range(size):
        at = k
        while at > 0 and target[at - 1] > source[k]:
            target[at] = target[at - 1]
            at -= 1
        target[at] = source[k]
