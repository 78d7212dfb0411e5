"""Sums of ln(prior + i) over i < m, of which a Dirichlet prior's costs of cells are made, for the priors last used.

They are ln G(prior + m) - ln G(prior); so it is of rows that are parts of records, whose m need not be whole.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import inner

BYTES = 1 << 26  # of the tables of a thread, about
MOST = 256  # of these


class PriorTables(NamedTuple):
    """Each has what m rows add, from 0 on, by one prior."""

    sums: NDArray[np.float64]  # (tables, most records + 1)
    priors: NDArray[np.float64]
    filled: NDArray[np.int64]  # so far
    used: NDArray[np.int64]  # last, and a clock
    each: float  # records that a row is


def new_tables(rows: int, at_once: int, each: float) -> PriorTables:
    """Room for the sums of so many rows, by as many priors as are used at once, and more."""
    return tables_of(np.empty((max(at_once, min(MOST, BYTES // (8 * (rows + 1)))), rows + 1)), each)


def tables_of(sums: NDArray[np.float64], each: float = 1.0) -> PriorTables:
    """Tables of which none is filled; or such, of no prior, that nobody asks `table` for."""
    own = np.zeros(len(sums)), np.zeros(len(sums), np.int64), np.zeros(len(sums) + 1, np.int64)
    return PriorTables(sums, *own, each)


@inner
def table(prior, upto, tables):
    """The place of the table of a prior, filled for so many rows, each sum with what those before it lost."""
    sums, priors, filled, used, each = tables
    place = 0
    for slot in range(priors.size):
        if filled[slot] > 0 and priors[slot] == prior:
            place = slot
            break
        if used[slot] < used[place]:
            place = slot
    used[priors.size] += 1
    used[place] = used[priors.size]
    if filled[place] <= upto or priors[place] != prior:
        priors[place], filled[place] = prior, upto + 1
        total, lost = 0.0, 0.0
        sums[place, 0] = 0.0
        if each != 1.0:
            for m in range(1, upto + 1):
                sums[place, m] = math.lgamma(prior + m * each) - math.lgamma(prior)
            return place
        for m in range(upto):
            term = math.log(prior + m) - lost
            fresh = total + term
            lost = (fresh - total) - term
            total = fresh
            sums[place, m + 1] = total
    return place
