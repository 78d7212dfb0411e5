"""Kernels of the cells in the search between two parent sets: what they cost, what each is worth for bounds, and which
become one. The words are those of `between_bounds`, which shows why the bounds hold.
"""

import math

import numpy as np

from extbnsl.kernels.bits import assign, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner
from extbnsl.kernels.hashing import extended, first_slot, hashed, next_slot, spread
from extbnsl.parents.exhaustive.cell_frames import ALONE, CORRECTED, COUNTS, PLAIN, ROW, SEEN, UNEXPLAINED
from extbnsl.scores.formula import SPREAD, TABLES, first_of
from extbnsl.scores.rows import first_cost, log_rising

OWN, JOINT, OWN_SLOPE, JOINT_SLOPE = range(4)  # tables of a prior, by a number of records
HALVINGS = 12  # of a prior until its slope is to be non-negative; else nothing is said of a cell
MOST_WORTH = 1 << 29  # what a cell is worth at most in whole numbers, so that sums of a few are no larger than int32
STEEP = 1e-9  # a slope that is certainly not negative


@inner
def _fill_parts(own, joint, first, records, each, known):
    """The tables of the priors of a cell and of a state of the child, for more than `first` rows of `each` record.

    The slopes are those of the bounds for weights that are not whole: no less of states, no more of cells.
    """
    for m in range(first + 1, records + 1):
        weight = m * each
        known[OWN, m], known[JOINT, m] = log_rising(own, weight), log_rising(joint, weight)
        known[OWN_SLOPE, m] = 1.0 + own * max(0.0, math.log((own + weight) / (own + 0.5)))
        known[JOINT_SLOPE, m] = min(1.0, weight / (joint + weight) + joint * weight / (joint + 1.0))


@inner
def tables_of(joint, records, task, frames):
    """The place of the tables by the prior of so many joint states of the parents, filled for so many records."""
    task, frames = borrowed((task, frames))
    at = np.int64(hashed(u64(min(joint, 9e18))) % u64(frames.priors.size))
    if frames.priors[at] != joint:
        frames.priors[at], frames.filled[at] = joint, 0
    known, own = frames.known[at], task.form.ess / joint
    each = own / task.arity
    if task.form.each != 1.0:
        _fill_parts(own, each, frames.filled[at], records, task.form.each, known)
        frames.filled[at] = max(frames.filled[at], records)
        return at
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
    counts, task, frames = borrowed((counts, task, frames))
    known = frames.known[tables_of(joint, records, task, frames)]
    cost = known[OWN, records]
    for k in range(counts.size):
        cost -= known[JOINT, counts[k]]
    return cost


@inlined
def _by_tables(counts, records, own, joint):
    """What a cell of these counts, so many records together, adds up to by the tables of a formula."""
    total = own[records]
    for k in range(counts.size):
        total -= joint[counts[k]]
    return total


@inner
def _least_of(counts, records, misfit, joint, task, frames):
    """D(u): what a cell of these counts costs at least by the prior of so many joint states, or of more."""
    counts, task, frames = borrowed((counts, task, frames))
    cost, least = _cost_of(counts, records, joint, task, frames), np.inf
    for _ in range(HALVINGS):
        known = frames.known[tables_of(joint, records, task, frames)]
        rising, falling = 0.0, known[OWN_SLOPE, records]
        for k in range(counts.size):
            rising += known[JOINT_SLOPE, counts[k]]
        if rising - falling >= STEEP:
            return max(misfit, min(least, cost))
        joint *= 2.0
        cost = _cost_of(counts, records, joint, task, frames)
        falling = frames.known[tables_of(joint, records, task, frames), OWN_SLOPE, records]
        least = min(least, cost - math.log(2.0) * max(0.0, rising - falling))
    return misfit


@inlined
def first_at(at, task, frames):
    """What the first records of a state of the child in a cell cost at least, at any Q of a node: by priors."""
    return first_of(frames.prior[at], task.of_arity, task.form)


@inner
def _firsts_of(counts, joint, task):
    """What the cell costs at least whose states have these rows, by the prior of so many joint states, or of more."""
    least = 0.0
    for k in range(counts.size):
        if counts[k]:
            least += first_cost(counts[k] * task.form.each, task.form.ess / joint, task.arity)
    return least


@inlined
def _whole(nats, task):
    """So many nats in whole numbers, rounded down; what is too much to add up is less."""
    return np.int32(max(0.0, min(MOST_WORTH, math.floor(nats * task.scale))))


