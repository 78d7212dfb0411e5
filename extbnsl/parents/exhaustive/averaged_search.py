"""Kernels of the search of one child over records of its families' own, see averaged.py. Costs in nats.

Of states: a node is a parent set with its rows cell by cell. Candidates stand in an order, those with missing values
first, and a parent set is made of ever later ones: so below a node whose candidates are all complete the records stay
the same.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import assign, flip
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.scores.penalty import added, grown


class AveragedTask(NamedTuple):
    """What a search of one child is for; m candidates, d rows.

    codes (m, d): the candidates' states, an arity where the value is missing; arities, variables (m,) int64: of the
    candidates, and their numbers; gaps: how many of them have missing values, these come first. states (d,) int64 of
    the child, weights (d,) int64: records of each row. arity: of the child. own: the records that the child counts.
    most: parents that are added at most. slack: a family is handed over if it costs less than those above it and this
    together; margin: what rounding may do. every: the first parent is one of each so many candidates. mlogm (N + 1,).
    """

    codes: NDArray[Any]
    arities: NDArray[np.int64]
    variables: NDArray[np.int64]
    gaps: int
    states: NDArray[np.int64]
    weights: NDArray[np.int64]
    arity: int
    own: float
    most: int
    slack: float
    margin: float
    every: int
    mlogm: NDArray[np.float64]


class AveragedFrames(NamedTuple):
    """A stack of nodes; each array has a place or a row for each.

    rows, ends (k, d) int64: rows cell by cell, and the end of each of `cells` cells; records: in all rows that are
    complete, those of cells in which the child has one state, which are not listed, too; penalty, misfit; best: the
    cheapest of the families above it and its own; cursor: the next candidate to try. Of the top node varset (bytes,)
    uint8 and its place, top (1,). joint (states of a candidate, of the child), alone (states of a candidate,): zeros.
    """

    rows: NDArray[np.int64]
    ends: NDArray[np.int64]
    cells: NDArray[np.int64]
    records: NDArray[np.int64]
    penalty: NDArray[np.float64]
    misfit: NDArray[np.float64]
    best: NDArray[np.float64]
    cursor: NDArray[np.int64]
    path: NDArray[np.int64]
    varset: NDArray[np.uint8]
    top: NDArray[np.int64]
    joint: NDArray[np.int64]
    alone: NDArray[np.int64]


@inlined
def _tally(row, state, weight, joint, alone):
    """Count a row of a cell by the candidate's state."""
    joint[state, row] += weight
    alone[state] += weight


@inner
def _count(top, y, task, frames):
    """The misfit of the top node's family with candidate y, of the records that are counted, and how many these are."""
    rows, codes, states, weights, mlogm = frames.rows[top], task.codes[y], task.states, task.weights, task.mlogm
    joint, alone, arity = frames.joint, frames.alone, task.arities[y]
    misfit, records, begin = 0.0, 0, 0
    for cell in range(frames.cells[top]):
        end = frames.ends[top, cell]
        for k in range(begin, end):
            row = rows[k]
            state = codes[row]
            if state < arity:
                _tally(states[row], state, weights[row], joint, alone)
        for k in range(begin, end):
            row = rows[k]
            state = codes[row]
            if state < arity:
                x = states[row]
                misfit -= mlogm[joint[state, x]]
                joint[state, x] = 0
                misfit += mlogm[alone[state]]
                records += alone[state]
                alone[state] = 0
        begin = end
    return misfit, records if y < task.gaps else frames.records[top]


@inner
def _refine(top, y, task, frames):
    """Make node top + 1 of the rows of the top node that have a value of y, cell by cell.

    Where only complete candidates follow, a cell in which the child has one state has nothing to tell.
    """
    rows, codes, states = frames.rows[top], task.codes[y], task.states
    listed, ends, place, arity = frames.rows[top + 1], frames.ends[top + 1], frames.alone, task.arities[y]
    begin, cells, filled, drops = 0, 0, 0, y + 1 >= task.gaps
    for cell in range(frames.cells[top]):
        end = frames.ends[top, cell]
        for k in range(begin, end):
            if codes[rows[k]] < arity:
                place[codes[rows[k]]] += 1
        at = filled
        for state in range(arity):
            size = place[state]
            place[state] = at
            at += size
        for k in range(begin, end):
            state = codes[rows[k]]
            if state < arity:
                listed[place[state]] = rows[k]
                place[state] += 1
        first = filled
        for state in range(arity):
            last = place[state]
            place[state] = 0
            if last == first:
                continue
            pure = drops
            for k in range(first + 1, last):
                if states[listed[k]] != states[listed[first]]:
                    pure = False
                    break
            if not pure:
                if filled < first:
                    assign(listed[filled : filled + last - first], listed[first:last])
                filled += last - first
                ends[cells] = filled
                cells += 1
            first = last
        begin = end
    frames.cells[top + 1] = cells


