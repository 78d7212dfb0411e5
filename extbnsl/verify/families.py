"""Where a check has the families of children from that matter to a bound: what it asks for, and local scores."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import INTERRUPTED
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify.certificate import UNITS_PER_NAT, TooMuch
from extbnsl.verify.demands import Demands

MOST_FAMILIES = 20_000_000  # that a source hands over at once
FLOAT_ERROR = 2.0**-53  # of one operation, relative
SOLVER_ERROR = 2.0**-40  # what the solver's own sums of floats may be off, relative to a child's costs
Tell = Callable[[int, int], None]  # hears how much of a count is done, of how much


class RecountedFamilies(NamedTuple):
    """Families of one child."""

    varsets: NDArray[np.uint64]  # (m, words) of parents
    costs: NDArray[np.float64]  # (m,) in nats


@dataclass(frozen=True)
class Taken:
    """What the cuts of one pass take from the cost of a child's family: the sum of the multipliers of those clusters
    that its parents are disjoint from. More parents never have more taken."""

    clusters: NDArray[np.uint64]  # (k, words)
    multipliers: NDArray[np.int64]  # (k,) in units and of either sign, none zero


class Asked(NamedTuple):
    """Families that are wanted: all that matter with c', the cost less what is taken, below a threshold, or more."""

    child: int
    threshold: int  # in units
    taken: Taken


@dataclass(frozen=True)
class FamilySource:
    """Where a check has families from."""

    # those of each child that is asked for, each child once; costs are off by no more than half of `rounding`
    below: Callable[[Sequence[Asked], Tell], list[RecountedFamilies]]
    # of a child, in nats: what the solver's costs and bounds may be off too, and more than a unit
    rounding: Callable[[int], float]


class Inexact(ABC):
    """Costs that are sums of floats: whatever is compared keeps a margin of more than they may be off."""

    @abstractmethod
    def error(self, child: int) -> float:
        """What the cost of a family of the child may be off, in nats."""

    @abstractmethod
    def scale(self, child: int) -> float:
        """No family that matters costs more, in nats, nor does any sum on the way to its cost."""

    def margin(self, child: int) -> float:
        """What is beaten by more than this is truly beaten: two costs, their difference, and units; in nats."""
        return 4.0 * self.error(child) + 2.0 / UNITS_PER_NAT

    def rounding(self, child: int) -> float:
        """What costs of this count and of the solver's may be apart, and its sums off, in nats."""
        return 2.0 * self.error(child) + SOLVER_ERROR * self.scale(child) + 2.0 / UNITS_PER_NAT


def handed_over(
    search: Callable[[int], tuple[int, int]], found: Sequence[NDArray[Any]], workers: Workers, matter: str
) -> Iterator[list[NDArray[Any]]]:
    """What a search finds, part by part.

    search(top): goes on from the top of a stack, 0 at first and below 0 when it is over, to a new one, until the arrays
    `found` are full; how many of their rows it has written. matter: which families, for a sentence. Raises Stopped when
    the workers halt, and TooMuch at MOST_FAMILIES.
    """
    top, written = 0, 0
    while top >= 0:
        top, count = search(top)
        if workers.halt[0]:
            # without a reason it is another task that cannot go on, and its reason that is told
            raise Stopped(workers.stop() or INTERRUPTED)
        written += count
        if written > MOST_FAMILIES:
            raise TooMuch(f"more than {MOST_FAMILIES:,} parent sets {matter}")
        yield [own[:count].copy() for own in found]


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
