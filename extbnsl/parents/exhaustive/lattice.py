"""Kernels over the lattice of varsets, level by level: which varsets to count, which families can still win.

Level s holds the varsets P of s variables that are counted, in numeric order; `places` (ranks.py) tell where. alive (m,
w) uint64 holds the varsets of the children X for which (X, P) or a superset of P may be wanted: a family that costs
less than each of its subsets, or than each and the slack together where there is one (CountingProblem). What is
counted of a varset is one of two things, and all kernels are compiled for both:

- T, a sum of m ln m (scores/counting.py), so that N H(X | P) = T(P) - T(P + X). Costs in nats; `parameter` is that of
  one free parameter (scores/formula.py). Determinants (scores/determinants.py) are of this kind.
- A row of figures, for scores that are given by a formula (scores/formula.py).

A child X that must have the parents R is alive at R, from level |R| on, and at supersets of R alone: others are no
parent sets of X, and whatever is said of the subsets of P is said of those that contain R.

Whatever is counted for X, all that X compares it with is: X is alive at P only if it is so at each subset of P, and
P + X is counted where X is alive at P. So all subsets of a varset are counted, unless it is there only for children
that must have parents.

A rule that drops X at P shows of P and of each superset R that R is not wanted: it names a subset on which R gains at
most so much that this and the slack are no more than what R adds to the penalty. So no wanted family is dropped. Its
subsets need not be wanted, but they are alive: a rule that dropped one would show that the family is not wanted. And no
rule changes BestScore(X | U) for any U: the cheapest subset of U, of several the smallest, costs less than each of its
own, and is wanted whatever the slack.

Of T there are rules by entropies, and one by the penalty alone. Of figures there is one: what (X, P) and all families
of X with more parents cost at least must be less than BestScore(X | P) and the slack. Then no superset of P is wanted,
whatever else is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import borrowed, either, inlined, njit
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
from extbnsl.scores.formula import CELLS, Formula, cost_of_figures, least_of
from extbnsl.scores.penalty import added, family_penalty, shrunk

ABSENT = ~np.uint64(0)  # the place of a varset that is not counted


class Counts(NamedTuple):
    """T of the counted varsets of one size, joint (m,) float64, or their figures (m, f), a row for each; and their
    places (b, 2) uint64, see ranks.py."""

    places: NDArray[np.uint64]
    joint: NDArray[np.float64]


class Rules(NamedTuple):
    """What decides which families are wanted, as a CountingProblem of n variables says it.

    binomials: see ranks.py;
    may, must (n, w) uint64: the children that each variable may be, and must be, a parent of;
    required (n,) int64: how many parents each child must have; some_required: whether any must have some;
    factors (n,) int64 and step: a parent multiplies a penalty by its factor and adds the step, in nats. Factors ascend.
    Those of states are the arities, and the step is 0; linear regressions have the factor 1.
    """

    parameter: float
    arities: NDArray[np.int64]
    limits: NDArray[np.int64]
    floors: NDArray[np.float64]
    binomials: NDArray[np.int64]
    slack: float
    may: NDArray[np.uint64]
    must: NDArray[np.uint64]
    required: NDArray[np.int64]
    some_required: bool
    factors: NDArray[np.int64]
    step: float
    form: Formula | None = None


@inlined
def write_varset(members, size, varsets, i):
    """varsets[i] (w,) uint64 = the first `size` of these members."""
    for q in range(varsets.shape[1]):
        varsets[i, q] = 0
    for k in range(size):
        varsets[i, members[k] >> 6] |= u64(1) << u64(members[k] & 63)


@inlined
def any_member(varsets, i):
    """Whether varset i has a member."""
    some = u64(0)
    for q in range(varsets.shape[1]):
        some |= varsets[i, q]
    return some != u64(0)


@inlined
def has_child(varsets, i, x):
    """Whether x is in varset i."""
    return (varsets[i, x >> 6] >> u64(x & 63)) & u64(1) != u64(0)


@inlined
def place_among(x, members, size):
    """How many of the members come before x."""
    j = 0
    while j < size and members[j] < x:
        j += 1
    return j


@inlined
def two_outside(members, size):
    """The two lowest variables that are not among the members."""
    k = np.int64(0)
    while k < size and members[k] == k:
        k += 1
    first = k
    second = first + 1
    while k < size and members[k] == second:
        k += 1
        second += 1
    return first, second


@inlined
def product_of(members, size, factors):
    """The product of the factors of the first `size` members."""
    product = 1.0
    for k in range(size):
        product *= factors[members[k]]
    return product


def _cost_of_sums(parents, both, place, states, penalty, x, form):
    """What a family costs, from T of its parents and of these and the child, and its penalty."""
    return parents - both + penalty


def _cost_of_figures(parents, both, place, states, penalty, x, form):
    """The same from figures; place: of the child among both; states: joint ones of the parents."""
    return cost_of_figures(parents, both, place, states, x, form)


_cost = either(_cost_of_sums, _cost_of_figures)


def _gains_enough(counts, states, penalty, cost, x, other, rules, form):
    """Whether a superset of a family's parents may be wanted, as far as T tells.

    counts: of P, and of P + X. other: of the variables outside the one of the least arity but X. Each superset gains
    N H(X | P) on P at most, and adds what that variable adds to its penalty at least (de Campos et al. 2018, the bound
    of the gain by H(X | P)).
    """
    n, factors = rules.arities.size, rules.factors
    return other < n and counts[0] - counts[1] + rules.slack > added(penalty, factors[other]) + rules.step


def _costs_less(counts, states, penalty, cost, x, other, rules, form):
    """The same as far as this family's own cost tells, by figures."""
    parents, both = counts
    return least_of(parents, both[CELLS], states, x, rules.floors[x], form) < cost + rules.slack


