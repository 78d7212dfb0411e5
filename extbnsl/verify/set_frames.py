"""What the search of `set_search` works on: its problem, its stack, and room to count one set."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.verify.prior_tables import PriorTables, new_tables, tables_of

MISFIT, CELL_REGRET, STATE_REGRET, FIXED, SPREAD, OCCURRING = range(6)  # MDL and AIC, fNML, qNML, K2, BDeu, BDs
PLAIN = 0  # the table of m ln m, where there is one


class Searched(NamedTuple):
    """What the search reads: n variables in its order, d distinct rows, k clusters, c arities that differ. In nats.

    Lanes hold counters, several in a word: for each state that occurs of each child, but the last, the weight of the
    row if it has that state. The first counter of all is the weight of the row. Words add counters at once, and no sum
    overflows.
    """

    kind: int
    ess: float  # of SPREAD and OCCURRING
    each: float  # records that a row is
    depth: int  # most parents that matter to anyone
    growth: float  # the fewest states of a parent
    parents: int  # how many variables may be, the first ones
    sparing: bool  # whether what tells too little is no parent
    spare: NDArray[np.float64]  # by what it must tell less than it adds, infinity for what some child must have (n,)
    children: NDArray[np.int64]  # that families are wanted of
    variables: NDArray[np.int64]  # their numbers outside (n,)
    arities: NDArray[np.float64]  # declared (n,)
    classes: NDArray[np.int64]  # the place of each in `sizes` (n,)
    sizes: NDArray[np.float64]  # the arities that differ (c,)
    firsts: NDArray[np.float64]  # by these, what a state of the child costs at least that occurs in a cell (c,)
    codes: NDArray[np.uint32]  # (n, d), those that occur, the most frequent one last
    occurring: NDArray[np.int64]  # how many occur (n,)
    weights: NDArray[np.int64]  # (d,)
    lanes: NDArray[np.uint64]  # (words of counters, d)
    first: NDArray[np.int64]  # first counter of each variable, and of none (n + 1,); who is not counted has none
    tables: NDArray[np.float64]  # of the kinds that need no prior: see `Space`
    regrets: NDArray[np.float64]  # STATE_REGRET: by the number of states, for as many as may matter
    may: NDArray[np.bool_]  # (n, n) whether a child may have a parent
    must_before: NDArray[np.int32]  # (n, n + 1) how many parents that a child must have come before a variable
    most: NDArray[np.int64]  # parents (n,)
    price: NDArray[np.float64]  # of each joint state of the parents (n,)
    floor: NDArray[np.float64]  # what N H(child | parents) is at least, less the margin (n,)
    margin: NDArray[np.float64]  # what is compared may be off by less than half of it (n,)
    lead: NDArray[np.float64]  # by what a subset must beat a set to take its place, infinity where none does (n,)
    alone: NDArray[np.float64]  # what the family without parents costs, infinity if it is not admitted (n,)
    threshold: NDArray[np.int64]  # of the reduced costs, in units (n,)
    holds: NDArray[np.bool_]  # (k, n) which variables a cluster has
    holders: NDArray[np.int64]  # the children that have it taken, one cluster after the other
    held: NDArray[np.int64]  # where those of each begin, and of none (k + 1,)
    multipliers: NDArray[np.int64]  # in units (k,)


class Frames(NamedTuple):
    """A stack of nodes; each array has a place or a row for each."""

    rows: NDArray[np.uint32]  # (depth, d) cell by cell, without what no child can differ in
    ends: NDArray[np.uint32]  # (depth, d) of these cells
    lanes: NDArray[np.uint64]  # (depth, d + 1, words) of each cell, and of one that is looked at and not kept
    counters: NDArray[Any]  # the counters of these (depth, d + 1, words * counters of a word)
    records: NDArray[np.int64]  # (depth, d) of each cell
    cells: NDArray[np.int64]  # number of them
    ones: NDArray[np.int64]  # cells of one record that were left out
    largest: NDArray[np.int64]  # records of a cell
    low: NDArray[np.int64]  # the lowest variable of the node
    choice: NDArray[np.int64]  # (depth, n) variables below it that may be added, ascending
    chosen: NDArray[np.int64]  # number of them
    next: NDArray[np.int64]  # the place of the next choice
    end: NDArray[np.int64]  # where to stop
    varset: NDArray[np.uint64]  # (depth, words)
    states: NDArray[np.float64]  # product of the arities
    alive: NDArray[np.int64]  # (depth, n) the children that the node, or what is below it, may matter to
    living: NDArray[np.int64]  # number of them
    cheapest: NDArray[np.float64]  # (depth, n) by child: least known cost of a subset of the node, and the lead
    least: NDArray[np.float64]  # (depth, n) by child: what the node and its supersets cost at least
    taken: NDArray[np.int64]  # (depth, n) by child: the multipliers of its clusters disjoint from the node
    apart: NDArray[np.int64]  # (depth, k) clusters disjoint from the node
    aparts: NDArray[np.int64]  # number of them


class Space(NamedTuple):
    """What one set is counted in. A place is that of a variable in `wanted`."""

    wanted: NDArray[np.int64]  # the variables that are (2 n,)
    limit: NDArray[np.float64]  # by place: what its misfit must be below
    counted: NDArray[np.int64]  # the places of those for which it is
    seen: NDArray[np.int64]  # scratch of lanes, and a stamp
    used_lanes: NDArray[np.uint64]  # those with their counters
    picked: NDArray[np.uint32]  # scratch
    rest: NDArray[np.uint64]  # scratch
    parts: NDArray[np.int64]  # scratch
    place: NDArray[np.int64]  # scratch
    both: NDArray[np.float64]  # by place: the sum over the cells of both it and the parents
    occurs: NDArray[np.int64]  # by place: how many of these occur, by the kinds with priors
    parents: NDArray[np.float64]  # the sums over the cells of the parents, one for each of `own`
    ones: NDArray[np.int64]  # how many of these have one record (1,)
    tables: PriorTables
    own: NDArray[np.int64]  # the tables for the parents' cells of a child of each arity, and of m ln m (c + 1,)
    joint: NDArray[np.int64]  # and for the child's (c,)


def new_frames(problem: Searched, path: NDArray[np.int64]) -> Frames:
    """A stack with room for all nodes, and the empty set on it, from which the search goes down the path."""
    (n, d), k, depth = problem.codes.shape, problem.multipliers.size, problem.depth + 1
    width = int(problem.variables.max(initial=0)) // 64 + 1
    alive = problem.children[problem.most[problem.children] > 0]
    lanes = np.empty((depth, d + 1, len(problem.lanes)), np.uint64)
    frames = Frames(
        rows=np.empty((depth, d), np.uint32),
        ends=np.empty((depth, d), np.uint32),
        lanes=lanes,
        counters=lanes.view(counter_of(int(problem.weights.sum()))),
        records=np.empty((depth, d), np.int64),
        cells=np.ones(depth, np.int64),
        ones=np.zeros(depth, np.int64),
        largest=np.full(depth, problem.weights.sum()),
        low=np.full(depth, n),
        choice=np.tile(np.arange(n), (depth, 1)),
        chosen=np.full(depth, problem.parents),
        next=np.zeros(depth, np.int64),
        end=np.zeros(depth, np.int64),
        varset=np.zeros((depth, width), np.uint64),
        states=np.ones(depth),
        alive=np.empty((depth, n), np.int64),
        living=np.full(depth, alive.size),
        cheapest=np.tile(problem.alone + problem.lead, (depth, 1)),
        least=np.tile(problem.floor + problem.price, (depth, 1)),
        taken=np.zeros((depth, n), np.int64),
        apart=np.tile(np.arange(k), (depth, 1)),
        aparts=np.full(depth, k),
    )
    frames.rows[0], frames.ends[0, 0], frames.records[0, 0] = np.arange(d), d, problem.weights.sum()
    frames.lanes[0, 0] = problem.lanes.sum(axis=1)
    frames.next[0], frames.end[0] = (path[0], path[0] + 1) if path.size else (0, problem.parents)
    frames.alive[0, : alive.size] = alive
    np.add.at(frames.taken[0], problem.holders, np.repeat(problem.multipliers, np.diff(problem.held)))
    return frames


def new_space(problem: Searched) -> Space:
    """Room to count any set."""
    n, c = problem.occurring.size, problem.sizes.size
    parts, records = int(problem.occurring.max(initial=1)), int(problem.weights.sum())
    tables = tables_of(problem.tables) if problem.kind < FIXED else new_tables(records, 2 * (c + 1), problem.each)
    return Space(
        wanted=np.zeros(2 * n, np.int64),
        limit=np.zeros(2 * n),
        counted=np.zeros(2 * n, np.int64),
        seen=np.zeros(len(problem.lanes) + 1, np.int64),
        used_lanes=np.zeros(len(problem.lanes), np.uint64),
        picked=np.empty(problem.weights.size + 1, np.uint32),
        rest=np.zeros(len(problem.lanes), np.uint64),
        parts=np.zeros(parts, np.int64),
        place=np.zeros(parts, np.int64),
        both=np.zeros(2 * n),
        occurs=np.zeros(2 * n, np.int64),
        parents=np.zeros(c + 1),
        ones=np.zeros(1, np.int64),
        tables=tables,
        own=np.append(np.arange(1, c + 1) if problem.kind == CELL_REGRET else np.full(c, PLAIN), PLAIN),
        joint=np.full(c, PLAIN),
    )


def counter_of(records: int) -> np.dtype[Any]:
    """The type of a counter that holds all records."""
    return np.dtype(np.uint16 if records < 1 << 16 else np.uint32)
