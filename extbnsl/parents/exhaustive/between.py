"""Kernels of the search child by child for scores of cells: all parent sets between two.

A node is a parent set P and a set U of candidates that may be added: it stands for all Q with P < Q <= P + U. A family
is of interest if it costs less than each of its subsets and the slack, and less than its threshold T(Q) = limit + l(Q):
l(Q) is what Q counts for cuts with multipliers (bounds/multipliers.py). T falls when parents are added, so no Q here is
of interest that costs as much as T(P), or as the cheapest known family inside P and the slack.

What all Q of a node cost at least that include a candidate v is found for all candidates in one pass (between_bounds).
If it reaches what Q must cost less than, T(P + v) for one, no Q with v is of interest here, and U loses v. Then
cells u that nothing tells apart any more become one, so that others may reach it. When none does, the search branches
on the first candidate: U - v, and then P + v, so that all subsets of a parent set come before it. Those come first that
tell most records apart: without them U is soon hopeless.
"""

import numpy as np

from extbnsl.kernels.bits import assign, flip, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.parents.best_score import first_inside, scratch
from extbnsl.parents.exhaustive.between_bounds import find_bounds
from extbnsl.parents.exhaustive.between_cells import (
    JOINT,
    OWN,
    cost_of_cells,
    divide,
    merge,
    sure_cost,
    tables_of,
    weigh,
)
from extbnsl.parents.exhaustive.cell_frames import ALONE, COUNTS, PLAIN, ROW, SEEN
from extbnsl.parents.priced.cuts import count_root, count_with, inherit
from extbnsl.scores.formula import SPREAD, TABLES

OVER, FULL, CROWDED = range(3)  # why a search has returned: it is over; no room for families, or for cells


@inlined
def _limits(at, task, frames):
    """What a Q of a node costs less than if it is of interest: by the families inside P, and by l(P)."""
    return frames.best[at] + task.slack + task.margin, task.limit + frames.counted[at] + task.margin


@inlined
def _narrowed(at, task, frames):
    """Take the hopeless candidates from a node, until none is; returns the first one, or -1 if none is left."""
    while True:
        if frames.stale[at]:
            find_bounds(at, task, frames)
        (cheapest, limit), chosen, closed = _limits(at, task, frames), -1, False
        for v in range(task.arities.size):
            if frames.open[at, v]:
                if frames.bound[at, v] >= min(cheapest, limit - frames.gain[at, v]):
                    frames.open[at, v] = False
                    frames.left[at] -= 1
                    closed = True
                elif chosen < 0:
                    chosen = v
        if not closed or frames.left[at] == 0 or not merge(at, at, task, frames):
            return chosen if frames.left[at] else -1
        frames.stale[at] = True


@inner
def _prior_of(at, task, frames):
    """The joint states that the parents of any Q of a node have at least."""
    task, frames = borrowed((task, frames))
    if task.form.kind != SPREAD:
        return float(frames.groups[at] + frames.pure[at])
    joint, more = frames.joint[at], max(1, task.fewest + 1 - frames.size[at])
    for v in task.by_arity:
        if more and frames.open[at, v]:
            joint *= task.arities[v]
            more -= 1
    return joint


@inner
def _exact(at, task, frames):
    """What P costs."""
    task, frames = borrowed((task, frames))
    space = frames.space
    for q in range(space.mask.size):
        space.mask[q] = u64(0)
        for i in range(1, at + 1):
            if frames.path[i] >= 0:
                space.mask[q] |= task.own[frames.path[i], q]
    return cost_of_cells(divide(task, frames), frames.joint[at], space.counts, task, frames)


@inner
def _cost_at_least(at, task, frames):
    """What P costs at least: the cells that are not kept count what any costs at least."""
    task, frames = borrowed((task, frames))
    space = frames.space
    total, low, cells, end, start = space.tally[0], frames.start[at], frames.cell, frames.end, frames.start[at]
    own, each = task.form.own[task.of_arity] if task.form.kind == TABLES else task.mlogm, task.form.joint
    cost, table = frames.sure[at], 0
    joint = frames.joint[at] if task.form.kind == SPREAD else float(frames.groups[at] + frames.pure[at])
    if task.form.kind != TABLES:
        table = tables_of(joint, 1, task, frames)
        own, each = frames.known[table, OWN], frames.known[table, JOINT]
    for j in range(frames.groups[at]):
        records = np.int64(0)
        for k in range(total.size):
            total[k] = 0
        for u in range(low, end[start + j]):
            for k in range(total.size):
                total[k] += cells[u, COUNTS + k]
        low = end[start + j]
        for k in range(total.size):
            records += total[k]
        if task.form.kind != TABLES and records > frames.filled[table]:
            tables_of(joint, records, task, frames)
        cost += own[records]
        for k in range(total.size):
            cost -= each[total[k]]
    return cost


