"""Node averages: each family is costed over the records that lack none of its values (Balov 2013; Bodewes and Scutari
2021).

cost(X | P) = N_X / n LL + price K     (nats)

N_X is the number of records in which X was not set from outside, all as a rule; n of them lack neither X nor a parent,
and LL is minus the largest log-likelihood of these; price is what a free parameter costs by all records, and K how many
there are. A family is not allowed if n = 0. Where nothing is missing that is the ordinary score.

It does not fall with more parents even but for the penalty: these change which records count. So children share no
lattice, and the usual rules do not hold. These do, for parents P of a child X, of which M are those that have missing
values:

1. A subset that costs no more takes the place of P, as by every sum of families.
2. LL is not negative. So P and all its supersets cost their penalty at least, which never falls with more parents.
3. Let S be a superset of P with the same M, and Y one of S - P, which is complete. S and S - Y count the same records.
   So S - Y costs no more than its LL, at most that of P, and its penalty. If Y multiplies the penalty of P by r_Y, it
   adds penalty(S) (1 - 1 / r_Y) >= penalty(P) (r_Y - 1) to S: if that is no less than N_X / n LL(P), S - Y takes the
   place of S.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Dataset, distinct_rows
from extbnsl.kernels.varsets import pack
from extbnsl.parents.best_score import as_bytes
from extbnsl.parents.exhaustive.averaged_search import AveragedFrames, AveragedTask, search_averaged
from extbnsl.parents.exhaustive.children import Found
from extbnsl.parents.exhaustive.one_by_one import ChildSource
from extbnsl.parents.exhaustive.whole_records import check_required
from extbnsl.parents.pruning import ROUNDING, with_rounding
from extbnsl.scores.cells import cells_of
from extbnsl.scores.counting import mlogm_table
from extbnsl.scores.score import ParameterScore, penalty_of

ROOM = 4096  # families that a search hands over at a time
MOST_CHILD_PARTS = 32  # of a child's search, at most
PART_ROWS = 1 << 30  # rows, times parent sets, of a search that is one part: some seconds


@dataclass(frozen=True)
class AveragedStates(ChildSource):
    """States of which some are missing, by a price of each parameter."""

    data: Dataset
    score: ParameterScore

    @cached_property
    def rows(self) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
        """The distinct records (d, n), and how many there are of each, where nothing was set from outside."""
        return distinct_rows(self.data.codes)

    @cached_property
    def alike(self) -> NDArray[np.bool_]:
        """Which variables have one state and no gaps, (n,): they tell nothing."""
        return np.asarray((self.data.codes == self.data.codes[:1]).all(axis=0) & ~self.data.incomplete)

    def check(self) -> None:
        check_required(self, self.constraints)

    def cost(self, child: int, parents: Sequence[int]) -> float:
        return self.score.cost(cells_of(self.data, child, parents))

    def least(self, child: int) -> float:
        return self._penalty(child, self.constraints.parents_required(child))

    def parts(self, child: int) -> int:
        candidates = self._candidates(child)
        most = min(int(self.constraints.limits[child]), candidates.size)
        sets = sum(math.comb(candidates.size, size) for size in range(most + 1))
        return 1 if sets * self.data.records <= PART_ROWS else max(1, min(MOST_CHILD_PARTS, candidates.size))

    def families_of(self, child: int, part: int, slack: float, halt: NDArray[np.uint8]) -> Found:
        must, n = self.constraints.parents_required(child), self.data.variables
        alone = self.cost(child, must)
        base = pack(must, n)
        varsets, costs, counted = [as_bytes(base)[None]], [np.array([alone])], 1
        if part:
            varsets, costs, counted = [np.zeros((0, as_bytes(base).size), np.uint8)], [np.zeros(0)], 0
        task, frames = self._begun(child, part, slack, alone)
        over = task.most <= 0
        while not over and not halt[0]:
            room = np.empty((ROOM, frames.varset.size), np.uint8), np.empty(ROOM)
            over, written, more = search_averaged(task, frames, halt, *room)
            varsets.append(room[0][:written])
            costs.append(room[1][:written])
            counted += more
        found = np.ascontiguousarray(np.concatenate(varsets)).view("<u8").astype(np.uint64, copy=False)
        return Found(found, np.concatenate(costs), counted)

    def _candidates(self, child: int) -> NDArray[np.int64]:
        """The parents that may be added, those with missing values first, each by their states."""
        if self.alike[child]:
            return np.zeros(0, np.int64)
        own = self.constraints.candidates(child)
        own = own[~self.alike[own]]
        return own[np.lexsort((own, self.data.arities[own], ~self.data.incomplete[own]))]

    def _penalty(self, child: int, parents: Sequence[int]) -> float:
        arities = self.data.arities
        states = math.prod(arities[list(parents)].tolist())
        return penalty_of(self.score.parameter(self.data.total), int(arities[child]), states)

    def _begun(self, child: int, part: int, slack: float, alone: float) -> tuple[AveragedTask, AveragedFrames]:
        """What a part of a child's search reads, and its stack with the parents that must be."""
        data, must, candidates = self.data, self.constraints.parents_required(child), self._candidates(child)
        targets = data.targets
        own = data.records if targets is None else int(targets.left(child).sum())
        rows, weights = self.rows
        if targets is not None and own < data.records:
            rows, weights = distinct_rows(data.codes[targets.left(child)])
        whole = (rows[:, [child, *must]] != data.arities[[child, *must]]).all(axis=1)
        rows, weights = rows[whole], weights[whole]
        cells = np.zeros(len(rows), np.int64)
        if must:
            cells = np.unique(rows[:, must], axis=0, return_inverse=True)[1].reshape(-1)
        arities, d = data.arities[candidates], len(rows)
        penalty, wide = self._penalty(child, must), with_rounding(slack, alone)
        with np.errstate(over="ignore"):
            dearest = penalty * np.cumprod(np.sort(arities).astype(np.float64))
        margin = ROUNDING * (1.0 + own * math.log(own + 1.0))
        most = min(int(self.constraints.limits[child]) - len(must), int((dearest < alone + wide + margin).sum()))
        task = AveragedTask(
            codes=np.ascontiguousarray(rows.T[candidates]),
            arities=arities,
            variables=candidates,
            gaps=int(data.incomplete[candidates].sum()),
            states=rows[:, child].astype(np.int64),
            weights=weights.astype(np.int64),
            arity=int(data.arities[child]),
            own=float(own),
            most=most,
            slack=wide,
            margin=margin,
            every=self.parts(child),
            mlogm=mlogm_table(own, data.each),
        )
        depth, largest = max(1, most), int(arities.max(initial=1))
        frames = AveragedFrames(
            rows=np.zeros((depth, d), np.int64),
            ends=np.zeros((depth, d), np.int64),
            cells=np.zeros(depth, np.int64),
            records=np.zeros(depth, np.int64),
            penalty=np.zeros(depth),
            misfit=np.zeros(depth),
            best=np.zeros(depth),
            cursor=np.zeros(depth, np.int64),
            path=np.zeros(depth, np.int64),
            varset=as_bytes(pack(must, data.variables)).copy(),
            top=np.zeros(1, np.int64),
            joint=np.zeros((largest, task.arity), np.int64),
            alone=np.zeros(largest, np.int64),
        )
        frames.rows[0] = np.argsort(cells, kind="stable")
        ends = np.cumsum(np.bincount(cells))
        frames.ends[0, : ends.size], frames.cells[0] = ends, ends.size
        frames.records[0] = weights.sum()
        frames.penalty[0], frames.misfit[0], frames.best[0] = penalty, alone - penalty, alone
        frames.cursor[0] = part
        return task, frames
