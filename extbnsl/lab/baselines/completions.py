"""The perfect heuristic of the BN graph: what the best completion of a network costs.

It depends only on the variables that are there: they are free parents of those that remain. An exact solver, the black
box, learns the best network over the remaining variables; each varset is asked for once at most. The answer is a
network, which tells more than one cost. When variables are added that have their parents in it, the rest of it is
still a best completion. When another variable X is added, and A are its ancestors in the answer that are missing, a
completion costs at least what one of X and A together does, and the cheapest families of A.
"""

import functools
import math
import operator
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from extbnsl.core.claims import OPTIMAL
from extbnsl.core.compiling import clock
from extbnsl.kernels.varsets import members, renumber
from extbnsl.lab.baselines.dynamic import best_order
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped, StopSignal
from extbnsl.parents.pruning import merged
from extbnsl.scores.local import LocalScores
from extbnsl.solver.opening import Request
from extbnsl.solver.solve import solve

TABLE = 12  # variables that remain: so few are solved by a table of all their sets, faster than solve begins
MEMORY = 1 << 30  # bytes that a solve may take
NO_FAMILIES = np.zeros((0, 1), np.uint64), np.zeros(0)


class _Answer(NamedTuple):
    """A best completion: by variable what its family costs, nats, and which of its ancestors the black box found, as a
    varset; nothing for variables that were there."""

    costs: Sequence[float]
    ancestors: Sequence[int]


class Completions:
    """What the variables that are missing cost at least, in nats, by the varset of those that are there.

    calls: how often the black box was asked; answered: how often the cost was known without; seconds: in the black box
    and in making its problems, without those of compiling kernels.
    """

    def __init__(self, scores: LocalScores, stop: StopSignal) -> None:
        """`scores`: the families of at most 64 variables, pruned; `stop` is polled in a solve."""
        self.calls = 0
        self.answered = 0
        self.seconds = 0.0
        self._scores = scores
        self._stop = stop
        self._known: dict[int, tuple[float, _Answer]] = {}
        self._least = [float(costs[0]) for costs in scores.costs]

    def cost(self, varset: int) -> float:
        """The cost. Raises Stopped."""
        if varset in self._known:
            self.answered += 1
        else:
            self._ask(varset)
        return self._known[varset][0]

    def after(self, varset: int, x: int) -> tuple[float, bool]:
        """The cost with x there too, or a lower bound of it, without the black box; and whether it is the cost. That of
        the varset must be known."""
        cost, answer = self._known[varset]
        larger = varset | 1 << x
        missing = answer.ancestors[x] & ~varset
        if larger not in self._known and not missing:
            self._known[larger] = cost - answer.costs[x], answer
        if larger in self._known:
            self.answered += 1
            return self._known[larger][0], True
        bound = cost - answer.costs[x] - sum(answer.costs[y] - self._least[y] for y in members(missing))
        return max(bound, self._at_least(larger)), False

    def _at_least(self, varset: int) -> float:
        """The cheapest families of the variables that are missing."""
        return sum(cost for x, cost in enumerate(self._least) if not varset >> x & 1)

    def _ask(self, varset: int) -> None:
        """Ask the black box for what is not known."""
        began = clock()
        self.calls += 1
        left = [x for x in range(self._scores.variables) if not varset >> x & 1]
        rest = remaining(self._scores, left)
        order = best_order(rest) if rest.variables <= TABLE else _by_solve(rest, self._stop)
        answer = _answer(order, rest, left, self._scores.variables)
        self._known[varset] = math.fsum(answer.costs), answer
        self.seconds += clock() - began


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
        claim=scores.claim,
    )


def _by_solve(scores: LocalScores, stop: StopSignal) -> Sequence[int]:
    """An optimal order, by the solver."""
    result = solve(Request(scores, budgets=Budgets(threads=1, memory=MEMORY)), stop=stop)
    if result.status != OPTIMAL:
        raise Stopped(result.status)
    return result.order


def _answer(order: Sequence[int], rest: LocalScores, left: Sequence[int], variables: int) -> _Answer:
    """The best network along an order of the scores `rest` of some variables, `left`."""
    costs, ancestors = [0.0] * variables, [0] * variables
    outside = np.uint64((1 << rest.variables) - 1)
    for x in order:
        row = int(np.argmax(rest.parents[x][:, 0] & outside == 0))
        parents = [left[p] for p in members(int(rest.parents[x][row, 0]))]
        costs[left[x]] = float(rest.costs[x][row])
        ancestors[left[x]] = functools.reduce(operator.or_, (1 << p | ancestors[p] for p in parents), 0)
        outside ^= np.uint64(1 << x)
    return _Answer(costs, ancestors)
