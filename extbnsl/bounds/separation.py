"""Kernels of the LP over clusters: the families that count for a cluster, and clusters that a solution violates.

A solution x(X, P) >= 0, for each child X summing to 1, violates the cluster C if the x(X, P) with X in C and P disjoint
from C sum to less than share ** (|C| - 1); share is 1 for the bound at the root.
"""

import numpy as np

from extbnsl.kernels import lowest, njit, u64

ROUNDING = 1e-9  # of the sums


@njit
def counting_families(parents, child, clusters):
    """The families (X, P) with X in C and P disjoint from C, for each of the clusters C (k, words): where those of each
    begin, int32 (k + 1,), and all of them, int32, by their position in parents (words, m) and child (m,)."""
    begins = np.zeros(clusters.shape[0] + 1, np.int32)
    found = np.empty(0, np.int32)
    for filling in (False, True):
        at = 0
        for c in range(clusters.shape[0]):
            for j in range(child.size):
                counts = (clusters[c, child[j] >> 6] >> u64(child[j] & 63)) & u64(1)
                for w in range(parents.shape[0]):
                    if parents[w, j] & clusters[c, w]:
                        counts = u64(0)
                if counts:
                    if filling:
                        found[at] = j
                    at += 1
            begins[c + 1] = at
        if not filling:
            found = np.empty(at, np.int32)
    return begins, found


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
