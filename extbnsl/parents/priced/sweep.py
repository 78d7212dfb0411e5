"""Kernel that costs all parent sets up to a size, of all children at once, and hands over those that cost little beside
what they count for cuts.

Small parent sets are many to a search of each child: where the prior of a joint state is large its bounds are weak. To
cost them is little work, as one count by the joint states of a set serves all children: some 30 ns a row.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.scores.formula import SPREAD, TABLES, Formula
from extbnsl.scores.rows import log_rising

PRIORS = 64  # whose tables are kept, unless they take more than
PRIOR_NUMBERS = 1 << 22  # numbers together


class SweepTask(NamedTuple):
    """What a sweep is for: families of n children over d distinct rows, with more than `fewest` parents, and `most` of
    them at most.

    codes (n, d): states; first (n + 1,) int64: where the columns of each variable begin, which are its states but 0;
    columns (d, c) uint32: the row's records where it has the state, and others that are 0; weights (d,) int64; arities
    (n,) int64. form: the score. arity (k,) float64: those that there are, and begin (k + 1,) int64: where the variables
    of each begin. records: all.
    banned, needed (n, n) int64: 1 where [parent, child] may be no arc, or must be one; most_parents (n,) int64, -1 for
    what is no child; wanted (n,) int64: how many parents each must have.
    limits (n,) float64: what a family costs less than, without what it counts, in nats. begins (c + 1,), members ()
    int64: the clusters, has (c, n) bool, and what each is worth (c,) float64: no family counts more for a cut than for
    each of its clusters alone.
    """

    codes: NDArray[Any]
    first: NDArray[np.int64]
    columns: NDArray[np.uint32]
    weights: NDArray[np.int64]
    arities: NDArray[np.int64]
    form: Formula
    arity: NDArray[np.float64]
    begin: NDArray[np.int64]
    records: int
    banned: NDArray[np.int64]
    needed: NDArray[np.int64]
    most_parents: NDArray[np.int64]
    wanted: NDArray[np.int64]
    limits: NDArray[np.float64]
    begins: NDArray[np.int64]
    members: NDArray[np.int64]
    has: NDArray[np.bool_]
    worth: NDArray[np.float64]
    fewest: int
    most: int


class SweepFrames(NamedTuple):
    """The parent sets P on the way, a place or a row for each of their members, and working space.

    rows (k, d + 1) int32, ends (k, d) int64: the rows by joint states of P, and where those of each of `cells` (k,) end
    that have several rows; alone (k, N + 1) int64: how many have one row, by its records; joint (k,) float64: the joint
    states of P;
    taken (k, n) float64: what P counts at most; unmet (k, c), unmets (k,) int64: the clusters without a member;
    banned, needed (k, n) int64: the members that may not be parents of each child, and those that it must have.
    known (1 + kinds, p, N + 1), priors, filled (1 + kinds, p): tables of ln G(a + m) / G(a) by joint states.
    records (d,) int64: of each cell; cost (n,) float64; part (c,) uint32: of a cell by columns; children (n,) int64.
    """

    rows: NDArray[np.int32]
    ends: NDArray[np.int64]
    cells: NDArray[np.int64]
    alone: NDArray[np.int64]
    joint: NDArray[np.float64]
    taken: NDArray[np.float64]
    unmet: NDArray[np.int64]
    unmets: NDArray[np.int64]
    banned: NDArray[np.int64]
    needed: NDArray[np.int64]
    known: NDArray[np.float64]
    priors: NDArray[np.float64]
    filled: NDArray[np.int64]
    records: NDArray[np.int64]
    cost: NDArray[np.float64]
    part: NDArray[np.uint32]
    children: NDArray[np.int64]


def sweep_frames(task: SweepTask) -> SweepFrames:
    """Room for a sweep, at the empty parent set."""
    (n, d), depth, clusters = task.codes.shape, task.most + 1, task.worth.size
    heaviest, tables = int(task.weights.max()), 1 + task.arity.size
    slots = max(1, min(PRIORS, PRIOR_NUMBERS // (tables * (task.records + 1))))
    frames = SweepFrames(
        rows=np.zeros((depth, d + 1), np.int32),
        ends=np.zeros((depth, d), np.int64),
        cells=np.zeros(depth, np.int64),
        alone=np.zeros((depth, heaviest + 1), np.int64),
        joint=np.ones(depth),
        taken=np.zeros((depth, n)),
        unmet=np.zeros((depth, clusters), np.int64),
        unmets=np.zeros(depth, np.int64),
        banned=np.zeros((depth, n), np.int64),
        needed=np.zeros((depth, n), np.int64),
        known=np.zeros((tables, slots, task.records + 1)),
        priors=np.zeros((tables, slots)),
        filled=np.zeros((tables, slots), np.int64),
        records=np.zeros(d, np.int64),
        cost=np.zeros(n),
        part=np.zeros(task.columns.shape[1], np.uint32),
        children=np.zeros(n, np.int64),
    )
    frames.rows[0, :d], frames.ends[0, 0], frames.cells[0] = np.arange(d), d, 1
    frames.unmet[0], frames.unmets[0] = np.arange(clusters), clusters
    frames.taken[0] = task.worth @ task.has
    return frames


@inner
def _enter(top, v, task, frames):
    """Make place top + 1 of place `top` and parent v."""
    up, low, to, cells, codes = top + 1, 0, 0, 0, task.codes[v]
    rows, after, ends = frames.rows[top], frames.rows[up], frames.ends[up]
    for w in range(frames.alone.shape[1]):
        frames.alone[up, w] = frames.alone[top, w]
    for j in range(frames.cells[top]):
        high = frames.ends[top, j]
        for s in range(task.arities[v]):
            begin = to
            for i in range(low, high):
                after[to] = rows[i]
                to += codes[rows[i]] == s
            if to == begin + 1:
                to = begin
                frames.alone[up, task.weights[after[to]]] += 1
            elif to > begin:
                ends[cells] = to
                cells += 1
        low = high
    frames.cells[up], frames.joint[up], left = cells, frames.joint[top] * task.arities[v], 0
    for x in range(task.arities.size):
        frames.taken[up, x] = frames.taken[top, x]
        frames.banned[up, x] = frames.banned[top, x] + task.banned[v, x]
        frames.needed[up, x] = frames.needed[top, x] + task.needed[v, x]
    for k in range(frames.unmets[top]):
        cluster = frames.unmet[top, k]
        if task.has[cluster, v]:
            for place in range(task.begins[cluster], task.begins[cluster + 1]):
                frames.taken[up, task.members[place]] -= task.worth[cluster]
        else:
            frames.unmet[up, left] = cluster
            left += 1
    frames.unmets[up] = left


@inlined
def _place(joint, frames):
    """Where the tables by the prior of so many joint states are."""
    return np.int64(joint % 1000003.0) % frames.priors.shape[1]


@inner
def _table(kind, joint, most, task, frames):
    """The table by the prior of so many joint states, known for so many records; `kind`: of parents 0, or one more than
    that of the child which is among the states."""
    at = _place(joint, frames)
    known, prior = frames.known[kind, at], task.form.ess / joint
    if frames.priors[kind, at] != joint:
        frames.priors[kind, at], frames.filled[kind, at] = joint, 0
    for m in range(frames.filled[kind, at] + 1, most + 1):
        if task.form.each == 1.0:
            known[m] = known[m - 1] + np.log(prior + (m - 1))
        else:
            known[m] = log_rising(prior, m * task.form.each)
    frames.filled[kind, at] = max(frames.filled[kind, at], most)
    return known


@inner
def _children(top, in_set, task, frames):
    """List the children that may have the parents; returns how many."""
    count = 0
    for x in range(task.arities.size):
        may = not in_set[x] and top <= task.most_parents[x] and frames.banned[top, x] == 0
        if may and frames.needed[top, x] == task.wanted[x]:
            frames.children[count] = x
            count += 1
    return count


@inlined
def _add_up(column, part):
    """Add the records of a row to those of a cell."""
    for c in range(part.size):
        part[c] += column[c]


@inlined
def _subtract(part, records, low, high, arity, each, cost):
    """Take from what children of this arity pay what their states in a cell are worth; low, high: the children."""
    place = 0
    for x in range(low, high):
        others, worth = records, 0.0
        for _ in range(1, arity):
            worth += each[part[place]]
            others -= np.int64(part[place])
            place += 1
        cost[x] -= worth + each[others]


@inner
def _cost(top, task, frames):
    """What the parents cost each variable as a child."""
    rows, ends, weights, cost, part = frames.rows[top], frames.ends[top], task.weights, frames.cost, frames.part
    fixed, alone, occur, most, low = task.form.kind == TABLES, frames.alone[top], frames.cells[top], np.int64(1), 0
    for w in range(alone.size):
        occur += alone[w]
        most = max(most, np.int64(w))
    for j in range(frames.cells[top]):
        records = np.int64(0)
        for i in range(low, ends[j]):
            records += weights[rows[i]]
        most, low, frames.records[j] = max(most, records), ends[j], records
    joint = frames.joint[top] if task.form.kind == SPREAD else float(occur)
    own = task.form.joint if fixed else _table(0, joint, most, task, frames)
    for kind in range(task.arity.size):
        each = task.form.joint if fixed else _table(1 + kind, joint * task.arity[kind], most, task, frames)
        own = task.form.own[task.form.classes[task.begin[kind]]] if fixed else own
        total = 0.0
        for w in range(alone.size):
            if alone[w]:
                total += alone[w] * (own[w] - each[w])
        for j in range(frames.cells[top]):
            total += own[frames.records[j]]
        for x in range(task.begin[kind], task.begin[kind + 1]):
            cost[x] = total
    low = 0
    for j in range(frames.cells[top]):
        for c in range(part.size):
            part[c] = 0
        for i in range(low, ends[j]):
            _add_up(task.columns[rows[i]], part)
        low = ends[j]
        for kind in range(task.arity.size):
            each = task.form.joint
            if not fixed:
                each = frames.known[1 + kind, _place(joint * task.arity[kind], frames)]
            first, arity = task.begin[kind], np.int64(task.arity[kind])
            _subtract(part[task.first[first] :], frames.records[j], first, task.begin[kind + 1], arity, each, cost)


@inner
def _judge(top, varset, in_set, task, frames, found, written):
    """Hand over the families of interest of the parents that are all on the way; returns how many are over by now."""
    children, varsets, costs = found
    count = _children(top, in_set, task, frames)
    if count == 0:
        return written
    _cost(top, task, frames)
    for i in range(count):
        x = frames.children[i]
        if frames.cost[x] < task.limits[x] + frames.taken[top, x]:
            if written < costs.size:
                children[written], costs[written] = x, frames.cost[x]
                for q in range(varset.size):
                    varsets[written, q] = varset[q]
            written += 1
    return written


@njit
def sweep(one, two, task, frames, halt, found):
    """Cost the parent sets whose first members are these two, ascending, or if the second is -1 that of the first one
    alone, unless `halt` is set.

    found: children (f,) int64, varsets (f, bytes) uint8 and costs (f,) of the families of interest, as far as there is
    room. Returns how many these are, and how many parent sets were gone through. O(rows n) each.
    """
    task, frames, halt, found = borrowed((task, frames, halt, found))
    n, varset, in_set = task.arities.size, np.zeros(found[1].shape[1], np.uint8), np.zeros(task.arities.size, np.bool_)
    path, base, v, top, written, made = np.zeros(task.most + 1, np.int64), 1 if two < 0 else 2, one, 0, 0, 0
    while not halt[0]:
        if top < base or (top < task.most and v < n and two >= 0):
            _enter(top, v, task, frames)
            top += 1
            path[top], in_set[v], made = v, True, made + 1
            varset[v >> 3] |= np.uint8(1 << (v & 7))
            if top >= base and top > task.fewest:
                written = _judge(top, varset, in_set, task, frames, found, written)
            v = two if top < base else v + 1
            continue
        if top <= base:
            break
        v = path[top]
        in_set[v] = False
        varset[v >> 3] &= np.uint8(~(1 << (v & 7)) & 255)
        top -= 1
        v += 1
    return written, made
