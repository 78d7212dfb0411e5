"""For the LP over cuts: the families that count for a cut, and cuts that a solution violates.

A solution x(X, P) >= 0, for each child X summing to 1, violates the cluster C if the x(X, P) with X in C and P disjoint
from C sum to less than share ** (|C| - 1); share is 1 for the bound at the root. For three clusters, of which the sums
are s1, s2, s3, and with odd the sum of the x(X, P) that count for one of them or for all, the left side of the cut is
(s1 + s2 + s3 + odd) / 2: what the solution puts on families that count for two of them is worth less than it seems.
"""

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.cuts import MEMBERS, count_times, single_cuts
from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import inlined, inner, njit
from extbnsl.kernels.varsets import WORD_BITS, words

ROUNDING = 1e-9  # of the sums
CANDIDATES = 4000  # clusters that may be three of a cut

Support = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.float64]]  # parents (words, m), child and x (m,)


@njit
def counting_families(parents, child, cuts):
    """The families that count for each of the cuts (k, 3, words): where those of each begin, int32 (k + 1,), and all of
    them, int32, by their position in parents (words, m) and child (m,) ascending, and how much, float64."""
    begins = np.zeros(cuts.shape[0] + 1, np.int32)
    times = np.empty(child.size, np.uint8)
    found, counts = np.empty(0, np.int32), np.empty(0)
    for filling in (False, True):
        at = 0
        for c in range(cuts.shape[0]):
            lo = 0
            while lo < child.size:
                hi = lo
                while hi < child.size and child[hi] == child[lo]:
                    hi += 1
                count_times(parents, cuts[c], child[lo], lo, hi, times)
                lo = hi
            for j in range(child.size):
                if times[j]:
                    if filling:
                        found[at], counts[at] = j, times[j]
                    at += 1
            begins[c + 1] = at
        if not filling:
            found, counts = np.empty(at, np.int32), np.empty(at)
    return begins, found, counts


@njit
def grow_clusters(parents, child, x, n, share, starts, clusters, violations):
    """From each of the starts, one or two variables of the n, a cluster is grown; the one on its way that is violated
    most goes into clusters (k, words), and by how much, which may be negative, into violations (k,).

    parents (words, m), child (m,), x (m,): the families that the solution has; starts (k, 2), the second -1 if there is
    none. What is added is always what makes the sum least. O(n times the families' parents) for each start.
    """
    members = np.empty(n, np.uint8)
    hits = np.empty(x.size, np.int64)  # parents in the cluster
    change = np.empty(n)  # of the sum, if the variable is added
    for k in range(starts.shape[0]):
        members[:] = 0
        hits[:] = 0
        violations[k] = -np.inf
        for size in range(1, n + 1):
            added = starts[k, size - 1] if size <= 2 else -1
            if added < 0:
                for y in range(n):
                    if not members[y] and (added < 0 or change[y] < change[added]):
                        added = y
            members[added] = 1
            for j in range(x.size):
                hits[j] += np.int64((parents[added >> 6, j] >> u64(added & 63)) & u64(1))
            violation = share ** (size - 1) - _sum_and_changes(parents, child, x, members, hits, change)
            if size > 1 and violation > violations[k] + ROUNDING:
                violations[k] = violation
                clusters[k] = 0
                for y in range(n):
                    clusters[k, y >> 6] |= u64(members[y]) << u64(y & 63)


