"""For the LP over cuts: the families that count for a cut, and clusters that a solution violates.

A solution x(X, P) >= 0, for each child X summing to 1, violates the cluster C if the x(X, P) with X in C and P disjoint
from C sum to less than share ** (|C| - 1); share is 1 for the bound at the root.

Clusters are grown from one or two variables, by what makes the sum least. That finds small ones. Where many families
are chosen whole, the clusters are large ones for which no family counts at all: what is left of all variables when
those go that need nobody of the rest, again and again. Each of these is made smaller in random order.

A solution also leads to an order, sink by sink. In a network the variable that is last is no parent of the others. So
the one that is the least of a parent in the solution goes last, and of the others again. (Integer programmers round so:
Bartlett and Cussens 2017, Section 4.4.)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import Support, count_times, holds
from extbnsl.kernels.bits import assign, lowest, u64
from extbnsl.kernels.compiler import borrowed, inner, njit
from extbnsl.kernels.random import new_state, random_below
from extbnsl.kernels.varsets import unpacked

ROUNDING = 1e-9  # of the sums


class Solution(NamedTuple):
    """The m families that a solution over n variables has, for kernels: child (m,) int64 and x (m,) float64 of each.

    The parents of family j are parents[parents_first[j]:parents_first[j + 1]]; the families of child v are
    own[own_first[v]:own_first[v + 1]], and those with parent v having[having_first[v]:having_first[v + 1]]: int64.
    """

    child: NDArray[np.int64]
    x: NDArray[np.float64]
    parents: NDArray[np.int64]
    parents_first: NDArray[np.int64]
    own: NDArray[np.int64]
    own_first: NDArray[np.int64]
    having: NDArray[np.int64]
    having_first: NDArray[np.int64]


def solution_of(support: Support, n: int) -> Solution:
    """The families of a solution over n variables, for kernels; O(families times n)."""
    varsets, child, x = support
    counts, parents = unpacked(varsets.T)
    family = np.repeat(np.arange(x.size), counts)
    own, having = np.argsort(child, kind="stable"), np.argsort(parents, kind="stable")
    everyone = np.arange(n + 1)
    return Solution(
        child,
        x,
        parents,
        np.append(0, counts.cumsum()),
        own,
        np.searchsorted(child[own], everyone),
        family[having],
        np.searchsorted(parents[having], everyone),
    )


@njit
def counting_families(parents, child, cuts):
    """The families that count for each of the cuts (k, 3, words): where those of each begin, int32 (k + 1,), and all of
    them, int32, by their position in parents (words, m) and child (m,) ascending, and how much, float64."""
    parents, cuts = borrowed((parents, cuts))
    begins = np.zeros(cuts.shape[0] + 1, np.int32)
    times = np.empty(child.size, np.uint8)
    found, counts = np.empty(0, np.int32), np.empty(0)
    first = np.flatnonzero(np.append(True, child[1:] != child[:-1])) if child.size else np.empty(0, np.int64)
    for filling in (False, True):
        at = 0
        for c in range(cuts.shape[0]):
            for k in range(first.size):
                lo, hi = first[k], first[k + 1] if k + 1 < first.size else child.size
                if not holds(cuts[c], child[lo]):
                    continue
                count_times(parents, cuts[c], child[lo], lo, hi, times)
                for j in range(lo, hi):
                    if times[j]:
                        if filling:
                            found[at], counts[at] = j, times[j]
                        at += 1
            begins[c + 1] = at
        if not filling:
            found, counts = np.empty(at, np.int32), np.empty(at)
    return begins, found, counts


class _Growing(NamedTuple):
    """A cluster that grows: members (n,), hits (m,) of each family's parents, change (n,) of the sum if a variable is
    added, near (n,) the variables that share a family with a member, in the order in which they came, of which `seen`
    (n,) tells; nearby (1,): how many they are."""

    members: NDArray[np.uint8]
    hits: NDArray[np.int64]
    change: NDArray[np.float64]
    near: NDArray[np.int64]
    seen: NDArray[np.uint8]
    nearby: NDArray[np.int64]


@njit
def grow_clusters(solution, share, starts, part, clusters, violations, halt):
    """From some of the starts, one or two variables each, a cluster is grown; the one on its way that is violated most
    goes into clusters (k, words), and by how much, which may be negative, into violations (k,): minus infinity if
    nobody shares a family with the start.

    starts (k, 2) int64, the second -1 if there is none; part: the first that is taken, and how far on the next ones
    are. What is added is always what makes the sum least, of those that share a family with a member: nobody else could
    make the cluster more violated. O(n^2) for each start at worst. Ends early when halt[0] is set.
    """
    solution, starts, clusters, violations, halt = borrowed((solution, starts, clusters, violations, halt))
    n, m = solution.own_first.size - 1, solution.x.size
    growing = _Growing(
        np.empty(n, np.uint8),
        np.empty(m, np.int64),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.uint8),
        np.empty(1, np.int64),
    )
    order = np.empty(n, np.int64)
    for k in range(part[0], starts.shape[0], part[1]):
        if halt[0]:
            break
        _begin(solution, growing)
        value, best, violations[k] = 0.0, 0, -np.inf
        for size in range(1, n + 1):
            added = starts[k, size - 1] if size <= 2 else -1
            if added < 0:
                added = _least_change(growing)
            if added < 0:
                break
            value += _add(solution, growing, added)
            order[size - 1] = added
            violation = share ** (size - 1) - value
            if size > 1 and violation > violations[k] + ROUNDING:
                violations[k], best = violation, size
        clusters[k] = 0
        for i in range(best):
            clusters[k, order[i] >> 6] |= u64(1) << u64(order[i] & 63)


@inner
def _begin(solution, growing):
    """A cluster without members."""
    growing.members[:] = 0
    growing.hits[:] = 0
    growing.seen[:] = 0
    growing.nearby[0] = 0
    growing.change[:] = 0.0
    for j in range(solution.x.size):
        growing.change[solution.child[j]] += solution.x[j]


@inner
def _least_change(growing):
    """The variable near the members that makes the sum least, -1 if there is none; members are near no more."""
    found, count = np.int64(-1), np.int64(0)
    for i in range(growing.nearby[0]):
        v = growing.near[i]
        if growing.members[v]:
            continue
        growing.near[count] = v
        count += 1
        if found < 0 or growing.change[v] < growing.change[found]:
            found = v
    growing.nearby[0] = count
    return found


@inner
def _see(growing, v):
    """Note that v is near."""
    if not growing.seen[v]:
        growing.seen[v] = 1
        growing.near[growing.nearby[0]] = v
        growing.nearby[0] += 1


@inner
def _add(solution, growing, v):
    """Add v to the cluster; by how much its sum changes."""
    x, members, hits, change = solution.x, growing.members, growing.hits, growing.change
    value = 0.0
    members[v] = 1
    for a in range(solution.own_first[v], solution.own_first[v + 1]):
        j = solution.own[a]
        if hits[j] == 0:
            value += x[j]
            for b in range(solution.parents_first[j], solution.parents_first[j + 1]):
                change[solution.parents[b]] -= x[j]
                _see(growing, solution.parents[b])
    for a in range(solution.having_first[v], solution.having_first[v + 1]):
        j = solution.having[a]
        if hits[j] == 0:
            if members[solution.child[j]]:
                value -= x[j]
                for b in range(solution.parents_first[j], solution.parents_first[j + 1]):
                    change[solution.parents[b]] += x[j]
            else:
                change[solution.child[j]] -= x[j]
                _see(growing, solution.child[j])
        hits[j] += 1
    return value


@njit
def shrink_clusters(solution, seed, clusters, halt):
    """Clusters (k, words) for which no family of the solution counts, by inclusion minimal, each made of the largest
    one in another random order; whether there are any.

    O(n) trials for each, each of at most the families' parents. Ends early when halt[0] is set.
    """
    solution, clusters, halt = borrowed((solution, clusters, halt))
    n, m = solution.own_first.size - 1, solution.x.size
    members, hits = np.ones(n, np.uint8), np.empty(m, np.int64)
    queue, count = np.empty(n, np.int64), np.int64(0)
    for j in range(m):
        hits[j] = solution.parents_first[j + 1] - solution.parents_first[j]
        if hits[j] == 0 and members[solution.child[j]]:
            members[solution.child[j]] = 0
            queue[count] = solution.child[j]
            count += 1
    most = n - _peel(solution, members, hits, queue, count)
    if most == 0:
        return False
    trial, own_hits = np.empty_like(members), np.empty_like(hits)
    order, state = np.arange(n), new_state(seed)
    for k in range(clusters.shape[0]):
        if halt[0]:
            break
        assign(trial, members)
        assign(own_hits, hits)
        left = most
        for i in range(n):
            other = i + random_below(state, n - i)
            order[i], order[other] = order[other], order[i]
            if trial[order[i]]:
                left -= _peel_or_restore(solution, trial, own_hits, queue, order[i], left)
        clusters[k] = 0
        for v in range(n):
            clusters[k, v >> 6] |= u64(trial[v]) << u64(v & 63)
    return True


@inner
def _peel(solution, members, hits, queue, count):
    """Take those away that have a family without parents among the members, again and again, when the first `count` of
    the queue have been taken; how many the queue has then."""
    done = np.int64(0)
    while done < count:
        v = queue[done]
        done += 1
        for a in range(solution.having_first[v], solution.having_first[v + 1]):
            j = solution.having[a]
            hits[j] -= 1
            if hits[j] == 0 and members[solution.child[j]]:
                members[solution.child[j]] = 0
                queue[count] = solution.child[j]
                count += 1
    return count


@inner
def _peel_or_restore(solution, members, hits, queue, v, left):
    """Take member v away, and what goes with it, unless nobody of the `left` members would be left; how many went."""
    members[v] = 0
    queue[0] = v
    count = _peel(solution, members, hits, queue, np.int64(1))
    if count < left:
        return count
    for i in range(count):
        members[queue[i]] = 1
        for a in range(solution.having_first[queue[i]], solution.having_first[queue[i] + 1]):
            hits[solution.having[a]] += 1
    return np.int64(0)


def arcs_of(support: Support) -> NDArray[np.int64]:
    """The child and parent of each arc in the families of a solution: (a, 2)."""
    parents, child, _ = support
    counts, members = unpacked(parents.T)
    return np.unique(np.column_stack([np.repeat(child, counts), members]), axis=0)


def joined_threes(arcs: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Three variables of n, some arc and one that is joined to it: (t, 3)."""
    joined = np.zeros((n, n), bool)
    joined[arcs[:, 0], arcs[:, 1]] = joined[arcs[:, 1], arcs[:, 0]] = True
    arc, third = np.nonzero(joined[arcs[:, 0]] | joined[arcs[:, 1]])
    threes = np.column_stack([arcs[arc], third])
    return threes[(threes[:, 0] != third) & (threes[:, 1] != third)]


