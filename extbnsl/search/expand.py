"""The kernel of the search: generate a run of next-layer partitions from the current layer.

A varset is cut into `low_bits` low bits and the high rest; a partition is the nodes that share their high part. The
successors that fall into partition T come from partition T itself (a low variable is added) and from T without one of
its high bits. So a sweep over the targets in increasing order finds all duplicates of a partition while its table is
in cache, and emits the next layer sorted.

The table of a target is addressed directly by the low bits: a perfect hash. Ties in g go to the smaller leaf, so the
result does not depend on the order of the sources. f = g + h is pruned at `limit` (upper bound - tolerance): an edge
by the group bound, whose slice for the target is in cache as well, and a node, when all its edges are known, by the
cluster bound, of which only the clusters that are disjoint from the target's high bits are looked at.
"""

import numpy as np

from extbnsl.bounds.clusters import UNIT
from extbnsl.kernels import highest, lowest, njit, popcount, u64
from extbnsl.search.ancestral import UNFORCED, closed_set, number_of


@njit
def _above_low_bytes(varset, row, low_bytes, blocks, bits):
    """The word at `row` of a bitset of parent sets, those with no member outside `varset` in the bytes above the low
    ones."""
    left = ~u64(0)
    for b in range(low_bytes, blocks):
        left &= bits[row + (u64(b) << u64(8)) + ((varset >> u64(b << 3)) & u64(255))]
    return left


@njit
def group_by_leaf(starts, forced):
    """The nodes of each partition sorted by the leaf they are forced to, free ones last.

    Returns free (p,) int64, where each partition's free nodes begin, and order (m,) uint32. A target then reads only
    nodes that have a successor in it.
    """
    free = np.empty(starts.size - 1, np.int64)
    order = np.empty(forced.size, np.uint32)
    at = np.empty(65, np.int64)
    for p in range(starts.size - 1):
        at[:] = 0
        for i in range(starts[p], starts[p + 1]):
            at[min(forced[i], 64)] += 1
        position = starts[p]
        for leaf in range(65):
            at[leaf], position = position, position + at[leaf]
        free[p] = at[64]
        for i in range(starts[p], starts[p + 1]):
            leaf = min(forced[i], 64)
            order[at[leaf]] = i
            at[leaf] += 1
    return free, order


