"""Multipliers by greedy dual ascent and a search of large neighbourhoods."""

from collections.abc import Sequence
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import (
    MEMBERS,
    UNIT,
    FamilyArrays,
    Multipliers,
    count_times,
    has,
    holds,
    is_cluster,
    reduce,
    rounded_multipliers,
)
from extbnsl.kernels.bits import assign, lowest, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.random import new_state, random_below, random_share
from extbnsl.kernels.varsets import words
from extbnsl.machine.workers import Workers, halted_after

ZERO = 1e-7  # nats: a family whose reduced cost is this close to the least of its child counts as free
MOST_CUTS = 4096
MOST_NEW = 256  # clusters that an ascent at a node may add
SHARES = (0.02, 0.05, 0.1, 0.2)  # of the cuts that a step of the improvement gives up
STREAMS = 4  # independent improvements, of which the best counts


def multipliers_bytes(costs: Sequence[NDArray[np.float64]], variables: int, threads: int) -> int:
    """About the memory that finding multipliers takes: the families twice, and per stream at work what is left of each
    cost, also in a trial, with marks, and the parents of all if all become free."""
    streams = min(threads, STREAMS)
    return sum(map(len, costs)) * ((16 + 8 * streams) * words(variables) + 24 + 24 * streams)


def find_multipliers(
    families: FamilyArrays, start: Multipliers | None, rounds: int, seed: int, workers: Workers
) -> Multipliers:
    """Good multipliers: greedy ascent from `start` (or from none), then `rounds` of improvement in STREAMS streams.

    Deterministic for a seed, whatever the number of threads. A round costs about as much as a few passes over the
    families.
    """
    words = families.parents.shape[0]

    def stream(number: int) -> tuple[float, NDArray[np.uint64], NDArray[np.float64]]:
        cuts, weights = np.zeros((MOST_CUTS, MEMBERS, words), np.uint64), np.zeros(MOST_CUTS)
        count = 0
        if start is not None:
            count = start.weights.size
            cuts[:count], weights[:count] = start.cuts, start.weights * UNIT
        count, root = improve(families, cuts, weights, count, rounds, seed + number, workers.halt)
        return root, cuts[:count].copy(), weights[:count].copy()

    found = workers.map(stream, [(number,) for number in range(STREAMS if rounds else 1)])
    _, cuts, weights = max(found, key=itemgetter(0))
    return workers.run(rounded_multipliers, families, cuts, weights, workers.halt)


def ascended(families: FamilyArrays, seed: int, seconds: float) -> Multipliers:
    """Multipliers by one greedy ascent, or what there is of it after so many seconds, in the thread of the caller."""
    cuts, weights = np.zeros((MOST_CUTS, MEMBERS, families.parents.shape[0]), np.uint64), np.zeros(MOST_CUTS)
    with halted_after(seconds) as halt:
        count, _ = improve(families, cuts, weights, 0, 0, seed, halt)
    return rounded_multipliers(families, cuts[:count], weights[:count])


@inner
def _collect_free(families, reduced, free):
    """The families that cost nothing more than the cheapest of their child: those of child x are listed in free[0] from
    first[x] on, and free[1][x] is their number."""
    first = families.first
    for x in range(first.size - 1):
        free[1][x] = 0
        for j in range(first[x], first[x + 1]):
            if reduced[j] <= ZERO:
                _note_free(families, free, x, j)


@inlined
def _note_free(families, free, x, j):
    """Add family j of child x to the free ones."""
    sets, counts = free
    for w in range(sets.shape[1]):
        sets[families.first[x] + counts[x], w] = families.parents[w, j]
    counts[x] += 1


@inlined
def _any_outside(members, sets, lo, hi):
    """Whether one of these parent sets is all outside the set."""
    for k in range(lo, hi):
        common = u64(0)
        for w in range(members.size):
            common |= sets[k, w] & members[w]
        if not common:
            return True
    return False


@inner
def _peel(members, families, free, halt):
    """Take members with a free family whose parents are outside the set away, again and again; whether any are left.

    Once halt[0] is set, some are left that would not be.
    """
    first = families.first
    sets, counts = free
    left = False
    changed = True
    while changed:
        changed = False
        left = False
        for w in range(members.size):
            rest = members[w]
            while rest:
                x = (w << 6) + np.int64(lowest(rest))
                bit = rest & (~rest + u64(1))
                rest ^= bit
                if halt[0]:
                    return True
                if _any_outside(members, sets, first[x], first[x] + counts[x]):
                    members[w] ^= bit
                    changed = True
                else:
                    left = True
    return left


