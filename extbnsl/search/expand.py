"""The kernel of the search: generate a run of next-layer partitions from the current layer.

A varset is cut into `low_bits` low bits and the high rest; a partition is the nodes that share their high part. The
successors that fall into partition T come from partition T itself (a low variable is added) and from T without one of
its high bits. So a sweep over the targets in increasing order finds all duplicates of a partition while its table is
in cache, and emits the next layer sorted.

The table of a target is addressed directly by the low bits: a perfect hash. Ties in g go to the smaller leaf, so the
result does not depend on the order of the sources. f = g + h is pruned at `limit` (upper bound - tolerance): an edge
by the group bound, whose part for the target is in cache as well, and a node, when all its edges are known, by the
cluster bound, of which only the clusters that are disjoint from the target's high bits are looked at.
"""

import numpy as np

from extbnsl.bounds.clusters import UNIT
from extbnsl.kernels import highest, inlined, lowest, njit, popcount, u64
from extbnsl.search.ancestral import UNFORCED, closed_set, number_of

VECTOR = 8  # clusters that are looked at together
NEIGHBOURS = 8  # lowest bits of the high part in which neighbouring partitions differ


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
def _generate(high, span, sources, columns, low_bits, tables, allowed, ready, made, group, coarse, limit, open_list):
    """All successors in one target, whose high bits are `high`, into the open list.

    They come from rows span[0]:span[1] of sources = (partitions, leaves): from the nodes of a partition by the
    variables in its leaves, of which `forced` may leave some: see `ancestral`. coarse: as from `fill_coarse`.
    ready (n, words) and made (n,) are scratch: the AND over the bytes above the low ones is the same for all nodes of a
    source, so its words are made once, as far as they are needed. A word whose first family costs too much ends the
    look-up, because the families lie in score order. Returns the number of edges generated.
    """
    partitions, leaves = sources
    starts, lows, g, forced, free, order = columns
    costs, first, bits, start, width = tables[:5]
    best, leaf, occupied, occupied_words = open_list
    fine, at_fine, finest, cut = fine_part(high, low_bits, group)
    blocks = tables[6][1]  # of each child, one per byte
    stride = u64(blocks << 8)
    low_bytes = (low_bits + 7) >> 3
    second = u64(256 if low_bytes > 1 else 0)  # with a single low byte it is looked up twice
    shift = u64(8 if low_bytes > 1 else 0)
    inside = (u64(1) << u64(low_bits)) - u64(1)
    edges = 0
    # unsigned arithmetic throughout: a signed index costs a test for negative values
    for k in range(span[0], span[1]):
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
                slack = limit - g[i]
                byte = (above | low) & u64(255)
                byte2 = second + (((above | low) >> shift) & u64(255))
                while rest:
                    bit = rest & (~rest + u64(1))
                    x = lowest(rest)
                    rest ^= bit
                    to = (low | bit) & inside
                    edges += 1
                    most = slack - coarse[to >> cut] - fine[at_fine + (to & finest)]  # x must cost less
                    row = u64(start[x])
                    word = u64(0)
                    left = u64(0)
                    while word < u64(width[x]) and costs[u64(first[x]) + (word << u64(6))] < most:
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
def new_coarse(low_bits, bound):
    """Room for what the groups but the first add to h, for each value of the low bits beyond the first group."""
    return np.empty(1 << max(0, low_bits - bound[3][0]))


@njit
def fill_coarse(high, group, coarse):
    """What the groups but the first add to h in one partition, for each value of the low bits beyond the first."""
    tables, start, shift, width = group
    for c in range(coarse.size):
        varset = high | (u64(c) << u64(width[0]))
        total = 0.0
        for k in range(1, start.size):
            total += tables[start[k] + np.int64((varset >> u64(shift[k])) & ((u64(1) << u64(width[k])) - u64(1)))]
        coarse[c] = total


