"""Where a check has the families of children from that matter to a bound: what it asks for, and local scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.scores.local import LocalScores
from extbnsl.verify.certificate import UNITS_PER_NAT
from extbnsl.verify.demands import Demands

MOST_FAMILIES = 20_000_000  # that a source hands over at once
FLOAT_ERROR = 2.0**-53  # of one operation, relative
SOLVER_ERROR = 2.0**-40  # what the solver's own sums of floats may be off, relative to a child's costs
Tell = Callable[[int, int], None]  # hears how much of a count is done, of how much


class RecountedFamilies(NamedTuple):
    """Families of one child: varsets (m, words) uint64 of parents and costs (m,) float64 in nats."""

    varsets: NDArray[np.uint64]
    costs: NDArray[np.float64]


@dataclass(frozen=True)
class Taken:
    """What the cuts of one pass take from the cost of a child's family: the sum of the multipliers (k,) int64, in units
    and of either sign, none zero, of those of the clusters (k, words) uint64 that its parents are disjoint from. More
    parents never have more taken."""

    clusters: NDArray[np.uint64]
    multipliers: NDArray[np.int64]


class Asked(NamedTuple):
    """Families of which child are wanted: all that matter with c', the cost less what is taken, below a threshold in
    units, or more."""

    child: int
    threshold: int
    taken: Taken


@dataclass(frozen=True)
class FamilySource:
    """Where a check has families from.

    below(asked, tell): those of each child that is asked for, each child once; costs that are off by no more than half
    of rounding(child), in nats. That is also what the solver's costs and bounds may be off, and more than a unit.
    """

    below: Callable[[Sequence[Asked], Tell], list[RecountedFamilies]]
    rounding: Callable[[int], float]


def untold(done: int, of: int) -> None:
    """For counts that nobody watches."""


def reach_of(threshold: int, apart: NDArray[np.int64], margin: float) -> float:
    """What families cost less than, in nats, with c' below the threshold, where the multipliers of these clusters are
    taken from the least of them."""
    return (threshold + sum(apart.tolist())) / UNITS_PER_NAT + margin


def families_of_scores(scores: LocalScores, demands: Demands) -> FamilySource:
    """What asks local scores: all families that they list as demanded, whatever the threshold. Costs are exact."""

    def listed(child: int) -> RecountedFamilies:
        bits = np.ascontiguousarray(scores.parents[child], "<u8").view(np.uint8)
        rows = np.unpackbits(bits, axis=1, count=scores.variables, bitorder="little").astype(np.bool_)
        own = demands.admitted(child, rows)
        return RecountedFamilies(scores.parents[child][own], scores.costs[child][own])

    def rounding(child: int) -> float:
        return SOLVER_ERROR * abs(float(scores.costs[child].min())) + 2.0 / UNITS_PER_NAT

    return FamilySource(lambda asked, tell: [listed(one.child) for one in asked], rounding)
