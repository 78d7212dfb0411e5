"""Insertion moves along an order, of one variable or of a window of neighbours, over all other places in one sweep.

A window passes one variable y after the other (Lee and van Beek 2017: insertion over the whole order; Scanagatta et
al. 2017: windows). Only y and the window's own members can change their choice then: y when it may have a member as a
parent and loses or gains it, a member when it loses or gains y. So a sweep looks at the candidate children of the
members and at the members' own families, and notes at which places the cost jumps, and by how much.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import highest, lowest, u64
from extbnsl.kernels.compiler import inlined, inner
from extbnsl.orders.line import cost_of, first_fitting

UNTOUCHED = -1


class Sweep(NamedTuple):
    """What a window at begin <= place < end changes when it passes others.

    jump (n,) float64: by how much the cost rises as the window passes the variable at a place; zero where marks, a
    bitset of uint64 words, has no bit. passed (n,) int32: the first touched[0] are the variables whose choice depends
    on whether the window stands before them; other (n,) int32: their choice if it stands on the other side than now,
    and UNTOUCHED for all others. held (n,) int32: room for a window.
    """

    jump: NDArray[np.float64]
    marks: NDArray[np.uint64]
    passed: NDArray[np.int32]
    other: NDArray[np.int32]
    touched: NDArray[np.int64]
    held: NDArray[np.int32]


@inner
def new_sweep(n):
    """A sweep that has found nothing yet."""
    return Sweep(
        np.zeros(n),
        np.zeros((n + 63) >> 6, np.uint64),
        np.empty(n, np.int32),
        np.full(n, UNTOUCHED, np.int32),
        np.zeros(1, np.int64),
        np.empty(n, np.int32),
    )


@inlined
def _jump(sweep, place, change):
    """The cost rises by so much at a place."""
    sweep.jump[place] += change
    sweep.marks[place >> 6] |= u64(1) << u64(place & 63)


@inlined
def _touch(sweep, y, choice):
    """Note what y chooses on the other side of the window."""
    if sweep.other[y] == UNTOUCHED:
        sweep.passed[sweep.touched[0]] = y
        sweep.touched[0] += 1
    sweep.other[y] = choice


@inner
def forget(sweep):
    """Make the sweep empty again."""
    for i in range(sweep.touched[0]):
        sweep.other[sweep.passed[i]] = UNTOUCHED
    sweep.touched[0] = 0
    for w in range(sweep.marks.size):
        while sweep.marks[w]:
            sweep.jump[(w << 6) + np.int64(lowest(sweep.marks[w]))] = 0.0
            sweep.marks[w] &= sweep.marks[w] - u64(1)


@inlined
def _latest(family, before, inside, window, place, lists):
    """The last place of a parent of a family outside the window, -1 without one; `before` if that is no earlier, or if
    a parent stands in the window, but not before the place `inside`. O(parents)."""
    latest = -1
    for i in range(lists.starts[family], lists.starts[family + 1]):
        at = np.int64(place[lists.parents[i]])
        if window[0] <= at and at < window[1]:
            if at >= inside:
                return before
        elif at >= before:
            return before
        else:
            latest = max(latest, at)
    return latest


@inlined
def _has_parent_in(family, window, place, lists):
    """Whether a parent of a family stands in the window."""
    for i in range(lists.starts[family], lists.starts[family + 1]):
        at = place[lists.parents[i]]
        if window[0] <= at and at < window[1]:
            return True
    return False


@inlined
def _gaining(y, x, pair, window, line, lists, sweep):
    """y, which stands before the window, could have its member x as a parent: what y chooses if it has all of them."""
    now = line.choice[y] if sweep.other[y] == UNTOUCHED else sweep.other[y]
    before = np.int64(line.place[y])
    for i in range(lists.pair_starts[pair], lists.pair_starts[pair + 1]):
        choice = lists.with_parent[i]
        if choice >= now:
            break
        if _latest(lists.first[y] + choice, before, window[1], window, line.place, lists) < before:
            _touch(sweep, y, choice)
            break


@inlined
def _losing(y, window, line, lists, sweep):
    """y, which stands after the window, may have members as parents: what y chooses without them."""
    family = lists.first[y] + line.choice[y]
    if sweep.other[y] != UNTOUCHED or not _has_parent_in(family, window, line.place, lists):
        return
    before = np.int64(line.place[y])
    while _latest(family, before, window[0], window, line.place, lists) == before:
        family += 1
    _touch(sweep, y, family - lists.first[y])


@inner
def _look_at_children(window, line, lists, sweep):
    """What other variables change; returns by how much the costs of those before the window could fall."""
    gain = 0.0
    for k in range(window[0], window[1]):
        x = line.order[k]
        for pair in range(lists.pair_first[x], lists.pair_first[x + 1]):
            y = lists.child[pair]
            if line.place[y] < window[0]:
                _gaining(y, x, pair, window, line, lists, sweep)
            elif line.place[y] >= window[1]:
                _losing(y, window, line, lists, sweep)
    for i in range(sweep.touched[0]):
        y = sweep.passed[i]
        change = cost_of(y, sweep.other[y], lists) - cost_of(y, line.choice[y], lists)
        _jump(sweep, line.place[y], change)
        if line.place[y] < window[0]:
            gain -= change
    return gain


@inner
def _look_ahead(k, window, gain, line, lists, sweep):
    """What the member at place k loses on the way to the front, as far as `gain` can pay for it."""
    x = line.order[k]
    n = line.order.size
    family = lists.first[x] + line.choice[x]
    latest = _latest(family, n, k, window, line.place, lists)
    lost = 0.0
    while latest >= 0:
        other, earlier = family + 1, _latest(family + 1, latest, k, window, line.place, lists)
        while earlier == latest:
            other += 1
            earlier = _latest(other, latest, k, window, line.place, lists)
        change = lists.costs[other] - lists.costs[family]
        lost += change
        if lost >= gain:
            _jump(sweep, latest, np.inf)
            return
        _jump(sweep, latest, change)
        family, latest = other, earlier


@inner
def _look_back(k, window, line, lists, sweep):
    """What the member at place k gains on the way to the end; returns whether it gains anything."""
    x = line.order[k]
    latest = np.int64(line.order.size)
    last = -1
    for choice in range(line.choice[x]):
        family = lists.first[x] + choice
        at = _latest(family, latest, k, window, line.place, lists)
        if at < latest:
            if last >= 0:
                _jump(sweep, latest, lists.costs[last] - lists.costs[family])
            last, latest = family, at
    if last >= 0:
        _jump(sweep, latest, lists.costs[last] - cost_of(x, line.choice[x], lists))
    return last >= 0


@inner
def _best_to_front(begin, sweep):
    """The place before which the cost is least, and the change, going through the marks from `begin` to the front."""
    best, target, change = 0.0, begin, 0.0
    for w in range((begin - 1) >> 6, -1, -1):
        left = sweep.marks[w]
        if w == begin >> 6:
            left &= (u64(1) << u64(begin & 63)) - u64(1)
        while left:
            place = (w << 6) + np.int64(highest(left))
            left ^= u64(1) << u64(place & 63)
            change += sweep.jump[place]
            if change < best:
                best, target = change, place
    return target, best


@inner
def _best_to_end(end, sweep):
    """The place after which the cost is least, and the change, going through the marks from `end` on."""
    best, target, change = 0.0, end - 1, 0.0
    for w in range(end >> 6, sweep.marks.size):
        left = sweep.marks[w]
        if w == end >> 6:
            left &= ~((u64(1) << u64(end & 63)) - u64(1))
        while left:
            place = (w << 6) + np.int64(lowest(left))
            left &= left - u64(1)
            change += sweep.jump[place]
            if change < best:
                best, target = change, place
    return target, best


@inner
def best_move(window, line, lists, sweep):
    """The best other place for the window, and the change of the cost: where it begins then, or does now if no other
    place is better. The sweep, empty before, says what the move changes.

    Time: the candidate children of the members with their families, the members' families, and n / 64.
    """
    begin, end = window
    gain = _look_at_children(window, line, lists, sweep)
    target, best = begin, -lists.tiny
    back = False
    for k in range(begin, end):
        if gain > lists.tiny:
            _look_ahead(k, window, gain, line, lists, sweep)
        back |= _look_back(k, window, line, lists, sweep)
    if gain > lists.tiny:
        place, change = _best_to_front(begin, sweep)
        if change < best:
            target, best = place, change
    if back:
        place, change = _best_to_end(end, sweep)
        if change < best:
            target, best = place + 1 - (end - begin), change
    return target, best


@inner
def move(window, target, line, lists, sweep):
    """Let the window begin at `target`; returns the change of the cost. The sweep, of this window, is empty then.

    Time: the places passed, the variables in the sweep and the members' families.
    """
    begin, end = window
    change = 0.0
    for i in range(sweep.touched[0]):
        y = sweep.passed[i]
        if passes(line.place[y], window, target):
            change += cost_of(y, sweep.other[y], lists) - cost_of(y, line.choice[y], lists)
            line.choice[y] = sweep.other[y]
    forget(sweep)
    _shift(window, target, line, sweep.held)
    for k in range(target, target + end - begin):
        x = line.order[k]
        choice = first_fitting(x, np.int32(0) if target > begin else line.choice[x], k, line.place, lists)
        change += cost_of(x, choice, lists) - cost_of(x, line.choice[x], lists)
        line.choice[x] = choice
    return change


@inlined
def passes(place, window, target):
    """Whether a window that is to begin at `target` passes a place."""
    return (target <= place and place < window[0]) or (window[1] <= place and place < target + window[1] - window[0])


@inlined
def _shift(window, target, line, held):
    """Let the window begin at `target`, and those that it passes go the other way."""
    begin, end = window
    size = end - begin
    for k in range(size):
        held[k] = line.order[begin + k]
    for k in range(begin - 1, target - 1, -1):
        line.order[k + size] = line.order[k]
    for k in range(end, target + size):
        line.order[k - size] = line.order[k]
    for k in range(size):
        line.order[target + k] = held[k]
    for k in range(min(begin, target), max(end, target + size)):
        line.place[line.order[k]] = k
