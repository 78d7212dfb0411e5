"""An order of the variables, with the best network along it.

The cost of an order is the sum over its children of the cheapest family whose parents all stand before the child
(Teyssier and Koller 2005: 'ordering-based search'). For lists of thousands of variables.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, inlined, inner, njit


class Line(NamedTuple):
    """An order, and what each child chooses along it; int32 (n,) each.

    order: the variables. place: where each stands. choice: each child's family, counted from its first.
    """

    order: NDArray[np.int32]
    place: NDArray[np.int32]
    choice: NDArray[np.int32]


@inlined
def cost_of(child, choice, lists):
    """What a choice of a child costs."""
    return lists.costs[lists.first[child] + choice]


@inlined
def fits(family, before, place, lists):
    """Whether all parents of a family stand before a place. O(parents)."""
    for i in range(lists.starts[family], lists.starts[family + 1]):  # noqa: SIM110 - kernels have no generators
        if place[lists.parents[i]] >= before:
            return False
    return True


@inlined
def first_fitting(child, choice, before, place, lists):
    """The child's first choice, from the one given on, whose parents all stand before a place; the last one does."""
    family = lists.first[child] + choice
    while not fits(family, before, place, lists):
        family += 1
    return family - lists.first[child]


@inner
def new_line(order, lists):
    """The line of an order; O(families * parents)."""
    n = order.size
    line = Line(np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32))
    set_line(line, order, lists)
    return line


@inner
def set_line(line, order, lists):
    """Let the line be that of another order."""
    for k in range(order.size):
        line.order[k] = order[k]
        line.place[order[k]] = k
    for x in range(order.size):
        line.choice[x] = first_fitting(x, np.int32(0), line.place[x], line.place, lists)


@inner
def total_cost(choice, lists):
    """What the choices of all children cost, added up in the order of the children."""
    total = 0.0
    for x in range(choice.size):
        total += cost_of(x, choice[x], lists)
    return total


@njit
def choices_along(order, lists):
    """The best network along an order (n,) int32: choices (n,) int32. O(families * parents)."""
    order, lists = borrowed((order, lists))
    return new_line(order, lists).choice


@njit
def cost_along(order, lists):
    """What the best network along an order (n,) int32 costs, in nats. O(families * parents)."""
    order, lists = borrowed((order, lists))
    return total_cost(new_line(order, lists).choice, lists)
