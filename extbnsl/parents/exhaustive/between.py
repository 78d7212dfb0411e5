"""Kernels of the search child by child for scores of cells: all parent sets between two.

A node is a parent set P and a set U of candidates that may be added: it stands for all Q with P < Q <= P + U. A family
is of interest if it costs less than each of its subsets and the slack, and less than its threshold T(Q) = limit + l(Q):
l(Q) is what Q counts for cuts with multipliers (bounds/multipliers.py). T falls when parents are added, so no Q here is
of interest that costs as much as T(P), or as the cheapest known family inside P and the slack.

Within a cell j of P (a joint state of it) lie the cells u of P + U; a Q divides j into cells that consist of such u.
Let c_j be the child's states in j, d_u those in u, r all there are, M(u) = m H(X | u) the misfit of its m records, and
D(u) the least that u costs as a cell of its own by any prior that a Q may have. By priors (BDeu, BDs) what the cells of
Q inside j cost together is at least

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
columns of the states that u has. Of most cells nothing counts but the child's one state: for these it is a bit that is
set. If it reaches what Q must cost less than, T(P + v) for one, no Q with v is of interest here, and U loses v. Then
cells u that nothing tells apart any more become one, so that others may reach it. When none does, the search branches
on the first candidate: U - v, and then P + v, so that all subsets of a parent set come before it. Those come first that
tell most records apart: without them U is soon hopeless.

**D(u).** The log probability of u by a prior a for each state of the parents, a / r for each of the child, is unimodal
in a (Levin and Reeds 1977, *Compound multinomial likelihood functions are unimodal*, Annals of Statistics 5). Its
derivative by ln a is

    slope(a) = sum over the states k and i < m_k of (a / r) / (a / r + i) - sum over i < m of a / (a + i).

Every Q of a node has a prior of at most b. If slope(b) >= 0 the probability rises up to b, and D(u) is the cost at b.
Else that is so from some lower a on, and for an interval [lo, hi] above it the log probability is at most that at lo
and ln(hi / lo) (sum of the first terms at hi - sum of the second at lo), as each of them rises with a.

By BDeu b = ess / (q(P) x the product of the least arities of as many candidates as a Q of interest has more, one at
least); by BDs b = ess / the cells of P that occur, as they become no fewer.

**By tables** (K2, fNML) a cell of m records costs own(m) - sum over k of joint(m_k) = g + sum over k of s(m_k), for
s(m) = own(m) - joint(m), what m records of one state cost, and g = own(m) - sum over k of own(m_k). With K2 exp own(m)
is r (r + 1) .. (r + m - 1), with fNML S(m) = m^m C(m, r): the sum over all sequences of m records of the product of the
m_k^m_k. With both

- s is subadditive: records of one state cost no less in several cells than in one. With K2 the increments
  ln((r + i) / (1 + i)) of s fall; with fNML see scores/qnml.py.
- g >= h, which is the same of a table `mixed` in place of own: ln a (a + 1) .. (a + m - 1). With K2 a = r, so h = g.
  With fNML a = r / 2. S(m) / exp mixed(m) is the mean, over shares t_k with a Dirichlet distribution of 1/2 each, of
  the binomial convolution of r sequences t_k^m x(m), for x(m) = m^m / (1/2 3/2 .. (m - 1/2)). x is log-convex: ratios
  (m + 1)^(m + 1) / m^m / (m + 1/2) rise with m, as ln(1 + 1/m) > 1 / (m + 1/2). So are such convolutions (Davenport
  and Polya 1949, *On the product of two power series*, Canadian Journal of Mathematics 1), and so are means of them.
  Hence own - mixed is convex, 0 at 0, and superadditive.
- h(u, v) >= h(u) + h(v), for u and v in one cell. h of several states is the sum of h of two, a state and those before
  it. So let u have (b, c) and v (d, e) records of two, and L be the difference. If b > 0 and b e >= c d, one record
  less of b takes ln (A + c + d + e) A / ((A + c) (A + d)) from L, for A = a + b - 1. That is not negative, as
  A e >= b e >= c d (a >= 1). Where b e <= c d the same holds of c. At the end u or v, or a state, has no record, and
  L = 0.

Let c_k be the records in j of state k, p_k those in cells u of one state. The cells of Q inside j cost at least

1. sum over k of s(c_k) + sum over u of h(u): each cell the s of its records and the h of its u.
2. the sum of M(u) over the u of several states, and the larger of sum over k of s(p_k), and of D(u) - M(u) for each
   such u. For records that join others cost at least their M. With K2 no records have a larger probability than by
   their own frequencies. With fNML M is superadditive, and C(m, r) does not fall with m: the largest likelihoods of the
   r sequences with one record more add up to no less than that of the sequence.

Cells j that are one u cost D(u), whatever Q is. Here nothing depends on Q, so that what u is worth is found once.

**Weights that are not whole.** Rows are parts of records then, all counts m are weights, and slope has a (psi(a + m) -
psi(a)) in place of each sum, for psi = (ln G)'. What was said of largest likelihoods holds as it is. With what
scores/dirichlet.py shows of g(m; a), what weight m of one state costs at least as the first in a cell:

- By priors ln r becomes g(m; b), but ln r from a record on: in rule 1 of the lightest row, since what a cell lacks is
  some rows; of a cell j of one state that of all its records. Of other records of u none has a cost below 0.
- Of u the log probability rises up to b where the sum over its states of
  the least e(m_k; a / r) is more than the largest e(m; a), for all a <= b. The first are at least 1 for m_k >= 1, as e
  rises to 1 or more; below, e falls with a, and psi(x + m) - psi(x) >= 1 / x - 1 / (x + m) + m / (x + 1), as psi is
  concave. The last is at most 1 + b ln((b + m) / (b + 1/2)), or 1, as ln(x - 1/2) <= psi(x) <= ln x. Else D(u) is the
  sum of g over its states, or M(u).
- By tables (K2) s is concave, as g is. h(u, v) >= h(u) + h(v) holds of weights. The derivative of L by b is psi(a + b +
  c + d + e) - psi(a + b + d) - psi(a + b + c) + psi(a + b). It is not negative where b e >= c d, as psi(a + exp t) is
  convex in t: x psi'(a + x) is the mean of t exp(-(a - 1) t) / (exp t - 1), which falls with t, over t with an
  exponential distribution of rate x. So where b e > c d less of b, where b e < c d less of c, and where they are equal
  less of both in proportion takes nothing from L that is negative, down to L = 0.

The sums are of whole numbers: nats times a power of two, rounded down. So they do not depend on their order, and are no
more than what they stand for.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import assign, flip, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.hashing import extended, first_slot, hashed, next_slot, spread
from extbnsl.parents.best_score import first_inside, scratch
from extbnsl.parents.exhaustive.cell_frames import ALONE, CORRECTED, COUNTS, PLAIN, ROW, SEEN, UNEXPLAINED
from extbnsl.parents.priced.cuts import count_root, count_with, inherit
from extbnsl.scores.formula import SPREAD, TABLES, first_of
from extbnsl.scores.rows import first_cost, log_rising

OVER, FULL, CROWDED = range(3)  # why a search has returned: it is over; no room for families, or for cells
OWN, JOINT, OWN_SLOPE, JOINT_SLOPE = range(4)  # tables of a prior, by a number of records
HALVINGS = 12  # of a prior until its slope is to be non-negative; else nothing is said of a cell
MOST_WORTH = 1 << 29  # what a cell is worth at most in whole numbers, so that sums of a few are no larger than int32
STEEP = 1e-9  # a slope that is certainly not negative


class CellSpace(NamedTuple):
    """Working space: slots (2 d,) int64 of a hash table, zero between uses; place, cell (d,), counts (d, r) int64 of
    cells; fresh (d,) int64: cells to be weighed; present (r, w) uint64: in which columns a state of the child is;
    alone, corrected, unexplained, states, plain (64 w,) int32, total (64 w,) int64 of columns; ones, others (r, 64 w)
    int32: by tables, their records by state, in cells of one state and in others; tally (most states, r),
    inside (most states,) int64 of a candidate's states; mask (w,) uint64; times (m,) int64, zero between uses."""

    slots: NDArray[np.int64]
    place: NDArray[np.int64]
    cell: NDArray[np.int64]
    counts: NDArray[np.int64]
    fresh: NDArray[np.int64]
    present: NDArray[np.uint64]
    alone: NDArray[np.int32]
    corrected: NDArray[np.int32]
    unexplained: NDArray[np.int32]
    states: NDArray[np.int32]
    plain: NDArray[np.int32]
    total: NDArray[np.int64]
    ones: NDArray[np.int32]
    others: NDArray[np.int32]
    tally: NDArray[np.int64]
    inside: NDArray[np.int64]
    mask: NDArray[np.uint64]
    times: NDArray[np.int64]


