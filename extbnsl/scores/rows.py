"""Rows of data as a whole, and what their weights cost by a Dirichlet prior; see dirichlet.py.

Light: scores import this, and kernels compile it.
"""

import math
from dataclasses import dataclass

LEAST_PRIOR = 1e-290  # of a state of the parents; smaller ones are as none
LARGE_PRIOR = 64.0  # from here on differences of ln G come from its series, which is exact then


@dataclass(frozen=True)
class Rows:
    """So many rows; each weighs so many records, 1 as a rule, and the lightest of those that differ weighs so many, or
    more."""

    count: int
    each: float = 1.0
    lightest: float = 1.0


def log_rising(prior: float, weight: float) -> float:
    """ln G(prior + weight) - ln G(prior)."""
    end = prior + weight
    if prior < LARGE_PRIOR:
        return math.lgamma(end) - math.lgamma(prior)
    grown = weight * math.log(prior) + (end - 0.5) * math.log1p(weight / prior) - weight
    grown += (1.0 / end - 1.0 / prior) / 12.0 - (1.0 / end**3 - 1.0 / prior**3) / 360.0
    return grown + (1.0 / end**5 - 1.0 / prior**5) / 1260.0


def first_cost(weight: float, prior: float, arity: float) -> float:
    """What records of one state of the child, of so much weight, cost at least as its first ones in a cell, by this
    prior of the cell or a smaller one: ln r from a record on, and g of dirichlet.py below."""
    if weight >= 1.0 or prior < LEAST_PRIOR:
        return math.log(arity)
    return log_rising(prior, weight) - log_rising(prior / arity, weight)
