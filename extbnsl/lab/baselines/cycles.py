"""Branch and bound over directed graphs, by breaking cycles: de Campos, Zeng and Ji 2009 (ICML), Section 5; de Campos
and Ji 2011 (JMLR 12), Section 5.

A node of the tree is a set of arcs that are required and of arcs that are forbidden. Its graph has of each child the
cheapest family that the child's arcs allow, and the sum of their costs is a bound of every network below. Nodes are
expanded in the order of their bounds. A graph without a cycle is an optimal network. If there is a cycle, some arc of
it is missing in every network: with the arcs of the cycle in some order, the i-th child of the node forbids the i-th
arc and requires those before it, so that every network is below one child exactly. Only the family of one variable
changes.

What the papers leave open is done as follows.

- *Which cycle.* Below a node the bound rises at least by what it costs to lose the cheapest arc of the cycle. So the
  cycle is one whose cheapest arc is dearest, and of these one with few arcs that may be lost. Arcs that are required,
  or without which the variable has no family, or none within the incumbent, are never lost: a cycle of these closes the
  node.
- *Which order.* The cheapest arc is forbidden first, so that the other children require it. On the data set wine that
  makes a third fewer nodes than the other way round.
- *The incumbent* comes from a local search over orders. Now and then the cycles of the graph expanded last are broken
  by an order of its variables. So the search is best first alone, without the papers' steps into the depth.

A node is kept as what it changes: the arc that it forbids, the new family, and the number of its parent; those that
come before it below the same parent tell what it requires. Nodes that have been expanded stay, since others lie below.
Costs are sums of floats: the result is right within the tolerance (`claims.tolerance`).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.lp.separation import order_of_solution
from extbnsl.bounds.multipliers import families_of
from extbnsl.core.claims import MEMORY_LIMIT, OPTIMAL
from extbnsl.core.events import StageAdvanced
from extbnsl.core.figures import format_gap, in_full
from extbnsl.lab.baselines.cycle_graph import graph_for, having_of
from extbnsl.lab.baselines.cycle_tree import CLOSED, FOUND, FULL, MORE, NODE_BYTES, Counts, OpenList, Tree, expand
from extbnsl.lab.baselines.incumbent import BestKnown, rows_along
from extbnsl.lab.baselines.outcome import STAGE, Outcome
from extbnsl.machine.workers import Stopped
from extbnsl.proof.context import Context
from extbnsl.scores.local import LocalScores

STEPS = 100_000  # variables of nodes that are expanded before the tree is looked at again: a fraction of a second
BEGINNING = 1 << 12  # nodes that there is room for at first
GROWTH = 2  # times as much room at a time
COPY_BYTES = 8  # more for each node while one of their arrays becomes larger


def find(scores: LocalScores, context: Context) -> Outcome:
    """A network of least cost. counts: `expanded` nodes, `generated` ones, and `queue`, the most that were open.

    Some microseconds for a node of twenty variables. Memory: the families once more, and for each node NODE_BYTES, of
    all that context.memory_left grants: MEMORY_LIMIT if that is not enough.
    """
    best = BestKnown(scores, context)
    search = Search(scores, context)
    try:
        status = search.run(best)
    except Stopped as stopped:
        if stopped.deaf:  # the kernel may still be at work on the tree
            return Outcome(stopped.reason, best.rows)
        status = stopped.reason
    bound = best.limit if status == OPTIMAL else min(best.limit, search.least)
    return Outcome(status, best.rows, bound, search.counted())


class Search:
    """A tree of local scores at work."""

    def __init__(self, scores: LocalScores, context: Context) -> None:
        self._scores, self._context = scores, context
        self._families = families_of(scores.parents, scores.costs)
        self._having = having_of(self._families)
        taken = sum(array.nbytes for array in (*self._families, *self._having))
        self._room = (context.memory_left - taken) // (NODE_BYTES + COPY_BYTES)
        self.graph = graph_for(scores)
        self.counts = Counts(*(np.zeros(1, np.int64) for _ in Counts._fields))
        self.tree = Tree(np.full(1, -1), np.zeros(1, np.uint16), np.zeros(1, np.uint16), np.zeros(1, np.int32))
        self.open = OpenList(np.zeros(1), np.zeros(1, np.int64))
        self._begin()

    @property
    def least(self) -> float:
        """What every network costs at least that is below an open node, in nats."""
        return float(self.open.bound[0]) if self.counts.open[0] else math.inf

    def counted(self) -> dict[str, int]:
        """What has been done."""
        return {
            "expanded": int(self.counts.expanded[0]),
            "generated": int(self.counts.made[0]),
            "queue": int(self.counts.peak[0]),
        }

    def run(self, best: BestKnown) -> str:
        """Expand nodes until no network below an open one is better than the best known: OPTIMAL, or MEMORY_LIMIT.
        Raises Stopped."""
        steps = max(1, STEPS // self._scores.variables)
        while True:
            self._context.workers.check()
            outcome = self.expand(steps, best.limit)
            if outcome == FOUND:
                best.hear(self.graph.rows.copy(), self.least)
            elif outcome == CLOSED:
                return OPTIMAL
            elif outcome == FULL and not self._grow():
                return MEMORY_LIMIT
            elif outcome == MORE:
                best.hear(self._rounded(), self.least)
                self._tell(best)

    def expand(self, steps: int, limit: float) -> int:
        """Expand so many nodes; see the kernel `expand`. Raises Stopped."""
        halt = self._context.workers.halt
        task = (steps, limit, halt, self._families, self._having, self.tree, self.open, self.counts, self.graph)
        return int(self._context.workers.run(expand, *task))

    def _begin(self) -> None:
        """Let the root be open, which is bounded by the cheapest families."""
        self.open.bound[0] = math.fsum(float(own[0]) for own in self._scores.costs)
        for count in (self.counts.made, self.counts.open, self.counts.peak):
            count[0] = 1

    def _grow(self) -> bool:
        """Make more room, unless memory has none for another node's children."""
        old = self.tree.row.size
        size = min(max(BEGINNING, GROWTH * old), self._room)
        if size < old + self._scores.variables:
            return False
        self.tree = Tree(*(_longer(array, size) for array in self.tree))
        self.open = OpenList(*(_longer(array, size) for array in self.open))
        return True

    def _rounded(self) -> NDArray[np.int64] | None:
        """A network near the graph expanded last: along an order of it, sink by sink."""
        n, rows = self._scores.variables, self.graph.rows
        parents = np.ascontiguousarray(self._families.parents[:, self._families.first[:-1] + rows])
        return rows_along(order_of_solution(parents, np.arange(n), np.ones(n), n), self._scores)

    def _tell(self, best: BestKnown) -> None:
        still = in_full(int(self.counts.open[0]), "node")
        unit = f"nodes, {still} open, gap {format_gap(self.least, best.cost)}"
        self._context.observer(StageAdvanced(STAGE, int(self.counts.expanded[0]), 0, unit))


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array with room for so many elements; what is new is not touched."""
    longer = np.empty(size, array.dtype)
    longer[: array.size] = array
    return longer
