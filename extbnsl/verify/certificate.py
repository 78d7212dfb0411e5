"""Certificates of optimality: what a checker needs to prove again that no network is cheaper.

The variables fall into components. A family (X, P) counts for a cluster C if X is in C and P disjoint from C. The
first member of a cluster in an order has no parent inside C, so of a network's families at least one counts. A cut is
one cluster, with times(X, P) = 1 for families that count and needs = 1, or three, with times(X, P) = ceil(k / 2) for
families that count for k of them and needs = 2: the families of a network sum to at least (1 + 1 + 1) / 2, rounded up.
Cuts with multipliers lambda >= 0 give the reduced costs c'(X, P) = c(X, P) - sum of lambda times(X, P), and mu_X = min
over P of c'(X, P). So the component's families cost at least

    root = sum of lambda needs + sum of mu_X

in every network over all variables; parents may be anywhere, so the components need not be checked for anything, and
their bounds add up. A family with root + c'(X, P) - mu_X >= limit is in no network cheaper than the limit; the next
step is about the families that are left. See extbnsl/bounds/fixing.py for how they are found.

A proof is a list of steps. A *pass* is cuts with multipliers over the variables that are not settled. Two others settle
some variables S: the families of S cost at least so much, whatever parents they have outside of S. So what is settled
and the root of a pass over the others add up. A *search* settles S by going through all orders of S that may cost less,
guided by cuts. *Branching* settles S by a tree: below each inner node X has the parent Y, or has it not; each node has
passes over the families that its answers leave, which hold for all nodes below it; and a node without children has no
network below the bound.

Multipliers are whole units of 2^-36 nats, and the file says so: no sum is rounded. Costs are rounded down to
units, once. Arrays hold units as int64: with the multipliers of a pass at most MOST_UNITS together, of which a family
may be taken twice as much, and costs within MOST_UNITS, no sum leaves the range. Sums over children are Python
integers.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import encode
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.steps import Pass, Search

if TYPE_CHECKING:
    from extbnsl.verify.branching import Branching

MOST_UNITS = 1 << 61
BEYOND = f"it has figures beyond {MOST_UNITS // UNITS_PER_NAT:,} nats"


class TooMuch(Exception):
    """There are larger figures, or more families, than a check has room for; a clause that says so."""


def floor_units(nats: float) -> int:
    """The whole units in a finite number of nats."""
    numerator, denominator = nats.as_integer_ratio()
    return numerator * UNITS_PER_NAT // denominator


def ceil_units(nats: float) -> int:
    """The least whole units that make up a finite number of nats."""
    return -floor_units(-nats)


def nats_of(units: int) -> float:
    """Units in nats, rounded once."""
    return units / UNITS_PER_NAT


def floors_of(costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """The whole units in each of some costs in nats, at most MOST_UNITS; raises TooMuch below -MOST_UNITS."""
    most = nats_of(MOST_UNITS)
    if costs.min(initial=0.0) < -most:
        raise TooMuch(BEYOND)
    return np.floor(np.minimum(costs, most) * UNITS_PER_NAT).astype(np.int64)  # the product is exact: a power of two


@dataclass(frozen=True)
class CertifiedComponent:
    """A part of the variables: no network has families of these children that together cost less than a bound."""

    variables: tuple[str, ...]
    lower_bound: float  # in nats
    # for each variable the mu of the first pass, in units, or less; the closer, the less there is to count
    least: dict[str, int]
    steps: "tuple[Pass | Search | Branching, ...]"  # the proof, of which the first is a pass

    @property
    def first(self) -> Pass:
        """The pass that the proof begins with."""
        first = self.steps[0]
        assert isinstance(first, Pass), "the first step is a pass"
        return first


@dataclass(frozen=True)
class Certificate:
    """Components that hold each variable once."""

    components: tuple[CertifiedComponent, ...]

    def to_document(self) -> dict[str, Any]:
        """The certificate as a value that `json.dumps` takes; `read_certificate` takes it back."""
        return {"units_per_nat": UNITS_PER_NAT, "components": encode(list(map(vars, self.components)))}