@njit
def fine_part(high, low_bits, group):
    """The first group's part of h in one partition: (tables, at, mask, cut); the group bound of the node with low
    part `low` is coarse[low >> cut] + tables[at + (low & mask)]."""
    width = u64(group[3][0])
    mask = (u64(1) << min(width, u64(low_bits))) - u64(1)
    return group[0], high & ((u64(1) << width) - u64(1)), mask, width


@njit
def new_near(clusters):
    """Room for the clusters near one target: (masks, weights, counts, last).

    masks (3, k + VECTOR), weights: in row 0 all clusters, in row 1 those that are disjoint from the upper bits of a
    target's high part, last (1,) uint64, in row 2 those that are disjoint from all of it. counts (3,): how many.
    """
    size = clusters[0].size
    masks, weights = np.empty((3, size + VECTOR), np.uint64), np.empty((3, size + VECTOR), np.int64)
    masks[0, :size], weights[0, :size] = clusters[0], clusters[1]
    return masks, weights, np.full(3, size), np.full(1, ~u64(0))


@njit
def near_clusters(high, low_bits, near):
    """Find the clusters that are disjoint from `high`, and fill them up with some that weigh nothing.

    Returns how many there are, in vectors. Neighbouring targets share the upper bits of `high`: as long as these stay,
    only what they leave of the clusters is looked at.
    """
    masks, weights, counts, last = near
    upper = high >> u64(low_bits + NEIGHBOURS) << u64(low_bits + NEIGHBOURS)
    for row in range(1 if upper == last[0] else 0, 2):
        bits = high if row else upper
        left = u64(0)
        for c in range(u64(counts[row])):  # without a branch, which would be hard to predict
            masks[row + 1, left], weights[row + 1, left] = masks[row, c], weights[row, c]
            left += u64(0) if masks[row, c] & bits else u64(1)
        counts[row + 1] = left
    last[0] = upper
    for c in range(left, left + u64(VECTOR)):
        masks[2, c], weights[2, c] = ~u64(0), 0
    return (left + u64(VECTOR - 1)) // u64(VECTOR)


@njit
def _weight(varset, masks, weights, vectors):
    """What those of the clusters weigh that are disjoint from a node.

    No more than this: with the rest of the bound it would not be inlined, and cost more by the call than by the sum.
    """
    total = np.int64(0)
    for c in range(vectors * u64(VECTOR)):
        total += np.int64(0) if masks[c] & varset else weights[c]
    return total


@njit
def _waiting_h(varset, waiting):
    """The sum of mu over the variables that a varset lacks; two low bytes come last, as in `emit`."""
    h = 0.0
    for b in range(2, waiting.shape[0]):
        h += waiting[b, (varset >> u64(b << 3)) & u64(255)]
    return h + waiting[0, varset & u64(255)] + waiting[1, (varset >> u64(8)) & u64(255)]


@njit
def closed_sets_of(varsets, g, variables, clusters, ancestry, limit):
    """The set of each node, see `ancestral.closed_set`: uint64, as the search takes it where it extends no path."""
    closed = np.empty(varsets.size, np.uint64)
    everything = ~u64(0) >> u64(64 - variables)
    near = new_near(clusters)
    par = np.empty(64, np.uint64)
    vectors = near_clusters(u64(0), 0, near)
    for i in range(varsets.size):
        h = _waiting_h(varsets[i], clusters[2]) + _weight(varsets[i], near[0][2], near[1][2], vectors) * UNIT
        closed[i] = closed_set(varsets[i], everything, limit - g[i] - h, ancestry[1], ancestry[2], ancestry[3], par)
    return closed


