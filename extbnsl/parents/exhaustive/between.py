"""Kernels of the search child by child for scores with a Dirichlet prior: all parent sets between two.

A node is a parent set P and a set U of candidates that may be added: it stands for all Q with P < Q <= P + U. None of
these is of interest that costs as much as the cheapest known family inside P, and the slack.

Within a cell j of P (a joint state of it) lie the cells u of P + U; a Q divides j into cells that consist of such u.
Let c_j be the child's states in j, d_u those in u, r all there are, M(u) = m H(X | u) the misfit of its m records, and
D(u) the least that u costs as a cell of its own by any prior that a Q may have. What the cells of Q inside j cost
together is at least

1. c_j ln r + D(u) - d_u ln r, for each u that has several of the child's states. Some cell C of Q contains u. By the
   chain rule C costs at least D(u) and what the other records cost after those of u. Among these the first of each
   state that u lacks has a probability of at most (a / r) / a; no other has one above 1. The states that C lacks are in
   other cells of Q, whose first records of each state have a probability of at most (a / r) / (a + i) <= 1 / r.
2. D(u) - M(u) + the sum of M over all u' in j, for each u. No records have a larger probability, by any prior and after
   any others, than by their own frequencies: what is not u costs at least its M. (Correia, Cussens, de Campos 2020
   have all other variables as U, and correct one cell as well.)

So the cells inside j cost at least the larger of these, and Q the sum of that over j: the *bound* of a node. Cells j
that are one u in which the child has one state cost ln r at least and are counted, not kept.

The bound of all Q that include a candidate v is the same sum over the cells of P + v, into which v divides those of P.
One pass over the cells u finds it for all candidates, each of whose states is a column: what u has is added to the
columns of the states that u has. If it reaches what Q must cost less than, no Q with v is of interest here, and U loses
v. Then cells u that nothing tells apart any more become one, so that others may reach it. When none does, the search
branches on the first candidate: U - v, and then P + v, so that all subsets of a parent set come before it. Those come
first that tell most records apart: without them U is soon hopeless.

**D(u).** The log probability of u by a prior a for each state of the parents, a / r for each of the child, is unimodal
in a (Levin and Reeds 1977, *Compound multinomial likelihood functions are unimodal*, Annals of Statistics 5). Its
derivative by ln a is

    slope(a) = sum over the states k and i < m_k of (a / r) / (a / r + i) - sum over i < m of a / (a + i).

Every Q of a node has a prior of at most b. If slope(b) >= 0 the probability rises up to b, and D(u) is the cost at b.
Else that is so from some lower a on, and for an interval [lo, hi] above it the log probability is at most that at lo
and ln(hi / lo) (sum of the first terms at hi - sum of the second at lo), as each of them rises with a.

By BDeu b = ess / (q(P) x the product of the least arities of as many candidates as a Q of interest has more, one at
least); by BDs b = ess / the cells of P that occur, as they become no fewer; by K2 the prior is r whatever the parents.

The sums are of whole numbers: nats times a power of two, rounded down. So they do not depend on their order, and are no
more than what they stand for.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import assign, flip, popcount, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.hashing import extended, first_slot, hashed, next_slot, spread
from extbnsl.parents.best_score import first_inside, scratch
from extbnsl.parents.exhaustive.cell_frames import ALONE, CORRECTED, COUNTS, LINE, PLAIN, ROW, SEEN, UNEXPLAINED
from extbnsl.scores.formula import SPREAD, TABLES

OVER, FULL, CROWDED = range(3)  # why a search has returned: it is over; no room for families, or for cells
OWN, JOINT, OWN_SLOPE, JOINT_SLOPE = range(4)  # tables of a prior, by a number of records
HALVINGS = 12  # of a prior until its slope is to be non-negative; else nothing is said of a cell
MOST_BITS = 31  # of the child's states; the last ones share a bit, so that they count as one
MOST_WORTH = 1 << 29  # what a cell is worth at most in whole numbers, so that sums of a few are no larger than int32
STEEP = 1e-9  # a slope that is certainly not negative


class CellSpace(NamedTuple):
    """Working space: slots (2 d,) int64 of a hash table, zero between uses; place, cell (d,), counts (d, r) int64 of
    cells; added (4, columns) int32, total, source (columns,) int64 of columns; tally (most states, r), inside (most
    states,) int64 of a candidate's states; mask (w,) uint64."""

    slots: NDArray[np.int64]
    place: NDArray[np.int64]
    cell: NDArray[np.int64]
    counts: NDArray[np.int64]
    added: NDArray[np.int32]
    total: NDArray[np.int64]
    source: NDArray[np.int64]
    tally: NDArray[np.int64]
    inside: NDArray[np.int64]
    mask: NDArray[np.uint64]


