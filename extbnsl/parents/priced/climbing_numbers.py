"""Kernel of the local search for parent sets of numbers that cost little beside what they count for cuts.

The covariances are swept (Goodnight 1979, The American Statistician 33) by the parents: then row v has what the child
would gain by v as a parent, or lose without it, in O(1), and a parent goes in or out in O(m^2).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.parents.exhaustive.collected import put
from extbnsl.parents.exhaustive.regressions import Frames, new_frames
from extbnsl.parents.priced.cuts import CutsOfChild, count_root, count_set, count_without, inherit
from extbnsl.scores.gaussian import OWN_PARAMETERS

STEP = 1e-7  # nats that a step gains at least
LEAST_LEFT = 1e-6  # of the variance of a column, or the child, that parents leave: sets that leave less are left out
MOST_STEPS = 1 << 10  # from one set


class Climb(NamedTuple):
    """What the climbs of a child work on, of m candidates.

    must: how many parents come first that must be; most: the most candidates beside them; half: of the records; step:
    the price of a parent, in nats. swept (w, w) float64: the covariances, swept by the parents; work: as large. cuts,
    frames, members: what a set counts for, see `count_set`.
    """

    must: int
    most: int
    half: float
    step: float
    swept: NDArray[np.float64]
    work: NDArray[np.float64]
    cuts: CutsOfChild
    frames: Frames
    members: NDArray[np.int64]


@inner
def _sweep(swept, k):
    """Take a column into the parents by which the covariances are swept, or out of them."""
    pivot = swept[k, k]
    for j in range(len(swept)):
        swept[k, j] /= pivot
    for i in range(len(swept)):
        if i != k:
            factor = swept[i, k]
            for j in range(len(swept)):
                swept[i, j] -= factor * swept[k, j]
            swept[i, k] = -factor / pivot
    swept[k, k] = 1.0 / pivot


@inlined
def _left(swept, k, inside):
    """What is left of the child with column k as a parent, or without it; 0 if that is too little."""
    child = len(swept) - 1
    if not inside and swept[k, k] < LEAST_LEFT:
        return 0.0
    change = swept[k, child] ** 2 / swept[k, k]
    left = swept[child, child] + (change if inside else -change)
    return left if left > LEAST_LEFT else 0.0


@inner
def _step(inside, size, reached, climb):
    """Take the candidate in or out that gains most, or, if none gains, exchange one for another that does. Returns what
    the set costs then beside what it counts, without what all sets cost, and which go in and out, -1 for none."""
    must, step, cuts, frames = climb.must, climb.step, climb.cuts, climb.frames
    best, into, out, m = reached - STEP, -1, -1, inside.size
    count_set(inside, cuts, frames, climb.members, frames.times)
    for v in range(m):
        left = 0.0 if not inside[v] and size == climb.most else _left(climb.swept, must + v, inside[v])
        if left == 0.0:
            continue
        if inside[v]:
            inherit(1, frames)
            count_without(2, v, cuts, frames, climb.members, frames.times)
            reduced = climb.half * math.log(left) + step * (size - 1) - frames.counted[2]
        else:
            reduced = climb.half * math.log(left) + step * (size + 1) - frames.counted[1] + frames.gain[1, v]
        if reduced < best:
            best, into, out = reduced, -1 if inside[v] else v, v if inside[v] else -1
    if into >= 0 or out >= 0:
        return best, into, out
    for gone in range(m):
        if inside[gone]:
            climb.work[:] = climb.swept
            _sweep(climb.work, must + gone)
            inherit(1, frames)
            count_without(2, gone, cuts, frames, climb.members, frames.times)
            for v in range(m):
                left = 0.0 if inside[v] else _left(climb.work, must + v, False)
                if left > 0.0:
                    reduced = climb.half * math.log(left) + step * size - frames.counted[2] + frames.gain[2, v]
                    if reduced < best:
                        best, into, out = reduced, v, gone
    return best, into, out


@njit
def climb_regressions(starts, covariances, records, must, asked, interest, halt, masks):
    """From each of the sets (s, m) bool of candidates go to others that cost less beside what they count for cuts, step
    by step until there is none or `halt` is set. covariances, must, asked, interest: as of `search_regressions`.

    masks (f, w) uint64, zeros: of those on the way that are of interest, as far as there is room. Returns how many
    these are. O(m^3) for a step.
    """
    starts, covariances, interest, halt, masks = borrowed((starts, covariances, interest, halt, masks))
    m, cuts, written, step = starts.shape[1], interest.cuts, 0, asked.price + asked.arc
    most = min(records - OWN_PARAMETERS - must, asked.limit, m)
    frames, members = new_frames(0, 2, 1, m, cuts.of_cut.size), np.zeros(cuts.of_cut.size, np.int64)
    count_root(cuts, frames, frames.times)
    fixed = asked.own + OWN_PARAMETERS * asked.price + step * must
    swept, inside = np.empty_like(covariances), np.zeros(m, np.bool_)
    climb = Climb(must, most, records / 2, step, swept, np.empty_like(covariances), cuts, frames, members)
    for s in range(len(starts) if most > 0 else 0):
        swept[:] = covariances
        size, reached = 0, np.inf
        for v in range(must):
            _sweep(swept, v)
        for v in range(m):
            inside[v] = starts[s, v] and size < most and swept[must + v, must + v] > LEAST_LEFT
            if inside[v]:
                _sweep(swept, must + v)
                size += 1
        for _ in range(MOST_STEPS):
            if written == len(masks) or halt[0]:
                return written
            best, into, out = _step(inside, size, reached, climb)
            if into < 0 and out < 0:
                break
            if out >= 0:
                _sweep(swept, must + out)
                inside[out] = False
                size -= 1
            if into >= 0:
                _sweep(swept, must + into)
                inside[into] = True
                size += 1
            reached = best
            if fixed + reached < interest.reduced:
                for v in range(m):
                    if inside[v]:
                        put(masks[written], v)
                written += 1
    return written