@njit
def emit(high, shape, group, coarse, waiting_h, nearest, vectors, unmet, extend_path, limit, open_list, columns, kept):
    """Move the nodes of one target from the open list to the columns, from row `kept` on, in ascending order.

    waiting_h: of the ClusterBound; nearest (masks, weights), vectors: see `near_clusters`. Those that the cluster
    bound prunes are left out. Path extension (Yuan and Malone 2013): if the best
    parents of all of some X outside U are inside U, U needs no other successor than U + X; `forced` gets the smallest
    such X. Returns the rows filled and the least f among them.
    """
    variables, low_bits = shape
    fine, at_fine, finest, cut = fine_part(high, low_bits, group)
    masks, weights = nearest
    best, leaf, occupied, blocks = open_list
    lows, g, leaves, forced = columns
    everything = ~u64(0) >> u64(64 - variables)
    low_bytes = (low_bits + 7) >> 3
    above = 0.0
    waiting_above = u64(0)
    for b in range(low_bytes, unmet.shape[0]):
        value = (high >> u64(b << 3)) & u64(255)
        above += waiting_h[b, value]
        waiting_above |= unmet[b, value]
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
            cluster_h = above
            for b in range(low_bytes):
                cluster_h += waiting_h[b, (varset >> u64(b << 3)) & u64(255)]
            cluster_h += _weight(varset, masks, weights, vectors) * UNIT
            f = best[low] + max(coarse[low >> cut] + fine[at_fine + (low & finest)], cluster_h)
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
            least = min(least, f)
            lows[kept], g[kept], leaves[kept], forced[kept] = low, best[low], leaf[low], one
            kept += 1
    return kept, least


@njit
def leave_ancestral(high, shape, group, coarse, waiting_h, nearest, vectors, ancestry, limit, par, columns, begin, end):
    """Of the nodes of one target, rows begin:end of the columns, drop those that node fixing prunes, and let `forced`
    of the others say what `ancestry` does where path extension left all successors.

    A pass of its own: beside it the loop of `emit` would be slow. par (64,) is scratch. Returns what `emit` does.
    """
    variables, low_bits = shape
    fine, at_fine, finest, cut = fine_part(high, low_bits, group)
    masks, weights = nearest
    lows, g, leaves, forced = columns
    everything = ~u64(0) >> u64(64 - variables)
    least = np.inf
    kept = begin
    for i in range(begin, end):
        low, one = u64(lows[i]), forced[i]
        varset = high | low
        cluster_h = _waiting_h(varset, waiting_h) + _weight(varset, masks, weights, vectors) * UNIT
        if one == UNFORCED and varset != everything:
            slack = limit - g[i] - cluster_h
            closed = closed_set(varset, everything, slack, ancestry[1], ancestry[2], ancestry[3], par)
            if not closed:
                continue
            one = number_of(closed, everything & ~varset, ancestry[0])
        least = min(least, g[i] + max(coarse[low >> cut] + fine[at_fine + (low & finest)], cluster_h))
        lows[kept], g[kept], leaves[kept], forced[kept] = lows[i], g[i], leaves[i], one
        kept += 1
    return kept, least


@inlined
def finish_target(
    high, shape, bounds, coarse, near, unmet, extend_path, ancestry, limit, par, open_list, columns, kept
):
    """Move the nodes of one target from the open list to the columns, as `emit` and `leave_ancestral` say; inlined, so
    that the tuples are not taken apart and counted for each target."""
    nearest = near[0][2], near[1][2]
    vectors = near_clusters(high, shape[1], near)
    end, least = emit(
        high, shape, bounds[0], coarse, bounds[1][2], nearest, vectors, unmet, extend_path, limit,
        open_list, columns, kept,
    )  # fmt: skip
    if ancestry[3].size:
        end, least = leave_ancestral(
            high, shape, bounds[0], coarse, bounds[1][2], nearest, vectors, ancestry, limit, par, columns, kept, end
        )
    return end, least


