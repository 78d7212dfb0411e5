"""Kernels over the lattice of varsets for scores that are given by a formula (scores/formula.py).

As in lattice.py, with figures in the place of the sums of m ln m: Counts.joint is (m, f), a row of figures for each
varset. X is alive at P if (X, P) or a superset of P may be wanted, and P + X is counted where X is alive at P.

The one rule: what (X, P) and all families of X with more parents cost at least (`least_of`) must be less than
BestScore(X | P) and the slack. Then no superset of P is wanted, whatever else is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.kernels.ranks import (
    find_place,
    go_to,
    is_present,
    next_present,
    place_of,
    rank_swapped,
    rank_with,
    rank_without,
    start_walk,
)
from extbnsl.parents.best_score import first_inside
from extbnsl.parents.exhaustive.lattice import (
    Required,
    any_member,
    children_within,
    extended_below,
    has_child,
    keep_below,
    place_among,
    write_varset,
)
from extbnsl.scores.formula import CELLS, Formula, cost_of_figures, least_of


class CellRules(NamedTuple):
    """What decides which families are wanted; of n variables in ascending arity. See `lattice.Rules`."""

    form: Formula
    arities: NDArray[np.int64]
    limits: NDArray[np.int64]
    floors: NDArray[np.float64]
    binomials: NDArray[np.int64]
    slack: float
    may: NDArray[np.uint64]
    required: Required


@inlined
def _states(members, size, arities):
    """The number of joint states of the first `size` members."""
    states = 1.0
    for k in range(size):
        states *= arities[members[k]]
    return states


@njit
def judge_cells(first, last, size, alive, tables, rules, extend, found):
    """Cost the alive families (X, P), P at first <= place < last of level `size`; see `lattice.judge_families`.

    extend[place - first] (w,) gets the children for which a superset of P may still be wanted, as far as its own cost
    tells. Returns how many families were found.
    """
    alive, tables, rules, found = borrowed((alive, tables, rules, found))
    (places_below, below), (places, here), (places_above, above) = tables
    form, arities, binomials, slack = rules.form, rules.arities, rules.binomials, rules.slack
    some_required, must = rules.required.some, rules.required.of
    varsets, owners, costs = found
    words = alive.shape[1]
    walk = start_walk(size, binomials)
    members = walk.members
    block, before = find_place(first, places)
    bits = places[block, 0] & ~before
    written = np.int64(0)
    for i in range(first, last):
        block, bits, rank = next_present(block, bits, places)
        for q in range(words):
            extend[i - first, q] = 0
        if not any_member(alive, i):
            continue
        go_to(rank, walk, binomials)
        states = _states(members, size, arities)
        for q in range(words):
            left, grown = alive[i, q], u64(0)
            while left:
                x = (q << 6) + np.int64(lowest(left))
                left &= left - u64(1)
                j = place_among(x, members, size)
                both = above[place_of(rank_with(x, j, walk, binomials), places_above)]
                cost = cost_of_figures(here[i], both, j, states, x, form)
                k = np.int64(0)
                while k < size:
                    if some_required and has_child(must, members[k], x):
                        k += 1
                        continue
                    without = below[place_of(rank_without(k, walk), places_below)]
                    subset = here[place_of(rank_swapped(k, x, j, walk, binomials), places)]
                    fewer = states / arities[members[k]]
                    if cost_of_figures(without, subset, j - (k < j), fewer, x, form) <= cost - slack:
                        break
                    k += 1
                if k == size:
                    write_varset(members, size, varsets, written)
                    owners[written], costs[written] = x, cost
                    written += 1
                if least_of(here[i], both[CELLS], states, x, rules.floors[x], form) < cost + slack:
                    grown |= u64(1) << u64(x & 63)
            extend[i - first, q] = grown
    return written


@njit
def judge_last_cells(first, last, size, alive, tables, rules, found):
    """Cost the alive families (X, Q - X) of the varsets Q of `size` members, first <= place < last; see
    `last_level.judge_last`. Returns how many were found."""
    alive, tables, rules, found = borrowed((alive, tables, rules, found))
    (places_below, below), (places_here, here), (places, above) = tables
    form, arities, binomials, slack = rules.form, rules.arities, rules.binomials, rules.slack
    some_required, must = rules.required.some, rules.required.of
    varsets, owners, costs = found
    walk, parents = start_walk(size, binomials), start_walk(max(1, size - 1), binomials)
    members = walk.members
    block, before = find_place(first, places)
    bits = places[block, 0] & ~before
    written = np.int64(0)
    for i in range(first, last):
        block, bits, rank = next_present(block, bits, places)
        go_to(rank, walk, binomials)
        states = _states(members, size, arities)
        for j in range(size):
            x, facet = members[j], rank_without(j, walk)
            if some_required and not is_present(facet, places_here):
                continue
            at = place_of(facet, places_here)
            if not has_child(alive, at, x):
                continue
            own = states / arities[x]
            cost = cost_of_figures(here[at], above[i - first], j, own, x, form)
            if size > 1:
                go_to(facet, parents, binomials)
            k = np.int64(0)
            while k < size - 1:
                if some_required and has_child(must, parents.members[k], x):
                    k += 1
                    continue
                without = below[place_of(rank_without(k, parents), places_below)]
                subset = here[place_of(rank_swapped(k, x, j, parents, binomials), places_here)]
                fewer = own / arities[parents.members[k]]
                if cost_of_figures(without, subset, j - (k < j), fewer, x, form) <= cost - slack:
                    break
                k += 1
            if k == size - 1:
                write_varset(parents.members, size - 1, varsets, written)
                owners[written], costs[written] = x, cost
                written += 1
    return written


@njit
def next_cells(first, last, size, extend, below, level, rules, alive):
    """alive[place - first] (w,) of the varsets Q of `size` members, places first..last: X is alive at Q if Q is within
    its limit, and X is extended at every Q - Y. extend and the counts `below` belong to level size - 1."""
    below, rules, alive = borrowed((below, rules, alive))
    (places_here, _), (places, _) = below, level
    limits, binomials = rules.limits, rules.binomials
    words = extend.shape[1]
    walk = start_walk(size, binomials)
    facets = np.zeros(size, np.uint64)
    within, left = children_within(size, limits, rules.required, words), np.zeros(words, np.uint64)
    block, before = find_place(first, places)
    bits = places[block, 0] & ~before
    for i in range(first, last):
        block, bits, rank = next_present(block, bits, places)
        go_to(rank, walk, binomials)
        for q in range(words):
            left[q] = within[q]
        extended_below(size, walk, extend, places_here, rules, facets, left)
        keep_below(words << 6, left)
        for q in range(words):
            alive[i - first, q] = left[q]


@njit
def drop_cells(first, last, size, children, level, above, rules, tables, extend):
    """Clear each X of `children` from extend[place - first] of P, places first..last, where no superset of P can cost
    less than BestScore(X | P) and the slack.

    level, above: the counts of this size and of the next; `tables` (byte tables of these children) hold all wanted
    families of parent sets up to this size.
    """
    children, above, rules, tables = borrowed((children, above, rules, tables))
    (places, here), (places_above, figures) = level, above
    form, arities, binomials, floors, slack = rules.form, rules.arities, rules.binomials, rules.floors, rules.slack
    words = extend.shape[1]
    number = np.full(arities.size, -1, np.int64)
    for c in range(children.size):
        number[children[c]] = c
    walk = start_walk(size, binomials)
    members = walk.members
    varset, rows = np.empty((1, words), np.uint64), np.empty(tables.members.shape[1], np.int64)
    block, before = find_place(first, places)
    bits = places[block, 0] & ~before
    for i in range(first, last):
        block, bits, rank = next_present(block, bits, places)
        if not any_member(extend, i - first):
            continue
        go_to(rank, walk, binomials)
        write_varset(members, size, varset, np.int64(0))
        own = varset[0].view(np.uint8)
        states = _states(members, size, arities)
        for q in range(words):
            left = extend[i - first, q]
            while left:
                x = (q << 6) + np.int64(lowest(left))
                left &= left - u64(1)
                c = number[x]
                if c < 0:
                    continue
                both = place_of(rank_with(x, place_among(x, members, size), walk, binomials), places_above)
                least = least_of(here[i], figures[both, CELLS], states, x, floors[x], form)
                if least < tables.costs[tables.first[c]] + slack:  # its cheapest family of all
                    continue
                best = first_inside(c, own, np.int64(0), tables.width[c], tables, rows)
                if least >= tables.costs[tables.first[c] + best] + slack:
                    extend[i - first, q] ^= u64(1) << u64(x & 63)


@njit
def least_cells(size, counts, alive, rules, least):
    """least[X] float64 becomes what a family of X costs at least whose parents are a varset of `size` at which X is
    alive, and perhaps more. A few ns per varset and child."""
    counts, alive, rules, least = borrowed((counts, alive, rules, least))
    places, here = counts
    walk = start_walk(size, rules.binomials)
    block, bits = np.int64(0), places[0, 0]
    least[:] = np.inf
    for i in range(alive.shape[0]):
        block, bits, rank = next_present(block, bits, places)
        if not any_member(alive, i):
            continue
        go_to(rank, walk, rules.binomials)
        states = _states(walk.members, size, rules.arities)
        for q in range(alive.shape[1]):
            left = alive[i, q]
            while left:
                x = (q << 6) + np.int64(lowest(left))
                left &= left - u64(1)
                own = least_of(here[i], here[i, CELLS], states, x, rules.floors[x], rules.form)
                least[x] = min(least[x], own)
