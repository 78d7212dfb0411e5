"""The entries of a node as columns of bits: a bit for each that has a state of a variable.

The entries of a cell fill *words* of their own, 64 to a word; where entries weigh more than one record, there is a word
for each binary digit of the weights. Three more variables W, Z, Y are counted so:

- W divides the cells into *parts*. The columns of other variables are masked by these, each when it is first asked for,
  as long as W stays the same.
- The records of a part with states of Z and of Y are the bits that two columns have in common. Those of the first state
  of either are what the others leave.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, popcount, u64
from extbnsl.kernels.compiler import inlined, inner, spliced

ENTRIES_OF_WORD = 16  # of a word, on average, if there are many: else a node has no columns
WORDS_AT_LEAST = 1024  # that a node may have whatever its entries
WORDS_OF_PARTS = 4  # words of parts for each word that there is room for
WORDS_OF_COLUMNS = 1 << 23  # words of all columns together
AT_ONCE = 12  # variables whose columns are made together, at least
SEVERAL, ONES, TURNS = range(3)  # of `counts`


class Columns(NamedTuple):
    """The columns of a node, for variables with c states together.

    node (2,) int64: the name of the node, and how many words it has, -1 if too many;
    first, end (w,) uint32: the entries of each word; digit (w,) uint64: of their weights; heavy (w,) uint64: those that
    have that digit; cell (w,) uint32;
    column (n + 1,) int64: where the columns of a variable begin; made (n,) int64: for which node they were made;
    bits (c, w) uint64.
    """

    node: NDArray[np.int64]
    first: NDArray[np.uint32]
    end: NDArray[np.uint32]
    digit: NDArray[np.uint64]
    heavy: NDArray[np.uint64]
    cell: NDArray[np.uint32]
    column: NDArray[np.int64]
    made: NDArray[np.int64]
    bits: NDArray[np.uint64]


class Parts(NamedTuple):
    """The parts of a node's cells by the states of a variable, or by none.

    split (2,) int64: the node and the variable, -1 for none; name (1,) int64: a number that no other parts had; counts
    (3,) int64: how many parts have several records, how many one, and how many turns there are. word (l,) int64: the
    place of each word of those that have several, digit, mask (l,) uint64: its digit, and which entries are in the
    part; records (p,) uint64.

    Where parts have few words each, those that have most come first, and their words in turns: the first one of each,
    the second one of each that has two, and so on, from begin[t] on (p + 1,) uint64. So many parts are counted at once.
    Else there are no turns, and the words of a part stand together from begin[p] on.

    made (n,) int64: for which parts the columns of a variable were made; bits (c, l) uint64: these, but of first
    states; states (c, p) uint64: the records that they have. met (p,), rest (r + 1, p), own (3, l), turn (p + 1,)
    uint64: scratch.
    """

    split: NDArray[np.int64]
    name: NDArray[np.int64]
    counts: NDArray[np.int64]
    begin: NDArray[np.uint64]
    word: NDArray[np.uint64]
    digit: NDArray[np.uint64]
    mask: NDArray[np.uint64]
    records: NDArray[np.uint64]
    made: NDArray[np.int64]
    bits: NDArray[np.uint64]
    states: NDArray[np.uint64]
    met: NDArray[np.uint64]
    rest: NDArray[np.uint64]
    own: NDArray[np.uint64]
    turn: NDArray[np.uint64]


def columns_of(arities: NDArray[np.int64], entries: int) -> Columns:
    """Room for the columns of variables of these arities, of a node of so many entries at most."""
    column = np.concatenate(([0], np.cumsum(arities)))
    words = _words(arities, entries)
    return Columns(
        node=np.zeros(2, np.int64),
        first=np.empty(words, np.uint32),
        end=np.empty(words, np.uint32),
        digit=np.empty(words, np.uint64),
        heavy=np.empty(words, np.uint64),
        cell=np.empty(words, np.uint32),
        column=column,
        made=np.zeros(arities.size, np.int64),
        bits=np.empty((int(column[-1]), words), np.uint64),
    )


def parts_of(arities: NDArray[np.int64], entries: int) -> Parts:
    """Room for the parts of such a node."""
    words, columns = WORDS_OF_PARTS * _words(arities, entries), int(arities.sum())
    return Parts(
        split=np.zeros(2, np.int64),
        name=np.zeros(1, np.int64),
        counts=np.zeros(3, np.int64),
        begin=np.zeros(words + 1, np.uint64),
        word=np.empty(words, np.uint64),
        digit=np.empty(words, np.uint64),
        mask=np.empty(words, np.uint64),
        records=np.empty(words, np.uint64),
        made=np.zeros(arities.size, np.int64),
        bits=np.empty((columns, words), np.uint64),
        states=np.empty((columns, words), np.uint64),
        met=np.empty(words, np.uint64),
        rest=np.empty((int(arities[-1]) + 1, words), np.uint64),
        own=np.empty((3, words), np.uint64),
        turn=np.zeros(words + 1, np.uint64),
    )


def _words(arities: NDArray[np.int64], entries: int) -> int:
    """How many words a node may have."""
    return min(entries // ENTRIES_OF_WORD + WORDS_AT_LEAST, max(1, WORDS_OF_COLUMNS // int(arities.sum())))


@inner
def _fill_words(top, nodes, columns):
    """Let the words of the columns be those of a node; returns how many there are, -1 if there is no room."""
    first, end, digit, heavy, own = columns.first, columns.end, columns.digit, columns.heavy, columns.cell
    cell, weight, entries = nodes.cell[top], nodes.weight[top], nodes.entries[top]
    words, lo, having = 0, np.int64(0), np.zeros(32, np.uint64)
    while lo < entries:
        hi, every = lo, u64(0)
        while hi < entries and hi < lo + 64 and cell[hi] == cell[lo]:
            every |= u64(weight[hi])
            hi += 1
        if every == u64(1):
            having[0] = ~u64(0) >> u64(64 - (hi - lo))
        else:
            for i in range(lo, hi):
                left = u64(weight[i])
                while left:
                    having[lowest(left)] |= u64(1) << u64(i - lo)
                    left &= left - u64(1)
        while every:
            shift = lowest(every)
            every &= every - u64(1)
            if words == first.size:
                return -1
            first[words], end[words], own[words] = lo, hi, cell[lo]
            digit[words], heavy[words], having[shift] = shift, having[shift], u64(0)
            words += 1
        lo = hi
    return words


@inner
def _make_column(v, top, table, nodes, columns):
    """Make the columns of a variable's states."""
    bits, row, column, begin = columns.bits, nodes.row[top], table.states[v], columns.column[v]
    arity, first, end = table.arities[v], columns.first, columns.end
    for w in range(columns.node[1]):
        if w and first[w] == first[w - 1]:
            for s in range(arity):
                bits[begin + s, w] = bits[begin + s, w - 1]
            continue
        lo, hi, others = np.int64(first[w]), np.int64(end[w]), u64(0)
        for s in range(1, arity):
            having = u64(0)
            for i in range(lo, hi):
                having |= u64(column[row[i]] == s) << u64(i - lo)
            bits[begin + s, w] = having
            others |= having
        bits[begin, w] = ~others
    columns.made[v] = columns.node[0]


