"""Regions: variables that hang together by what their children want, and other orders of them at the same places."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import inlined, inner
from extbnsl.kernels.random import random_below

TRIES = 4  # for each member of a region


class Neighbours(NamedTuple):
    """Who is a parent or child of whom where every child has its cheapest family.

    Those of X are others[first[X]:first[X + 1]]: first (n + 1,) int64, others int32.
    """

    first: NDArray[np.int64]
    others: NDArray[np.int32]


class Region(NamedTuple):
    """The first `count` of members (n,) int32; inside (n,) bool says who they are. places (n,) int32: where they stand,
    ascending."""

    members: NDArray[np.int32]
    inside: NDArray[np.bool_]
    places: NDArray[np.int32]


@inner
def neighbours(lists):
    """The neighbours of all variables; O(n + arcs)."""
    n = lists.first.size - 1
    first = np.zeros(n + 1, np.int64)
    for y in range(n):
        for i in range(lists.starts[lists.first[y]], lists.starts[lists.first[y] + 1]):
            first[lists.parents[i] + 1] += 1
            first[y + 1] += 1
    for x in range(n):
        first[x + 1] += first[x]
    filled, others = first.copy(), np.empty(first[n], np.int32)
    for y in range(n):
        for i in range(lists.starts[lists.first[y]], lists.starts[lists.first[y] + 1]):
            x = lists.parents[i]
            others[filled[x]], others[filled[y]] = y, x
            filled[x] += 1
            filled[y] += 1
    return Neighbours(first, others)


@inner
def new_region(n):
    return Region(np.empty(n, np.int32), np.zeros(n, np.bool_), np.empty(n, np.int32))


@inner
def grow(size, state, around, region):
    """Let the region be a random variable with random neighbours of members; returns how many, at most `size`."""
    n = region.inside.size
    region.members[0], count = random_below(state, n), 1
    region.inside[region.members[0]] = True
    for _ in range(TRIES * size):
        x = region.members[random_below(state, count)]
        degree = around.first[x + 1] - around.first[x]
        if count == size or not degree:
            break
        y = around.others[around.first[x] + random_below(state, degree)]
        if not region.inside[y]:
            region.inside[y] = True
            region.members[count] = y
            count += 1
    for i in range(count):
        region.inside[region.members[i]] = False
    return count


@inlined
def _sort(members, count, key):
    """Sort the first members by their keys, by insertion."""
    for i in range(1, count):
        x = members[i]
        j = i
        while j and key[members[j - 1]] > key[x]:
            members[j] = members[j - 1]
            j -= 1
        members[j] = x


@inner
def _stand(count, line, region):
    """Let the members stand, as they are sorted, at the region's places."""
    for i in range(count):
        x = region.members[i]
        line.order[region.places[i]] = x
        line.place[x] = region.places[i]


@inner
def _note_places(count, line, region):
    """Sort the members as they stand, and note where."""
    _sort(region.members, count, line.place)
    for i in range(count):
        region.places[i] = line.place[region.members[i]]


@inner
def flip_region(count, line, region):
    """Let the members stand in reverse; choices stay as they are."""
    _note_places(count, line, region)
    for i in range(count // 2):
        x = region.members[i]
        region.members[i] = region.members[count - 1 - i]
        region.members[count - 1 - i] = x
    _stand(count, line, region)


@inner
def transplant(count, line, region, elsewhere):
    """Let the members stand as in another order, where each has its place in `elsewhere` (n,) int32; choices stay."""
    _note_places(count, line, region)
    _sort(region.members, count, elsewhere)
    _stand(count, line, region)