@inner
def _shrink(members, families, free, state, halt):
    """Make the set smaller, by inclusion the least of which no member can be peeled; members tried in random order."""
    order = np.empty(members.size << 6, np.int64)
    size = 0
    for x in range(order.size):
        if has(members, x):
            order[size] = x
            size += 1
    trial = np.empty_like(members)
    for i in range(size):
        j = i + random_below(state, size - i)
        order[i], order[j] = order[j], order[i]
        if has(members, order[i]):
            assign(trial, members)
            trial[order[i] >> 6] ^= u64(1) << u64(order[i] & 63)
            if _peel(trial, families, free, halt) and not halt[0]:
                assign(members, trial)


@inner
def _raise_cluster(cut, families, reduced, free, times, halt):
    """Raise the multiplier of a cluster until a family becomes free; by how much.

    Not at all where no family can become free, or halt[0] is set.
    """
    parents, first = families.parents, families.first
    step = np.inf
    for x in range(first.size - 1):
        if has(cut[0], x):
            if halt[0]:
                return 0.0
            count_times(parents, cut, x, first[x], first[x + 1], times)
            for j in range(first[x], first[x + 1]):
                if times[j]:
                    step = min(step, reduced[j])
    if not ZERO < step < np.inf:
        return 0.0
    for x in range(first.size - 1):
        if has(cut[0], x):
            for j in range(first[x], first[x + 1]):
                if times[j]:
                    reduced[j] -= step
                    if reduced[j] <= ZERO:
                        _note_free(families, free, x, j)
    return step


@inlined
def _is_cut(one, other):
    """Whether two cuts are the same."""
    for k in range(one.shape[0]):
        for w in range(one.shape[1]):
            if one[k, w] != other[k, w]:
                return False
    return True


@inlined
def _copy_cut(source, target):
    """Make the cut `target` the same as `source`."""
    for k in range(source.shape[0]):
        assign(target[k], source[k])


@inner
def _ascend(families, reduced, cuts, weights, count, state, halt):
    """Greedy dual ascent from the given multipliers; `reduced` fits them and follows. The number of cuts after.

    Ends when the free families allow an order, when there is no room for another cluster, or when halt[0] is set. Each
    step raises by more than ZERO a cluster for which no family is free, and then one is, for good: so no cluster comes
    twice, and there are at most as many steps as families and as `weights` has places.
    """
    n = families.first.size - 1
    free = np.empty((reduced.size, families.parents.shape[0]), np.uint64), np.empty(n, np.int64)
    times = np.empty(reduced.size, np.uint8)
    _collect_free(families, reduced, free)
    cut = np.zeros((cuts.shape[1], families.parents.shape[0]), np.uint64)
    cluster = cut[0]
    while count < weights.size:
        for w in range(cluster.size):
            cluster[w] = ~u64(0) >> u64(max(0, 64 - (n - (w << 6)))) if n > w << 6 else u64(0)
        if not _peel(cluster, families, free, halt):
            break
        _shrink(cluster, families, free, state, halt)
        step = _raise_cluster(cut, families, reduced, free, times, halt)
        if step == 0.0:
            break
        at = 0
        while at < count and not _is_cut(cuts[at], cut):
            at += 1
        if at == count:
            _copy_cut(cut, cuts[at])
            weights[at] = 0.0
            count += 1
        weights[at] += step
    return count


@inner
def _give_up(families, reduced, cut, weight, times):
    """Lower the multiplier of a cut by `weight`; the change of the sum of the children's least costs."""
    parents, first = families.parents, families.first
    change = 0.0
    for x in range(first.size - 1):
        if not holds(cut, x):
            continue
        count_times(parents, cut, x, first[x], first[x + 1], times)
        least = np.inf
        for j in range(first[x], first[x + 1]):
            reduced[j] += weight * times[j]
            least = min(least, reduced[j])
        if least > 0.0:
            for j in range(first[x], first[x + 1]):
                reduced[j] -= least
            change += least
    return change


@inner
def _all_weights(cuts, weights, count):
    """The sum of the multipliers, twice those of three clusters."""
    total = 0.0
    for c in range(count):
        total += weights[c] if is_cluster(cuts[c]) else 2.0 * weights[c]
    return total