@inlined
def _space(task):
    """Space for the rows of a task."""
    d, m = task.states.size, task.arities.size
    columns = max(1, task.masks.shape[1])
    return CellSpace(
        np.zeros(2 * d, np.int64),
        np.zeros(d, np.int64),
        np.zeros(d, np.int64),
        np.zeros((d, task.arity), np.int64),
        np.zeros((4, columns), np.int32),
        np.zeros(columns, np.int64),
        np.zeros(columns, np.int64),
        np.zeros((task.arities.max() if m else 1, task.arity), np.int64),
        np.zeros(task.arities.max() if m else 1, np.int64),
        np.zeros(task.own.shape[1], np.uint64),
    )


@inner
def _tables_of(joint, records, task, frames):
    """The place of the tables by the prior of so many joint states of the parents, filled for so many records."""
    at = np.int64(hashed(u64(min(joint, 9e18))) % u64(frames.priors.size))
    if frames.priors[at] != joint:
        frames.priors[at], frames.filled[at] = joint, 0
    known, own = frames.known[at], task.form.ess / joint
    each = own / task.arity
    for m in range(frames.filled[at], records):
        known[OWN, m + 1] = known[OWN, m] + math.log(own + m)
        known[JOINT, m + 1] = known[JOINT, m] + math.log(each + m)
        known[OWN_SLOPE, m + 1] = known[OWN_SLOPE, m] + own / (own + m)
        known[JOINT_SLOPE, m + 1] = known[JOINT_SLOPE, m] + each / (each + m)
    frames.filled[at] = max(frames.filled[at], records)
    return at


@inner
def _cost_of(counts, records, joint, task, frames):
    """What a cell of these counts, so many records together, costs by the prior of so many joint states."""
    if task.form.kind == TABLES:
        cost, table = task.form.own[task.of_arity, records], task.form.joint
    else:
        known = frames.known[_tables_of(joint, records, task, frames)]
        cost, table = known[OWN, records], known[JOINT]
    for k in range(counts.size):
        cost -= table[counts[k]]
    return cost


@inner
def _least_of(counts, records, misfit, joint, task, frames):
    """D(u): what a cell of these counts costs at least by the prior of so many joint states, or of more."""
    cost, least = _cost_of(counts, records, joint, task, frames), np.inf
    for _ in range(HALVINGS):
        known = frames.known[_tables_of(joint, records, task, frames)]
        rising, falling = 0.0, known[OWN_SLOPE, records]
        for k in range(counts.size):
            rising += known[JOINT_SLOPE, counts[k]]
        if rising - falling >= STEEP:
            return max(misfit, min(least, cost))
        joint *= 2.0
        cost = _cost_of(counts, records, joint, task, frames)
        falling = frames.known[_tables_of(joint, records, task, frames), OWN_SLOPE, records]
        least = min(least, cost - math.log(2.0) * max(0.0, rising - falling))
    return misfit


@inlined
def _whole(nats, task):
    """So many nats in whole numbers, rounded down; what is too much to add up is less."""
    return np.int32(max(0.0, min(MOST_WORTH, math.floor(nats * task.scale))))


