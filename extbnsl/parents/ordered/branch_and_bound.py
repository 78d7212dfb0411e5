"""Tian's DFBnB_K3: depth-first branch and bound from the parents that K3 finds (Tian 2000, figure 3).

The tree adds candidates in ascending order of N H(X | Y) (eq. 14): those that explain most come first, so that few
states can still add them. A state T, below which the candidates W can be added, is left for T + q only if

    N H(X | T, W) + penalty(X | T + q)

can win against the incumbent (eq. 13). N H(X | T, W) changes only where a candidate was passed over: T + q has the
bound of T if q is the first of W. Otherwise it is computed if anything below could win at all. Tian's algorithm
computes two entropy terms for each state that has something below, whether they are known or not; `terms` counts so.
"""

import numpy as np

from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.parents.ordered.incumbent import may_win, new_incumbent, offer
from extbnsl.parents.ordered.levels import join, new_levels, push, refine, smallest_after, split
from extbnsl.scores.penalty import family_penalty, grown


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
    """The best parent set: its cost, its members (size,) int64, ascending, the terms, and whether
    the search came to its end.

    cost, parents: the incumbent, candidates int64. tree (m,) int64: the candidates in the order of the tree. limit: the
    most parents. own: whether each state gets a bound of its own, or that of the root. halt: uint8 (1,); once it is 1,
    from another thread, the search ends with what it has. Time: O(entries of the level above) for each state.
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
