"""The kernels of layered parent graphs (Malone et al. 2011, Sections 4 and 5.2).

Every node U of a layer carries a row: BestScore(X | U) of every X outside U, ascending X. So one layer of all parent
graphs is there, for the varsets that are present in the order graph and no others, and generating U + X reads its cost
off the row. The rows of the next layer come from those of this one and from families:

Let D be the variables Y of V for which V - Y is present. What is inside one of these predecessors, BestScore(X | V - Y)
has taken into account. The other families inside V are those P with D inside P: P lacks no Y of D, or it would be
inside V - Y. If all predecessors are present that is V itself, the one look-up of the paper; when some are pruned, it
can be more. So BestScore(X | V) is the least of BestScore(X | V - Y), Y in D, and the families P with D <= P <= V.
"""

import numpy as np

from extbnsl.kernels.bits import highest, lowest, popcount, u64
from extbnsl.kernels.compiler import njit
from extbnsl.search.node_bound import fill_coarse, fine_part, new_coarse, new_near
from extbnsl.search.open_list import finish_target, new_open_list
from extbnsl.search.targets import first_of_number


@njit
def _generate(high, span, sources, columns, low_bits, allowed, group, coarse, limit, open_list):
    """All successors in one target, whose high bits are `high`, into the open list; the number of edges generated.

    They come from rows span[0]:span[1] of sources = (partitions, leaves).
    """
    partitions, leaves = sources
    starts, lows, g, successors, free, order, rows = columns
    best, leaf, occupied, occupied_words = open_list
    fine, at_fine, finest, cut = fine_part(high, low_bits, group)
    inside = (u64(1) << u64(low_bits)) - u64(1)
    edges = 0
    # unsigned arithmetic throughout: a signed index costs a test for negative values
    for k in range(span[0], span[1]):
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
                while rest:
                    bit = rest & (~rest + u64(1))
                    x = lowest(rest)
                    rest ^= bit
                    to = (low | bit) & inside
                    edges += 1
                    cost = rows[i, x - popcount((above | low) & (bit - u64(1)))]
                    if cost < slack - coarse[to >> cut] - fine[at_fine + (to & finest)]:
                        # again here: a function that takes these arrays would cost more than all the rest
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
def expand_layered(first, targets, sources, columns, shape, bounds, unmet, extend_path, ancestry, limit, out, halt):
    """What `expand.expand` does, with the rows of the current layer instead of byte tables.

    columns = (starts, lows, g, successors, free, order, rows), rows (m, variables - size).
    """
    low_bits = shape[1]
    open_list = new_open_list(low_bits)
    coarse = new_coarse(low_bits, bounds[0])
    near = new_near(bounds[1])
    into = out[:4]
    par = np.empty(64, np.uint64)
    edges = 0
    kept = 0
    least = np.inf
    for t in range(targets.size):
        if halt[0]:
            break
        high = targets[t] << u64(low_bits)
        fill_coarse(high, bounds[0], coarse)
        edges += _generate(
            high, (first[t], first[t + 1]), sources, columns, low_bits, ancestry[0], bounds[0], coarse, limit, open_list
        )
        before = kept
        kept, f = finish_target(
            high, shape, bounds, coarse, near, unmet, extend_path, ancestry, limit, par, open_list, into, kept
        )
        least = min(least, f)
        out[4][t] = kept - before
    return edges, kept, least


@njit
def inherit(first, targets, sources, columns, low_bits, counts, kept_lows, covered, best):
    """Fill the rows of the nodes kept from those of their predecessors that are present.

    counts (k,): nodes of each target, whose low parts `kept_lows` (m,) follow each other; columns = (starts, lows,
    rows) of the current layer. Of each node, best (m, width) gets the least of its predecessors' rows, whether they
    generated it or not, and covered (m,) uint64 the variables D without which it is a present predecessor.
    """
    starts, lows, rows = columns
    inside = (u64(1) << u64(low_bits)) - u64(1)
    width, one = u64(best.shape[1]), u64(1)
    place = np.zeros(1 << low_bits, np.uint32)  # one more than the row of a low part
    best[:] = np.inf
    covered[:] = 0
    end = 0
    for t in range(targets.size):
        begin, end = end, end + counts[t]
        if begin == end:
            continue
        for i in range(begin, end):
            place[kept_lows[i]] = i + 1
        high = targets[t] << u64(low_bits)
        for k in range(first[t], first[t + 1]):
            leaves = sources[1][k]
            source = sources[0][k]
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
def improve(columns, low_bits, covered, best, families, halt):
    """Improve the rows of nodes by the families that none of their present predecessors contains.

    columns = (highs, starts, lows); covered and best as from `inherit`. families = (parents (f,) uint64, costs (f,),
    first (s + 1,), child (s,), size (s,)): rows first[k]:first[k + 1] are families of child[k] with size[k] parents,
    ascending in cost. Ends early when halt[0] is set.
    """
    highs, starts, lows = columns
    parents, costs, first, child, size = families
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
        nodes = 0
        common = ~u64(0)
        for k in range(child.size):
            if k == 0 or size[k] != size[k - 1]:
                nodes, common = _needy(starts[p], starts[p + 1], covered, size[k], needy)
            bit = u64(1) << u64(child[k])
            if nodes == 0 or high & bit:
                continue
            found = -1  # the families that can matter here are looked for when the first node is there
            for n in range(nodes):
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


@njit
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
