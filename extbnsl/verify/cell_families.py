"""The families of a child that matter to a bound, by scores of their cells: BDeu, BDs, K2, fNML, qNML.

As `families` has it for scores of misfit and penalty. A parent set is left out, with all its supersets, if either

1. some subset costs no more than what the set and all its supersets cost at least (the subset takes their place;
   nothing is left out for that where `every` family is asked for), or
2. that, less what is taken from the set, is at least the threshold: no more is taken from a superset.

What a set P and its supersets cost at least:

- by BDeu, BDs and K2, ln r for each joint state of P and the child that occurs. The first record that has it, among
  those that agree in a superset, has the predictive probability (a / r) / (a + records before) <= 1 / r. Besides,
  N H(X | all other variables), as no marginal likelihood is above the largest likelihood;
- by fNML and qNML N H(X | all other variables) and the penalty, which never falls when parents are added.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.claims import INTERRUPTED
from extbnsl.data import Dataset
from extbnsl.kernels.varsets import pack, words
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.verify import cell_search
from extbnsl.verify.cell_search import CellChild, new_cell_frames, search_cells
from extbnsl.verify.demands import Demands
from extbnsl.verify.families import (
    FLOAT_ERROR,
    MOST_FAMILIES,
    ROOM,
    SOLVER_ERROR,
    FamilySource,
    RecountedFamilies,
    Taken,
    reach_of,
)
from extbnsl.verify.rescoring import MOST_STATES, family_cost, log_regret, log_regrets_by_states
from extbnsl.verify.units import UNITS_PER_NAT, TooMuch

KINDS = {
    "bdeu": cell_search.SPREAD,
    "bds": cell_search.OCCURRING,
    "k2": cell_search.FIXED,
    "fnml": cell_search.CELL_REGRET,
    "qnml": cell_search.STATE_REGRET,
}
WIDEST = 690.0  # logarithm of the most joint states that a float holds


def families_by_cells(
    dataset: Dataset, score: str, ess: float | None, demands: Demands, workers: Workers, every: bool = False
) -> FamilySource:
    """What counts in the data by one of KINDS; every: also the families that a subset beats.

    `below` raises Stopped when the workers halt, and TooMuch at MOST_FAMILIES. Time per parent set: some nanoseconds
    per distinct row, and some ten per joint state.
    """
    rows, weights = np.unique(dataset.codes, axis=0, return_counts=True)
    problem = _Counted(dataset, score, ess, demands, every, rows.T.astype(np.int64), weights.astype(np.int64))
    return FamilySource(
        lambda child, threshold, taken: _search(problem, child, threshold, taken, workers), problem.rounding
    )


@dataclass(frozen=True)
class _Counted:
    """The data as distinct rows, codes (n, d) with weights (d,), by which score, what is demanded, and every."""

    dataset: Dataset
    score: str
    ess: float | None
    demands: Demands
    every: bool
    codes: NDArray[np.int64]
    weights: NDArray[np.int64]

    def scale(self, child: int) -> float:
        """No sum on the way to the cost of a family is larger, in nats."""
        records = self.dataset.records
        states = min(WIDEST, float(np.log(self.dataset.arities).sum()))
        return records * (math.log(records + 1.0) + states + abs(math.log(self.ess or 1.0)) + 2.0)

    def error(self, child: int) -> float:
        """What the cost of a family may be off, in nats: of at most d terms, each off by some units of its last
        place."""
        return (8 * self.weights.size + 64) * FLOAT_ERROR * self.scale(child)

    def margin(self, child: int) -> float:
        """What is beaten by more than this is truly beaten, in nats."""
        return 4.0 * self.error(child) + 2.0 / UNITS_PER_NAT

    def rounding(self, child: int) -> float:
        """What costs of this count and of the solver's may be apart, and its sums off, in nats."""
        return 2.0 * self.error(child) + SOLVER_ERROR * self.scale(child) + 2.0 / UNITS_PER_NAT

    def cost(self, child: int, parents: tuple[int, ...], score: str | None = None) -> float:
        return family_cost(self.dataset, child, parents, score or self.score, None if score else self.ess)


