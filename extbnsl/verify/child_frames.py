"""What the search of `child_search` works on: its task, its stack, and room to bound one node."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.verify.prior_tables import PriorTables, new_tables
from extbnsl.verify.set_frames import CELL_REGRET, FIXED, SPREAD, Searched

WORD_BITS = 64
SUM_BITS = 29  # of what the cells of a node are worth together, in whole numbers, at most
MOST_SCALE = 24  # bits behind the point of a nat
ROUNDING = 1e-12  # nats, of numbers from tables
PLANES = 33  # a number of rows has fewer bits
MOST_JOINT = 1e290  # states of parents: of more a prior may be none that a float holds


class Columns(NamedTuple):
    """The states of the parents, see `ChildTask`."""

    first: NDArray[np.int64]
    bits: NDArray[np.uint64]
    marks: NDArray[np.uint64]
    inside: NDArray[np.int8]


class ChildTask(NamedTuple):
    """What the search of one child reads, of p variables that may be parents, d distinct rows, r states of the child
    that occur; k clusters take something from its families. In nats, as of `Searched`."""

    kind: int
    ess: float
    part_of: float  # records that a row is
    arity: float  # of the child, declared
    opening: float  # what a state of it costs at least that occurs in a cell: ln r, of whole records
    known: int  # the families of so many parents more than it must have are known
    most: int  # parents more than it must have
    part: int  # of the choices at the root those are gone down whose number is that, but for a multiple
    parts: int  # of this
    threshold: int  # in units
    margin: float
    lead: float
    scale: float  # a nat in whole numbers, a power of two
    each: int  # `opening` in these, rounded down
    codes: NDArray[np.uint32]  # (n, d)
    occurring: NDArray[np.int64]  # (n,)
    arities: NDArray[np.float64]  # (n,)
    variables: NDArray[np.int64]  # (n,)
    by_arity: NDArray[np.int64]  # the p parents, those of few states first
    first: NDArray[np.int64]  # column of each parent, and of none (p + 1,): they have one for each state that occurs
    bits: NDArray[np.uint64]  # (d, w) which columns a row has, the first column the lowest bit
    marks: NDArray[np.uint64]  # (p, w) which columns a parent has
    inside: NDArray[np.int8]  # (d, 64 w) -1 where a row has the column, else 0
    mlogm: NDArray[np.float64]  # m ln m (N + 1,), of parts of records times what a row is
    own: NDArray[np.float64]  # by tables: what records of a cell of the parents add (N + 1,); by priors none
    each_own: NDArray[np.float64]  # what those of the child's states in it take away
    urn: NDArray[np.float64]  # of which h of `child_cells` is made
    worth_alone: NDArray[np.int64]  # what records of one state cost as a cell, in whole numbers, rounded down
    worth: NDArray[np.int64]  # (k, p) what each cluster takes from families without the parent, in units


class ChildFrames(NamedTuple):
    """A stack of nodes, parents and candidates, by the number of parents that were added; an array has a place or a row
    for each. The cells u lie one after the other, those of each cell of the parents up to an end."""

    row: NDArray[np.uint32]  # (depth, d) one of each u
    counts: NDArray[np.int32]  # (depth, d, states) records of u by the child's states
    only: NDArray[np.int32]  # (depth, d) the child's one state in u, -1 if there are several
    alone: NDArray[np.int32]  # (depth, d) D(u) - d_u ln r, in whole numbers
    corrected: NDArray[np.int32]  # (depth, d) D(u) - M(u)
    misfit: NDArray[np.int32]  # (depth, d) M(u)
    ends: NDArray[np.int64]  # (depth, d)
    cells: NDArray[np.int64]  # number of ends
    pure: NDArray[np.int64]  # so many cells of the parents are one u with one state, and not kept
    largest: NDArray[np.int64]  # (depth, 2) most records of the cells that are kept, and of the others
    open: NDArray[np.bool_]  # (depth, p) candidates
    left: NDArray[np.int64]  # number of them
    bound: NDArray[np.float64]  # (depth, p) what families with the candidate cost at least
    stale: NDArray[np.bool_]  # whether that is the bound of other cells
    states: NDArray[np.float64]  # product of the parents' arities
    cheapest: NDArray[np.float64]  # least known cost of a subset, and the lead
    taken: NDArray[np.int64]  # the multipliers of clusters disjoint from the parents
    gain: NDArray[np.int64]  # (depth, p) how much less that is with the candidate
    apart: NDArray[np.int64]  # (depth, k) these clusters
    aparts: NDArray[np.int64]  # number of them
    varset: NDArray[np.uint64]  # (depth, words)
    turn: NDArray[np.int64]  # (1,) choices at the root so far, -1 before it is there


class ChildSpace(NamedTuple):
    """Scratch, of which everything is zero between uses but `listed`, `place`, `present` and `pure`."""

    pure: NDArray[np.int64]  # (d,) records of the cells that are not kept, down the stack
    slots: NDArray[np.int64]  # (2 d,) of a hash table
    place: NDArray[np.int64]  # (d,)
    mask: NDArray[np.uint64]  # (w,)
    present: NDArray[np.uint64]  # (states, w) columns that have a state of the child
    planes: NDArray[np.uint64]  # (PLANES, w) how often each column was counted, a bit of that in each
    listed: NDArray[np.int64]  # (states,) states of the child that are there
    there: NDArray[np.bool_]  # (states,)
    often: NDArray[np.int32]  # (64 w,) how many states of the child a column has
    alone: NDArray[np.int32]  # (64 w,) the largest of its cells
    corrected: NDArray[np.int32]  # (64 w,) the largest
    misfit: NDArray[np.int32]  # (64 w,) the sum
    plain: NDArray[np.int32]  # (states, 64 w) by tables: records of cells of one state
    several: NDArray[np.int32]  # (states, 64 w) and of others
    total: NDArray[np.int64]  # (64 w,)
    tally: NDArray[np.int64]  # (states,)
    tables: PriorTables


def columns_of(problem: Searched) -> Columns:
    """The columns of all variables that may be parents."""
    parents, d = problem.parents, problem.weights.size
    first = np.concatenate(([0], np.cumsum(problem.occurring[:parents]))).astype(np.int64)
    words = max(1, -(-int(first[-1]) // WORD_BITS))
    inside, marks = np.zeros((d, WORD_BITS * words), np.int8), np.zeros((parents, WORD_BITS * words), np.int8)
    for y in range(parents):
        inside[np.arange(d), first[y] + problem.codes[y]] = -1
        marks[y, first[y] : first[y + 1]] = 1
    return Columns(first, _packed(inside), _packed(marks), inside)


def _packed(rows: NDArray[np.int8]) -> NDArray[np.uint64]:
    """Which columns are not zero, as bits."""
    return np.packbits(rows != 0, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def must_of(problem: Searched, child: int) -> NDArray[np.int64]:
    """The parents that a child must have."""
    return np.flatnonzero(np.diff(problem.must_before[child]))


def child_task(problem: Searched, columns: Columns, child: int, known: int, part: tuple[int, int]) -> ChildTask:
    """The task of one part, and of how many, of a child's search, where the families of so many parents are known."""
    arity, records, must = float(problem.arities[child]), int(problem.weights.sum()), must_of(problem, child)
    counts = np.arange(records + 1.0)
    scale = 2.0 ** min(MOST_SCALE, math.floor(SUM_BITS - math.log2((1.0 + records) * math.log(max(arity, 2.0)))))
    own = _clusters_of(problem, child)
    of_cells, opening = _tables(problem, child), _opening(problem, child, known)
    alone = of_cells[0] - of_cells[1]
    return ChildTask(
        kind=problem.kind,
        ess=problem.ess,
        part_of=problem.each,
        arity=arity,
        opening=opening,
        known=known - must.size,
        most=int(problem.most[child]) - must.size,
        part=part[0],
        parts=part[1],
        threshold=int(problem.threshold[child]),
        margin=float(problem.margin[child]),
        lead=float(problem.lead[child]),
        scale=scale,
        each=math.floor(opening * scale),
        codes=problem.codes,
        occurring=problem.occurring,
        arities=problem.arities,
        variables=problem.variables,
        by_arity=np.argsort(problem.arities[: problem.parents], kind="stable"),
        mlogm=problem.each * counts * np.log(np.maximum(counts, 1.0)),
        own=of_cells[0],
        each_own=of_cells[1],
        urn=of_cells[2],
        worth_alone=np.floor(np.maximum(alone - ROUNDING, 0.0) * scale).astype(np.int64),
        worth=problem.multipliers[own, None] * problem.holds[own, : problem.parents],
        **columns._asdict(),
    )


