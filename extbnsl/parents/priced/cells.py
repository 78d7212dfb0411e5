"""Families by price of columns of states, by scores of cells."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.cells_by_child import (
    CellSearches,
    as_words,
    children_searched,
    dearest_first,
    frames_of,
    open_node,
    order_of,
    root_of,
    searches_of,
    task_of,
)
from extbnsl.parents.exhaustive.children import Child
from extbnsl.parents.exhaustive.problem import CountingProblem, Families
from extbnsl.parents.exhaustive.state import Enumeration, Means
from extbnsl.parents.priced.climbing import climb
from extbnsl.parents.priced.sweeps import swept

ROOM = 1 << 14  # families on the way of a child's climbs


@dataclass(frozen=True)
class PricedCells:
    """The children of a problem; order (n,) int64: in which candidates are decided. See `rounds.Priced`."""

    problem: CountingProblem
    order: NDArray[np.int64]

    @classmethod
    def of(cls, problem: CountingProblem, workers: Workers) -> "PricedCells":
        """Of a problem whose score is one of cells. Raises Stopped."""
        return cls(problem, workers.run(order_of, problem.rows))

    @property
    def among(self) -> NDArray[np.bool_]:
        return self.problem.limits >= 0

    @property
    def lowest(self) -> float:
        return 0.0  # no family costs less than nothing

    def children(self, found: Enumeration) -> tuple[Child, ...]:
        return dearest_first(self.problem, found)

    def searches(self, found: Enumeration, means: Means) -> "RoundOfCells":
        return RoundOfCells(searches_of(self.problem, self.order, found, means))


@dataclass(frozen=True)
class RoundOfCells:
    """The searches of a round. See `rounds.Searches`."""

    of: CellSearches

    def searched(self, found: Enumeration, means: Means, begun: dict[int, Any]) -> Iterator[Enumeration]:
        return children_searched(self.of, found, means, begun)

    def swept(self, found: Enumeration, means: Means) -> Enumeration:
        return swept(self.of, found, means)

    def candidates(self, child: Child) -> NDArray[np.int64]:
        return child.variables

    def climb(self, child: Child, known: Families, starts: NDArray[np.bool_], halt: NDArray[np.uint8]) -> Families:
        problem = self.of.problem
        root, task = root_of(child, problem), task_of(child, self.of, known)
        width = 8 * root.shape[2]
        frames = frames_of(task, width)
        open_node(root[0, 0], root[0, 1], task, frames, child, problem)
        room = np.zeros((ROOM, width), np.uint8), np.empty(ROOM)
        inside = np.ascontiguousarray(starts[:, np.searchsorted(child.variables, task.variables)])
        written = climb(inside, task, frames, halt, room)
        return as_words(room[0][:written]), room[1][:written]