@inlined
def space_of(task):
    """Space for the rows of a task."""
    d, m = task.states.size, task.arities.size
    words = task.bits.shape[1]
    columns = 64 * words
    counted = columns if task.form.kind == TABLES else 0
    return CellSpace(
        np.zeros(2 * d, np.int64),
        np.zeros(d, np.int64),
        np.zeros(d, np.int64),
        np.zeros((d, task.arity), np.int64),
        np.zeros(d, np.int64),
        np.zeros((task.arity, words), np.uint64),
        np.zeros(columns, np.int32),
        np.zeros(columns, np.int32),
        np.zeros(columns, np.int32),
        np.zeros(columns, np.int32),
        np.zeros(columns, np.int32),
        np.zeros(columns, np.int64),
        np.zeros((task.arity, counted), np.int32),
        np.zeros((task.arity, counted), np.int32),
        np.zeros((task.arities.max() if m else 1, task.arity), np.int64),
        np.zeros(task.arities.max() if m else 1, np.int64),
        np.zeros(words, np.uint64),
        np.zeros(m, np.int64),
    )


@inner
def _fill_parts(own, joint, first, records, each, known):
    """The tables of the priors of a cell and of a state of the child, for more than `first` rows of `each` record.

    The slopes are those of the module's bounds for weights that are not whole: no less of states, no more of cells.
    """
    for m in range(first + 1, records + 1):
        weight = m * each
        known[OWN, m], known[JOINT, m] = log_rising(own, weight), log_rising(joint, weight)
        known[OWN_SLOPE, m] = 1.0 + own * max(0.0, math.log((own + weight) / (own + 0.5)))
        known[JOINT_SLOPE, m] = min(1.0, weight / (joint + weight) + joint * weight / (joint + 1.0))


