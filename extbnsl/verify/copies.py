"""Families that only differ from others in which copies of a column they have.

Variables of states are copies of each other if they divide the records alike, have as many states, and the demands make
no difference between them: to exchange two of them, in all families of a network, leaves it within the demands, at the
same cost. Put them in any fixed order, c1, c2, ... Of all networks of least cost, and their orders, there is one in
which copies come in that order: else exchange those that do not. Let X have k copies as parents there. They can be c1
to ck, by one more exchange that leaves X as it is: those come before X as well, and the family costs the same. So a
limit that no network reaches of which the families are so, no network reaches at all.

It shares nothing with what the solver leaves out.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Data, Dataset
from extbnsl.machine.workers import Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify.demands import Demands
from extbnsl.verify.document import ClaimedResult
from extbnsl.verify.families import FamilySource, RecountedFamilies, Tell, members_of
from extbnsl.verify.passes import WeightedCuts


@dataclass(frozen=True)
class FamiliesOfFirstCopies(FamilySource):
    """Those families whose copies are the first ones, and come before the child if it is one too."""

    of: FamilySource
    copies: Sequence[Sequence[int]]  # groups of variables that are copies of each other, in some order
    variables: int

    def below(self, thresholds: Mapping[int, int], cuts: WeightedCuts, tell: Tell) -> list[RecountedFamilies]:
        found = []
        for child, own in zip(thresholds, self.of.below(thresholds, cuts, tell), strict=True):
            first = self._has_first(child, members_of(own.varsets, self.variables))
            found.append(RecountedFamilies(own.varsets[first], own.costs[first]))
        return found

    def _has_first(self, child: int, members: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of these rows (m, n), of parents of the child, have no copy without all before it."""
        fits = np.ones(len(members), bool)
        for group in self.copies:
            own = members[:, list(group)]
            place = list(group).index(child) if child in group else len(group)
            count = own.sum(axis=1)
            fits &= (own[:, :place].cumprod(axis=1).sum(axis=1) == count) & (count <= place)
        return fits

    def error(self, child: int) -> float:
        return self.of.error(child)

    def scale(self, child: int) -> float:
        return self.of.scale(child)

    def margin(self, child: int) -> float:
        return self.of.margin(child)

    def rounding(self, child: int) -> float:
        return self.of.rounding(child)


def without_other_copies(
    source: FamilySource, problem: Data | LocalScores, claim: ClaimedResult, demands: Demands, workers: Workers
) -> FamilySource:
    """The families among which is a network of least cost, if the source has all. Variables of several times, families
    over other records each, and arcs of prices of their own make differences that are not looked into.

    O(n N log N) for data (N, n), and O(n) for each two copies. Raises Stopped, after a column, when the workers do.
    """
    if not isinstance(problem, Dataset) or not problem.alike or problem.slices is not None or claim.knowledge.costs:
        return source
    groups = dict[bytes, list[list[int]]]()
    for v, column in enumerate(problem.codes.T):
        workers.check()
        _, first, states = np.unique(column, return_index=True, return_inverse=True)
        division = np.argsort(np.argsort(first))[states.reshape(-1)]  # by which state comes first
        found = groups.setdefault(hashlib.sha256(division.data).digest(), [])
        same = [own for own in found if problem.arities[own[0]] == problem.arities[v] and _is_same(own[0], v, demands)]
        if same:
            same[0].append(v)
        else:
            found.append([v])
    copies = [own for found in groups.values() for own in found if len(own) > 1]
    return FamiliesOfFirstCopies(source, copies, problem.variables) if copies else source


def _is_same(a: int, b: int, demands: Demands) -> bool:
    """Whether demands are the same with two variables exchanged."""
    if demands.most[a] != demands.most[b]:
        return False
    for parents in (demands.may, demands.must):
        if parents[a] - {b} != parents[b] - {a} or (b in parents[a]) != (a in parents[b]):
            return False
        if any((a in own) != (b in own) for x, own in enumerate(parents) if x not in (a, b)):
            return False
    return True
