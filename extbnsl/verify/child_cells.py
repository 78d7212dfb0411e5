"""Kernels over the cells of a node of `child_search`, and its bound. A node is parents P and candidates U: it stands
for all Q with P < Q <= P + U.

Cells j, the joint states of P, hold cells u, those of P + U; a cell of Q consists of some u of one j. c_j is how many
states of the child occur in j, d_u how many in u, r how many it has. No prior of a Q is above the largest prior b.

- M(u) = m H(child | u), for m records: by no prior, and after no other records, has u a larger probability.
- D(u), which u costs at least as the first records of a cell: d_u ln r, as the first record of each state has the
  predictive probability (a / r) / (a + records before) <= 1 / r; and M(u). By a prior a, ln of the probability of u
  grows with ln a by a sum over states of (a / r) / (a / r + i), i below the records of the state, less the sum of
  a / (a + i), i < m: that is at least d_u - 1 - a (1 + ln m). Where this is not negative for b, it is for no smaller
  prior: then D(u) is the cost of u by b. Of cells of one state no more than ln r is used.

  Where rows are parts of records these sums are a (psi(a + m) - psi(a)), for psi = (ln G)'. With x = a / r those of
  states are at least 1 for m >= 1, and m / (x + m) + x m / (x + 1) below, which falls with x; the other is at most 1,
  or 1 + a ln((a + m) / (a + 1/2)). And ln r is what `first_cost` says of the lightest row.

By priors (BDeu, BDs) what the cells of Q inside j cost is at least the larger of

1. c_j ln r + D(u) - d_u ln r for each u. Let the cell of Q with u begin with it. Of the other records, there and in the
   other cells, the first ones of each state cost ln r, and c_j - d_u states have one.
2. D(u) - M(u) + the sum of M over all cells inside j, for each u: what does not begin a cell costs M.

By tables (K2, fNML) a cell costs own(m) - the sum of each_own(m_k), by the same tables whatever the parents are. Let
s(m) = own(m) - each_own(m) be what m records of one state cost: no less in several cells than in one (a regret is
subadditive; by K2 s grows ever more slowly). What else a cell costs, own(m) - the sum of own(m_k), is at least h, the
same with urn(m) = ln of b (b + 1) .. (b + m - 1) for own: by K2 b = r, where it is the same; by fNML b = r / 2, as
own - urn is convex there. h of two u in one cell is no less than that of both apart, as b >= 1. (between.py of the
solver has proofs of both; tests check them number by number.) So what the cells of Q inside j cost is the larger of

1. the sum of s(c_k) over the states, of which j has c_k records, and of h(u) over all u.
2. the sum of M(u) over the u of several states, and s of what records the others have of each state, or D(u) - M(u) of
   one u: records beside others cost no less than their M, by fNML too, as a regret does not fall with more records.

The bound of all Q with a candidate v is the sum of these over the cells of P + v, whose u are those of P + U, as v is
in both. So one pass over all u finds it for all v, where each state of v is a column: what u has goes to the columns
that it has. A cell j that is one u of one state costs ln r, is not told apart by anything, and is only counted.

The sums are of whole numbers: nats by a power of two, rounded down. So they are no more than what they stand for, but
for what a D(u) may be off.
"""

import math

import numpy as np

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inlined, inner
from extbnsl.verify.child_frames import SUM_BITS
from extbnsl.verify.prior_tables import table
from extbnsl.verify.set_frames import FIXED, OCCURRING

MOST_WORTH = 1 << SUM_BITS  # of one cell
MOST_STATES = 1e300  # of parents: more are no less prior, but none that a float holds
ODD = u64(0x9E3779B97F4A7C15)  # mixes the words of a key; where keys lead to one slot the words are compared


