"""Kernels that mark which varsets of a level are to be counted: what children need that are alive one level below.

Children that may have any parents are told by all subsets of a varset. Those that must have some are told by the
varsets at which they are alive, see `lattice`; and where few children are alive at the last level, so are all.
"""

import numpy as np

from extbnsl.kernels.bits import lowest, popcount, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.ranks import (
    find_place,
    go_to,
    is_present,
    next_present,
    place_of,
    rank_with,
    rank_without,
    start_walk,
)
from extbnsl.parents.exhaustive.lattice import has_child, place_among


@njit
def mark_needed(lo, hi, size, alive, places, within, more, binomials):
    """The places, in blocks (b, 2) from that of `lo` on, of the varsets of `size` members and lo <= rank < hi that must
    be counted; counts begin with 0.

    Needed is P + X with X alive at P, and what may be the parent set of some child: one of `within` (w,), those that
    may have so many parents, that is alive at each of its subsets with one member less. alive and places: level
    size - 1. Where varsets without their last member are not present, 64 ranks are passed at once. lo is a multiple of
    64. more: bits, by blocks, of those that are needed anyway, or None.
    """
    alive, places, within, binomials = borrowed((alive, places, within, binomials))
    marked = np.zeros(((hi - lo + 63) >> 6, 2), np.uint64)
    common, state = np.empty((binomials.shape[0], within.size), np.uint64), np.empty(binomials.shape[0], np.uint8)
    _mark_runs(lo, hi, start_walk(size, binomials), (alive, places, within, binomials), (common, state), marked)
    needed = u64(0)
    for block in range(marked.shape[0]):
        if more is not None:
            marked[block, 0] |= more[(lo >> 6) + block]
        marked[block, 1] = needed
        needed += popcount(marked[block, 0])
    return marked


@inner
def _mark_runs(lo, hi, walk, level, scratch, marked):
    """Set the bits of the varsets with ranks lo <= rank < hi that must be counted; apart, so that all is borrowed."""
    walk, level, scratch, marked = borrowed((walk, level, scratch, marked))
    (alive, places, within, binomials), state, size = level, scratch[1], walk.members.size - 1
    last = size - 1
    rank = lo
    while rank < hi:
        while binomials[last + 1, size] <= rank:
            last += 1
        lower = rank - binomials[last, size]
        end = min(hi, binomials[last + 1, size])
        left = places[lower >> 6, 0] >> u64(lower & 63)
        rank += np.int64(lowest(left)) if left else 64 - (lower & 63)
        if left and rank < end:
            go_to(rank, walk, binomials)
            count = min(end - rank, walk.members[1] - walk.members[0])
            if _judge_run(count, size, walk, alive, places, within, scratch):
                for i in range(count):
                    if state[i]:
                        marked[(rank + i - lo) >> 6, 0] |= u64(1) << u64((rank + i - lo) & 63)
            rank += count
        rank = min(rank, end)


ABSENT, OPEN, NEEDED = range(3)  # a subset is not there; of no family so far; of one


@inlined
def _judge_run(count, size, walk, alive, places, within, scratch):
    """Find which of so many varsets must be counted: the walk's one, and those that have a larger lowest member and the
    same others, whose ranks follow. So do those of their subsets without one of the others. state[i] is set of those
    that must; returns whether any must."""
    common, state = scratch
    lowest_one, others = walk.members[0], rank_without(0, walk)
    if not is_present(others, places):
        return False
    at, words = place_of(others, places), within.size
    for i in range(count):
        state[i] = NEEDED if has_child(alive, at, lowest_one + i) else OPEN
        for q in range(words):
            common[i, q] = within[q] & alive[at, q]
    for k in range(1, size):
        x, rank = walk.members[k], rank_without(k, walk)
        word, bit = x >> 6, u64(x & 63)
        at = place_of(rank, places)
        for i in range(count):
            if not is_present(rank + i, places):
                state[i] = NEEDED if state[i] == NEEDED else ABSENT
                continue
            if (alive[at, word] >> bit) & u64(1):
                state[i] = NEEDED
            for q in range(words):
                common[i, q] &= alive[at, q]
            at += u64(1)
    some = False
    for i in range(count):
        any_parent = u64(0)
        for q in range(words):
            any_parent |= common[i, q]
        state[i] = state[i] == NEEDED or (state[i] == OPEN and any_parent != u64(0))
        some |= state[i] != 0
    return some


@njit
def needed_by_children(first, last, size, alive, places, children, extended, rules):
    """The ranks of the varsets of `size` that these children (w,) need, int64, some of them twice.

    As in `mark_needed`, of the children alive at the varsets P of level size - 1, first <= place < last. If `extended`,
    children must have parents, and a varset that may be a parent set of X is told by the P that lacks the largest
    member which X may do without.
    """
    alive, places, children, rules = borrowed((alive, places, children, rules))
    binomials, may, must, limits = rules.binomials, rules.may, rules.must, rules.limits
    n, words = limits.size, alive.shape[1]
    walk, larger = start_walk(size - 1, binomials), start_walk(size, binomials)
    members = walk.members
    ranks, count = np.empty(max(1024, n), np.int64), 0
    block, before = find_place(first, places)
    bits = places[block, 0] & ~before
    for i in range(first, last):
        block, bits, rank = next_present(block, bits, places)
        for q in range(words):
            left = alive[i, q] & children[q]
            if left:
                go_to(rank, walk, binomials)
            while left:
                x = (q << 6) + np.int64(lowest(left))
                left &= left - u64(1)
                if count + n > ranks.size:
                    ranks = np.append(ranks, np.empty(ranks.size, np.int64))
                ranks[count] = rank_with(x, place_among(x, members, size - 1), walk, binomials)
                count += 1
                if not extended or size > limits[x]:
                    continue
                j = _behind_free(x, members, size - 1, must)
                for y in range(members[j - 1] + 1 if j else 0, n):
                    while j < size - 1 and members[j] < y:
                        j += 1
                    if members[j] != y and y != x and has_child(may, y, x):
                        grown = rank_with(y, j, walk, binomials)
                        go_to(grown, larger, binomials)
                        if _alive_below(x, size, larger, alive, places, must):
                            ranks[count] = grown
                            count += 1
    return ranks[:count]


@njit
def set_ranks(ranks, marked):
    """Set the bits of these ranks in blocks of 64, marked (b,) uint64."""
    for rank in ranks:
        marked[rank >> 6] |= u64(1) << u64(rank & 63)


@inlined
def _behind_free(x, members, size, must):
    """The place behind the largest of the members that X may do without."""
    j = np.int64(size)
    while j > 0 and has_child(must, members[j - 1], x):
        j -= 1
    return j


@inlined
def _alive_below(x, size, walk, alive, places, must):
    """Whether X is alive at each parent set of it that is the walk's varset without a member."""
    some = True
    k = np.int64(0)
    while some and k < size:
        if not has_child(must, walk.members[k], x):
            rank = rank_without(k, walk)
            some = is_present(rank, places) and has_child(alive, place_of(rank, places), x)
        k += 1
    return some