_goes_on = either(_gains_enough, _costs_less)


@inlined
def _room(most, words):
    """Room for so many families: varsets (most, words) uint64, children uint16, costs float64."""
    return np.empty((most, words), np.uint64), np.empty(most, np.uint16), np.empty(most)


@inlined
def _first(count, found):
    """Copies of the first `count` families in that room."""
    return found[0][:count].copy(), found[1][:count].copy(), found[2][:count].copy()


@njit
def judge_families(first, last, size, alive, tables, rules):
    """Cost the alive families (X, P), P at first <= place < last of level `size`.

    tables: the counts of level size - 1, of size, of size + 1. Returns the children for which a superset of P may still
    be wanted, see `_goes_on`, (last - first, w); and the families that cost less than each of their subsets with one
    parent less, the slack added: varsets (m, w), children, costs. Those that smaller subsets leave too dear are dropped
    when they join the others.
    """
    alive, tables, rules = borrowed((alive, tables, rules))
    (places_below, below), (places, here), (places_above, above) = tables
    parameter, arities, binomials = rules.parameter, rules.arities, rules.binomials
    slack, factors, step, form = rules.slack, rules.factors, rules.step, rules.form
    some_required, must = rules.some_required, rules.must
    words = alive.shape[1]
    extend, found = np.zeros((last - first, words), np.uint64), _room((last - first) * arities.size, words)
    varsets, owners, costs = found
    walk = start_walk(size, binomials)
    members = walk.members
    facets = np.zeros(size, np.uint64)
    block, before = find_place(first, places)
    bits = places[block, 0] & ~before
    written = np.int64(0)
    for i in range(first, last):
        block, bits, rank = next_present(block, bits, places)
        if not any_member(alive, i):
            continue
        go_to(rank, walk, binomials)
        states = product_of(members, size, factors)
        for k in range(size):
            facets[k] = ABSENT  # not known yet
        least, second = two_outside(members, size)  # factors ascend with the variable
        j = 0
        for q in range(words):
            left, grown = alive[i, q], u64(0)
            while left:
                x = (q << 6) + np.int64(lowest(left))
                left &= left - u64(1)
                while j < size and members[j] < x:
                    j += 1
                both = above[place_of(rank_with(x, j, walk, binomials), places_above)]
                penalty = family_penalty(parameter, arities[x], states) + size * step
                cost = _cost(here[i], both, j, states, penalty, x, form)
                replaced = cost - slack  # by a subset that costs no more
                k = np.int64(0)
                while k < size:
                    if some_required and has_child(must, members[k], x):
                        k += 1
                        continue
                    if facets[k] == ABSENT:
                        facets[k] = place_of(rank_without(k, walk), places_below)
                    factor = factors[members[k]]
                    subset = here[place_of(rank_swapped(k, x, j, walk, binomials), places)]
                    fewer, less = states / factor, shrunk(penalty - step, factor)
                    if _cost(below[facets[k]], subset, j - (k < j), fewer, less, x, form) <= replaced:
                        break
                    k += 1
                if k == size:
                    write_varset(members, size, varsets, written)
                    owners[written], costs[written] = x, cost
                    written += 1
                if _goes_on((here[i], both), states, penalty, cost, x, second if least == x else least, rules, form):
                    grown |= u64(1) << u64(x & 63)
            extend[i - first, q] = grown
    return extend, _first(written, found)


