"""The figures of many varsets at once: the walk of counting.py, for scores that need more than entropies.

For each varset the records of its joint states are tallied, and the figures follow from the tally; see formula.py. A
joint state of few records that can no longer be divided is not looked at again: it is counted by its records.
"""

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.ranks import find_place, go_to, is_present, last_present, place_of, rank_without, start_walk
from extbnsl.scores.counting import merge_needed, number, refined, root, split
from extbnsl.scores.formula import (
    CELLS,
    MORE,
    OCCURRING,
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


@inner
def _push(top, v, nodes, light, table, slot):
    """Refine node `top` by variable v into node top + 1."""
    row, weight, cell, entries, cells, _, variable = nodes
    merge_needed(top, v + 1, nodes, table, slot)
    e = entries[top]
    for i in range(e):
        row[top + 1, i], weight[top + 1, i] = row[top, i], weight[top, i]
    refined(cell[top], row[top], table.states[v], table.arities[v], e, cell[top + 1])
    c = cells[top] * table.arities[v]
    light[top + 1] = light[top]
    if c * 4 > e:
        e, c = _drop_light(row[top + 1], weight[top + 1], cell[top + 1], e, c, slot, light[top + 1])
    entries[top + 1], cells[top + 1], variable[top + 1] = e, c, v


@inner
def _seek(top, members, nodes, light, table, slot):
    """Make the stack stand for these members, the last one first, keeping the nodes that it shares.

    top: nodes on the stack beside the root. Returns how many there are then.
    """
    size = members.size
    shared = np.int64(0)
    while shared < min(top, size) and members[size - 1 - shared] == nodes.variable[shared + 1]:
        shared += 1
    for k in range(shared, size):
        _push(k, members[size - 1 - k], nodes, light, table, slot)
    return size


@inner
def _sum_lanes(ids, row, weight, entries, cells, lanes, width, acc):
    """acc[c] = the lanes of one word, each the records with its variable's states, summed up over a cell's entries.

    `acc` is zero before. Cells of no or one record are squeezed out; returns how many are left, and how many had one
    record.
    """
    for i in range(entries):
        acc[ids[i]] += u64(weight[i]) * lanes[row[i]]
    mask = (u64(1) << u64(width)) - u64(1)
    kept, ones = 0, 0
    for c in range(cells):
        counts = acc[c]
        records = counts & mask
        acc[c] = 0
        acc[kept] = counts
        kept += records > u64(1)
        ones += records == u64(1)
    return kept, ones


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
def _fill_last(ids, top, cells, states, wanted, nodes, light, table, form, hist, acc, tally, figures):
    """figures[v] for every v of `wanted`, descending: one pass per lane word, one per variable of many states."""
    row, weight, entries = nodes.row[top], nodes.weight[top], nodes.entries[top]
    width, word_of, shift_of = table.lane_width, table.word_of, table.shift_of
    begin = 0
    while begin < wanted.size:
        v = wanted[begin]
        word = word_of[v]
        end = begin + 1
        while end < wanted.size and word >= 0 and word_of[wanted[end]] == word:
            end += 1
        if word < 0:
            _begin_tally(light[top], 0, tally)
            _tally_one(ids, weight, row, table.states[v], entries, u64(table.arities[v]), hist, tally)
            fill_figures(tally, states * table.arities[v], form, figures[v])
        else:
            kept, ones = _sum_lanes(ids, row, weight, entries, cells, table.lanes[word], width, acc)
            for k in range(begin, end):
                v = wanted[k]
                _begin_tally(light[top], ones, tally)
                _tally_packed(acc, kept, u64(shift_of[v]), u64(width), table.arities[v], tally)
                fill_figures(tally, states * table.arities[v], form, figures[v])
            acc[: kept + 1] = 0
        begin = end


@njit
def fill(size, first, last, places, below, binomials, table, form, out):
    """Fill out[i] with the figures of the present varset V of `size` >= 1 members at place first + i < last.

    places: which varsets are present (ranks.py); below: places and figures of those of one member less. Scores with a
    prior over what occurs have a figure for each subset of V that is among them: V less a child is its parent set.
    """
    places, below, binomials, table, form, out = borrowed((places, below, binomials, table, form, out))
    n, d = table.states.shape
    depth = max(1, size - 1)
    nodes, light = root(depth, table), np.zeros((depth, LIGHT), np.int64)
    width = d * table.arities[-1] + 1  # arities ascend
    ids = np.zeros(d, np.uint32)
    slot = np.empty(width, np.uint32)
    hist = np.zeros(width, np.uint32)
    acc = np.zeros(width, np.uint64)
    tally = new_tally(table.mlogm.size)
    figures = np.zeros((n, out.shape[1]), np.float64)
    wanted = np.empty(n, np.int64)
    walk = start_walk(size, binomials)
    members, same = walk.members, walk.same
    top = np.int64(0)
    left = last - first
    block, before = find_place(last - 1, places)
    rest = places[block, 0] & ~before
    block, bits, rank = last_present(block, before | (rest & (~rest + u64(1))), places)
    while left > 0:
        # Varsets that differ from this one in their lowest member alone have neighbouring ranks.
        go_to(rank, walk, binomials)
        base = same[1]
        group = 0
        while group < left and rank >= base and (group == 0 or form.kind != OCCURRING):  # which ask for each by itself
            wanted[group] = rank - base
            group += 1
            if group < left:
                block, bits, rank = last_present(block, bits, places)
        top = _seek(top, members[2:size], nodes, light, table, slot)
        cells = split(top, members[1:size], ids, nodes, table, slot)
        states = 1.0
        for k in range(1, size):
            states *= table.arities[members[k]]
        _fill_last(ids, top, cells, states, wanted[:group], nodes, light, table, form, hist, acc, tally, figures)
        if form.kind == OCCURRING:
            for k in range(size):
                parents = rank_without(k, walk)
                figures[wanted[0], MORE + k] = 0.0
                if is_present(parents, below.places):
                    cells = below.joint[place_of(parents, below.places), CELLS]
                    figures[wanted[0], MORE + k] = rising(form.ess / (cells * table.arities[members[k]]), tally)
        for k in range(group):
            left -= 1
            out[left] = figures[wanted[k]]


def figures_of_cells(records: NDArray[np.int64], form: Formula) -> NDArray[np.float64]:
    """The figures of the empty varset, whose joint states, those of what is part of every varset, have so many records:
    (1, f)."""
    figures = np.zeros((1, figures_of(form, 0)))
    _fill_one(records, form, figures[0])
    return figures


@njit
def _fill_one(records, form, figures):
    tally = new_tally(records.sum())
    for m in records:
        tally_cell(m, tally)
    fill_figures(tally, 1.0, form, figures)
