"""The kernel of the search: generate a run of next-layer partitions from the current layer.

A varset is cut into `low_bits` low bits and the high rest; a partition is the nodes that share their high part. The
successors that fall into partition T come from partition T itself (a low variable is added) and from T without one of
its high bits. So a sweep over the targets in increasing order finds all duplicates of a partition while its table is
in cache, and emits the next layer sorted.

The table of a target is addressed directly by the low bits: a perfect hash. Ties in g go to the smaller leaf, so the
result does not depend on the order of the sources. f = g + h is pruned at `limit` (upper bound - tolerance).
"""

import numpy as np

from extbnsl.kernels import lowest, njit, popcount, u64

UNFORCED = np.uint8(255)


@njit
def _find(highs, high):  # type: ignore[no-untyped-def]
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
def _above_low_bytes(x, varset, word, low_bytes, start, width, bits, block_first):  # type: ignore[no-untyped-def]
    """One word of the bitset of x's parent sets with no member outside `varset` in the bytes above the low ones."""
    left = ~u64(0)
    for b in range(low_bytes, block_first[x + 1] - block_first[x]):
        value = np.int64((varset >> u64(b << 3)) & u64(255))
        left &= bits[start[x] + ((b << 8) + value) * width[x] + word]
    return left


@njit
def _generate(begin, end, high, leaves, columns, low_bits, tables, ready, made, base_h, slice_h, limit, open_list):  # type: ignore[no-untyped-def]
    """Successors of the nodes begin..end of one partition by the variables in `leaves`, into their target's open list.

    `high` has the partition's high bits in place. ready (n, words) and made (n,) are scratch: the AND over the bytes
    above the low ones is the same for all nodes, so its words are made once, as far as they are needed. Returns the
    number of edges generated.
    """
    lows, g, forced = columns
    costs, first, bits, start, width, block_first = tables[0], tables[1], tables[2], tables[3], tables[4], tables[6]
    best, leaf, occupied = open_list
    low_bytes = (low_bits + 7) >> 3
    second = 256 if low_bytes > 1 else 0  # with a single low byte it is looked up twice
    shift = u64(8) if low_bytes > 1 else u64(0)
    inside = (1 << low_bits) - 1
    made[:] = 0
    edges = 0
    for i in range(begin, end):
        low = np.int64(lows[i])
        rest = leaves & ~u64(low)
        if forced[i] != UNFORCED:
            rest &= u64(1) << u64(forced[i])
        so_far = g[i] + base_h
        byte = np.int64((high | u64(low)) & u64(255))
        byte2 = second + np.int64(((high | u64(low)) >> shift) & u64(255))
        while rest:
            x = np.int64(lowest(rest))
            to = (low | np.int64(rest & (~rest + u64(1)))) & inside
            rest &= rest - u64(1)
            edges += 1
            base = first[x]
            most = limit - so_far - slice_h[to]  # what x may cost at most
            if costs[base] >= most:
                continue
            w = width[x]
            row = start[x] + byte * w
            row2 = start[x] + byte2 * w
            word = 0
            left = u64(0)
            while word < w:
                if word == made[x]:
                    ready[x, word] = _above_low_bytes(x, high, word, low_bytes, start, width, bits, block_first)
                    made[x] += 1
                left = ready[x, word] & bits[row + word] & bits[row2 + word]
                if left:
                    break
                word += 1
            if not left:
                continue
            cost = costs[base + (word << 6) + np.int64(lowest(left))]
            if cost < most:
                cost += g[i]
                flag = u64(1) << u64(to & 63)
                if not occupied[to >> 6] & flag:
                    occupied[to >> 6] |= flag
                    best[to] = cost
                    leaf[to] = x
                elif cost < best[to] or (cost == best[to] and x < leaf[to]):
                    best[to] = cost
                    leaf[to] = x
    return edges


@njit
def _forced_leaf(varset, everything, favourites):  # type: ignore[no-untyped-def]
    """The smallest variable outside `varset` whose best parents of all are inside, or UNFORCED (path extension)."""
    rest = everything & ~varset
    while rest:
        x = lowest(rest)
        if not favourites[x] & ~varset:
            return np.uint8(x)
        rest &= rest - u64(1)
    return UNFORCED


