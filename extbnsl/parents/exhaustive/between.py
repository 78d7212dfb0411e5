"""Kernels of the search child by child for scores with a Dirichlet prior: all parent sets between two.

A node is a parent set P with an upper set U: the candidates that come later in the order of the search may still be
added. So it stands for all Q with P <= Q <= U, and what these cost at least follows from both ends. Within a cell j of
P (a joint state of it) lie cells u of U; a Q divides j into cells that consist of such u. Let c_j be the child's states
in j, d_u those in u, r all there are, D(u) the least that u costs as a cell of its own by any prior that a Q may have,
and M(u) = m H(X | u) the misfit of its m records. What the cells of Q inside j cost together is at least

1. c_j ln r: the first record of each state in a cell of Q has the predictive probability (a / r) / (a + i) <= 1 / r,
   and each of the c_j states is in some cell of Q (scores/dirichlet.py).
2. D(u) + (c_j - d_u) ln r, for each u. Some cell C of Q contains u. By the chain rule C costs at least D(u) and what
   the other records cost after those of u. Among these the first of each state that u lacks has a probability of at
   most (a / r) / a; no other has one above 1. The states that C lacks are in other cells of Q, as in 1.
3. D(u) - M(u) + the sum of M over all u' in j, for each u. No records have a larger probability, by any prior and after
   any others, than by their own frequencies: what is not u costs at least its M. (Correia, Cussens, de Campos 2020
   have all other variables as U, and correct one cell as well.)

So the cells inside j cost at least the largest of these, and Q the sum of that over j.

D(u) by a prior a <= b for each state of the parents: where d_u >= 2, the derivative of the log probability of u by
ln a is

    (d_u - 1) + sum over the states k in u and i < m_k of (a / r) / (a / r + i) - sum over i < m of a / (a + i)

(i from 1 on)

which is at least (d_u - 1) - b (1 + ln m). If that is not negative the probability rises up to b, and D(u) is the cost
at b. Else nothing is said of u (D = M in 3, and 2 is left out). By BDeu b = a(P) / 2, as one parent more at least
doubles the joint states; by BDs b = a(P), as the states that occur become no fewer; by K2 the prior is r whatever the
parents, and D(u) the cost by that.

Where u has several states of the child and b is small, D(u) is about (d_u - 1) ln(1 / b): records that no candidate can
tell apart any more are dear. This is what rules out parent sets long before c_j ln r does.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import flip, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.hashing import extended, first_slot, next_slot, spread
from extbnsl.parents.best_score import first_inside, scratch
from extbnsl.scores.formula import OCCURRING, TABLES, Formula

HERE, MORE = range(2)  # the tables of a node: by its own prior, and by the largest of what has more parents


class CellTask(NamedTuple):
    """What one search is for: families of one child of `arity` states with at most `depth` of m candidates, and with
    `fewest` or more; at level k of the stack those are added whose place, from 0 after the last one, is lows[k] <=
    place < highs[k], (depth,) int64.

    codes (m, d): their states in the d distinct rows, in the order of the search; arities (m,); own, later (m, w), (m +
    1, w) uint64: which bits of a row tell candidate k, and all from k on; bits (d, w) uint64 the rows; variables (m,)
    the candidates' numbers in varsets; states, weights (d,) int64: the child's, and the records. form: the score, and
    of_arity the child's class in it. mlogm (N + 1,). slack: see CountingProblem; margin: what rounding may do, in nats.
    tables: BestScore of the child over families known before.
    """

    codes: NDArray[Any]
    arities: NDArray[np.int64]
    own: NDArray[np.uint64]
    later: NDArray[np.uint64]
    bits: NDArray[np.uint64]
    variables: NDArray[np.int64]
    states: NDArray[np.int64]
    weights: NDArray[np.int64]
    arity: int
    depth: int
    fewest: int
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    form: Formula
    of_arity: int
    mlogm: NDArray[np.float64]
    slack: float
    margin: float
    tables: Any


class CellFrames(NamedTuple):
    """A stack of nodes; each array has a place or a row for each.

    row, cell (k, d) uint32: the entries, rows of cells of more than one record, and their cells; seen (k, d) int64: the
    child's states in each cell; entries, cells, alone: how many entries and cells, and cells of one record; states:
    joint ones of the parents; best: the cheapest known family inside; cursor: the next candidate; path: the one that
    made the node; rising (k, 2, 2, N + 1): ln G(a + m) / G(a) by priors `prior` (k, 2), for the parents and for each
    state of the child, known for `filled` (k, 2) records; used (k, w) uint64: the bits of its parents.
    Of the top node varset (bytes,) uint8; top (1,) its place.
    """

    row: NDArray[np.uint32]
    cell: NDArray[np.uint32]
    seen: NDArray[np.int64]
    entries: NDArray[np.int64]
    cells: NDArray[np.int64]
    alone: NDArray[np.int64]
    states: NDArray[np.float64]
    best: NDArray[np.float64]
    cursor: NDArray[np.int64]
    path: NDArray[np.int64]
    rising: NDArray[np.float64]
    prior: NDArray[np.float64]
    filled: NDArray[np.int64]
    used: NDArray[np.uint64]
    varset: NDArray[np.uint8]
    top: NDArray[np.int64]


class CellSpace(NamedTuple):
    """Working space: number (d * most states,), zero between uses; total (d,), counts (d, r) of cells; slots (2 d,)
    int64, zero between uses; slot, member, inside (d,), upper (d, r): of each upper cell its slot, a row of it, the
    node's cell that it lies in, and its counts; mask (w,) uint64: the bits of the upper set; most, misfit, extra (d,):
    see `_least`."""

    number: NDArray[np.int64]
    total: NDArray[np.int64]
    counts: NDArray[np.int64]
    slots: NDArray[np.int64]
    slot: NDArray[np.int64]
    member: NDArray[np.int64]
    inside: NDArray[np.int64]
    upper: NDArray[np.int64]
    mask: NDArray[np.uint64]
    most: NDArray[np.float64]
    misfit: NDArray[np.float64]
    extra: NDArray[np.float64]


@inlined
def _space(task):
    """Space for the rows of a task."""
    d, r = task.states.size, task.arity
    return CellSpace(
        np.zeros(d * max(2, task.arities.max() if task.arities.size else 2), np.int64),
        np.zeros(d, np.int64),
        np.zeros((d, r), np.int64),
        np.zeros(2 * d, np.int64),
        np.zeros(d, np.int64),
        np.zeros(d, np.int64),
        np.zeros(d, np.int64),
        np.zeros((d, r), np.int64),
        np.zeros(task.own.shape[1], np.uint64),
        np.zeros(d),
        np.zeros(d),
        np.zeros(d),
    )


@inlined
def _tables_by(at, which, prior, records, task, frames):
    """Fill the tables of a node by this prior, for up to so many records."""
    if task.form.kind == TABLES:
        return
    if frames.prior[at, which] != prior:
        frames.prior[at, which] = prior
        frames.filled[at, which] = 0
    for m in range(frames.filled[at, which], records):
        for k, own in ((0, prior), (1, prior / task.arity)):
            frames.rising[at, which, k, m + 1] = frames.rising[at, which, k, m] + math.log(own + m)
    frames.filled[at, which] = max(frames.filled[at, which], records)


@inlined
def _rising(at, which, k, task, frames):
    """A table of a node: of the parents (0), or of each state of the child (1)."""
    if task.form.kind == TABLES:
        return task.form.own[task.of_arity] if k == 0 else task.form.joint
    return frames.rising[at, which, k]


@inner
def _settle(at, task, frames, space):
    """Count the cells of a node whose entries have got theirs, drop those of one record, and return what it costs and
    how many joint states of parents and child occur."""
    row, cell, weights, states, arity = frames.row[at], frames.cell[at], task.weights, task.states, task.arity
    number, total, counts, seen = space.number, space.total, space.counts, frames.seen[at]
    cells, entries, kept, named, records = frames.cells[at], frames.entries[at], 0, 0, 1
    for j in range(cells):
        total[j] = 0
    for i in range(entries):
        total[cell[i]] += weights[row[i]]
    for j in range(cells):
        if total[j] == 1:
            number[j] = -1
            continue
        records = max(records, total[j])
        number[j], total[named] = named, total[j]
        for k in range(arity):
            counts[named, k] = 0
        named += 1
    frames.alone[at] += cells - named
    for i in range(entries):
        j = number[cell[i]]
        if j >= 0:
            row[kept], cell[kept] = row[i], j
            counts[j, states[row[i]]] += weights[row[i]]
            kept += 1
    for j in range(cells):
        number[j] = 0
    frames.entries[at], frames.cells[at] = kept, named
    prior = task.form.ess / (named + frames.alone[at] if task.form.kind == OCCURRING else frames.states[at])
    _tables_by(at, HERE, prior, records, task, frames)
    _tables_by(at, MORE, prior if task.form.kind == OCCURRING else prior / 2.0, records, task, frames)
    own, joint = _rising(at, HERE, 0, task, frames), _rising(at, HERE, 1, task, frames)
    cost, occurring = frames.alone[at] * (own[1] - joint[1]), frames.alone[at]
    for j in range(named):
        cost += own[total[j]]
        seen[j] = 0
        for k in range(arity):
            cost -= joint[counts[j, k]]
            seen[j] += counts[j, k] > 0
        occurring += seen[j]
    return cost, occurring


@inner
def _enter(top, k, task, frames, space):
    """Make node top + 1 of node `top` and candidate k; returns as `_settle`."""
    arity, cells, codes, number = task.arities[k], 0, task.codes[k], space.number
    rows, inside, row, cell = frames.row[top], frames.cell[top], frames.row[top + 1], frames.cell[top + 1]
    for i in range(frames.entries[top]):
        key = inside[i] * arity + codes[rows[i]]
        if number[key] == 0:
            cells += 1
            number[key] = cells
        row[i], cell[i] = rows[i], number[key] - 1
    for key in range(frames.cells[top] * arity):
        number[key] = 0
    frames.entries[top + 1], frames.cells[top + 1], frames.alone[top + 1] = (
        frames.entries[top],
        cells,
        frames.alone[top],
    )
    frames.states[top + 1] = frames.states[top] * arity
    frames.path[top + 1] = k
    for q in range(task.own.shape[1]):
        frames.used[top + 1, q] = frames.used[top, q] | task.own[k, q]
    return _settle(top + 1, task, frames, space)


@inlined
def _meet(row, other, mask, bits):
    """Whether two rows have the same bits in this mask."""
    q = 0
    while q < mask.size and not (bits[row, q] ^ bits[other, q]) & mask[q]:
        q += 1
    return q == mask.size


@inner
def _upper_cells(at, after, task, frames, space):
    """Find the cells of the upper set of a node whose candidates begin with `after`; returns how many.

    Rows are compared, not only their hashes. Rows of a cell of the node alone can meet.
    """
    bits, states, weights, mask = task.bits, task.states, task.weights, space.mask
    slots, slot, member, inside, upper = space.slots, space.slot, space.member, space.inside, space.upper
    rows, cells = frames.row[at], frames.cell[at]
    for q in range(mask.size):
        mask[q] = frames.used[at, q] | task.later[after, q]
    found = 0
    for i in range(frames.entries[at]):
        row, j = np.int64(rows[i]), np.int64(cells[i])
        key = spread(u64(j + 1))
        for q in range(mask.size):
            key = extended(key, bits[row, q] & mask[q])
        place = first_slot(key, slots)
        u = slots[place] - 1
        while u >= 0 and not (inside[u] == j and _meet(row, member[u], mask, bits)):
            place = next_slot(place, slots)
            u = slots[place] - 1
        if u < 0:
            u = found
            slot[u], member[u], inside[u] = place, row, j
            for k in range(task.arity):
                upper[u, k] = 0
            found += 1
            slots[place] = found
        upper[u, states[row]] += weights[row]
    for u in range(found):
        slots[slot[u]] = 0
    return found


@inner
def _least(at, found, task, frames, space):
    """What a parent set costs at least that includes this node's and more, within the upper set; see the module."""
    own, joint, mlogm = _rising(at, MORE, 0, task, frames), _rising(at, MORE, 1, task, frames), task.mlogm
    most, misfit, extra, each = space.most, space.misfit, space.extra, math.log(task.arity)
    inside, upper, seen, arity = space.inside, space.upper, frames.seen[at], task.arity
    fixed, prior = task.form.kind == TABLES, frames.prior[at, MORE]
    for j in range(frames.cells[at]):
        most[j], misfit[j], extra[j] = 0.0, 0.0, 0.0
    for u in range(found):
        j, records, states = inside[u], 0, 0
        for k in range(arity):
            records += upper[u, k]
            states += upper[u, k] > 0
        if states == 1 and not fixed:
            continue
        apart, cost = 0.0, own[records]
        for k in range(arity):
            apart += mlogm[upper[u, k]]
            cost -= joint[upper[u, k]]
        unexplained = mlogm[records] - apart
        misfit[j] += unexplained
        if fixed or prior * (1.0 + math.log(records)) <= states - 1:
            most[j] = max(most[j], cost - states * each)
            extra[j] = max(extra[j], cost - unexplained)
    least = frames.alone[at] * each
    for j in range(frames.cells[at]):
        least += max(seen[j] * each + most[j], misfit[j] + extra[j])
    return least


