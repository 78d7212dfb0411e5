"""The depth-first search over parent sets, for the families of all children at once: kernels.

See `data_families` for what is left out and why. Variables are numbered in the order of the search. A node is a parent
set; its children add a variable below its lowest, so that each set is met once. What is counted of a set is counted for
all children that it may matter to: the rows of its cells add up lanes, which hold counters of all children.
"""

import numpy as np

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.prior_tables import table
from extbnsl.verify.set_cells import divide, keep_parts, sum_of, sum_of_both
from extbnsl.verify.set_frames import CELL_REGRET, FIXED, MISFIT, OCCURRING, STATE_REGRET

UNIT = 1.0 / UNITS_PER_NAT  # nats
AT_ONCE = 4  # cells that are counted between two looks at who is above the limit


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
            space.own[a] = table(problem.sizes[a], upto, space.tables)
            space.joint[a] = table(1.0, upto, space.tables)
        return
    cells = frames.states[top + 1]
    if problem.kind == OCCURRING:
        cells = np.float64(_cells_with(top, y, problem, frames))
    prior = problem.ess / cells
    plain = table(prior, upto, space.tables)
    for a in range(c):
        space.own[a] = plain
        space.joint[a] = table(prior / problem.sizes[a], upto, space.tables)


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
            space.parents[a] += sum_of(parts, space.tables.sums[space.own[a]])
    kept = 0
    for i in range(left):
        a = space.counted[i]
        x = space.wanted[a]
        at = problem.classes[x]
        total, occurs = sum_of_both(parts, (problem.first[x], problem.first[x + 1]), space.tables.sums[space.joint[at]])
        space.both[a] += total
        space.occurs[a] += occurs + single
        least = space.parents[at] - space.both[a]
        if problem.kind >= FIXED and up < problem.most[x]:
            least = space.occurs[a] * problem.firsts[at]
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
        space.parents[a] += ones * space.tables.sums[space.own[a], 1]
    for i in range(left):
        a = space.counted[i]
        space.both[a] += ones * space.tables.sums[space.joint[problem.classes[space.wanted[a]]], 1]
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
        return cost, max(problem.floor[x], space.occurs[a] * problem.firsts[at])
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
                top = up
                _go_along(top, path, frames)
    return top, written