@inner
def _shift(weight, parents, j, value):
    """Add to the weight of each parent of family j."""
    for q in range(parents.shape[0]):
        left = parents[q, j]
        while left:
            weight[u64(q << 6) + lowest(left)] += value
            left &= left - u64(1)


@njit
def order_of_solution(parents, child, values, n):
    """An order (n,) int64 that follows a solution: families with parents (words, m) uint64 and child (m,) int64, of
    each of which it has `values` (m,) float64. Ties go to the larger variable. O(n^2 + n m), some ns each.

    A family counts as long as its child and all its parents are there.
    """
    order = np.empty(n, np.int64)
    there, counts = np.ones(n, np.bool_), np.ones(child.size, np.bool_)
    weight = np.zeros(n, np.float64)  # of a variable as a parent
    for j in range(child.size):
        _shift(weight, parents, j, values[j])
    for place in range(n - 1, -1, -1):
        sink = np.int64(-1)
        for v in range(n):
            if there[v] and (sink < 0 or weight[v] <= weight[sink]):
                sink = v
        order[place], there[sink] = sink, False
        for j in range(child.size):
            if counts[j] and (child[j] == sink or parents[sink >> 6, j] >> u64(sink & 63) & u64(1)):
                counts[j] = False
                _shift(weight, parents, j, -values[j])
    return order
