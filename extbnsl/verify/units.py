"""Exact numbers for a check: costs and multipliers as whole units, so that no sum is rounded.

Multipliers are whole units in the certificate. Costs are rounded down to units, once. Arrays hold units as int64: with
the multipliers of a pass at most MOST_UNITS together, of which a family may be taken twice as much, and costs within
MOST_UNITS, no sum leaves the range. Sums over children are Python integers.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

UNITS_PER_NAT = 1 << 36
MOST_UNITS = 1 << 61
BEYOND = f"it has figures beyond {MOST_UNITS // UNITS_PER_NAT:,} nats"


class TooMuch(Exception):
    """There are larger figures, or more families, than a check has room for; a clause that says so."""


def floor_units(nats: float) -> int:
    """The whole units in a finite number of nats."""
    return math.floor(Fraction(nats) * UNITS_PER_NAT)


def ceil_units(nats: float) -> int:
    """The least whole units that make up a finite number of nats."""
    return math.ceil(Fraction(nats) * UNITS_PER_NAT)


def nats_of(units: int) -> float:
    """Units in nats, rounded once."""
    return units / UNITS_PER_NAT


def floors_of(costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """The whole units in each of some costs in nats, at most MOST_UNITS; raises TooMuch below -MOST_UNITS."""
    most = nats_of(MOST_UNITS)
    if costs.min(initial=0.0) < -most:
        raise TooMuch(BEYOND)
    return np.floor(np.minimum(costs, most) * UNITS_PER_NAT).astype(np.int64)  # the product is exact: a power of two
