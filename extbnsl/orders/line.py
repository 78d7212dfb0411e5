"""An order of the variables, with the best network along it; random ones, and adjacent swaps.

The cost of an order is the sum over its children of the cheapest family whose parents all stand before the child
(Teyssier and Koller 2005: 'ordering-based search'). For lists of thousands of variables.
Its climb swaps neighbours (ibid.; Scanagatta et al. 2015, Section 4).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import assign
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
def choices_along(order, lists):
    """The best network along an order (n,) int32: choices (n,) int32. O(families * parents)."""
    order, lists = borrowed((order, lists))
    return new_line(order, lists).choice


@njit
def cost_along(order, lists):
    """What the best network along an order (n,) int32 costs, in nats. O(families * parents)."""
    order, lists = borrowed((order, lists))
    return total_cost(new_line(order, lists).choice, lists)


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
