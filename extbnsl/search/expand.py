"""The kernel of the search: generate a run of next-layer partitions from the current layer.

A varset is cut into `low_bits` low bits and the high rest; a partition is the nodes that share their high part. The
successors that fall into partition T come from partition T itself (a low variable is added) and from T without one of
its high bits. So a sweep over the targets in increasing order finds all duplicates of a partition while its table is
in cache, and emits the next layer sorted.

The table of a target is addressed directly by the low bits: a perfect hash. Ties in g go to the smaller leaf, so the
result does not depend on the order of the sources. f = g + h is pruned at `limit` (upper bound - tolerance): an edge
by the group bound, whose part for the target is in cache as well, and a node, when all its edges are known, by the
cluster bound, of which only the clusters that are disjoint from the target's high bits are looked at.

What a family costs is read off sparse parent graphs, byte tables, or off the rows that the nodes carry, see `rows`.
"""

import numpy as np

from extbnsl.kernels.bits import highest, lowest, popcount, u64
from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.parents.best_score import above_low_bytes, new_shared_words
from extbnsl.search.open_list import finish_target, new_scratch
from extbnsl.search.problem import fill_coarse, fine_part
from extbnsl.search.targets import first_of_number


@inlined
def _generate(t, targets, sources, tables, shared, rules, scratch):
    """All successors in target t into the open list; the number of edges generated.

    They come from the nodes of a partition by the variables in its leaves, as far as the number of their successors
    allows them. tables: None if the nodes carry rows, which decides what is compiled. A word of shared.words is made
    when it is needed; one whose first family costs too much ends the look-up, as families lie in score order.

    One long loop: a function that takes arrays would cost more than all the rest.
    """
    starts, lows, g, successors = sources.starts, sources.lows, sources.g, sources.successors
    free, order, rows, allowed = sources.free, sources.order, sources.rows, rules.ancestry.allowed
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
        before = end
        end, f = finish_target(high, rules, scratch, kept, end, halt)
        least = min(least, f)
        kept.counts[t] = end - before
    return edges, end, least
