"""The depth-first search over parent sets, for the families of all children at once: kernels, and what they work on.

See `data_families` for what is left out and why. Variables are numbered in the order of the search. A node is a parent
set; its children add a variable below its lowest, so that each set is met once. What is counted of a set is counted for
all children that it may matter to: the rows of its cells add up lanes, which hold counters of all children.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.set_cells import dearest, divide, find_alike, keep_parts, sum_of, sum_of_both

MISFIT, CELL_REGRET, STATE_REGRET, FIXED, SPREAD, OCCURRING = range(6)  # MDL and AIC, fNML, qNML, K2, BDeu, BDs
UNIT = 1.0 / UNITS_PER_NAT  # nats
LARGEST = 64  # bits of a word, and rows of a cell that are held against each other to look ahead
AT_ONCE = 4  # cells that are counted between two looks at who is above the limit
PLAIN = 0  # the table of m ln m, where there is one


class Searched(NamedTuple):
    """What the search reads: n variables in its order, d distinct rows, k clusters, c arities that differ. In nats.

    Lanes hold counters, several in a word: for each state that occurs of each child, but the last, the weight of the
    row if it has that state. The first counter of all is the weight of the row. Words add counters at once, and no sum
    overflows.
    """

    kind: int
    ess: float  # of SPREAD and OCCURRING
    depth: int  # most parents that matter to anyone
    growth: float  # the fewest states of a parent
    parents: int  # how many variables may be, the first ones
    ahead: int  # choices of which it is worth to look whether any of them matters, by the kinds with priors
    sparing: bool  # whether what tells too little is no parent
    spare: NDArray[np.float64]  # by what it must tell less than it adds, infinity for what some child must have (n,)
    children: NDArray[np.int64]  # that families are wanted of
    variables: NDArray[np.int64]  # their numbers outside (n,)
    arities: NDArray[np.float64]  # declared (n,)
    classes: NDArray[np.int64]  # the place of each in `sizes` (n,)
    sizes: NDArray[np.float64]  # the arities that differ (c,)
    logs: NDArray[np.float64]  # their logarithms (c,)
    codes: NDArray[np.uint32]  # (n, d), those that occur, the most frequent one last
    occurring: NDArray[np.int64]  # how many occur (n,)
    weights: NDArray[np.int64]  # (d,)
    bits: NDArray[np.uint64]  # (d, w) all states of a row
    marks: NDArray[np.uint64]  # (n, w) which of the bits are those of a variable
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
    lanes: NDArray[np.uint64]  # (depth, d, words) of each cell
    counters: NDArray[Any]  # the counters of these (depth, d, words * counters of a word)
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
    """What one set is counted in. A place is that of a variable in `wanted`.

    Tables have what m records add, from 0 on, of one prior each.
    """

    wanted: NDArray[np.int64]  # the variables that are (2 n,)
    limit: NDArray[np.float64]  # by place: what its misfit must be below
    counted: NDArray[np.int64]  # the places of those for which it is
    seen: NDArray[np.int64]  # scratch of lanes, and a stamp
    used_lanes: NDArray[np.uint64]  # those with their counters
    dear: NDArray[np.float64]  # by child (n,): ln r for each state that occurs
    mask: NDArray[np.uint64]  # bits of some variables
    members: NDArray[np.uint32]  # rows of groups, twice
    groups: NDArray[np.int64]  # their ends and cells, twice
    keys: NDArray[np.uint64]  # scratch
    often: NDArray[np.int64]  # scratch
    picked: NDArray[np.uint32]  # scratch
    rest: NDArray[np.uint64]  # scratch
    parts: NDArray[np.int64]  # scratch
    place: NDArray[np.int64]  # scratch
    both: NDArray[np.float64]  # by place: the sum over the cells of both it and the parents
    occurs: NDArray[np.int64]  # by place: how many of these occur, by the kinds with priors
    parents: NDArray[np.float64]  # the sums over the cells of the parents, one for each of `own`
    ones: NDArray[np.int64]  # how many of these have one record (1,)
    tables: NDArray[np.float64]
    priors: NDArray[np.float64]  # of each table
    filled: NDArray[np.int64]  # so far
    used: NDArray[np.int64]  # last, and a clock
    own: NDArray[np.int64]  # the tables for the parents' cells of a child of each arity, and of m ln m (c + 1,)
    joint: NDArray[np.int64]  # and for the child's (c,)


def new_frames(problem: Searched, path: NDArray[np.int64]) -> Frames:
    """A stack with room for all nodes, and the empty set on it, from which the search goes down the path."""
    (n, d), k, depth = problem.codes.shape, problem.multipliers.size, problem.depth + 1
    width = int(problem.variables.max(initial=0)) // 64 + 1
    alive = problem.children[problem.most[problem.children] > 0]
    lanes = np.empty((depth, d, len(problem.lanes)), np.uint64)
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


def new_space(problem: Searched, slots: int) -> Space:
    """Room to count any set; slots: how many tables of one prior are kept."""
    n, c = problem.occurring.size, problem.sizes.size
    parts, records = int(problem.occurring.max(initial=1)), int(problem.weights.sum())
    tables = problem.tables if problem.kind < FIXED else np.empty((slots, records + 1))
    return Space(
        wanted=np.zeros(2 * n, np.int64),
        limit=np.zeros(2 * n),
        counted=np.zeros(2 * n, np.int64),
        seen=np.zeros(len(problem.lanes) + 1, np.int64),
        used_lanes=np.zeros(len(problem.lanes), np.uint64),
        dear=np.zeros(n),
        mask=np.zeros(problem.bits.shape[1], np.uint64),
        members=np.zeros((2, problem.weights.size), np.uint32),
        groups=np.zeros((2, 2, problem.weights.size), np.int64),
        keys=np.zeros(LARGEST, np.uint64),
        often=np.zeros(int(problem.occurring.max(initial=1)), np.int64),
        picked=np.empty(problem.weights.size + 1, np.uint32),
        rest=np.zeros(len(problem.lanes), np.uint64),
        parts=np.zeros(parts, np.int64),
        place=np.zeros(parts, np.int64),
        both=np.zeros(2 * n),
        occurs=np.zeros(2 * n, np.int64),
        parents=np.zeros(c + 1),
        ones=np.zeros(1, np.int64),
        tables=tables,
        priors=np.zeros(len(tables)),
        filled=np.zeros(len(tables), np.int64),
        used=np.zeros(len(tables) + 1, np.int64),
        own=np.append(np.arange(1, c + 1) if problem.kind == CELL_REGRET else np.full(c, PLAIN), PLAIN),
        joint=np.full(c, PLAIN),
    )


def counter_of(records: int) -> np.dtype[Any]:
    """The type of a counter that holds all records."""
    return np.dtype(np.uint16 if records < 1 << 16 else np.uint32)


@inlined
def _reach(x, level, problem, frames):
    """What a family of a node with that child must cost less than, to matter."""
    threshold = (problem.threshold[x] + frames.taken[level, x]) * UNIT + problem.margin[x]
    return min(threshold, frames.cheapest[level, x])


@inlined
def _sift(up, problem, frames):
    """Keep the children of a node that it, or what is below it, may matter to by what these cost at least."""
    kept = 0
    for a in range(frames.living[up]):
        x = frames.alive[up, a]
        if frames.least[up, x] < _reach(x, up, problem, frames):
            frames.alive[up, kept] = x
            kept += 1
    frames.living[up] = kept


@inlined
def _enter(top, y, problem, frames):
    """Begin the node with variable y added, for the children that it may matter to."""
    up, low = top + 1, frames.low[top]
    frames.states[up] = frames.states[top] * problem.arities[y]
    living = 0
    for a in range(frames.living[top]):
        x = frames.alive[top, a]
        if not problem.may[x, y] or problem.must_before[x, y + 1] != problem.must_before[x, low]:
            continue
        least = max(frames.least[top, x], problem.floor[x] + problem.price[x] * frames.states[up])
        if least < _reach(x, top, problem, frames):
            frames.alive[up, living], frames.least[up, x], frames.cheapest[up, x] = x, least, frames.cheapest[top, x]
            living += 1
    frames.living[up] = living
    if living > 0:
        _take(top, y, problem, frames)
        _sift(up, problem, frames)


@inlined
def _take(top, y, problem, frames):
    """What is taken from the families of the node with variable y added; exact."""
    up, left = top + 1, 0
    for a in range(frames.living[top]):
        x = frames.alive[top, a]
        frames.taken[up, x] = frames.taken[top, x]
    for a in range(frames.aparts[top]):
        c = frames.apart[top, a]
        if problem.holds[c, y]:
            for i in range(problem.held[c], problem.held[c + 1]):
                frames.taken[up, problem.holders[i]] -= problem.multipliers[c]
        else:
            frames.apart[up, left] = c
            left += 1
    frames.aparts[up] = left


@inlined
def _table(prior, upto, space):
    """The place of the table of a prior, filled for so many records: sums of ln(prior + i), each with what it lost."""
    tables, priors, filled, used = space.tables, space.priors, space.filled, space.used
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
        tables[place, 0] = 0.0
        for m in range(upto):
            term = math.log(prior + m) - lost
            fresh = total + term
            lost = (fresh - total) - term
            total = fresh
            tables[place, m + 1] = total
    return place


@inlined
def _cells_with(top, y, problem, frames):
    """How many cells the node has with variable y added."""
    rows, codes = frames.rows, problem.codes
    seen = np.zeros(problem.occurring[y], np.int64)
    begin, found = np.int64(0), frames.ones[top]
    for cell in range(frames.cells[top]):
        end = np.int64(frames.ends[top, cell])
        for i in range(begin, end):
            s = codes[y, rows[top, i]]
            if seen[s] <= cell:
                seen[s] = cell + 1
                found += 1
        begin = end
    return found


@inlined
def _choose_tables(top, y, problem, frames, space):
    """Have the tables for the node with variable y added, of the kinds with priors."""
    upto, c = frames.largest[top], problem.sizes.size
    if problem.kind == FIXED:
        for a in range(c):
            space.own[a] = _table(problem.sizes[a], upto, space)
            space.joint[a] = _table(1.0, upto, space)
        return
    cells = frames.states[top + 1]
    if problem.kind == OCCURRING:
        cells = np.float64(_cells_with(top, y, problem, frames))
    prior = problem.ess / cells
    plain = _table(prior, upto, space)
    for a in range(c):
        space.own[a] = plain
        space.joint[a] = _table(prior / problem.sizes[a], upto, space)


@inlined
def _limit(x, up, problem, frames):
    """What is counted of a child at a node, as `_add_up` has it, must be below this for anything to matter."""
    reach = _reach(x, up, problem, frames)
    if problem.kind >= FIXED:
        return reach
    penalty = problem.price[x] * frames.states[up]
    if up == problem.most[x] or (problem.kind == MISFIT and problem.floor[x] + penalty * problem.growth >= reach):
        return reach - penalty
    return np.inf


@inlined
def _want(top, at, problem, frames, space):
    """List what is counted of the node with one of its choices added: each child that is alive there, and after these,
    if parents may tell too little, what may be added next. How many of both."""
    up, wanted = top + 1, space.wanted
    number = frames.living[up]
    for a in range(number):
        wanted[a] = frames.alive[up, a]
        space.limit[a] = _limit(wanted[a], up, problem, frames)
    if problem.sparing and up < problem.depth:
        for a in range(at):
            wanted[number + a] = frames.choice[top, a]
            space.limit[number + a] = np.inf
        number += at
    for a in range(number):
        space.counted[a], space.both[a], space.occurs[a] = a, 0.0, frames.ones[top]
    for a in range(space.parents.size):
        space.parents[a] = 0.0
    return number


@inlined
def _list_lanes(left, problem, frames, space):
    """List the lanes with the counters of what is still counted; how many."""
    wanted, seen, used = space.wanted, space.seen, space.used_lanes
    per = frames.counters.shape[2] // frames.lanes.shape[2]
    seen[seen.size - 1] += 1
    stamp = seen[seen.size - 1]
    seen[0], used[0], lanes = stamp, 0, 1  # the first one has the records
    for i in range(left):
        x = wanted[space.counted[i]]
        for w in range(problem.first[x] // per, (problem.first[x + 1] + per - 1) // per):
            if seen[w] != stamp:
                seen[w], used[lanes] = stamp, w
                lanes += 1
    return lanes


@inlined
def _add_up(left, some, single, up, problem, frames, space):
    """Add to the sums what some parts add, from one number to another, and so many of a single record; how many are
    left to count: those whose misfit is below the limit, or, by the kinds with priors and where a node has nodes below
    it, ln r for each state that occurs."""
    parts = frames.counters[up], frames.records[up], some
    for a in range(space.parents.size):
        if a > 0 and space.own[a] == space.own[a - 1]:
            space.parents[a] = space.parents[a - 1]
        else:
            space.parents[a] += sum_of(parts, space.tables[space.own[a]])
    kept = 0
    for i in range(left):
        a = space.counted[i]
        x = space.wanted[a]
        at = problem.classes[x]
        total, occurs = sum_of_both(parts, (problem.first[x], problem.first[x + 1]), space.tables[space.joint[at]])
        space.both[a] += total
        space.occurs[a] += occurs + single
        least = space.parents[at] - space.both[a]
        if problem.kind >= FIXED and up < problem.most[x]:
            least = space.occurs[a] * problem.logs[at]
        if least < space.limit[a]:
            space.counted[kept] = a
            kept += 1
        else:
            space.both[a] = -np.inf
    return kept


@inlined
def _count(top, at, problem, frames, space):
    """The sums over the cells of the node with one of its choices added, for what is wanted of it; how many lanes have
    that.

    Each cell adds to what is counted. So where a child is above its limit after some cells, it costs infinity, and
    where all are the other cells are not looked at: most sets matter to nobody.
    """
    up, y = top + 1, frames.choice[top, at]
    left = _want(top, at, problem, frames, space)
    lanes = _list_lanes(left, problem, frames, space)
    node = frames.rows[top], frames.ends[top], frames.lanes[top], frames.records[top]
    added = problem.codes[y], problem.occurring[y] - 1
    next_node = frames.lanes[up], frames.counters[up], frames.records[up]
    parts, ones, cell = 0, frames.ones[top], 0
    while cell < frames.cells[top] and left > 0 and space.counted[0] < frames.living[up]:
        some, begin = (cell, min(cell + AT_ONCE, frames.cells[top])), parts
        scratch = space.picked, space.rest, space.used_lanes[:lanes]
        parts, single = divide(node, some, added, problem.lanes, scratch, next_node, parts)
        ones += single
        kept = _add_up(left, (begin, parts), single, up, problem, frames, space)
        if kept < left:
            left = kept
            lanes = _list_lanes(left, problem, frames, space)
        cell += AT_ONCE
    space.ones[0] = ones
    for a in range(space.parents.size):
        space.parents[a] += ones * space.tables[space.own[a], 1]
    for i in range(left):
        a = space.counted[i]
        space.both[a] += ones * space.tables[space.joint[problem.classes[space.wanted[a]]], 1]
    return lanes


@inlined
def _choose(top, at, living, problem, frames, space):
    """What may be added to the node with one of its choices; so many children were alive when it was counted."""
    up, chosen, price = top + 1, 0, np.inf
    for a in range(frames.living[up]):
        price = min(price, problem.price[frames.alive[up, a]])
    for a in range(at):
        z = frames.choice[top, a]
        if problem.sparing:
            tells = space.parents[0] - space.both[living + a] + problem.spare[z]
            if tells <= price * frames.states[up] * (problem.arities[z] - 1.0):
                continue
        frames.choice[up, chosen] = z
        chosen += 1
    frames.chosen[up] = chosen


@inlined
def _cost_and_least(a, x, states, problem, space):
    """What the family of a child that is alive costs, and what it costs with more parents at least."""
    at = problem.classes[x]
    cost = space.parents[at] - space.both[a]
    if problem.kind == MISFIT:
        penalty = problem.price[x] * states
        return cost + penalty, problem.floor[x] + penalty * problem.growth
    if problem.kind >= FIXED:
        space.dear[x] = space.occurs[a] * problem.logs[at]
        return cost, max(problem.floor[x], space.dear[x])
    if problem.kind == CELL_REGRET:
        return cost, problem.floor[x] + space.parents[at] - space.parents[problem.sizes.size]
    if problem.sizes[at] == 1.0:  # one state has no regret, with however many of the parents
        return cost, problem.floor[x]
    if states * problem.sizes[at] >= problem.regrets.size:
        return np.inf, np.inf
    product = np.int64(states)
    penalty = problem.regrets[product * np.int64(problem.sizes[at])] - problem.regrets[product]
    return cost + penalty, problem.floor[x] + penalty


@inlined
def _judge(up, y, problem, frames, space, found, written):
    """Hand over the families of a node that matter, and keep the children that what is below it may matter to. How many
    families are handed over by now."""
    children, varsets, costs = found
    for a in range(frames.living[up]):
        x = frames.alive[up, a]
        cost, least = _cost_and_least(a, x, frames.states[up], problem, space)
        if problem.must_before[x, y] == 0:
            if cost < _reach(x, up, problem, frames):
                children[written], costs[written] = problem.variables[x], cost
                for w in range(varsets.shape[1]):
                    varsets[written, w] = frames.varset[up, w]
                written += 1
            frames.cheapest[up, x] = min(frames.cheapest[up, x], cost + problem.lead[x])
        frames.least[up, x] = max(frames.least[up, x], least) if up < problem.most[x] else np.inf
    _sift(up, problem, frames)
    return written


@inlined
def _split(top, y, lanes, problem, frames, space):
    """The cells of the node with variable y added, without those that tell nothing of any child."""
    up, plain = top + 1, problem.kind == MISFIT or problem.kind == STATE_REGRET
    node = frames.rows[top], frames.ends[top], frames.cells[top], frames.lanes[top], frames.records[top]
    added = problem.codes[y], problem.occurring[y] - 1
    kept_node = frames.rows[up], frames.ends[up], frames.lanes[up], frames.records[up], space.used_lanes[:lanes]
    scratch = space.parts, space.place
    frames.cells[up], frames.largest[up] = keep_parts(node, added, problem.weights, plain, scratch, kept_node)
    frames.ones[up] = space.ones[0]


@inlined
def _largest_prior(up, x, problem, frames):
    """No set below a node has a larger prior for each state of the parents of that child."""
    if problem.kind == FIXED:
        return problem.sizes[problem.classes[x]]
    if problem.kind == SPREAD:
        return problem.ess / (frames.states[up] * problem.growth)
    return problem.ess / (frames.cells[up] + frames.ones[up])


@inlined
def _mask_choices(up, without, problem, frames, space):
    """The bits of what may be added to a node, but for one variable."""
    for w in range(space.mask.size):
        space.mask[w] = 0
        for a in range(frames.chosen[up]):
            if frames.choice[up, a] != without:
                space.mask[w] |= problem.marks[frames.choice[up, a], w]


@inlined
def _look_ahead(up, problem, frames, space):
    """Drop the children of a node, whose cells are known, that nothing below it matters to."""
    node = frames.rows[up], frames.ends[up], frames.cells[up]
    members, ends, sizes = space.members, space.groups, problem.sizes
    _mask_choices(up, -1, problem, frames, space)
    shared = find_alike(node, problem.bits, space.mask, space.keys, members[0], ends[0])
    for a in range(frames.living[up]):
        x, groups, which = frames.alive[up, a], shared, 0
        if x < frames.low[up]:  # it may be a choice itself
            _mask_choices(up, x, problem, frames, space)
            groups, which = find_alike(node, problem.bits, space.mask, space.keys, members[1], ends[1]), 1
        enough = _reach(x, up, problem, frames) - space.dear[x]
        if groups > 0:
            at, prior = problem.classes[x], _largest_prior(up, x, problem, frames)
            own = _table(prior, frames.largest[up], space)
            tables = space.tables[own], space.tables[_table(prior / sizes[at], frames.largest[up], space)]
            alike, child = (groups, members[which], ends[which]), (problem.codes[x], problem.weights)
            more = dearest(alike, tables, prior, problem.logs[at], child, space.often, enough)
            frames.least[up, x] = max(frames.least[up, x], space.dear[x] + more)
    _sift(up, problem, frames)


@inlined
def _go_along(top, path, frames):
    """Where the search goes on from a node: to the next of the path, if that is a choice, or to all choices."""
    frames.next[top], frames.end[top] = 0, frames.chosen[top]
    if top < path.size:
        at = 0
        while at < frames.chosen[top] and frames.choice[top, at] != path[top]:
            at += 1
        frames.next[top], frames.end[top] = at, min(at + 1, frames.chosen[top])


@njit
def search_sets(top, problem, frames, space, path, deep, halt, found):
    """Go on with the search until it is over, halted or there is no room for families: the top of the stack, -1 when it
    is over, and how many families there are.

    It goes down the path (variables, descending), and looks at the sets that have one more variable, and, if it is
    deep, at all below these; `found`: children, varsets and costs, with room for more than the children.
    """
    problem, frames, space, found = borrowed(problem), borrowed(frames), borrowed(space), borrowed(found)
    written = 0
    while top >= 0 and not halt[0]:
        at, up = frames.next[top], top + 1
        if at >= frames.end[top]:
            top -= 1
            continue
        if written + problem.children.size > found[0].size:
            break
        frames.next[top] += 1
        y = frames.choice[top, at]
        _enter(top, y, problem, frames)
        living = frames.living[up]
        if living == 0:
            continue
        v = problem.variables[y]
        for w in range(frames.varset.shape[1]):
            frames.varset[up, w] = frames.varset[top, w]
        frames.varset[up, v >> 6] |= u64(1) << u64(v & 63)
        if problem.kind >= FIXED:
            _choose_tables(top, y, problem, frames, space)
        lanes = _count(top, at, problem, frames, space)
        handed = _judge(up, y, problem, frames, space, found, written)
        if top >= path.size:
            written = handed  # of the path itself another task hands them over
        if frames.living[up] > 0 and (top < path.size or deep):
            _choose(top, at, living, problem, frames, space)
            if frames.chosen[up] > 0:
                _split(top, y, lanes, problem, frames, space)
                frames.low[up] = y
                if problem.kind >= FIXED and frames.chosen[up] >= problem.ahead:
                    _look_ahead(up, problem, frames, space)
                    if frames.living[up] == 0:
                        continue
                top = up
                _go_along(top, path, frames)
    return top, written