def _search(problem: _Counted, child: int, threshold: int, taken: Taken, workers: Workers) -> RecountedFamilies:
    """All families of one child that matter, with c' below the threshold."""
    n = problem.dataset.variables
    base = tuple(sorted(problem.demands.must[child]))
    width, alone, first = words(n), problem.cost(child, base), pack(base, n)
    parts = [RecountedFamilies(first[None, :], np.array([alone]))]
    apart: NDArray[np.bool_] = np.logical_not((taken.clusters & first).any(axis=1))
    lead = math.inf if problem.every else problem.margin(child)
    reach = min(alone + lead, reach_of(threshold, taken.multipliers[apart], problem.margin(child)))
    own = _child(problem, child, base, taken, (lead, threshold, reach))
    if own.candidates.size == 0 or own.depth == 0:
        return parts[0]
    groups = np.zeros(problem.weights.size, np.int64)
    if base:
        groups = np.unique(problem.codes[list(base)], axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
    states = float(math.prod(problem.dataset.arities[list(base)].tolist()))
    frames = new_cell_frames(own, alone, first, groups, states, apart)
    varsets, costs = np.empty((ROOM, width), np.uint64), np.empty(ROOM)
    top, written = 0, 0
    while top >= 0:
        top, count = search_cells(top, own, frames, workers.halt, varsets, costs)
        if workers.halt[0]:
            raise Stopped(workers.stop() or INTERRUPTED)
        parts.append(RecountedFamilies(varsets[:count].copy(), costs[:count].copy()))
        written += count
        if written > MOST_FAMILIES:
            name = problem.dataset.names[child]
            raise TooMuch(f"more than {MOST_FAMILIES:,} parent sets of {name!r} matter to it")
    return RecountedFamilies(*map(np.concatenate, zip(*parts, strict=True)))


def _child(
    problem: _Counted, child: int, base: tuple[int, ...], taken: Taken, goal: tuple[float, int, float]
) -> CellChild:
    """What the kernels read, the candidates with the cheapest single families first; goal: the lead, the threshold and
    what families that matter cost less than."""
    lead, threshold, reach = goal
    dataset, arities = problem.dataset, problem.dataset.arities
    records, arity = dataset.records, int(arities[child])
    possible = problem.demands.may[child] - problem.demands.must[child]
    least = 1 if problem.every else 2  # states of a parent that tells something, or costs something
    candidates = np.array([y for y in np.flatnonzero(arities >= least).tolist() if y in possible], np.int64)
    singles = [problem.cost(child, (*base, y)) for y in candidates.tolist()]
    candidates = candidates[np.argsort(singles, kind="stable")]
    most = min(problem.demands.most[child] - len(base), candidates.size)
    states = math.prod(arities[[*base, *candidates.tolist()]].tolist())
    counts = np.arange(records + 1, dtype=np.float64)
    inside = taken.clusters[:, candidates // 64] >> (candidates % 64).astype(np.uint64) & np.uint64(1)
    return CellChild(
        kind=KINDS[problem.score],
        size=float(arity) if problem.score == "k2" else problem.ess or 1.0,
        floor=max(0.0, _floor(problem, child) - problem.margin(child)),
        margin=problem.margin(child),
        lead=lead,
        threshold=threshold,
        depth=most,
        candidates=candidates,
        arities=arities[candidates].astype(np.float64),
        arity=float(arity),
        codes=np.ascontiguousarray(problem.codes[candidates]),
        states=problem.codes[child],
        weights=problem.weights,
        mlogm=counts * np.log(np.maximum(counts, 1.0)),
        regrets=np.array([log_regret(m, arity) for m in range(records + 1)] if problem.score == "fnml" else [0.0]),
        state_regrets=_state_regrets(records, arity, reach, states) if problem.score == "qnml" else np.zeros(1),
        hits=np.ascontiguousarray(inside.astype(np.int64) * taken.multipliers[:, None]),
        multipliers=taken.multipliers,
    )


def _floor(problem: _Counted, child: int) -> float:
    """N H(child | all other variables), in nats: the least misfit there is."""
    others = np.delete(problem.codes, child, axis=0)
    _, groups = (
        np.unique(others, axis=1, return_inverse=True) if others.size else (None, np.zeros(len(problem.weights)))
    )
    together = np.bincount(groups.reshape(-1).astype(np.int64), problem.weights)[groups.reshape(-1).astype(np.int64)]
    return -math.fsum((problem.weights * np.log(problem.weights / together)).tolist())


def _state_regrets(records: int, arity: int, reach: float, most: int) -> NDArray[np.float64]:
    """ln C(N, K) for K = 0, 1, ... up to where the penalty alone is more than so many nats, or parents have no more
    states."""
    states = 256
    while states < min(MOST_STATES, most):
        regrets = log_regrets_by_states(records, states * arity)
        if regrets[-1] - regrets[states] > reach:
            break
        states *= 4
    return log_regrets_by_states(records, states * arity)
