"""The search over large parent sets of one child, by scores with a Dirichlet prior and fNML: kernels.

A node of the stack is parents P and candidates U, of which none was decided: it stands for all Q with P < Q <= P + U.
`child_cells` has what such a Q with a candidate v costs at least. Where that is as much as a family with P and v must
cost less than to matter, v is no candidate any more; then cells that nothing tells apart are one, and others may go.
The search goes down to P and v, of the v whose bound is next to that, with the candidates that are left; when it is
back, v is none of U. So each Q is met once, or is left out with all that there is of its node.
"""

import numpy as np

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.verify.child_cells import MOST_STATES, bound, regroup, tables_by, weigh
from extbnsl.verify.set_frames import OCCURRING
from extbnsl.verify.set_search import UNIT


@inlined
def _reach(taken, top, task, frames):
    """What a family inside a node must cost less than to matter, if so much is taken from it at most."""
    return min(frames.cheapest[top], (task.threshold + taken) * UNIT + task.margin)


@inner
def _merge(top, task, frames, space):
    """Make cells one that no candidate tells apart any more."""
    cells, last = frames.cells[top], frames.ends[top, max(0, frames.cells[top] - 1)]
    regroup(top, top, -1, task, frames, space)
    if frames.cells[top] < cells or (cells > 0 and frames.ends[top, cells - 1] < last):
        weigh(top, task, frames, space)


@inner
def _narrow(top, task, frames, space):
    """Drop the candidates of a node that are in nothing that matters: that one of the others whose bound is next to
    what it must be below; -1 if there is none."""
    while True:
        chosen, nearest, dropped = -1, -np.inf, False
        for v in range(task.marks.shape[0]):
            if frames.open[top, v]:
                over = frames.bound[top, v] - _reach(frames.taken[top] - frames.gain[top, v], top, task, frames)
                if over >= 0.0:
                    frames.open[top, v] = False
                    frames.left[top] -= 1
                    dropped = True
                elif over > nearest:
                    chosen, nearest = v, over
        if top + frames.left[top] <= max(top, task.known):
            return -1
        if dropped:
            _merge(top, task, frames, space)
        if not frames.stale[top]:
            return chosen
        bound(top, task, frames, space)


@inner
def _enter(top, v, task, frames, space):
    """Begin the node with v added, which is no candidate of this one any more."""
    up, variable, left = top + 1, task.variables[v], 0
    for y in range(task.marks.shape[0]):
        frames.open[up, y], frames.bound[up, y], frames.gain[up, y] = frames.open[top, y], frames.bound[top, y], 0
    for w in range(frames.varset.shape[1]):
        frames.varset[up, w] = frames.varset[top, w]
    frames.varset[up, variable >> 6] |= u64(1) << u64(variable & 63)
    frames.left[up], frames.states[up] = frames.left[top], frames.states[top] * task.arities[v]
    frames.cheapest[up], frames.taken[up] = frames.cheapest[top], frames.taken[top] - frames.gain[top, v]
    for a in range(frames.aparts[top]):
        c = frames.apart[top, a]
        if task.worth[c, v] == 0:
            frames.apart[up, left] = c
            left += 1
            for y in range(task.marks.shape[0]):
                frames.gain[up, y] += task.worth[c, y]
    frames.aparts[up] = left
    regroup(top, up, v, task, frames, space)


@inner
def _cost(top, reach, task, frames, space):
    """What the family of a node costs; infinity if that is certainly no less than `reach`."""
    prior, counts, tally = task.ess / frames.states[top], frames.counts[top], space.tally
    if task.kind == OCCURRING:
        prior = task.ess / (frames.cells[top] + frames.pure[top])
    if frames.states[top] * task.arity > MOST_STATES:
        return np.inf
    own, each = tables_by(prior, top, task, frames, space)
    total, low = 0.0, 0
    for j in range(frames.cells[top]):
        high, records = frames.ends[top, j], 0
        for k in range(tally.size):
            tally[k] = 0
            for u in range(low, high):
                tally[k] += counts[u, k]
            records += tally[k]
            total -= each[tally[k]]
        low = high
        total += own[records]
        if total + frames.pure[top] * task.opening >= reach:
            return np.inf
    for i in range(frames.pure[top]):
        total += own[space.pure[i]] - each[space.pure[i]]
    return total


@inner
def _judge(top, task, frames, space, found, written):
    """Hand over the family of a node if it matters and is not known. How many are handed over by now."""
    (varsets, costs), reach = found, _reach(frames.taken[top], top, task, frames)
    cost = _cost(top, reach, task, frames, space)
    if cost < reach and top > task.known:
        costs[written] = cost
        for w in range(varsets.shape[1]):
            varsets[written, w] = frames.varset[top, w]
        written += 1
    frames.cheapest[top] = min(frames.cheapest[top], cost + task.lead)
    if top < task.most:
        weigh(top, task, frames, space)
    return written


@njit
def search_child(top, task, frames, space, halt, found):
    """Go on with the search until it is over, halted or there is no room for families: the top of the stack, -1 when it
    is over, and how many families there are; `found`: varsets and costs, with room for some."""
    task, frames, space, found = borrowed(task), borrowed(frames), borrowed(space), borrowed(found)
    written = 0
    if frames.turn[0] < 0:
        regroup(0, 0, -1, task, frames, space)
        frames.turn[0], judged = 0, _judge(0, task, frames, space, found, written)
        if task.part == 0:
            written = judged  # else another part hands it over
    while top >= 0 and not halt[0] and written < found[1].size:
        v, turn = _narrow(top, task, frames, space) if top < task.most and frames.left[top] > 0 else -1, frames.turn[0]
        if v < 0:
            top -= 1
            if top >= 0:
                _merge(top, task, frames, space)
            continue
        frames.open[top, v] = False
        frames.left[top] -= 1
        frames.turn[0] += top == 0
        if top == 0 and turn % task.parts != task.part:
            _merge(0, task, frames, space)
            continue
        _enter(top, v, task, frames, space)
        top += 1
        written = _judge(top, task, frames, space, found, written)
    return top, written
