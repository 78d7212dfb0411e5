"""N H(child | parents), in nats, of one parent set after the other, by splits of bit columns or by records.

By splits: a depth-first walk splits the records by the first parent, each part by the second, and so on. A part is a
column of bits, in which the records lie by the child's state, those of each in words of their own: a split by a state
is an AND and a count of ones, a third of a nanosecond for 64 records, whatever the states of the child. The last
state of the last parent follows by subtraction. Parts in which the child has one state add nothing and end there. By
records: each gets the number of its cell, and the cells are counted: some two nanoseconds for each record. Up to seven
parents of two states the first is less work, and thirtyfold for two.

Of continuous variables the misfit is that of a regression, by a triangular factor of the parents' correlations.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Dataset
from extbnsl.kernels.bits import lowest, popcount, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.varsets import WORD_BITS
from extbnsl.parents.exhaustive.measured import Standardised
from extbnsl.scores.cells import cells_of
from extbnsl.scores.counting import mlogm_table, number
from extbnsl.scores.determinants import LEAST
from extbnsl.scores.formula import MISFIT, Formula, cost_of_tallies, formula, new_tally, tally_cell
from extbnsl.scores.known import Known
from extbnsl.scores.mdl import MDL
from extbnsl.scores.rows import Rows
from extbnsl.scores.score import ParameterScore

COLUMNS_AT_A_TIME = 64  # variables of which bytes, one for each record, are in hand


class Columns(NamedTuple):
    """N records of n variables.

    bits (s, w) uint64: a column for each state of each variable, bit i % 64 of word i // 64 for record i; first
    (n + 1,) int64: the column of state 0 of each variable, and s; counts (s,) int64: the records of each; codes (n, N)
    uint16: the same by variable; arities (n,) int64: states, declared ones that never occur among them; mlogm (N + 1,)
    float64: m ln m. form: the score; its kind is MISFIT for one of misfit and a price. entropies (n,) float64: N
    H(variable) in nats, or what the variable costs without parents if the score is of another kind.

    Of continuous variables there are no states to count: correlations (n, n) float64 and half, N / 2, tell misfits.
    These, and entropies, are what is left above what all other variables leave (scores/gaussian.py), so that all that
    is proved of entropies holds. The arities are 2 then: a child has one price. half is 0 of states.
    """

    bits: NDArray[np.uint64]
    first: NDArray[np.int64]
    counts: NDArray[np.int64]
    codes: NDArray[np.uint16]
    arities: NDArray[np.int64]
    entropies: NDArray[np.float64]
    mlogm: NDArray[np.float64]
    form: Formula
    correlations: NDArray[np.float64]
    half: float

    @property
    def nbytes(self) -> int:
        return sum(field.nbytes for field in self if isinstance(field, np.ndarray))

    @property
    def records(self) -> int:
        """Records that are counted: none of continuous variables."""
        return int(self.codes.shape[1])

    @property
    def variables(self) -> int:
        return int(self.arities.size)


def bit_columns(dataset: Dataset, score: Known = MDL, max_parents: int = 0) -> Columns:
    """The columns of a data set, by a score of families of at most so many parents.

    Memory: N (2 n + s / 8) bytes; O(N s).
    """
    codes = np.ascontiguousarray(dataset.codes.T)
    n, records = codes.shape
    arities = dataset.arities
    first = np.concatenate(([0], np.cumsum(arities))).astype(np.int64)
    bits = np.zeros((int(first[-1]), -(-records // WORD_BITS)), np.uint64)
    variable = np.repeat(np.arange(n), arities)
    state = np.arange(first[-1]) - first[variable]
    for begin in range(0, variable.size, COLUMNS_AT_A_TIME):
        some = slice(begin, begin + COLUMNS_AT_A_TIME)
        packed = np.packbits(codes[variable[some]] == state[some, None], axis=1, bitorder="little")
        bits[some].view(np.uint8)[:, : packed.shape[1]] = packed
    counts = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
    mlogm = mlogm_table(records, dataset.each)
    entropies = np.maximum(0.0, mlogm[-1] - np.add.reduceat(mlogm[counts], first[:-1]))
    entropies[np.maximum.reduceat(counts, first[:-1]) == records] = 0.0
    rows = Rows(records, dataset.each, dataset.each)
    form = formula(MISFIT, arities, rows)
    if not isinstance(score, ParameterScore):
        form = score.formula(rows, arities, max_parents)
        entropies = np.array([score.cost(cells_of(dataset, x)) for x in range(n)])
    return Columns(bits, first, counts, codes, arities, entropies, mlogm, form, np.zeros((0, 0)), 0.0)


def correlated_columns(columns: Standardised) -> Columns:
    """The same of continuous variables. O(n^3)."""
    n = len(columns.names)
    arities = np.full(n, 2)
    return Columns(
        bits=np.zeros((0, 0), np.uint64),
        first=np.zeros(n + 1, np.int64),
        counts=np.zeros(0, np.int64),
        codes=np.zeros((n, 0), np.uint16),
        arities=arities,
        entropies=np.maximum(0.0, -columns.least),
        mlogm=np.zeros(1),
        form=formula(MISFIT, arities, Rows(0)),
        correlations=np.ascontiguousarray(columns.factor @ columns.factor.T),
        half=columns.total / 2,
    )


MOST_SLOTS = 1 << 22  # counters for the cells of all records
SPLIT, SPLIT_WORD = 10.0, 0.3  # nanoseconds of a split, and of it for each word: measured
RECORD, RECORD_PARENT = 1.5, 0.1  # nanoseconds of a record, and of it for each parent


class Splits(NamedTuple):
    """Working space for the parent sets of one child; d parents at most, r states of the child, w words.

    columns (s, w) uint64: a column for each state of each variable that is `made` (n,) bool, record i at bit `at` (N,)
    int32; begins (r + 1,) int64: the first word of each state of the child, and w. parts (d + 2, w) uint64: the part at
    each depth, all records first; counts (d + 2, r) int64: its records by state of the child; state (d + 1,) int64: the
    next state to split by. ids (N,) int32: the cell of each record; slots int32: a number or a count for each cell.
    """

    columns: NDArray[np.uint64]
    made: NDArray[np.bool_]
    at: NDArray[np.int32]
    begins: NDArray[np.int64]
    parts: NDArray[np.uint64]
    counts: NDArray[np.int64]
    state: NDArray[np.int64]
    ids: NDArray[np.int32]
    slots: NDArray[np.int32]


def new_splits(child: int, parents: int, data: Columns) -> Splits:
    """Working space for parent sets of at most so many parents of a child; columns are made when they are needed."""
    counts = data.counts[data.first[child] : data.first[child + 1]]
    begins = np.concatenate(([0], np.cumsum(-(-counts // WORD_BITS))))
    codes = data.codes[child]
    at = np.empty(data.records, np.int32)
    at[np.argsort(codes, kind="stable")] = np.arange(data.records) - np.repeat(np.cumsum(counts) - counts, counts)
    at += WORD_BITS * begins[codes].astype(np.int32)
    words = int(begins[-1])
    parts = np.zeros((parents + 2, words), np.uint64)
    present = np.zeros(words * WORD_BITS, np.uint8)
    present[at] = 1
    parts[0] = np.packbits(present, bitorder="little").view("<u8")
    return Splits(
        columns=np.zeros((data.bits.shape[0], words), np.uint64),
        made=np.zeros(data.variables, np.bool_),
        at=at,
        begins=begins,
        parts=parts,
        counts=np.zeros((parents + 2, counts.size), np.int64),
        state=np.zeros(parents + 1, np.int64),
        ids=np.zeros(data.records, np.int32),
        slots=np.zeros(_slots(data), np.int32),
    )


def _slots(data: Columns) -> int:
    """How many counters there are: for all cells if a score needs them one by one."""
    needed = data.records * int(data.arities.max())
    return min(MOST_SLOTS, needed) if data.form.kind == MISFIT else needed


def splits_bytes(parents: int, data: Columns) -> int:
    """Memory of the working space for parent sets of at most so many parents, at most."""
    widest, (columns, words) = int(data.arities.max()), data.bits.shape
    rows = 8 * (words + widest) * (parents + 2 + columns) + 8 * (widest + 1) * (parents + 4)
    return rows + data.variables + 8 * data.records + 4 * _slots(data)


@inlined
def _spread(counts, mlogm):
    """N H(child) within a part, its records by state of the child."""
    records = np.int64(0)
    states = 0.0
    for m in counts:
        records += m
        states += mlogm[m]
    return mlogm[records] - states


@inner
def _make_columns(v, data, splits):
    """Make the columns of a variable, record by record but for those of its most usual state: they are the rest."""
    first, columns, present = data.first[v], splits.columns, splits.parts[0]
    usual = np.int64(0)
    for s in range(1, data.arities[v]):
        usual = s if data.counts[first + s] > data.counts[first + usual] else usual
    for w in range(present.size):
        columns[first + usual, w] = present[w]
    for s in range(data.arities[v]):
        if s == usual or data.counts[first + s] == 0:
            continue
        for w in range(data.bits.shape[1]):
            left = data.bits[first + s, w]
            while left:
                at = splits.at[(w << 6) + np.int64(lowest(left))]
                left &= left - u64(1)
                columns[first + s, at >> 6] |= u64(1) << u64(at & 63)
        for w in range(present.size):
            columns[first + usual, w] &= ~columns[first + s, w]
    splits.made[v] = True


@inlined
def _split(part, column, splits, into, counts):
    """into = the records of `part` in a column, counts = these by state of the child; returns whether several occur."""
    columns, begins = splits.columns, splits.begins
    occur = 0
    for t in range(counts.size):
        ones, first = u64(0), u64(begins[t])
        for w in range(begins[t + 1] - begins[t]):
            word = part[first + u64(w)] & columns[column, first + u64(w)]  # a signed index costs a test: no vectors
            into[first + u64(w)] = word
            ones += popcount(word)
        counts[t] = np.int64(ones)
        occur += ones > u64(0)
    return occur > 1


@inlined
def _split_last(depth, v, data, splits):
    """The misfit of a part that is split by variable v and no further."""
    parts, counts = splits.parts, splits.counts
    part, into, found, rest = parts[depth], parts[depth + 1], counts[depth + 1], counts[depth]
    total = 0.0
    for s in range(data.arities[v] - 1):
        if data.counts[data.first[v] + s]:
            several = _split(part, data.first[v] + s, splits, into, found)
            if several:
                total += _spread(found, data.mlogm)
            for t in range(found.size):
                rest[t] -= found[t]
    return total + _spread(rest, data.mlogm)


@inner
def _by_splits(child, members, size, data, splits):
    """The misfit of members[:size] by a walk over parts."""
    parts, counts, state = splits.parts, splits.counts, splits.state
    for t in range(counts.shape[1]):  # the walk uses them up
        counts[0, t] = data.counts[data.first[child] + t]
    for k in range(size):
        if not splits.made[members[k]]:
            _make_columns(members[k], data, splits)
    total, depth = 0.0, 0
    state[0] = 0
    while depth >= 0:
        v = members[depth]
        s = state[depth]
        state[depth] += 1
        if depth == size - 1:
            total += _split_last(depth, v, data, splits)
            depth -= 1
        elif s == data.arities[v]:
            depth -= 1
        elif data.counts[data.first[v] + s]:
            several = _split(parts[depth], data.first[v] + s, splits, parts[depth + 1], counts[depth + 1])
            if several:
                depth += 1
                state[depth] = 0
    return total


@inner
def _number_cells(members, size, data, splits):
    """ids = the cell of each record, a joint state of members[:size]; returns how many numbers there are, at most as
    many as records."""
    ids, slots = splits.ids, splits.slots
    for i in range(ids.size):
        ids[i] = data.codes[members[0], i]
    cells = data.arities[members[0]]
    for k in range(1, size):
        if cells > ids.size:
            cells = number(ids, ids.size, cells, slots)
        codes, arity = data.codes[members[k]], np.int32(data.arities[members[k]])
        for i in range(ids.size):
            ids[i] = ids[i] * arity + np.int32(codes[i])
        cells *= data.arities[members[k]]
    return number(ids, ids.size, cells, slots) if cells > ids.size else cells


@inner
def _count_cells(child, members, size, data, splits):
    """slots = the records of each cell of members[:size] by state of the child; returns how many cells there are."""
    ids, slots, codes, states = splits.ids, splits.slots, data.codes[child], splits.counts.shape[1]
    cells = _number_cells(members, size, data, splits)
    for c in range(cells * states):
        slots[c] = 0
    for i in range(ids.size):
        slots[np.int64(ids[i]) * states + codes[i]] += 1
    return cells


@inner
def _by_records(child, members, size, data, splits):
    """The misfit of members[:size] by the cell of each record; there are slots for all cells and states."""
    slots, states, mlogm = splits.slots, splits.counts.shape[1], data.mlogm
    cells = _count_cells(child, members, size, data, splits)
    total = 0.0
    for c in range(cells):
        records = 0
        for t in range(states):
            records += slots[c * states + t]
            total -= mlogm[slots[c * states + t]]
        total += mlogm[records]
    return max(0.0, total)


@inlined
def _splits_are_cheaper(members, size, data, splits):
    """Whether splits are less work than records, or there are not enough slots for these."""
    words, states, records = splits.parts.shape[1], splits.counts.shape[1], splits.ids.size
    widest = np.int64(states)
    work = 0.0
    for k in range(size - 1, -1, -1):
        arity = data.arities[members[k]]
        widest = max(widest, arity)
        work = arity - 1.0 if k == size - 1 else arity * (1.0 + work)
    by_splits = work * (SPLIT + SPLIT_WORD * words)
    return by_splits < records * (RECORD + RECORD_PARENT * size) or records * widest > splits.slots.size


@inner
def _by_cells(child, members, size, data, splits):
    """What the family costs by the formula of the data, from the records of its cells."""
    form, slots, states = data.form, splits.slots, splits.counts.shape[1]
    cells = _count_cells(child, members, size, data, splits)
    parents, both = new_tally(splits.ids.size), new_tally(splits.ids.size)
    configurations = 1.0
    for k in range(size):
        configurations *= data.arities[members[k]]
    for c in range(cells):
        records = np.int64(0)
        for t in range(states):
            records += slots[c * states + t]
            tally_cell(np.int64(slots[c * states + t]), both)
        tally_cell(records, parents)
    return cost_of_tallies(parents, both, configurations, child, form)


@inlined
def _of_share(share, child, data):
    """The misfit of a child of which parents leave this share of the variance."""
    return max(0.0, data.half * math.log(max(share, LEAST)) + data.entropies[child])


@inner
def _by_regression(child, members, size, data):
    """The misfit of a regression on members[:size]. O(size^3)."""
    matrix = data.correlations
    lower, along = np.empty((size, size)), np.empty(size)
    share = 1.0
    for a in range(size):
        for b in range(a + 1):
            left = matrix[members[a], members[b]]
            for c in range(b):
                left -= lower[a, c] * lower[b, c]
            lower[a, b] = math.sqrt(max(left, LEAST)) if a == b else left / lower[b, b]
        left = matrix[child, members[a]]
        for c in range(a):
            left -= lower[a, c] * along[c]
        along[a] = left / lower[a, a]
        share -= along[a] * along[a]
    return _of_share(share, child, data)


@inner
def misfit(child, members, size, data, splits):
    """N H(child | the variables members[:size]), in nats, not negative; size is at least 1.

    If the score is not one of misfit and a price, the whole cost of the family: its price is 0.
    """
    if data.half > 0.0:
        return _by_regression(child, members, size, data)
    if data.form.kind != MISFIT:
        return _by_cells(child, members, size, data, splits)
    if _splits_are_cheaper(members, size, data, splits):
        return _by_splits(child, members, size, data, splits)
    return _by_records(child, members, size, data, splits)


@inlined
def misfit_at(places, size, child, candidates, data, splits, members):
    """`misfit` of the candidates at the first `size` places and the parents that must be; members is working space."""
    base = candidates.base
    for k in range(size):
        members[k] = candidates.variables[places[k]]
    for k in range(base.size):
        members[size + k] = base[k]
    return misfit(child, members, size + base.size, data, splits)


@inlined
def _single_misfit(child, v, data):
    """N H(child | v): each state of one is counted against each of the other, the child's first by subtraction."""
    bits, mlogm, own, other = data.bits, data.mlogm, data.first[child], data.first[v]
    total = 0.0
    for s in range(data.arities[v]):
        rest = data.counts[other + s]
        total += mlogm[rest]
        for t in range(1, data.arities[child]):
            ones = u64(0)
            for w in range(bits.shape[1]):
                ones += popcount(bits[other + s, w] & bits[own + t, w])
            total -= mlogm[ones]
            rest -= np.int64(ones)
        total -= mlogm[rest]
    return max(0.0, total)


@njit
def single_misfits(child, base, data, splits, halt):
    """`misfit` of `base` (b,) int32 and each variable v, in nats: float64 (n,); not a number for the child, the base
    and, when halt[0] is set, for the rest.

    splits: None where the base is empty and the score is one of misfit and a price, or of continuous variables.
    """
    data, halt = borrowed((data, halt))
    n = data.arities.size
    found, members = np.full(n, np.nan), np.append(base, np.int32(child))
    for v in range(n):
        if halt[0]:
            break
        if (members == v).any():
            continue
        if splits is not None:
            members[base.size] = v
            found[v] = misfit(child, members, members.size, data, splits)
            members[base.size] = child
        elif data.half > 0.0:
            found[v] = _of_share(1.0 - data.correlations[child, v] ** 2, child, data)
        else:
            found[v] = _single_misfit(child, v, data)
    return found


@njit
def misfits(child, sets, data, splits):
    """N H(child | sets[i]) of each row of `sets` (m, k) int32: float64 (m,), in nats."""
    sets, data, splits = borrowed((sets, data, splits))
    found = np.empty(sets.shape[0], np.float64)
    for i in range(sets.shape[0]):
        found[i] = misfit(child, sets[i], sets.shape[1], data, splits)
    return found
