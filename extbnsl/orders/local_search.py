"""Upper bounds: iterated local search over the orders of the variables, with insertion moves.

The cost of an order is the sum over its variables of BestScore(X | the variables before X). Where variables have no
parent set there, their number counts first: such an order has no network, and fewer of them are better whatever the
others cost. A move takes one variable out and inserts it at the best other place; a local optimum is kicked by a few
random insertions and descended again.
Effort is counted in kicks and every stream has its own random numbers, so a run repeats exactly on any number of
threads.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import assign, flip
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.random import random_below, random_words
from extbnsl.machine.workers import Stopped, Workers, halted_after
from extbnsl.parents.best_score import ByteTables, first_inside, scratch

STREAMS = 8
QUICK = 64  # variables up to which a descent takes milliseconds
MOMENT = 1.0  # seconds after a stop


@dataclass(frozen=True)
class Effort:
    """After how many rounds without improvement the search ends, and how many times the usual kicks a round has."""

    patience: int
    kicks: float = 1.0


BRIEF, FIRST, USUAL, LONG = Effort(1), Effort(2, 0.5), Effort(6), Effort(6, 20)
DESCENTS = Effort(0, 0)  # from some random orders: they cost next to nothing


@dataclass(frozen=True)
class Incumbent:
    """An order of the variables, int64 (n,), and the cost of the best network along it in nats."""

    order: NDArray[np.int64]
    cost: float


def search_orders(
    tables: ByteTables,
    variables: int,
    workers: Workers,
    seed: int,
    effort: Effort,
    on_better: Callable[[float], None],
    feasible: NDArray[np.int64] | None = None,
) -> Incumbent:
    """The best order of a few variables, QUICK at most, that iterated local search finds before it stalls.

    feasible: an order with a network, int64 (n,), from which one stream begins; None if every order has one. So what is
    found has a network, too.

    Time: a kick costs about n^2 queries of BestScore; rounds of STREAMS parallel streams go on until so many in turn as
    the effort has patience for found nothing better. After a stop the first such round is the last, or the one at the
    end of MOMENT: that makes the network of a solve that is out of time much better.
    """
    n = variables
    kicks = max(1, int(min(40, 12_000 // (n * n)) * effort.kicks))
    random = random_words(seed, STREAMS, n + 1)
    orders, states = np.argsort(random[:, :n], axis=1), random[:, n] | np.uint64(1)
    if feasible is not None:
        orders[0] = feasible
    best = Incumbent(orders[0].copy(), np.inf)
    stale, patience = 0, effort.patience
    while stale < patience:
        trials, own = orders.copy(), states.copy()
        tasks = [(trials[k], own[k : k + 1], kicks, workers.halt, tables) for k in range(STREAMS)]
        try:
            found = workers.map(improve_order, tasks)
        except Stopped as stop:
            if stop.deaf:  # a kernel is still at work on its trial
                trials, own = orders.copy(), states.copy()
            patience = BRIEF.patience
            with halted_after(workers.left_of(MOMENT)) as halt:
                found = [improve_order(trials[k], own[k : k + 1], kicks, halt, tables) for k in range(STREAMS)]
        lacking, costs = np.transpose(found)
        costs[lacking > 0] = np.inf  # such an order has no network
        orders, states = trials, own
        stale += 1
        leader = int(np.argmin(costs))
        if costs[leader] < best.cost - 1e-9 * (1 + abs(costs[leader])):
            best = Incumbent(orders[leader].copy(), float(costs[leader]))
            on_better(best.cost)
            stale = 0
        # the two worst go on from the best order
        for k in np.argsort(costs, kind="stable")[-2:]:
            orders[k] = best.order
    return best


@inlined
def _cost(child, place, tables):
    """Cost of the child's parent set at `place` of its score order; 0 for -1.

    Here and in _has_parent an element is read in any case: where a branch decides whether an array is needed, the
    compiler counts references to it.
    """
    cost = tables.costs[tables.first[child] + max(place, 0)]
    return 0.0 if place < 0 else cost


@inlined
def _has_parent(child, place, v, tables):
    """Whether v is in the child's parent set at `place` of its score order."""
    member = (tables.members[tables.first[child] + max(place, 0), v >> 3] >> (v & 7)) & 1
    return place >= 0 and member


@inlined
def _choose(child, varset, place, gained, tables, rows):
    """The child's best place inside `varset`, which has gained or lost one variable since `place` was the best."""
    begin, end = np.int64(0), tables.width[child]
    if place >= 0:
        if gained:
            end = (place >> 6) + 1
        else:
            begin = place >> 6
    return first_inside(child, varset, begin, end, tables, rows)