@inner
def _tables_of(joint, records, task, frames):
    """The place of the tables by the prior of so many joint states of the parents, filled for so many records."""
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
    known = frames.known[_tables_of(joint, records, task, frames)]
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
def _first_at(at, task, frames):
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
def _weigh(at, count, task, frames, fresh):
    """Find what those cells u of a node are worth that are among the first ones of `fresh`."""
    cells, mlogm, each = frames.cell, task.mlogm, _first_at(at, task, frames)
    joint, fixed, behind = frames.prior[at], task.form.kind == TABLES, frames.start[at] + frames.cells[at]
    table = 0 if fixed else _tables_of(joint, 1, task, frames)
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
            _tables_of(joint, records, task, frames)
        known = frames.known[table]
        least, slope = known[OWN, records], -known[OWN_SLOPE, records]
        for k in range(task.arity):
            least -= known[JOINT, counts[k]]
            slope += known[JOINT_SLOPE, counts[k]]
        if slope < STEEP and task.form.each != 1.0:
            least = max(misfit, _firsts_of(counts, joint, task))
        elif slope < STEEP:
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
def _sure(counts, joint, task):
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
        sure = _sure(cells[first, COUNTS:], frames.prior[source], task) if kept == first + 1 else -1.0
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
    _weigh(at, joined, task, frames, space.fresh)
    return merged


