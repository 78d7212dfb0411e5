"""Node averages of columns of numbers, see averaged.py: regressions over the records that lack no value of a family.

A family is allowed if it is regular in its records (scores/gaussian.py). Misfits are those of densities, and have no
lower end as records change. So all sets of incomplete parents are gone through that some records are left for: a
regular family of k parents has k + 2 or more. But for each such set M, with complete parents the records stay, and the
usual rules hold: no parents leave less than all complete ones do, and LEAST_SHARE of the variance at least. So below a
parent set nothing is wanted if that and the price of one parent more come to no less than the set, or a subset, costs.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Numbers
from extbnsl.kernels.varsets import as_varsets, pack, words
from extbnsl.machine.workers import unhalted
from extbnsl.parents.exhaustive.averaged_search import standardise
from extbnsl.parents.exhaustive.children import Found
from extbnsl.parents.exhaustive.one_by_one import ChildSource
from extbnsl.parents.exhaustive.whole_records import check_required, least_of_numbers
from extbnsl.parents.pruning import with_rounding
from extbnsl.scores.determinants import least_left, unexplained
from extbnsl.scores.gaussian import LEAST_SHARE, OWN_PARAMETERS
from extbnsl.scores.known import parameter_price

BLOCK = 8192  # families that are costed at a time
MOST_CHILD_PARTS = 32  # of a child's search, at most
ROUNDING = 2.0**-45  # of a share, for each column: more than it is off


class _Records(NamedTuple):
    """The records of a child and some parents, as columns that make regressions.

    factor (m, r): see `unexplained`; the parents first, then complete candidates that vary, then the child. own: misfit
    of the child alone. least: what all of these leave, at least. times: how often each record counts. candidates: which
    of the source's.
    """

    factor: NDArray[np.float64]
    records: int
    own: float
    least: float
    times: float
    candidates: NDArray[np.int64]


@dataclass(frozen=True)
class AveragedNumbers(ChildSource):
    """Columns of numbers of which some are missing."""

    data: Numbers

    @property
    def price(self) -> float:
        """Of a parameter, in nats."""
        return parameter_price(self.claim, self.data.total)

    def check(self) -> None:
        check_required(self, self.constraints)

    def cost(self, child: int, parents: Sequence[int]) -> float:
        records = self._records(child, list(parents), np.zeros(0, np.int64))
        if records is None:
            return math.inf
        varsets = pack(range(len(parents)), len(parents) + 1)[None]
        return float(self._costs(records, varsets, len(parents), unhalted())[0])

    def least(self, child: int) -> float:
        misfit = least_of_numbers(self.data, child, self.data.values[:, child])
        return misfit + self.price * (len(self.constraints.parents_required(child)) + OWN_PARAMETERS)

    def parts(self, child: int) -> int:
        candidates = self.constraints.candidates(child)
        few = candidates.size < 12 or self.constraints.limits[child] < 3
        return 1 if few else min(MOST_CHILD_PARTS, int(candidates.size))

    def families_of(self, child: int, part: int, slack: float, halt: NDArray[np.uint8]) -> Found:
        must, candidates = list(self.constraints.parents_required(child)), self.constraints.candidates(child)
        gaps = candidates[self.data.incomplete[candidates]].tolist()
        complete = candidates[~self.data.incomplete[candidates]]
        most = int(self.constraints.limits[child]) - len(must)
        alone, parts = self.cost(child, must), self.parts(child)
        wide = with_rounding(slack, abs(alone))
        found, counted = list[tuple[NDArray[np.uint64], NDArray[np.float64]]](), 0
        for number, own in enumerate(_sets(gaps, most)):
            if halt[0]:
                break
            if number % parts != part:
                continue
            given = [*must, *own]
            records = self._records(child, given, complete)
            if records is None:
                continue
            for varsets, costs in self._families(records, given, most - len(own), alone, wide, halt):
                found.append((varsets, costs))
                counted += costs.size
        found.append((np.zeros((0, words(self.data.variables)), np.uint64), np.zeros(0)))
        varsets, costs = map(np.concatenate, zip(*found, strict=True))
        return Found(varsets, costs, counted)

    def _families(
        self,
        records: _Records,
        given: list[int],
        most: int,
        alone: float,
        slack: float,
        halt: NDArray[np.uint8],
    ) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.float64]]]:
        """The families of some parents and at most so many complete candidates, but for those that are beaten."""
        n, columns, base = self.data.variables, len(records.factor) - 1, len(given)
        waiting = [(np.zeros((1, 0), np.int64), np.full(1, math.inf))]
        while waiting and not halt[0]:
            members, best = waiting.pop()
            size = members.shape[1]
            chosen = np.zeros((len(members), columns + 1), bool)
            chosen[:, :base] = True
            np.put_along_axis(chosen, members, True, axis=1)
            costs = self._costs(records, as_varsets(chosen), len(given) + size, halt)
            everyone = np.zeros((len(members), n), bool)
            everyone[:, given] = True
            np.put_along_axis(everyone, records.candidates[members - base], True, axis=1)
            wanted = costs < best + slack if slack > 0.0 else costs < best
            yield as_varsets(everyone[wanted]), costs[wanted]
            best = np.minimum(best, costs)
            bar = records.least + self.price * (len(given) + size + 1 + OWN_PARAMETERS)
            last = members[:, -1] if size else np.full(len(members), base - 1)
            going = np.isfinite(costs) & (bar < np.minimum(best, alone) + slack) & (last + 1 < columns) & (size < most)
            for some in _blocks(np.flatnonzero(going), max(1, BLOCK // (columns + 1))):
                following = columns - 1 - last[some]
                rows, ends = np.repeat(some, following), np.cumsum(following)
                places = np.arange(rows.size) - np.repeat(ends - following, following)
                waiting.append((np.column_stack([members[rows], last[rows] + 1 + places]), best[rows]))

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Which values there are, (N, n)."""
        return ~np.isnan(self.data.values)

    def _records(self, child: int, given: list[int], complete: NDArray[np.int64]) -> _Records | None:
        """The records that lack no value of a child and these parents, with the complete candidates that may be added;
        None if the family is not allowed, whatever is added."""
        targets, family = self.data.targets, [child, *given]
        own = np.ones(self.data.records, np.bool_) if targets is None else targets.left(child)
        counted = own & self.known[:, family].all(axis=1)
        chosen = np.array([*given, *complete.tolist(), child])
        m = chosen.size
        factor, logs, room = np.empty((m, m)), np.empty(m), np.empty((m, self.data.records))
        records = int(standardise(self.data.values, chosen, counted, room, factor, logs))
        if records < len(family) + 1 or np.isinf(logs[: len(given)]).any() or np.isinf(logs[-1]):
            return None
        varies = np.flatnonzero(np.isfinite(logs))
        factor, times = np.ascontiguousarray(factor[varies]), self.data.each * int(own.sum()) / records
        if self.data.resolution:
            errors = np.array(self.data.resolution)[chosen[varies]] / np.exp(logs[varies])
            lengths = np.sqrt(1.0 + errors**2)
            grown = np.vstack([factor.T, np.diag(errors)]) / lengths
            factor = np.ascontiguousarray(np.asarray(np.linalg.qr(grown, mode="r")).T)
            logs[varies] += np.log(lengths)
        misfit = records * ((math.log(2 * math.pi) + 1) / 2 + float(logs[-1]))
        share = max(LEAST_SHARE, float(factor[-1, -1] ** 2))
        off = min(1.0, m * ROUNDING / share)
        least = times * (misfit + records / 2 * math.log(share) - records * off)
        return _Records(factor, records, misfit, least, times, chosen[varies[len(given) : -1]])

    def _costs(
        self, records: _Records, varsets: NDArray[np.uint64], parents: int, halt: NDArray[np.uint8]
    ) -> NDArray[np.float64]:
        """What families of these columns cost, infinity where they are singular: (m,)."""
        shares, left = np.ones(len(varsets)), np.ones(len(varsets))
        if records.records < parents + OWN_PARAMETERS:
            return np.full(len(varsets), math.inf)
        child = len(records.factor) - 1
        unexplained(child, varsets, records.factor, halt, shares)
        least_left(child, varsets, records.factor, halt, left)
        costs = records.times * (records.own + records.records / 2 * np.log(shares))
        costs += self.price * (parents + OWN_PARAMETERS)
        costs[left < LEAST_SHARE] = math.inf
        return costs


def _blocks(rows: NDArray[np.int64], most: int) -> Iterator[NDArray[np.int64]]:
    """The rows, so many at a time."""
    for first in range(0, rows.size, most):
        yield rows[first : first + most]


def _sets(members: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """All sets of at most so many of the members, small ones first."""
    for size in range(min(most, len(members)) + 1):
        yield from itertools.combinations(members, size)