@inlined
def _slot_of(row, kept_rows, task, space):
    """Where the cell with a row's columns of the mask is in the table, or may be."""
    slots, mask, bits = space.slots, space.mask, task.bits
    key = u64(0)
    for w in range(mask.size):
        key = (key ^ (bits[row, w] & mask[w])) * ODD
        key ^= key >> u64(32)
    slot = ((key & u64(0xFFFFFFFF)) * u64(slots.size)) >> u64(32)
    while slots[slot] > 0:
        other, differ = kept_rows[slots[slot] - 1], u64(0)
        for w in range(mask.size):
            differ |= (bits[row, w] ^ bits[other, w]) & mask[w]
        if differ == 0:
            break
        slot = slot + u64(1) if slot + u64(1) < u64(slots.size) else u64(0)
    return slot


@inner
def regroup(source, top, v, task, frames, space):
    """Make the cells of a node of those of a source: j divided by parent v, if that is not negative, and those u one
    that no candidate of the node tells apart. The source may be the node itself, if there is no parent to divide by."""
    row, counts, only, ends = frames.row[source], frames.counts[source], frames.only[source], frames.ends[source]
    to_row, to_counts, to_only, to_ends = frames.row[top], frames.counts[top], frames.only[top], frames.ends[top]
    slots, mask, states = space.slots, space.mask, space.tally.size
    for w in range(mask.size):
        mask[w] = 0
        for y in range(task.marks.shape[0]):
            if frames.open[top, y]:
                mask[w] |= task.marks[y, w]
    low, kept, cells, pure, most, most_pure = 0, 0, 0, frames.pure[source], 0, frames.largest[source, 1]
    for j in range(frames.cells[source]):
        high = ends[j]
        for s in range(task.occurring[v] if v >= 0 else 1):
            begin, records = kept, 0
            for u in range(low, high):
                if v >= 0 and task.codes[v, row[u]] != s:
                    continue
                slot = _slot_of(row[u], to_row, task, space)
                other = slots[slot] - 1
                if other < 0:
                    other = kept
                    to_row[kept], to_only[kept] = row[u], only[u]
                    space.place[kept], slots[slot] = slot, kept + 1
                    kept += 1
                    for k in range(states):
                        to_counts[other, k] = counts[u, k]
                        records += counts[u, k]
                    continue
                for k in range(states):
                    to_counts[other, k] += counts[u, k]
                    records += counts[u, k]
                if to_only[other] != only[u]:
                    to_only[other] = -1
            for u in range(begin, kept):
                slots[space.place[u]] = 0
            if kept == begin + 1 and to_only[begin] >= 0:
                space.pure[pure] = records
                most_pure = max(most_pure, records)
                pure += 1
                kept = begin
            elif kept > begin:
                to_ends[cells] = kept
                most = max(most, records)
                cells += 1
        low = high
    frames.cells[top], frames.pure[top] = cells, pure
    frames.largest[top, 0], frames.largest[top, 1] = most, most_pure


@inlined
def tables_by(prior, top, task, frames, space):
    """What records of a cell of the parents, and of the child's states in it, add up to; by a prior of the first, or
    by the tables of the task."""
    if task.kind <= FIXED:
        return task.own, task.each_own
    upto = max(frames.largest[top, 0], frames.largest[top, 1])
    own = table(prior, upto, space.tables)
    each = table(prior / task.arity, upto, space.tables)
    return space.tables.sums[own], space.tables.sums[each]


@inlined
def largest_prior(top, task, frames):
    """No Q of a node has a larger prior: of so many parents at least as are not known, and one more than P has."""
    if task.kind == OCCURRING:
        return task.ess / (frames.cells[top] + frames.pure[top])
    states, more = frames.states[top], max(1, task.known + 1 - top)
    for y in task.by_arity:
        if more > 0 and frames.open[top, y]:
            states *= task.arities[y]
            more -= 1
    return task.ess / min(states, MOST_STATES)


@inlined
def _whole(nats, task):
    """So many nats in whole numbers, rounded down."""
    return np.int32(min(MOST_WORTH, math.floor(max(0.0, nats) * task.scale)))


