"""Kernels of the bounds in the search between two parent sets: what all families of a node cost at least.

A node is a parent set P and a set U of candidates: it stands for all Q with P < Q <= P + U.

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
set.

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

import numpy as np

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, inner
from extbnsl.parents.exhaustive.between_cells import first_at
from extbnsl.parents.exhaustive.cell_frames import ALONE, CORRECTED, COUNTS, PLAIN, ROW, UNEXPLAINED
from extbnsl.scores.formula import TABLES


@inner
def _add_up(alone, corrected, misfit, own, to_alone, to_corrected, to_unexplained):
    """Add what a cell is worth to its columns, of which `own` is -1; of others it is 0."""
    for c in range(own.size):
        inside = np.int32(own[c])
        here, kept = np.int32(alone & inside), np.int32(corrected & inside)
        to_alone[c] = here if here > to_alone[c] else to_alone[c]
        to_corrected[c] = kept if kept > to_corrected[c] else to_corrected[c]
        to_unexplained[c] += misfit & inside


@inlined
def _add_bits(word, q, planes):
    """Add one to the number of each bit of a word, whose binary digits are bits of the planes; how many these are."""
    p = 0
    while word:
        carry = planes[p, q] & word
        planes[p, q] ^= word
        word = carry
        p += 1
    return p


@inner
def _take_numbers(most, first, planes, to):
    """Add to each column the number of its bit in the first `most` planes, from word `first` on, and clear these."""
    planes, to = borrowed((planes, to))
    for p in range(most):
        for q in range(first, planes.shape[1]):
            word, own = planes[p, q], to[64 * q : 64 * q + 64]
            planes[p, q] = u64(0)
            if word:
                for b in range(64):
                    own[b] += np.int32((word >> u64(b)) & u64(1)) << np.int32(p)


@inlined
def _count_states(present, first, planes):
    """Count of each column in how many states of the child it is there, from word `first` on, and clear these; how
    many planes have numbers."""
    most = 0
    for k in range(len(present)):
        for q in range(first, present.shape[1]):
            word = present[k, q]
            if word:
                most = max(most, _add_bits(word, q, planes))
                present[k, q] = u64(0)
    return most


@inlined
def _by_prior(at, begin, task, frames):
    """Add to the columns, from one on, what the cells j of a node cost at least by priors, less `plain` times ln r."""
    space = frames.space
    cells, marks, present, total = frames.cell, task.bits, space.present, space.total
    columns, low, first, most = task.first[-1], frames.start[at], begin >> 6, 0
    each = np.int32(math.floor(first_at(at, task, frames) * task.scale))
    alone, corrected, unexplained = (
        space.alone[begin:columns],
        space.corrected[begin:columns],
        space.unexplained[begin:columns],
    )
    for j in range(frames.groups[at]):
        high, several = frames.end[frames.start[at] + j], False
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
            most = max(most, _count_states(present, first, space.planes))
            continue
        states, own = space.states[begin:columns], total[begin:columns]
        for c in range(states.size):
            states[c] = 0
        _take_numbers(_count_states(present, first, space.few), first, space.few, space.states)
        for c in range(states.size):
            own[c] += max(states[c] * each + alone[c], unexplained[c] + corrected[c])
    _take_numbers(most, first, space.planes, space.plain)


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
def _by_tables_of(at, begin, task, frames):
    """Add to `plain`, from a column on, what the cells j of a node cost at least by tables, in whole numbers."""
    task, frames = borrowed((task, frames))
    space = frames.space
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
def find_bounds(at, task, frames):
    """Find the bound of all Q of a node with each of the open candidates; see the module."""
    task, frames = borrowed((task, frames))
    space = frames.space
    begin, total, each = 0, space.total, np.int64(math.floor(first_at(at, task, frames) * task.scale))
    each = np.int64(1) if task.form.kind == TABLES else each  # `plain` has whole numbers
    while begin < task.arities.size and not frames.open[at, begin]:
        begin += 1
    begin = task.first[begin]  # the first column of an open candidate
    behind, plain = total[begin:], space.plain[begin:]  # of columns before, in the same word, nobody reads the sums
    for c in range(plain.size):
        behind[c] = plain[c] = 0
    if task.form.kind == TABLES:
        _by_tables_of(at, begin, task, frames)
    else:
        _by_prior(at, begin, task, frames)
    for v in range(task.arities.size):
        if frames.open[at, v]:
            found = np.int64(0)
            for c in range(task.first[v], task.first[v + 1]):
                found += total[c] + space.plain[c] * each
            frames.bound[at, v] = frames.sure[at] + found / task.scale
    frames.stale[at] = False
