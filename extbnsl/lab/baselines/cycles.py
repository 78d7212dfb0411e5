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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.lp.separation import order_of_solution
from extbnsl.bounds.multipliers import families_of
from extbnsl.core.claims import MEMORY_LIMIT, OPTIMAL
from extbnsl.core.events import StageAdvanced
from extbnsl.core.figures import format_gap, in_full
from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inner, njit
from extbnsl.lab.baselines.cycle_graph import find_arcs, find_cycle, graph_for, has_cycle, having_of, put
from extbnsl.lab.baselines.nodes import ENTRY_BYTES, PriorityQueue, new_queue, pop, push
from extbnsl.lab.baselines.outcome import STAGE, BestKnown, Outcome, rows_along
from extbnsl.machine.workers import Stopped
from extbnsl.proof.context import Context
from extbnsl.scores.local import LocalScores

STEPS = 100_000  # variables of nodes that are expanded before the tree is looked at again: a fraction of a second
BEGINNING = 1 << 12  # nodes that there is room for at first
GROWTH = 2  # times as much room at a time
COPY_BYTES = 8  # more for each node while one of their arrays becomes larger
NODE_BYTES = 8 + 4 + 2 + 2 + ENTRY_BYTES  # of `Tree` and the open list
MORE, FOUND, CLOSED, FULL = range(4)  # what becomes of expanding: see `expand`


class Tree(NamedTuple):
    """The nodes so far; the first is the root, the children of a node lie one after the other.

    above (c,) int64: the number of the node's parent. child, parent (c,) uint16: the arc that it forbids, parent ->
    child. row (c,) int32: the number of the family that the child has then. There is room for c nodes.
    """

    above: NDArray[np.int64]
    child: NDArray[np.uint16]
    parent: NDArray[np.uint16]
    row: NDArray[np.int32]


class Counts(NamedTuple):
    """Of nodes, each (1,) int64: those in the tree, those that were open at most, those that were expanded."""

    made: NDArray[np.int64]
    peak: NDArray[np.int64]
    expanded: NDArray[np.int64]


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
        self.open = new_queue(1)
        self._begin()

    @property
    def least(self) -> float:
        """What every network costs at least that is below an open node, in nats."""
        return float(self.open.key[0]) if self.open.size[0] else math.inf

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
        nodes = self.tree, self.open, self.counts
        task = (steps, limit, halt, self._families, self._having, nodes, self.graph)
        return int(self._context.workers.run(expand, *task))

    def _begin(self) -> None:
        """Let the root be open, which is bounded by the cheapest families."""
        self.open.key[0], self.open.item[0] = math.fsum(float(own[0]) for own in self._scores.costs), ~np.uint64(0)
        for count in (self.counts.made, self.open.size, self.counts.peak):
            count[0] = 1

    def _grow(self) -> bool:
        """Make more room, unless memory has none for another node's children."""
        old = self.tree.row.size
        size = min(max(BEGINNING, GROWTH * old), self._room)
        if size < old + self._scores.variables:
            return False
        self.tree = Tree(*(_longer(array, size) for array in self.tree))
        self.open = PriorityQueue(_longer(self.open.key, size), _longer(self.open.item, size), self.open.size)
        return True

    def _rounded(self) -> NDArray[np.int64] | None:
        """A network near the graph expanded last: along an order of it, sink by sink."""
        n, rows = self._scores.variables, self.graph.rows
        parents = np.ascontiguousarray(self._families.parents[:, self._families.first[:-1] + rows])
        return rows_along(order_of_solution(parents, np.arange(n), np.ones(n), n).tolist(), self._scores)

    def _tell(self, best: BestKnown) -> None:
        still = in_full(int(self.open.size[0]), "node")
        unit = f"nodes, {still} open, gap {format_gap(self.least, best.cost)}"
        self._context.observer(StageAdvanced(STAGE, int(self.counts.expanded[0]), 0, unit))


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array with room for so many elements; what is new is not touched."""
    longer = np.empty(size, array.dtype)
    longer[: array.size] = array
    return longer


@njit
def expand(steps, limit, halt, families, having, nodes, graph):
    """Expand so many nodes, those with the least bounds, and leave out children whose bound is `limit` nats or more.

    nodes: the tree, the queue and the counts. The queue has the open nodes, by their bounds in nats; its items are the
    complements of their numbers, so that of equal bounds the node that came last comes first.

    Ends early with FOUND, when the graph of a node has no cycle: it is an optimal network; CLOSED, when no node below
    the limit is open; FULL, when the tree has no room for the children of another node. Otherwise, or when halt[0] is
    set, MORE. The last graph is in `graph`.
    """
    halt, families, having, nodes, graph = borrowed((halt, families, having, nodes, graph))
    tree, queue, counts = nodes
    for _ in range(steps):
        if halt[0]:
            break
        if queue.size[0] == 0 or queue.key[0] >= limit:
            return CLOSED
        if tree.row.size < counts.made[0] + graph.rows.size:
            return FULL
        node = np.int64(~pop(queue)[1])
        counts.expanded[0] += 1
        value = _recall(node, families, tree, graph)
        if not has_cycle(families, graph):
            return FOUND
        find_arcs(limit - value, families, having, graph)
        length = find_cycle(graph)
        _add_children(node, value, length, tree, queue, counts, graph)
    return MORE


@inner
def _recall(node, families, tree, graph):
    """Let the graph be that of a node; what it costs, in nats. O(n words + depth)."""
    n = graph.rows.size
    graph.rows[:] = -1
    graph.required[:] = 0
    graph.forbidden[:] = 0
    while node > 0:
        child = np.int64(tree.child[node])
        if graph.rows[child] < 0:  # below it was changed last
            graph.rows[child] = tree.row[node]
        put(graph.forbidden[child], np.int64(tree.parent[node]))
        other = node - 1
        while tree.above[other] == tree.above[node]:
            put(graph.required[np.int64(tree.child[other])], np.int64(tree.parent[other]))
            other -= 1
        node = tree.above[node]
    value = 0.0
    for v in range(n):
        graph.rows[v] = max(graph.rows[v], 0)
        value += families.costs[families.first[v] + graph.rows[v]]
    return value


@inner
def _add_children(node, value, length, tree, queue, counts, graph):
    """Make a child of the node for each of the first arcs of the cycle, and let them be open."""
    for k in range(length):
        i, made = graph.cycle[k], counts.made[0]
        tree.above[made] = node
        tree.child[made], tree.parent[made], tree.row[made] = graph.child[i], graph.parent[i], graph.row[i]
        counts.made[0] += 1
        push(value + graph.rise[i], ~u64(made), queue)
    counts.peak[0] = max(counts.peak[0], queue.size[0])
