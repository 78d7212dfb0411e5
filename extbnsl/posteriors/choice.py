"""Which nodes of a layer are kept: those through which most goes, as many as there may be; what the others may bring
is added up.
"""

import math

import numpy as np
from numpy.typing import NDArray

from extbnsl.posteriors.steps import Nodes

ADDED = 2.0**-20  # what a sum of many terms, or its logarithm, may lack by rounding, and more
FAINT = 100.0  # nats below what is allowed: less than this is counted as this


def log_of_sum(logs: NDArray[np.float64]) -> float:
    """The logarithm of a sum of numbers, from theirs; -inf of none."""
    top = float(logs.max(initial=-math.inf))
    return top + math.log(float(np.exp(logs - top).sum())) if math.isfinite(top) else top


class Choice:
    """The nodes of a layer that are kept, as they come, ascending, each with the logarithm of what goes through it at
    most: at most `most`, and the greatest; among equal ones the smaller varset.

    guarded: a node that always stays. dropped: the logarithm of what all that were dropped may bring, those of layers
    before too; log_allowed: that up to which nodes are dropped though there is room. floor: what brings less is dropped
    at once; it is so low that all such bring less than is allowed. capped: whether nodes went for want of room.
    """

    def __init__(self, most: int, guarded: int, dropped: float, log_allowed: float, floor: float) -> None:
        self.dropped, self.capped = dropped, False
        self.most, self._guarded, self._log_allowed, self._floor = most, guarded, log_allowed, floor
        self._pieces: list[tuple[Nodes, NDArray[np.float64]]] = []
        self._count = 0

    def add(self, nodes: Nodes, through: NDArray[np.float64]) -> None:
        """Nodes that follow those before; through (m,) float64."""
        through = np.where(nodes.varsets == np.uint64(self._guarded), np.inf, through)
        self._keep(nodes, through, (through > self._floor) & (nodes.mantissas > 0.0))
        if self._count > 2 * self.most:
            self._thin()

    def made(self) -> Nodes:
        """The nodes of the layer, when all have come."""
        self._thin()
        nodes, through = self._whole()
        if self._log_allowed > self.dropped:
            order = np.lexsort((-np.arange(through.size), through))  # the least first, of equal ones the last
            brought = np.exp(np.clip(through[order] - self._log_allowed, -FAINT, FAINT)).cumsum()
            room = 1.0 - math.exp(self.dropped - self._log_allowed) - ADDED
            stays = np.ones(through.size, np.bool_)
            stays[order[: np.searchsorted(brought, room, side="right")]] = False
            self._keep(nodes, through, stays)
            nodes, through = self._whole()
        return nodes

    def _keep(self, nodes: Nodes, through: NDArray[np.float64], stays: NDArray[np.bool_]) -> None:
        brought = log_of_sum(through[~stays]) + ADDED
        self.dropped = log_of_sum(np.array([self.dropped, brought])) + (ADDED if brought > -math.inf else 0.0)
        self._pieces.append((nodes.where(stays), through[stays]))
        self._count += int(stays.sum())

    def _whole(self) -> tuple[Nodes, NDArray[np.float64]]:
        columns = zip(*(piece for piece, _ in self._pieces), strict=True)
        whole = Nodes(*map(np.concatenate, columns)), np.concatenate([own for _, own in self._pieces])
        self._pieces, self._count = [], 0
        return whole

    def _thin(self) -> None:
        """Drop all but the `most` greatest."""
        nodes, through = self._whole()
        stays = np.ones(through.size, np.bool_)
        if through.size > self.most:
            least = np.partition(through, through.size - self.most)[through.size - self.most]
            stays = through > least
            equal = np.flatnonzero(through == least)
            stays[equal[: self.most - int(stays.sum())]] = True
            self.capped = True
        self._keep(nodes, through, stays)
