"""The depth-first search for the families of one child that matter, by scores of their cells: kernels.

See `cell_families` for what is left out and why. A node is a parent set; its children add one of the candidates after
it. The rows are numbered by the joint state of the node's parents anew for each set: plain, and slow.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inlined, njit
from extbnsl.verify.units import UNITS_PER_NAT

SPREAD, OCCURRING, FIXED, CELL_REGRET, STATE_REGRET = range(5)  # BDeu, BDs, K2, fNML, qNML
FEW = 8  # counts up to this many have their logarithms taken together


class CellChild(NamedTuple):
    """What the search for the families of one child reads: d rows, m candidates, k clusters. Costs in nats.

    kind: of the score; size: the prior of all states together, of the kinds that have one; floor: what N H(child |
    parents) is at least, less the margin; margin: what is compared may be off by less than half of it; lead: by what a
    subset must beat a set to take its place, infinity where none is left out for that; threshold: of the reduced costs,
    in units; depth: most parents. candidates (m,) int64; arities (m,) and arity of the child, float64; codes (m, d),
    states (d,) of the child, weights (d,) int64. regrets (N + 1,): of a parents' state by its records; state_regrets
    (s,): by the number of states, for as many as may matter. hits (k, m), multipliers (k,) int64: as in
    `child_search.Child`.
    """

    kind: int
    size: float
    floor: float
    margin: float
    lead: float
    threshold: int
    depth: int
    candidates: NDArray[np.int64]
    arities: NDArray[np.float64]
    arity: float
    codes: NDArray[np.int64]
    states: NDArray[np.int64]
    weights: NDArray[np.int64]
    mlogm: NDArray[np.float64]
    regrets: NDArray[np.float64]
    state_regrets: NDArray[np.float64]
    hits: NDArray[np.int64]
    multipliers: NDArray[np.int64]


class CellFrames(NamedTuple):
    """A stack of nodes; each array has a place or a row for each. cells (depth, d): the node's number of each row;
    counts: how many numbers; product: of the arities; next: the next candidate; varset (depth, words); cheapest: the
    least cost of its subsets, and the lead; rest (depth, k): 1 for clusters disjoint from it."""

    cells: NDArray[np.int64]
    counts: NDArray[np.int64]
    product: NDArray[np.float64]
    next: NDArray[np.int64]
    varset: NDArray[np.uint64]
    cheapest: NDArray[np.float64]
    rest: NDArray[np.int64]


def new_cell_frames(
    child: CellChild,
    alone: float,
    base: NDArray[np.uint64],
    groups: NDArray[np.int64],
    states: float,
    apart: NDArray[np.bool_],
) -> CellFrames:
    """A stack with room for all nodes, and the first parent set on it, which costs so much: `base` (words,), which is
    part of all, has so many joint states and divides the rows into groups (d,). apart (k,): the clusters disjoint from
    it."""
    depth = child.depth + 1
    return CellFrames(
        cells=np.tile(groups, (depth, 1)),
        counts=np.full(depth, int(groups.max(initial=0)) + 1),
        product=np.full(depth, states),
        next=np.zeros(depth, np.int64),
        varset=np.tile(base, (depth, 1)),
        cheapest=np.full(depth, alone + child.lead),
        rest=np.tile(apart.astype(np.int64), (depth, 1)),
    )


@inlined
def _number_cells(top, y, child, frames, slots):
    """Number the rows of the node with candidate y by their joint states, in the next frame."""
    before, cells, codes = frames.cells[top], frames.cells[top + 1], child.codes[y]
    states = np.int64(child.arities[y])
    for c in range(frames.counts[top] * states):
        slots[c] = -1
    found = np.int64(0)
    for i in range(codes.size):
        at = before[i] * states + codes[i]
        if slots[at] < 0:
            slots[at] = found
            found += 1
        cells[i] = slots[at]
    frames.counts[top + 1] = found


@inlined
def _evidence(counts, prior):
    """The sum of ln G(prior + m) - ln G(prior) over the counts m."""
    total = 0.0
    for m in counts:
        if m > FEW:
            total += math.lgamma(prior + m) - math.lgamma(prior)
        else:
            for i in range(m):
                total += math.log(prior + i)
    return total


@inlined
def _cost_and_least(up, child, frames, alone, both):
    """What the family of a node costs, and what it and all that have more parents cost at least; infinity if it has
    more states than may matter. alone, both: working space."""
    cells, count, states = frames.cells[up], frames.counts[up], np.int64(child.arity)
    alone[:count] = 0
    both[: count * states] = 0
    for i in range(cells.size):
        alone[cells[i]] += child.weights[i]
        both[cells[i] * states + child.states[i]] += child.weights[i]
    occurring = np.int64(0)
    for m in both[: count * states]:
        occurring += m > 0
    if child.kind <= FIXED:
        prior = child.size
        if child.kind == SPREAD:
            prior = child.size / frames.product[up]
        elif child.kind == OCCURRING:
            prior = child.size / count
        cost = _evidence(alone[:count], prior) - _evidence(both[: count * states], prior / child.arity)
        return cost, max(child.floor, occurring * math.log(child.arity))
    penalty = 0.0
    if child.kind == CELL_REGRET:
        for m in alone[:count]:
            penalty += child.regrets[m]
    else:
        if frames.product[up] * child.arity >= child.state_regrets.size:
            return np.inf, np.inf
        product = np.int64(frames.product[up])
        penalty = child.state_regrets[product * states] - child.state_regrets[product]
    misfit = 0.0
    for m in alone[:count]:
        misfit += child.mlogm[m]
    for m in both[: count * states]:
        misfit -= child.mlogm[m]
    return misfit + penalty, child.floor + penalty


@inlined
def _taken(top, y, child, frames):
    """The multipliers of the clusters disjoint from the node and candidate y, in units; the next frame knows them."""
    total = np.int64(0)
    for c in range(child.multipliers.size):
        left = frames.rest[top, c] and child.hits[c, y] == 0
        frames.rest[top + 1, c] = left
        if left:
            total += child.multipliers[c]
    return total


@njit
def search_cells(top, child, frames, halt, varsets, costs):
    """Go on with the search until it is over, halted or there is no room for families; the top of the stack, -1 when
    it is over, and how many families there are."""
    d, m = child.weights.size, child.candidates.size
    widest = 1
    for y in range(m):
        widest = max(widest, np.int64(child.arities[y]))
    slots = np.empty(d * widest, np.int64)
    alone, both = np.empty(d, np.int64), np.empty(d * np.int64(child.arity), np.int64)
    written = 0
    while top >= 0 and not halt[0] and written < costs.size:
        y = frames.next[top]
        if y == m or top == child.depth:
            top -= 1
            continue
        frames.next[top] += 1
        up = top + 1
        frames.product[up] = frames.product[top] * child.arities[y]
        _number_cells(top, y, child, frames, slots)
        cost, least = _cost_and_least(up, child, frames, alone, both)
        taken = _taken(top, y, child, frames)
        room = min(frames.cheapest[top], (child.threshold + taken) / UNITS_PER_NAT + child.margin)
        frames.varset[up] = frames.varset[top]
        v = child.candidates[y]
        frames.varset[up, v >> 6] |= u64(1) << u64(v & 63)
        if cost < room:
            varsets[written] = frames.varset[up]
            costs[written] = cost
            written += 1
        frames.cheapest[up] = min(frames.cheapest[top], cost + child.lead)
        if least < min(room, frames.cheapest[up]):
            frames.next[up] = y + 1
            top = up
    return top, written