@inner
def _score_places(order, begin, end, places, prefix, tables, rows):
    """Follow a change of the order at begin <= k < end: places[k] becomes the best choice at place k and prefix[k + 1]
    the varset up to it; returns how many parent sets the order lacks, and the cost of the others."""
    for k in range(begin, end):
        x = order[k]
        places[k] = first_inside(x, prefix[k], np.int64(0), tables.width[x], tables, rows)
        for b in range(prefix.shape[1]):
            prefix[k + 1, b] = prefix[k, b]
        flip(prefix[k + 1], x)
    missing, total = 0, 0.0
    for k in range(order.size):
        missing += places[k] < 0
        total += _cost(order[k], places[k], tables)
    return missing, total


@inlined
def _insert(order, source, target):
    """Move the variable at `source` to `target`, in place."""
    x = order[source]
    step = 1 if target > source else -1
    k = source
    while k != target:
        order[k] = order[k + step]
        k += step
    order[target] = x


@inner
def _best_insertion(order, source, places, prefix, tables, rows):
    """The best place for the variable x at `source`, and the changes of the parent sets that lack and of the cost.

    x passes one neighbour y after the other. On the way to the front y gains x as a possible parent and x loses y; on
    the way back y loses x and x gains y. A choice that does not contain what is lost stays. The varset before y takes
    these changes and gives them up again.
    """
    n = order.size
    x = order[source]
    here = _cost(x, places[source], tables)
    best, fewest, target = 0.0, 0, source
    for forward in range(2):
        own = places[source]
        change, lack = 0.0, -np.int64(places[source] < 0)
        k = source
        while True:
            k += 1 if forward else -1
            if k < 0 or k == n:
                break
            y = order[k]
            place = places[k]
            varset = prefix[k]
            flip(varset, x)
            if forward:
                if _has_parent(y, place, x, tables):
                    place = _choose(y, varset, place, False, tables, rows)
                flip(varset, y)
                if own != 0:
                    own = _choose(x, varset, own, True, tables, rows)
                flip(varset, y)
                flip(varset, x)
            else:
                if place != 0:
                    place = _choose(y, varset, place, True, tables, rows)
                flip(varset, x)
                if _has_parent(x, own, y, tables):
                    own = _choose(x, varset, own, False, tables, rows)
            lack += np.int64(place < 0) - np.int64(places[k] < 0)
            missing = lack + np.int64(own < 0)
            change += _cost(y, place, tables) - _cost(y, places[k], tables)
            total = change + _cost(x, own, tables) - here
            if missing < fewest or (missing == fewest and total < best):
                best, fewest, target = total, missing, k
    return target, fewest, best


@inner
def _descend(order, dirty, places, prefix, halt, tables, rows):
    """Insertion moves of dirty variables until none has a better place; returns what `_score_places` does.

    A move changes what stands before the variables it passes: these become dirty and are looked at again.
    """
    n = order.size
    missing, total = _score_places(order, np.int64(0), n, places, prefix, tables, rows)
    source = np.int64(0)
    idle = 0
    while idle < n and not halt[0]:
        x = order[source]
        if dirty[x]:
            dirty[x] = False
            target, fewer, change = _best_insertion(order, source, places, prefix, tables, rows)
            if fewer < 0 or (fewer == 0 and change < -1e-9):
                begin, end = min(source, target), max(source, target) + 1
                _insert(order, source, target)
                missing, total = _score_places(order, begin, end, places, prefix, tables, rows)
                for k in range(begin, end):
                    dirty[order[k]] = True
                idle = 0
        idle += 1
        source = (source + 1) % n
    return missing, total


@njit
def improve_order(order, state, kicks, halt, tables):
    """Iterated local search from `order` (n,), which becomes the best order found; returns how many parent sets it
    lacks, and what the others cost.

    state: uint64 (1,), the random numbers' state, carried on. Equally good orders replace each other, so that the
    search drifts over plateaus. halt: uint8 (1,); once it is 1, from another thread, the search ends with what it has.
    """
    order, state, kicks, halt, tables = borrowed((order, state, kicks, halt, tables))
    n = order.size
    places = np.empty(n, np.int64)
    prefix = np.zeros((n + 1, tables.members.shape[1]), np.uint8)
    rows = scratch(tables)
    cost, lacking = np.inf, n
    trial = order.copy()
    dirty = np.ones(n, np.bool_)
    for kick in range(kicks + 1):
        if kick:
            assign(trial, order)
            for _ in range(2 + random_below(state, 3)):
                source, target = random_below(state, n), random_below(state, n)
                _insert(trial, source, target)
                for k in range(min(source, target), max(source, target) + 1):
                    dirty[trial[k]] = True
        missing, new = _descend(trial, dirty, places, prefix, halt, tables, rows)
        if missing < lacking or (missing == lacking and new <= cost):
            assign(order, trial)
            lacking, cost = missing, new
        if halt[0]:
            break
    return lacking, cost
