"""What a baseline gives: a network of local scores, what is proved of it, and what that took; and what `solve` makes of
it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import add, pack, unpack
from extbnsl.networks.network import Network
from extbnsl.proof.context import Context
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


class Solved(NamedTuple):
    """What has come of a solve by a baseline: the network with its bounds, the status, the families that were counted,
    if they were, and what the result is to tell of it."""

    found: FoundNetwork
    status: str
    scores: LocalScores | None
    stats: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


def network_of(scores: LocalScores, rows: Sequence[int]) -> FoundNetwork:
    """The network with these families, by their numbers, of which no bound is known."""
    network = Network(scores.names, tuple(unpack(own[row]) for own, row in zip(scores.parents, rows, strict=True)))
    cost = math.fsum(float(own[row]) for own, row in zip(scores.costs, rows, strict=True))
    return FoundNetwork(network, network.order(), cost, -math.inf)


def any_network(scores: LocalScores) -> list[int]:
    """The number of the cheapest family of each child in an order that has one for all."""
    order, _ = feasible_order(scores.parents)
    rows, before = [0] * scores.variables, pack((), scores.variables)
    for child in order:
        rows[child] = int(np.flatnonzero(~(scores.parents[child] & ~before).any(axis=1))[0])
        add(child, before)
    return rows