@inner
def _weigh(at, task, frames):
    """Find what those cells u of a node are worth of which nothing is `seen`."""
    cells, mlogm, each = frames.cell, task.mlogm, math.log(task.arity)
    joint, fixed, start = frames.prior[at], task.form.kind == TABLES, frames.start[at]
    table = 0 if fixed else _tables_of(joint, 1, task, frames)
    for u in range(start, start + frames.cells[at]):
        cell = cells[u]
        counts = cell[COUNTS:]
        if cell[SEEN]:
            continue
        records, states, bits, apart = np.int64(0), 0, 0, 0.0
        for k in range(task.arity):
            if counts[k]:
                records += counts[k]
                states += 1
                bits |= 1 << min(k, MOST_BITS - 1)
                apart += mlogm[counts[k]]
        cell[SEEN] = bits
        if states == 1 and not fixed:
            cell[ALONE] = PLAIN
            continue
        misfit = max(0.0, mlogm[records] - apart)
        if fixed:
            least = _cost_of(counts, records, joint, task, frames)
        else:
            if records > frames.filled[table]:
                _tables_of(joint, records, task, frames)
            known = frames.known[table]
            least, slope = known[OWN, records], -known[OWN_SLOPE, records]
            for k in range(task.arity):
                least -= known[JOINT, counts[k]]
                slope += known[JOINT_SLOPE, counts[k]]
            if slope < STEEP:
                least = _least_of(counts, records, misfit, joint, task, frames)
                table = _tables_of(joint, 1, task, frames)
        cell[ALONE] = _whole(least - states * each, task)
        cell[CORRECTED] = _whole(least - misfit, task)
        cell[UNEXPLAINED] = _whole(misfit, task)


@inlined
def _meet(row, other, bits, mask):
    """Whether two rows have the same bits in the mask."""
    q = 0
    while q < mask.size and not (bits[row, q] ^ bits[other, q]) & mask[q]:
        q += 1
    return q == mask.size


@inlined
def _is_whole(cell, task):
    """Whether nothing is to be known of a cell j that consists of this cell u: it costs ln r at least."""
    states = 0
    for k in range(COUNTS, COUNTS + task.arity):
        states += cell[k] > 0
    return states == 1 and task.form.kind != TABLES


@inner
def _merge(source, at, task, frames, space):
    """Make the cells u of a node of those of a source, which may be the node itself: those that no open candidate tells
    apart are one; whether any were two.

    Rows are compared, not only their hashes.
    """
    cells, bits, mask, origin = frames.cell, task.bits, space.mask, frames.start[source]
    slots, place, start, arity = space.slots, space.place, frames.start[at], task.arity
    for q in range(mask.size):
        mask[q] = u64(0)
    for v in range(task.arities.size):
        if frames.open[at, v]:
            for q in range(mask.size):
                mask[q] |= task.own[v, q]
    low, kept, groups = origin, start, 0
    frames.pure[at] = frames.pure[source]
    for j in range(frames.groups[source]):
        high, first = frames.end[origin + j], kept
        for u in range(low, high):
            key = u64(j + 1)
            for q in range(mask.size):
                key = extended(key, bits[cells[u, ROW], q] & mask[q])
            slot = first_slot(spread(key), slots)
            other = slots[slot] - 1
            while other >= 0 and (other < first or not _meet(cells[u, ROW], cells[other, ROW], bits, mask)):
                slot = next_slot(slot, slots)
                other = slots[slot] - 1
            if other >= 0:
                for k in range(COUNTS, COUNTS + arity):
                    cells[other, k] += cells[u, k]
                cells[other, SEEN] = 0
                continue
            if kept != u:
                assign(cells[kept], cells[u])
            place[kept - start] = slot
            slots[slot] = kept + 1
            kept += 1
        low = high
        if kept == first + 1 and _is_whole(cells[first], task):
            slots[place[first - start]] = 0
            frames.pure[at] += 1
            kept = first
        else:
            frames.end[start + groups] = kept
            groups += 1
    frames.groups[at] = groups
    for u in range(start, kept):
        slots[place[u - start]] = 0
    merged = kept - start < frames.cells[source]
    frames.cells[at] = kept - start
    if merged:
        _weigh(at, task, frames)
    return merged


@inner
def _add_up(low, high, cells, sheet, columns, mask, added):
    """What each column of a sheet gets from cells low <= u < high of one cell j: the largest of ALONE and of CORRECTED,
    the sum of UNEXPLAINED, and the child's states."""
    for u in range(low, high):
        states, alone, line = cells[u, SEEN], cells[u, ALONE], sheet + cells[u, LINE] * columns
        own = mask[line : line + columns]  # so that no index may be negative, which the compiler would look for
        if alone == PLAIN:
            for c in range(columns):
                added[3, c] |= states & np.int32(own[c])
        else:
            corrected, misfit = cells[u, CORRECTED], cells[u, UNEXPLAINED]
            for c in range(columns):
                inside = np.int32(own[c])
                added[0, c] = max(added[0, c], alone & inside)
                added[1, c] = max(added[1, c], corrected & inside)
                added[2, c] += misfit & inside
                added[3, c] |= states & inside


