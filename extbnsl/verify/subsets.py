"""A dynamic program over all subsets of a small component, for what a search proved: kernels.

With n variables, a table (n, 2^(n-1)) has for each child and each set of the others in the component the least excess
of a family whose parents in the component are among these (Koivisto and Sood 2004). The last one of a set in an order
may have all others of the set as parents; so the least excess of a set is that of the set without its last one, and
what that one then costs, for the best last one (Silander and Myllymaki 2006).

Sets are numbers: bit i stands for the i-th variable of the component, and in the row of a child, which has no bit, for
the i-th of the others. Excesses are whole units from 0 to `reach`, and no sum of two leaves the range of int64.
"""

import numpy as np

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import njit

OFTEN = (1 << 16) - 1  # sets between two looks at `halt`


@njit
def enter(row, varsets, costs, others):
    """Lower row[S] to the least of the costs (m,) of the families, varsets (m, words), that have of the others, numbers
    of variables (n - 1,), just those in S as parents."""
    for j in range(costs.size):
        at = 0
        for i in range(others.size):
            word, bit = others[i] >> 6, u64(others[i] & 63)
            at |= np.int64(varsets[j, word] >> bit & u64(1)) << i
        row[at] = min(row[at], costs[j])


@njit
def spread(row, least, reach):
    """Make of row[S], what families with the parents S cost, the least excess over `least` with parents in S, `reach`
    if that is more. O(2^n n)."""
    for at in range(row.size):
        row[at] = reach if row[at] >= least + reach else row[at] - least
    step = 1
    while step < row.size:
        for begin in range(0, row.size, 2 * step):
            for at in range(begin, begin + step):
                row[at + step] = min(row[at + step], row[at])
        step *= 2


@njit
def least_excess(table, reach, halt):
    """The least excess of all variables together, `reach` if it is more; -1 if it was halted. O(2^n n)."""
    n = table.shape[0]
    excess = np.zeros(1 << n, np.int64)
    for whole in range(1, 1 << n):
        if whole & OFTEN == 0 and halt[0]:
            return np.int64(-1)
        best = reach
        for last in range(n):
            if whole >> last & 1:
                before = whole ^ (1 << last)
                own = (before >> (last + 1) << last) | (before & ((1 << last) - 1))
                best = min(best, excess[before] + table[last, own])
        excess[whole] = best
    return excess[-1]