@inlined
def _grows(u, m, states, prior, top, task, frames):
    """Whether the probability of a cell u of m rows, which has so many states, grows up to this prior."""
    if task.part_of == 1.0:
        return (states - 1) * m >= prior * (m + task.mlogm[m])
    joint, rise, weight = prior / task.arity, 0.0, m * task.part_of
    for k in range(frames.counts.shape[2]):
        own = frames.counts[top, u, k] * task.part_of
        rise += min(1.0, own / (joint + own) + joint * own / (joint + 1.0))
    return rise - 1.0 >= prior * max(0.0, math.log((prior + weight) / (prior + 0.5)))


@inner
def weigh(top, task, frames, space):
    """Find what each u of a node is worth."""
    prior, counts, mlogm, fixed = largest_prior(top, task, frames), frames.counts[top], task.mlogm, task.kind <= FIXED
    own, each = tables_by(prior, top, task, frames, space)
    for u in range(frames.ends[top, frames.cells[top] - 1] if frames.cells[top] else 0):
        if frames.only[top, u] >= 0:
            continue
        m, states, apart, cost, alike = 0, 0, 0.0, 0.0, 0.0
        for k in range(space.tally.size):
            if counts[u, k] > 0:
                m += counts[u, k]
                states += 1
                apart += mlogm[counts[u, k]]
                cost += each[counts[u, k]]
                alike += task.urn[counts[u, k]] if fixed else 0.0
        misfit, least = max(0.0, mlogm[m] - apart), states * task.opening
        if fixed or _grows(u, m, states, prior, top, task, frames):
            least = own[m] - cost
        least = max(least, misfit)
        frames.alone[top, u] = _whole(task.urn[m] - alike if fixed else least - states * task.opening, task)
        frames.corrected[top, u] = _whole(least - misfit, task)
        frames.misfit[top, u] = _whole(misfit, task)
    frames.stale[top] = True


@inlined
def _see(k, bits, seen, space):
    """A state of the child is in columns: how many states are listed by now."""
    new = not space.there[k]
    if new:
        space.there[k], space.listed[seen] = True, k
    for w in range(bits.size):
        space.present[k, w] = bits[w] if new else space.present[k, w] | bits[w]
    return seen + np.int64(new)


@inner
def _add(worth, inside, alone, corrected, misfit):
    """Add what a cell is worth to the columns that it has."""
    own_alone, own_corrected, own_misfit = worth
    for c in range(inside.size):
        own = np.int32(inside[c])
        alone[c] = max(alone[c], own_alone & own)
        corrected[c] = max(corrected[c], own_corrected & own)
        misfit[c] += own_misfit & own


@inner
def _add_bits(word, b, often):
    """Add 2^b to each of 64 columns that a word has."""
    for c in range(64):
        often[c] += np.int32(((word >> u64(c)) & u64(1)) << u64(b))


@inner
def _add_larger(each, often, alone, corrected, misfit, total):
    """Add to the totals of columns the larger of what a cell costs there by the two rules."""
    for c in range(total.size):
        total[c] += max(often[c] * each + alone[c], misfit[c] + corrected[c])


@inner
def _clear(numbers):
    for c in range(numbers.size):
        numbers[c] = 0


@inlined
def _count_on(seen, space):
    """Count in the planes each column once for each listed state that it has."""
    for i in range(seen):
        for w in range(space.mask.size):
            carry, b = space.present[space.listed[i], w], 0
            while carry:
                both = space.planes[b, w] & carry
                space.planes[b, w] ^= carry
                carry = both
                b += 1


@inlined
def _read_off(space):
    """How often the planes have counted each column; they are zero then."""
    _clear(space.often)
    for b in range(len(space.planes)):
        for w in range(space.mask.size):
            if space.planes[b, w]:
                _add_bits(space.planes[b, w], b, space.often[64 * w : 64 * w + 64])
                space.planes[b, w] = 0


@inlined
def _close_cell(each, seen, several, space):
    """Add to the totals what a cell j costs, which has the listed states in some columns; if none of its cells has
    several of them, to what the planes count."""
    if several:
        _clear(space.often)
        for i in range(seen):
            for w in range(space.mask.size):
                _add_bits(space.present[space.listed[i], w], 0, space.often[64 * w : 64 * w + 64])
        _add_larger(each, space.often, space.alone, space.corrected, space.misfit, space.total)
        _clear(space.alone)
        _clear(space.corrected)
        _clear(space.misfit)
    else:
        _count_on(seen, space)
    for i in range(seen):
        space.there[space.listed[i]] = False