@inlined
def _leave_out(at, v, task, frames):
    """Make node at + 1 of node `at`: the same parents, without candidate v."""
    after = at + 1
    for k in range(task.arities.size):
        frames.open[after, k] = frames.open[at, k] and k != v
        frames.bound[after, k] = frames.bound[at, k]
    frames.left[after], frames.size[after], frames.path[after] = frames.left[at] - 1, frames.size[at], -1
    frames.joint[after], frames.prior[after], frames.best[after] = frames.joint[at], frames.prior[at], frames.best[at]
    inherit(at, frames)
    frames.start[after], frames.chosen[after] = frames.start[at] + frames.cells[at], -1
    frames.stale[after] = merge(at, after, task, frames)


@inlined
def _enter(at, v, task, frames):
    """Make node at + 1 of node `at` and candidate v."""
    space = frames.space
    after, codes, tally, inside, start = at + 1, task.codes[v], space.tally, space.inside, frames.start[at]
    to = frames.start[after] = start + frames.cells[at]
    for k in range(task.arities.size):
        frames.open[after, k] = frames.open[at, k] and k != v
    inherit(at, frames)
    count_with(after, v, task.cuts, frames, space.times)
    frames.left[after], frames.size[after], frames.path[after] = frames.left[at] - 1, frames.size[at] + 1, v
    frames.joint[after], frames.stale[after], frames.chosen[after] = frames.joint[at] * task.arities[v], True, -1
    cells, pure, groups, low, fresh = frames.cell, frames.pure[at], 0, start, 0
    frames.sure[after] = frames.sure[at]
    for j in range(frames.groups[at]):
        high = frames.end[start + j]
        for s in range(task.arities[v]):
            inside[s] = 0
            for k in range(task.arity):
                tally[s, k] = 0
        for u in range(low, high):
            s = codes[cells[u, ROW]]
            inside[s] += 1
            for k in range(task.arity):
                tally[s, k] += cells[u, COUNTS + k]
        for s in range(task.arities[v]):
            states = 0
            for k in range(task.arity):
                states += tally[s, k] > 0
            sure = sure_cost(tally[s], frames.prior[at], task) if inside[s] == 1 else -1.0
            whole = sure >= 0.0
            if whole:
                pure += 1
                frames.sure[after] += sure
            inside[s], to = -1 if whole else to, to if whole else to + inside[s]
            if states and not whole:
                frames.end[frames.start[after] + groups] = to
                groups += 1
        for u in range(low, high):
            s = codes[cells[u, ROW]]
            if inside[s] >= 0:
                assign(cells[inside[s]], cells[u])
                if cells[u, ALONE] != PLAIN and task.form.kind != TABLES:
                    cells[inside[s], SEEN] = 0
                    space.fresh[fresh] = inside[s]
                    fresh += 1
                inside[s] += 1
        low = high
    frames.pure[after], frames.groups[after], frames.cells[after] = pure, groups, to - frames.start[after]
    frames.prior[after] = _prior_of(after, task, frames)
    weigh(after, fresh, task, frames, space.fresh)


