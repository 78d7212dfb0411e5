"""The cheapest family of a child that no arc leads back from: all its candidates are given.

Nothing that others choose keeps such a child from its cheapest family, so no other is wanted. It is found by a
depth-first branch and bound for each child apart, of states (alone_states.py) or of numbers (alone_numbers.py).
Whatever two sets cost that differ by less than TIE is equal, and fewer parents win (choice.py).
"""

import math

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import pack
from extbnsl.parents.exhaustive.alone_numbers import best_of_numbers
from extbnsl.parents.exhaustive.alone_states import best_of_states, occurring
from extbnsl.parents.exhaustive.problem import CountingProblem, Families
from extbnsl.scores.counting import CountingTable


def cheapest_family(x: int, problem: CountingProblem, halt: NDArray[np.uint8]) -> tuple[Families, int]:
    """The cheapest family of a child of a problem, and the empty set, in score order; and how many sets were looked at.
    Whatever comes when halt[0] is set may be dearer than others. All its candidates are to be given, without slack."""
    table = problem.table
    chosen = np.flatnonzero(problem.allowed[:, x])
    most = int(min(problem.limits[x], chosen.size))
    if isinstance(table, CountingTable):
        order, best = best_of_states(x, chosen, most, problem, halt)
        alone = float(table.mlogm[-1] - table.mlogm[occurring(table, x)].sum())
        alone += problem.parameter * float(table.arities[x] - 1)
    else:
        order, best = best_of_numbers(x, chosen, most, problem, halt)
        alone = table.half * math.log(table.matrix[x, x]) - float(table.least[x]) + problem.parameter
    n = problem.limits.size
    empty = pack((), n)[None]
    if best.size[0] == 0:
        return (empty, np.array([alone])), int(best.counted[0])
    own = pack(order[best.members[: best.size[0]]].tolist(), n)[None]
    return (np.concatenate([own, empty]), np.array([best.cost[0], alone])), int(best.counted[0])
