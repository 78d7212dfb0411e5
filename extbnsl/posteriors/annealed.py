"""Draws of orders and networks led, step by step, from where a network counts once for each of its orders to where it
counts once: the kernel.

A pair of an order and a network that keeps to it weighs w(network) q(order | network)^t, q a distribution over the
orders of the network. Of t = 0 the pairs are those of the prior of orders; of t = 1 the pairs of a network weigh
w(network) together. A draw by t = 0 goes through rising powers t. At each it counts q^(the rise) times as much, and
then moves, by steps that leave the distribution of the pairs by t as it is. Then the mean of what draws count is,
without bias, the ratio of both sums, and draws that count so much have each network as often as it weighs (Neal 2001,
annealed importance sampling). Draws stay independent. The more powers, the less differs what they count.

q is the probability of the order when one variable after the other is drawn from those whose parents are placed, each
by the number of variables that wait for it, itself among them; one that waits for several counts for each of them by an
equal part. That is one over the number of orders if no variable waits for several, and near it if few do.

The steps are those of Metropolis and Hastings. Both forward and back:

- A variable gets new parents, by weight, from all that do not descend from it, which its own parents do not change;
  and the network gets a new order, by q. The weights and q cancel, but for q^(t - 1).
- Of some arc x -> y, x and y lose their parents; then x gets new parents, by weight, y among them, and y others; and
  the network gets a new order, by q (Grzegorczyk and Husmeier 2008). Let D be x and what descends from it without these
  parents, E be y and what does from it, alpha(D) what families weigh that have none of D. What is left, of sums and of
  the choice of the arc, is (arcs alpha_x(D) alpha_y(D + E)) / (arcs afterwards alpha_y(E) alpha_x(D + E)), in
  alpha_x(D) and alpha_y(E) only of the families with y and with x; and q^(t - 1).
- Two neighbours of the order, x and then y, after the varset U, change places, and get new families by weight. What is
  left is alpha_y(U) alpha_x(U + y) / (alpha_x(U) alpha_y(U + x)), and q^t.

Where two ratios are left, a step is taken if it passes a trial by each: there and back the chances of either trial are
to each other as its ratio says, so those of both are as the product (Christen and Fox 2005).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, popcount, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.random import random_below, random_share
from extbnsl.posteriors.inside import Inside, one_inside, one_with, sums_inside
from extbnsl.posteriors.wide import NATS


class Choices(NamedTuple):
    """The families to choose from: tables, and varsets (words * 64,) uint64, the parents of the family at each place of
    their weights."""

    tables: Inside
    varsets: NDArray[np.uint64]


class Walks(NamedTuple):
    """Orders (s, n) int32 and networks: places (s, n) int64, where the family of each variable lies in the weights.
    states (s,) uint64: random ones. logs (s,): gets the logarithm of what each counts."""

    orders: NDArray[np.int32]
    places: NDArray[np.int64]
    states: NDArray[np.uint64]
    logs: NDArray[np.float64]


class _Walker(NamedTuple):
    """One pair that moves: order, parents and places of each variable (n,), its random state and log q, (1,). The
    others are room: a second order, what waits for each variable and for how many it waits itself (n,), varsets (4,)
    and what families inside weigh, as `wide`."""

    order: NDArray[np.int32]
    parents: NDArray[np.uint64]
    places: NDArray[np.int64]
    state: NDArray[np.uint64]
    log_share: NDArray[np.float64]
    other: NDArray[np.int32]
    waiting: NDArray[np.uint64]
    leads: NDArray[np.float64]
    varsets: NDArray[np.uint64]
    totals: NDArray[np.float64]
    levels: NDArray[np.int32]


@njit
def anneal(walks, choices, powers, halt):
    """Lead pairs through powers (k,), by 3 n steps at each. O(n^2) at worst for a step, and sums of weights."""
    walks, choices, powers, halt = borrowed((walks, choices, powers, halt))
    n = walks.orders.shape[1]
    other, parents, waiting = np.empty(n, np.int32), np.empty(n, np.uint64), np.empty(n, np.uint64)
    leads, log_share = np.empty(n), np.empty(1)
    varsets, totals, levels = np.empty(4, np.uint64), np.empty(4), np.empty(4, np.int32)
    for s in range(walks.logs.size):
        if halt[0]:
            return
        order, places, state = walks.orders[s], walks.places[s], walks.states[s : s + 1]
        for x in range(n):
            parents[x] = choices.varsets[places[x]]
        walker = _Walker(order, parents, places, state, log_share, other, waiting, leads, varsets, totals, levels)
        log_share[0] = _log_share(order, walker, False)
        walks.logs[s] = 0.0
        for step in range(1, powers.size):
            walks.logs[s] += (powers[step] - powers[step - 1]) * log_share[0]
            if step < powers.size - 1:
                for x in range(n):
                    _renew_family(x, walker, choices, powers[step])
                    _reverse(walker, choices, powers[step])
                placed = u64(0)
                for k in range(n - 1):
                    _swap(k, placed, walker, choices, powers[step])
                    placed |= u64(1) << u64(order[k])


@inner
def _renew_family(x, walker, choices, power):
    """A step: x gets other parents, and the network another order."""
    walker, choices = borrowed((walker, choices))
    parents = walker.parents
    walker.varsets[0] = ~_below(x, walker)
    sums_inside(x, walker.varsets[:1], choices.tables, 0, walker.totals[:1], walker.levels[:1])
    place, before = _drawn(x, 0, walker, choices.tables), parents[x]
    parents[x] = choices.varsets[place]
    if _reorders(walker, power):
        walker.places[x] = place
    else:
        parents[x] = before


@inner
def _reorders(walker, power):
    """Whether the network, which has changed, gets a new order; it does by q^(power - 1)."""
    walker = borrowed(walker)
    _sort(walker.parents, walker.other)
    log_share = _log_share(walker.other, walker, True)
    if not _passes((power - 1.0) * (log_share - walker.log_share[0]), walker.state):
        return False
    walker.log_share[0] = log_share
    for k in range(walker.order.size):
        walker.order[k] = walker.other[k]
    return True


@inner
def _below(x, walker):
    """A variable and all that descend from it."""
    walker = borrowed(walker)
    below = u64(1) << u64(x)
    for y in walker.order:
        if walker.parents[y] & below:
            below |= u64(1) << u64(y)
    return below


@inner
def _reverse(walker, choices, power):
    """A step: of some arc x -> y, x and y get other parents, y among those of x; and the network another order."""
    walker, choices = borrowed((walker, choices))
    parents, totals, levels, varsets = walker.parents, walker.totals, walker.levels, walker.varsets
    arcs = _arcs(parents)
    if arcs == 0:
        return
    x, y = _arc(parents, random_below(walker.state, arcs))
    before_x, before_y = parents[x], parents[y]
    parents[x] = parents[y] = 0
    below_x, below_y = _below(x, walker), _below(y, walker)
    parents[x], parents[y] = before_x, before_y
    varsets[0] = varsets[2] = ~(below_x | below_y)
    sums_inside(x, varsets[:1], choices.tables, 0, totals[:1], levels[:1])
    totals[1], levels[1], of_x = one_with(x, y, ~below_x, choices.tables, walker.state)
    sums_inside(y, varsets[2:3], choices.tables, 0, totals[2:3], levels[2:3])
    totals[3], levels[3], _ = one_with(y, x, ~below_y, choices.tables, walker.state)
    if of_x < 0 or totals[2] == 0.0:
        return
    of_y = _drawn(y, 2, walker, choices.tables)
    parents[x], parents[y] = choices.varsets[of_x], choices.varsets[of_y]
    log_ratio = _log_ratio(totals, levels) + math.log(arcs / _arcs(parents))
    if _passes(log_ratio, walker.state) and _reorders(walker, power):
        walker.places[x], walker.places[y] = of_x, of_y
    else:
        parents[x], parents[y] = before_x, before_y


@inlined
def _arcs(parents):
    """How many arcs a network has."""
    arcs = 0
    for own in parents:
        arcs += np.int64(popcount(own))
    return arcs


@inlined
def _arc(parents, number):
    """The arc of this number: from where, and to where."""
    for y in range(parents.size):
        left = parents[y]
        while left:
            if number == 0:
                return np.int64(lowest(left)), y
            number -= 1
            left &= left - u64(1)
    return 0, 0


@inner
def _swap(k, placed, walker, choices, power):
    """A step: the variables at k and k + 1, after those that are placed, change places, and get other families."""
    walker, choices = borrowed((walker, choices))
    order, parents, varsets = walker.order, walker.parents, walker.varsets
    x, y = order[k], order[k + 1]
    varsets[0] = varsets[2] = placed
    varsets[1], varsets[3] = placed | u64(1) << u64(y), placed | u64(1) << u64(x)
    sums_inside(x, varsets[:2], choices.tables, 0, walker.totals[:2], walker.levels[:2])
    sums_inside(y, varsets[2:], choices.tables, 0, walker.totals[2:], walker.levels[2:])
    if not _passes(_log_ratio(walker.totals, walker.levels), walker.state):
        return
    of_x, of_y = _drawn(x, 1, walker, choices.tables), _drawn(y, 2, walker, choices.tables)
    before_x, before_y = parents[x], parents[y]
    parents[x], parents[y] = choices.varsets[of_x], choices.varsets[of_y]
    order[k], order[k + 1] = y, x
    log_share = _log_share(order, walker, False)
    if _passes(power * (log_share - walker.log_share[0]), walker.state):
        walker.log_share[0], walker.places[x], walker.places[y] = log_share, of_x, of_y
    else:
        order[k], order[k + 1] = x, y
        parents[x], parents[y] = before_x, before_y


@inlined
def _log_ratio(totals, levels):
    """Of what families of x weigh before and after a step, and those of y after and before it: of both after the step
    over both before it."""
    if totals[2] == 0.0:
        return -np.inf
    ahead = np.int64(levels[1]) + levels[2] - levels[0] - levels[3]
    return math.log(totals[1] / totals[0] * (totals[2] / totals[3])) + ahead * NATS


@inlined
def _drawn(child, at, walker, tables):
    """A family of a child inside a varset, by weight: where it lies. at: of the varset and its sum."""
    whole = walker.totals[at], walker.levels[at]
    return one_inside(child, walker.varsets[at], whole, random_share(walker.state), tables)


@inlined
def _passes(log_chance, state):
    """Whether something comes to pass that has this chance, or more than 1."""
    return log_chance >= 0.0 or random_share(state) < math.exp(log_chance)


@inner
def _sort(parents, order):
    """Let order be one that the network keeps to."""
    placed, at = u64(0), 0
    while at < order.size:
        for x in range(order.size):
            if not placed >> u64(x) & u64(1) and not parents[x] & ~placed:
                order[at] = x
                at += 1
                placed |= u64(1) << u64(x)


@inner
def _log_share(order, walker, anew):
    """log q of an order of the network; of a new one, which is drawn by q, that replaces it, if it is to be anew."""
    order, walker = borrowed((order, walker))
    parents, waiting, leads, n = walker.parents, walker.waiting, walker.leads, order.size
    for x in range(n):
        waiting[x] = u64(1) << u64(x)
    for k in range(n - 1, -1, -1):  # what waits for a variable, all of which are later
        left = parents[order[k]]
        while left:
            waiting[lowest(left)] |= waiting[order[k]]
            left &= left - u64(1)
    placed, log = u64(0), 0.0
    for k in range(n):
        free = _lead(placed, parents, waiting, leads)
        part = 0.0
        if anew:
            limit = random_share(walker.state) * (n - k)
            while free and limit >= 0.0:
                order[k] = lowest(free)
                part = _part(waiting[order[k]], leads)
                limit -= part
                free &= free - u64(1)
        else:
            part = _part(waiting[order[k]], leads)
        log += math.log(part / (n - k))
        placed |= u64(1) << u64(order[k])
    return log


@inner
def _lead(placed, parents, waiting, leads):
    """The variables that may come next; leads gets of each variable for how many of these it waits."""
    free = u64(0)
    for x in range(leads.size):
        leads[x] = 0.0
        if not placed >> u64(x) & u64(1) and not parents[x] & ~placed:
            free |= u64(1) << u64(x)
    left = free
    while left:
        own = waiting[lowest(left)]
        while own:
            leads[lowest(own)] += 1.0
            own &= own - u64(1)
        left &= left - u64(1)
    return free


@inlined
def _part(waiting, leads):
    """By how many variables one counts that these wait for."""
    part, own = 0.0, waiting
    while own:
        part += 1.0 / leads[lowest(own)]
        own &= own - u64(1)
    return part
