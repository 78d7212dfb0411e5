"""A walk to all networks over some variables that cost less than a limit, each once: a kernel, and what it reads.

It takes the variables away, a sink at a time, the largest first where there are several. So a network is met in one
way only: when X goes with the parents P, no larger variable that is left is a sink; so each has a child among those
that are left, if it is not in P. Such variables are bound until a child of theirs goes, and none of them goes before.

What is left costs at least what its best order does, g, and g is known of every set that a network below the limit can
leave. So a branch of the walk ends as soon as nothing below the limit can come of it, but for the bound variables.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, njit


class Walkable(NamedTuple):
    """What the kernel reads, of m variables. Of the families of child X, by cost, in rows first[X] to first[X + 1] - 1:
    parents (f,) uint64 and costs (f,) int64. varsets (s,) uint64, ascending, and least (s,) int64: g of each."""

    parents: NDArray[np.uint64]
    costs: NDArray[np.int64]
    first: NDArray[np.int64]
    varsets: NDArray[np.uint64]
    least: NDArray[np.int64]


class Walk(NamedTuple):
    """Where the walk is. depth, steps (1,): how many variables have gone, -1 at the end, and how many steps it took.

    With d variables gone: left, bound (m + 1,) uint64; gone (m + 1,) int64, what their families cost; next (m + 1,),
    the child to go next, m before the first; row (m + 1,), its family to come, and others (m + 1,), what all other
    families cost at least. chosen (m,): by child the rows of families that have gone.
    """

    depth: NDArray[np.int64]
    steps: NDArray[np.int64]
    left: NDArray[np.uint64]
    bound: NDArray[np.uint64]
    gone: NDArray[np.int64]
    next: NDArray[np.int64]
    row: NDArray[np.int64]
    others: NDArray[np.int64]
    chosen: NDArray[np.int64]


def new_walk(m: int) -> Walk:
    """A walk at its beginning."""

    def zeros(size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)

    left, bound = np.zeros(m + 1, np.uint64), np.zeros(m + 1, np.uint64)
    walk = Walk(zeros(1), zeros(1), left, bound, zeros(m + 1), zeros(m + 1), zeros(m + 1), zeros(m + 1), zeros(m))
    walk.left[0], walk.next[0] = (1 << m) - 1, m
    return walk


@inlined
def _least_of(walkable, varset):
    """g of a varset; -1 if no network below the limit leaves it."""
    low, high = 0, walkable.varsets.size
    while low < high:
        middle = (low + high) >> 1
        if walkable.varsets[middle] < varset:
            low = middle + 1
        else:
            high = middle
    return walkable.least[low] if low < walkable.varsets.size and walkable.varsets[low] == varset else np.int64(-1)


@inlined
def _turn(depth, limit, walkable, walk):
    """Let the next smaller variable go that can; whether there is one."""
    free = walk.left[depth] & ~walk.bound[depth]
    for x in range(walk.next[depth] - 1, -1, -1):
        if free >> u64(x) & u64(1):
            least = _least_of(walkable, walk.left[depth] ^ (u64(1) << u64(x)))
            others = walk.gone[depth] + least
            if least >= 0 and others + walkable.costs[walkable.first[x]] < limit:
                walk.next[depth], walk.row[depth], walk.others[depth] = x, walkable.first[x], others
                return True
    return False


@njit
def walk_on(walkable, limit, walk, most, rows, costs, halt):
    """Go on to the next networks that cost less than the limit, until it is over, halted, `most` steps have been made,
    or rows (n, m) and costs (n,) are full, which get the rows of their families and what they cost. How many there are.
    """
    walkable, walk, rows, costs, halt = borrowed((walkable, walk, rows, costs, halt))
    m = walk.chosen.size
    written, depth, end = 0, walk.depth[0], walk.steps[0] + most
    while depth >= 0 and written < costs.size and walk.steps[0] < end and not halt[0]:
        walk.steps[0] += 1
        x, j = walk.next[depth], walk.row[depth]
        if x == m or j == walkable.first[x + 1] or walk.others[depth] + walkable.costs[j] >= limit:
            if not _turn(depth, limit, walkable, walk):
                depth -= 1
            continue
        walk.row[depth] += 1
        left, parents = walk.left[depth] ^ (u64(1) << u64(x)), walkable.parents[j]
        if parents & ~left:
            continue
        walk.chosen[x] = j
        larger = left & ~((u64(2) << u64(x)) - u64(1))
        bound, gone = (walk.bound[depth] | larger) & ~parents, walk.gone[depth] + walkable.costs[j]
        if left == u64(0):
            for v in range(m):
                rows[written, v] = walk.chosen[v]
            costs[written] = gone
            written += 1
        elif bound != left:
            depth += 1
            walk.left[depth], walk.bound[depth], walk.gone[depth], walk.next[depth] = left, bound, gone, m
    walk.depth[0] = depth
    return written
