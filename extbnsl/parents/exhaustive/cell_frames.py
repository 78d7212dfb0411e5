"""What the search between two parent sets works on: its task, and the stack of its nodes with their cells; see
`between` and `between_bounds`, from which the words are."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.parents.priced.cuts import CutsOfChild
from extbnsl.scores.formula import Formula

ROW, SEEN, ALONE, CORRECTED, UNEXPLAINED, COUNTS = range(6)  # columns of cells u, the last ones by state
PLAIN = -1  # what is `ALONE` of a cell of which nothing counts but the child's one state, which is its `CORRECTED`


class CellTask(NamedTuple):
    """What one search is for: families of one child of `arity` states with more than `fewest` of m candidates, and
    `most` of them at most.

    codes (m, d): the candidates' states in the d distinct rows; arities (m,) int64; by_arity (m,) int64: the candidates
    by ascending arity; first (m + 1,) int64: where the columns of each begin; masks (d, columns) int8: -1 where the row
    has the state of the column, else 0; bits (d, w) uint64: the same as bits, and own (m, w) which of them are each
    candidate's; variables (m,): their numbers in varsets. states, weights (d,) int64: the child's, and the records.
    form: the score, and of_arity the child's class in it. of_one (N + 1,) int32: by tables, what records of one state
    cost as a cell, in whole numbers. mlogm (N + 1,). scale: whole numbers per nat. margin: what
    rounding may do, and slack: how much more a family of interest may cost than its subsets, in nats. deepest: nodes of
    so many added parents are handed over, not entered. limit: what a family of interest costs less than, without what
    it counts for cuts, in nats. effort: after how many nodes the search is given up. tables: BestScore of the child
    over families known before.
    """

    codes: NDArray[Any]
    arities: NDArray[np.int64]
    by_arity: NDArray[np.int64]
    first: NDArray[np.int64]
    masks: NDArray[np.int8]
    bits: NDArray[np.uint64]
    own: NDArray[np.uint64]
    variables: NDArray[np.int64]
    states: NDArray[np.int64]
    weights: NDArray[np.int64]
    arity: int
    fewest: int
    most: int
    form: Formula
    of_arity: int
    of_one: NDArray[np.int32]
    mlogm: NDArray[np.float64]
    scale: float
    margin: float
    slack: float
    deepest: int
    limit: float
    effort: int
    cuts: CutsOfChild
    tables: Any


class CellSpace(NamedTuple):
    """Working space, made by Python so that no kernel counts references to it: slots (2 d,) int64 of a hash table, zero
    between uses; place, cell (d,), counts (d, r) int64 of cells; fresh (d,) int64: cells to be weighed; present (r, w)
    uint64: in which columns a state of the child is, and few, planes (32, w) uint64: numbers of columns by their binary
    digits, all zero between uses; alone, corrected, unexplained, states, plain (64 w,) int32, total (64 w,) int64 of
    columns; ones, others (r, 64 w) int32: by tables, their records by state, in cells of one state and in others;
    tally (most states, r), inside (most states,) int64 of a candidate's states; mask (w,) uint64; times (m,) int64,
    zero between uses."""

    slots: NDArray[np.int64]
    place: NDArray[np.int64]
    cell: NDArray[np.int64]
    counts: NDArray[np.int64]
    fresh: NDArray[np.int64]
    present: NDArray[np.uint64]
    few: NDArray[np.uint64]
    planes: NDArray[np.uint64]
    alone: NDArray[np.int32]
    corrected: NDArray[np.int32]
    unexplained: NDArray[np.int32]
    states: NDArray[np.int32]
    plain: NDArray[np.int32]
    total: NDArray[np.int64]
    ones: NDArray[np.int32]
    others: NDArray[np.int32]
    tally: NDArray[np.int64]
    inside: NDArray[np.int64]
    mask: NDArray[np.uint64]
    times: NDArray[np.int64]


class CellFrames(NamedTuple):
    """A stack of nodes, and where their cells lie: those of each node behind those of the one before.

    cell (a, 5 + r) int32, of cells u: ROW, one of its rows; SEEN, 0 while it is to be weighed; ALONE, CORRECTED,
    UNEXPLAINED: D(u) - d_u ln r, or by tables h(u), D(u) - M(u) and M(u) in whole numbers; and from COUNTS on its
    records by the child's states. end (a,) int64: where the cells j end.

    Of nodes: start, cells, groups (k,) int64: where its cells u begin, how many they are, and how many j; pure (k,):
    how many j there are besides that are one u, by priors of one state of the child, and sure (k,) what these cost at
    least together, in nats. open (k, m) bool: whether a candidate may be added; left
    (k,): how many may; bound (k, m): the bound of all Q with it, in nats; stale (k,) bool: whether that is to be found
    anew. size (k,): the parents that were added; path (k,): the last of them; joint (k,) float64: joint states of the
    parents; prior (k,): those that a Q has at least; best (k,): the cheapest known family inside; counted (k,): l(P);
    gain (k, m): l(P) - l(P + v) of open candidates; there (k, c) bool: whether P has no member of a cluster.

    base (d,) int64: the joint states of the root's parents in each row, and rows (d,) in their order. varset (bytes,)
    uint8: the parents of the top node; top (1,) its place. priors, filled (p,), known (p, 4, N + 1): by joint states,
    of some of those that were asked for, the tables of a prior, and for how many records they are known. space:
    scratch.
    """

    cell: NDArray[np.int32]
    end: NDArray[np.int64]
    start: NDArray[np.int64]
    cells: NDArray[np.int64]
    groups: NDArray[np.int64]
    open: NDArray[np.bool_]
    left: NDArray[np.int64]
    bound: NDArray[np.float64]
    stale: NDArray[np.bool_]
    pure: NDArray[np.int64]
    sure: NDArray[np.float64]
    joint: NDArray[np.float64]
    prior: NDArray[np.float64]
    best: NDArray[np.float64]
    counted: NDArray[np.float64]
    gain: NDArray[np.float64]
    there: NDArray[np.bool_]
    path: NDArray[np.int64]
    chosen: NDArray[np.int64]
    size: NDArray[np.int64]
    base: NDArray[np.int64]
    rows: NDArray[np.int64]
    varset: NDArray[np.uint8]
    top: NDArray[np.int64]
    priors: NDArray[np.float64]
    filled: NDArray[np.int64]
    known: NDArray[np.float64]
    space: CellSpace
