"""For the LP over cuts: cuts of three clusters that a solution violates.

For three clusters, with k(X, P) of them that a family counts for, the left side of the cut is the sum of
ceil(k(X, P) / 2) x(X, P); a solution violates it if that is below 2. Three variables whose families join them are a
beginning: the three pairs of them. From there one variable at a time goes into one of the clusters or out of it, the
one that makes the left side least, also if it grows by that; none moves twice.

That finds many at once, but misses some. Where it finds hardly any, all threes of the clusters that are nearly violated
are gone through.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.lp.separation import ROUNDING, counting_families
from extbnsl.bounds.multipliers import MEMBERS, Support, single_cuts
from extbnsl.kernels.bits import assign, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.varsets import as_varsets

MOVES = 30  # from a beginning, at most
CANDIDATES = 4000  # clusters that may be three of a cut
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
def grow_triples(solution, threes, part, cuts, violations, halt):
    """From the pairs of some of `threes` (k, 3) int64, distinct variables, three clusters are grown; those on their way
    that are violated most go into cuts (k, 3, words), and by how much, which may be negative, into violations (k,).
    part: the first of the threes that is taken, and how far on the next ones are.

    Returns how many families it has looked at, some nanoseconds each: O(families' parents) for each move. Ends early
    when halt[0] is set.
    """
    solution, threes, cuts, violations, halt = borrowed((solution, threes, cuts, violations, halt))
    n = solution.own_first.size - 1
    best, looks = np.empty((MEMBERS, n), np.uint8), np.int64(0)
    for k in range(part[0], threes.shape[0], part[1]):
        if halt[0]:
            break
        violations[k], own = _grow_three(solution, threes[k], best)
        looks += own
        cuts[k] = 0
        for i in range(MEMBERS):
            for v in range(n):
                cuts[k, i, v >> 6] |= u64(best[i, v]) << u64(v & 63)
    return looks


@inner
def _grow_three(solution, variables, best):
    """Grow three clusters from the pairs of three variables; the members of the most violated ones go into `best`, by
    how much, and the families looked at, are returned."""
    n, m = solution.own_first.size - 1, solution.x.size
    three = _Three(
        np.zeros((MEMBERS, n), np.uint8),
        np.zeros((MEMBERS, m), np.int64),
        np.zeros(m, np.int64),
        np.zeros((MEMBERS, n), np.uint8),
        np.empty((MEMBERS, n), np.int64),
        np.zeros((MEMBERS, n), np.uint8),
        np.zeros(MEMBERS, np.int64),
        np.zeros(MEMBERS, np.int64),
    )
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


@inner
def weight_tables(x, words):
    """For each byte of a row of so many words the sum of the x of its bits: float64 (words, 8, 256)."""
    tables = np.zeros((words, 8, 256))
    for j in range(x.size):
        for value in range(256):
            if value >> (j & 7) & 1:
                tables[j >> 6, (j >> 3) & 7, value] += x[j]
    return tables


@inlined
def _apart(pair, patterns, row, tables, most):
    """The sum of the x of the families that are in one of two patterns, or what shows that it is `most` or more.

    The largest x come first, so that it shows soon. Inlined: a call would cost more than the sum.
    """
    total = 0.0
    for w in range(pair.size):
        odd = pair[w] ^ patterns[row, w]
        for b in range(8):
            total += tables[w, b, odd & u64(255)]
            odd >>= u64(8)
        if total >= most:
            break
    return total


@njit
def find_triples(patterns, sums, x, steps, found, violations, halt):
    """Triples of clusters whose cut is violated at the root, for each as first member the one that is violated most.

    patterns (k, words) uint64: bit j of row i tells whether the family with x[j] counts for cluster i; x descending;
    sums (k,) ascending: of the x that count for each cluster. found (k, 3) int64 and violations (k,): the triples, and
    by how much, not above zero if there is none. Ends after about so many steps, some 10 ns each; returns how many are
    left. O(k^3) at worst, but a first member is done with as soon as no third one could do better, and so is a pair
    that is apart by too much, or too little, for any third one. Ends early when halt[0] is set.
    """
    patterns, sums, found, violations, halt = borrowed((patterns, sums, found, violations, halt))
    size, words = patterns.shape
    tables = weight_tables(x, words)
    pair = np.empty(words, np.uint64)
    violations[:] = 0.0
    for a in range(size):
        if steps <= 0:
            break
        for b in range(a + 1, size):
            if halt[0]:
                return np.int64(0)
            most = 4.0 - sums[a] - sums[b] - 2.0 * violations[a]  # what the third and the odd ones must stay below
            if most - sums[b] <= ROUNDING:
                break
            steps -= 1
            for w in range(words):
                pair[w] = patterns[a, w]
            apart = _apart(pair, patterns, b, tables, most)
            # the third's sum differs from that of the second by the odd ones at most
            if apart >= most or 2.0 * sums[b] - apart >= most:
                continue
            for w in range(words):
                pair[w] ^= patterns[b, w]
            for c in range(b + 1, size):
                room = most - sums[c]
                if room <= ROUNDING or 2.0 * sums[c] - apart >= most:
                    break
                steps -= 1
                room -= _apart(pair, patterns, c, tables, room)
                if room > ROUNDING:
                    violations[a] += room / 2.0
                    most -= room
                    found[a, 0], found[a, 1], found[a, 2] = a, b, c
    return max(np.int64(0), steps)


def violated_triples(
    support: Support, clusters: NDArray[np.uint64], steps: int, halt: NDArray[np.uint8]
) -> tuple[NDArray[np.uint64], NDArray[np.float64], int]:
    """Cuts of three of the clusters that a solution violates, and by how much, one for each at most; and how many of
    the steps of `find_triples` are left. Ends early when halt[0] is set."""
    parents, child, x = support
    clusters, by_child = np.unique(clusters, axis=0), np.argsort(child, kind="stable")
    families = np.ascontiguousarray(parents[:, by_child]), child[by_child]
    begins, found, _ = counting_families(*families, single_cuts(clusters))
    counts = np.zeros((len(clusters), x.size), bool)  # whether a family of the solution counts for a cluster
    counts[np.repeat(np.arange(len(clusters)), np.diff(begins)), by_child[found]] = True
    sums = counts @ x
    near = np.argsort(sums, kind="stable")[:CANDIDATES]  # those that are satisfied with the least to spare
    clusters, sums = clusters[near], sums[near]
    patterns, firsts = np.unique(as_varsets(counts[near]), axis=0, return_index=True)
    order = np.argsort(firsts)
    patterns, different = patterns[order], firsts[order]
    triples, violations = np.zeros((order.size, MEMBERS), np.int64), np.empty(order.size)
    left = find_triples(patterns, sums[different], x, steps, triples, violations, halt)
    some = violations > 0.0
    return clusters[different[triples[some]]], violations[some], left