@njit
def _high_h(high, low_bits, bound):  # type: ignore[no-untyped-def]
    """The part of h that is the same for a whole partition, and where the slice for its low bits begins."""
    tables, start, shift, width = bound
    varset = high << u64(low_bits)
    total = 0.0
    for k in range(1, start.size):
        total += tables[start[k] + np.int64((varset >> u64(shift[k])) & ((u64(1) << u64(width[k])) - u64(1)))]
    return total, np.int64(varset & ((u64(1) << u64(width[0])) - u64(1)))


@njit
def expand(targets, sources, columns, variables, low_bits, tables, bound, favourites, extend_path, limit, out):  # type: ignore[no-untyped-def]
    """Generate the nodes of the partitions `targets` (sorted highs, uint64) of the next layer.

    sources = (highs (p,) uint64, starts (p + 1,) int64) and columns = (lows uint16, g float64, forced uint8) are the
    current layer; tables: byte tables with every byte for every child; bound: a GroupBound whose first group covers
    the low bits; favourites (n,) uint64: each child's best parents of all. out = (lows, g, leaf, forced, count per
    target), all large enough. Returns edges generated, nodes kept, and the least f among them.
    """
    highs, starts = sources
    out_low, out_g, out_leaf, out_forced, out_count = out
    size = 1 << low_bits
    best = np.empty(size, np.float64)
    leaf = np.empty(size, np.uint8)
    occupied = np.zeros(max(1, size >> 6), np.uint64)
    open_list = (best, leaf, occupied)
    ready = np.empty((variables, tables[4].max()), np.uint64)
    made = np.zeros(variables, np.int64)
    everything = ~u64(0) >> u64(64 - variables)
    edges = 0
    kept = 0
    least = np.inf
    for t in range(targets.size):
        target = targets[t]
        base_h, at = _high_h(target, low_bits, bound)
        slice_h = bound[0][at : at + size]
        here = _find(highs, target)
        if here >= 0:
            edges += _generate(
                starts[here], starts[here + 1], target << u64(low_bits), u64(size - 1), columns, low_bits, tables,
                ready, made, base_h, slice_h, limit, open_list,
            )  # fmt: skip
        rest = target
        while rest:
            bit = rest & (~rest + u64(1))
            rest ^= bit
            here = _find(highs, target ^ bit)
            if here >= 0:
                edges += _generate(
                    starts[here], starts[here + 1], (target ^ bit) << u64(low_bits), bit << u64(low_bits), columns,
                    low_bits, tables, ready, made, base_h, slice_h, limit, open_list,
                )  # fmt: skip
        before = kept
        for block in range(occupied.size):
            left = occupied[block]
            occupied[block] = 0
            while left:
                low = (block << 6) + np.int64(lowest(left))
                left &= left - u64(1)
                out_low[kept], out_g[kept], out_leaf[kept] = low, best[low], leaf[low]
                least = min(least, best[low] + base_h + slice_h[low])
                varset = (target << u64(low_bits)) | u64(low)
                out_forced[kept] = _forced_leaf(varset, everything, favourites) if extend_path else UNFORCED
                kept += 1
        out_count[t] = kept - before
    return edges, kept, least


@njit
def most_nodes(targets, sources, low_bits):  # type: ignore[no-untyped-def]
    """An upper bound of the nodes that `expand` can keep for `targets`, for the size of its output."""
    highs, starts = sources
    total = 0
    for t in range(targets.size):
        nodes = 0
        here = _find(highs, targets[t])
        if here >= 0:
            nodes += (starts[here + 1] - starts[here]) * low_bits
        rest = targets[t]
        while rest:
            bit = rest & (~rest + u64(1))
            rest ^= bit
            here = _find(highs, targets[t] ^ bit)
            if here >= 0:
                nodes += starts[here + 1] - starts[here]
        total += min(nodes, 1 << low_bits)
    return total


@njit
def candidate_targets(highs, high_bits):  # type: ignore[no-untyped-def]
    """Every high part that a successor of the layer can have, with repetitions, unsorted: uint64."""
    total = 0
    for i in range(highs.size):
        total += 1 + high_bits - np.int64(popcount(highs[i]))
    found = np.empty(total, np.uint64)
    at = 0
    for i in range(highs.size):
        found[at] = highs[i]
        at += 1
        for b in range(high_bits):
            if not (highs[i] >> u64(b)) & u64(1):
                found[at] = highs[i] | (u64(1) << u64(b))
                at += 1
    return found
