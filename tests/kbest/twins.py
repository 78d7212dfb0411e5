"""What the rooms of the k best are tested against: all networks, one by one."""

import naive
import numpy as np

from extbnsl.parents.components import Component
from extbnsl.scores.local import canonical_order


def all_networks(table):
    """The costs of all networks of a table of families, ascending, without those that have a family it lacks."""
    costs = np.array([sum(table[x][p] for x, p in enumerate(dag)) for dag in naive.all_dags(len(table))])
    return np.sort(costs[np.isfinite(costs)])


def rest_table(table):
    """The cost of the best network over each varset."""
    best = naive.best_scores(table)
    rest = [0.0]
    for varset in range(1, 2 ** len(table)):
        rest.append(min(rest[varset ^ 1 << x] + best[x][varset ^ 1 << x] for x in naive.members(varset)))
    return rest


def component_within(table, slack):
    """The families of a table that cost at most `slack` more than their best subset, as a component."""
    best = naive.best_scores(table)
    parents, costs = [], []
    for x, own in enumerate(np.asarray(table)):
        kept = np.flatnonzero(np.isfinite(own) & (own <= best[x] + slack)).astype(np.uint64)[:, None]
        order = canonical_order(kept, own[kept[:, 0].astype(int)])
        parents.append(np.ascontiguousarray(kept[order]))
        costs.append(own[parents[-1][:, 0].astype(int)])
    return Component(tuple(range(len(table))), tuple(parents), tuple(costs), slack)


def parents_of(component, row):
    """The parents of each child, as varsets, in a network of a component."""
    return tuple(int(own[i][0]) for own, i in zip(component.parents, row, strict=True))


def cost_of(component, row):
    return sum(float(own[i]) for own, i in zip(component.costs, row, strict=True))