@inner
def _add_up(alone, corrected, misfit, own, to_alone, to_corrected, to_unexplained):
    """Add what a cell is worth to its columns, of which `own` is -1; of others it is 0."""
    for c in range(own.size):
        inside = np.int32(own[c])
        to_alone[c] = max(to_alone[c], alone & inside)
        to_corrected[c] = max(to_corrected[c], corrected & inside)
        to_unexplained[c] += misfit & inside


@inner
def _count_states(present, first, states):
    """Add to each column how many of the child's states are there, from word `first` on."""
    for k in range(len(present)):
        for q in range(first, present.shape[1]):
            word = present[k, q]
            own = states[64 * q : 64 * q + 64]
            for b in range(64):
                own[b] += np.int32((word >> u64(b)) & u64(1))


@inlined
def _by_prior(at, begin, task, frames, space):
    """Add to the columns, from one on, what the cells j of a node cost at least by priors, less `plain` times ln r."""
    cells, marks, present, total = frames.cell, task.bits, space.present, space.total
    columns, low, first = task.first[-1], frames.start[at], begin >> 6
    each = np.int32(math.floor(_first_at(at, task, frames) * task.scale))
    alone, corrected, unexplained = (
        space.alone[begin:columns],
        space.corrected[begin:columns],
        space.unexplained[begin:columns],
    )
    for j in range(frames.groups[at]):
        high, several = frames.end[frames.start[at] + j], False
        for k in range(len(present)):
            for q in range(first, marks.shape[1]):
                present[k, q] = u64(0)
        for u in range(low, high):
            row = marks[cells[u, ROW]]
            if cells[u, ALONE] == PLAIN:
                own = present[cells[u, CORRECTED]]
                for q in range(first, row.size):
                    own[q] |= row[q]
                continue
            if not several:
                several = True
                for c in range(alone.size):
                    alone[c] = corrected[c] = unexplained[c] = 0
            for k in range(len(present)):
                if cells[u, COUNTS + k]:
                    for q in range(first, row.size):
                        present[k, q] |= row[q]
            own = task.masks[cells[u, ROW]][begin:]
            _add_up(cells[u, ALONE], cells[u, CORRECTED], cells[u, UNEXPLAINED], own, alone, corrected, unexplained)
        low = high
        if not several:
            _count_states(present, first, space.plain)
            continue
        for c in range(64 * first, total.size):
            space.states[c] = 0
        _count_states(present, first, space.states)
        states, own = space.states[begin:columns], total[begin:columns]
        for c in range(alone.size):
            own[c] += max(states[c] * each + alone[c], unexplained[c] + corrected[c])


@inlined
def _add_records(records, own, to):
    """Add records to their columns."""
    for c in range(own.size):
        to[c] += records & np.int32(own[c])


@inner
def _add_mixed(mixed, corrected, misfit, own, to_mixed, to_corrected, to_misfit):
    """Add what a cell of several states is worth to its columns."""
    for c in range(own.size):
        inside = np.int32(own[c])
        to_mixed[c] += mixed & inside
        to_corrected[c] = max(to_corrected[c], corrected & inside)
        to_misfit[c] += misfit & inside


@inlined
def _add_two(one, other, both, own, others, to):
    """Add what two cells of one state are worth each, or in one cell, to their columns."""
    for c in range(own.size):
        inside, apart = np.int32(own[c]), np.int32(others[c])
        to[c] += (one & inside) + (other & apart) - ((one + other - both) & inside & apart)


@inlined
def _add_single(of_one, records, to):
    """Add what records of one state are worth to their columns, where there are none then."""
    for c in range(records.size):
        to[c] += of_one[records[c]]
        records[c] = 0


