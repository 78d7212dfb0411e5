"""Iterated local search along an order of continuous variables: insertion moves and kicks, as over lists of families.

Who has to choose anew after a kick does so from the parents that it has. A kick that ends in a worse order is taken
back where it changed something.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.random import random_below
from extbnsl.orders.fitted.fit import NOBODY, Gram, among, exchange
from extbnsl.orders.fitted.moves import (
    FittedLine,
    Sweep,
    best_place,
    copy_family,
    keep,
    load,
    look,
    new_families,
    new_sweep,
    refit,
    shift,
)
from extbnsl.orders.kicks import Agenda, Region, put, rearrange_some, take


class Network(NamedTuple):
    """Parents and children of n variables: those of X are neighbours[neighbour_first[X]:neighbour_first[X + 1]].
    neighbour_first (n + 2,) int64, of which the last is room; neighbours int32."""

    neighbour_first: NDArray[np.int64]
    neighbours: NDArray[np.int32]


class Search(NamedTuple):
    """A search at work, of n variables with at most k parents each.

    The line, what it was like before the last kick, and who has changed since: the first used[0] of changed (n,)
    int32, who are in `new` (n,) bool. Memory: 8 n^2 + 36 n k bytes, and about 200 n; whoever calls the kernel has it.
    """

    line: FittedLine
    kept: FittedLine
    gram: Gram
    sweep: Sweep
    agenda: Agenda
    region: Region
    network: Network
    changed: NDArray[np.int32]
    new: NDArray[np.bool_]
    used: NDArray[np.int64]


@inlined
def _put_parents(y, search):
    """Look at the parents of y."""
    families = search.line.chosen
    for i in range(families.sizes[y]):
        put(search.agenda, families.parents[y, i])


@inlined
def _note(y, search):
    """y has changed: look at it, and at its parents."""
    put(search.agenda, y)
    _put_parents(y, search)
    if not search.new[y]:
        search.new[y] = True
        search.changed[search.used[0]] = y
        search.used[0] += 1


@inlined
def _span(first, last, search):
    """Places have changed from the first one to before the last one."""
    span = search.agenda.span
    span[2], span[3] = min(span[2], first), max(span[3], last)


@inner
def _adopt(y, search):
    """Let y have the family that the sweep has found."""
    line, gram, fit = search.line, search.gram, search.sweep.others
    _put_parents(y, search)
    copy_family(y, search.sweep.families, line.chosen)
    load(y, among(line.place, line.place[y], NOBODY, NOBODY), line.chosen, gram, fit)
    look(y, fit, gram, line)
    _note(y, search)


@inner
def _step(x, search, halt):
    """Move x to its best place; returns the change of the cost."""
    line, sweep = search.line, search.sweep
    sweep.used[0] = 0
    at = np.int64(line.place[x])
    target, change = best_place(x, line, search.gram, sweep, halt)
    if target == at or halt[0]:
        return 0.0
    first, last = min(at, target), max(at, target) + 1
    _span(first, last, search)
    shift(x, target, line)
    for i in range(sweep.used[0]):
        y = np.int64(sweep.touched[i])
        if first <= line.place[y] and line.place[y] < last:
            _adopt(y, search)
    _adopt(x, search)
    return change


@inner
def _descend(search, halt):
    """Move the variables on the agenda until none has a better place; returns the change of the cost."""
    total = 0.0
    while search.agenda.span[1] and not halt[0]:
        total += _step(np.int64(take(search.agenda)), search, halt)
    return total


@inner
def _is_outdated(y, line, gram):
    """Whether a parent of y does not stand before it, or one that does would pay. O(n)."""
    families = line.chosen
    for i in range(families.sizes[y]):
        if line.place[families.parents[y, i]] > line.place[y]:
            return True
    for k in range(line.place[y]):  # noqa: SIM110 - kernels have no generators
        if line.partial[y, line.order[k]] > gram.least:
            return True
    return False


@inner
def _follow(first, last, search, halt):
    """Let all between these places choose anew who have to; returns the change of the cost, infinity once halted: then
    some have not."""
    line, change = search.line, 0.0
    _span(first, last, search)
    for k in range(first, last):
        if halt[0]:
            return np.inf
        y = np.int64(line.order[k])
        if _is_outdated(y, line, search.gram):
            _put_parents(y, search)
            change += refit(y, line, search.gram, search.sweep.others)
            _note(y, search)
    return change


@inner
def _kick(state, kicks, elsewhere, search, halt):
    """One random kick; returns the change of the cost."""
    line, region, n = search.line, search.region, search.line.order.size
    count = rearrange_some(state, kicks, elsewhere, line, search.network, region)
    if count:
        for k in range(count):
            put(search.agenda, region.members[k])
        return _follow(np.int64(region.places[0]), np.int64(region.places[count - 1]) + 1, search, halt)
    first, last = n, 0
    for _ in range(2 + random_below(state, 3)):
        begin, target = random_below(state, n), random_below(state, n)
        x = np.int64(line.order[begin])
        shift(x, target, line)
        put(search.agenda, x)
        first, last = min(first, begin, target), max(last, begin + 1, target + 1)
    return _follow(first, last, search, halt)


@inner
def _exchanged(search, halt):
    """Exchange parents where that lowers the cost; returns the change of the cost, as it is told of all families.

    What is told of one that is nearly singular depends on the order of its parents: a change that was more than the
    difference of what is told would let `_settle` go in circles.
    """
    line, gram, fit, total = search.line, search.gram, search.sweep.others, 0.0
    for y in range(line.order.size):
        if halt[0]:
            break
        before = among(line.place, line.place[y], NOBODY, NOBODY)
        load(y, before, line.chosen, gram, fit)
        if exchange(y, before, gram, fit):
            _put_parents(y, search)
            total -= line.chosen.costs[y]
            keep(y, fit, gram, line.chosen)
            refit(y, line, gram, fit)
            total += line.chosen.costs[y]
            _note(y, search)
    return total


@inner
def _copy_changed(source, target, search):
    """Let one line be as the other where something has changed, and begin anew."""
    span = search.agenda.span
    for k in range(span[2], span[3]):
        x = source.order[k]
        target.order[k], target.place[x] = x, k
    span[2], span[3] = source.order.size, 0
    for i in range(search.used[0]):
        y = np.int64(search.changed[i])
        search.new[y] = False
        copy_family(y, source.chosen, target.chosen)
        known, row = source.partial[y], target.partial[y]
        for z in range(row.size):
            row[z] = known[z]
    search.used[0] = 0


def _new_line(n: int, most: int) -> FittedLine:
    """A line that is yet to be filled."""
    places = np.zeros(n, np.int32), np.zeros(n, np.int32)
    return FittedLine(*places, new_families(n, most), np.zeros((n, n), np.float32))


def new_search(gram: Gram, most: int) -> Search:
    """Memory for a search with at most so many parents each; it can be used again."""
    n = gram.variables
    return Search(
        line=_new_line(n, most),
        kept=_new_line(n, most),
        gram=gram,
        sweep=new_sweep(gram, most),
        agenda=Agenda(np.zeros(n, np.int32), np.zeros(n, np.bool_), np.zeros(4, np.int64)),
        region=Region(np.zeros(n, np.int32), np.zeros(n, np.bool_), np.zeros(n, np.int32)),
        network=Network(np.zeros(n + 2, np.int64), np.zeros(2 * n * most, np.int32)),
        changed=np.zeros(n, np.int32),
        new=np.zeros(n, np.bool_),
        used=np.zeros(1, np.int64),
    )


@inner
def _begin(order, parents, search, halt):
    """Begin with this order, and with these parents as far as they may be, from which all choose. Once halted, some do
    not."""
    line, families = search.line, search.line.chosen
    _span(0, order.size, search)
    for k in range(order.size):
        line.order[k], line.place[order[k]] = order[k], k
        families.sizes[k] = 0
        for z in parents[k]:
            if z != NOBODY:
                families.parents[k, families.sizes[k]] = z
                families.sizes[k] += 1
    for k in range(order.size):
        if halt[0]:
            break
        y = np.int64(order[k])
        refit(y, line, search.gram, search.sweep.others)
        _note(y, search)


@inner
def _connect(families, network):
    """Fill the network by the parents of all. O(n + arcs)."""
    n, first, neighbours = families.sizes.size, network.neighbour_first, network.neighbours
    for y in range(n + 2):
        first[y] = 0
    for y in range(n):
        for i in range(families.sizes[y]):
            first[y + 2] += 1
            first[families.parents[y, i] + 2] += 1
    for y in range(n):
        first[y + 2] += first[y + 1]
    for y in range(n):
        for i in range(families.sizes[y]):
            z = families.parents[y, i]
            neighbours[first[y + 1]], neighbours[first[z + 1]] = z, y
            first[y + 1] += 1
            first[z + 1] += 1


@inner
def _settle(search, halt):
    """Move all to their best places until none has a better one, or time is up."""
    lower = True
    while lower and not halt[0]:
        for x in search.line.order:
            put(search.agenda, x)
        lower = _descend(search, halt) + _exchanged(search, halt) < -search.gram.tiny


@inner
def _forget(search):
    """Let nobody wait, or have changed."""
    agenda = search.agenda
    agenda.span[0], agenda.span[1], agenda.span[2], agenda.span[3] = 0, 0, agenda.ring.size, 0
    for x in range(agenda.ring.size):
        agenda.waiting[x], search.new[x] = False, False
    search.used[0] = 0


@njit
def improve_fitted(order, parents, state, kicks, elsewhere, halt, search):
    """Iterated local search from `order` (n,) int32 with `parents` (n, k) int32, NOBODY beyond; they become the best
    that is found. Returns its cost in nats, but for what does not depend on parents.

    Without kicks all variables move to their best places, until none has a better one. Parents that do not stand before
    their child, or may not be, do not count; k is no less than any limit. elsewhere, state, halt: as in
    `improve_by_kicks`. Once halted, the search ends with what it has as soon as a sweep does; it costs infinity, and
    nothing has changed, if not even a cost is known. search: memory for it, and what families are chosen by.
    """
    order, parents, state, kicks, elsewhere, halt, search = borrowed(
        (order, parents, state, kicks, elsewhere, halt, search)
    )
    gram, line, kept = search.gram, search.line, search.kept
    _forget(search)
    _begin(order, parents, search, halt)
    if halt[0]:
        return np.inf
    if kicks.number == 0:
        _settle(search, halt)
    _copy_changed(line, kept, search)
    _connect(kept.chosen, search.network)
    for _ in range(kicks.number):
        if halt[0]:
            break
        _forget(search)
        change = _kick(state, kicks, elsewhere, search, halt)
        change += _descend(search, halt)
        if change <= gram.tiny:
            _copy_changed(line, kept, search)
        else:
            _copy_changed(kept, line, search)
    total = 0.0
    for k in range(order.size):
        order[k] = kept.order[k]
        total += kept.chosen.costs[k]
        for i in range(parents.shape[1]):
            parents[k, i] = kept.chosen.parents[k, i] if i < kept.chosen.sizes[k] else NOBODY
    return total