@inner
def _bound(at, task, frames, space):
    """Find the bound of all Q of a node with each of the open candidates; see the module."""
    added, total, columns, start = space.added, space.total, frames.columns[at], frames.start[at]
    each = np.int32(math.floor(math.log(task.arity) * task.scale))
    for c in range(columns):
        total[c] = 0
    low = start
    for j in range(frames.groups[at]):
        high = frames.end[start + j]
        for i in range(4):
            for c in range(columns):
                added[i, c] = 0
        _add_up(low, high, frames.cell, frames.sheet[at], columns, frames.mask, added)
        for c in range(columns):
            states = np.int32(popcount(u64(added[3, c])))
            total[c] += max(states * each + added[0, c], added[2, c] + added[1, c])
        low = high
    known = frames.pure[at] * math.log(task.arity)
    for v in range(task.arities.size):
        if frames.open[at, v]:
            found = 0
            for c in range(frames.column[at, v], frames.column[at, v] + task.arities[v]):
                found += total[c]
            frames.bound[at, v] = known + found / task.scale
    frames.stale[at] = False


@inlined
def _limit(at, task, frames):
    """What a Q of a node costs less than if it is of interest."""
    return frames.best[at] + task.slack + task.margin


@inner
def _narrowed(at, task, frames, space):
    """Take the hopeless candidates from a node, until none is; returns the first one, or -1 if none is left."""
    while True:
        if frames.stale[at]:
            _bound(at, task, frames, space)
        chosen, limit, closed = -1, _limit(at, task, frames), False
        for v in range(task.arities.size):
            if frames.open[at, v]:
                if frames.bound[at, v] >= limit:
                    frames.open[at, v] = False
                    frames.left[at] -= 1
                    closed = True
                elif chosen < 0:
                    chosen = v
        if not closed or frames.left[at] == 0 or not _merge(at, at, task, frames, space):
            return chosen if frames.left[at] else -1
        frames.stale[at] = True


@inner
def _prior_of(at, task, frames):
    """The joint states that the parents of any Q of a node have at least."""
    if task.form.kind != SPREAD:
        return float(frames.groups[at] + frames.pure[at])
    joint, more = frames.joint[at], max(1, task.fewest + 1 - frames.size[at])
    for v in task.by_arity:
        if more and frames.open[at, v]:
            joint *= task.arities[v]
            more -= 1
    return joint


@inner
def _exact(at, task, frames, space):
    """What P costs, from all rows."""
    slots, place, cell, d, found = space.slots, space.place, space.cell, task.states.size, 0
    for q in range(space.mask.size):
        space.mask[q] = u64(0)
        for i in range(1, at + 1):
            if frames.path[i] >= 0:
                space.mask[q] |= task.own[frames.path[i], q]
    for i in range(d):
        key = spread(u64(frames.base[i] + 1))
        for q in range(space.mask.size):
            key = extended(key, task.bits[i, q] & space.mask[q])
        slot = first_slot(key, slots)
        other = slots[slot] - 1
        while other >= 0 and not (frames.base[other] == frames.base[i] and _meet(i, other, task.bits, space.mask)):
            slot = next_slot(slot, slots)
            other = slots[slot] - 1
        if other < 0:
            place[found], slots[slot], cell[i] = slot, i + 1, found
            for k in range(task.arity):
                space.counts[found, k] = 0
            found += 1
        else:
            cell[i] = cell[other]
        space.counts[cell[i], task.states[i]] += task.weights[i]
    cost, joint = 0.0, frames.joint[at] if task.form.kind == SPREAD else float(found)
    for j in range(found):
        slots[place[j]] = 0
        records = np.int64(0)
        for k in range(task.arity):
            records += space.counts[j, k]
        cost += _cost_of(space.counts[j], records, joint, task, frames)
    return cost


