"""Which children are dropped from varsets of a level, as a family that is known costs less than all that go on there.

Level by level the families that win so far are known. A child X is dropped at P where what (X, P) and all families of X
with more parents cost at least is no less than BestScore(X | P) and the slack: see lattice.py, whose rules by entropies
come before these.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import borrowed, either, inlined, inner, njit
from extbnsl.kernels.ranks import find_place, go_to, next_present, place_of, rank_swapped, rank_with, start_walk
from extbnsl.parents.best_score import block_row
from extbnsl.parents.exhaustive.lattice import any_member, has_child, place_among, product_of, two_outside, write_varset
from extbnsl.scores.formula import CELLS, least_of
from extbnsl.scores.penalty import family_penalty, grown


def _least_by_penalty(p, i, listed, x, walk, told, rules, form):
    """What a family of X with the parents P, row i of those listed, and all that have more cost at least."""
    size, states = walk.members.size - 1, listed.states[i]
    return rules.floors[x] + family_penalty(rules.parameter, rules.arities[x], states) + size * rules.step


def _least_of_larger(p, i, listed, x, walk, told, rules, form):
    """What all families of X that have more parents than P cost at least."""
    size, outside, factors = walk.members.size - 1, listed.outside, rules.factors
    other = outside[i, 1] if outside[i, 0] == x else outside[i, 0]
    if size >= rules.limits[x] or other >= factors.size:
        return np.inf
    penalty = grown(family_penalty(rules.parameter, rules.arities[x], listed.states[i]), factors[other])
    return rules.floors[x] + penalty + (size + 1) * rules.step


def _others_reach(enough, family, listed, walk, told, rules, form):
    """Whether the family (p, i, x) of X and P costs `enough` at least, as far as T of P and of P + X without one of P
    tells."""
    _, i, x = family
    go_to(listed.ranks[i], walk, rules.binomials)
    size, (places, joint) = walk.members.size - 1, told
    enough -= family_penalty(rules.parameter, rules.arities[x], listed.states[i]) + size * rules.step
    own = joint[place_of(listed.ranks[i], places)]
    j = place_among(x, walk.members, size)
    for k in range(size):
        if rules.some_required and has_child(rules.must, walk.members[k], x):
            continue
        if own - joint[place_of(rank_swapped(k, x, j, walk, rules.binomials), places)] >= enough:
            return True
    return False


def _known(p, i, listed, x, walk, told, rules, form):
    """What figures have told of all of these."""
    return told[p]


def _figures_reach(enough, family, listed, walk, told, rules, form):
    """The same by figures."""
    return told[family[0]] >= enough


def _by_sums(level, known, form):
    """What tells what families cost at least: T of a level."""
    return level


def _by_figures(level, known, form):
    """What figures have told of each family."""
    return known


_told = either(_by_sums, _by_figures)
_least, _of_larger = either(_least_by_penalty, _known), either(_least_of_larger, _known)
_reach = either(_others_reach, _figures_reach)


@njit
def drop_hopeless(first, last, size, children, counts, rules, tables, alive):
    """alive[first:last], of the varsets P at these places, without each X of `children` for which no superset of P can
    cost less than BestScore(X | P) and the slack: what they cost at least is no less.

    Of T this is floors[X] and the penalty of P: from P to a superset BestScore never rises and the penalty never falls.
    Or it is that for all larger supersets alone, by the penalty of the smallest one, where (X, P) costs no less either:
    for each W in P, N H(X | P) is at least N H(P - W + X) - N H(P), as P + X has no less entropy than without W. (A W
    that X must have is passed over: P - W + X need not be counted.)
    Figures say it by `least_of`: those of counts, of this level and of the next. `tables` (byte tables of these
    children) hold all wanted families of smaller parent sets, or of as large ones too. Child by child, so that a
    child's tables stay in cache; neighbouring varsets differ in the byte of their lowest member alone most of the time,
    so the AND over the other bytes is kept.
    """
    left_alive = alive[first:last].copy()
    children, counts, rules, tables, alive = borrowed((children, counts, rules, tables, left_alive))
    level, above = counts
    listed = _written_out(first, last, size, level.places, rules, alive)
    figures = level.joint[first:], above, rules.floors, rules.binomials
    first_of, own, known = _by_child(size, listed, alive, figures, rules.form)
    told = _told(level, known, rules.form)
    kept, at = np.empty(max(1, tables.width.max()), np.uint64), np.empty(tables.members.shape[1], np.int64)
    space = start_walk(size, rules.binomials), kept, at
    _drop_listed(children, (first_of, own), listed, told, space, rules, tables, alive)
    return left_alive


@inner
def _drop_listed(children, places, listed, told, space, rules, tables, alive):
    """The same of the families listed, from where they are alive: apart, so that all this can be borrowed."""
    children, places, listed, told = borrowed((children, places, listed, told))
    space, rules, tables, alive = borrowed((space, rules, tables, alive))
    (first_of, own), (walk, kept, at) = places, space
    rows, varsets, others_of, costs, bits = listed.rows, listed.varsets, listed.others_of, tables.costs, tables.bits
    for c in range(children.size):
        x = children[c]
        base = tables.first[c]
        others, block, blocks, ready = -1, -1, 0, 0
        for p in range(first_of[x], first_of[x + 1]):
            i = own[p]
            larger = _of_larger(p, i, listed, x, walk, told, rules, rules.form) - rules.slack
            if others_of[i] != others:
                others, ready = others_of[i], 0
                blocks, block = _find_rows(c, listed.byte[i], varsets[i], tables, at)
            row = block_row(c, block, _byte_of(varsets[i], listed.byte[i]), tables)
            for word in range(tables.width[c]):
                if costs[base + (word << 6)] > larger:
                    break
                if word == ready:
                    left = ~u64(0)
                    for b in range(blocks):
                        left &= bits[at[b] + word]
                    kept[word] = left
                    ready += 1
                left = kept[word] & bits[row + word] if block >= 0 else kept[word]
                if left:
                    best = costs[base + (word << 6) + np.int64(lowest(left))]
                    if best <= larger and (
                        best <= _least(p, i, listed, x, walk, told, rules, rules.form) - rules.slack
                        or _reach(best + rules.slack, (p, i, x), listed, walk, told, rules, rules.form)
                    ):
                        alive[rows[i], x >> 6] ^= u64(1) << u64(x & 63)
                    break


@inlined
def _byte_of(varset, byte):
    """This byte of a varset."""
    return np.int64((varset[byte >> 3] >> u64((byte & 7) << 3)) & u64(255))


@inlined
def _agree_but(byte, one, other):
    """Whether two varsets have the same bytes but for this one."""
    differs = (one[byte >> 3] ^ other[byte >> 3]) & ~(u64(255) << u64((byte & 7) << 3))
    for q in range(one.size):
        if q != byte >> 3:
            differs |= one[q] ^ other[q]
    return differs == u64(0)


@inlined
def _find_rows(c, but, varset, tables, at):
    """Where the bitsets of a child begin that say which of its parent sets have no member outside `varset` in each
    block but that of one byte; how many these are, and that block, -1 if there is none."""
    first, others, block = tables.block_first[c], 0, -1
    for b in range(tables.block_first[c + 1] - first):
        byte = tables.byte[first + b]
        if byte == but:
            block = b
        else:
            at[others] = block_row(c, b, _byte_of(varset, byte), tables)
            others += 1
    return others, block


class _Listed(NamedTuple):
    """Varsets P of a range of a level with a child that is alive: where they are in the range, their ranks, varsets
    (m, w), the products of their factors, float64, the byte of the lowest member, how often the other bytes, or which
    these are, have changed since the first one, and the two lowest variables outside, (m, 2) int64."""

    rows: NDArray[np.int64]
    ranks: NDArray[np.int64]
    varsets: NDArray[np.uint64]
    states: NDArray[np.float64]
    byte: NDArray[np.int64]
    others_of: NDArray[np.int64]
    outside: NDArray[np.int64]


@inner
def _by_child(size, listed, alive, figures, form):
    """Where in the rows listed each child is alive: own[first_of[X]:first_of[X + 1]], ascending; (n + 2,) int64, (k,)
    uint32. And by `figures`, those of the level and of the next one, what each of these families costs at least, with
    all that have more parents: (k,) float64."""
    (here, above, floors, binomials), formula = borrowed((figures, form))
    rows, ranks, states = listed.rows, listed.ranks, listed.states
    n, walk = floors.size, start_walk(size, binomials)
    first_of = np.zeros(n + 2, np.int64)
    for i in range(rows.size):
        for q in range(alive.shape[1]):
            left = alive[rows[i], q]
            while left:
                first_of[u64((q << 6) + 2) + lowest(left)] += 1
                left &= left - u64(1)
    for x in range(n):
        first_of[x + 2] += first_of[x + 1]
    own = np.empty(first_of[n + 1], np.uint32)
    known = np.empty(0 if form is None else own.size)
    for i in range(rows.size):
        if form is not None:
            go_to(ranks[i], walk, binomials)
        for q in range(alive.shape[1]):
            left = alive[rows[i], q]
            while left:
                x = u64((q << 6) + 1) + lowest(left)
                if form is not None:
                    child = np.int64(x) - 1
                    rank = rank_with(child, place_among(child, walk.members, size), walk, binomials)
                    cells = above.joint[place_of(rank, above.places), CELLS]
                    known[first_of[x]] = least_of(here[rows[i]], cells, states[i], child, floors[child], formula)
                own[first_of[x]] = i
                first_of[x] += 1
                left &= left - u64(1)
    return first_of, own, known


@inner
def _written_out(first, last, size, places, rules, alive):
    """The varsets at these places with a child in alive[place - first]."""
    total = last - first
    rows, ranks, varsets = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(alive.shape, np.uint64)
    states, byte, others_of = np.ones(total, np.float64), np.zeros(total, np.int64), np.zeros(total, np.int64)
    outside = np.empty((total, 2), np.int64)
    walk = start_walk(size, rules.binomials)
    members = walk.members
    block, before = find_place(first, places)
    bits = places[block, 0] & ~before
    m = np.int64(0)
    for i in range(total):
        block, bits, rank = next_present(block, bits, places)
        if not any_member(alive, i):
            continue
        go_to(rank, walk, rules.binomials)
        rows[m], ranks[m], states[m] = i, rank, product_of(members, size, rules.factors)
        outside[m, 0], outside[m, 1] = two_outside(members, size)
        write_varset(members, size, varsets, m)
        byte[m] = members[0] >> 3 if size else 0
        if m > 0:
            same = byte[m] == byte[m - 1] and _agree_but(byte[m], varsets[m], varsets[m - 1])
            others_of[m] = others_of[m - 1] + (not same)
        m += 1
    return _Listed(rows[:m], ranks[:m], varsets[:m], states[:m], byte[:m], others_of[:m], outside[:m])
