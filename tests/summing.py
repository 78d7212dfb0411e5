"""Sums over all networks by going through them one by one."""

import functools
import itertools
import math

import numpy as np
from cases import scores_of
from naive import all_dags, members


@functools.cache
def orders_of(parents):
    """How many orders a network keeps to."""
    n = len(parents)
    places = (dict(zip(order, range(n), strict=True)) for order in itertools.permutations(range(n)))
    return sum(all(at[p] < at[x] for x in range(n) for p in members(parents[x])) for at in places)


def log_sum(logs):
    """The logarithm of a sum, from logarithms."""
    largest = max(logs, default=-math.inf)
    return largest if largest == -math.inf else largest + math.log(math.fsum(math.exp(one - largest) for one in logs))


def table_of(table):
    """Local scores of a table of costs (n, 2^n), infinite for what is no family."""
    return scores_of(
        [[(v, float(cost)) for v, cost in enumerate(own) if np.isfinite(cost)] for own in np.asarray(table)]
    )


def summed(scores, prior):
    """The logarithm of the sum over all networks of exp(-cost), by the prior 'order' as often as each has orders; the
    probability of each family of each child, in the order of the scores; and that of each network, by its parents."""
    n = scores.variables
    tables = [
        {int(varset[0]): (row, float(cost)) for row, (varset, cost) in enumerate(zip(own, costs, strict=True))}
        for own, costs in zip(scores.parents, scores.costs, strict=True)
    ]
    logs = {}
    for parents in all_dags(n):
        if all(own in table for own, table in zip(parents, tables, strict=True)):
            many = orders_of(parents) if prior == "order" else 1
            logs[parents] = math.log(many) - math.fsum(
                table[own][1] for own, table in zip(parents, tables, strict=True)
            )
    total = log_sum(list(logs.values()))
    shares = {parents: math.exp(own - total) for parents, own in logs.items()}
    families = [np.zeros(costs.size) for costs in scores.costs]
    for parents, share in shares.items():
        for x, own in enumerate(parents):
            families[x][tables[x][own][0]] += share
    return total, families, shares
