"""The searches for one child's parents: K3, which is greedy, and Tian's DFBnB_K3.

K3 adds parents one by one, each the one that helps most (Bouckaert 1994; Tian 2000, figure 1).

DFBnB_K3 is depth-first branch and bound from what K3 finds (Tian 2000, figure 3). The tree adds candidates in ascending
order of N H(X | Y) (eq. 14): those that explain most come first, so that few states can still add them. A state T,
below which the candidates W can be added, is left for T + q only if

    N H(X | T, W) + penalty(X | T + q)

can win against the incumbent (eq. 13). N H(X | T, W) changes only where a candidate was passed over: T + q has the
bound of T if q is the first of W. Otherwise it is computed if anything below could win at all. Tian's algorithm
computes two entropy terms for each state that has something below, whether they are known or not; `terms` counts so.

Costs that differ by less than TIE are equal; then fewer parents win, and among as many those that come first in the
order. So all exact methods choose the same parents.

Both look at halt, uint8 (1,): once it is 1, from another thread, a search ends with what it has. Both return the cost
of the best parent set in nats, its candidates, int64, the terms as Tian counts them, and whether the search came to its
end.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.parents.ordered.levels import join, new_levels, push, refine, smallest_after, split
from extbnsl.scores.penalty import family_penalty, grown

TIE = 1e-9  # nats; costs that differ by less are equal


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


@njit
def find_greedily(limit, halt, table):
    """K3 for the child of the table, with at most `limit` parents, in the order of their addition.

    Returns N H(X | Y) of each candidate Y besides, float64 (m,), infinity where K3 did not get to it. Of candidates
    that help alike the first is added. Time: O(rows) for each candidate and parent.
    """
    halt, table = borrowed((halt, table))
    m = table.arities.size
    levels = new_levels(limit + 1, table)
    parents, size = np.empty(limit, np.int64), 0
    alone, free = np.full(m, np.inf), np.ones(m, np.bool_)
    penalty = family_penalty(table.parameter, table.child_arity, 1.0)
    cost, terms = table.alone + penalty, 1
    while size < limit and not halt[0]:
        least, best = np.inf, -1
        for q in range(m):
            if not free[q] or halt[0]:
                continue
            terms += 1
            more = grown(penalty, table.arities[q])
            if size and more >= cost:
                continue  # no misfit is negative
            misfit = split(size, q, levels, table)
            if size == 0:
                alone[q] = misfit
            if misfit + more < least - TIE:
                least, best = misfit + more, q
        if halt[0] or not least < cost - TIE:
            break
        split(size, best, levels, table)
        if size + 1 < limit:
            push(size, best, levels, table)
        parents[size], free[best] = best, False
        penalty, cost = grown(penalty, table.arities[best]), least
        size += 1
    return cost, parents[:size].copy(), terms, halt[0] == 0, alone


@inlined
def _labels(tree, own, levels, table):
    """The joint state, as a number, of the candidates from each place of the tree on, and how many numbers there are:
    uint32 (places, d), int64 (places,). Without `own` bounds, of all candidates alone, in one row."""
    m, d = tree.size, table.weights.size
    places = m + 1 if own else 1
    labels, numbers = np.zeros((places, d), np.uint32), np.ones(places, np.int64)
    for place in range(m - 1, -1, -1):
        source, target = (place + 1, place) if own else (0, 0)
        q = tree[place]
        numbers[target] = refine(labels[source], table.states[q], table.arities[q], labels[target], levels)
    return labels, numbers


@njit
def branch_and_bound(cost, parents, tree, limit, own, halt, table):
    """DFBnB_K3 from the incumbent of this cost, with these candidates, int64, as parents.

    tree (m,) int64: the candidates in the order of the tree. limit: the most parents. own: whether each state gets a
    bound of its own, or that of the root. Time: O(entries of the level above) for each state.
    """
    cost, parents, tree, own, halt, table = borrowed((cost, parents, tree, own, halt, table))
    m = tree.size
    levels = new_levels(limit + 1, table)
    labels, numbers = _labels(tree, own, levels, table)
    smallest = smallest_after(table.arities[tree])
    path, following, begin = np.empty(limit + 1, np.int64), np.zeros(limit + 1, np.int64), np.zeros(limit + 1, np.int64)
    penalties, bounds = np.empty(limit + 1), np.empty(limit + 1)
    penalties[0] = family_penalty(table.parameter, table.child_arity, 1.0)
    bounds[0] = join(0, labels[0], numbers[0], levels, table)
    incumbent = new_incumbent(cost, parents, limit)
    top, terms = 0, 2
    while top >= 0 and not halt[0]:
        place = following[top]
        if place == m or top == limit:
            top -= 1
            continue
        following[top] += 1
        q = tree[place]
        penalty = grown(penalties[top], table.arities[q])
        if not may_win(bounds[top] + penalty, top + 1, incumbent):
            continue
        terms += 2 if own and place + 1 < m else 1
        path[top] = q
        offer(split(top, q, levels, table) + penalty, path, top + 1, incumbent)
        below = bounds[top] + grown(penalty, smallest[place + 1])
        if top + 1 < limit and may_win(below, top + 2, incumbent):
            push(top, q, levels, table)
            first = place == begin[top]
            top += 1
            penalties[top], bounds[top] = penalty, bounds[top - 1]
            following[top] = begin[top] = place + 1
            if own and not first:
                bounds[top] = join(top, labels[place + 1], numbers[place + 1], levels, table)
    return incumbent.cost[0], incumbent.members[: incumbent.size[0]].copy(), terms, halt[0] == 0
