"""An order of the variables, with the best network along it; random ones.

The cost of an order is the sum over its children of the cheapest family whose parents all stand before the child
(Teyssier and Koller 2005: 'ordering-based search'). For lists of thousands of variables.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.random import random_below


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
def best_along(order, lists):
    """The best network along an order (n,) int32: choices (n,) int32, and its cost in nats. O(families * parents)."""
    order, lists = borrowed((order, lists))
    choice = new_line(order, lists).choice
    return choice, total_cost(choice, lists)


@njit
def random_order(state, lists):
    """A random order, int32 (k,), of those variables that have a parent set before them: all if there is a network.

    The next one is always drawn from all that could stand there; where each child may have no parents, every order is
    equally likely. A child that is not in the order can be in none (see `feasible_order`). state: uint64 (1,).
    O(n + parents of the families of children that need one).
    """
    state, lists = borrowed((state, lists))
    n = lists.first.size - 1
    left = np.zeros(lists.costs.size, np.uint16)  # how many parents of a family are not in the order
    ready, count = np.empty(n, np.int32), 0
    waiting = lists.stand_in.copy()
    for y in range(n):
        if waiting[y]:
            for family in range(lists.first[y], lists.first[y + 1]):
                left[family] = lists.starts[family + 1] - lists.starts[family]
        else:
            ready[count] = y
            count += 1
    k = 0
    while k < count:
        drawn = k + random_below(state, count - k)
        ready[k], ready[drawn] = ready[drawn], ready[k]
        x = ready[k]
        k += 1
        for pair in range(lists.pair_first[x], lists.pair_first[x + 1]):
            y = lists.child[pair]
            if not waiting[y]:
                continue
            for i in range(lists.pair_starts[pair], lists.pair_starts[pair + 1]):
                left[lists.first[y] + lists.with_parent[i]] -= 1
                if left[lists.first[y] + lists.with_parent[i]] == 0 and waiting[y]:
                    waiting[y] = False
                    ready[count] = y
                    count += 1
    return ready[:count]