@njit
def expand(first, targets, sources, columns, shape, tables, bounds, unmet, extend_path, ancestry, limit, out, halt):
    """Generate the nodes of some partitions of the next layer, `targets` (k,) uint64, sorted high parts.

    first (k + 1,) and sources = (partition, leaves): where the successors of target t come from, see `next_targets`.
    columns = (starts, lows, g, forced, free, order) of the current layer, the last two from `group_by_leaf`.
    shape = (variables, low_bits). tables: byte tables with every byte for every child. bounds: a GroupBound and a
    ClusterBound. unmet (bytes, 256) uint64: the children whose best parents of
    all are not inside a varset with this byte. ancestry: see `ancestral`. out = (lows, g, leaf, forced, count per
    target), large enough. When halt[0] is set, the rest of the targets is left alone. Returns edges generated, nodes
    kept, and the least f among them.
    """
    variables, low_bits = shape
    open_list = new_open_list(low_bits)
    coarse = new_coarse(low_bits, bounds[0])
    most_words = 0
    for x in range(variables):
        most_words = max(most_words, tables[4][x])
    ready = np.empty((variables, most_words), np.uint64)
    made = np.zeros(variables, np.uint64)
    near = new_near(bounds[1])
    par = np.empty(64, np.uint64)
    into = out[:4]
    edges = 0
    kept = 0
    least = np.inf
    for t in range(targets.size):
        if halt[0]:
            break
        high = targets[t] << u64(low_bits)
        fill_coarse(high, bounds[0], coarse)
        edges += _generate(
            high, (first[t], first[t + 1]), sources, columns, low_bits, tables, ancestry[0], ready, made, bounds[0],
            coarse, limit, open_list,
        )  # fmt: skip
        before = kept
        kept, f = finish_target(
            high, shape, bounds, coarse, near, unmet, extend_path, ancestry, limit, par, open_list, into, kept
        )
        least = min(least, f)
        out[4][t] = kept - before
    return edges, kept, least


@njit
def _without(at, end, highs, bit):
    """The first position from `at` on, below `end`, whose high part lacks the bit; or `end`."""
    while at < end and highs[at] & bit:
        at += 1
    return at


@njit
def next_targets(streams, columns, shape, size, room, found):
    """The next targets of a block, ascending, and where the successors in each of them come from.

    A target draws on the partition of the same high part, by any low variable, and on those without one of its high
    bits, by that variable. So the targets are a merge of `streams` = (at, ends, bits, leaves): partitions
    at[s]:ends[s] of columns = (highs, starts), with bits[s] added where it is missing, by the variables of the varset
    leaves[s]. The successors have `size` variables.

    Fills found = (targets, first, partition, leaves): the sources of target t are rows first[t]:first[t + 1] of the
    last two. Stops when these are full, or the targets can get `room` nodes together, and leaves in `at` where to go
    on. Returns the number of targets and how many nodes they can get at most.
    """
    at, ends, bits, leaf = streams
    highs, starts = columns
    targets, first, partition, leaves = found
    variables, low_bits = shape
    most = np.zeros(variables + 1, np.int64)  # most[k]: low parts of k variables
    most[0] = 1
    for k in range(1, low_bits + 1):
        most[k] = most[k - 1] * (low_bits - k + 1) // k
    none = ~u64(0)
    heads = np.empty(at.size, np.uint64)
    for s in range(at.size):
        at[s] = _without(at[s], ends[s], highs, bits[s])
        heads[s] = highs[at[s]] | bits[s] if at[s] < ends[s] else none
    count, filled, rooms = 0, 0, 0
    while count < targets.size and rooms < room:
        target = none
        for s in range(heads.size):
            target = heads[s] if heads[s] < target else target
        if target == none:
            break
        targets[count], first[count] = target, filled
        nodes = 0
        for s in range(heads.size):
            if heads[s] == target:
                here = at[s]
                partition[filled], leaves[filled] = here, leaf[s]
                filled += 1
                nodes += (starts[here + 1] - starts[here]) * (1 if bits[s] else low_bits)
                at[s] = _without(here + 1, ends[s], highs, bits[s])
                heads[s] = highs[at[s]] | bits[s] if at[s] < ends[s] else none
        rooms += min(nodes, most[size - np.int64(popcount(target))])
        count += 1
    first[count] = filled
    return count, rooms