@njit
def first_forced(order, forced, lo, hi, leaf):
    """The first position in lo..hi whose node is forced to `leaf` or a later one."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if forced[order[middle]] < leaf:
            lo = middle + 1
        else:
            hi = middle
    return lo


@njit
def new_open_list(low_bits):
    """Room for the successors in one target, none of them there yet."""
    size = 1 << low_bits
    return (
        np.empty(size, np.float64),  # g
        np.empty(size, np.uint8),  # leaf
        np.zeros((size >> 6) + 1, np.uint64),  # which low parts are there
        np.zeros((size >> 12) + 1, np.uint64),  # which words of the former are not zero
    )


@njit
def _generate(
    high, partitions, leaves, columns, low_bits, tables, allowed, ready, made, base_h, slice_h, limit, open_list
):
    """All successors in one target, whose high bits are `high`, into the open list.

    They come from the nodes of partitions[k] by the variables in leaves[k], of which `forced` may leave some: see
    `ancestral`. ready (n, words) and made (n,) are
    scratch: the AND over the bytes above the low ones is the same for all nodes of a source, so its words are made
    once, as far as they are needed. Returns the number of edges generated.
    """
    starts, lows, g, forced, free, order = columns
    costs, first, bits, start, width = tables[:5]
    best, leaf, occupied, occupied_words = open_list
    blocks = tables[6][1]  # of each child, one per byte
    stride = u64(blocks << 8)
    low_bytes = (low_bits + 7) >> 3
    second = u64(256 if low_bytes > 1 else 0)  # with a single low byte it is looked up twice
    shift = u64(8 if low_bytes > 1 else 0)
    inside = (u64(1) << u64(low_bits)) - u64(1)
    edges = 0
    # unsigned arithmetic throughout: a signed index costs a test for negative values
    for k in range(partitions.size):
        made[:] = 0
        above = high & ~leaves[k]  # a high leaf is not in the source
        source = partitions[k]
        begin = first_forced(order, forced, starts[source], free[source], lowest(leaves[k]))
        end = first_forced(order, forced, begin, free[source], highest(leaves[k]) + u64(1))
        for part in range(2):
            lo, hi = (begin, end) if part == 0 else (free[source], starts[source + 1])
            for at in range(lo, hi):
                i = order[at]
                low = u64(lows[i])
                rest = leaves[k] & ~low & allowed[forced[i]]
                slack = limit - g[i] - base_h
                byte = (above | low) & u64(255)
                byte2 = second + (((above | low) >> shift) & u64(255))
                while rest:
                    bit = rest & (~rest + u64(1))
                    x = lowest(rest)
                    rest ^= bit
                    to = (low | bit) & inside
                    edges += 1
                    most = slack - slice_h[to]  # x must cost less
                    row = u64(start[x])
                    word = u64(0)
                    left = u64(0)
                    while word < u64(width[x]):
                        if word == made[x]:
                            ready[x, word] = _above_low_bytes(above, row, low_bytes, blocks, bits)
                            made[x] += u64(1)
                        left = ready[x, word] & bits[row + byte] & bits[row + byte2]
                        if left:
                            break
                        word += u64(1)
                        row += stride
                    if not left:
                        continue
                    cost = costs[u64(first[x]) + (word << u64(6)) + lowest(left)]
                    if cost < most:
                        cost += g[i]
                        flag = u64(1) << (to & u64(63))
                        if not occupied[to >> u64(6)] & flag:
                            occupied[to >> u64(6)] |= flag
                            occupied_words[to >> u64(12)] |= u64(1) << ((to >> u64(6)) & u64(63))
                            best[to] = cost
                            leaf[to] = x
                        elif cost < best[to] or (cost == best[to] and x < leaf[to]):
                            best[to] = cost
                            leaf[to] = x
    return edges


@njit
def high_h(varset, bound):
    """The part of h that is the same for a whole partition, and where the slice for its low bits begins."""
    tables, start, shift, width = bound
    total = 0.0
    for k in range(1, start.size):
        total += tables[start[k] + np.int64((varset >> u64(shift[k])) & ((u64(1) << u64(width[k])) - u64(1)))]
    return total, np.int64(varset & ((u64(1) << u64(width[0])) - u64(1)))


@njit
def new_near(clusters):
    """Room for the clusters that are near one target."""
    return np.empty(clusters[0].size, np.uint64), np.empty(clusters[0].size, np.int64)


@njit
def near_clusters(high, low_bits, clusters, near):
    """The clusters that are disjoint from `high` and that low bits can meet, into near = (masks, weights).

    Returns how many these are, and what the others that are disjoint from `high`, and the variables of the bytes
    above the low ones, add to the cluster bound of the whole partition.
    """
    masks, weights, waiting = clusters
    inside = ~u64(0) >> u64(64 - low_bits)
    count = 0
    always = np.int64(0)
    for c in range(masks.size):
        if not masks[c] & high:
            if masks[c] & inside:
                near[0][count], near[1][count] = masks[c], weights[c]
                count += 1
            else:
                always += weights[c]
    above = 0.0
    for b in range((low_bits + 7) >> 3, waiting.shape[0]):
        above += waiting[b, (high >> u64(b << 3)) & u64(255)]
    return count, always, above


@njit
def _cluster_h(varset, low_bytes, waiting, near, part):
    """The cluster bound of a node; near and part are those of its partition."""
    masks, weights = near
    count, total, h = part
    for c in range(count):
        total += np.int64(0) if masks[c] & varset else weights[c]
    for b in range(low_bytes):
        h += waiting[b, (varset >> u64(b << 3)) & u64(255)]
    return h + total * UNIT


@njit
def closed_sets_of(varsets, g, variables, clusters, ancestry, limit):
    """The set of each node, see `ancestral.closed_set`: uint64, as the search takes it where it extends no path."""
    closed = np.empty(varsets.size, np.uint64)
    everything = ~u64(0) >> u64(64 - variables)
    near = new_near(clusters)
    par = np.empty(64, np.uint64)
    part = near_clusters(u64(0), 64, clusters, near)
    for i in range(varsets.size):
        slack = limit - g[i] - _cluster_h(varsets[i], clusters[2].shape[0], clusters[2], near, part)
        closed[i] = closed_set(varsets[i], everything, slack, ancestry[1], ancestry[2], ancestry[3], par)
    return closed


@njit
def emit(high, shape, bounds, unmet, extend_path, ancestry, limit, near, open_list, columns, kept):
    """Move the nodes of one target from the open list to the columns, from row `kept` on, in ascending order.

    Those that the cluster bound or node fixing prunes are left out. Path extension (Yuan and Malone 2013): if the best
    parents of all of some X outside U are inside U, U needs no other successor than U + X; `forced` gets the smallest
    such X. Otherwise it gets what `ancestry` says. Returns the rows filled and the least f among them.
    """
    variables, low_bits = shape
    group, clusters = bounds
    best, leaf, occupied, blocks = open_list
    lows, g, leaves, forced = columns
    base_h, first = high_h(high, group)
    part = near_clusters(high, low_bits, clusters, near)
    everything = ~u64(0) >> u64(64 - variables)
    ancestral = ancestry[3].size > 0
    par = np.empty(64, np.uint64)
    low_bytes = (low_bits + 7) >> 3
    waiting_above = u64(0)
    for b in range(low_bytes, unmet.shape[0]):
        waiting_above |= unmet[b, (high >> u64(b << 3)) & u64(255)]
    least = np.inf
    at = 0
    while at < blocks.size:
        if not blocks[at]:
            at += 1
            continue
        block = u64(at << 6) + lowest(blocks[at])
        blocks[at] &= blocks[at] - u64(1)
        left = occupied[block]
        occupied[block] = 0
        while left:
            low = (block << u64(6)) + lowest(left)
            left &= left - u64(1)
            varset = high | low
            cluster_h = _cluster_h(varset, low_bytes, clusters[2], near, part)
            f = best[low] + max(base_h + group[0][first + np.int64(low)], cluster_h)
            if f >= limit:
                continue
            one = UNFORCED
            if extend_path:
                waiting = waiting_above
                for b in range(low_bytes):
                    waiting |= unmet[b, (varset >> u64(b << 3)) & u64(255)]
                ready = everything & ~varset & ~waiting
                if ready:
                    one = np.uint8(lowest(ready))
            if ancestral and one == UNFORCED and varset != everything:
                slack = limit - best[low] - cluster_h
                closed = closed_set(varset, everything, slack, ancestry[1], ancestry[2], ancestry[3], par)
                if not closed:
                    continue
                one = number_of(closed, everything & ~varset, ancestry[0])
            least = min(least, f)
            lows[kept], g[kept], leaves[kept], forced[kept] = low, best[low], leaf[low], one
            kept += 1
    return kept, least


@njit
def expand(first, targets, sources, columns, shape, tables, bounds, unmet, extend_path, ancestry, limit, out, halt):
    """Generate the nodes of some partitions of the next layer, `targets` (k,) uint64, sorted high parts.

    first (k + 1,) and sources = (partition, leaves): where the successors of target t come from, see `find_sources`.
    columns = (starts, lows, g, forced, free, order) of the current layer, the last two from `group_by_leaf`.
    shape = (variables, low_bits). tables: byte tables with every byte for every child. bounds: a GroupBound, whose
    first group covers the low bits, and a ClusterBound. unmet (bytes, 256) uint64: the children whose best parents of
    all are not inside a varset with this byte. ancestry: see `ancestral`. out = (lows, g, leaf, forced, count per
    target), large enough. When halt[0] is set, the rest of the targets is left alone. Returns edges generated, nodes
    kept, and the least f among them.
    """
    variables, low_bits = shape
    size = 1 << low_bits
    open_list = new_open_list(low_bits)
    most_words = 0
    for x in range(variables):
        most_words = max(most_words, tables[4][x])
    ready = np.empty((variables, most_words), np.uint64)
    made = np.zeros(variables, np.uint64)
    near = new_near(bounds[1])
    edges = 0
    kept = 0
    least = np.inf
    for t in range(targets.size):
        if halt[0]:
            break
        high = targets[t] << u64(low_bits)
        base_h, at = high_h(high, bounds[0])
        slice_h = bounds[0][0][at : at + size]
        span = slice(first[t], first[t + 1])
        edges += _generate(
            high, sources[0][span], sources[1][span], columns, low_bits, tables, ancestry[0], ready, made, base_h,
            slice_h, limit, open_list,
        )  # fmt: skip
        before = kept
        kept, f = emit(high, shape, bounds, unmet, extend_path, ancestry, limit, near, open_list, out[:4], kept)
        least = min(least, f)
        out[4][t] = kept - before
    return edges, kept, least


@njit
def _find(highs, high):
    """Position of `high` in the sorted highs, or -1."""
    lo, hi = 0, highs.size
    while lo < hi:
        middle = (lo + hi) >> 1
        if highs[middle] < high:
            lo = middle + 1
        else:
            hi = middle
    return lo if lo < highs.size and highs[lo] == high else -1


@njit
def find_sources(targets, highs, starts, shape, size, first, partition, leaves):
    """Where the successors in each target come from: rows first[t]:first[t + 1] of (partition, leaves).

    A target draws on the partition of the same high part, by any low variable, and on those without one of its high
    bits, by that variable. `leaves` are varsets. The successors have `size` variables. Returns int64 (targets,): at
    most so many nodes can each target get.
    """
    variables, low_bits = shape
    most = np.zeros(variables + 1, np.int64)  # most[k]: low parts of k variables
    most[0] = 1
    for k in range(1, low_bits + 1):
        most[k] = most[k - 1] * (low_bits - k + 1) // k
    rooms = np.empty(targets.size, np.int64)
    at = 0
    for t in range(targets.size):
        first[t] = at
        nodes = 0
        here = _find(highs, targets[t])
        if here >= 0:
            partition[at], leaves[at] = here, (u64(1) << u64(low_bits)) - u64(1)
            at += 1
            nodes += (starts[here + 1] - starts[here]) * low_bits
        rest = targets[t]
        while rest:
            bit = rest & (~rest + u64(1))
            rest ^= bit
            here = _find(highs, targets[t] ^ bit)
            if here >= 0:
                partition[at], leaves[at] = here, bit << u64(low_bits)
                at += 1
                nodes += starts[here + 1] - starts[here]
        rooms[t] = min(nodes, most[size - np.int64(popcount(targets[t]))])
    first[targets.size] = at
    return rooms
