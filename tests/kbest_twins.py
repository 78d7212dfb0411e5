"""What the k best networks are, by looking at all networks; and which subgraphs of a network are as good as it is."""

import itertools
import math
from functools import cache

import naive
import numpy as np
from cases import random_dataset

from extbnsl.core.claims import Claim
from extbnsl.core.events import ignore
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.lab.parent_limits.limits import limit_problem
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families

CLOSE = 1e-9  # relative: costs that differ by less are equal


def small_dataset(seed, n):
    """2 to 60 records of n variables of 1 to 5 states: functions of each other, copies and constants among them."""
    rng = np.random.default_rng(seed)
    return random_dataset(rng, n, int(rng.choice([2, 3, 4, 6, 8, 12, 16, 20, 30, 45, 60])), int(rng.integers(2, 6)))


def problem_of(dataset, claim=Claim()):
    with Workers(1) as workers:
        problem = limit_problem(dataset, claim, workers)
    problem.check()
    return problem


def survivors_of(dataset, claim=Claim()):
    """The families that can win, by the solver."""
    with Workers(1) as workers:
        found = surviving_families(dataset, claim, Means(workers, Shelf(1 << 30, Store(None, 0)), ignore))
    assert found.stopped is None
    return found.scores


@cache
def graphs(n):
    """All networks as an array (g, n) of parent varsets."""
    return np.array(naive.all_dags(n))


def graph_costs(costs, families=None):
    """The cost of each network, (g,), by a table of costs (n, 2^n); inf if it has a family that `families`, bool of the
    same shape, does not have."""
    table = costs if families is None else np.where(families, costs, np.inf)
    return table[np.arange(len(table)), graphs(len(table))].sum(axis=1)


def k_best(costs, k, families=None):
    """The costs of the k best networks, ascending, or of all if there are fewer."""
    found = np.sort(graph_costs(costs, families))[:k]
    return found[np.isfinite(found)]


def within(limits):
    """Which families have as many parents as their child may have: bool (n, 2^n)."""
    sizes = np.array([varset.bit_count() for varset in range(2 ** len(limits))])
    return sizes[None, :] <= np.asarray(limits)[:, None]


def at_most(cost, other):
    """Whether costs are at most another, but for rounding."""
    return cost <= other + CLOSE * (1.0 + abs(other))


def subsets_of(varset):
    """All subsets of a varset."""
    found = [0]
    for v in naive.members(varset):
        found += [own | 1 << v for own in found]
    return found


def good_subgraphs(costs, network):
    """How many proper subgraphs of a network, given by its parent varsets, cost at most what it does."""
    sums = np.zeros(1)
    for child, parents in enumerate(network):
        own = costs[child][subsets_of(parents)]
        sums = (sums[:, None] + own[None, :]).ravel()
    return int(at_most(sums, sum(costs[child][own] for child, own in enumerate(network))).sum()) - 1


def best_parents(costs, child, before):
    """The best parents of a child in a varset: the cheapest, and of these the fewest."""
    allowed = sorted(subsets_of(before), key=int.bit_count)
    least = costs[child][allowed].min()
    return next(own for own in allowed if at_most(costs[child][own], least))


def best_network(costs, order, child, parents):
    """The best network that keeps to an order and has this family; of several, the one with the fewest arcs."""
    network = [0] * len(order)
    for place, v in enumerate(order):
        network[v] = best_parents(costs, v, sum(1 << u for u in order[:place]))
    network[child] = parents
    return network


def fewest_good_subgraphs(costs, child, limit, order=None):
    """Of the best networks with a family of the child beyond a limit, under one order or any: the least number of
    subgraphs that are as good; infinite if there is no such network."""
    n, fewest = len(costs), math.inf
    for one in itertools.permutations(range(n)) if order is None else [order]:
        before = sum(1 << v for v in one[: list(one).index(child)])
        for parents in subsets_of(before):
            if parents.bit_count() > limit:
                fewest = min(fewest, good_subgraphs(costs, best_network(costs, one, child, parents)))
    return fewest


def paper_d(arities, records, child, others):
    """d of Corollary 2 for MDL, with alpha at least 1; the child has two states or more."""
    alpha = max([1.0, *(math.log2(arities[other]) / (arities[child] - 1) for other in others)])
    return math.floor(math.log2(4 * records / math.log2(records) * alpha * (len(others) + 1)) + 1e-12)


def paper_limits(costs, arities, records, child, k):
    """Algorithm 2 of the paper: what it returns, d(Y) of the largest Y that is not enough; and the largest d(Y) of
    those that are enough, n - 1 if an order has none."""
    n = len(costs)
    waiting, largest, proved = [((1 << n) - 1, (), 1)], (), 0
    while waiting:
        left, others, count = waiting.pop(0)
        largest = others if len(others) > len(largest) else largest
        for z in naive.members(left):
            before, now, more = left ^ 1 << z, others, count
            if z != child:
                now, more = (*others, z), count * 2 ** best_parents(costs, z, before).bit_count()
            d = paper_d(arities, records, child, now)
            if k <= more * (2 ** (d + 1) - 1):
                proved = max(proved, d)
            elif before:
                waiting.append((before, now, more))
            else:
                proved = n - 1
    return min(paper_d(arities, records, child, largest), n - 1), min(proved, n - 1)
