"""The nodes of the next layer in the making: a direct-addressed table, and how it is emptied into sorted runs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import UNIT
from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import inlined, inner
from extbnsl.search.ancestral import ALL_SUCCESSORS, closed_set, number_of
from extbnsl.search.problem import Near, bound_of_waiting, fine_part, near_clusters, new_coarse, new_near, weight_of


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


class Kept(NamedTuple):
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
    return Scratch(
        open_list, new_coarse(rules.low_bits, rules.groups), new_near(rules.clusters), np.empty(64, np.uint64)
    )


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
def finish_target(high, rules, scratch, kept, begin, halt):
    """Move the nodes of one target from the open list to the columns, from row `begin` on, ascending, but those that
    are pruned. Returns the rows filled and the least f among them. Ends early when halt[0] is set."""
    vectors = near_clusters(high, rules.low_bits, scratch.near)
    end, least = _emit(high, rules, scratch, vectors, kept, begin)
    if rules.ancestry.first.size:
        end, least = _leave_ancestral(high, rules, scratch, vectors, kept, begin, end, halt)
    return end, least
