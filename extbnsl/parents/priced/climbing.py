"""Kernel of the local search for parent sets that cost little beside what they count for cuts."""

import numpy as np

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.hashing import extended, spread
from extbnsl.parents.exhaustive.between_cells import cost_of_cells, divide
from extbnsl.parents.priced.cuts import count_set, count_without, inherit

STEP = 1e-7  # nats that a step gains at least
SEEN = 1 << 12  # sets that are remembered


@inner
def _base(inside, out, task, frames):
    """Divide the rows by a parent set without `out`; inside (m,): which candidates it has. Returns the cells and the
    joint states."""
    task, frames = borrowed((task, frames))
    states, mask = frames.joint[0], frames.space.mask
    for q in range(mask.size):
        mask[q] = u64(0)
    for v in range(inside.size):
        if inside[v] and v != out:
            states *= task.arities[v]
            for q in range(mask.size):
                mask[q] |= task.own[v, q]
    return divide(task, frames), states


@inner
def _cost_with(v, cells, states, task, frames, counts):
    """What the parents cost by which the rows are divided, and v; counts (.., r) are zero between uses."""
    task, frames, counts = borrowed((task, frames, counts))
    arity, codes, cell = task.arities[v], task.codes[v], frames.space.cell
    for i in range(codes.size):
        counts[cell[i] * arity + codes[i], task.states[i]] += task.weights[i]
    cost = cost_of_cells(cells * arity, states * arity, counts, task, frames)
    counts[: cells * arity] = 0
    return cost


@inner
def _step(inside, size, reached, task, frames, counts, members):
    """Take the candidate in or out that gains most, or, if none gains, exchange one for another that does. Returns what
    the set costs then and that less what it counts, which is `reached` if there is no such step."""
    inside, task, frames, counts, members = borrowed((inside, task, frames, counts, members))
    best, chosen, found, m, space = reached - STEP, -1, 0.0, inside.size, frames.space
    cells, states = _base(inside, -1, task, frames)
    count_set(inside, task.cuts, frames, members, space.times)
    for v in range(m if size < task.most else 0):
        if not inside[v]:
            cost = _cost_with(v, cells, states, task, frames, counts)
            reduced = cost - frames.counted[1] + frames.gain[1, v]
            if reduced < best:
                best, chosen, found = reduced, v, cost
    for v in range(m):
        if inside[v]:
            cells, states = _base(inside, v, task, frames)
            cost = cost_of_cells(cells, states, space.counts, task, frames)
            inherit(1, frames)
            count_without(2, v, task.cuts, frames, members, space.times)
            if cost - frames.counted[2] < best:
                best, chosen, found = cost - frames.counted[2], v, cost
    if chosen >= 0:
        inside[chosen] = not inside[chosen]
        return found, best
    for out in range(m):
        if inside[out]:
            cells, states = _base(inside, out, task, frames)
            inherit(1, frames)
            count_without(2, out, task.cuts, frames, members, space.times)
            for v in range(m):
                if not inside[v]:
                    cost = _cost_with(v, cells, states, task, frames, counts)
                    reduced = cost - frames.counted[2] + frames.gain[2, v]
                    if reduced < best:
                        inside[out], inside[v] = False, True
                        return cost, reduced
    return 0.0, reached


@inlined
def _size(inside):
    """How many candidates a set has."""
    size = 0
    for v in range(inside.size):
        size += inside[v]
    return size


@inlined
def _hash_of(inside):
    """A hash of a set of candidates, not zero."""
    key = u64(1)
    for v in range(inside.size):
        key = extended(key, u64(inside[v]))
    return spread(key) | u64(1)


@njit
def climb(starts, task, frames, halt, found):
    """From each of the parent sets (s, m) bool, over the candidates, go to others that cost less beside what they count
    for cuts, step by step until there is none, one was there before, or `halt` is set. Node 0 is the root.

    found: varsets (f, bytes) uint8 and costs (f,) of those on the way that cost less than the task says, as far as
    there is room. Returns how many these are. O(m^2) sets are costed for a step at most, some ns a row for each.
    """
    starts, task, frames, halt, found = borrowed((starts, task, frames, halt, found))
    varsets, costs = found
    written, seen = 0, np.zeros(SEEN, np.uint64)
    counts = np.zeros((task.states.size * max(1, task.arities.max()), task.arity), np.int64)
    members = np.zeros(task.cuts.of_cut.size, np.int64)
    for s in range(len(starts)):
        inside, reached, better = starts[s], np.inf, True
        while better and written < costs.size and not halt[0]:
            cost, reduced = _step(inside, _size(inside), reached, task, frames, counts, members)
            better = reduced < reached
            reached, key = reduced, _hash_of(inside)
            if seen[key % u64(SEEN)] == key:
                break
            seen[key % u64(SEEN)] = key
            if better and reduced < task.limit and _size(inside) > task.fewest:
                for q in range(frames.varset.size):
                    varsets[written, q] = frames.varset[q]
                for v in range(inside.size):
                    if inside[v]:
                        varsets[written, task.variables[v] >> 3] |= np.uint8(1 << (task.variables[v] & 7))
                costs[written] = cost
                written += 1
    return written