@inner
def _cost_at_least(at, task, frames, space):
    """What P costs at least: the cells that are not kept count what any costs at least."""
    total, low, cells, end, start = space.tally[0], frames.start[at], frames.cell, frames.end, frames.start[at]
    own, each = task.form.own[task.of_arity] if task.form.kind == TABLES else task.mlogm, task.form.joint
    cost, table = frames.pure[at] * math.log(task.arity), 0
    joint = frames.joint[at] if task.form.kind == SPREAD else float(frames.groups[at] + frames.pure[at])
    if task.form.kind != TABLES:
        table = _tables_of(joint, 1, task, frames)
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
            _tables_of(joint, records, task, frames)
        cost += own[records]
        for k in range(total.size):
            cost -= each[total[k]]
    return cost


@inner
def _give_sheet(at, task, frames, space):
    """Give node at + 1, whose cells have lines of the sheet of node `at`, that sheet; or a new one, where most columns
    of that are of candidates that are not open."""
    needed, after, source = 0, at + 1, space.source
    for v in range(task.arities.size):
        frames.column[after, v] = frames.column[at, v]
        if frames.open[after, v]:
            needed += task.arities[v]
    frames.sheet[after], frames.columns[after], frames.behind[after] = (
        frames.sheet[at],
        frames.columns[at],
        frames.behind[at],
    )
    if 2 * needed > frames.columns[at]:
        return
    kept = 0
    for v in range(task.arities.size):
        if frames.open[after, v]:
            frames.column[after, v] = kept
            for c in range(task.arities[v]):
                source[kept] = frames.column[at, v] + c
                kept += 1
    to, sheet, columns = frames.behind[at], frames.sheet[at], frames.columns[at]
    frames.sheet[after], frames.columns[after] = to, kept
    for u in range(frames.start[after], frames.start[after] + frames.cells[after]):
        line = sheet + frames.cell[u, LINE] * columns
        frames.cell[u, LINE] = u - frames.start[after]
        for c in range(kept):
            frames.mask[to + c] = frames.mask[line + source[c]]
        to += kept
    frames.behind[after] = to


@inner
def _leave_out(at, v, task, frames, space):
    """Make node at + 1 of node `at`: the same parents, without candidate v."""
    after = at + 1
    for k in range(task.arities.size):
        frames.open[after, k] = frames.open[at, k] and k != v
        frames.bound[after, k] = frames.bound[at, k]
        frames.column[after, k] = frames.column[at, k]
    frames.left[after], frames.size[after], frames.path[after] = frames.left[at] - 1, frames.size[at], -1
    frames.joint[after], frames.prior[after], frames.best[after] = frames.joint[at], frames.prior[at], frames.best[at]
    frames.sheet[after], frames.columns[after], frames.behind[after] = (
        frames.sheet[at],
        frames.columns[at],
        frames.behind[at],
    )
    frames.start[after], frames.chosen[after] = frames.start[at] + frames.cells[at], -1
    frames.stale[after] = _merge(at, after, task, frames, space)


@inner
def _enter(at, v, task, frames, space):
    """Make node at + 1 of node `at` and candidate v."""
    after, codes, tally, inside, start = at + 1, task.codes[v], space.tally, space.inside, frames.start[at]
    to = frames.start[after] = start + frames.cells[at]
    for k in range(task.arities.size):
        frames.open[after, k] = frames.open[at, k] and k != v
    frames.left[after], frames.size[after], frames.path[after] = frames.left[at] - 1, frames.size[at] + 1, v
    frames.joint[after], frames.stale[after], frames.chosen[after] = frames.joint[at] * task.arities[v], True, -1
    cells, pure, groups, low = frames.cell, frames.pure[at], 0, start
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
            whole = states == 1 and inside[s] == 1 and task.form.kind != TABLES
            pure += whole
            inside[s], to = -1 if whole else to, to if whole else to + inside[s]
            if states and not whole:
                frames.end[frames.start[after] + groups] = to
                groups += 1
        for u in range(low, high):
            s = codes[cells[u, ROW]]
            if inside[s] >= 0:
                assign(cells[inside[s]], cells[u])
                if cells[u, ALONE] != PLAIN:
                    cells[inside[s], SEEN] = 0  # so that it is weighed
                inside[s] += 1
        low = high
    frames.pure[after], frames.groups[after], frames.cells[after] = pure, groups, to - frames.start[after]
    frames.prior[after] = _prior_of(after, task, frames)
    _weigh(after, task, frames)
    _give_sheet(at, task, frames, space)


