"""The rows of layered parent graphs (Malone et al. 2011, Sections 4 and 5.2).

Every node U of a layer carries a row: BestScore(X | U) of every X outside U, ascending X. So one layer of all parent
graphs is there, for the varsets that are present in the order graph and no others, and generating U + X reads its cost
off the row. The rows of the next layer come from those of this one and from families:

Let D be the variables Y of V for which V - Y is present. What is inside one of these predecessors, BestScore(X | V - Y)
has taken into account. The other families inside V are those P with D inside P: P lacks no Y of D, or it would be
inside V - Y. If all predecessors are present that is V itself, the one look-up of the paper; when some are pruned, it
can be more. So BestScore(X | V) is the least of BestScore(X | V - Y), Y in D, and the families P with D <= P <= V.
"""

import numpy as np

from extbnsl.kernels.bits import lowest, popcount, u64
from extbnsl.kernels.compiler import borrowed, inner, njit


@njit
def inherit(targets, sources, low_bits, kept_lows, counts, best, covered):
    """Fill the rows of the nodes kept from those of their predecessors that are present.

    counts (k,): nodes of each target, whose low parts `kept_lows` (m,) follow each other; sources: the current layer.
    Of each node, best (m, width) float64 gets the least of its predecessors' rows, whether they generated it or not,
    and covered (m,) uint64 the variables D of those: each predecessor that is present lacks one of them.
    """
    targets, sources, kept_lows, counts, best, covered = borrowed((targets, sources, kept_lows, counts, best, covered))
    starts, lows, rows = sources.nodes.starts, sources.nodes.lows, sources.nodes.best
    inside = (u64(1) << u64(low_bits)) - u64(1)
    width, one = u64(best.shape[1]), u64(1)
    place = np.zeros(1 << low_bits, np.uint32)  # one more than the row of a low part
    best[:] = np.inf
    covered[:] = 0
    end = 0
    for t in range(targets.highs.size):
        begin, end = end, end + counts[t]
        if begin == end:
            continue
        for i in range(begin, end):
            place[kept_lows[i]] = i + 1
        high = targets.highs[t] << u64(low_bits)
        for k in range(targets.first[t], targets.first[t + 1]):
            leaves, source = targets.leaves[k], targets.partitions[k]
            above = high & ~leaves
            for j in range(starts[source], starts[source + 1]):
                low = u64(lows[j])
                rest = leaves & ~low
                while rest:
                    bit = rest & (~rest + u64(1))
                    x = lowest(rest)
                    rest ^= bit
                    i = place[(low | bit) & inside]
                    if i:
                        i -= 1
                        covered[i] |= bit
                        at = x - popcount((above | low) & (bit - u64(1)))
                        # written so that it becomes vector instructions
                        for c in range(at):
                            best[i, c] = best[i, c] if best[i, c] < rows[j, c] else rows[j, c]
                        for c in range(at, width):
                            best[i, c] = best[i, c] if best[i, c] < rows[j, c + one] else rows[j, c + one]
        for i in range(begin, end):
            place[kept_lows[i]] = 0


@njit
def improve(nodes, low_bits, covered, families, halt):
    """Improve the rows of nodes by the families that none of their present predecessors contains.

    nodes: `Nodes`, with rows as from `inherit`, and covered is from there; families: FamilyRows. Ends early when
    halt[0] is set.
    """
    nodes, covered, families, halt = borrowed((nodes, covered, families, halt))
    highs, starts, lows, best = nodes.highs, nodes.starts, nodes.lows, nodes.best
    parents, costs, first = families.parents, families.costs, families.first
    child, size = families.child, families.size
    low_mask = (u64(1) << u64(low_bits)) - u64(1)
    most_nodes = 0
    for p in range(highs.size):
        most_nodes = max(most_nodes, starts[p + 1] - starts[p])
    most_families = 0
    for k in range(child.size):
        most_families = max(most_families, first[k + 1] - first[k])
    needy = np.empty(most_nodes, np.int64)
    some = np.empty(most_families, np.int64)
    for p in range(highs.size):
        if halt[0]:
            return
        high = highs[p] << u64(low_bits)
        count = 0
        common = ~u64(0)
        for k in range(child.size):
            if k == 0 or size[k] != size[k - 1]:
                count, common = _needy(starts[p], starts[p + 1], covered, size[k], needy)
            bit = u64(1) << u64(child[k])
            if count == 0 or high & bit:
                continue
            found = -1  # the families that can matter here are looked for when the first node is there
            for n in range(count):
                i = needy[n]
                varset = high | u64(lows[i])
                if varset & bit:
                    continue
                if found < 0:
                    found = 0
                    for j in range(first[k], first[k + 1]):
                        if ((parents[j] & ~(high | low_mask)) | (common & ~parents[j])) == 0:
                            some[found] = j
                            found += 1
                at = u64(child[k]) - popcount(varset & (bit - u64(1)))
                for f in range(found):
                    j = some[f]
                    if costs[j] >= best[i, at]:
                        break
                    if ((parents[j] & ~varset) | (covered[i] & ~parents[j])) == 0:
                        best[i, at] = costs[j]
                        break


@inner
def _needy(begin, end, covered, size, needy):
    """The nodes, of begin..end, for which families of `size` parents can matter, into `needy`; returns how many these
    are and the intersection of their `covered`."""
    nodes = 0
    common = ~u64(0)
    for i in range(begin, end):
        if popcount(covered[i]) <= u64(size):
            needy[nodes] = i
            nodes += 1
            common &= covered[i]
    return nodes, common
