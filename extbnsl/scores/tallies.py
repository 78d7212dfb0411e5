"""The figures of many varsets at once: the walk of counting.py, for scores that need more than entropies.

For each varset the records of its joint states are tallied, and the figures follow from the tally; see formula.py. A
joint state of few records that can no longer be divided is not looked at again: it is counted by its records.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, inlined, inner, njit, spliced
from extbnsl.kernels.ranks import is_present, place_of, rank_without
from extbnsl.scores.counting import Space, add_up_group, begin_at_root, descend, needs_no_more, refine
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


class _Tallies(NamedTuple):
    """What tallies take beside the space of counting: form; tally: scratch; below: see `fill`; figures (n, f)."""

    space: Space
    form: Formula
    tally: CellTally
    below: Any
    figures: NDArray[np.float64]


@inlined
def _drop(weight, at, space):
    """Count a cell of one entry by its records, if it is light."""
    if weight < LIGHT:
        space.nodes.dropped[at, weight] += 1
    return weight < LIGHT


@inner
def _push(top, v, given):
    """Refine node `top` by variable v into node top + 1."""
    dropped = given.space.nodes.dropped
    dropped[top + 1] = dropped[top]
    refine(top, v, given.space, _drop)


@inlined
def _needs_no_more(top, walk, given):
    """Whether the lowest three members need not be refined."""
    return needs_no_more(top, walk, given.space)


@inlined
def _begin_tally(top, ones, given):
    """A tally of the light cells and so many cells of one record."""
    tally, light = given.tally, given.space.nodes.dropped[top]
    clear(tally)
    for m in range(1, LIGHT):
        if light[m]:
            tally.small[m] = light[m]
            tally.used[0] = m
    if ones:
        tally.small[1] += ones
        tally.used[0] = max(tally.used[0], 1)
    return 0.0


@inlined
def _add_to_tally(total, m, given):
    """One cell more."""
    tally_cell(np.int64(m), given.tally)
    return total


@inlined
def _end_tally(total, v, walk, given):
    """The figures of the varset whose lowest member is v; those that it has for its subsets, if it is alone."""
    form, tally, figures, below, members = given.form, given.tally, given.figures[v], given.below, walk.members
    size, arities = members.size - 1, given.space.table.arities
    states = float(arities[v])
    for k in range(1, size):
        states *= arities[members[k]]
    fill_figures(tally, states, form, figures)
    if form.kind == OCCURRING:
        for k in range(size):
            parents = rank_without(k, walk)
            figures[MORE + k] = 0.0
            if is_present(parents, below.places):
                cells = below.joint[place_of(parents, below.places), CELLS]
                figures[MORE + k] = rising(form.ess / (cells * arities[members[k]]), tally, form)


@spliced
def _fill_group(top, walk, wanted, given, figures):
    """figures[v] for every v of `wanted`."""
    add_up_group(top, walk, wanted, given.space, _begin_tally, _add_to_tally, _end_tally, given)


@njit
def fill(size, first, places, below, binomials, space, form, out):
    """Fill out[i] with the figures of the present varset V of `size` >= 1 members at place first + i, for each i.

    places: which varsets are present (ranks.py); below: places and figures of those of one member less. Scores with a
    prior over what occurs have a figure for each subset of V that is among them: V less a child is its parent set.
    """
    tally, figures = new_tally(space.table.mlogm.size), np.zeros((space.table.arities.size, out.shape[1]))
    _fill((size, first, places, binomials), _Tallies(space, form, tally, below, figures), out)


@inner
def _fill(asked, given, out):
    """The same, with what a tally takes: apart, so that it can be borrowed."""
    asked, given, out = borrowed((asked, given, out))
    begin_at_root(given.space)
    descend(asked, given.form.kind != OCCURRING, given, _push, _needs_no_more, _fill_group, given.figures, out)


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
