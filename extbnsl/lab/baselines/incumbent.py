"""The best network that a baseline knows: from a local search over orders, and from what the method comes upon."""

import math

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import tolerance
from extbnsl.core.events import IncumbentFound
from extbnsl.kernels.varsets import add, pack
from extbnsl.orders.local_search import USUAL
from extbnsl.parents.components import Component
from extbnsl.proof.context import Context
from extbnsl.proof.incumbents import best_order
from extbnsl.scores.local import LocalScores


class BestKnown:
    """The best network of local scores that is known: rows (n,) int64, of each child the number of its family; cost, in
    nats.

    It begins with what a local search over orders finds, which a stop cuts short but does not prevent. The observer is
    told of what is better.
    """

    def __init__(self, scores: LocalScores, context: Context) -> None:
        self._scores = scores
        self._observer = context.observer
        whole = Component(tuple(range(scores.variables)), scores.parents, scores.costs)
        order = best_order(whole, context.methods.seed, USUAL, context).order
        rows = rows_along(order, scores)
        assert rows is not None, "an order with a network"
        self.rows = rows
        self.cost = cost_of(self.rows, scores)
        self._observer(IncumbentFound(self.cost))

    @property
    def limit(self) -> float:
        """What a network must cost less than to be better, in nats."""
        return self.cost - tolerance(self.cost)

    def hear(self, rows: NDArray[np.int64] | None, lower_bound: float) -> None:
        """Take these rows, of an acyclic network, if that is better."""
        cost = math.inf if rows is None else cost_of(rows, self._scores)
        if rows is not None and cost < self.limit:
            self.rows, self.cost = rows, cost
            self._observer(IncumbentFound(cost, lower_bound))


def rows_along(order: NDArray[np.int64], scores: LocalScores) -> NDArray[np.int64] | None:
    """Of each child the number of its cheapest family along an order (n,) of the variables: int64 (n,), or None if a
    child has none there. O(families)."""
    rows, before = np.zeros(scores.variables, np.int64), pack((), scores.variables)
    for child in order.tolist():
        inside = ~(scores.parents[child] & ~before).any(axis=1)
        rows[child] = inside.argmax()
        if not inside[rows[child]]:
            return None
        add(child, before)
    return rows


def cost_of(rows: NDArray[np.int64], scores: LocalScores) -> float:
    """What the families of these numbers (n,) cost together, in nats."""
    return math.fsum(float(own[row]) for own, row in zip(scores.costs, rows.tolist(), strict=True))
