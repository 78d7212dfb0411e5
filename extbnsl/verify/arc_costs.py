"""Families with what a claim says that arcs cost beside what the score says: by plain code of this room alone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.demands import Demands
from extbnsl.verify.families import FLOAT_ERROR, FamilySource, RecountedFamilies, Tell, members_of
from extbnsl.verify.passes import WeightedCuts
from extbnsl.verify.rescoring import Scored, cost_of_any


@dataclass(frozen=True)
class ChargedFamilies(FamilySource):
    """Families whose arcs cost something besides.

    of: what they cost without that; it leaves none out for the sake of a subset that is not cheaper by `leads` more.
    nats (n, n) float64: what the arc [parent, child] adds.
    """

    of: FamilySource
    nats: NDArray[np.float64]
    leads: NDArray[np.float64]

    def below(self, thresholds: Mapping[int, int], cuts: WeightedCuts, tell: Tell) -> list[RecountedFamilies]:
        """Arcs take no more from a cost than the lead: so much higher is the threshold without them."""
        raised = {x: own + math.ceil(self.leads[x] * UNITS_PER_NAT) + 1 for x, own in thresholds.items()}
        found = []
        for child, own in zip(thresholds, self.of.below(raised, cuts, tell), strict=True):
            parents = members_of(own.varsets, len(self.nats)).astype(np.float64)
            found.append(RecountedFamilies(own.varsets, own.costs + parents @ self.nats[:, child]))
        return found

    def error(self, child: int) -> float:
        n = len(self.nats)
        return self.of.error(child) + (n + 2) * FLOAT_ERROR * (self._most(child) + self.of.scale(child))

    def scale(self, child: int) -> float:
        return self.of.scale(child) + self._most(child)

    def _most(self, child: int) -> float:
        return float(np.abs(self.nats[:, child]).sum())


def arcs_beside(claim: Scored, names: Sequence[str], demands: Demands, known: float) -> NDArray[np.float64]:
    """What each arc [parent, child] that may be adds to what any does in a count that knows of so much: (n, n), in
    nats; InputError if the claim names a variable that there is not."""
    n, at = len(names), {name: i for i, name in enumerate(names)}
    nats = np.full((n, n), cost_of_any(claim, n) - known)
    for parent, child, own in claim.knowledge.costs:
        if parent not in at or child not in at:
            raise InputError(f"The knowledge of the result is about {parent!r} and {child!r}: one is not a variable.")
        nats[at[parent], at[child]] += own
    for x, may in enumerate(demands.may):
        nats[[p for p in range(n) if p not in may], x] = 0.0
    return nats


def leads_of(nats: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much a subset must be cheaper, for each child, so that it is with its arcs too: (n,), in nats."""
    return np.asarray(np.maximum(-nats, 0.0).sum(axis=0))