def _tables(problem: Searched, child: int) -> list[NDArray[np.float64]]:
    """What the records of a child's cells add up to by tables, and h; by priors there are none."""
    arity, records = float(problem.arities[child]), int(problem.weights.sum())
    if problem.kind == CELL_REGRET:
        own = problem.tables[1 + problem.classes[child]]
        return [own, problem.tables[0], _rising(max(1.0, arity / 2.0), records)]
    if problem.kind == FIXED:
        own = _rising(arity, records, problem.each)
        return [own, _rising(1.0, records, problem.each), own]
    return [np.zeros(0)] * 3


def _opening(problem: Searched, child: int, known: int) -> float:
    """What a state of a child costs at least that occurs in a cell of more than so many parents."""
    arity, must = float(problem.arities[child]), must_of(problem, child)
    prior = arity if problem.kind == FIXED else problem.ess
    if problem.kind == SPREAD:
        others = np.sort(problem.arities[: problem.parents][problem.may[child, : problem.parents]])
        more = others[: max(0, known + 1 - must.size)]
        prior /= min(MOST_JOINT, float(np.prod(problem.arities[must]) * np.prod(more)))
    return first_cost(problem.each * int(problem.weights.min()), prior, arity)


def first_cost(weight: float, prior: float, arity: float) -> float:
    """What weight of one state of a child, among so many, costs at least that is the first of it in a cell of a prior
    as large as this, or smaller.

    From a record on that is ln r, as of a whole one. For less it is g(weight) = ln G(a + weight) / G(a) - ln G(a / r +
    weight) / G(a / r): minus ln of the mean of t^weight over the share t of the state, which is less likely to be large
    where the state has not been seen and others have, and whose mean is 1 / r by each prior. By smaller priors t is
    spread more, and as t^weight is concave, its mean is less, and what it costs more. Weight in several cells is
    exchanged for no less: g is concave, and 0 at 0.
    """
    if weight >= 1.0 or prior <= 0.0:
        return math.log(arity)
    one, of_all = (math.lgamma(own + weight) - math.lgamma(own) for own in (prior / arity, prior))
    return of_all - one


