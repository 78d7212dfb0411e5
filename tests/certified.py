"""Certificates for the tests, made as the solver makes them: multipliers and fixing until the limit is reached."""

import numpy as np

from extbnsl.bounds.clusters import UNIT, families_of, find_multipliers, multipliers_of
from extbnsl.certificate import CLUSTERS, SEARCH, CertifiedComponent, pass_of
from extbnsl.events import ignore
from extbnsl.parents.surviving import surviving_families

MOST_PASSES = 12


def surviving(dataset, workers, max_parents=None):
    """The local scores of a data set."""
    return surviving_families(dataset, max_parents, workers, 1 << 30, ignore).scores


def certified(scores, variables, upper_bound, rounds, workers, seed=0):
    """The component of these variables (indices into the scores) that cost `upper_bound`, proved if the multipliers
    reach that far, otherwise left to the search."""
    n = scores.variables
    parents, costs = [scores.parents[x] for x in variables], [scores.costs[x] for x in variables]
    names = tuple(scores.names[x] for x in variables)
    limit = CertifiedComponent(names, upper_bound, SEARCH).limit
    assert len(variables) == n, "clusters are over the children of find_multipliers"
    families, start, passes = families_of(parents, costs), None, []
    for number in range(MOST_PASSES):
        found = find_multipliers(families, start, rounds if number % 2 == 0 else 0, seed + number, workers)
        passes.append(pass_of(names, found.clusters, found.weights * UNIT, found.least))
        if found.root >= limit:
            return CertifiedComponent(names, upper_bound, CLUSTERS, tuple(passes))
        keep = np.split(found.root + found.reduced < limit, families.first[1:-1])
        parents = [np.ascontiguousarray(p[k]) for p, k in zip(parents, keep, strict=True)]
        costs = [c[k] for c, k in zip(costs, keep, strict=True)]
        if not all(c.size for c in costs):
            return CertifiedComponent(names, upper_bound, CLUSTERS, tuple(passes))
        families = families_of(parents, costs)
        start = multipliers_of(families, found.clusters, found.weights)
    return CertifiedComponent(names, upper_bound, SEARCH)
