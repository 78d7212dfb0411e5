"""The nodes of the search that `order_search` explains, and a walk from them: kernels, and what they read.

The walk is to all networks over some variables that cost less than a limit, each once. It takes the variables away, a
sink at a time, the largest first where there are several. So a network is met in one way only: when X goes with the
parents P, no larger variable that is left is a sink; so each has a child among those that are left, if it is not in P.
Such variables are bound until a child of theirs goes, and none of them goes before.

What is left costs at least what its best order does, g, and g is known of every set that a network below the limit can
leave. So a branch of the walk ends as soon as nothing below the limit can come of it, but for the bound variables.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, popcount, u64
from extbnsl.kernels.compiler import borrowed, inlined, njit

BLOCK = 256  # families that are looked at together


class Piece(NamedTuple):
    """What the kernels read, of m variables. The families of a child are numbered by their costs.

    lacking, for child X in block[X] to block[X + 1] - 1: bit i of word w of block k says of each Y that family
    256 k + 64 w + i does not have it as a parent, of X itself that there is such a family.
    """

    excess: NDArray[np.int64]  # (f,) of family j of child X, at first[X] + j: its cost above the least of the child
    lowest: NDArray[np.int64]  # (f,) the least rc of the families up to it
    together: NDArray[np.uint64]  # (f,) the parents of these
    first: NDArray[np.int64]  # (m + 1,)
    lacking: NDArray[np.uint64]  # (b, m, 4)
    block: NDArray[np.int64]  # (m + 1,)
    least: NDArray[np.int64]  # (m,) mu
    cuts: NDArray[np.uint64]  # (c, 3) clusters, 0 for none
    multipliers: NDArray[np.int64]  # (c,)


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


class Walkable(NamedTuple):
    """What the walk reads, of m variables."""

    parents: NDArray[np.uint64]  # (f,) of the families of child X, by cost, in rows first[X] to first[X + 1] - 1
    costs: NDArray[np.int64]  # (f,) of these
    first: NDArray[np.int64]  # (m + 1,)
    varsets: NDArray[np.uint64]  # (s,) ascending
    least: NDArray[np.int64]  # (s,) g of each


@inlined
def _least_of(walkable, varset):
    """g of a varset; -1 if no network below the limit leaves it."""
    at = np.searchsorted(walkable.varsets, varset)
    return walkable.least[at] if at < walkable.varsets.size and walkable.varsets[at] == varset else np.int64(-1)


@inlined
def _next_sink(x, left, bound, gone, limit, walkable):
    """The next variable below x that can go from what is left, -1 if there is none; and what the families of all others
    cost at least."""
    free = left & ~bound
    for y in range(x - 1, -1, -1):
        if free >> u64(y) & u64(1):
            least = _least_of(walkable, left ^ (u64(1) << u64(y)))
            if least >= 0 and gone + least + walkable.costs[walkable.first[y]] < limit:
                return y, gone + least
    return np.int64(-1), gone


@njit
def walk(walkable, limit, most, rows, costs, halt):
    """Go to all networks that cost less than the limit, until it is over, halted, `most` steps have been made, or rows
    (n, m) and costs (n,) are full, which get the rows of their families and what they cost. How many networks there
    are, and how many steps it took.

    With d variables gone, place d of an array says what is so then.
    """
    walkable, rows, costs, halt = borrowed((walkable, rows, costs, halt))
    m = walkable.first.size - 1
    left, bound = np.zeros(m + 1, np.uint64), np.zeros(m + 1, np.uint64)
    gone = np.zeros(m + 1, np.int64)  # what the families of those that have gone cost
    child = np.zeros(m + 1, np.int64)  # that goes next, m before the first
    family = np.zeros(m + 1, np.int64)  # its row to come
    others = np.zeros(m + 1, np.int64)  # what all other families cost at least
    chosen = np.zeros(m, np.int64)  # by child the rows of families that have gone
    left[0], child[0] = ~u64(0) >> u64(64 - m), m
    written, steps, depth = 0, 0, 0
    while depth >= 0 and written < costs.size and steps < most and not halt[0]:
        steps += 1
        x, j = child[depth], family[depth]
        if x == m or j == walkable.first[x + 1] or others[depth] + walkable.costs[j] >= limit:
            x, others[depth] = _next_sink(x, left[depth], bound[depth], gone[depth], limit, walkable)
            if x < 0:
                depth -= 1
            else:
                child[depth], family[depth] = x, walkable.first[x]
            continue
        family[depth] += 1
        rest, parents = left[depth] ^ (u64(1) << u64(x)), walkable.parents[j]
        if parents & ~rest:
            continue
        chosen[x] = j
        larger = rest & ~((u64(2) << u64(x)) - u64(1))
        held, cost = (bound[depth] | larger) & ~parents, gone[depth] + walkable.costs[j]
        if rest == u64(0):
            for v in range(m):
                rows[written, v] = chosen[v]
            costs[written] = cost
            written += 1
        elif held != rest:
            depth += 1
            left[depth], bound[depth], gone[depth], child[depth] = rest, held, cost, m
    return written, steps
