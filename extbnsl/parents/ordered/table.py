"""What the search for one child's parents works on: its candidates and the distinct rows over them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Dataset, distinct_rows
from extbnsl.parents.exhaustive.problem import alone
from extbnsl.scores.score import ParameterScore, most_parents

TIE = 1e-9  # nats; costs that differ by less are equal


class ChildTable(NamedTuple):
    """A child X and the m candidates for its parents, in the given order, with d weighted distinct rows over them.

    states (m, d) uint16 of the candidates and child (d,) uint16 of X; weights (d,) uint32, whose sum N is below 2^32;
    arities (m,) int64 and child_arity: declared numbers of states; parameter: nats of a free parameter; mlogm (N + 1,)
    float64: m ln m.
    """

    states: NDArray[np.uint16]
    child: NDArray[np.uint16]
    weights: NDArray[np.uint32]
    arities: NDArray[np.int64]
    child_arity: int
    parameter: float
    mlogm: NDArray[np.float64]

    def check(self) -> None:
        """Raise AssertionError if this cannot be."""
        m, d = self.states.shape
        assert self.arities.shape == (m,), "a number of states for each candidate"
        assert self.child.shape == self.weights.shape == (d,), "a state of the child and a weight for each row"
        assert (self.states < self.arities[:, None]).all(), "states are below the arity"
        assert (self.child < self.child_arity).all(), "states of the child are below its arity"
        assert (self.weights > 0).all(), "no row is without records"
        assert self.mlogm.size == int(self.weights.sum()) + 1, "m ln m for every count"
        assert self.parameter >= 0.0, "penalties do not fall"


def candidates(dataset: Dataset, child: int, predecessors: Sequence[int], score: ParameterScore) -> list[int]:
    """Those predecessors, in their order, that can be in a parent set that costs less than the empty one.

    A constant adds nothing to what is known of the child; and where the penalty of a single parent alone is the cost of
    the empty set, no set with that parent costs less. O(predecessors).
    """
    own = alone(dataset, child)
    nothing = score.cost(own)
    arities = [len(dataset.states[v]) for v in predecessors]
    promising = {arity: score.least(replace(own, configurations=arity), 0.0) < nothing for arity in set(arities)}
    hopeful = [v for v, arity in zip(predecessors, arities, strict=True) if promising[arity]]
    first = dataset.codes[0, hopeful]
    differs = (dataset.codes[:, hopeful] != first).any(axis=0)
    return [v for v, varies in zip(hopeful, differs.tolist(), strict=True) if varies]


def child_table(
    dataset: Dataset, child: int, chosen: Sequence[int], score: ParameterScore, mlogm: NDArray[np.float64]
) -> ChildTable:
    """The table of a child and its candidates; O(N m + N log N)."""
    rows, weights = distinct_rows(np.ascontiguousarray(dataset.codes[:, [*chosen, child]]))
    columns = np.ascontiguousarray(rows.T)
    return ChildTable(
        states=columns[:-1],
        child=columns[-1],
        weights=weights.astype(np.uint32),
        arities=np.array([len(dataset.states[v]) for v in chosen], np.int64),
        child_arity=len(dataset.states[child]),
        parameter=score.parameter(dataset.records),
        mlogm=mlogm,
    )


def depth_limit(
    dataset: Dataset, child: int, chosen: Sequence[int], score: ParameterScore, max_parents: int | None
) -> int:
    """The most parents, among the candidates, that a set which costs less than the empty one can have.

    It is the safe form of Tian's eq. 25 (see `most_parents`), and at most `max_parents`.
    """
    arities = sorted(len(dataset.states[v]) for v in chosen)
    limit = most_parents(score, alone(dataset, child), 0.0, arities)
    return limit if max_parents is None else min(limit, max_parents)
