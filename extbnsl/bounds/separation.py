"""Kernels of the LP over cuts: the families that count for a cut, and cuts that a solution violates.

A solution x(X, P) >= 0, for each child X summing to 1, violates the cluster C if the x(X, P) with X in C and P disjoint
from C sum to less than share ** (|C| - 1); share is 1 for the bound at the root. For three clusters, of which the sums
are s1, s2, s3, and with odd the sum of the x(X, P) that count for one of them or for all, the left side of the cut is
(s1 + s2 + s3 + odd) / 2: what the solution puts on families that count for two of them is worth less than it seems.
"""

import numpy as np

from extbnsl.bounds.cuts import count_times
from extbnsl.kernels import inlined, lowest, njit, u64

ROUNDING = 1e-9  # of the sums


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


@njit
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


@njit
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