@inner
def weigh(at, count, task, frames, fresh):
    """Find what those cells u of a node are worth that are among the first ones of `fresh`."""
    task, frames, fresh = borrowed((task, frames, fresh))
    cells, mlogm, each = frames.cell, task.mlogm, first_at(at, task, frames)
    joint, fixed, behind = frames.prior[at], task.form.kind == TABLES, frames.start[at] + frames.cells[at]
    table = 0 if fixed else tables_of(joint, 1, task, frames)
    for i in range(count):
        cell = cells[fresh[i]]
        counts = cell[COUNTS:]
        if fresh[i] >= behind or cell[SEEN]:  # another cell, or none, has come to lie there
            continue
        records, states, last, apart = np.int64(0), 0, 0, 0.0
        for k in range(task.arity):
            if counts[k]:
                records += counts[k]
                states += 1
                last = k
                apart += mlogm[counts[k]]
        cell[SEEN] = 1
        if states == 1:
            cell[ALONE], cell[CORRECTED] = PLAIN, last
            continue
        misfit = max(0.0, mlogm[records] - apart)
        if fixed:
            mixed = task.form.mixed[task.of_arity]
            least = _by_tables(counts, records, task.form.own[task.of_arity], task.form.joint)
            cell[ALONE] = _whole(_by_tables(counts, records, mixed, mixed), task)
            cell[CORRECTED] = _whole(least - misfit, task)
            cell[UNEXPLAINED] = _whole(misfit, task)
            continue
        if records > frames.filled[table]:
            tables_of(joint, records, task, frames)
        known = frames.known[table]
        least, slope = known[OWN, records], -known[OWN_SLOPE, records]
        for k in range(task.arity):
            least -= known[JOINT, counts[k]]
            slope += known[JOINT_SLOPE, counts[k]]
        if slope < STEEP and task.form.each != 1.0:
            least = max(misfit, _firsts_of(counts, joint, task))
        elif slope < STEEP:
            least = _least_of(counts, records, misfit, joint, task, frames)
            table = tables_of(joint, 1, task, frames)
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
def sure_cost(counts, joint, task):
    """What a cell j of these counts, which is one cell u, costs at least, so that nothing else is to be known of it; -1
    if more is. joint: of how many joint states the prior is, or of more."""
    records, states = np.int64(0), 0
    for k in range(task.arity):
        records += counts[k]
        states += counts[k] > 0
    if task.form.kind == TABLES:
        return _by_tables(counts, records, task.form.own[task.of_arity], task.form.joint)
    return first_cost(records * task.form.each, task.form.ess / joint, task.arity) if states == 1 else -1.0


@inner
def merge(source, at, task, frames):
    """Make the cells u of a node of those of a source, which may be the node itself: those that no open candidate tells
    apart are one; whether any were two.

    Rows are compared, not only their hashes.
    """
    task, frames = borrowed((task, frames))
    space = frames.space
    cells, bits, mask, origin = frames.cell, task.bits, space.mask, frames.start[source]
    slots, place, start, arity = space.slots, space.place, frames.start[at], task.arity
    for q in range(mask.size):
        mask[q] = u64(0)
    for v in range(task.arities.size):
        if frames.open[at, v]:
            for q in range(mask.size):
                mask[q] |= task.own[v, q]
    low, kept, groups, used, joined = origin, start, 0, 0, 0
    frames.pure[at], frames.sure[at] = frames.pure[source], frames.sure[source]
    for j in range(frames.groups[source]):
        high, first = frames.end[origin + j], kept
        for u in range(low, high):
            key = u64(1)
            for q in range(mask.size):
                key = extended(key, bits[cells[u, ROW], q] & mask[q])
            slot = first_slot(spread(key), slots)
            other = slots[slot] - 1
            while other >= 0 and not _meet(cells[u, ROW], cells[other, ROW], bits, mask):
                slot = next_slot(slot, slots)
                other = slots[slot] - 1
            if other >= 0:
                for k in range(COUNTS, COUNTS + arity):
                    cells[other, k] += cells[u, k]
                if cells[other, SEEN]:
                    space.fresh[joined] = other
                    joined += 1
                cells[other, SEEN] = 0
                continue
            if kept != u:
                assign(cells[kept], cells[u])
            place[used] = slot
            slots[slot] = kept + 1
            used += 1
            kept += 1
        low = high
        for i in range(used):
            slots[place[i]] = 0
        used = 0
        sure = sure_cost(cells[first, COUNTS:], frames.prior[source], task) if kept == first + 1 else -1.0
        if sure >= 0.0:
            frames.pure[at] += 1
            frames.sure[at] += sure
            kept = first
        else:
            frames.end[start + groups] = kept
            groups += 1
    frames.groups[at] = groups
    merged = kept - start < frames.cells[source]
    frames.cells[at] = kept - start
    weigh(at, joined, task, frames, space.fresh)
    return merged


@inner
def divide(task, frames):
    """Divide all rows by the bits of the mask and the root's parents: `cell` is that of each row, `counts` its records
    by the child's states; returns how many cells there are."""
    task, frames = borrowed((task, frames))
    space = frames.space
    slots, place, cell, d, found = space.slots, space.place, space.cell, task.states.size, 0
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
    for j in range(found):
        slots[place[j]] = 0
    return found


@inner
def cost_of_cells(cells, states, counts, task, frames):
    """What the first cells of these counts (.., r), some of which may be empty, cost together if the parents have so
    many joint states."""
    counts, task, frames = borrowed((counts, task, frames))
    cost, table, joint, r = 0.0, 0, states, task.arity
    if task.form.kind == TABLES:
        own, each = task.form.own[task.of_arity], task.form.joint
    else:
        if task.form.kind != SPREAD:
            joint = 0.0
            for j in range(cells):
                joint += counts[j].any()
        table = tables_of(joint, 1, task, frames)
        own, each = frames.known[table, OWN], frames.known[table, JOINT]
    for j in range(cells):
        records = np.int64(0)
        for k in range(r):
            records += counts[j, k]
        if task.form.kind != TABLES and records > frames.filled[table]:
            tables_of(joint, records, task, frames)
        cost += own[records]
        for k in range(r):
            cost -= each[counts[j, k]]
    return cost
