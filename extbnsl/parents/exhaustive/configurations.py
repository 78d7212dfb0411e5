"""The families of one child of data of both kinds, depth first: configurations of its parents of states, and in them
regressions on its parents of numbers. See scores/conditional.py for the cost.

**Parents of states** D come from a walk over all subsets of the candidates, which divides the records into
configurations as a candidate is added. D and all its supersets are left out where they are singular (a configuration
has too few records); where the candidate that came last divides nothing, unless some slack is asked for (all families
with it have the same misfit without it, and cost less); and where they cost too much, see below.

The branches of a set of them are gone through from the last candidate on, so that all of its subsets are known by then.

**Parents of numbers** C come, for each D, from a walk over subsets of the candidates, see regressions.py, which also
says how much D and all that may be added cost at least.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, inner, njit
from extbnsl.parents.exhaustive.collected import FULL, OVER, cheapest_inside, judge, put, take_out
from extbnsl.parents.exhaustive.regressions import (
    FLOOR,
    ROUNDING,
    SINGULAR,
    Asked,
    Setting,
    new_frames,
    walk_regressions,
)
from extbnsl.scores.gaussian import OWN_PARAMETERS


class Divided(NamedTuple):
    """The candidates of states, and the records as those divide them that must be parents.

    codes (d, N) uint16, arities (d,) int64; base (N,) int32: the number of the configuration of those that must be, of
    `bases` that occur; joint: how many there might be.
    """

    codes: NDArray[np.uint16]
    arities: NDArray[np.int64]
    base: NDArray[np.int32]
    bases: int
    joint: float


class Columns(NamedTuple):
    """The numbers of records (N, k) float64, of variance 1: rows: of those that must be parents, which are so many,
    candidates, and the child, alone: without candidates; the squares (k,) of errors of both, a part of the variance."""

    rows: NDArray[np.float64]
    alone: NDArray[np.float64]
    squares: NDArray[np.float64]
    squares_alone: NDArray[np.float64]
    must: int


class Walk(NamedTuple):
    """The stack of the walk over parents of states: which (depth, N) int32: the configuration of each record; occur
    (depth,) how many there are; joint (depth,) how many there might be; next (depth,) the candidate that is next, all
    behind it are done; member (depth,) the candidate that came last; mask (words,) the parents of the node at
    hand; numbers (table,) and counts (depth, N) of the configurations."""

    which: NDArray[np.int32]
    occur: NDArray[np.int64]
    joint: NDArray[np.float64]
    next: NDArray[np.int64]
    member: NDArray[np.int64]
    mask: NDArray[np.uint64]
    numbers: NDArray[np.int32]
    counts: NDArray[np.int64]


@inner
def _new_walk(divided, depth, words):
    """The walk with its first node, those that must be alone; masks of so many words."""
    records = divided.base.size
    widest = 1
    for arity in divided.arities:
        widest = max(widest, arity)
    walk = Walk(
        np.empty((depth + 1, records), np.int32),
        np.zeros(depth + 1, np.int64),
        np.zeros(depth + 1),
        np.zeros(depth + 1, np.int64),
        np.full(depth + 1, -1),
        np.zeros(words, np.uint64),
        np.full(records * widest, -1, np.int32),
        np.zeros((depth + 1, records), np.int64),
    )
    walk.which[0] = divided.base
    walk.occur[0], walk.joint[0] = divided.bases, divided.joint
    for row in range(records):
        walk.counts[0, divided.base[row]] += 1
    return walk


@inner
def _divide(top, y, divided, walk):
    """Divide the configurations of node `top` by candidate y, in the order in which they occur; the records of the
    smallest. O(N)."""
    up, arity, numbers = top + 1, divided.arities[y], walk.numbers
    occur = 0
    walk.counts[up] = 0
    for row in range(divided.base.size):
        cell = walk.which[top, row] * arity + divided.codes[y, row]
        number = numbers[cell]
        if number < 0:
            number = np.int32(occur)
            numbers[cell] = number
            occur += 1
        walk.which[up, row] = number
        walk.counts[up, number] += 1
    for cell in range(walk.occur[top] * arity):
        numbers[cell] = -1
    walk.occur[up], walk.joint[up] = occur, walk.joint[top] * arity
    least = divided.base.size
    for number in range(occur):
        least = min(least, walk.counts[up, number])
    return least


@inner
def _covariances(which, counts, occur, rows, squares, out):
    """The covariances of records (N, m) in each configuration, with the squares of errors: lower triangles into out
    (q, m, m). O(N m^2)."""
    m = rows.shape[1]
    means = np.zeros((occur, m))
    out[:] = 0.0
    for row in range(which.size):
        j, own = which[row], rows[row]
        for a in range(m):
            means[j, a] += own[a]
            for b in range(a + 1):
                out[j, a, b] += own[a] * own[b]
    for j in range(occur):
        n = counts[j]
        for a in range(m):
            for b in range(a + 1):
                out[j, a, b] = (out[j, a, b] - means[j, a] * means[j, b] / n) / n
            out[j, a, a] += squares[a]


@inner
def _regress(up, walk, numbers, asked, interest, known, found, halt):
    """Judge all families with the parents of states of node `up` of the walk, which has so many; SINGULAR if they are,
    and all with more of these, else OVER or FULL."""
    q, counts, must = walk.occur[up], walk.counts[up], numbers.must
    m = numbers.rows.shape[1] - 1 - must
    smallest = counts[0]
    for j in range(q):
        smallest = min(smallest, counts[j])
    most = min(smallest - OWN_PARAMETERS - must, asked.limit - up, m)
    if most < 0:
        return SINGULAR
    if most == 0:
        m = 0
    frames = new_frames(must, most, q, m, interest.cuts.of_cut.size)
    if m > 0:
        _covariances(walk.which[up], counts, q, numbers.rows, numbers.squares, frames.left[0])
    else:
        _covariances(walk.which[up], counts, q, numbers.alone, numbers.squares_alone, frames.left[0])
    dearer = Asked(asked.limit, asked.price, asked.arc, asked.slack, asked.own + asked.arc * up)
    setting = Setting(must, most, counts, walk.joint[up])
    return walk_regressions(setting, frames, walk.mask, dearer, interest, known, found, halt)


@njit
def search_numbers(firsts, divided, numbers, asked, interest, known, found, halt):
    """Judge the families of a child of numbers whose first parent of states is from firsts[0] on and before firsts[1],
    and if firsts[2] those without one; OVER, or FULL if `found` has no room.

    O(N m^2) for each set of parents of states, and O(q m^3) for each family from which the search goes on, of m numbers
    and q configurations.
    """
    divided, numbers, interest, known, found, halt = borrowed((divided, numbers, interest, known, found, halt))
    must = numbers.must
    d, m = divided.arities.size, numbers.rows.shape[1] - 1 - must
    depth = min(d, asked.limit)
    walk = _new_walk(divided, depth, known.masks.shape[1])
    mask = walk.mask
    if firsts[2] == 1:
        state = _regress(0, walk, numbers, asked, interest, known, found, halt)
        if state != OVER:
            return FULL if state == FULL else OVER
    top = 0
    walk.next[0] = firsts[1] - 1
    while top >= 0 and not halt[0]:
        y, up = walk.next[top], top + 1
        if y < (firsts[0] if top == 0 else walk.member[top] + 1) or top == depth:
            if top > 0:
                take_out(mask, m + walk.member[top])
            top -= 1
            continue
        walk.next[top] -= 1
        put(mask, m + y)
        least = _divide(top, y, divided, walk)
        idle = walk.occur[up] == walk.occur[top] and asked.slack == 0.0
        floor = asked.own + divided.base.size * FLOOR + asked.price * walk.joint[up] * (must + OWN_PARAMETERS)
        if least >= must + OWN_PARAMETERS and not idle and floor - asked.slack < cheapest_inside(mask, known):
            state = _regress(up, walk, numbers, asked, interest, known, found, halt)
            if state == FULL:
                return FULL
            if state == OVER:
                top = up
                walk.member[top], walk.next[top] = y, d - 1
                continue
        take_out(mask, m + y)
    return OVER


@inner
def _misfit_of_states(up, child, arity, walk, mlogm, cells):
    """N H(child | the parents of node `up`), in nats. cells: (N * arity,) zeros, and zeros again. O(N)."""
    total = 0.0
    for j in range(walk.occur[up]):
        total += mlogm[walk.counts[up, j]]
    for row in range(child.size):
        cells[walk.which[up, row] * arity + child[row]] += 1
    for cell in range(walk.occur[up] * arity):
        if cells[cell] > 0:
            total -= mlogm[cells[cell]]
            cells[cell] = 0
    return total


@njit
def search_states(firsts, divided, child, arity, asked, known, found, halt):
    """`search_numbers` of a child of states, codes (N,) of so many states, whose candidates are of states alone.

    asked.own: what all candidates leave of it, in nats.
    """
    divided, child, known, found, halt = borrowed((divided, child, known, found, halt))
    d, records = divided.arities.size, child.size
    depth = min(d, asked.limit)
    walk = _new_walk(divided, depth, known.masks.shape[1])
    mask = walk.mask
    mlogm = np.zeros(records + 1)
    for count in range(1, records + 1):
        mlogm[count] = count * math.log(count)
    error = 8 * ROUNDING * mlogm[records]
    cells = np.zeros(records * arity, np.int64)
    price = asked.price * (arity - 1)
    if firsts[2] == 1:
        cost = _misfit_of_states(0, child, arity, walk, mlogm, cells) + price * walk.joint[0]
        judge(cost, error, mask, cheapest_inside(mask, known), asked.slack, known, found)
    top = 0
    walk.next[0] = firsts[1] - 1
    while top >= 0 and not halt[0]:
        y, up = walk.next[top], top + 1
        if y < (firsts[0] if top == 0 else walk.member[top] + 1) or top == depth:
            if top > 0:
                take_out(mask, walk.member[top])
            top -= 1
            continue
        walk.next[top] -= 1
        put(mask, y)
        least = asked.own + price * walk.joint[top] * divided.arities[y] + asked.arc * up
        cheapest = cheapest_inside(mask, known)
        if least - error - asked.slack < cheapest:
            _divide(top, y, divided, walk)
            if walk.occur[up] > walk.occur[top] or asked.slack > 0.0:
                if found.counts[0] >= found.costs.size - 1:
                    return FULL
                cost = _misfit_of_states(up, child, arity, walk, mlogm, cells) + price * walk.joint[up]
                judge(cost + asked.arc * up, error, mask, cheapest, asked.slack, known, found)
                top = up
                walk.member[top], walk.next[top] = y, d - 1
                continue
        take_out(mask, y)
    return OVER