@njit
def judge_last(first, last, size, alive, tables, rules):
    """Cost the alive families (X, Q - X) of the varsets Q of `size` members, first <= place < last.

    A family of the largest parent sets needs what is counted of P + X and of no other varset of its size. So nothing is
    kept of what is most of all that is counted: each range of these varsets is counted, judged and forgotten.

    alive: of level size - 1. tables: the counts of level size - 2 and of size - 1; of the varsets Q their places, and
    T, or the figures, from place `first` on. Returns the families that `judge_families` finds.
    """
    alive, tables, rules = borrowed((alive, tables, rules))
    (places_below, below), (places_here, here), (places, above) = tables
    parameter, arities, binomials = rules.parameter, rules.arities, rules.binomials
    slack, factors, step, form = rules.slack, rules.factors, rules.step, rules.form
    some_required, must = rules.some_required, rules.must
    found = _room((last - first) * size, alive.shape[1])
    varsets, owners, costs = found
    walk = start_walk(size, binomials)
    members = walk.members
    facets, twice = np.empty(size, np.uint64), np.empty(size + 1, np.int64)
    block, before = find_place(first, places)
    bits = places[block, 0] & ~before
    written = np.int64(0)
    for i in range(first, last):
        block, bits, rank = next_present(block, bits, places)
        go_to(rank, walk, binomials)
        twice[size] = 0  # sums as those of the walk, over ranks two lower
        for k in range(size - 1, -1, -1):
            facet = rank_without(k, walk)
            facets[k] = ABSENT if some_required and not is_present(facet, places_here) else place_of(facet, places_here)
            twice[k] = twice[k + 1] + (binomials[members[k], k - 1] if k else 0)
        for j in range(size):
            x = members[j]
            if facets[j] == ABSENT or not has_child(alive, facets[j], x):
                continue
            states = 1.0
            for k in range(size):
                states *= factors[members[k]] if k != j else 1
            penalty = family_penalty(parameter, arities[x], states) + (size - 1) * step
            cost = _cost(here[facets[j]], above[i - first], j, states, penalty, x, form)
            replaced = cost - slack  # by a subset that costs no more
            k = np.int64(0)
            while k < size:
                if k != j and not (some_required and has_child(must, members[k], x)):
                    without = below[place_of(_rank_without_two(min(j, k), max(j, k), walk, twice), places_below)]
                    factor = factors[members[k]]
                    fewer, less = states / factor, shrunk(penalty - step, factor)
                    if _cost(without, here[facets[k]], j - (k < j), fewer, less, x, form) <= replaced:
                        break
                k += 1
            if k == size:
                write_varset(members, size, varsets, written)
                varsets[written, x >> 6] ^= u64(1) << u64(x & 63)
                owners[written], costs[written] = x, cost
                written += 1
    return _first(written, found)


@inlined
def _rank_without_two(j, k, walk, twice):
    """Rank of the walk's varset without its j-th and its k-th member, j < k."""
    same, down = walk.same, walk.down
    return same[0] - same[j] + down[j + 1] - down[k] + twice[k + 1]


