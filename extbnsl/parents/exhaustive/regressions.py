"""The parents of numbers of one child, depth first: kernels that judge regressions on subsets of its candidates, in one
or more configurations of the records.

A node is a parent set C. It holds what C leaves of the covariances of the candidates that may still be added and of the
child, in each configuration (the Schur complement), and these candidates in an order of its own: first those that tell
most of what is left of the child alone. Its branches add the candidate at some place, and may add those behind that
later. Those behind are eliminated from the last one on, so that what C and all candidates from a place on leave of the
child is known of each place (Furnival and Wilson 1974, Technometrics 16).

The branches of a node are gone through from the last place on. So all subsets of a parent set that do without the first
place are judged before it: every subset is known by then. And since the first places tell most, there is little that
the branches of the last ones could leave.

What ends the walk. Let T be what some subset of a parent set costs that is known. With all that may be added besides,
a family costs at least what these leave of the child and the price of the least of these parent sets: the misfit never
rises with a parent, and the price never falls. If that is no less than T, and the slack, the set and its supersets are
left out. Where C and all that may follow are singular in a configuration, a family that is allowed leaves there at
least LEAST_SHARE of the variance; so that is taken. T may be of a family that is singular: then so are its supersets.

Families by price: with cuts that a parent set counts for (priced/cuts.py), only those are of interest that cost less
than a limit beside that. It counts for no more as parents are added. So the bound of a branch, less what its parents
count, is one of what all its sets cost beside what they count. A set that is left out for that reason is not known
then; its supersets that are dominated by it cost as much beside what they count, and are left out for the same reason.

Rounding. Columns have variance 1. Covariances in a configuration are means of products, off by some 2^-50 for each of m
columns; what is eliminated divides this by the smallest pivot. So a share is off by at most `rounding` = m 2^-50 / that
pivot. A pivot is zero only if it is below LEAST_SHARE by more than that; a share that is less than SURE times its
rounding is taken for the least there can be. Costs are compared with that margin. Families that are within it are
costed again by whoever asks.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.parents.exhaustive.children import ANY_NUMBER
from extbnsl.parents.exhaustive.collected import FULL, OVER, cheapest_inside, judge, put, take_out
from extbnsl.parents.priced.cuts import CutsOfChild, count_root, count_with, cuts_of_child, inherit
from extbnsl.scores.gaussian import LEAST_SHARE, OWN_PARAMETERS

ROUNDING = 2.0**-50
SURE = 1e3
FLOOR = math.log(LEAST_SHARE) / 2  # nats a record
SINGULAR = 2  # beside OVER and FULL: how a walk ends of which all families are


class Asked(NamedTuple):
    """What is asked of a child.

    limit: the most parents beside those that must be; price: of a parameter, arc: of a parent besides, in nats; slack:
    as in `surviving_families`; own: what is part of every cost.
    """

    limit: int
    price: float
    arc: float
    slack: float
    own: float


class Interest(NamedTuple):
    """Which families of a child are of interest.

    cuts: what a parent set counts for, by candidate; reduced: they cost less than so much beside that, in nats.
    effort, most: after so many sets that are judged, or families that are found, a search is given up.
    """

    cuts: CutsOfChild
    reduced: float
    effort: int
    most: int


def everything() -> Interest:
    """All families are of interest."""
    cuts = cuts_of_child(0, np.zeros(0, np.int64), np.zeros(0, np.bool_), None)
    return Interest(cuts, math.inf, ANY_NUMBER, ANY_NUMBER)


class Setting(NamedTuple):
    """What regressions are in: the columns at the first places must be parents, which are so many; the most candidates
    beside them; the records (q,) int64 of each configuration; joint: by what the price of a parameter is multiplied."""

    must: int
    most: int
    counts: NDArray[np.int64]
    joint: float


class Frames(NamedTuple):
    """The stack of nodes, of m columns, those that must be parents first, and the child.

    left (depth, q, m + 1, m + 1): what each node leaves of the covariances in each configuration, lower triangles by
    place; unsure (depth, q): where rounding hides that; rounding (depth,): of shares; name (depth, m): the candidate at
    each place; first (depth,): the first place of a candidate that may be added; next (depth,): the place to try next,
    all behind it are done; least (depth, m + 1): what a node and the candidates from each place on leave of the child
    at least, a sum over the records, in nats; cheapest (depth,): what a subset costs, see `judge`; work
    (m + 1, m + 1); told (m,).

    What a node counts for cuts, with candidates by their numbers: counted (depth,) in nats; gain (depth, m): what it
    counts less with each; there (depth, clusters): whether it has no member of a cluster; times (m,): zeros.
    """

    left: NDArray[np.float64]
    unsure: NDArray[np.bool_]
    rounding: NDArray[np.float64]
    name: NDArray[np.int64]
    first: NDArray[np.int64]
    next: NDArray[np.int64]
    least: NDArray[np.float64]
    cheapest: NDArray[np.float64]
    work: NDArray[np.float64]
    told: NDArray[np.float64]
    counted: NDArray[np.float64]
    gain: NDArray[np.float64]
    there: NDArray[np.bool_]
    times: NDArray[np.int64]


@inner
def new_frames(must, most, q, m, clusters):
    """Room for nodes of so many candidates beside those that must be, in q configurations, out of m; clusters: of cuts
    that they count for."""
    depth, width = must + most + 1, must + m + 1
    return Frames(
        np.empty((depth, q, width, width)),
        np.zeros((depth, q), np.bool_),
        np.full(depth, width * ROUNDING),
        np.zeros((depth, width), np.int64),
        np.zeros(depth, np.int64),
        np.zeros(depth, np.int64),
        np.zeros((depth, width)),
        np.zeros(depth),
        np.empty((width, width)),
        np.zeros(width),
        np.zeros(depth),
        np.zeros((depth, m)),
        np.ones((depth, clusters), np.bool_),
        np.zeros(m, np.int64),
    )


@inlined
def _pivot(share, rounding):
    """-1 if what is left of a column is nothing for sure, 0 if it may be, 1 if it is something."""
    if share + rounding < LEAST_SHARE:
        return -1
    return 1 if share >= max(LEAST_SHARE, SURE * rounding) else 0


@inner
def _eliminate(t, v, first, frames):
    """Eliminate the column at place v from node t into node t + 1, for the places from `first` > v on; whether it is
    not singular. O(q m^2)."""
    up, (q, m) = t + 1, frames.left.shape[1:3]
    rounding = frames.rounding[t]
    smallest = 1.0
    for j in range(q):
        old, new = frames.left[t, j], frames.left[up, j]
        pivot = old[v, v]
        state = _pivot(pivot, rounding)
        if state < 0 and not frames.unsure[t, j]:
            return False
        frames.unsure[up, j] = frames.unsure[t, j] or state == 0
        if frames.unsure[up, j]:
            continue
        smallest = min(smallest, pivot)
        for a in range(first, m):
            factor = old[a, v] / pivot
            for b in range(first, a + 1):
                new[a, b] = old[a, b] - factor * old[b, v]
    frames.rounding[up] = max(rounding, m * ROUNDING / smallest)
    for place in range(first, m - 1):
        frames.name[up, place] = frames.name[t, place]
    return True


@inner
def _arrange(t, counts, frames):
    """Put those candidates of a node first that tell most of what is left of the child by themselves. O(q m^2)."""
    first, (q, m), told = frames.first[t], frames.left.shape[1:3], frames.told
    child = m - 1
    told[first:child] = 0.0
    for j in range(q):
        left = frames.left[t, j]
        if not frames.unsure[t, j]:
            weight = counts[j] / max(left[child, child], LEAST_SHARE)
            for a in range(first, child):
                told[a] -= weight * left[child, a] ** 2 / max(left[a, a], LEAST_SHARE)
    order = np.argsort(told[first:child], kind="mergesort")
    names = frames.name[t, first:child][order]
    frames.name[t, first:child] = names
    for j in range(q):
        if frames.unsure[t, j]:
            continue
        left, work = frames.left[t, j], frames.work
        for i in range(order.size):
            a = first + order[i]
            for k in range(i + 1):
                b = first + order[k]
                work[i, k] = left[max(a, b), min(a, b)]
            work[order.size, i] = left[child, a]
        for i in range(order.size):
            for k in range(i + 1):
                left[first + i, first + k] = work[i, k]
            left[child, first + i] = work[order.size, i]


@inner
def _leave_behind(t, counts, frames):
    """Fill least[t] for the places of the candidates of a node. O(q m^3)."""
    k, q, m, work = frames.first[t], frames.left.shape[1], frames.left.shape[2] - 1, frames.work
    frames.least[t, k:m] = 0.0
    for j in range(q):
        half, rounding = counts[j] / 2, frames.rounding[t]
        gone = frames.unsure[t, j]
        if not gone:
            for a in range(k, m + 1):
                for b in range(k, a + 1):
                    work[a, b] = frames.left[t, j, a, b]
        for i in range(m - 1, k - 1, -1):
            if not gone:
                pivot = work[i, i]
                gone = pivot < max(LEAST_SHARE, SURE * rounding)
                if not gone:
                    rounding = max(rounding, m * ROUNDING / pivot)
                    factor = work[m, i] / pivot
                    for b in range(k, i):
                        work[m, b] -= factor * work[i, b]
                    work[m, m] -= factor * work[m, i]
                    for a in range(k, i):
                        across = work[i, a] / pivot
                        for b in range(k, a + 1):
                            work[a, b] -= across * work[i, b]
                    gone = work[m, m] < max(LEAST_SHARE, SURE * rounding)
            share = work[m, m]
            frames.least[t, i] += counts[j] * FLOOR if gone else half * (math.log(share) - rounding / share)


@inlined
def _open(t, first, more, counts, frames):
    """Begin with a node whose candidates are at the places from `first` on, if so many more may come. What follows a
    single one is nothing: it is costed in less time than bounded."""
    frames.first[t], frames.next[t] = first, frames.left.shape[2] - 2
    if more > 1:
        _arrange(t, counts, frames)
        _leave_behind(t, counts, frames)
    else:
        frames.least[t, first:] = -np.inf


@inner
def _misfit_with(t, k, counts, frames):
    """What node t and the candidate at place k leave of the child, a sum over the records in nats, infinite if they are
    singular; and what it may be off."""
    q, m = frames.left.shape[1], frames.left.shape[2] - 1
    total, error = 0.0, 0.0
    for j in range(q):
        left, rounding, half = frames.left[t, j], frames.rounding[t], counts[j] / 2
        if frames.unsure[t, j]:
            total += counts[j] * FLOOR
            error = np.inf
            continue
        pivot = left[k, k]
        state = _pivot(pivot, rounding)
        if state < 0:
            return np.inf, 0.0
        share = left[m, m] - left[m, k] * left[m, k] / max(pivot, LEAST_SHARE)
        rounding = max(rounding, m * ROUNDING / max(pivot, LEAST_SHARE))
        own = _pivot(share, rounding)
        if state > 0 and own < 0:
            return np.inf, 0.0
        if state == 0 or own == 0:
            total += counts[j] * FLOOR
            error = np.inf
        else:
            total += half * math.log(share)
            error += half * rounding / share
    return total, error


@inner
def _alone(t, counts, frames):
    """The same of node t by itself."""
    q, m = frames.left.shape[1], frames.left.shape[2] - 1
    total, error = 0.0, 0.0
    for j in range(q):
        share, rounding = frames.left[t, j, m, m], frames.rounding[t]
        own = 0 if frames.unsure[t, j] else _pivot(share, rounding)
        if own < 0:
            return np.inf, 0.0
        if own == 0:
            total += counts[j] * FLOOR
            error = np.inf
        else:
            total += counts[j] / 2 * math.log(share)
            error += counts[j] / 2 * rounding / share
    return total, error


@inlined
def _add(t, v, cuts, frames):
    """Let node t + 1 count what node t does with the candidate."""
    if cuts.multipliers.size > 0:
        inherit(t, frames)
        count_with(t + 1, v, cuts, frames, frames.times)


@inner
def walk_regressions(setting, frames, mask, asked, interest, known, found, halt):
    """Judge the families of a child in a setting, which have beside that the parents that the mask has; left[0] of the
    frames has the covariances. SINGULAR if those without candidates are, and all with more; else OVER, or FULL if
    `found` has no room."""
    must, most, counts, joint, cuts = setting.must, setting.most, setting.counts, setting.joint, interest.cuts
    last = frames.left.shape[2] - 1  # the place of the child
    for place in range(must, last):
        frames.name[0, place] = place - must
    count_root(cuts, frames, frames.times)
    for v in range(must):
        if not _eliminate(v, v, v + 1, frames):
            return SINGULAR
        inherit(v, frames)
    step = asked.price * joint + asked.arc
    price = asked.own + OWN_PARAMETERS * asked.price * joint + step * must
    total, error = _alone(must, counts, frames)
    if total == np.inf:
        return SINGULAR
    if found.counts[0] >= found.costs.size - 1:
        return FULL
    cheapest = cheapest_inside(mask, known)
    reduced = interest.reduced + frames.counted[must]
    frames.cheapest[must] = _judge(price + total, error, mask, cheapest, reduced, asked.slack, known, found)
    if most == 0:
        return OVER
    t = must
    chosen = np.zeros(must + most + 1, np.int64)
    _open(t, must, most, counts, frames)
    while t >= must and not halt[0]:
        k = frames.next[t]
        if k < frames.first[t]:
            if t > must:
                take_out(mask, chosen[t])
            t -= 1
            continue
        frames.next[t] -= 1
        size, v = t + 1 - must, frames.name[t, k]
        least = price + step * size + frames.least[t, k]
        reduced = interest.reduced + frames.counted[t] - frames.gain[t, v]
        if least - asked.slack >= frames.cheapest[t] or least >= reduced:
            continue
        if found.counts[0] >= found.costs.size - 1:
            return FULL
        if found.counts[0] > interest.most or found.counts[1] > interest.effort:
            return OVER
        total, error = _misfit_with(t, k, counts, frames)
        if total == np.inf:
            continue
        chosen[t + 1] = v
        put(mask, v)
        cheapest = cheapest_inside(mask, known)
        cheapest = _judge(price + step * size + total, error, mask, cheapest, reduced, asked.slack, known, found)
        hope = least + step - asked.slack < cheapest and least + step < reduced
        if size < most and k + 1 < last and hope and _eliminate(t, k, k + 1, frames):
            _add(t, v, cuts, frames)
            t += 1
            frames.cheapest[t] = cheapest
            _open(t, k + 1, most - size, counts, frames)
        else:
            take_out(mask, v)
    return OVER


@inlined
def _judge(cost, error, mask, cheapest, reduced, slack, known, found):
    """`judge` a family that costs less than so much, or may; else it is counted alone. What the cheapest subset costs
    with it."""
    margin = 0.0 if error == np.inf else error
    if cost - margin < reduced:
        return judge(cost, error, mask, cheapest, slack, known, found)
    found.counts[1] += 1
    return min(cheapest, cost + error)


@njit
def search_regressions(covariances, records, must, asked, interest, known, found, halt):
    """Judge the families of a child of numbers over all records, by the covariances (m + 1, m + 1) of those that must
    be parents, which are so many, candidates, and the child, of variance 1; OVER, or FULL if `found` has no room.

    O(m^3) for each family from which the search goes on, and O(known) for each that is judged.
    """
    covariances, interest, known, found, halt = borrowed((covariances, interest, known, found, halt))
    m = covariances.shape[0] - 1 - must
    most = min(records - OWN_PARAMETERS - must, asked.limit, m)
    if most < 0:
        return OVER
    frames = new_frames(must, most, 1, m, interest.cuts.of_cut.size)
    frames.left[0, 0] = covariances
    mask, setting = np.zeros(known.masks.shape[1], np.uint64), Setting(must, most, np.full(1, records), 1.0)
    state = walk_regressions(setting, frames, mask, asked, interest, known, found, halt)
    return FULL if state == FULL else OVER
