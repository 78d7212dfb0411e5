"""The nodes of the next layer in the making: a direct-addressed table, and how it is emptied into sorted runs."""

import numpy as np

from extbnsl.bounds.multipliers import UNIT
from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import inlined, njit
from extbnsl.search.ancestral import ALL_SUCCESSORS, closed_set, number_of
from extbnsl.search.node_bound import bound_of_waiting as bound_of_waiting
from extbnsl.search.node_bound import fine_part, near_clusters
from extbnsl.search.node_bound import weight_of as weight_of


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
def emit(high, shape, group, coarse, waiting_h, nearest, vectors, unmet, extend_path, limit, open_list, columns, kept):
    """Move the nodes of one target from the open list to the columns, from row `kept` on, in ascending order.

    waiting_h: of the ClusterBound; nearest (masks, weights), vectors: see `near_clusters`. Those that the cluster
    bound prunes are left out. Path extension (Yuan and Malone 2013): if the best
    parents of all of some X outside U are inside U, U needs no other successor than U + X; the
    smallest such X is the number of its successors. Returns the rows filled and the least f among them.
    """
    variables, low_bits = shape
    fine, at_fine, finest, cut = fine_part(high, low_bits, group)
    masks, weights = nearest
    best, leaf, occupied, blocks = open_list
    lows, g, leaves, successors = columns
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
            cluster_h += weight_of(varset, masks, weights, vectors) * UNIT
            f = best[low] + max(coarse[low >> cut] + fine[at_fine + (low & finest)], cluster_h)
            if f >= limit:
                continue
            one = ALL_SUCCESSORS
            if extend_path:
                waiting = waiting_above
                for b in range(low_bytes):
                    waiting |= unmet[b, (varset >> u64(b << 3)) & u64(255)]
                ready = everything & ~varset & ~waiting
                if ready:
                    one = np.uint8(lowest(ready))
            least = min(least, f)
            lows[kept], g[kept], leaves[kept], successors[kept] = low, best[low], leaf[low], one
            kept += 1
    return kept, least


@njit
def leave_ancestral(high, shape, group, coarse, waiting_h, nearest, vectors, ancestry, limit, par, columns, begin, end):
    """Of the nodes of one target, rows begin:end of the columns, drop those that node fixing prunes, and give the
    others the number that `ancestry` has for them where path extension left all successors.

    A pass of its own: beside it the loop of `emit` would be slow. par (64,) is scratch. Returns what `emit` does.
    """
    variables, low_bits = shape
    fine, at_fine, finest, cut = fine_part(high, low_bits, group)
    masks, weights = nearest
    lows, g, leaves, successors = columns
    everything = ~u64(0) >> u64(64 - variables)
    least = np.inf
    kept = begin
    for i in range(begin, end):
        low, one = u64(lows[i]), successors[i]
        varset = high | low
        cluster_h = bound_of_waiting(varset, waiting_h) + weight_of(varset, masks, weights, vectors) * UNIT
        if one == ALL_SUCCESSORS and varset != everything:
            slack = limit - g[i] - cluster_h
            closed = closed_set(varset, everything, slack, ancestry[1], ancestry[2], ancestry[3], par)
            if not closed:
                continue
            one = number_of(closed, everything & ~varset, ancestry[0])
        least = min(least, g[i] + max(coarse[low >> cut] + fine[at_fine + (low & finest)], cluster_h))
        lows[kept], g[kept], leaves[kept], successors[kept] = lows[i], g[i], leaves[i], one
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
