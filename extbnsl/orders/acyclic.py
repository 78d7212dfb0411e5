"""Acyclic selection (ASOBS): arcs against the order, as long as they close no cycle (Scanagatta et al. 2015).

The children choose from the last to the first of the order, each the cheapest family without a descendant of its own in
the graph so far. A network along the order is among what they can choose, so the cost is never higher (Theorem 3).
"""

import numpy as np

from extbnsl.kernels.bits import assign, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.orders.line import new_line, set_line, total_cost

UNDECIDED = -1


@inlined
def _closes_no_cycle(family, x, descendants, lists):
    """Whether no parent in a family is a descendant of x. O(parents)."""
    for i in range(lists.starts[family], lists.starts[family + 1]):
        p = lists.parents[i]
        if (descendants[x, p >> 6] >> u64(p & 63)) & u64(1):
            return False
    return True


@inner
def _tell_ancestors(x, choice, descendants, waiting, lists):
    """Let x and its descendants be descendants of all ancestors of x.

    The paper's todo lists, for 64 descendants at a time. A visit that goes on sets at least one bit of the matrix, so
    all visits together are at most n^2; waiting (n,) int32 holds those from which to go on.
    """
    for w in range(descendants.shape[1]):
        told = descendants[x, w] | (u64(1) << u64(x & 63) if w == x >> 6 else u64(0))
        if not told:
            continue
        waiting[0], count = x, 1
        while count:
            count -= 1
            y = waiting[count]
            if choice[y] == UNDECIDED:
                continue
            family = lists.first[y] + choice[y]
            for i in range(lists.starts[family], lists.starts[family + 1]):
                p = lists.parents[i]
                if told & ~descendants[p, w]:
                    descendants[p, w] |= told
                    waiting[count] = p
                    count += 1


@njit
def acyclic_choices(order, halt, lists):
    """What each child chooses by acyclic selection along an order (n,) int32: int32 (n,), of an acyclic network.

    halt: uint8 (1,); once it is 1, from another thread, the others stay UNDECIDED.
    O(C k + k n^2) for C families of at most k parents, where most of n^2 is done 64 at a time. Memory: n^2 / 8 bytes.
    """
    order, halt, lists = borrowed((order, halt, lists))
    n = order.size
    choice = np.full(n, UNDECIDED, np.int32)
    descendants = np.zeros((n, (n + 63) >> 6), np.uint64)
    waiting = np.empty(n + 1, np.int32)
    for k in range(n - 1, -1, -1):
        if halt[0]:
            break
        x = order[k]
        family = lists.first[x]
        while not _closes_no_cycle(family, x, descendants, lists):
            family += 1
        choice[x] = family - lists.first[x]
        _tell_ancestors(x, choice, descendants, waiting, lists)
    return choice


@njit
def topological_order(order, choice, lists):
    """A topological order, int32 (n,), of the acyclic network of these choices, near to `order`: each variable as it
    comes there, after those of its ancestors that are missing. O(n + arcs)."""
    order, choice, lists = borrowed((order, choice, lists))
    n = order.size
    sorted_order, count = np.empty(n, np.int32), 0
    placed = np.zeros(n, np.bool_)
    path = np.empty(n, np.int32)
    for k in range(n):
        path[0], depth = order[k], 0 if placed[order[k]] else 1
        while depth:
            x = path[depth - 1]
            family = lists.first[x] + choice[x]
            above = -1
            for i in range(lists.starts[family], lists.starts[family + 1]):
                if not placed[lists.parents[i]]:
                    above = lists.parents[i]
                    break
            if above >= 0:
                path[depth] = above
                depth += 1
            else:
                depth -= 1
                placed[x] = True
                sorted_order[count] = x
                count += 1
    return sorted_order


@njit
def settle(order, halt, lists):
    """Acyclic selection along `order`, then along a topological order of its network, until that gains nothing or
    halt[0] is 1; `order` (n,) int32 becomes the last. Returns the cost of the best network along it, in nats: never
    higher than before."""
    order, halt, lists = borrowed((order, halt, lists))
    line = new_line(order, lists)
    cost = total_cost(line.choice, lists)
    while True:
        choice = acyclic_choices(line.order, halt, lists)
        if halt[0]:
            return cost
        after = topological_order(line.order, choice, lists)
        set_line(line, after, lists)
        lower = total_cost(line.choice, lists)
        if lower >= cost - lists.tiny:
            return cost
        cost = lower
        assign(order, after)