@njit
def open_root(open_, joint, size, task, frames):
    """Put parents on the stack, of which so many were added and which have so many joint states, and the candidates
    that are open; returns what they cost."""
    open_, task, frames = borrowed((open_, task, frames))
    space, d, m, cells = frames.space, task.states.size, task.arities.size, frames.cell
    frames.start[0], frames.pure[0], frames.sure[0], frames.left[0] = 0, 0, 0.0, 0
    frames.size[0], frames.joint[0], frames.stale[0], frames.top[0] = size, joint, True, 0
    frames.path[0] = frames.chosen[0] = -1
    count_root(task.cuts, frames, space.times)
    for v in range(m):
        frames.open[0, v] = open_[v]
        frames.left[0] += open_[v]
    for to in range(d):
        i = frames.rows[to]
        for k in range(COUNTS + task.arity):
            cells[to, k] = 0
        cells[to, ROW], cells[to, COUNTS + task.states[i]], space.fresh[to] = i, task.weights[i], to
        frames.end[frames.base[i]] = to + 1
    frames.groups[0], frames.cells[0] = frames.base.max() + 1, d
    frames.prior[0] = _prior_of(0, task, frames)
    weigh(0, d, task, frames, space.fresh)
    merge(0, 0, task, frames)
    cost = frames.best[0] = _exact(0, task, frames)
    inside = first_inside(0, frames.varset, np.int64(0), task.tables.width[0], task.tables, scratch(task.tables))
    if inside >= 0:
        frames.best[0] = min(cost, task.tables.costs[inside])
    return cost


@inner
def _replacing(most, varset, varsets, costs, written):
    """What the last one of the first `written` families inside this varset costs that costs so much at most; infinite
    if there is none."""
    for f in range(written - 1, -1, -1):
        if costs[f] <= most:
            q = 0
            while q < varset.size and not varsets[f, q] & ~varset[q]:
                q += 1
            if q == varset.size:
                return costs[f]
    return np.inf


@njit
def search_between(task, frames, halt, found, handed):
    """Go on until all parent sets of the task are judged, there is no room left, it is given up, or `halt` is set.

    found: varsets (f, bytes) uint8 and costs (f,) of families of interest, as far as is known. handed: P and U (h, 2,
    bytes) uint8 of nodes that are handed over, and the least (h,) that a Q of each costs, less l(Q). Returns why it
    has, how many of each were found, and how many nodes were made.
    """
    task, frames, halt, found, handed = borrowed((task, frames, halt, found, handed))
    (varsets, costs), (nodes, reduced) = found, handed
    rows = scratch(task.tables)
    width, written, passed, made, varset = task.tables.width[0], 0, 0, 0, frames.varset
    while frames.top[0] >= 0 and written < costs.size and passed < reduced.size and made <= task.effort and not halt[0]:
        top = frames.top[0]
        if frames.start[top] + 2 * frames.cells[top] > len(frames.cell):
            return CROWDED, written, passed, made
        v = frames.chosen[top]
        if v < 0 and frames.size[top] < task.most and frames.size[top] + frames.left[top] > task.fewest:
            v = _narrowed(top, task, frames) if frames.left[top] else -1
            if v >= 0:
                frames.chosen[top] = v
                if frames.left[top] > 1:
                    _leave_out(top, v, task, frames)
                    frames.top[0] = top + 1
                    continue
        if v < 0 or not frames.open[top, v]:
            if frames.path[top] >= 0:
                flip(varset, task.variables[frames.path[top]])
            frames.top[0] = top - 1
            continue
        _enter(top, v, task, frames)
        made += 1
        frames.open[top, v] = False  # so that there is nothing left
        flip(varset, task.variables[v])
        after, best = top + 1, frames.best[top]
        inside = first_inside(0, varset, np.int64(0), width, task.tables, rows)
        if inside >= 0:
            best = min(best, task.tables.costs[inside])
        frames.best[after] = best
        if frames.size[after] > task.fewest:
            limit = min(_limits(after, task, frames))
            cost = _cost_at_least(after, task, frames)
            if cost < limit:
                best = min(best, _replacing(cost - task.slack, varset, varsets, costs, written))
                if cost < best + task.slack:
                    cost = _exact(after, task, frames)
                    best = min(best, _replacing(cost - task.slack, varset, varsets, costs, written))
                    if cost < best + task.slack and cost < limit:
                        for q in range(varset.size):
                            varsets[written, q] = varset[q]
                        costs[written] = cost
                        written += 1
                    best = min(best, cost)
                frames.best[after] = best
        if frames.size[after] < task.deepest:
            frames.top[0] = after
            continue
        for q in range(varset.size):
            nodes[passed, 0, q], nodes[passed, 1, q] = varset[q], 0
        for k in range(task.arities.size):
            if frames.open[after, k]:
                flip(nodes[passed, 1], task.variables[k])
        reduced[passed] = frames.bound[top, v] - frames.counted[after]
        passed += 1
        flip(varset, task.variables[v])
    return (OVER if frames.top[0] < 0 else FULL), written, passed, made