@inner
def _bound_by_priors(top, task, frames, space):
    """Add to the totals of columns what the cells that are kept cost at least, by priors, less what the planes count;
    returns what those cost in all columns that are one u."""
    row, only, counts, each = frames.row[top], frames.only[top], frames.counts[top], np.int32(task.each)
    surely, low = frames.pure[top] * task.each, 0
    for j in range(frames.cells[top]):
        high, seen, several = frames.ends[top, j], 0, False
        if high == low + 1:
            surely += frames.misfit[top, low] + np.int64(frames.corrected[top, low])
            low = high
            continue
        for u in range(low, high):
            bits = task.bits[row[u]]
            if only[u] >= 0:
                seen = _see(only[u], bits, seen, space)
                continue
            several = True
            for k in range(space.tally.size):
                if counts[u, k] > 0:
                    seen = _see(k, bits, seen, space)
            worth = frames.alone[top, u], frames.corrected[top, u], frames.misfit[top, u]
            _add(worth, task.inside[row[u]], space.alone, space.corrected, space.misfit)
        low = high
        _close_cell(each, seen, several, space)
    _read_off(space)
    return surely


@inner
def _add_counts(records, inside, counts):
    """Add records to the columns that have them."""
    for c in range(inside.size):
        counts[c] += records & np.int32(inside[c])


@inner
def _close_counted(plain, mixed, task, space):
    """Add to the totals of columns the larger of what a cell costs there by the two rules of tables."""
    worth = task.worth_alone
    for c in range(space.total.size):
        apart = np.int64(0)
        for k in range(len(plain)):
            apart += worth[plain[k, c]]
        if mixed:
            every = np.int64(space.alone[c])
            for k in range(len(plain)):
                every += worth[plain[k, c] + space.several[k, c]]
                space.several[k, c] = 0
            apart = max(every, space.misfit[c] + max(apart, np.int64(space.corrected[c])))
            space.alone[c] = space.corrected[c] = space.misfit[c] = 0
        for k in range(len(plain)):
            plain[k, c] = 0
        space.total[c] += apart


@inner
def _bound_by_tables(top, task, frames, space):
    """The same by tables."""
    row, only, counts, surely, low = frames.row[top], frames.only[top], frames.counts[top], np.int64(0), 0
    for i in range(frames.pure[top]):
        surely += task.worth_alone[space.pure[i]]
    for j in range(frames.cells[top]):
        high, mixed = frames.ends[top, j], False
        if high == low + 1:
            surely += frames.misfit[top, low] + np.int64(frames.corrected[top, low])
            low = high
            continue
        for u in range(low, high):
            inside = task.inside[row[u]]
            for k in range(space.tally.size):
                if counts[u, k] > 0:
                    _add_counts(counts[u, k], inside, space.plain[k] if only[u] >= 0 else space.several[k])
            if only[u] < 0:
                mixed, corrected, misfit = True, frames.corrected[top, u], frames.misfit[top, u]
                for c in range(inside.size):
                    own = np.int32(inside[c])
                    space.alone[c] += frames.alone[top, u] & own
                    space.corrected[c] = max(space.corrected[c], corrected & own)
                    space.misfit[c] += misfit & own
        low = high
        _close_counted(space.plain, mixed, task, space)
    return surely


@inner
def bound(top, task, frames, space):
    """Find the bound of all Q of a node with each of its candidates."""
    if task.kind <= FIXED:
        surely = _bound_by_tables(top, task, frames, space)
    else:
        surely = _bound_by_priors(top, task, frames, space)
    for v in range(task.marks.shape[0]):
        if frames.open[top, v]:
            found = surely
            for c in range(task.first[v], task.first[v + 1]):
                found += space.total[c] + space.often[c] * np.int64(task.each)
            frames.bound[top, v] = found / task.scale
    _clear(space.total)
    frames.stale[top] = False
