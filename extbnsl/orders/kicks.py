"""Iterated local search along an order: insertion moves, windows, and kicks whose traces are small.

A kick changes a few places. Only what stands in relation to what has moved is looked at again, and a kick that ends in
a worse order is taken back where it changed something: its time hardly grows with the number of variables.
Three kicks: random insertions; a region, whose members stand in reverse then, which turns whole chains of arcs round;
and a region that stands as it does in another good order, the crossover of a memetic search. Regions are variables that
hang together by what their children want; other orders of them stand at the same places.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import assign
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.random import random_below, random_share
from extbnsl.orders.line import Line, cost_of, first_fitting, new_line, total_cost
from extbnsl.orders.moves import best_move, forget, move, new_sweep, passes

TRIES = 4  # for each member of a region


class Region(NamedTuple):
    """The first `count` of members (n,) int32; inside (n,) bool says who they are. places (n,) int32: where they stand,
    ascending."""

    members: NDArray[np.int32]
    inside: NDArray[np.bool_]
    places: NDArray[np.int32]


@inner
def grow(size, state, lists, region):
    """Let the region be a random variable with random neighbours of members; returns how many, at most `size`."""
    n = region.inside.size
    region.members[0], count = random_below(state, n), 1
    region.inside[region.members[0]] = True
    for _ in range(TRIES * size):
        x = region.members[random_below(state, count)]
        degree = lists.neighbour_first[x + 1] - lists.neighbour_first[x]
        if count == size or not degree:
            break
        y = lists.neighbours[lists.neighbour_first[x] + random_below(state, degree)]
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
def rearrange(count, line, region, elsewhere, other):
    """Let the members stand as they do in an other order, of which elsewhere[other] has the places, or in reverse if it
    is -1; choices stay as they are."""
    _sort(region.members, count, line.place)
    for i in range(count):
        region.places[i] = line.place[region.members[i]]
    if other < 0:
        for i in range(count // 2):
            x = region.members[i]
            region.members[i] = region.members[count - 1 - i]
            region.members[count - 1 - i] = x
    else:
        _sort(region.members, count, elsewhere[other])
    for i in range(count):
        x = region.members[i]
        line.order[region.places[i]] = x
        line.place[x] = region.places[i]


class Kicks(NamedTuple):
    """How many kicks, and which: of 100, so many flip a region and so many transplant one, the others insert.

    widest: of how many neighbours a window has at most that moves as one. flipped, transplanted: the largest regions.
    """

    widest: int
    flips: int
    transplants: int
    number: int = 0
    flipped: int = 10
    transplanted: int = 100


class Agenda(NamedTuple):
    """The variables that are to be looked at: a ring of n, where `waiting` (n,) bool says who is in it.

    span int64 (4,): the first in the ring, how many there are, and the range of places that have changed.
    """

    ring: NDArray[np.int32]
    waiting: NDArray[np.bool_]
    span: NDArray[np.int64]


@inlined
def put(agenda, x):
    """Look at x, after those that wait."""
    if not agenda.waiting[x]:
        agenda.waiting[x] = True
        n = agenda.ring.size
        at = agenda.span[0] + agenda.span[1]
        agenda.ring[at if at < n else at - n] = x
        agenda.span[1] += 1


@inlined
def take(agenda):
    """The variable that has waited longest."""
    x = agenda.ring[agenda.span[0]]
    agenda.span[0] += 1
    if agenda.span[0] == agenda.ring.size:
        agenda.span[0] = 0
    agenda.span[1] -= 1
    agenda.waiting[x] = False
    return x


@inlined
def _put_parents(x, line, lists, agenda):
    """Look at the parents of x."""
    family = lists.first[x] + line.choice[x]
    for i in range(lists.starts[family], lists.starts[family + 1]):
        put(agenda, lists.parents[i])


@inlined
def _put_passed(x, window, target, line, lists, agenda):
    """Look at those that a window passes, on the way to `target`, and that may be parents or children of x."""
    for i in range(lists.pair_first[x], lists.pair_first[x + 1]):
        y = lists.child[i]
        if passes(line.place[y], window, target):
            put(agenda, y)
    for i in range(lists.candidate_first[x], lists.candidate_first[x + 1]):
        y = lists.candidates[i]
        if passes(line.place[y], window, target):
            put(agenda, y)


@inner
def _change(window, target, line, lists, sweep, agenda):
    """Make a move; look at those it passes that may be parents or children, and at the parents of those that change."""
    for k in range(window[0], window[1]):
        _put_parents(line.order[k], line, lists, agenda)
        _put_passed(line.order[k], window, target, line, lists, agenda)
    for i in range(sweep.touched[0]):
        y = sweep.passed[i]
        if passes(line.place[y], window, target):
            _put_parents(y, line, lists, agenda)
    agenda.span[2] = min(agenda.span[2], window[0], target)
    agenda.span[3] = max(agenda.span[3], window[1], target + window[1] - window[0])
    change = move(window, target, line, lists, sweep)
    for k in range(target, target + window[1] - window[0]):
        put(agenda, line.order[k])
    return change


@inner
def _descend(widest, line, lists, sweep, agenda, halt):
    """Move the variables on the agenda, and windows that begin with them, until none has a better place; returns the
    change of the cost."""
    n = line.order.size
    total = 0.0
    while agenda.span[1] and not halt[0]:
        x = take(agenda)
        for size in range(1, widest + 1):
            begin = np.int64(line.place[x])
            if begin + size > n:
                break
            window = (begin, begin + size)
            target, _ = best_move(window, line, lists, sweep)
            if target != begin:
                total += _change(window, target, line, lists, sweep, agenda)
                break
            forget(sweep)
    return total


@inner
def _kick_by_insertions(state, line, lists, sweep, agenda):
    """Two to four random insertions, for better or worse; returns the change of the cost."""
    n = line.order.size
    total = 0.0
    for _ in range(2 + random_below(state, 3)):
        begin, target = random_below(state, n), random_below(state, n)
        window = (begin, begin + 1)
        best_move(window, line, lists, sweep)
        total += _change(window, target, line, lists, sweep, agenda)
    return total


@inner
def _follow(count, line, lists, agenda, region):
    """Let all choose anew whose choice the members of a region may have changed; returns the change of the cost.

    These are the members and those between its places that may be their parents or children; all go on the agenda,
    which was empty.
    """
    first, last = region.places[0], region.places[count - 1]
    agenda.span[2], agenda.span[3] = min(agenda.span[2], first), max(agenda.span[3], last + 1)
    whole = (last + 1, last + 1)  # an empty window that goes to the front passes all
    for k in range(count):
        put(agenda, region.members[k])
        _put_passed(region.members[k], whole, first, line, lists, agenda)
    change = 0.0
    for y in agenda.ring:
        if agenda.waiting[y]:
            change -= cost_of(y, line.choice[y], lists)
            line.choice[y] = first_fitting(y, np.int32(0), line.place[y], line.place, lists)
            change += cost_of(y, line.choice[y], lists)
    return change


@inner
def _copy_changed(target, source, agenda):
    """Let one line be as the other where places have changed, and begin anew."""
    for k in range(agenda.span[2], agenda.span[3]):
        x = source.order[k]
        target.order[k], target.place[x], target.choice[x] = x, k, source.choice[x]
    agenda.span[2], agenda.span[3] = source.order.size, 0


@inner
def rearrange_some(state, kicks, elsewhere, line, lists, region):
    """Let a random region stand in reverse or as it does elsewhere; returns how many members it has, or 0 if the kick
    that is drawn is none of these: insertions."""
    drawn = random_below(state, 100)
    if drawn >= kicks.flips + kicks.transplants:
        return 0
    flipped = drawn < kicks.flips or not elsewhere.shape[0]
    most = kicks.flipped if flipped else kicks.transplanted
    size = 2 + np.int64(np.exp(random_share(state) * np.log(most)))  # small ones more often: equal ones by logarithm
    count = grow(min(line.order.size, size), state, lists, region)
    rearrange(count, line, region, elsewhere, -1 if flipped else random_below(state, elsewhere.shape[0]))
    return count


@inner
def _kick(state, kicks, elsewhere, line, lists, sweep, agenda, region):
    """One random kick; returns the change of the cost."""
    count = rearrange_some(state, kicks, elsewhere, line, lists, region)
    if count == 0:
        return _kick_by_insertions(state, line, lists, sweep, agenda)
    return _follow(count, line, lists, agenda, region)


@njit
def improve_by_kicks(order, state, kicks, elsewhere, halt, lists):
    """Iterated local search from `order` (n,) int32, which becomes the best order found; returns its cost in nats.

    elsewhere: int32 (m, n), the place of each variable in m other orders, perhaps none. state: uint64 (1,), the random
    numbers' state, carried on. Equally good orders replace each other, so that the search drifts over plateaus. halt:
    uint8 (1,); once it is 1, from another thread, the search ends with what it has.
    """
    order, state, kicks, elsewhere, halt, lists = borrowed((order, state, kicks, elsewhere, halt, lists))
    n = order.size
    line = new_line(order, lists)
    sweep, region = new_sweep(n), Region(np.empty(n, np.int32), np.zeros(n, np.bool_), np.empty(n, np.int32))
    agenda = Agenda(np.empty(n, np.int32), np.zeros(n, np.bool_), np.array([0, 0, n, 0]))
    for x in order:
        put(agenda, x)
    _descend(kicks.widest, line, lists, sweep, agenda, halt)
    kept = Line(line.order.copy(), line.place.copy(), line.choice.copy())
    agenda.span[2], agenda.span[3] = n, 0
    for _ in range(kicks.number):
        if halt[0]:
            break
        change = _kick(state, kicks, elsewhere, line, lists, sweep, agenda, region)
        change += _descend(kicks.widest, line, lists, sweep, agenda, halt)
        if change <= lists.tiny:
            _copy_changed(kept, line, agenda)
        else:
            _copy_changed(line, kept, agenda)
    assign(order, kept.order)
    return total_cost(kept.choice, lists)
