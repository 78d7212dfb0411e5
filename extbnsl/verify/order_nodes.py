"""The nodes of the search that `order_search` explains: kernels, and what they read."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, popcount, u64
from extbnsl.kernels.compiler import borrowed, inlined, njit

BLOCK = 256  # families that are looked at together


class Piece(NamedTuple):
    """What the kernels read, of m variables. The families of a child are numbered by their costs.

    Of family j of child X, at first[X] + j: excess (f,), its cost above the least of the child; lowest (f,), the least
    rc of the families up to it; together (f,), the parents of these. lacking (b, m, 4), for child X in block[X] to
    block[X + 1] - 1: bit i of word w of block k says of each Y that family 256 k + 64 w + i does not have it as a
    parent, of X itself that there is such a family. least (m,): mu. cuts (c, 3): clusters, 0 for none; multipliers
    (c,).
    """

    excess: NDArray[np.int64]
    lowest: NDArray[np.int64]
    together: NDArray[np.uint64]
    first: NDArray[np.int64]
    lacking: NDArray[np.uint64]
    block: NDArray[np.int64]
    least: NDArray[np.int64]
    cuts: NDArray[np.uint64]
    multipliers: NDArray[np.int64]


@inlined
def _first_inside(blocks, begin, end, outside):
    """Of the families of a child, in blocks begin to end - 1, the number of the first with no parent outside; -1 if
    there is none."""
    for k in range(begin, end):
        a = b = c = d = ~u64(0)  # four chains of steps, of which none waits for another
        rest = outside
        while rest:
            y = lowest(rest)
            rest &= rest - u64(1)
            a &= blocks[k, y, 0]
            b &= blocks[k, y, 1]
            c &= blocks[k, y, 2]
            d &= blocks[k, y, 3]
        for w, word in enumerate((a, b, c, d)):
            if word:
                return (k - begin) * BLOCK + (w << 6) + np.int64(lowest(word))
    return np.int64(-1)


@njit
def first_inside_each(parents, blocks, everyone, halt):
    """For each of some families of a child the number of the first in these blocks with no parent beside its own, -1 if
    there is none: int64 (n,). Ends early when halt[0] is set."""
    parents, blocks, everyone, halt = borrowed((parents, blocks, everyone, halt))
    found = np.full(parents.size, -1, np.int64)
    for j in range(parents.size):
        if halt[0]:
            break
        found[j] = _first_inside(blocks, 0, blocks.shape[0], everyone & ~parents[j])
    return found


@inlined
def _add(amount, varset, totals):
    """Add an amount to the totals of the members of a varset."""
    while varset:
        totals[lowest(varset)] += amount
        varset &= varset - u64(1)


@inlined
def _rest(piece, varset, falls):
    """h of a varset, and into falls (m,) by how much its needs fall with each of the variables outside."""
    rest = np.int64(0)
    for x in range(falls.size):
        falls[x] = 0
        if not varset >> u64(x) & u64(1):
            rest += piece.least[x]
    for i in range(piece.multipliers.size):
        multiplier = piece.multipliers[i]
        a, b, c = piece.cuts[i, 0], piece.cuts[i, 1], piece.cuts[i, 2]
        a, b, c = u64(0) if a & varset else a, u64(0) if b & varset else b, u64(0) if c & varset else c
        left = (a != 0) + (b != 0) + (c != 0)
        rest += multiplier * ((left + 1) >> 1)
        if left == 2:  # one is as good as two
            _add(multiplier, (a & b) | (b & c) | (a & c), falls)
        elif left:
            _add(multiplier, a | b | c, falls)
            _add(multiplier, a & b & c, falls)
    return rest


@inlined
def _smallest_closed(outside, parents):
    """The smallest non-empty set of variables outside that has parents[x] (m,) with each x in it."""
    best, size = outside, popcount(outside)
    starts = outside
    while starts:
        found = starts & (~starts + u64(1))
        starts ^= found
        waiting = found
        while waiting and popcount(found) < size:
            more = parents[lowest(waiting)] & ~found
            waiting = (waiting & (waiting - u64(1))) | more
            found |= more
        if popcount(found) < size:
            best, size = found, popcount(found)
    return best


@inlined
def _successors(piece, outside, slack, families, parents):
    """The variables to go on with from a node, none if it can go; into families (m,) where the family is that each
    outside would have, -1 if there is none. slack: limit - g - h. parents: working space (m,)."""
    rest = outside
    while rest:
        x = np.int64(lowest(rest))
        rest &= rest - u64(1)
        number = _first_inside(piece.lacking, piece.block[x], piece.block[x + 1], outside)
        families[x] = -1 if number < 0 else piece.first[x] + number
        last = piece.first[x + 1] - 1 if number < 0 else families[x]
        if piece.lowest[last] >= slack:
            return u64(0)
        parents[x] = piece.together[last] & outside
    return _smallest_closed(outside, parents)


@njit
def expand(piece, varsets, g, gap, halt):
    """The successors of nodes, varsets (n,) and g (n,), that are below the limit; one may be there several times.

    gap: the limit above the cheapest of each child. O(m b m) per node with b blocks of families to a child, at worst.
    """
    piece, varsets, g, gap, halt = borrowed((piece, varsets, g, gap, halt))
    m = piece.least.size
    everyone = ~u64(0) >> u64(64 - m)
    found, costs = np.empty(varsets.size * m, np.uint64), np.empty(varsets.size * m, np.int64)
    falls, families, parents = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.uint64)
    count = 0
    for i in range(varsets.size):
        if halt[0]:
            break
        slack = gap - g[i] - _rest(piece, varsets[i], falls)
        chosen = _successors(piece, everyone & ~varsets[i], slack, families, parents)
        while chosen:
            x = np.int64(lowest(chosen))
            chosen &= chosen - u64(1)
            own = families[x]
            if own >= 0 and piece.excess[own] - piece.least[x] - falls[x] < slack:
                found[count], costs[count] = varsets[i] | (u64(1) << u64(x)), g[i] + piece.excess[own]
                count += 1
    return found[:count].copy(), costs[:count].copy()
