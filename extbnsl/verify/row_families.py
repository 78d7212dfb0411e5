"""Families of rows that are parts of records, where weights are not whole: as of rows that are records, scaled."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from extbnsl.verify.document import ClaimedResult
from extbnsl.verify.families import FamilySource, RecountedFamilies, Tell
from extbnsl.verify.passes import WeightedCuts
from extbnsl.verify.rescoring import cost_of_any, parameter_cost


def claim_of_rows(claim: ClaimedResult, variables: int, total: float, each: float) -> ClaimedResult:
    """The claim by which the families of rows cost 1 / each times what they cost as parts of `total` records."""
    price, arc = parameter_cost(claim, total), cost_of_any(claim, variables)
    return replace(claim, penalty=price / each, gamma=None, parent_cost=arc / each)


@dataclass(frozen=True)
class RowFamilies(FamilySource):
    """Families that cost `each` times what the source of rows says."""

    of: FamilySource
    each: float

    def below(self, thresholds: Mapping[int, int], cuts: WeightedCuts, tell: Tell) -> list[RecountedFamilies]:
        """A scaled multiplier is off by half a unit at most, and a family has no more than two of each cut taken: so
        much higher are the thresholds."""
        scaled = np.rint(cuts.multipliers / self.each).astype(np.int64)
        own = replace(cuts, multipliers=scaled, needed=math.ceil(cuts.needed / self.each))
        more = 2 * len(scaled) + 2
        raised = {x: math.ceil(most / self.each * (1.0 + 2.0**-50)) + more for x, most in thresholds.items()}
        found = self.of.below(raised, own, tell)
        return [RecountedFamilies(some.varsets, some.costs * self.each) for some in found]

    def error(self, child: int) -> float:
        return self.of.error(child) * self.each * (1.0 + 2.0**-50)

    def scale(self, child: int) -> float:
        return self.of.scale(child) * self.each * (1.0 + 2.0**-50)
