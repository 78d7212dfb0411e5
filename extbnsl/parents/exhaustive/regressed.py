"""Columns of numbers as a source of families child by child, where that is less work than a lattice of all.

In a lattice children share what is counted, but all ranks up to that of its last varset have to be passed, and a bit is
kept for each: C(70, 10) of them for 70 columns and parent sets of 9. Where knowledge allows a child few parents, or
parents have a high price, depth-first searches (regressions.py) look at far fewer sets.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Numbers
from extbnsl.kernels.varsets import words
from extbnsl.parents.charged import ChargedLattice, charged
from extbnsl.parents.exhaustive.children import ANY_NUMBER, Found
from extbnsl.parents.exhaustive.collected import FoundFamilies, Known, all_found
from extbnsl.parents.exhaustive.measured import Measured
from extbnsl.parents.exhaustive.one_by_one import ChildSource
from extbnsl.parents.exhaustive.problem import LatticeSource
from extbnsl.parents.exhaustive.regressions import Asked, Interest, everything, search_regressions
from extbnsl.parents.priced.climbing_numbers import climb_regressions

FEWER = 8  # ranks of the lattice of all, for each of those of all children, from which on these take less time
OF_A_CHILD = 1 << 26  # of them that are passed in the time that the search of a child takes beside its sets
MOST_RANKS = 1 << 36  # that a lattice may have: their bits take 16 GB


def by_child(source: LatticeSource, slack: float = 0.0) -> ChildSource | None:
    """The same source of numbers as one of each child's families by themselves, if they are found in less time so; of
    children alone (`LatticeSource.alone`) the lattice finds them in less time still, unless there is a slack."""
    measured = source.of if isinstance(source, ChargedLattice) else source
    if not isinstance(measured, Measured) or not _is_less(measured) or (slack <= 0.0 and source.alone()):
        return None
    found = charged(Regressed.of(measured))
    assert isinstance(found, ChildSource), "it is one of children"
    return found


def _is_less(measured: Measured) -> bool:
    """Whether the sets of the children's own candidates are far fewer than those of a lattice of all columns, or its
    ranks are more than can be passed. O(n)."""
    constraints, price = measured.constraints, measured.price
    candidates, must = constraints.allowed.sum(axis=0).tolist(), constraints.required.sum(axis=0).tolist()
    own, largest, n = 0, 0, measured.data.variables
    for child, columns in enumerate(measured.columns):
        pays = must[child] + int(-columns.least[child] / price) + 1
        limit = min(int(constraints.limits[child]), columns.largest - 1, candidates[child], pays)
        own, largest = own + _sets(candidates[child], limit), max(largest, limit)
    shared = _sets(n, min(n, largest + 1))
    return FEWER * own + OF_A_CHILD * n < shared or shared > MOST_RANKS


def _sets(variables: int, largest: int) -> int:
    """How many subsets of so many variables have at most so many members."""
    return sum(math.comb(variables, size) for size in range(largest + 1))


@dataclass(frozen=True)
class Regressed(ChildSource):
    """Continuous data as a source of families child by child; measured: the same as one of a lattice."""

    data: Numbers
    measured: Measured

    @classmethod
    def of(cls, measured: Measured) -> "Regressed":
        """The same data and claim."""
        return cls(measured.data, measured.claim, measured.constraints, measured.order, measured)

    def check(self) -> None:
        self.measured.check()

    def warnings(self) -> tuple[str, ...]:
        return self.measured.warnings()

    def cost(self, child: int, parents: Sequence[int]) -> float:
        return self.measured.cost(child, parents)

    def costs(self, child: int, varsets: NDArray[np.uint64], halt: NDArray[np.uint8]) -> NDArray[np.float64]:
        return self.measured.columns[child].costs(child, varsets, self.measured.price, halt)

    def least(self, child: int) -> float:
        measured, must = self.measured, self.constraints.parents_required(child)
        return float(measured.columns[child].least_costs(measured.price)[child]) + measured.price * len(must)

    def families_of(self, child: int, part: int, slack: float, halt: NDArray[np.uint8]) -> Found:
        return self.searched(child, slack, everything()._replace(effort=self.tried), halt)

    def searched(
        self, child: int, slack: float, interest: Interest, halt: NDArray[np.uint8], most: int | None = None
    ) -> Found:
        """As `families_of` those of interest; most: parents beside those that must be, if there is such a limit. If
        more are found than the interest has the search may be given up, and so may it be after its effort."""
        covariances, must, asked, own = self._asked(child, slack, most)
        records = self.measured.columns[child].records
        search = functools.partial(_search, covariances, records, must, asked, self._of_rows(interest))
        found, _ = all_found(search, words(len(own)), halt)
        count, counted = found.counts.tolist()
        named = self.named(child, own, found.masks[:count], counted, halt)
        if count > interest.most >= named.costs.size:  # some are not allowed
            return self.searched(child, slack, interest._replace(most=ANY_NUMBER), halt, most)
        return named

    def climbed(
        self, child: int, interest: Interest, starts: NDArray[np.bool_], room: int, halt: NDArray[np.uint8]
    ) -> Found:
        """So many families at most on the way from these sets (s, m) of a child's candidates to some of interest."""
        covariances, must, asked, own = self._asked(child, 0.0, None)
        masks, records = np.zeros((room, words(len(own))), np.uint64), self.measured.columns[child].records
        given = starts, covariances, records, must, asked, self._of_rows(interest), halt, masks
        written = climb_regressions(*given)
        return self.named(child, own, masks[:written], written, halt)

    def _asked(self, child: int, slack: float, most: int | None) -> tuple[NDArray[np.float64], int, Asked, list[int]]:
        """What kernels read of a child, who count rows: the covariances, of how many parents that must be, what is
        asked, and the candidates."""
        columns, price, each = self.measured.columns[child], self.measured.price, self.data.each
        must, own = list(self.constraints.parents_required(child)), self.constraints.candidates(child).tolist()
        limit = min(int(self.constraints.limits[child]), columns.largest - 1) - len(must)
        limit = limit if most is None else min(limit, most)
        rows = columns.factor[[*must, *own, child]]
        own_cost = float(columns.own[child])
        asked = Asked(limit, price / each, self.arc / each, columns.slack(slack) / each, own_cost / each)
        return rows @ rows.T, len(must), asked, own

    def _of_rows(self, interest: Interest) -> Interest:
        """The same where costs are those of rows that count once."""
        each = self.data.each
        cuts = interest.cuts._replace(multipliers=interest.cuts.multipliers / each)
        return interest._replace(cuts=cuts, reduced=interest.reduced / each)


def _search(
    covariances: NDArray[np.float64],
    records: int,
    must: int,
    asked: Asked,
    interest: Interest,
    known: Known,
    found: FoundFamilies,
    halt: NDArray[np.uint8],
) -> int:
    return int(search_regressions(covariances, records, must, asked, interest, known, found, halt))