@inner
def _by_tables_of(at, begin, task, frames, space):
    """Add to `plain`, from a column on, what the cells j of a node cost at least by tables, in whole numbers."""
    cells, low, columns, of_one = frames.cell, frames.start[at], task.first[-1], task.of_one
    ones, others, total = space.ones[:, begin:columns], space.others[:, begin:columns], space.plain[begin:columns]
    mixed, corrected, unexplained, apart = (
        space.alone[begin:columns],
        space.corrected[begin:columns],
        space.unexplained[begin:columns],
        space.states[begin:columns],
    )
    for j in range(frames.groups[at]):
        high, several = frames.end[frames.start[at] + j], False
        if high == low + 2 and cells[low, ALONE] == PLAIN and cells[low + 1, ALONE] == PLAIN:
            k, n = cells[low, CORRECTED], cells[low + 1, CORRECTED]
            one, other = cells[low, COUNTS + k], cells[low + 1, COUNTS + n]
            both = of_one[one + other] if k == n else of_one[one] + of_one[other]
            own = task.masks[cells[low, ROW]][begin:]
            _add_two(of_one[one], of_one[other], both, own, task.masks[cells[low + 1, ROW]][begin:], total)
            low = high
            continue
        for u in range(low, high):
            own = task.masks[cells[u, ROW]][begin:]
            if cells[u, ALONE] == PLAIN:
                k = cells[u, CORRECTED]
                _add_records(cells[u, COUNTS + k], own, ones[k])
                continue
            if not several:
                several = True
                for c in range(mixed.size):
                    mixed[c] = corrected[c] = unexplained[c] = apart[c] = 0
            for k in range(len(ones)):
                if cells[u, COUNTS + k]:
                    _add_records(cells[u, COUNTS + k], own, others[k])
            _add_mixed(cells[u, ALONE], cells[u, CORRECTED], cells[u, UNEXPLAINED], own, mixed, corrected, unexplained)
        low = high
        if not several:
            for k in range(len(ones)):
                _add_single(of_one, ones[k], total)
            continue
        for k in range(len(ones)):
            for c in range(total.size):
                others[k, c] += ones[k, c]
            _add_single(of_one, ones[k], apart)
            _add_single(of_one, others[k], mixed)
        for c in range(total.size):
            total[c] += max(mixed[c], unexplained[c] + max(apart[c], corrected[c]))


@inner
def _bound(at, task, frames, space):
    """Find the bound of all Q of a node with each of the open candidates; see the module."""
    begin, total, each = 0, space.total, np.int64(math.floor(_first_at(at, task, frames) * task.scale))
    each = np.int64(1) if task.form.kind == TABLES else each  # `plain` has whole numbers
    while begin < task.arities.size and not frames.open[at, begin]:
        begin += 1
    begin = task.first[begin]  # the first column of an open candidate
    for c in range(64 * (begin >> 6), total.size):
        total[c] = space.plain[c] = 0
    if task.form.kind == TABLES:
        _by_tables_of(at, begin, task, frames, space)
    else:
        _by_prior(at, begin, task, frames, space)
    for v in range(task.arities.size):
        if frames.open[at, v]:
            found = np.int64(0)
            for c in range(task.first[v], task.first[v + 1]):
                found += total[c] + space.plain[c] * each
            frames.bound[at, v] = frames.sure[at] + found / task.scale
    frames.stale[at] = False


@inlined
def _limits(at, task, frames):
    """What a Q of a node costs less than if it is of interest: by the families inside P, and by l(P)."""
    return frames.best[at] + task.slack + task.margin, task.limit + frames.counted[at] + task.margin


@inner
def _narrowed(at, task, frames, space):
    """Take the hopeless candidates from a node, until none is; returns the first one, or -1 if none is left."""
    while True:
        if frames.stale[at]:
            _bound(at, task, frames, space)
        (cheapest, limit), chosen, closed = _limits(at, task, frames), -1, False
        for v in range(task.arities.size):
            if frames.open[at, v]:
                if frames.bound[at, v] >= min(cheapest, limit - frames.gain[at, v]):
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
    """What P costs."""
    for q in range(space.mask.size):
        space.mask[q] = u64(0)
        for i in range(1, at + 1):
            if frames.path[i] >= 0:
                space.mask[q] |= task.own[frames.path[i], q]
    return cost_of_cells(divide(task, frames, space), frames.joint[at], space.counts, task, frames)


