"""What a baseline gives: a network of local scores, what is proved of it, and what that took.
While it is at work it may keep the best network that it knows."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import tolerance
from extbnsl.core.events import IncumbentFound
from extbnsl.kernels.varsets import add, pack, unpack
from extbnsl.networks.network import Network
from extbnsl.orders.local_search import USUAL
from extbnsl.parents.components import Component
from extbnsl.proof.context import Context
from extbnsl.proof.incumbents import best_order
from extbnsl.scores.local import LocalScores, feasible_order
from extbnsl.solver.outcome import FoundNetwork

STAGE = "search"


@dataclass(frozen=True)
class Outcome:
    """What a baseline has found of local scores over n variables.

    status: OPTIMAL, or why it stopped. rows (n,) int64: of each child the number of its family in the local scores, of
    an acyclic network; None if no network is known. lower_bound: what every network costs at least, in nats. counts:
    what the method did, such as the nodes that it expanded, for the statistics of the result.
    """

    status: str
    rows: NDArray[np.int64] | None
    lower_bound: float = -math.inf
    counts: Mapping[str, int] = field(default_factory=dict)


Find = Callable[[LocalScores, Context], Outcome]
"""A baseline, `find` of its module: what it finds of families that can win, one network at least of which is acyclic.

It polls `context.workers`, keeps to `context.memory_left` bytes of memory, and puts what is larger on the shelf. Where
it must stop it gives what it has, or raises Stopped, MemoryError, or BudgetError for the disk, if that is nothing.
"""


def rows_along(order: Iterable[int], scores: LocalScores) -> NDArray[np.int64] | None:
    """Of each child the number of its cheapest family along an order of the variables: int64 (n,), or None if a child
    has none there. O(families)."""
    rows, before = np.zeros(scores.variables, np.int64), pack((), scores.variables)
    for child in order:
        inside = np.flatnonzero(~(scores.parents[child] & ~before).any(axis=1))
        if not inside.size:
            return None
        rows[child] = inside[0]
        add(child, before)
    return rows


def some_rows(order: Iterable[int], scores: LocalScores) -> NDArray[np.int64]:
    """`rows_along` an order that has a family for each child."""
    rows = rows_along(order, scores)
    assert rows is not None, "an order with a network"
    return rows


def cost_of(rows: NDArray[np.int64], scores: LocalScores) -> float:
    """What the families of these numbers (n,) cost together, in nats."""
    return math.fsum(float(own[row]) for own, row in zip(scores.costs, rows.tolist(), strict=True))


def network_of(scores: LocalScores, rows: NDArray[np.int64] | None = None) -> FoundNetwork:
    """The network with the families of these numbers (n,), or any, of which no bound is known."""
    if rows is None:
        rows = some_rows(feasible_order(scores.parents)[0], scores)
    parents = (unpack(own[row]) for own, row in zip(scores.parents, rows.tolist(), strict=True))
    network = Network(scores.names, tuple(parents))
    return FoundNetwork(network, network.order(), cost_of(rows, scores), -math.inf)


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
        self.rows = some_rows(order, scores)
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