@inlined
def keep_below(count, varset):
    """Drop all but the variables below `count` from a varset (w,); returns whether any is left."""
    some = u64(0)
    for q in range(varset.size):
        own = count - (q << 6)
        if own < 64:
            varset[q] &= (u64(1) << u64(max(own, 0))) - u64(1)
        some |= varset[q]
    return some != u64(0)


@inlined
def _gains(walk, states, own, rules, here, facets, gain, rows):
    """Drop the children X with H(Y | Q - Y) too small for some Y of the walk's varset Q that X may do without.

    rows: the children that are left (w,), and room for as many. states: of Q jointly; own: T of Q. gain[k] gets what
    the k-th member adds to the penalty, per (r_X - 1), up to the first that leaves no child. Returns whether any child
    is left.
    """
    parameter, arities, slack = rules.parameter, rules.arities, rules.slack
    some_required, must = rules.some_required, rules.must
    (left, spared), size = rows, gain.size
    n, step = arities.size, rules.step
    some = True
    k = np.int64(0)
    while some and k < size:
        r = rules.factors[walk.members[k]]
        gain[k] = added(shrunk(family_penalty(parameter, 2, states) + (size - 1) * step, r), r) + step
        if facets[k] == ABSENT:  # all that are left must have this member
            k += 1
            continue
        if some_required:
            for q in range(left.size):
                spared[q] = left[q] & must[walk.members[k], q]
        bound = (here[facets[k]] - own + slack) / gain[k]
        if arities[n - 1] - 1 >= bound:  # arities ascend
            count = 0
            while arities[count] - 1 < bound:
                count += 1
            some = keep_below(count, left)
            if some_required:
                for q in range(left.size):
                    left[q] |= spared[q]
                    some |= left[q] != u64(0)
        k += 1
    return some


@inlined
def children_within(size, limits, required, words):
    """The children (w,) that may have `size` parents, and must not have more."""
    within = np.zeros(words, np.uint64)
    for x in range(limits.size):
        within[x >> 6] |= u64(required[x] <= size <= limits[x]) << u64(x & 63)
    return within


@inlined
def extended_below(size, walk, extend, places, rules, facets, left):
    """Keep in `left` (w,) the children that are extended at each of their parent sets that is the walk's varset Q
    without a member, if Q is one of them.

    left has the children that may have so many parents, and must not have more. So no child is left that lacks a parent
    which it must have: Q - Y lacks it too, for a Y that need not be, and there the child was not extended. facets[k]
    gets the place of Q without its k-th member, ABSENT if it is not counted.
    """
    members, must, may = walk.members, rules.must, rules.may
    for k in range(size):
        y, rank = members[k], rank_without(k, walk)
        left[y >> 6] &= ~(u64(1) << u64(y & 63))
        facets[k] = place_of(rank, places) if is_present(rank, places) else ABSENT
        for q in range(left.size):
            extended = extend[facets[k], q] if facets[k] != ABSENT else u64(0)
            left[q] &= (extended | must[y, q]) & may[y, q]


@inlined
def _extended_at_all(size, walk, extend, places, rules, facets, left):
    """Keep in `left` (w,) the children that are extended at each subset of the walk's varset Q with one member less.
    All of these are counted. facets[k] gets the place of Q without its k-th member, unless nobody is left before."""
    members, some = walk.members, True
    k = np.int64(0)
    while k < size and some:
        facets[k] = place_of(rank_without(k, walk), places)
        left[members[k] >> 6] &= ~(u64(1) << u64(members[k] & 63))
        some = False
        for q in range(left.size):
            left[q] &= extend[facets[k], q]
            some |= left[q] != u64(0)
        k += 1
    if size == 1:  # at larger sets a child is alive only if it is at each of these
        for q in range(left.size):
            left[q] &= rules.may[members[0], q]


