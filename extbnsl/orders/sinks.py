"""An order from a solution of the linear program over families, sink by sink.

In a network the variable that is last is no parent of the others. So the one that is the least of a parent in the
solution goes last, and of the others again. (Integer programmers round so: Bartlett and Cussens 2017, Section 4.4.)
"""

import numpy as np

from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import inner, njit


@inner
def _add(weight, parents, j, value):
    """Add to the weight of each parent of family j."""
    for q in range(parents.shape[0]):
        left = parents[q, j]
        while left:
            weight[u64(q << 6) + lowest(left)] += value
            left &= left - u64(1)


@njit
def order_of_solution(parents, child, values, n):
    """An order (n,) int64 that follows a solution: families with parents (words, m) uint64 and child (m,) int64, of
    each of which it has `values` (m,) float64. Ties go to the larger variable. O(n^2 + n m), some ns each.

    A family counts as long as its child and all its parents are there.
    """
    order = np.empty(n, np.int64)
    there, counts = np.ones(n, np.bool_), np.ones(child.size, np.bool_)
    weight = np.zeros(n, np.float64)  # of a variable as a parent
    for j in range(child.size):
        _add(weight, parents, j, values[j])
    for place in range(n - 1, -1, -1):
        sink = np.int64(-1)
        for v in range(n):
            if there[v] and (sink < 0 or weight[v] <= weight[sink]):
                sink = v
        order[place], there[sink] = sink, False
        for j in range(child.size):
            if counts[j] and (child[j] == sink or parents[sink >> 6, j] >> u64(sink & 63) & u64(1)):
                counts[j] = False
                _add(weight, parents, j, -values[j])
    return order
