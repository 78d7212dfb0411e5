"""Which successors of a node are enough: node fixing and ancestral successors.

At node U with slack = limit - g - h1(U), a child X outside U can only have families whose reduced cost is below the
slack, and none after the first, in order of cost, that lies inside U. Let par(X) be what these families have outside
U. If S is closed under par, the families of S lie inside U + S in every network of interest, so S may come first: the
successors by members of S are enough. A child without a family prunes U. Path extension and components are special
cases. The reduced costs must be those of the multipliers of h1.

A node keeps one byte for its set: the number of a variable, or of one of the sets that a trial search found to
be frequent, the smallest that holds the node's. Any larger set does as well.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, popcount, u64
from extbnsl.kernels.compiler import inner

VARIABLES = 64  # numbers below it stand for single variables
ALL_SUCCESSORS = np.uint8(255)  # stands for all variables
MOST_SETS = 255 - VARIABLES


class Ancestry(NamedTuple):
    """allowed (256,) uint64: the successors that each number stands for, sets in ascending size. parents (m,) uint64,
    reduced (m,) float64 nats, first (n + 1,) int64: the families in score order; first is empty if nodes are not to be
    looked at."""

    allowed: NDArray[np.uint64]
    parents: NDArray[np.uint64]
    reduced: NDArray[np.float64]
    first: NDArray[np.int64]


def _allowed(sets: NDArray[np.uint64]) -> NDArray[np.uint64]:
    allowed = np.full(256, ~np.uint64(0))
    allowed[:VARIABLES] = np.uint64(1) << np.arange(VARIABLES, dtype=np.uint64)
    order = np.lexsort((sets, np.bitwise_count(sets)))
    allowed[VARIABLES : VARIABLES + sets.size] = sets[order]
    return allowed


NO_ANCESTRY = Ancestry(_allowed(np.zeros(0, np.uint64)), np.zeros(0, np.uint64), np.zeros(0), np.zeros(0, np.int64))


def ancestry(
    parents: tuple[NDArray[np.uint64], ...], reduced: tuple[NDArray[np.float64], ...], sets: NDArray[np.uint64]
) -> Ancestry:
    """Ancestral successors by families parents[X] (m, 1) in score order, and at most MOST_SETS frequent sets."""
    first = np.cumsum([0] + [own.size for own in reduced], dtype=np.int64)
    return Ancestry(_allowed(sets), np.concatenate(parents)[:, 0], np.concatenate(reduced), first)


def frequent_sets(closed: NDArray[np.uint64], variables: int) -> NDArray[np.uint64]:
    """Of the sets of several variables among `closed` (m,), the MOST_SETS that would save the most edges, ascending."""
    sets, counts = np.unique(closed[np.bitwise_count(closed) > 1], return_counts=True)
    saved = counts * (variables - np.bitwise_count(sets).astype(np.int64))
    best = np.lexsort((sets, -saved))[:MOST_SETS]
    return np.sort(sets[best])


@inner
def closed_set(varset, everything, slack, ancestry, par):
    """The smallest set that is closed under par, the first of equal ones, or zero if a child has no family left.

    A variable that needs no other is taken at once. par (64,) uint64 is scratch.
    """
    parents, reduced, first = ancestry.parents, ancestry.reduced, ancestry.first
    outside = everything & ~varset
    rest = outside
    while rest:
        x = np.int64(lowest(rest))
        rest &= rest - u64(1)
        needed = u64(0)
        some = False
        for j in range(first[x], first[x + 1]):
            missing = parents[j] & ~varset
            if reduced[j] < slack:
                some = True
                needed |= missing
            if not missing:
                break
        if not some:
            return u64(0)
        if not needed:
            return u64(1) << u64(x)
        par[x] = needed
    smallest = outside
    rest = outside
    while rest:
        bit = rest & (~rest + u64(1))
        rest ^= bit
        found = _closure(bit, par, smallest)
        if popcount(found) < popcount(smallest):
            smallest = found
    return smallest


@inner
def _closure(start, par, smallest):
    """The closure of a set under par, or something as large as `smallest` when it is no smaller."""
    found = start
    new = start
    while new:
        x = np.int64(lowest(new))
        new &= new - u64(1)
        more = par[x] & ~found
        found |= more
        new |= more
        if popcount(found) >= popcount(smallest):
            return smallest
    return found


@inner
def number_of(closed, outside, allowed):
    """The number of the smallest allowed set that holds the closed one; ALL_SUCCESSORS if there is none but all."""
    if closed == outside:
        return ALL_SUCCESSORS
    if not closed & (closed - u64(1)):
        return np.uint8(lowest(closed))
    for k in range(VARIABLES, 255):
        if allowed[k] == ~u64(0):
            break
        if not closed & ~allowed[k]:
            return np.uint8(k)
    return ALL_SUCCESSORS
