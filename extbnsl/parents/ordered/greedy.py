"""K3: parents one by one, each the one that helps most (Bouckaert 1994; Tian 2000, figure 1)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, njit
from extbnsl.parents.ordered.levels import misfit_alone, new_levels, push, split
from extbnsl.parents.ordered.table import TIE
from extbnsl.scores.penalty import family_penalty, grown


class Greedy(NamedTuple):
    """What K3 found: the cost in nats; the parents, as numbers of candidates in the order of their addition, int64;
    N H(X | Y) of each candidate Y, float64 (m,), infinity where K3 did not get to it; the entropy terms that its
    description asks for; and whether it came to its end."""

    cost: float
    parents: NDArray[np.int64]
    alone: NDArray[np.float64]
    terms: int
    complete: bool


@njit
def find_greedily(limit, halt, table):
    """K3 for the child of the table, with at most `limit` parents: the fields of Greedy.

    Of candidates that help alike the first is added. halt: uint8 (1,); once it is 1, from another thread, the search
    ends with what it has. Time: O(rows) for each candidate and parent.
    """
    halt, table = borrowed((halt, table))
    m = table.arities.size
    levels = new_levels(limit + 1, table)
    added, size = np.empty(limit, np.int64), 0
    alone, free = np.full(m, np.inf), np.ones(m, np.bool_)
    penalty = family_penalty(table.parameter, table.child_arity, 1.0)
    cost, terms = misfit_alone(table) + penalty, 1
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
        added[size], free[best] = best, False
        penalty, cost = grown(penalty, table.arities[best]), least
        size += 1
    return cost, added[:size].copy(), alone, terms, halt[0] == 0
