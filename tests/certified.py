"""Certificates for the tests, made as the solver can make them: multipliers and fixing until the limit is reached."""

import math

import numpy as np

from extbnsl.bounds.ascent import MOST_CUTS, find_multipliers, improve
from extbnsl.bounds.cuts import single_cuts
from extbnsl.bounds.multipliers import UNIT, families_of, multipliers_of
from extbnsl.kernels.varsets import pack
from extbnsl.parents.components import components
from extbnsl.verify.certificate import CLUSTERS, SEARCH, Certificate, CertifiedComponent, pass_of

MOST_PASSES = 12


def certificate_of(result, rounds, workers):
    """The certificate of a solve's result, component by component."""
    return Certificate(
        tuple(
            certified(component, result.local_scores, upper_bound_of(component, result), rounds, workers)
            for component in components(result.local_scores, lambda array: array)
        )
    )


def upper_bound_of(component, result):
    """What the network's families of a component cost."""
    scores, costs = result.local_scores, []
    for x in component.variables:
        row = (scores.parents[x] == pack(result.network.parents[x], scores.variables)).all(axis=1)
        costs.append(float(scores.costs[x][row][0]))
    return math.fsum(costs)


def certified(component, scores, upper_bound, rounds, workers):
    """The component that costs `upper_bound`, proved by clusters if they reach that far, else left to the search."""
    names = tuple(scores.names[x] for x in component.variables)
    unproved = CertifiedComponent(names, upper_bound, SEARCH)
    parents, costs, start, passes = component.parents, component.costs, None, []
    for number in range(MOST_PASSES):
        families = families_of(parents, costs)
        if start is not None:
            start = multipliers_of(families, start.cuts, start.weights)
        start = find_multipliers(families, start, rounds if number % 2 == 0 else 0, number, workers)
        passes.append(pass_of(names, start.cuts, start.weights * UNIT, start.least))
        last = polished(families, start, names, workers)
        if last.root >= unproved.limit:
            return CertifiedComponent(names, upper_bound, CLUSTERS, (*passes[:-1], last))
        keep = np.split(start.root + start.reduced < unproved.limit, families.first[1:-1])
        if not all(k.any() for k in keep):
            return CertifiedComponent(names, upper_bound, CLUSTERS, tuple(passes))
        parents = [np.ascontiguousarray(p[k]) for p, k in zip(parents, keep, strict=True)]
        costs = [c[k] for c, k in zip(costs, keep, strict=True)]
    return unproved


def polished(families, multipliers, names, workers):
    """The pass of the multipliers, raised once more and not cut to whole UNITs: that may just reach the limit."""
    cuts = single_cuts(np.zeros((MOST_CUTS, families.parents.shape[0]), np.uint64))
    weights = np.zeros(MOST_CUTS)
    count = multipliers.weights.size
    cuts[:count], weights[:count] = multipliers.cuts, multipliers.weights * UNIT
    count, _ = improve(families.arrays(), cuts, weights, count, 0, 0, workers.halt)
    least = np.zeros(len(names))
    for x in range(least.size):
        own = slice(families.first[x], families.first[x + 1])
        parents, reduced = families.parents[:, own], families.costs[own].copy()
        for cluster, weight in zip(cuts[:count, 0], weights[:count], strict=True):
            if int(cluster[x // 64]) >> x % 64 & 1:
                reduced -= weight * ((parents & cluster[:, None]) == 0).all(axis=0)
        least[x] = reduced.min()
    return pass_of(names, cuts[:count], weights[:count], least)
