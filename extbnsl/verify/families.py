"""Where a check has the families of children from that matter to a bound: what it asks for, and local scores."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import INTERRUPTED
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.certificate import TooMuch
from extbnsl.verify.demands import Demands
from extbnsl.verify.passes import CLUSTERS, WeightedCuts

MOST_FAMILIES = 20_000_000  # that a source hands over at once
FLOAT_ERROR = 2.0**-53  # of one operation, relative
SOLVER_ERROR = 2.0**-40  # what the solver's own sums of floats may be off, relative to a child's costs
Tell = Callable[[int, int], None]  # hears how much of a count is done, of how much


class RecountedFamilies(NamedTuple):
    """Families of one child."""

    varsets: NDArray[np.uint64]  # (m, words) of parents
    costs: NDArray[np.float64]  # (m,) in nats


class Taken(NamedTuple):
    """What cuts take from the cost of a child's family: the sum of the multipliers of those of its clusters that its
    parents are disjoint from. More parents never have more taken."""

    clusters: NDArray[np.uint64]  # (k, words)
    multipliers: NDArray[np.int64]  # (k,) in units and of either sign, none zero
    children: NDArray[np.bool_]  # (k, n) whose clusters they are

    def of(self, child: int) -> "Taken":
        """What is taken from one child."""
        own = self.children[:, child]
        return Taken(self.clusters[own], self.multipliers[own], self.children[own])


def taken_by(cuts: WeightedCuts, n: int) -> Taken:
    """What cuts over n variables take, as multipliers of either sign.

    A family that counts for k of the clusters that hold the child has ceil(k / 2) taken, k - pairs + 2 triples among
    them; it counts for two if its parents are disjoint from their union.
    """
    members, parts = members_of(cuts.cuts, n), []
    for size, factor in ((1, 1), (2, -1), (3, 2)):
        for some in map(list, itertools.combinations(range(CLUSTERS), size)):
            union = np.bitwise_or.reduce(cuts.cuts[:, some], axis=1)
            parts.append((union, factor * cuts.multipliers, members[:, some].all(axis=1)))
    taken = Taken(*map(np.concatenate, zip(*parts, strict=True)))
    had = taken.children.any(axis=1)
    return Taken(taken.clusters[had], taken.multipliers[had], taken.children[had])


def members_of(varsets: NDArray[np.uint64], n: int) -> NDArray[np.bool_]:
    """Which of n variables varsets (..., words) have: (..., n)."""
    bits = np.unpackbits(np.ascontiguousarray(varsets, "<u8").view(np.uint8), axis=-1, count=n, bitorder="little")
    return bits.astype(np.bool_)


class FamilySource(ABC):
    """Where a check has families from. Costs may be sums of floats: whatever is compared keeps a margin of more than
    they may be off."""

    @abstractmethod
    def below(self, thresholds: Mapping[int, int], cuts: WeightedCuts, tell: Tell) -> list[RecountedFamilies]:
        """For children with a threshold each, in units: all families that matter with c', the cost less what these cuts
        take from it, below that, or more; costs are off by no more than half of `rounding`."""

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
        """What costs of this count and of the solver's may be apart, and its sums off, in nats; more than a unit."""
        return 2.0 * self.error(child) + SOLVER_ERROR * self.scale(child) + 2.0 / UNITS_PER_NAT


def each_searched(
    search: Callable[..., RecountedFamilies],
    source: FamilySource,
    shape: tuple[int, Workers],
    thresholds: Mapping[int, int],
    cuts: WeightedCuts,
    tell: Tell,
) -> list[RecountedFamilies]:
    """What `below` of a source finds that searches for the families of each child by themselves: search(source, child,
    threshold, what is taken from the child). shape: how many variables there are, and the workers."""
    (variables, workers), found = shape, list[RecountedFamilies]()
    taken = taken_by(cuts, variables)
    tasks = ((source, child, most, taken.of(child)) for child, most in thresholds.items())
    for own in workers.stream(search, tasks, 2 * workers.threads, lambda result: None):
        found.append(own)
        tell(len(found), len(thresholds))
    return found


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


@dataclass(frozen=True)
class ListedFamilies(FamilySource):
    """All families that local scores list as demanded, whatever the threshold. Costs are exact."""

    scores: LocalScores
    demands: Demands

    def below(self, thresholds: Mapping[int, int], cuts: WeightedCuts, tell: Tell) -> list[RecountedFamilies]:
        found = []
        for child in thresholds:
            varsets, costs = self.scores.parents[child], self.scores.costs[child]
            own = self.demands.admitted(child, members_of(varsets, self.scores.variables))
            found.append(RecountedFamilies(varsets[own], costs[own]))
        return found

    def error(self, child: int) -> float:
        return 0.0

    def scale(self, child: int) -> float:
        """What the solver's sums are off goes by the cheapest one."""
        return abs(float(self.scores.costs[child].min()))


@dataclass(frozen=True)
class FamiliesByRecords(FamilySource):
    """Families of children that are costed over other records, each from the source of its own: `of` says which."""

    sources: tuple[FamilySource, ...]
    of: Mapping[int, int]

    def below(self, thresholds: Mapping[int, int], cuts: WeightedCuts, tell: Tell) -> list[RecountedFamilies]:
        found = dict[int, RecountedFamilies]()
        for number, source in enumerate(self.sources):
            own = {child: most for child, most in thresholds.items() if self.of[child] == number}
            if own:
                found |= zip(own, source.below(own, cuts, untold), strict=True)
            tell(len(found), len(thresholds))
        return [found[child] for child in thresholds]

    def error(self, child: int) -> float:
        return self.sources[self.of[child]].error(child)

    def scale(self, child: int) -> float:
        return self.sources[self.of[child]].scale(child)

    def margin(self, child: int) -> float:
        return self.sources[self.of[child]].margin(child)

    def rounding(self, child: int) -> float:
        return self.sources[self.of[child]].rounding(child)
