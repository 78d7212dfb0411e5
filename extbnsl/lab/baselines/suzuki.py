"""Suzuki's B&B_D: the best parents under an order by branch and bound with zero as the least misfit.

(Suzuki 1996; Tian 2000, eq. 6.) It visits far more states than Tian's DFBnB_K3.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from extbnsl.kernels.compiler import borrowed, njit
from extbnsl.parents.ordered.levels import new_levels, push, smallest_after, split
from extbnsl.parents.ordered.searches import may_win, new_incumbent, offer
from extbnsl.results.result import Result
from extbnsl.scores.penalty import added, family_penalty, grown
from extbnsl.solver.opening import Request
from extbnsl.solver.ordered import order_network


def order_by_suzuki(asked: Request, order: Sequence[int], **how: Any) -> Result:
    """`order_network` with the parents of each variable searched by this method, which the methods name."""
    return order_network(asked, order, search=find_by_suzuki, **how)


@njit
def find_by_suzuki(limit, most, halt, table):
    """B&B_D for parent sets of at most `most` candidates.

    A state T is left for T + q, with q after all of T in the given order, unless q adds to the penalty what T has of
    misfit or more. limit: the most parents that a set which costs less than the empty one can have. A state below has
    at most one parent more: what T adds to the penalty is less than the misfit of the empty set.
    A state is visited without counting where it can neither win, for its penalty, nor have a state below, for its
    misfit is at most that of T.
    """
    halt, table = borrowed((halt, table))
    m, depth = table.arities.size, min(limit + 1, most)
    levels, following = new_levels(depth + 1, table), np.zeros(depth + 1, np.int64)
    misfits, penalties, path = np.empty(depth + 1), np.empty(depth + 1), np.empty(depth + 1, np.int64)
    misfits[0], penalties[0] = table.alone, family_penalty(table.parameter, table.child_arity, 1.0)
    smallest = smallest_after(table.arities)
    incumbent = new_incumbent(misfits[0] + penalties[0], path[:0], depth)
    top, visited = 0, 1
    while top >= 0 and not halt[0]:
        q = following[top]
        if q == m or top == depth:
            top -= 1
            continue
        following[top] += 1
        if misfits[top] <= added(penalties[top], table.arities[q]):
            continue
        visited += 1
        penalty = grown(penalties[top], table.arities[q])
        least_added = added(penalty, smallest[q + 1])
        if misfits[top] <= least_added and not may_win(penalty, top + 1, incumbent):
            continue
        path[top] = q
        misfits[top + 1], penalties[top + 1] = split(top, q, levels, table), penalty
        offer(misfits[top + 1] + penalty, path, top + 1, incumbent)
        if top + 1 < depth and misfits[top + 1] > least_added:
            push(top, q, levels, table)
            top += 1
            following[top] = q + 1
    return incumbent.cost[0], incumbent.members[: incumbent.size[0]].copy(), visited, halt[0] == 0