@njit
def open_root(groups, states, task, frames):
    """Put the parents that must be on the stack, with so many joint states, the rows divided into groups (d,) by those
    that occur; returns what they cost."""
    groups, states, task, frames = borrowed((groups, states, task, frames))
    space = _space(task)
    for i in range(groups.size):
        frames.row[0, i], frames.cell[0, i] = i, groups[i]
    frames.entries[0], frames.cells[0], frames.alone[0], frames.states[0] = groups.size, groups.max() + 1, 0, states
    frames.top[0] = 0
    cost, _ = _settle(0, task, frames, space)
    frames.best[0] = cost
    return cost


@inner
def _first_hopeless(at, last, limit, task, frames, space):
    """The first candidate of a node from which on, of those up to `last`, nothing can be added that costs less than
    the limit: by bisection, as fewer candidates mostly cost no less; most nodes are hopeless with all of theirs."""
    low, high = last + 1, task.variables.size
    k = low
    while low < high:
        if _least(at, _upper_cells(at, k, task, frames, space), task, frames, space) >= limit:
            high = k
        else:
            low = k + 1
        k = (low + high) >> 1
    return low


@inner
def _cheapest_inside(varset, varsets, costs, written):
    """The least cost of the first `written` families inside this varset; infinite if there is none."""
    least = np.inf
    for f in range(written):
        if costs[f] < least:
            q = 0
            while q < varset.size and not varsets[f, q] & ~varset[q]:
                q += 1
            if q == varset.size:
                least = costs[f]
    return least


