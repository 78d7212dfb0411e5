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

from extbnsl.kernels.bits import highest, lowest, u64
from extbnsl.kernels.compiler import njit
from extbnsl.search.node_bound import fill_coarse, fine_part, new_coarse, new_near
from extbnsl.search.open_list import finish_target, new_open_list
from extbnsl.search.targets import first_of_number


@njit
def _above_low_bytes(varset, row, low_bytes, blocks, bits):
    """The word at `row` of a bitset of parent sets, those with no member outside `varset` in the bytes above the low
    ones."""
    left = ~u64(0)
    for b in range(low_bytes, blocks):
        left &= bits[row + (u64(b) << u64(8)) + ((varset >> u64(b << 3)) & u64(255))]
    return left


@njit
def _generate(high, span, sources, columns, low_bits, tables, allowed, ready, made, group, coarse, limit, open_list):
    """All successors in one target, whose high bits are `high`, into the open list.

    They come from rows span[0]:span[1] of sources = (partitions, leaves): from the nodes of a partition by the
    variables in its leaves, as far as the number of their successors allows them. coarse: as from `fill_coarse`.
    ready (n, words) and made (n,) are scratch: the AND over the bytes above the low ones is the same for all nodes of a
    source, so its words are made once, as far as they are needed. A word whose first family costs too much ends the
    look-up, because the families lie in score order. Returns the number of edges generated.
    """
    partitions, leaves = sources
    starts, lows, g, successors, free, order = columns
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
        begin = first_of_number(order, successors, starts[source], free[source], lowest(leaves[k]))
        end = first_of_number(order, successors, begin, free[source], highest(leaves[k]) + u64(1))
        for part in range(2):
            lo, hi = (begin, end) if part == 0 else (free[source], starts[source + 1])
            for at in range(lo, hi):
                i = order[at]
                low = u64(lows[i])
                rest = leaves[k] & ~low & allowed[successors[i]]
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
def expand(first, targets, sources, columns, shape, tables, bounds, unmet, extend_path, ancestry, limit, out, halt):
    """Generate the nodes of some partitions of the next layer, `targets` (k,) uint64, sorted high parts.

    first (k + 1,) and sources = (partition, leaves): where the successors of target t come from, see `next_targets`.
    columns = (starts, lows, g, successors, free, order) of the current layer, the last two from `group_by_leaf`.
    shape = (variables, low_bits). tables: byte tables with every byte for every child. bounds: a GroupBound and a
    ClusterBound. unmet (bytes, 256) uint64: the children whose best parents of
    all are not inside a varset with this byte. ancestry: see `ancestral`. out = (lows, g, leaf, successors, count per
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