def _rising(prior: float, records: int, each: float = 1.0) -> NDArray[np.float64]:
    """ln G(prior + m each) - ln G(prior) for m = 0, 1, ...; of whole records the sum of ln(prior + i) over i < m."""
    if each != 1.0:
        return np.array([math.lgamma(prior + m * each) - math.lgamma(prior) for m in range(records + 1)])
    terms = np.log(np.longdouble(prior) + np.arange(records, dtype=np.longdouble))
    return np.concatenate(([0.0], np.cumsum(terms))).astype(np.float64)


def _clusters_of(problem: Searched, child: int) -> NDArray[np.int64]:
    """The clusters that take something from families of the child with the parents that it must have."""
    of_which = np.repeat(np.arange(problem.multipliers.size), np.diff(problem.held))
    own = of_which[problem.holders == child]
    return own[~problem.holds[own][:, must_of(problem, child)].any(axis=1)]


def new_child_frames(problem: Searched, task: ChildTask, child: int) -> ChildFrames:
    """A stack with the child's root on it: the parents that it must have, and all candidates."""
    must, own = must_of(problem, child), _clusters_of(problem, child)
    depth, d, p, k = task.most + 1, problem.weights.size, problem.parents, own.size
    states = int(problem.occurring[child])
    frames = ChildFrames(
        row=np.empty((depth, d), np.uint32),
        counts=np.empty((depth, d, states), np.int32),
        only=np.empty((depth, d), np.int32),
        alone=np.empty((depth, d), np.int32),
        corrected=np.empty((depth, d), np.int32),
        misfit=np.empty((depth, d), np.int32),
        ends=np.empty((depth, d), np.int64),
        cells=np.zeros(depth, np.int64),
        pure=np.zeros(depth, np.int64),
        largest=np.zeros((depth, 2), np.int64),
        open=np.zeros((depth, p), np.bool_),
        left=np.zeros(depth, np.int64),
        bound=np.zeros((depth, p)),
        stale=np.ones(depth, np.bool_),
        states=np.ones(depth),
        cheapest=np.full(depth, np.inf),
        taken=np.zeros(depth, np.int64),
        gain=np.zeros((depth, p), np.int64),
        apart=np.zeros((depth, k), np.int64),
        aparts=np.zeros(depth, np.int64),
        varset=np.zeros((depth, int(problem.variables.max(initial=0)) // WORD_BITS + 1), np.uint64),
        turn=np.full(1, -1),
    )
    cells = np.zeros(d, np.int64)
    for y in must.tolist():
        cells = np.unique(cells * int(problem.occurring[y]) + problem.codes[y], return_inverse=True)[1].reshape(-1)
        frames.varset[0, problem.variables[y] >> 6] |= np.uint64(1 << int(problem.variables[y] & 63))
    order, ends = np.argsort(cells, kind="stable"), np.cumsum(np.bincount(cells))
    frames.row[0], frames.only[0], frames.counts[0] = order, problem.codes[child, order], 0
    frames.counts[0, np.arange(d), frames.only[0]] = problem.weights[order]
    frames.ends[0, : ends.size], frames.cells[0] = ends, ends.size
    frames.open[0] = problem.may[child, :p]
    frames.open[0, must] = False
    frames.left[0], frames.states[0] = frames.open[0].sum(), np.prod(problem.arities[must])
    frames.taken[0], frames.gain[0] = problem.multipliers[own].sum(), task.worth.sum(axis=0)
    frames.apart[0], frames.aparts[0] = np.arange(k), k
    return frames


def new_child_space(task: ChildTask, frames: ChildFrames) -> ChildSpace:
    """Room to bound any node."""
    (d, columns), states = task.inside.shape, frames.counts.shape[2]
    return ChildSpace(
        pure=np.zeros(d, np.int64),
        slots=np.zeros(2 * d, np.int64),
        place=np.zeros(d, np.int64),
        mask=np.zeros(columns // WORD_BITS, np.uint64),
        present=np.zeros((states, columns // WORD_BITS), np.uint64),
        planes=np.zeros((PLANES, columns // WORD_BITS), np.uint64),
        listed=np.zeros(states, np.int64),
        there=np.zeros(states, np.bool_),
        often=np.zeros(columns, np.int32),
        alone=np.zeros(columns, np.int32),
        corrected=np.zeros(columns, np.int32),
        misfit=np.zeros(columns, np.int32),
        plain=np.zeros((states, columns), np.int32),
        several=np.zeros((states, columns), np.int32),
        total=np.zeros(columns, np.int64),
        tally=np.zeros(states, np.int64),
        tables=new_tables(task.mlogm.size - 1, 4, task.part_of),
    )