@inner
def _transpose(block):
    """Bit i of word b = bit b of word i, of 64 words (Warren 2012, Hacker's Delight, 7-3)."""
    mask, j = u64(0xFFFFFFFF), 32
    while j:
        for base in range(0, 64, 2 * j):
            for k in range(u64(base), u64(base + j)):
                differs = ((block[k] >> u64(j)) ^ block[k + u64(j)]) & mask
                block[k] ^= differs << u64(j)
                block[k + u64(j)] ^= differs
        j >>= 1
        mask ^= mask << u64(j)


@inner
def _make_all_columns(most, top, table, nodes, columns):
    """Make the columns of the states of all variables up to this one, from their patterns: 64 bits of 64 entries at
    once, in the time of some variables one by one."""
    bits, row, patterns, below = columns.bits, nodes.row[top], table.patterns, table.pattern_bits
    column, first, end, block = columns.column, columns.first, columns.end, np.empty(64, np.uint64)
    for w in range(columns.node[1]):
        if w and first[w] == first[w - 1]:
            for c in range(column[most + 1]):
                bits[c, w] = bits[c, w - 1]
            continue
        lo, entries = u64(first[w]), u64(end[w]) - u64(first[w])
        for i in range(entries):
            block[i] = patterns[row[lo + i]]
        block[entries:] = 0
        _transpose(block)
        for v in range(most + 1):
            for s in range(table.arities[v]):
                having = ~u64(0)
                for b in range(below[v], below[v + 1]):
                    having &= block[b] if (s >> (b - below[v])) & 1 else ~block[b]
                bits[column[v] + s, w] = having
    columns.made[: most + 1] = columns.node[0]


