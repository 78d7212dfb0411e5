"""The published searches over orders of thousands of variables: the best of climbs by swaps from random orders.

OBS (Teyssier and Koller 2005) makes the best swap of two neighbours until none is better. ASOBS (Scanagatta et al.
2015, Section 4) ends each climb by acyclic selection.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import assign
from extbnsl.kernels.compiler import borrowed, inner, njit
from extbnsl.orders.acyclic import settle
from extbnsl.orders.line import best_along, cost_of, first_fitting, new_line, random_order, total_cost
from extbnsl.orders.parent_lists import ParentLists
from extbnsl.orders.population import Improve
from extbnsl.results.result import Result
from extbnsl.solver.approximate import approximate_network
from extbnsl.solver.opening import Request

CLIMBS = 20  # in a round


def improve_by_climbs(
    order: NDArray[np.int32],
    state: NDArray[np.uint64],
    elsewhere: NDArray[np.int32],
    kicks: int,
    halt: NDArray[np.uint8],
    lists: ParentLists,
    *,
    acyclic: bool,
) -> None:
    """One round of one order, see `Improve`: it becomes the best of some climbs from random ones, if that is better."""
    cost = best_along(order, lists)[1]
    for _ in range(CLIMBS):
        trial = random_order(state, lists)
        climb_by_swaps(trial, halt, lists)
        found = settle(trial, halt, lists) if acyclic else best_along(trial, lists)[1]
        if found < cost:
            cost = found
            order[:] = trial
        if halt[0]:
            break


SEARCHES: dict[str, Improve] = {
    "obs": partial(improve_by_climbs, acyclic=False),
    "asobs": partial(improve_by_climbs, acyclic=True),
}


def approximate_by_swaps(asked: Request, **how: Any) -> Result:
    """`approximate_network` with orders searched by one of these SEARCHES."""
    return approximate_network(asked, improve=SEARCHES[asked.methods.search], **how)


@inner
def after_swap(k, line, lists):
    """What the variables at places k and k + 1 choose if they swap. O(families of the first, some of the second)."""
    x, y = line.order[k], line.order[k + 1]
    later = first_fitting(y, line.choice[y], k, line.place, lists)
    line.place[y] = -1  # x may have it as a parent
    earlier = first_fitting(x, np.int32(0), k, line.place, lists)
    line.place[y] = k + 1
    return earlier, later


@inner
def swap_gain(k, line, lists):
    """By how much the cost changes if the variables at places k and k + 1 swap."""
    x, y = line.order[k], line.order[k + 1]
    earlier, later = after_swap(k, line, lists)
    change = cost_of(x, earlier, lists) - cost_of(x, line.choice[x], lists)
    return change + cost_of(y, later, lists) - cost_of(y, line.choice[y], lists)


@inner
def _swap(k, line, lists):
    """Swap the variables at places k and k + 1."""
    x, y = line.order[k], line.order[k + 1]
    line.choice[x], line.choice[y] = after_swap(k, line, lists)
    line.order[k], line.order[k + 1] = y, x
    line.place[x], line.place[y] = k + 1, k


@njit
def climb_by_swaps(order, halt, lists):
    """Make the best adjacent swap until none is better; `order` (n,) int32 becomes the last; returns its cost in nats.

    Only the gains of a swap and of its two neighbours change with it. O(n) and three evaluations per swap. halt: uint8
    (1,); once it is 1, the climb ends where it is.
    """
    order, halt, lists = borrowed((order, halt, lists))
    n = order.size
    line = new_line(order, lists)
    gains = np.zeros(n)  # of the swap at each place; the last has none
    for k in range(n - 1):
        gains[k] = swap_gain(k, line, lists)
    while not halt[0]:
        best = 0
        for k in range(n):
            if gains[k] < gains[best]:
                best = k
        if gains[best] >= -lists.tiny:
            break
        _swap(best, line, lists)
        for k in range(max(0, best - 1), min(n - 1, best + 2)):
            gains[k] = swap_gain(k, line, lists)
    assign(order, line.order)
    return total_cost(line.choice, lists)
