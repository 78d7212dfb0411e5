"""For the LP over cuts: cuts of three clusters that a solution violates.

For three clusters, with k(X, P) of them that a family counts for, the left side of the cut is the sum of
ceil(k(X, P) / 2) x(X, P); a solution violates it if that is below 2. Three variables whose families join them are a
beginning: the three pairs of them. From there one variable at a time goes into one of the clusters or out of it, the
one that makes the left side least, also if it grows by that; none moves twice.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.cuts import MEMBERS
from extbnsl.bounds.lp.separation import ROUNDING
from extbnsl.kernels.bits import assign, u64
from extbnsl.kernels.compiler import inlined, inner, njit

MOVES = 30  # from a beginning, at most
WORSE = 0.7  # than the best on the way, and no better one is to be expected


class _Three(NamedTuple):
    """Three clusters: members (3, n), hits (3, m) of each family's parents, times (m,) that the family counts; moved
    (3, n): what has; near (3, n): the variables that share a family with a member of each, in the order in which they
    came, of which `seen` (3, n) tells; nearby (3,): how many they are; size (3,) of the clusters."""

    members: NDArray[np.uint8]
    hits: NDArray[np.int64]
    times: NDArray[np.int64]
    moved: NDArray[np.uint8]
    near: NDArray[np.int64]
    seen: NDArray[np.uint8]
    nearby: NDArray[np.int64]
    size: NDArray[np.int64]


@njit
def grow_triples(solution, threes, cuts, violations):
    """From the pairs of each of `threes` (k, 3) int64, distinct variables, three clusters are grown; those on their way
    that are violated most go into cuts (k, 3, words), and by how much, which may be negative, into violations (k,).

    Returns how many families it has looked at, some nanoseconds each: O(families' parents) for each move.
    """
    n, m = solution.own_first.size - 1, solution.x.size
    three = _Three(
        np.empty((MEMBERS, n), np.uint8),
        np.empty((MEMBERS, m), np.int64),
        np.empty(m, np.int64),
        np.empty((MEMBERS, n), np.uint8),
        np.empty((MEMBERS, n), np.int64),
        np.empty((MEMBERS, n), np.uint8),
        np.empty(MEMBERS, np.int64),
        np.empty(MEMBERS, np.int64),
    )
    best, looks = np.empty((MEMBERS, n), np.uint8), np.int64(0)
    for k in range(threes.shape[0]):
        violations[k], own = _grow_three(solution, three, threes[k], best)
        looks += own
        cuts[k] = 0
        for i in range(MEMBERS):
            for v in range(n):
                cuts[k, i, v >> 6] |= u64(best[i, v]) << u64(v & 63)
    return looks


@inner
def _grow_three(solution, three, variables, best):
    """Grow three clusters from the pairs of three variables; the members of the most violated ones go into `best`, by
    how much, and the families looked at, are returned."""
    three.members[:] = 0
    three.hits[:] = 0
    three.times[:] = 0
    three.moved[:] = 0
    three.seen[:] = 0
    three.nearby[:] = 0
    three.size[:] = 0
    violation, looks = 2.0, np.int64(0)
    for i in range(MEMBERS):
        for v in (variables[i], variables[(i + 1) % MEMBERS]):
            violation -= _move(solution, three, i, v)
    most = violation
    for i in range(MEMBERS):
        assign(best[i], three.members[i])
    for _ in range(MOVES):
        cluster, variable, own = _best_move(solution, three)
        looks += own
        if variable < 0:
            break
        three.moved[cluster, variable] = 1
        violation -= _move(solution, three, cluster, variable)
        if violation > most + ROUNDING:
            most = violation
            for i in range(MEMBERS):
                assign(best[i], three.members[i])
        elif violation < most - WORSE:
            break
    return most, looks


@inner
def _best_move(solution, three):
    """The cluster and the variable to be moved next, -1 if there is none, and the families looked at."""
    cluster, variable, least, looks = np.int64(-1), np.int64(-1), np.inf, np.int64(0)
    for i in range(MEMBERS):
        for q in range(three.nearby[i]):
            v = three.near[i, q]
            if three.moved[i, v] or (three.members[i, v] and three.size[i] == 1):
                continue
            change, own = _change(solution, three, i, v)
            looks += own
            if change < least:
                cluster, variable, least = np.int64(i), v, change
    return cluster, variable, looks


@inlined
def _step(times, by):
    """By how much a family's worth for the cut changes if it counts for `by` clusters more, 1 or -1."""
    return ((times + by + 1) >> 1) - ((times + 1) >> 1)


@inner
def _change(solution, three, i, v):
    """By how much the left side changes if v goes into cluster i, or out of it, and the families looked at."""
    leaves = three.members[i, v]
    own, having = solution.own_first, solution.having_first
    by = -1 if leaves else 1
    change = 0.0
    for a in range(own[v], own[v + 1]):
        j = solution.own[a]
        if three.hits[i, j] == 0:
            change += solution.x[j] * _step(three.times[j], by)
    for a in range(having[v], having[v + 1]):
        j = solution.having[a]
        if three.hits[i, j] == leaves and three.members[i, solution.child[j]]:
            change += solution.x[j] * _step(three.times[j], -by)
    return change, own[v + 1] - own[v] + having[v + 1] - having[v]


@inner
def _move(solution, three, i, v):
    """Put v into cluster i, or take it out; by how much the left side changes."""
    change, _ = _change(solution, three, i, v)
    leaves = three.members[i, v]
    by = -1 if leaves else 1
    _see(three, i, v)
    for a in range(solution.own_first[v], solution.own_first[v + 1]):
        j = solution.own[a]
        if three.hits[i, j] == 0:
            three.times[j] += by
        for b in range(solution.parents_first[j], solution.parents_first[j + 1]):
            _see(three, i, solution.parents[b])
    for a in range(solution.having_first[v], solution.having_first[v + 1]):
        j = solution.having[a]
        if three.hits[i, j] == leaves and three.members[i, solution.child[j]]:
            three.times[j] -= by
        three.hits[i, j] += by
        _see(three, i, solution.child[j])
    three.members[i, v] = 1 - leaves
    three.size[i] += by
    return change


@inner
def _see(three, i, v):
    """Note that v is near cluster i."""
    if not three.seen[i, v]:
        three.seen[i, v] = 1
        three.near[i, three.nearby[i]] = v
        three.nearby[i] += 1


def ordered(cuts: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The cuts (k, 3, words), the clusters of each in the order that is the same for all: equal cuts look equal."""
    _, ranks = np.unique(cuts.reshape(-1, cuts.shape[2]), axis=0, return_inverse=True)
    order = np.argsort(-ranks.reshape(-1, MEMBERS), axis=1, kind="stable")
    return np.take_along_axis(cuts, order[:, :, None], axis=1)