@njit
def next_alive(first, last, size, extend, below, level, rules, form):
    """The children alive at the varsets Q of `size` members, places first..last, (last - first, w), as far as entropies
    tell.

    X is alive at Q if Q is within its limit, if X is extended at every Q - Y, and if neither bound of its gain by Y,
    H(X | Q - Y) and H(Y | Q - Y), with the slack is at most what Y adds to the penalty (de Campos et al. 2018). For a
    superset R neither bound of the gain by Y on R - Y is larger, and Y adds no less. Nothing is asked about a Y that X
    must have: Q - Y is no parent set of X. Figures tell nothing of gains. extend and the counts `below` belong to level
    size - 1, those of `level` to level size.
    """
    below, rules = borrowed((below, rules))
    (places_here, here), (places, above) = below, level
    arities, limits, binomials, slack = rules.arities, rules.limits, rules.binomials, rules.slack
    some_required, must = rules.some_required, rules.must
    words = extend.shape[1]
    alive = np.empty((last - first, words), np.uint64)
    walk = start_walk(size, binomials)
    members = walk.members
    facets = np.zeros(size, np.uint64)
    gain = np.zeros(size, np.float64)
    within, left = children_within(size, limits, rules.required, words), np.zeros(words, np.uint64)
    spared = np.zeros(words, np.uint64)
    block, before = find_place(first, places)
    bits = places[block, 0] & ~before
    for i in range(first, last):
        block, bits, rank = next_present(block, bits, places)
        go_to(rank, walk, binomials)
        for q in range(words):
            left[q] = within[q]
        if some_required:
            extended_below(size, walk, extend, places_here, rules, facets, left)
        else:
            _extended_at_all(size, walk, extend, places_here, rules, facets, left)
        some = keep_below(words << 6, left)
        if form is None and some:
            states = product_of(members, size, rules.factors)
            some = _gains(walk, states, above[i], rules, here, facets, gain, (left, spared))
        for q in range(words):
            alive[i - first, q] = left[q]
        if form is not None:
            continue
        # where Y has the least arity of all, judge_families has seen H(X | Q - Y)
        larger = 0
        while larger < size and arities[members[larger]] == arities[0]:
            larger += 1
        if not some or larger == size:
            continue
        j = 0
        for q in range(words):
            rest = left[q]
            while rest:
                x = (q << 6) + np.int64(lowest(rest))
                bit = rest & (~rest + u64(1))
                rest ^= bit
                while j < size and members[j] < x:
                    j += 1
                for k in range(larger, size):
                    if some_required and has_child(must, members[k], x):
                        continue
                    joint = above[place_of(rank_swapped(k, x, j, walk, binomials), places)]
                    if here[facets[k]] - joint + slack <= gain[k] * (arities[x] - 1):
                        alive[i - first, q] ^= bit
                        break
    return alive


@njit
def alive_together(size, counts, alive, rules, form):
    """Of each child X what the varsets of `size` at which it is alive say together: the members of all, (n, w); and by
    figures the least that a family costs whose parents are one of them, and perhaps more, (n,). A few ns per varset and
    child."""
    counts, alive, rules, formula = borrowed((counts, alive, rules, form))
    places, here = counts
    n, words = rules.limits.size, alive.shape[1]
    possible, least = np.zeros((n, words), np.uint64), np.full(n, np.inf)
    walk, varset = start_walk(size, rules.binomials), np.empty((1, words), np.uint64)
    block, bits = np.int64(0), places[0, 0]
    for i in range(alive.shape[0]):
        block, bits, rank = next_present(block, bits, places)
        if not any_member(alive, i):
            continue
        go_to(rank, walk, rules.binomials)
        write_varset(walk.members, size, varset, np.int64(0))
        states = product_of(walk.members, size, rules.factors)
        for q in range(words):
            left = alive[i, q]
            while left:
                x = (q << 6) + np.int64(lowest(left))
                left &= left - u64(1)
                for word in range(words):
                    possible[x, word] |= varset[0, word]
                if form is not None:
                    least[x] = min(least[x], least_of(here[i], here[i, CELLS], states, x, rules.floors[x], formula))
    return possible, least
