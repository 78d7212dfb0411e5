"""What is true of small problems, by code that shares nothing with the package."""

import math
from functools import cache

import naive
import numpy as np

MOST_CHOICES = 300_000


@cache
def _layers(n):
    """The varsets of each size."""
    sizes = np.bitwise_count(np.arange(2**n))
    return [np.flatnonzero(sizes == size) for size in range(n)]


def best_scores(table):
    """The least cost of a subset of each varset, (n, 2^n)."""
    best = np.array(table)
    n = len(best)
    for i in range(n):
        halves = best.reshape(n, -1, 2, 2**i)
        np.minimum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
    return best


def least_cost(table):
    """The cost of an optimal network, infinity if there is none: a dynamic program over all varsets, n <= 16 or so."""
    best, n = best_scores(table), len(table)
    cheapest = np.full(2**n, np.inf)
    cheapest[0] = 0.0
    for layer in _layers(n):
        for x in range(n):
            before = layer[layer >> x & 1 == 0]
            after = before | 1 << x
            cheapest[after] = np.minimum(cheapest[after], cheapest[before] + best[x, before])
    return float(cheapest[-1])


def acyclic(parents):
    """Which rows of parent varsets (m, n) have no cycle."""
    n = parents.shape[1]
    placed = np.zeros(len(parents), np.int64)
    for _ in range(n):
        for x in range(n):
            placed |= (parents[:, x] & ~placed == 0).astype(np.int64) << x
    return placed == (1 << n) - 1


@cache
def dags(n):
    """All directed acyclic graphs of up to five variables, (m, n) parent varsets."""
    sets = [np.array([v for v in range(2**n) if not v >> x & 1], np.int64) for x in range(n)]
    return _without_cycles(sets)


def networks(table):
    """All networks of a table of families: parent varsets (m, n) and costs (m,), ascending; None if there are too many
    choices to look at."""
    n = len(table)
    sets = [np.flatnonzero(np.isfinite(own)) for own in table]
    if math.prod(map(len, sets)) <= MOST_CHOICES:
        found = _without_cycles(sets)
    elif n <= 5:
        found = dags(n)
    else:
        return None
    exact = table.astype(np.longdouble)  # families may cost a trillion and cancel each other out
    costs = sum(exact[x][found[:, x]] for x in range(n)).astype(np.float64)
    some = np.flatnonzero(np.isfinite(costs))
    order = some[np.argsort(costs[some], kind="stable")]
    return found[order], costs[order]


def posterior(table, by_orders):
    """The logarithm of what all networks weigh together, each by exp(-cost), as often as it has orders if it is by
    orders; and the probability of each arc, (n, n) by parent and child."""
    parents, costs = networks(table)
    logs = -costs + (np.log(_orders(parents)) if by_orders else 0.0)
    log_weight = float(np.logaddexp.reduce(logs))
    has = parents[:, None, :] >> np.arange(len(table))[:, None] & 1
    return log_weight, np.tensordot(np.exp(logs - log_weight), has, 1)


def _orders(parents):
    """How many orders each network keeps to: those of its varsets whose parents all lie in them, one by one."""
    n = parents.shape[1]
    ways = np.zeros((2**n, len(parents)), np.int64)
    ways[0] = 1
    for varset in range(1, 2**n):
        for x in range(n):
            if varset >> x & 1:
                before = varset ^ 1 << x
                ways[varset] += np.where(parents[:, x] & ~before == 0, ways[before], 0)
    return ways[-1]


def _without_cycles(sets):
    """Every choice of one of each of the arrays that has no cycle, (m, n)."""
    chosen = np.zeros((1, 0), np.int64)
    for own in sets:
        chosen = np.hstack([np.repeat(chosen, len(own), axis=0), np.tile(own, len(chosen))[:, None]])
    return chosen[acyclic(chosen)]


def classes(parents):
    """A number for each network (m, n) that is the same for those of one equivalence class: who is joined, and which
    two parents of a child are not."""
    n = parents.shape[1]
    arc = {(p, x): parents[:, x] >> p & 1 == 1 for p in range(n) for x in range(n)}
    joined = {(a, b): arc[a, b] | arc[b, a] for a in range(n) for b in range(a + 1, n)}
    told = [*joined.values()]
    told += [arc[a, x] & arc[b, x] & ~both for (a, b), both in joined.items() for x in range(n)]
    packed = np.packbits(np.array(told, np.uint8).reshape(len(told), len(parents)), axis=0)
    _, number = np.unique(packed, axis=1, return_inverse=True)
    return number.reshape(-1)


def order_cost(table, order):
    """The cost of the best network along an order."""
    best, total, before = best_scores(table), 0.0, 0
    for x in order:
        total += float(best[x][before])
        before |= 1 << int(x)
    return total


def undominated(table, margin):
    """For each child the varsets that cost at least `margin` less than all their proper subsets."""
    best, found = best_scores(table), []
    for x, own in enumerate(table):
        least = np.full(own.size, np.inf)
        for i in range(len(table)):
            with_i = np.flatnonzero(np.arange(own.size) >> i & 1)
            least[with_i] = np.minimum(least[with_i], best[x, with_i ^ 1 << i])
        found.append({int(v) for v in np.flatnonzero(np.isfinite(own) & (own + margin < least))})
    return found


def table_of(data, score, max_parents=None):
    """The table of costs of coded records by a score of tests/naive.py."""
    codes, arities = data
    return naive.all_local_scores(codes, arities, max_parents, score)
