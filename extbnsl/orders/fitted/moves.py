"""Insertion moves of one variable along an order, over all other places, where the parents of all are chosen again.

As a variable x passes another one y, only these two can change their parents: who then comes first loses the other one
if it was a parent, the other one gains it if that lowers the cost. So a sweep fits anew those that lose or gain x, each
once, wherever x goes, and x itself from place to place, each time from the parents that it has. What a sweep says of a
place is what a move there makes of the cost. (As Lee and van Beek 2017 go over lists of families.)

A sweep ends where what the rest could save cannot make up for what is lost so far: each that gains a parent what that
parent alone saves it, and the price of the parents that it has. More is possible, but hardly ever happens.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import inlined, inner
from extbnsl.orders.fitted.fit import (
    MUST,
    NOBODY,
    Fit,
    Gram,
    among,
    choose,
    clear,
    cost_of_fit,
    drop,
    new_fit,
    stands,
    try_add,
)
from extbnsl.scores.determinants import LEAST


class Families(NamedTuple):
    """Families of n variables.

    sizes (n,) int32, parents (n, k) int32: the first sizes[x] of row x are the parents of x. costs (n,) float64: in
    nats, but for what does not depend on parents.
    """

    sizes: NDArray[np.int32]
    parents: NDArray[np.int32]
    costs: NDArray[np.float64]


class FittedLine(NamedTuple):
    """An order of n variables with the parents of each.

    order, place (n,) int32: the variables, and where each stands. chosen: their families. partial (n, n) float32: the
    squared correlation of what the parents of x leave of x with what they leave of each other variable, 0 of those that
    x may not have more; MUST of those that it must have, and lacks.
    """

    order: NDArray[np.int32]
    place: NDArray[np.int32]
    chosen: Families
    partial: NDArray[np.float32]


class Sweep(NamedTuple):
    """What a sweep works on, and what it has found.

    fit, others: of the variable that moves, and of those that it passes. families: those of the variables touched
    (n,) int32, the first used[0] of them, on the other side of the one that moves, and of this one at its best place.
    """

    fit: Fit
    others: Fit
    families: Families
    touched: NDArray[np.int32]
    used: NDArray[np.int64]


def new_families(n: int, most: int) -> Families:
    """Those of n variables with at most so many parents each; nobody has any."""
    return Families(np.zeros(n, np.int32), np.zeros((n, most), np.int32), np.zeros(n))


def new_sweep(gram: Gram, most: int) -> Sweep:
    """A sweep that has found nothing yet, of families of at most so many parents; those that must be can come on top
    until others are dropped for them."""
    n, many = gram.variables, most + int(gram.needed.max())
    fits = new_fit(n, many), new_fit(n, many)
    return Sweep(*fits, new_families(n, most), np.zeros(n, np.int32), np.zeros(1, np.int64))


@inlined
def has_parent(y, x, families):
    """Whether x is a parent of y. O(parents)."""
    for i in range(families.sizes[y]):  # noqa: SIM110 - kernels have no generators
        if families.parents[y, i] == x:
            return True
    return False


@inner
def copy_family(y, source, target):
    """Let y have the family there that it has here."""
    target.sizes[y], target.costs[y] = source.sizes[y], source.costs[y]
    for i in range(source.sizes[y]):
        target.parents[y, i] = source.parents[y, i]


@inner
def load(y, before, families, gram, fit):
    """Let the fit have all that y must have, and of its parents those that it may have."""
    clear(y, gram, fit)
    fit.lacking[0] = gram.needed[y]
    if gram.needed[y]:
        for z in range(fit.variances.size):
            if gram.required[y, z] and stands(z, before):
                try_add(z, y, gram, fit)
                fit.lacking[0] -= 1
    for i in range(families.sizes[y]):
        z = np.int64(families.parents[y, i])
        if stands(z, before) and gram.allowed[y, z] and not gram.required[y, z]:
            try_add(z, y, gram, fit)


@inner
def keep(y, fit, gram, families):
    """Let y have the parents of a fit."""
    for i in range(fit.size[0]):
        families.parents[y, i] = fit.parents[i]
    families.sizes[y] = fit.size[0]
    families.costs[y] = cost_of_fit(y, fit, gram)


@inner
def look(y, fit, gram, line):
    """Let the line know the partial correlations of y, whose fit this is."""
    row, own = line.partial[y], max(fit.variances[y], LEAST)
    for z in range(row.size):
        left = fit.variances[z]
        square = fit.covariances[z] * fit.covariances[z]
        row[z] = square / (own * left) if left > LEAST and gram.allowed[y, z] else 0.0
    if fit.lacking[0]:
        for z in range(row.size):
            if gram.required[y, z]:
                row[z] = MUST
        for i in range(fit.size[0]):
            row[fit.parents[i]] = 0.0


@inner
def refit(y, line, gram, fit):
    """Choose the parents of y anew, from those that it has; returns by how much its cost changes."""
    before, families = among(line.place, line.place[y], NOBODY, NOBODY), line.chosen
    load(y, before, families, gram, fit)
    choose(y, before, gram, fit)
    change = -families.costs[y]
    keep(y, fit, gram, families)
    look(y, fit, gram, line)
    return change + families.costs[y]


@inlined
def _saved(y, x, line, gram):
    """What y could save by x as a parent more, about; 0 if it is not worth it."""
    partial = np.float64(line.partial[y, x])
    if partial <= gram.least:
        return 0.0
    if partial > 1.0:
        return gram.missing
    return -gram.half * math.log(max(1.0 - partial, LEAST)) + gram.price * line.chosen.sizes[y]


@inner
def _touch(y, before, line, gram, sweep):
    """Fit y with others before it; returns by how much its cost would change."""
    load(y, before, line.chosen, gram, sweep.others)
    choose(y, before, gram, sweep.others)
    keep(y, sweep.others, gram, sweep.families)
    sweep.touched[sweep.used[0]] = y
    sweep.used[0] += 1
    return sweep.families.costs[y] - line.chosen.costs[y]


@inner
def _lose(x, y, end, line, gram, fit):
    """Let x choose without y, if that is a parent, and those behind it."""
    for i in range(fit.size[0]):
        if fit.parents[i] == y:
            drop(i, x, fit)
            fit.lacking[0] += gram.required[x, y]
            choose(x, among(line.place, end, NOBODY, NOBODY), gram, fit)
            return


@inner
def _gain(x, y, line, gram, fit):
    """Let x choose with y too, which it has come to pass, if that lowers its cost."""
    if gram.required[x, y]:
        try_add(y, x, gram, fit)
        fit.lacking[0] -= 1
    elif (
        not gram.allowed[x, y]
        or fit.variances[y] <= LEAST
        or fit.covariances[y] ** 2 <= gram.least * fit.variances[y] * fit.variances[x]
    ):
        return
    choose(x, among(line.place, line.place[y] + 1, NOBODY, x), gram, fit)


@inner
def _sweep_to_front(x, lowest, line, gram, sweep, halt):
    """The best place before the present one where the cost changes by less than `lowest`, and by how much; the present
    place if there is none."""
    at, fit = np.int64(line.place[x]), sweep.fit
    left = 0.0
    for k in range(at):
        left += _saved(line.order[k], x, line, gram)
    target = at
    if left <= -lowest:
        return target, lowest
    load(x, among(line.place, at, NOBODY, NOBODY), line.chosen, gram, fit)
    change = 0.0
    for k in range(at - 1, -1, -1):
        y = np.int64(line.order[k])
        saved = _saved(y, x, line, gram)
        if saved > 0.0:
            left -= saved
            change += _touch(y, among(line.place, k, x, NOBODY), line, gram, sweep)
        _lose(x, y, k, line, gram, fit)
        here = change + cost_of_fit(x, fit, gram) - line.chosen.costs[x]
        if here < lowest:
            target, lowest = k, here
            keep(x, fit, gram, sweep.families)
        if here - left >= lowest or halt[0]:
            break
    return target, lowest


@inner
def _sweep_to_end(x, lowest, line, gram, sweep, halt):
    """The best place after the present one, as before it."""
    at, fit, n = np.int64(line.place[x]), sweep.fit, line.order.size
    left = 0.0
    for k in range(at + 1, n):
        left += _saved(x, line.order[k], line, gram)
    target = at
    if left <= -lowest:
        return target, lowest
    load(x, among(line.place, at, NOBODY, NOBODY), line.chosen, gram, fit)
    change = 0.0
    for k in range(at + 1, n):
        y = np.int64(line.order[k])
        left -= _saved(x, y, line, gram)
        if has_parent(y, x, line.chosen):
            change += _touch(y, among(line.place, k, NOBODY, x), line, gram, sweep)
        _gain(x, y, line, gram, fit)
        here = change + cost_of_fit(x, fit, gram) - line.chosen.costs[x]
        if here < lowest:
            target, lowest = k, here
            keep(x, fit, gram, sweep.families)
        if here - left >= lowest or halt[0]:
            break
    return target, lowest


@inner
def best_place(x, line, gram, sweep, halt):
    """The best other place for x, and the change of the cost: where it stands now, and 0, if no other place is better.
    The sweep, empty before, has the families that change."""
    at = np.int64(line.place[x])
    front, lowest = _sweep_to_front(x, -gram.tiny, line, gram, sweep, halt)
    end, lower = _sweep_to_end(x, lowest, line, gram, sweep, halt)
    if end != at:
        return end, lower
    return front, lowest if front != at else 0.0


@inner
def shift(x, target, line):
    """Let x stand at another place, and those between go the other way."""
    at = np.int64(line.place[x])
    step = 1 if target > at else -1
    for k in range(at, target, step):
        line.order[k] = line.order[k + step]
        line.place[line.order[k]] = k
    line.order[target], line.place[x] = x, target