@inlined
def words_of(top, nodes, columns):
    """How many words the columns of a node have, -1 if that are too many to be made."""
    if columns.node[0] != nodes.name[top]:
        columns.node[0], columns.node[1] = nodes.name[top], _fill_words(top, nodes, columns)
    return columns.node[1]


@inlined
def _have(v, top, table, nodes, columns):
    """Make the columns of a variable unless they are there; returns where they begin. Those before it are asked for
    after it, mostly."""
    if columns.made[v] != columns.node[0]:
        if v + 1 >= AT_ONCE and table.pattern_bits[v + 1] < 64:
            _make_all_columns(v, top, table, nodes, columns)
        else:
            _make_column(v, top, table, nodes, columns)
    return columns.column[v]


@inner
def divide_by(variable, top, table, nodes, columns, parts):
    """Let the parts be those of a node's cells by this variable, or by none if it is -1, unless they are."""
    split = parts.split
    if split[0] == columns.node[0] and split[1] == variable:
        return
    split[0], split[1] = columns.node[0], variable
    parts.name[0] += 1
    states, at = 1, 0
    if variable >= 0:
        states, at = table.arities[variable], _have(variable, top, table, nodes, columns)
    heavy, digit, cell, words = columns.heavy, columns.digit, columns.cell, columns.node[1]
    several, ones, lo, to = 0, 0, 0, 0
    while lo < words:
        hi = lo
        while hi < words and cell[hi] == cell[lo]:
            hi += 1
        for s in range(states):
            records, end = u64(0), to
            for w in range(lo, hi):
                own = heavy[w] & columns.bits[at + s, w] if variable >= 0 else heavy[w]
                if own:
                    records += popcount(own) << digit[w]
                    parts.own[0, end], parts.own[1, end], parts.own[2, end] = w, digit[w], own
                    end += 1
            ones += records == u64(1)
            if records > u64(1):
                parts.records[several] = records
                several += 1
                parts.begin[several] = to = end
        lo = hi
    parts.counts[SEVERAL], parts.counts[ONES] = several, ones
    _lay_out(several, parts)


@inner
def _lay_out(several, parts):
    """Put the words of so many parts, which stand in `own` from begin[p] on each, where they are looked at."""
    begin, own, records, turn, start = parts.begin, parts.own, parts.records, parts.turn, parts.rest[0]
    longest = u64(0)
    for p in range(several):
        longest = max(longest, begin[p + 1] - begin[p])
    if longest > u64(several):
        parts.counts[TURNS] = 0
        for k in range(begin[several]):
            parts.word[k], parts.digit[k], parts.mask[k] = own[0, k], own[1, k], own[2, k]
        return
    parts.counts[TURNS] = longest
    for less in range(longest):
        start[less] = 0
    for p in range(several):
        start[longest - (begin[p + 1] - begin[p])] += u64(1)
    before, left = u64(0), u64(several)
    for t in range(longest):
        turn[t + 1] = turn[t] + left
        left -= start[longest - u64(1) - t]
    for less in range(longest):
        before, start[less] = before + start[less], before
    for p in range(several):
        words = begin[p + 1] - begin[p]
        to = start[longest - words]
        start[longest - words] = to + u64(1)
        parts.met[to] = records[p]
        for t in range(words):
            k, at = begin[p] + t, turn[t] + to
            parts.word[at], parts.digit[at], parts.mask[at] = own[0, k], own[1, k], own[2, k]
    for p in range(several):
        records[p] = parts.met[p]
    for t in range(longest + u64(1)):
        begin[t] = turn[t]


