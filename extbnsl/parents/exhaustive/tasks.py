"""The tasks of counting level by level: pure functions of values, for threads or other processes.

Each works on a range of the varsets of one level and returns arrays; whoever runs them puts the pieces together.
"""

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.ranks import BLOCK
from extbnsl.kernels.varsets import pack
from extbnsl.parents.best_score import ByteTables
from extbnsl.parents.exhaustive.lattice import Counts, Rules, drop_hopeless, judge_families, judge_last, next_alive
from extbnsl.parents.exhaustive.marking import mark_needed
from extbnsl.scores.counting import CountingTable, count
from extbnsl.scores.determinants import Moments, determine
from extbnsl.scores.formula import figures_of
from extbnsl.scores.tallies import fill

Candidates = tuple[NDArray[np.uint64], NDArray[np.uint16], NDArray[np.float64]]  # varset, child, cost of each


def mark(
    lo: int,
    hi: int,
    size: int,
    alive: NDArray[np.uint64],
    below: Counts,
    extended: bool,
    more: NDArray[np.uint64] | None,
    rules: Rules,
) -> tuple[NDArray[np.uint64], int]:
    """The places, in blocks lo <= b < hi, of the varsets of `size` that are needed, counted from 0; and how many.

    more: bits, by blocks, of those that are needed anyway.
    """
    own = np.empty((hi - lo, 2), np.uint64)
    within = pack(np.flatnonzero((rules.limits >= size) & extended).tolist(), rules.limits.size)
    end = min(BLOCK * hi, int(rules.binomials[-1, size]))
    marked = mark_needed(BLOCK * lo, end, size, alive, below.places, within, rules.binomials, own)
    if more is None:
        return own, int(marked)
    own[:, 0] |= more[lo:hi]
    present = np.bitwise_count(own[:, 0]).astype(np.uint64)
    own[:, 1] = np.cumsum(present) - present
    return own, int(present.sum())


def count_joint(
    lo: int,
    hi: int,
    size: int,
    places: NDArray[np.uint64],
    below: Counts,
    rules: Rules,
    table: CountingTable | Moments,
) -> NDArray[np.float64]:
    """T, or the figures, of the varsets of `size` at these places; below: the counts of one size less."""
    if isinstance(table, Moments):
        own = np.empty(hi - lo)
        determine(size, lo, hi, places, rules.binomials, table, own)
    elif rules.form is None:
        own = np.empty(hi - lo)
        count(size, lo, hi, places, rules.binomials, table, own)
    else:
        own = np.empty((hi - lo, figures_of(rules.form, size)))
        fill(size, lo, hi, places, below, rules.binomials, table, rules.form, own)
    return own


def judge(
    lo: int, hi: int, size: int, alive: NDArray[np.uint64], counts: tuple[Counts, Counts, Counts], rules: Rules
) -> tuple[NDArray[np.uint64], Candidates]:
    """For the parent sets at these places the children that may have more parents, and the families that win so far.

    counts: of the level below, of this one and of the one above.
    """
    width, room = alive.shape[1], (hi - lo) * rules.arities.size
    extend = np.empty((hi - lo, width), np.uint64)
    found = np.empty((room, width), np.uint64), np.empty(room, np.uint16), np.empty(room)
    written = judge_families(lo, hi, size, alive, counts, rules, extend, found)
    return extend, (found[0][:written].copy(), found[1][:written].copy(), found[2][:written].copy())


def count_and_judge(
    lo: int,
    hi: int,
    size: int,
    places: NDArray[np.uint64],
    alive: NDArray[np.uint64],
    counts: tuple[Counts, Counts],
    rules: Rules,
    table: CountingTable | Moments,
) -> Candidates:
    """The families (X, Q - X) of the varsets Q of `size` at these places that win so far.

    places: of the varsets of `size`; counts: of level size - 2 and of level size - 1, to which `alive` belongs.
    """
    joint, room = count_joint(lo, hi, size, places, counts[1], rules, table), (hi - lo) * size
    found = np.empty((room, alive.shape[1]), np.uint64), np.empty(room, np.uint16), np.empty(room)
    written = judge_last(lo, hi, size, alive, (*counts, Counts(places, joint)), rules, found)
    return found[0][:written].copy(), found[1][:written].copy(), found[2][:written].copy()


def ready(
    lo: int, hi: int, size: int, extend: NDArray[np.uint64], below: Counts, level: Counts, rules: Rules
) -> NDArray[np.uint64]:
    """The children alive at the varsets of `size` at these places, as far as is known without their families."""
    own = np.empty((hi - lo, extend.shape[1]), np.uint64)
    next_alive(lo, hi, size, extend, below, level, rules, own)
    return own


def drop(
    lo: int,
    hi: int,
    size: int,
    children: NDArray[np.int64],
    level: Counts,
    above: Counts,
    rules: Rules,
    tables: ByteTables,
    alive: NDArray[np.uint64],
) -> NDArray[np.uint64]:
    """alive[lo:hi], of the varsets of `level`, without those of `children`, whose families the tables have, for which
    no superset can be good. above: the counts of the next level, which figures are asked for."""
    own = alive[lo:hi].copy()
    drop_hopeless(lo, hi, size, children, level, above, rules, tables, own)
    return own