@njit
def open_root(open_, joint, size, task, frames):
    """Put parents on the stack, of which so many were added and which have so many joint states, and the candidates
    that are open; returns what they cost."""
    open_, task, frames = borrowed((open_, task, frames))
    space, d, m, cells = _space(task), task.states.size, task.arities.size, frames.cell
    frames.start[0], frames.pure[0], frames.left[0] = 0, 0, 0
    frames.size[0], frames.joint[0], frames.stale[0], frames.top[0], columns = size, joint, True, 0, 0
    frames.path[0] = frames.chosen[0] = -1
    for v in range(m):
        frames.open[0, v], frames.column[0, v] = open_[v], columns
        frames.left[0] += open_[v]
        for c in range(task.first[v], task.first[v + 1] if open_[v] else task.first[v]):
            space.source[columns] = c
            columns += 1
    frames.sheet[0], frames.columns[0], frames.behind[0] = 0, columns, d * columns
    for i in range(d):
        for c in range(columns):
            frames.mask[i * columns + c] = task.masks[i, space.source[c]]
    for to in range(d):
        i = frames.rows[to]
        for k in range(COUNTS + task.arity):
            cells[to, k] = 0
        cells[to, ROW], cells[to, LINE], cells[to, COUNTS + task.states[i]] = i, i, task.weights[i]
        frames.end[frames.base[i]] = to + 1
    frames.groups[0], frames.cells[0] = frames.base.max() + 1, d
    frames.prior[0] = _prior_of(0, task, frames)
    _merge(0, 0, task, frames, space)
    _weigh(0, task, frames)
    cost = frames.best[0] = _exact(0, task, frames, space)
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
    """Go on until all parent sets of the task are judged, there is no room left, or `halt` is set.

    found: varsets (f, bytes) uint8 and costs (f,) of families of interest, as far as is known. handed (h, 2, bytes)
    uint8: P and U of nodes that are handed over. Returns why it has, how many of each were found, and how many nodes
    were made.
    """
    task, frames, halt, found, handed = borrowed((task, frames, halt, found, handed))
    varsets, costs = found
    space, rows = _space(task), scratch(task.tables)
    width, written, passed, made, varset = task.tables.width[0], 0, 0, 0, frames.varset
    while frames.top[0] >= 0 and written < costs.size and passed < len(handed) and not halt[0]:
        top = frames.top[0]
        if frames.start[top] + 2 * frames.cells[top] > len(frames.cell):
            return CROWDED, written, passed, made
        v = frames.chosen[top]
        if v < 0 and frames.size[top] < task.most and frames.size[top] + frames.left[top] > task.fewest:
            v = _narrowed(top, task, frames, space) if frames.left[top] else -1
            if v >= 0:
                frames.chosen[top] = v
                if frames.left[top] > 1:
                    _leave_out(top, v, task, frames, space)
                    frames.top[0] = top + 1
                    continue
        if v < 0 or not frames.open[top, v]:
            if frames.path[top] >= 0:
                flip(varset, task.variables[frames.path[top]])
            frames.top[0] = top - 1
            continue
        _enter(top, v, task, frames, space)
        made += 1
        frames.open[top, v] = False  # so that there is nothing left
        flip(varset, task.variables[v])
        after, best = top + 1, frames.best[top]
        inside = first_inside(0, varset, np.int64(0), width, task.tables, rows)
        if inside >= 0:
            best = min(best, task.tables.costs[inside])
        frames.best[after] = best
        if frames.size[after] > task.fewest:
            limit = _limit(after, task, frames)
            cost = _cost_at_least(after, task, frames, space)
            if cost < limit:
                best = min(best, _replacing(cost - task.slack, varset, varsets, costs, written))
                if cost < best + task.slack:
                    cost = _exact(after, task, frames, space)
                    best = min(best, _replacing(cost - task.slack, varset, varsets, costs, written))
                    if cost < best + task.slack:
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
            handed[passed, 0, q], handed[passed, 1, q] = varset[q], 0
        for k in range(task.arities.size):
            if frames.open[after, k]:
                flip(handed[passed, 1], task.variables[k])
        passed += 1
        flip(varset, task.variables[v])
    return (OVER if frames.top[0] < 0 else FULL), written, passed, made
