"""What the families of a child weigh that lie inside a varset, and sums over the varsets that a family lies inside of.

For a block of varsets: those with the same members among the high variables. So no table of all varsets is made.
Numbers are wide (wide.py): mantissas and exponents.
"""

import numpy as np

from extbnsl.kernels.compiler import borrowed, njit
from extbnsl.posteriors.lanes import LANES, add_wide_row, add_within_row, share
from extbnsl.posteriors.wide import LOWEST, normal


@njit
def weigh_inside(varsets, families, top, found):
    """Let found[v] be the sum of the weights of the families inside top + v, for each varset v of the low variables, of
    which there are log2 of its size. varsets: of the families, uint64. O(m + 2^low low)."""
    varsets, (mantissas, exponents), found = borrowed((varsets, families, found))
    weights, scales = found
    size = weights.size
    for v in range(size):
        weights[v], scales[v] = 0.0, LOWEST
    for f in range(varsets.size):
        high = varsets[f] & ~np.uint64(size - 1)
        if high & ~top == 0:
            v = np.int64(varsets[f]) & (size - 1)
            ahead = np.int64(exponents[f]) - np.int64(scales[v])
            if ahead <= 0:
                weights[v] += mantissas[f] * share(ahead)
            else:
                weights[v], scales[v] = weights[v] * share(-ahead) + mantissas[f], exponents[f]
    for first in range(0, size, LANES):
        add_within_row(found, first, True)
    bit = LANES
    while bit < size:
        for first in range(0, size, 2 * bit):
            for v in range(first, first + bit, LANES):
                add_wide_row(found, v, v + bit)
        bit *= 2
    for v in range(size):
        weights[v], scales[v] = normal(weights[v], scales[v])


@njit
def add_outside(varsets, families, top, found, totals):
    """totals[f] += weight of family f times the sum of the numbers of the varsets top + v that it is inside of. found:
    those numbers, for each varset v of the low variables; afterwards they are of all that v is inside of."""
    varsets, (mantissas, exponents), found, totals = borrowed((varsets, families, found, totals))
    sums, scales = found
    size = sums.size
    for first in range(0, size, LANES):
        add_within_row(found, first, False)
    bit = LANES
    while bit < size:
        for first in range(0, size, 2 * bit):
            for v in range(first, first + bit, LANES):
                add_wide_row(found, v + bit, v)
        bit *= 2
    for f in range(varsets.size):
        high = varsets[f] & ~np.uint64(size - 1)
        if high & ~top == 0:
            v = np.int64(varsets[f]) & (size - 1)
            if sums[v] != 0.0 and mantissas[f] > 0.0:
                totals[f] += mantissas[f] * sums[v] * share(min(1, np.int64(exponents[f]) + np.int64(scales[v])))