@inlined
def _is_hopeless(top, y, task, frames):
    """Whether candidate y, and all that may follow it, make no family that is wanted: all cost their penalty at least;
    and if y is complete, without it they count the same records."""
    penalty = frames.penalty[top]
    if grown(penalty, task.arities[y]) >= frames.best[top] + task.slack + task.margin:
        return True
    return y >= task.gaps and added(penalty, task.arities[y]) >= frames.misfit[top] + task.slack + task.margin


@njit
def search_averaged(task, frames, halt, varsets, costs):
    """Go on with a search until it is over or `varsets` (f, bytes) uint8 and `costs` (f,) are full.

    Returns whether it is over, how many families were handed over, and how many were counted. Ends early when halt[0]
    is set.
    """
    task, frames, halt, varsets, costs = borrowed((task, frames, halt, varsets, costs))
    m, written, counted, top = task.arities.size, 0, 0, frames.top[0]
    while top >= 0 and written < costs.size and not halt[0]:
        y = frames.cursor[top]
        if y >= m:
            top -= 1
            if top >= 0:
                flip(frames.varset, task.variables[frames.path[top]])
            continue
        frames.cursor[top] = y + (task.every if top == 0 else 1)
        if _is_hopeless(top, y, task, frames):
            continue
        misfit, records = _count(top, y, task, frames)
        counted += 1
        if records == 0:
            continue
        misfit *= task.own / records
        penalty = grown(frames.penalty[top], task.arities[y])
        cost = misfit + penalty
        if cost < frames.best[top] + task.slack:
            flip(frames.varset, task.variables[y])
            assign(varsets[written], frames.varset)
            flip(frames.varset, task.variables[y])
            costs[written] = cost
            written += 1
        if top + 1 < task.most and y + 1 < m:
            frames.path[top] = y
            flip(frames.varset, task.variables[y])
            frames.penalty[top + 1], frames.misfit[top + 1] = penalty, misfit
            frames.best[top + 1], frames.records[top + 1] = min(frames.best[top], cost), records
            frames.cursor[top + 1] = y + 1
            top += 1
            if _has_hope(top, task, frames):
                _refine(top - 1, y, task, frames)
            else:
                frames.cursor[top] = m
    frames.top[0] = top
    return top < 0, written, counted


@inlined
def _has_hope(top, task, frames):
    """Whether a candidate may follow."""
    y = frames.cursor[top]
    while y < task.arities.size and _is_hopeless(top, y, task, frames):
        y += 1
    return y < task.arities.size


@njit
def standardise(values, chosen, counted, columns, factor, logs):
    """Of numbers: the chosen columns of `values` (N, n) in the records that are counted, (N,) bool, standardised.

    factor (m, m): row v is column v of the triangle F, F^T F the correlations, by modified Gram-Schmidt. logs (m,): ln
    of the standard deviations, minus infinity of a column that never varies, whose row is 0. columns (m, N): room.
    Returns how many records are counted. O(N m^2).
    """
    values, chosen, counted, columns, factor, logs = borrowed((values, chosen, counted, columns, factor, logs))
    records, m = 0, chosen.size
    for i in range(counted.size):
        if counted[i]:
            for v in range(m):
                columns[v, records] = values[i, chosen[v]]
            records += 1
    for v in range(m):
        logs[v] = _standardised(columns[v, :records])
    factor[:] = 0.0
    for k in range(m):
        length = math.sqrt(_along(columns[k, :records], columns[k, :records]))
        factor[k, k] = length
        if length == 0.0:
            continue
        for i in range(records):
            columns[k, i] /= length
        for later in range(k + 1, m):
            along = _along(columns[k, :records], columns[later, :records])
            factor[later, k] = along
            for i in range(records):
                columns[later, i] -= along * columns[k, i]
    return records


@inner
def _standardised(column):
    """Make a column one of mean 0 and norm 1; ln of its standard deviation."""
    if column.size == 0:
        return -np.inf
    first, largest = column[0], 0.0
    for i in range(column.size):
        column[i] -= first
        largest = max(largest, abs(column[i]))
    if largest == 0.0:
        return -np.inf
    total = 0.0
    for i in range(column.size):
        column[i] /= largest
        total += column[i]
    for i in range(column.size):
        column[i] -= total / column.size
    length = math.sqrt(_along(column, column))
    for i in range(column.size):
        column[i] /= length
    return math.log(largest) + math.log(length) - math.log(column.size) / 2


@inner
def _along(one, other):
    """The sum of products."""
    total = 0.0
    for i in range(one.size):
        total += one[i] * other[i]
    return total
