"""Depth-first branch and bound over the order graph: Malone and Yuan 2013, "A depth-first branch and bound algorithm
for learning optimal Bayesian networks".

The search goes backward from the set of all variables, and takes one variable after the other away: what is taken from
U last has its best parents in the rest of U. So the first network is there after one dive, and better ones follow. The
arc with the least f = g + cost + h comes first, and arcs with f >= limit are pruned, where h is the bound that is asked
for, backward, and the limit is the cost of the best network so far. That bound lets what is gone be a parent still. So
it is weaker than the one onward, and most varsets are expanded.

When all arcs of a node are done, it is known what a network over it costs at least; if the best was found below it,
exactly. A hash table has that, and a node that is there has the better of the two bounds: what is reached by a path
that is no cheaper is pruned, and what is reached by a cheaper one is searched again as far as that pays. When memory is
full, the table takes no more nodes, and the search goes on: besides, it takes O(n^2) memory.

All that is left lies behind the arcs of the path that are not done yet: the least f of these bounds every network.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import OPTIMAL, tolerance
from extbnsl.core.events import IncumbentFound, StageAdvanced
from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.lab.baselines.nodes import NodeTable, has_room, insert, look_up, make_room, new_node_table
from extbnsl.lab.baselines.order_graph import OrderGraph, best_score, bound_backward, order_graph
from extbnsl.lab.baselines.outcome import STAGE, Outcome, rows_along
from extbnsl.proof.context import Context
from extbnsl.scores.local import LocalScores

EDGES = 1 << 16  # generated before it is looked whether to stop: some hundredths of a second
PROVED, COLUMNS = 0, 1  # of the costs of a node: what a network over it costs at least
EXPANDED, GENERATED = 0, 1  # of the counts
FOUND, DONE, PAUSED, CRAMPED = 0, 1, 2, 3  # how a call ends: with a network, at the end, after EDGES, with a full table


class Dive(NamedTuple):
    """The path from the set of all variables to the node at depth[0], int64 (1,), that has lost so many variables.

    By depth, for n variables: varset (n + 1,) uint64; g (n + 1,) float64, what the variables cost that it has lost;
    proved (n + 1,) float64, the least that a network over it costs by way of the arcs that are done. Its arcs, the
    cheapest first: leaf (n + 1, n) uint8, the variable that goes, cost (n + 1, n) float64, and through (n + 1, n)
    float64, what a network costs at least with that; arcs (n + 1,) int64, how many, and done (n + 1,) int64. All but
    the last node are at the arc that leads to the next.
    """

    varset: NDArray[np.uint64]
    g: NDArray[np.float64]
    proved: NDArray[np.float64]
    leaf: NDArray[np.uint8]
    cost: NDArray[np.float64]
    through: NDArray[np.float64]
    arcs: NDArray[np.int64]
    done: NDArray[np.int64]
    depth: NDArray[np.int64]

    @property
    def least(self) -> float:
        """The least f of an arc that is not done, nor that which leads to the next node; infinity if there is none."""
        first = self.done[: self.depth[0] + 1] + (np.arange(self.depth[0] + 1) < self.depth[0])
        at = np.flatnonzero(first < self.arcs[: first.size])
        return float((self.g[at] + self.through[at, first[at]]).min(initial=math.inf))

    @property
    def leaves(self) -> NDArray[np.int64]:
        """The variables that the last node has lost, the last of them first."""
        depth = int(self.depth[0])
        return self.leaf[np.arange(depth), self.done[:depth]][::-1].astype(np.int64)


def find(scores: LocalScores, context: Context) -> Outcome:
    """The best network. A stop leaves the best so far, and a lower bound.

    A node takes 22 to 28 bytes of memory. Raises Stopped and MemoryError, where it comes to that before the search.
    """
    graph = order_graph(scores, context, backward=True)
    nodes, dive, counts = new_node_table(COLUMNS), _new_dive(graph.variables), np.zeros(2, np.int64)
    status, order, cost = _run(graph, dive, nodes, counts, context)
    told = {
        "expanded": int(counts[EXPANDED]),
        "generated": int(counts[GENERATED]),
        "nodes": nodes.nodes,
        "memory_bytes": graph.bytes + nodes.bytes,
    }
    rows = None if order is None else rows_along(graph.order[order].tolist(), scores)
    least = min(cost, dive.least)
    return Outcome(status, rows, least - tolerance(least), told)


def _run(
    graph: OrderGraph, dive: Dive, nodes: NodeTable, counts: NDArray[np.int64], context: Context
) -> tuple[str, NDArray[np.int64] | None, float]:
    """Search until all is done, or it is time to stop: the status, and the best order of the labels, if there is one,
    with what its network costs in nats."""
    order, cost, limit, growing = None, math.inf, math.inf, True
    room = context.memory_left - graph.bytes
    _expand(graph, dive, nodes, counts)
    while True:
        reached = _search(graph, dive, nodes, limit, counts, (EDGES, growing))
        context.observer(StageAdvanced(STAGE, int(counts[EXPANDED]), 0, "nodes"))
        if reached == DONE:
            return OPTIMAL, order, cost
        if reached == FOUND:
            order, cost = dive.leaves, float(dive.g[graph.variables])
            limit = cost - tolerance(cost)
            context.observer(IncumbentFound(cost))
        if reached == CRAMPED:
            growing = make_room(nodes, 1, room)
        reason = context.workers.stop()
        if reason is not None:
            return reason, order, cost


def _new_dive(variables: int) -> Dive:
    """The path that has not left the set of all variables, without arcs."""
    depths, square = variables + 1, (variables + 1, variables)
    return Dive(
        varset=np.full(depths, (1 << variables) - 1, np.uint64),
        g=np.zeros(depths),
        proved=np.full(depths, np.inf),
        leaf=np.zeros(square, np.uint8),
        cost=np.zeros(square),
        through=np.zeros(square),
        arcs=np.zeros(depths, np.int64),
        done=np.zeros(depths, np.int64),
        depth=np.zeros(1, np.int64),
    )


@njit
def _search(graph, dive, nodes, limit, counts, effort):
    """Go on until there is a network that costs less than the limit, all is done, or about so many edges were
    generated, or the table is full and may grow: FOUND, DONE, PAUSED or CRAMPED."""
    graph, dive, nodes, counts, effort = borrowed((graph, dive, nodes, counts, effort))
    edges, growing = effort
    last = counts[GENERATED] + edges
    while counts[GENERATED] < last:
        depth = dive.depth[0]
        arc = dive.done[depth]
        left = arc < dive.arcs[depth]
        if left and dive.g[depth] + dive.through[depth, arc] < limit:
            _go_down(dive)
            if not dive.varset[depth + 1]:
                return FOUND
            _expand(graph, dive, nodes, counts)
            continue
        if growing and not has_room(1, nodes):
            return CRAMPED
        if left:
            dive.proved[depth] = min(dive.proved[depth], dive.through[depth, arc])
        _keep(dive, nodes)
        if depth == 0:
            return DONE
        _go_up(dive)
    return PAUSED


@inlined
def _go_down(dive):
    """Follow the next arc; the node there has no arcs yet."""
    depth = dive.depth[0]
    arc = dive.done[depth]
    dive.varset[depth + 1] = dive.varset[depth] ^ (u64(1) << u64(dive.leaf[depth, arc]))
    dive.g[depth + 1] = dive.g[depth] + dive.cost[depth, arc]
    dive.proved[depth + 1] = np.inf if dive.varset[depth + 1] else 0.0
    dive.arcs[depth + 1] = dive.done[depth + 1] = 0
    dive.depth[0] = depth + 1


@inlined
def _go_up(dive):
    """Leave a node that is done: so is the arc to it."""
    depth = dive.depth[0] - 1
    arc = dive.done[depth]
    dive.proved[depth] = min(dive.proved[depth], dive.cost[depth, arc] + dive.proved[depth + 1])
    dive.done[depth] = arc + 1
    dive.depth[0] = depth


@inlined
def _keep(dive, nodes):
    """Let the table have what is proved of the last node, if it has room, and the node what the table knows."""
    depth = dive.depth[0]
    number = look_up(dive.varset[depth], nodes)
    if number >= 0:
        dive.proved[depth] = max(dive.proved[depth], nodes.costs[number, PROVED])
    elif has_room(1, nodes):
        number = insert(dive.varset[depth], nodes)
    if number >= 0:
        nodes.costs[number, PROVED] = dive.proved[depth]


@njit
def _expand(graph, dive, nodes, counts):
    """Give the last node its arcs, the cheapest first, of equal ones the least label."""
    graph, dive, nodes, counts = borrowed((graph, dive, nodes, counts))
    tables, groups, clusters = graph.tables, graph.groups, graph.clusters
    depth, count = dive.depth[0], 0
    leaf, cost, through = dive.leaf[depth], dive.cost[depth], dive.through[depth]
    varset = dive.varset[depth]
    rest = varset
    while rest:
        x = lowest(rest)
        rest &= rest - u64(1)
        to = varset ^ (u64(1) << x)
        step = best_score(x, to, tables)
        number = look_up(to, nodes)
        known = nodes.costs[max(number, 0), PROVED]
        least = bound_backward(to, groups, clusters)
        f = step + (max(least, known) if number >= 0 else least)
        if f == np.inf:
            continue
        at = count
        while at > 0 and through[at - 1] > f:
            leaf[at], cost[at], through[at] = leaf[at - 1], cost[at - 1], through[at - 1]
            at -= 1
        leaf[at], cost[at], through[at] = x, step, f
        count += 1
    dive.arcs[depth] = count
    counts[EXPANDED] += 1
    counts[GENERATED] += count
