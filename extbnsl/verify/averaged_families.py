"""The families that matter to a bound where values are missing, counted again by the node average.

As `families` has it for misfit and penalty, but that each family goes by the records that lack none of its values:
N_X / n times the misfit of these n, for N_X records in which the child was not set, and the penalty by all records. A
family without such a record is none, nor are its supersets.

Nothing is known of supersets but that they cost their penalty at least, and that never falls. So parent sets are gone
through one by one, from their first member on, and left out with all their supersets if the penalty alone

1. is no less than what a subset costs, which takes their place, or
2. is no less than the threshold and all that cuts take from any family of the child.

A set alone is left out if it costs no less than a subset on the way to it. Where there is a lead, a subset
must be cheaper by that.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Dataset
from extbnsl.kernels.varsets import pack, words
from extbnsl.machine.workers import Workers
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.averaged_search import AveragedChild, AveragedSets, bit_of, search_averages
from extbnsl.verify.demands import Demands
from extbnsl.verify.families import (
    FLOAT_ERROR,
    FamilySource,
    RecountedFamilies,
    Taken,
    Tell,
    each_searched,
    handed_over,
)
from extbnsl.verify.passes import WeightedCuts
from extbnsl.verify.rescoring import Scored, parameter_cost

ROOM = 4096  # families that a search hands over at a time


@dataclass(frozen=True)
class _Averaged(FamilySource):
    """The records that count for the children, and what is demanded."""

    dataset: Dataset
    claim: Scored
    demands: Demands
    workers: Workers
    leads: NDArray[np.float64]
    priced: int  # by how many records a parameter is
    rows: NDArray[np.int64]  # (d, n) distinct, -1 where a value is missing
    weights: NDArray[np.int64]  # (d,)

    def below(self, thresholds: Mapping[int, int], cuts: WeightedCuts, tell: Tell) -> list[RecountedFamilies]:
        return each_searched(_search, self, (self.dataset.variables, self.workers), thresholds, cuts, tell)

    def price(self, child: int) -> float:
        """The penalty of each joint state of the parents, in nats."""
        return parameter_cost(self.claim, self.priced) * (int(self.dataset.arities[child]) - 1)

    def scale(self, child: int) -> float:
        records = self.dataset.records
        return records * math.log(records + 1.0) + self.price(child)

    def error(self, child: int) -> float:
        """What the cost of a family may be off, in nats: a sum of at most two terms for each row, one by one, each off
        by a few units of its last place, and three products."""
        return (8 * self.weights.size + 64) * FLOAT_ERROR * self.scale(child)


def families_by_averages(
    dataset: Dataset, claim: Scored, demands: Demands, workers: Workers, leads: NDArray[np.float64], priced: int
) -> _Averaged:
    """What counts in records of states of which some are missing. leads (n,): a subset beats a family if it costs less
    by more than this, in nats. priced: by how many records a parameter is.

    `below` raises Stopped when the workers halt, and TooMuch at MOST_FAMILIES. Some nanoseconds for each distinct row
    and parent set.
    """
    rows, weights = np.unique(dataset.codes, axis=0, return_counts=True)
    states = np.where(rows < dataset.arities, rows.astype(np.int64), -1)
    return _Averaged(dataset, claim, demands, workers, leads, priced, states, weights.astype(np.int64))


def _search(problem: _Averaged, child: int, threshold: int, taken: Taken) -> RecountedFamilies:
    """All families of one child that matter."""
    demands, arities, n = problem.demands, problem.dataset.arities, problem.dataset.variables
    must, candidates = sorted(demands.must[child]), sorted(demands.may[child] - demands.must[child])
    has = (problem.rows[:, [child, *must]] >= 0).all(axis=1)
    rows, weights, first = problem.rows[has], problem.weights[has], pack(must, n)
    margin = problem.margin(child)
    joint = math.prod(float(arities[p]) for p in must)
    task = AveragedChild(
        columns=np.ascontiguousarray(rows.T[candidates]),
        arities=arities[candidates],
        words=np.array(candidates, np.int64) // 64,
        bits=np.array([bit_of(v) for v in candidates], np.uint64),
        own=np.ascontiguousarray(rows[:, child]),
        states=int(arities[child]),
        weights=weights,
        records=int(problem.weights.sum()),
        price=problem.price(child),
        most=min(demands.most[child] - len(must), len(candidates)),
        lead=margin + float(problem.leads[child]),
        below=(threshold + sum(taken.multipliers.tolist())) / UNITS_PER_NAT + margin,
        logs=_logs(int(problem.weights.sum())),
    )
    base, count = np.zeros(len(rows), np.int64), 1
    if must:
        base = np.unique(rows[:, must], axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        count = int(base.max(initial=0)) + 1
    alone = _misfit_of(base, task) + task.price * joint
    parts = [(first[None], np.array([alone]))] if weights.size else []
    if weights.size and task.most > 0:
        frames = _begun(task, base, count, joint, alone, first)
        room = np.empty((ROOM, words(n)), np.uint64), np.empty(ROOM)
        matter = f"of {problem.dataset.names[child]!r} matter to it"
        rest = handed_over(
            lambda top: search_averages(top, task, frames, problem.workers.halt, *room), room, problem.workers, matter
        )
        parts += [(varsets, costs) for varsets, costs in rest]
    if not parts:
        return RecountedFamilies(np.zeros((0, words(n)), np.uint64), np.zeros(0))
    return RecountedFamilies(*map(np.concatenate, zip(*parts, strict=True)))


def _misfit_of(base: NDArray[np.int64], task: AveragedChild) -> float:
    """The misfit of the child given numbered states of each row, as many times as there are records for one that is
    counted."""
    if not base.size:
        return 0.0
    alone, both = np.bincount(base, task.weights), np.bincount(base * task.states + task.own, task.weights)
    misfit = math.fsum(task.logs[alone.astype(np.int64)].tolist()) - math.fsum(
        task.logs[both.astype(np.int64)].tolist()
    )
    return misfit * task.records / int(task.weights.sum())


def _begun(
    task: AveragedChild, base: NDArray[np.int64], count: int, joint: float, alone: float, first: NDArray[np.uint64]
) -> AveragedSets:
    """A stack with the parents that must be."""
    depth, d, most = task.most + 1, task.own.size, int(task.arities.max(initial=1))
    frames = AveragedSets(
        numbers=np.zeros((depth, d), np.int64),
        counts=np.zeros(depth, np.int64),
        joint=np.zeros(depth),
        cheapest=np.zeros(depth),
        following=np.zeros(depth, np.int64),
        path=np.zeros(depth, np.int64),
        varset=first.copy(),
        new=np.zeros(max(count, d) * most, np.int64),
        alone=np.zeros(max(count, d), np.int64),
        both=np.zeros(max(count, d) * task.states, np.int64),
    )
    frames.numbers[0], frames.counts[0], frames.joint[0], frames.cheapest[0] = base, count, joint, alone
    return frames


def _logs(records: int) -> NDArray[np.float64]:
    """m ln m up to so many records."""
    counts = np.arange(records + 1, dtype=np.float64)
    return counts * np.log(np.maximum(counts, 1.0))
