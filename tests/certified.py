"""Certificates for the tests, made as the solver can make them: multipliers and fixing until the limit is reached."""

import math

import numpy as np

from extbnsl.bounds.clusters import UNIT, families_of, find_multipliers, multipliers_of
from extbnsl.certificate import CLUSTERS, SEARCH, Certificate, CertifiedComponent, pass_of
from extbnsl.parents.components import components
from extbnsl.varsets import pack

MOST_PASSES = 12


def certificate_of(result, rounds, workers):
    """The certificate of a solve's result, component by component."""
    return Certificate(
        tuple(
            certified(component, result.local_scores, upper_bound_of(component, result), rounds, workers)
            for component in components(result.local_scores)
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
            start = multipliers_of(families, start.clusters, start.weights)
        start = find_multipliers(families, start, rounds if number % 2 == 0 else 0, number, workers)
        passes.append(pass_of(names, start.clusters, start.weights * UNIT, start.least))
        keep = np.split(start.root + start.reduced < unproved.limit, families.first[1:-1])
        if start.root >= unproved.limit or not all(k.any() for k in keep):
            return CertifiedComponent(names, upper_bound, CLUSTERS, tuple(passes))
        parents = [np.ascontiguousarray(p[k]) for p, k in zip(parents, keep, strict=True)]
        costs = [c[k] for c, k in zip(costs, keep, strict=True)]
    return unproved