@inner
def _sum_and_changes(parents, child, x, members, hits, change):
    """The sum of the cluster of these members; how adding a variable would change it into `change`."""
    value = 0.0
    change[:] = 0.0
    for j in range(x.size):
        if hits[j]:
            continue
        if members[child[j]]:
            value += x[j]
            for w in range(parents.shape[0]):
                rest = parents[w, j]
                while rest:
                    change[(w << 6) + np.int64(lowest(rest))] -= x[j]
                    rest &= rest - u64(1)
        else:
            change[child[j]] += x[j]
    return value


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
def find_triples(patterns, sums, x, steps, found, violations):
    """Triples of clusters whose cut is violated at the root, for each as first member the one that is violated most.

    patterns (k, words) uint64: bit j of row i tells whether the family with x[j] counts for cluster i; x descending;
    sums (k,) ascending: of the x that count for each cluster. found (k, 3) int64 and violations (k,): the triples, and
    by how much, not above zero if there is none. Ends after about so many steps, some 10 ns each; returns how many are
    left. O(k^3) at worst, but a first member is done with as soon as no third one could do better, and so is a pair
    that is apart by too much, or too little, for any third one.
    """
    size, words = patterns.shape
    tables = weight_tables(x, words)
    pair = np.empty(words, np.uint64)
    violations[:] = 0.0
    for a in range(size):
        if steps <= 0:
            break
        for b in range(a + 1, size):
            most = 4.0 - sums[a] - sums[b] - 2.0 * violations[a]  # what the third and the odd ones must stay below
            if most - sums[b] <= ROUNDING:
                break
            steps -= 1
            for w in range(words):
                pair[w] = patterns[a, w]
            apart = _apart(pair, patterns, b, tables, most)
            if (
                apart >= most or 2.0 * sums[b] - apart >= most
            ):  # the third's sum differs from it by the odd ones at most
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
    return max(0, steps)


def arcs_of(support: Support) -> NDArray[np.int64]:
    """The child and parent of each arc in the families of a solution: (a, 2)."""
    parents, child, _ = support
    bits = np.unpackbits(np.ascontiguousarray(parents.T).view(np.uint8), axis=1, bitorder="little")
    family, parent = np.nonzero(bits)
    return np.unique(np.column_stack([child[family], parent]), axis=0)


def joined_threes(arcs: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Three variables of n, some arc and one that is joined to it: (t, 3)."""
    joined = np.zeros((n, n), bool)
    joined[arcs[:, 0], arcs[:, 1]] = joined[arcs[:, 1], arcs[:, 0]] = True
    arc, third = np.nonzero(joined[arcs[:, 0]] | joined[arcs[:, 1]])
    threes = np.column_stack([arcs[arc], third])
    return threes[(threes[:, 0] != third) & (threes[:, 1] != third)]


def varsets_of(members: NDArray[np.int64], words: int) -> NDArray[np.uint64]:
    """The varsets (k, words) of these members (k, some)."""
    varsets = np.zeros((len(members), words), np.uint64)
    for column in members.T:
        varsets[np.arange(len(members)), column >> 6] |= np.uint64(1) << (column & 63).astype(np.uint64)
    return varsets


def _nearest(
    support: Support, clusters: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.float64]]:
    """Of the clusters those that a solution satisfies with the least to spare, CANDIDATES at most, ascending: with 1
    for each family of the solution that counts (k, m), and the sum of their x (k,)."""
    parents, child, x = support
    order = np.argsort(child, kind="stable")
    begins, found, _ = counting_families(np.ascontiguousarray(parents[:, order]), child[order], single_cuts(clusters))
    counts = np.zeros((len(clusters), x.size), np.uint8)
    counts[np.repeat(np.arange(len(clusters)), np.diff(begins)), order[found]] = 1
    sums = counts @ x
    near = np.argsort(sums, kind="stable")[:CANDIDATES]
    return clusters[near], counts[near], sums[near]


def violated_triples(
    support: Support, clusters: NDArray[np.uint64], steps: int
) -> tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.uint64], int]:
    """Cuts of three of the clusters that a solution violates, and by how much, one for each at most; those of the
    clusters that were tried; and how many of the steps of `find_triples` are left."""
    x = support[2]
    clusters, counts, sums = _nearest(support, np.unique(clusters, axis=0))
    room = np.zeros((len(clusters), WORD_BITS * words(x.size)), np.uint8)
    room[:, : x.size] = counts
    patterns, firsts = np.unique(np.packbits(room, axis=1, bitorder="little"), axis=0, return_index=True)
    order = np.argsort(firsts)
    patterns, different = patterns[order], firsts[order]
    triples, violations = np.zeros((order.size, MEMBERS), np.int64), np.empty(order.size)
    left = find_triples(patterns.view(np.uint64), sums[different], x, steps, triples, violations)
    some = violations > 0.0
    return clusters[different[triples[some]]], violations[some], clusters, left
