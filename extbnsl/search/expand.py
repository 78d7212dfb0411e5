"""The kernel of the search: generate a run of next-layer partitions from the current layer.

A varset is cut into `low_bits` low bits and the high rest; a partition is the nodes that share their high part. The
successors that fall into partition T come from partition T itself (a low variable is added) and from T without one of
its high bits. So a sweep over the targets in increasing order finds all duplicates of a partition while its table is
in cache, and emits the next layer sorted.

The table of a target, its open list, is addressed directly by the low bits: a perfect hash. Ties in g go to the smaller
leaf, so the result does not depend on the order of the sources. f = g + h is pruned at `limit` (upper bound -
tolerance): an edge by the group bound, whose part for the target is in cache as well, and a node, when all its edges
are known, by the cluster bound, of which only the clusters that are disjoint from the target's high bits are looked at.

What a family costs is read off sparse parent graphs, byte tables, or off the rows that the nodes carry, see `rows`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import UNIT
from extbnsl.kernels.bits import highest, lowest, popcount, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.parents.best_score import above_low_bytes, new_shared_words
from extbnsl.search.ancestral import ALL_SUCCESSORS, closed_set, number_of
from extbnsl.search.problem import Near, bound_of_waiting, fill_coarse, fine_part, near_clusters, new_near, weight_of
from extbnsl.search.targets import first_of_number


class OpenList(NamedTuple):
    """The successors in one target, by their low parts: g (2^low_bits,) float64 and leaf (2^low_bits,) uint8.

    occupied (words,) uint64: which low parts are there; blocks uint64: which words of `occupied` are not zero.
    """

    g: NDArray[np.float64]
    leaf: NDArray[np.uint8]
    occupied: NDArray[np.uint64]
    blocks: NDArray[np.uint64]


class Scratch(NamedTuple):
    """What a call of the kernel works with, for one target after the other: its open list, what the groups but the
    first add to h there, the clusters near it, and room for `closed_set`."""

    open_list: OpenList
    coarse: NDArray[np.float64]
    near: Near
    par: NDArray[np.uint64]


class NewNodes(NamedTuple):
    """Nodes that are kept: lows (m,) uint16, g (m,) float64, leaf (m,) uint8 and successors (m,) uint8 of those of all
    targets, one target after the other, with room for more; counts (k,) int64: how many are of each target."""

    lows: NDArray[np.uint16]
    g: NDArray[np.float64]
    leaf: NDArray[np.uint8]
    successors: NDArray[np.uint8]
    counts: NDArray[np.int64]


@inner
def new_scratch(rules):
    """Room for the successors in one target, none of them there yet."""
    size = 1 << rules.low_bits
    open_list = OpenList(
        np.empty(size, np.float64),
        np.empty(size, np.uint8),
        np.zeros((size >> 6) + 1, np.uint64),
        np.zeros((size >> 12) + 1, np.uint64),
    )
    coarse = np.empty(1 << max(0, rules.low_bits - rules.groups.width[0]))
    return Scratch(open_list, coarse, new_near(rules.clusters), np.empty(64, np.uint64))


@inner
def _emit(high, rules, scratch, vectors, kept, end):
    """Move the nodes of one target from the open list to the columns, from row `end` on, in ascending order.

    vectors: of `near_clusters`. Those that the cluster bound prunes are left out. Path extension (Yuan and Malone
    2013): if the best parents of all of some X outside U are inside U, U needs no other successor than U + X; the
    smallest such X is the number of its successors. Returns the rows filled and the least f among them.
    """
    fine, at_fine, finest, cut = fine_part(high, rules.low_bits, rules.groups)
    coarse, masks, weights = scratch.coarse, scratch.near.masks[2], scratch.near.weights[2]
    best, leaf, occupied, blocks = scratch.open_list
    waiting_h, unmet, limit = rules.clusters.waiting, rules.unmet, rules.limit
    lows, g, leaves, successors = kept.lows, kept.g, kept.leaf, kept.successors
    everything = ~u64(0) >> u64(64 - rules.variables)
    low_bytes = (rules.low_bits + 7) >> 3
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
            cluster_h += weight_of(varset, masks, weights, vectors) * UNIT
            f = best[low] + max(coarse[low >> cut] + fine[at_fine + (low & finest)], cluster_h)
            if f >= limit:
                continue
            number = ALL_SUCCESSORS
            if rules.extend_path:
                waiting = waiting_above
                for b in range(low_bytes):
                    waiting |= unmet[b, (varset >> u64(b << 3)) & u64(255)]
                ready = everything & ~varset & ~waiting
                if ready:
                    number = np.uint8(lowest(ready))
            least = min(least, f)
            lows[end], g[end], leaves[end], successors[end] = low, best[low], leaf[low], number
            end += 1
    return end, least


@inner
def _leave_ancestral(high, rules, scratch, vectors, kept, begin, end, halt):
    """Of the nodes of one target, rows begin:end of the columns, drop those that node fixing prunes, and give the
    others the number that their ancestral successors have, where path extension left all successors.

    A pass of its own: beside it the loop of `_emit` would be slow. Returns what `_emit` does; ends early when halt[0]
    is set.
    """
    fine, at_fine, finest, cut = fine_part(high, rules.low_bits, rules.groups)
    coarse, masks, weights = scratch.coarse, scratch.near.masks[2], scratch.near.weights[2]
    lows, g, leaves, successors = kept.lows, kept.g, kept.leaf, kept.successors
    everything = ~u64(0) >> u64(64 - rules.variables)
    least = np.inf
    filled = begin
    for i in range(begin, end):
        if halt[0]:
            break
        low, number = u64(lows[i]), successors[i]
        varset = high | low
        cluster_h = bound_of_waiting(varset, rules.clusters.waiting) + weight_of(varset, masks, weights, vectors) * UNIT
        if number == ALL_SUCCESSORS and varset != everything:
            closed = closed_set(varset, everything, rules.limit - g[i] - cluster_h, rules.ancestry, scratch.par)
            if not closed:
                continue
            number = number_of(closed, everything & ~varset, rules.ancestry.allowed)
        least = min(least, g[i] + max(coarse[low >> cut] + fine[at_fine + (low & finest)], cluster_h))
        lows[filled], g[filled], leaves[filled], successors[filled] = lows[i], g[i], leaves[i], number
        filled += 1
    return filled, least


@inlined
def _generate(t, targets, sources, tables, shared, rules, scratch):
    """All successors in target t into the open list; the number of edges generated.

    They come from the nodes of a partition by the variables in its leaves, as far as the number of their successors
    allows them. tables: None if the nodes carry rows, which decides what is compiled. A word of shared.words is made
    when it is needed; one whose first family costs too much ends the look-up, as families lie in score order.

    One long loop: a function that takes arrays would cost more than all the rest.
    """
    nodes, free, order = sources
    starts, lows, g, successors, rows = nodes.starts, nodes.lows, nodes.g, nodes.successors, nodes.best
    allowed = rules.ancestry.allowed
    coarse, limit, inside = scratch.coarse, rules.limit, (u64(1) << u64(rules.low_bits)) - u64(1)
    best, leaf, occupied, blocks = scratch.open_list
    if tables is not None:
        costs, first, bits, start, width = tables.costs, tables.first, tables.bits, tables.start, tables.width
        words, made, low_bytes = shared.words, shared.made, shared.low_bytes
    two = u64(rules.low_bits > 8)  # a single low byte is looked up twice
    high = targets.highs[t] << u64(rules.low_bits)
    fine, at_fine, finest, cut = fine_part(high, rules.low_bits, rules.groups)
    edges = 0
    # unsigned arithmetic throughout: a signed index costs a test for negative values
    for k in range(targets.first[t], targets.first[t + 1]):
        leaves, source = targets.leaves[k], targets.partitions[k]
        above = high & ~leaves  # a high leaf is not in the source
        if tables is not None:
            made[:] = 0
        begin = first_of_number(order, successors, starts[source], free[source], lowest(leaves))
        end = first_of_number(order, successors, begin, free[source], highest(leaves) + u64(1))
        for part in range(2):
            lo, hi = (begin, end) if part == 0 else (free[source], starts[source + 1])
            for at in range(lo, hi):
                i = order[at]
                low = u64(lows[i])
                rest = leaves & ~low & allowed[successors[i]]
                slack = limit - g[i]
                byte = (above | low) & u64(255)
                byte2 = (two << u64(8)) + (((above | low) >> (two << u64(3))) & u64(255))
                while rest:
                    bit = rest & (~rest + u64(1))
                    x = lowest(rest)
                    rest ^= bit
                    to = (low | bit) & inside
                    edges += 1
                    most = slack - coarse[to >> cut] - fine[at_fine + (to & finest)]  # x must cost less
                    cost = np.inf
                    if tables is None:
                        cost = rows[i, x - popcount((above | low) & (bit - u64(1)))]
                    else:
                        own = bits, u64(start[x]), u64(width[x])
                        row, row2 = own[1] + byte * own[2], own[1] + byte2 * own[2]
                        word = u64(0)
                        while word < own[2] and costs[u64(first[x]) + (word << u64(6))] < most:
                            if word == made[x]:
                                words[x, word] = above_low_bytes(above, word, low_bytes, shared.blocks, own)
                                made[x] += u64(1)
                            left = words[x, word] & bits[row + word] & bits[row2 + word]
                            if left:
                                cost = costs[u64(first[x]) + (word << u64(6)) + lowest(left)]
                                break
                            word += u64(1)
                    if cost < most:
                        cost += g[i]
                        flag = u64(1) << (to & u64(63))
                        if not occupied[to >> u64(6)] & flag:
                            occupied[to >> u64(6)] |= flag
                            blocks[to >> u64(12)] |= u64(1) << ((to >> u64(6)) & u64(63))
                            best[to] = np.inf
                        if cost < best[to] or (cost == best[to] and x < leaf[to]):
                            best[to] = cost
                            leaf[to] = x
    return edges


@njit
def expand(targets, sources, tables, rules, kept, halt):
    """Generate the nodes of some partitions of the next layer.

    targets: as from `next_targets`; sources: the current layer; tables: sparse parent graphs with every byte for every
    child, or None if the nodes of the layer carry rows; rules: which nodes are kept. kept: columns that are large
    enough, and a count for each target. When halt[0] is set, the rest of the targets is left alone. Returns edges
    generated, nodes kept, and the least f among them.
    """
    targets, sources, tables, rules, kept, halt = borrowed((targets, sources, tables, rules, kept, halt))
    scratch = new_scratch(rules)
    shared = new_shared_words(tables, rules.low_bits)
    edges = 0
    end = np.int64(0)
    least = np.inf
    for t in range(targets.highs.size):
        if halt[0]:
            break
        high = targets.highs[t] << u64(rules.low_bits)
        fill_coarse(high, rules.groups, scratch.coarse)
        edges += _generate(t, targets, sources, tables, shared, rules, scratch)
        vectors = near_clusters(high, rules.low_bits, scratch.near)
        before = end
        end, f = _emit(high, rules, scratch, vectors, kept, before)
        if rules.ancestry.first.size:
            end, f = _leave_ancestral(high, rules, scratch, vectors, kept, before, end, halt)
        least = min(least, f)
        kept.counts[t] = end - before
    return edges, end, least