@njit
def search_between(task, frames, halt, found):
    """Go on until all parent sets of the task are judged, there is no room in `found`, or `halt` is set.

    A node's candidates come last one first, so all subsets of a parent set come before it. found: varsets (f, bytes)
    uint8 and costs (f,) of families that cost less than the cheapest known inside and the slack. Returns whether it is
    over, how many families were found, and how many were judged.
    """
    task, frames, halt, found = borrowed((task, frames, halt, found))
    varsets, costs = found
    space, rows = _space(task), scratch(task.tables)
    width, written, judged = task.tables.width[0], 0, 0
    each, m = math.log(task.arity), task.variables.size
    while frames.top[0] >= 0 and written < costs.size and not halt[0]:
        top = frames.top[0]
        k = frames.cursor[top]
        if k < (frames.path[top] + 1 if top > 0 else 0) + task.lows[top]:
            if top > 0:
                flip(frames.varset, task.variables[frames.path[top]])
            frames.top[0] = top - 1
            continue
        frames.cursor[top] = k - 1
        flip(frames.varset, task.variables[k])
        cost, occurring = _enter(top, k, task, frames, space)
        mine = top + 1 >= task.fewest
        judged += mine
        best = frames.best[top]
        inside = first_inside(0, frames.varset, np.int64(0), width, task.tables, rows)
        if inside >= 0:
            best = min(best, task.tables.costs[inside])
        if cost < best + task.slack:
            best = min(best, _cheapest_inside(frames.varset, varsets, costs, written))
        if mine and cost < best + task.slack:
            for q in range(frames.varset.size):
                varsets[written, q] = frames.varset[q]
            costs[written] = cost
            written += 1
        best = min(best, cost)
        frames.best[top + 1] = best
        limit = best + task.slack + task.margin
        hopeless = top + 1 >= task.depth or k + 1 >= m or occurring * each >= limit
        hopeless = hopeless or (frames.entries[top + 1] == 0 and task.slack == 0.0)
        end = k + 1 if hopeless else _first_hopeless(top + 1, k, limit, task, frames, space)
        if end > k + 1:
            frames.cursor[top + 1] = min(end, k + 1 + task.highs[top + 1]) - 1
            frames.top[0] = top + 1
        else:
            flip(frames.varset, task.variables[k])
    return frames.top[0] < 0, written, judged