@njit
def improve(families, cuts, weights, count, rounds, seed, halt):
    """Greedy ascent, then `rounds` of giving up a random part of the multipliers and ascending again; the better stays.

    cuts, weights: room for the multipliers, the first `count` given. Ends early when halt[0] is set. Returns the
    number of cuts and the root bound, which says nothing if it ended so.
    """
    families, cuts, weights, halt = borrowed((families, cuts, weights, halt))
    state = new_state(seed)
    reduced, least = np.empty(families.costs.size), np.empty(families.first.size - 1)
    reduce(families, cuts, weights, count, reduced, least, halt)
    base = least.sum()
    count = _ascend(families, reduced, cuts, weights, count, state, halt)
    best = base + _all_weights(cuts, weights, count)
    trial_cuts, trial_weights, trial = np.empty_like(cuts), np.empty_like(weights), np.empty_like(reduced)
    times = np.empty(reduced.size, np.uint8)
    for _ in range(rounds):
        if halt[0]:
            break
        share = SHARES[random_below(state, len(SHARES))]
        assign(trial, reduced)
        found = base
        kept = np.int64(0)
        for c in range(count):
            drawn = random_share(state)
            part = 0.0 if drawn >= share else (0.5 if drawn < 0.3 * share else 1.0)
            if part > 0.0 and not halt[0]:
                found += _give_up(families, trial, cuts[c], part * weights[c], times)
            if part < 1.0:
                _copy_cut(cuts[c], trial_cuts[kept])
                trial_weights[kept] = (1.0 - part) * weights[c]
                kept += 1
        kept = _ascend(families, trial, trial_cuts, trial_weights, kept, state, halt)
        total = found + _all_weights(trial_cuts, trial_weights, kept)
        if total >= best and not halt[0]:
            best = total
            base = found
            count = kept
            for c in range(count):
                _copy_cut(trial_cuts[c], cuts[c])
            assign(weights, trial_weights[:count])
            reduced, trial = trial, reduced
    return count, best


@inner
def _left_of_cut(cut, varset, left):
    """What a node leaves of a cut into `left`, whether anything; of three clusters two are no better than one."""
    disjoint = 0
    left[:] = 0
    for k in range(cut.shape[0]):
        if cut[k, 0] and not cut[k, 0] & varset:
            assign(left[0], cut[k])
            disjoint += 1
    if disjoint == cut.shape[0]:
        _copy_cut(cut, left)
    return disjoint > 0


@njit
def ascend_nodes(varsets, g, limit, families, clusters, keep, halt):
    """keep[i] = whether a dual ascent at node varsets[i], of cost g[i], leaves its bound below `limit`.

    families: of at most 64 variables. The ascent begins with what the node leaves of the cuts of `clusters`, so the
    bound is never below h1; parents inside the node are given. keep (m,) uint8. Some passes over the families each.
    Ends early when halt[0] is set, with the rest kept.
    """
    varsets, g, families, clusters, keep, halt = borrowed((varsets, g, families, clusters, keep, halt))
    costs, first = families.costs, families.first
    cuts, weights = clusters.cuts, clusters.multipliers
    own = FamilyArrays(np.empty_like(families.parents), np.empty_like(costs), first)
    trial = np.empty((weights.size + MOST_NEW, cuts.shape[1], 1), np.uint64), np.empty(weights.size + MOST_NEW)
    reduced, least = np.empty_like(costs), np.empty(first.size - 1)
    keep[:] = 1
    for i in range(varsets.size):
        _at_node(varsets[i], families, own)
        count = np.int64(0)
        for c in range(weights.size):
            if _left_of_cut(cuts[c], varsets[i], trial[0][count]):
                trial[1][count] = weights[c] * UNIT
                count += 1
        reduce(own, trial[0], trial[1], count, reduced, least, halt)
        state = new_state(varsets[i])
        count = _ascend(own, reduced, trial[0], trial[1], count, state, halt)
        if halt[0]:
            break
        keep[i] = g[i] + least.sum() + _all_weights(trial[0], trial[1], count) < limit


@inner
def _at_node(varset, families, own):
    """The families with their parents inside `varset` given, and its variables free of cost, into `own`."""
    first = families.first
    for x in range(first.size - 1):
        inside = (varset >> u64(x)) & u64(1)
        for j in range(first[x], first[x + 1]):
            own.parents[0, j] = u64(0) if inside else families.parents[0, j] & ~varset
            own.costs[j] = 0.0 if inside else families.costs[j]
