"""Families of one child that a search knows, so as to leave others out, and those that it has found: lists that have
room for so many."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inlined

OVER, FULL = 0, 1  # how a search ends: with all, or because there is no room
KNOWN = 4096  # families that others are compared with
ROOM, MORE = 1 << 14, 8  # for families that a search finds, and how many times more if that is too few


class Known(NamedTuple):
    """Families that are known, the cheapest first: masks (e, w) uint64 and costs (e,) float64, of which used[0] are
    there. Bit i of a mask: candidate i."""

    masks: NDArray[np.uint64]
    costs: NDArray[np.float64]
    used: NDArray[np.int64]


class FoundFamilies(NamedTuple):
    """Room for families that are found: masks (f, w), costs (f,), errors (f,) what these may be off; counts: how many
    are found, and how many were looked at."""

    masks: NDArray[np.uint64]
    costs: NDArray[np.float64]
    errors: NDArray[np.float64]
    counts: NDArray[np.int64]


def all_found(
    search: Callable[[Known, FoundFamilies, NDArray[np.uint8]], int],
    words: int,
    halt: NDArray[np.uint8],
    before: Known | None = None,
) -> tuple[FoundFamilies, Known]:
    """The families that a search finds, which returns FULL if it has no room for them, and the cheapest of them with
    those that were known before."""
    room = ROOM
    while True:
        found = FoundFamilies(np.zeros((room, words), np.uint64), np.zeros(room), np.zeros(room), np.zeros(2, np.int64))
        if before is None:
            known = Known(np.zeros((KNOWN, words), np.uint64), np.full(KNOWN, np.inf), np.zeros(1, np.int64))
        else:
            known = Known(before.masks.copy(), before.costs.copy(), before.used.copy())
        if search(known, found, halt) != FULL or halt[0]:
            return found, known
        room *= MORE


@inlined
def cheapest_inside(mask, known):
    """What the cheapest subset of a parent set costs that is known, infinity if none is. O(known)."""
    for i in range(known.used[0]):
        inside = True
        for w in range(mask.size):
            if known.masks[i, w] & ~mask[w]:
                inside = False
                break
        if inside:
            return known.costs[i]
    return np.inf


@inlined
def learn(cost, mask, known):
    """Put a family among those that are known, in the place of the dearest if there is no room."""
    if known.used[0] == known.costs.size:
        if known.costs[known.costs.size - 1] <= cost:
            return
        known.used[0] -= 1
    at = known.used[0]
    while at > 0 and known.costs[at - 1] > cost:
        known.costs[at] = known.costs[at - 1]
        known.masks[at] = known.masks[at - 1]
        at -= 1
    known.costs[at] = cost
    known.masks[at] = mask
    known.used[0] += 1


@inlined
def put(mask, bit):
    """Put a candidate into a set."""
    mask[bit >> 6] |= u64(1) << u64(bit & 63)


@inlined
def take_out(mask, bit):
    """Take a candidate out of a set."""
    mask[bit >> 6] &= ~(u64(1) << u64(bit & 63))


@inlined
def judge(cost, error, mask, cheapest, slack, known, found):
    """Keep a family of which the cheapest known subset costs so much, unless that beats it; what is known of it is
    known of its supersets. What the cheapest costs with it."""
    found.counts[1] += 1
    margin = 0.0 if error == np.inf else error
    if cost - margin - slack >= cheapest:
        return cheapest
    at = found.counts[0]
    found.masks[at], found.costs[at], found.errors[at] = mask, cost, error
    found.counts[0] += 1
    if cost + error < cheapest:
        learn(cost + error, mask, known)
        return cost + error
    return cheapest