@inner
def divide(task, frames, space):
    """Divide all rows by the bits of the mask and the root's parents: `cell` is that of each row, `counts` its records
    by the child's states; returns how many cells there are."""
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
    cost, table, joint, r = 0.0, 0, states, task.arity
    if task.form.kind == TABLES:
        own, each = task.form.own[task.of_arity], task.form.joint
    else:
        if task.form.kind != SPREAD:
            joint = 0.0
            for j in range(cells):
                joint += counts[j].any()
        table = _tables_of(joint, 1, task, frames)
        own, each = frames.known[table, OWN], frames.known[table, JOINT]
    for j in range(cells):
        records = np.int64(0)
        for k in range(r):
            records += counts[j, k]
        if task.form.kind != TABLES and records > frames.filled[table]:
            _tables_of(joint, records, task, frames)
        cost += own[records]
        for k in range(r):
            cost -= each[counts[j, k]]
    return cost


@inner
def _cost_at_least(at, task, frames, space):
    """What P costs at least: the cells that are not kept count what any costs at least."""
    total, low, cells, end, start = space.tally[0], frames.start[at], frames.cell, frames.end, frames.start[at]
    own, each = task.form.own[task.of_arity] if task.form.kind == TABLES else task.mlogm, task.form.joint
    cost, table = frames.sure[at], 0
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
def _leave_out(at, v, task, frames, space):
    """Make node at + 1 of node `at`: the same parents, without candidate v."""
    after = at + 1
    for k in range(task.arities.size):
        frames.open[after, k] = frames.open[at, k] and k != v
        frames.bound[after, k] = frames.bound[at, k]
    frames.left[after], frames.size[after], frames.path[after] = frames.left[at] - 1, frames.size[at], -1
    frames.joint[after], frames.prior[after], frames.best[after] = frames.joint[at], frames.prior[at], frames.best[at]
    inherit(at, frames)
    frames.start[after], frames.chosen[after] = frames.start[at] + frames.cells[at], -1
    frames.stale[after] = _merge(at, after, task, frames, space)


@inner
def _enter(at, v, task, frames, space):
    """Make node at + 1 of node `at` and candidate v."""
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
            sure = _sure(tally[s], frames.prior[at], task) if inside[s] == 1 else -1.0
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
    _weigh(after, fresh, task, frames, space.fresh)


@njit
def open_root(open_, joint, size, task, frames):
    """Put parents on the stack, of which so many were added and which have so many joint states, and the candidates
    that are open; returns what they cost."""
    open_, task, frames = borrowed((open_, task, frames))
    space, d, m, cells = space_of(task), task.states.size, task.arities.size, frames.cell
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
    _weigh(0, d, task, frames, space.fresh)
    _merge(0, 0, task, frames, space)
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

    found: varsets (f, bytes) uint8 and costs (f,) of families of interest, as far as is known. handed: P and U (h, 2,
    bytes) uint8 of nodes that are handed over, and the least (h,) that a Q of each costs, less l(Q). Returns why it
    has, how many of each were found, and how many nodes were made.
    """
    task, frames, halt, found, handed = borrowed((task, frames, halt, found, handed))
    (varsets, costs), (nodes, reduced) = found, handed
    space, rows = space_of(task), scratch(task.tables)
    width, written, passed, made, varset = task.tables.width[0], 0, 0, 0, frames.varset
    while frames.top[0] >= 0 and written < costs.size and passed < reduced.size and not halt[0]:
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
            limit = min(_limits(after, task, frames))
            cost = _cost_at_least(after, task, frames, space)
            if cost < limit:
                best = min(best, _replacing(cost - task.slack, varset, varsets, costs, written))
                if cost < best + task.slack:
                    cost = _exact(after, task, frames, space)
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