@inner
def _meet(one, other, parts):
    """met[p] = how many records of a part are in two of its masked columns."""
    begin, digit, met, several = parts.begin, parts.digit, parts.met, parts.counts[SEVERAL]
    if parts.counts[TURNS] == 0:
        for p in range(several):
            both = u64(0)
            for k in range(begin[p], begin[p + 1]):
                both += popcount(one[k] & other[k]) << digit[k]
            met[p] = both
        return
    for p in range(u64(several)):
        met[p] = popcount(one[p] & other[p]) << digit[p]
    for t in range(1, parts.counts[TURNS]):
        first = begin[t]
        for p in range(begin[t + 1] - first):
            met[p] += popcount(one[first + p] & other[first + p]) << digit[first + p]


@inner
def _mask_column(v, top, table, nodes, columns, parts):
    """Make the columns of a variable's states but the first, masked by the parts, and count their records."""
    at, several, turns, begin = (
        _have(v, top, table, nodes, columns),
        parts.counts[SEVERAL],
        parts.counts[TURNS],
        parts.begin,
    )
    for s in range(1, table.arities[v]):
        own, masked = columns.bits[at + s], parts.bits[at + s]
        for k in range(begin[turns if turns else several]):
            masked[k] = own[parts.word[k]] & parts.mask[k]
        _meet(masked, masked, parts)
        for p in range(several):
            parts.states[at + s, p] = parts.met[p]
    parts.made[v] = parts.name[0]


@inlined
def have_masked(v, top, table, nodes, columns, parts):
    """Make the masked columns of a variable unless they are there."""
    if parts.made[v] != parts.name[0]:
        _mask_column(v, top, table, nodes, columns, parts)


@inlined
def _add_all(values, several, total, add, given):
    """`total` with so many values, in four sums side by side: one would wait for each addition."""
    a, b, c, d, fours = total, 0.0, 0.0, 0.0, several >> 2
    for q in range(fours):
        p = q << 2
        a = add(a, values[p], given)
        b = add(b, values[p + 1], given)
        c = add(c, values[p + 2], given)
        d = add(d, values[p + 3], given)
    for p in range(fours << 2, several):
        a = add(a, values[p], given)
    return (a + b) + (c + d)


@spliced
def add_up_bits(z, y, total, columns, parts, table, add, given):
    """`total` with the records of the joint states of two variables in each part; their masked columns are there."""
    several, met, rest, records = parts.counts[SEVERAL], parts.met, parts.rest, parts.records
    of_z, of_y, bits, states = columns.column[z], columns.column[y], parts.bits, parts.states
    if table.arities[z] == 2:  # so are all that come before it
        _meet(bits[of_z + 1], bits[of_y + 1], parts)
        one, other = states[of_z + 1], states[of_y + 1]
        a, b, c, d = total, 0.0, 0.0, 0.0
        for p in range(several):
            both = met[p]
            a = add(a, both, given)
            b = add(b, one[p] - both, given)
            c = add(c, other[p] - both, given)
            d = add(d, records[p] - one[p] - other[p] + both, given)
        return (a + b) + (c + d)
    for p in range(several):
        rest[0, p] = records[p]
    for s in range(1, table.arities[y]):
        for p in range(several):
            rest[s, p] = states[of_y + s, p]
    for r in range(1, table.arities[z]):
        left = rest[-1]
        for p in range(several):
            left[p] = states[of_z + r, p]
            rest[0, p] -= left[p]
        for s in range(1, table.arities[y]):
            _meet(bits[of_z + r], bits[of_y + s], parts)
            for p in range(several):
                rest[s, p] -= met[p]
                left[p] -= met[p]
            total = _add_all(met, several, total, add, given)
        total = _add_all(left, several, total, add, given)
    for s in range(1, table.arities[y]):
        for p in range(several):
            rest[0, p] -= rest[s, p]
        total = _add_all(rest[s], several, total, add, given)
    return _add_all(rest[0], several, total, add, given)
