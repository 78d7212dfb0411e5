"""The perfect heuristic of the BN graph: what the best completion of a network costs.

It depends only on the variables that are there: they are free parents of those that remain. An exact solver, the black
box, learns the best network over the remaining variables; each varset is asked for once. An answer is a network, so it
also tells what its own end costs once its first variables are there.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from extbnsl.claims import OPTIMAL
from extbnsl.compiling import clock
from extbnsl.kernels.compiler import njit
from extbnsl.kernels.varsets import renumber
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped, StopSignal
from extbnsl.parents.pruning import merged, prune
from extbnsl.scores.local import LocalScores
from extbnsl.solver.solve import solve

TABLE = 12  # variables that remain: so few are solved by a table of all their sets, faster than solve begins
MEMORY = 1 << 30  # bytes that a solve may take
NO_FAMILIES = np.zeros((0, 1), np.uint64), np.zeros(0)


class Completions:
    """What the variables that are missing cost at least, in nats, by the varset of those that are there.

    calls: how often the black box was asked; answered: how often the cost was known already; seconds: in the black box
    and in making its problems, without those of compiling kernels.
    """

    def __init__(self, scores: LocalScores, stop: StopSignal) -> None:
        """`scores`: the families of at most 64 variables; `stop` is polled in a solve."""
        self.calls = 0
        self.answered = 0
        self.seconds = 0.0
        self._scores = prune(scores)
        self._stop = stop
        self._known = {(1 << scores.variables) - 1: 0.0}
        self._least = [float(costs[0]) for costs in scores.costs]

    def known(self, varset: int) -> float | None:
        """The cost, if the black box need not be asked."""
        cost = self._known.get(varset)
        self.answered += cost is not None
        return cost

    def at_least(self, varset: int) -> float:
        """A lower bound that nobody needs to be asked for: the cheapest families of the variables that are missing."""
        return sum(cost for x, cost in enumerate(self._least) if not varset >> x & 1)

    def cost(self, varset: int) -> float:
        """The cost. Raises Stopped."""
        cost = self.known(varset)
        return self._asked(varset) if cost is None else cost

    def _asked(self, varset: int) -> float:
        """The cost, by the black box; what the answer tells of larger varsets is kept."""
        began = clock()
        self.calls += 1
        left = [x for x in range(self._scores.variables) if not varset >> x & 1]
        rest = remaining(self._scores, left)
        order = _by_table(rest) if rest.variables <= TABLE else _by_solve(rest, self._stop)
        costs = _costs_along(order, rest)
        for at, x in enumerate(order):
            self._known.setdefault(varset, math.fsum(costs[at:]))
            varset |= 1 << left[x]
        self.seconds += clock() - began
        return math.fsum(costs)


def remaining(scores: LocalScores, left: Sequence[int]) -> LocalScores:
    """The local scores of some variables, of which all others are free parents: of parent sets that agree in these
    variables the cheapest, and none that a subset replaces."""
    position = np.full(scores.variables, -1, np.int64)
    position[list(left)] = np.arange(len(left))
    families = [merged((renumber(scores.parents[x], position, len(left)), scores.costs[x]), NO_FAMILIES) for x in left]
    return LocalScores(
        names=tuple(scores.names[x] for x in left),
        parents=tuple(parents for parents, _ in families),
        costs=tuple(costs for _, costs in families),
        score=scores.score,
        max_parents=scores.max_parents,
    )


def _by_solve(scores: LocalScores, stop: StopSignal) -> Sequence[int]:
    """An optimal order, by the solver."""
    result = solve(scores, budgets=Budgets(threads=1, memory=MEMORY), stop=stop)
    if result.status != OPTIMAL:
        raise Stopped(result.status)
    return result.order


def _by_table(scores: LocalScores) -> Sequence[int]:
    """An optimal order, by dynamic programming over all sets of variables."""
    last = _last_variables(_best_scores(scores)).tolist()
    order, varset = list[int](), (1 << scores.variables) - 1
    while varset:
        order.append(last[varset])
        varset ^= 1 << last[varset]
    return order[::-1]


@njit
def _last_variables(best):
    """The last variable of an optimal order of each set of m variables, (2^m,) int64, by BestScore (m, 2^m). (Silander
    and Myllymäki 2006: best sinks.)"""
    cost, last = np.full(best.shape[1], np.inf), np.full(best.shape[1], -1)
    cost[0] = 0.0
    for varset in range(1, best.shape[1]):
        for x in range(best.shape[0]):
            before = varset ^ (1 << x)
            if before < varset and cost[before] + best[x, before] < cost[varset]:
                cost[varset], last[varset] = cost[before] + best[x, before], x
    return last


def _best_scores(scores: LocalScores) -> NDArray[np.float64]:
    """BestScore(x, U) for all U: (m, 2^m)."""
    m = scores.variables
    best = np.full((m, 1 << m), np.inf)
    for x, (parents, costs) in enumerate(zip(scores.parents, scores.costs, strict=True)):
        best[x, parents[:, 0].astype(np.int64)] = costs
    for v in range(m):
        halves = best.reshape(m, -1, 2, 1 << v)
        np.minimum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
    return best


def _costs_along(order: Sequence[int], scores: LocalScores) -> list[float]:
    """What each variable of an order costs, with its best parents among those before it."""
    costs, outside = [], np.uint64((1 << scores.variables) - 1)
    for x in order:
        inside = scores.parents[x][:, 0] & outside == 0
        costs.append(float(scores.costs[x][np.argmax(inside)]))
        outside ^= np.uint64(1 << x)
    return costs
