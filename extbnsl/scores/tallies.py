"""The figures of many varsets at once: the walk of counting.py, for scores that need more than entropies.

For each varset the records of its joint states are tallied, and the figures follow from the tally; see formula.py. A
joint state of few records that can no longer be divided is not looked at again: it is counted by its records.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.ranks import is_present, place_of, rank_without
from extbnsl.scores.counting import (
    Space,
    begin_at_root,
    descend,
    end_of_word,
    number,
    refine,
    split,
    sum_lanes,
)
from extbnsl.scores.formula import (
    CELLS,
    MORE,
    OCCURRING,
    CellTally,
    Formula,
    clear,
    figures_of,
    fill_figures,
    new_tally,
    rising,
    tally_cell,
)

LIGHT = 16  # joint states of fewer records are counted by these


@inner
def _drop_light(row, weight, cell, entries, cells, slot, light):
    """Drop, in place, light cells of one entry, counting them in `light`, and number the others without gaps; returns
    entries and cells."""
    for c in range(cells):
        slot[c] = 0
    for i in range(entries):
        slot[cell[i]] += 1
    kept = 0
    for i in range(entries):
        if slot[cell[i]] == 1 and weight[i] < LIGHT:
            light[weight[i]] += 1
        else:
            row[kept], weight[kept], cell[kept] = row[i], weight[i], cell[i]
            kept += 1
    return kept, number(cell, kept, cells, slot)


class _Tallies(NamedTuple):
    """What tallies take beside the space of counting: form; tally: scratch; below: see `fill`."""

    space: Space
    form: Formula
    tally: CellTally
    below: Any


@inner
def _push(top, v, given):
    """Refine node `top` by variable v into node top + 1."""
    nodes, table, _, slot, _, _ = given.space
    row, weight, cell, entries, cells, dropped = nodes
    e, c = refine(top, v, nodes, table, slot)
    dropped[top + 1] = dropped[top]
    if c * 4 > e:
        e, c = _drop_light(row[top + 1], weight[top + 1], cell[top + 1], e, c, slot, dropped[top + 1])
    entries[top + 1], cells[top + 1] = e, c


@inner
def _tally_packed(acc, cells, at, width, arity, tally):
    """Tally cells x states of a packed variable whose first lane starts at bit `at`."""
    mask = (u64(1) << width) - u64(1)
    for c in range(cells):
        counts = acc[c]
        rest = counts & mask
        counts >>= at
        for _ in range(1, arity):
            ones = counts & mask
            counts >>= width
            rest -= ones
            tally_cell(np.int64(ones), tally)
        tally_cell(np.int64(rest), tally)


@inner
def _tally_one(ids, weight, row, column, entries, arity, hist, tally):
    """Tally cells x states of one variable, `column` its states; `hist` is zero before and after."""
    for i in range(entries):
        hist[u64(ids[i]) * arity + u64(column[row[i]])] += weight[i]
    for i in range(entries):
        key = u64(ids[i]) * arity + u64(column[row[i]])
        if hist[key]:
            tally_cell(np.int64(hist[key]), tally)
            hist[key] = 0


@inlined
def _begin_tally(light, ones, tally):
    """A tally of the light cells and so many cells of one record."""
    clear(tally)
    for m in range(1, LIGHT):
        if light[m]:
            tally.small[m] = light[m]
            tally.used[0] = m
    if ones:
        tally.small[1] += ones
        tally.used[0] = max(tally.used[0], 1)


@inlined
def _fill_group(top, walk, wanted, given, figures):
    """figures[v] for every v of `wanted`: one pass per lane word, one per variable of many states. Those that the
    walk's varset has for its subsets, if it is alone."""
    (nodes, table, ids, slot, hist, acc), form, tally, below = given
    members, size = walk.members, walk.members.size - 1
    cells = split(top, members[1:size], ids, nodes, table, slot)
    row, weight, entries, light = nodes.row[top], nodes.weight[top], nodes.entries[top], nodes.dropped[top]
    arities, width, word_of = table.arities, table.lane_width, table.word_of
    states, begin = 1.0, 0
    for k in range(1, size):
        states *= arities[members[k]]
    while begin < wanted.size:
        v, end = wanted[begin], end_of_word(begin, wanted, word_of)
        kept, ones = 0, 0
        if word_of[v] >= 0:
            kept, ones = sum_lanes(ids, row, weight, entries, cells, table.lanes[word_of[v]], width, acc)
        for k in range(begin, end):
            v = wanted[k]
            _begin_tally(light, ones, tally)
            if word_of[v] < 0:
                _tally_one(ids, weight, row, table.states[v], entries, u64(arities[v]), hist, tally)
            else:
                _tally_packed(acc, kept, u64(table.shift_of[v]), u64(width), arities[v], tally)
            fill_figures(tally, states * arities[v], form, figures[v])
        acc[: kept + 1] = 0
        begin = end
    if form.kind == OCCURRING:
        for k in range(size):
            parents = rank_without(k, walk)
            figures[wanted[0], MORE + k] = 0.0
            if is_present(parents, below.places):
                cells = below.joint[place_of(parents, below.places), CELLS]
                figures[wanted[0], MORE + k] = rising(form.ess / (cells * arities[members[k]]), tally)


@njit
def fill(size, first, places, below, binomials, space, form, out):
    """Fill out[i] with the figures of the present varset V of `size` >= 1 members at place first + i, for each i.

    places: which varsets are present (ranks.py); below: places and figures of those of one member less. Scores with a
    prior over what occurs have a figure for each subset of V that is among them: V less a child is its parent set.
    """
    places, below, binomials, space, form, out = borrowed((places, below, binomials, space, form, out))
    begin_at_root(space)
    tally, figures = new_tally(space.table.mlogm.size), np.zeros((space.table.arities.size, out.shape[1]))
    asked = size, first, places, binomials
    descend(asked, form.kind != OCCURRING, _Tallies(space, form, tally, below), _push, _fill_group, figures, out)


def figures_of_cells(records: NDArray[np.int64], form: Formula) -> NDArray[np.float64]:
    """The figures of the empty varset, whose joint states, those of what is part of every varset, have so many records:
    (1, f)."""
    figures = np.zeros((1, figures_of(form, 0)))
    _fill_alone(records, form, figures[0])
    return figures


@njit
def _fill_alone(records, form, figures):
    tally = new_tally(records.sum())
    for m in records:
        tally_cell(m, tally)
    fill_figures(tally, 1.0, form, figures)
