"""A* over the order graph: Yuan, Malone and Wu 2011, "Learning optimal Bayesian networks using A* search".

The node with the least f = g + h is expanded, from the empty set on, until that is the set of all variables. h is the
bound that is asked for: 'static' is that of the paper, 'pattern' that of Yuan and Malone 2012. Every bound here is
consistent, so the path by which a node is expanded is the cheapest one, and it is expanded once. No incumbent prunes
anything: in memory lie all nodes that were generated.

f counts in units of the tolerance over the number of variables, so that rounding decides no ties: each step of a path
may lose one. Of equal f the larger varset comes first. An entry of the open list that is out of date is skipped.
"""

import math

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import MEMORY_LIMIT, OPTIMAL, tolerance
from extbnsl.core.events import StageAdvanced
from extbnsl.kernels.bits import lowest, popcount, u64
from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.lab.baselines.nodes import (
    NodeTable,
    PriorityQueue,
    has_room,
    insert,
    look_up,
    make_room,
    new_node_table,
    new_queue,
    pop,
    push,
)
from extbnsl.lab.baselines.order_graph import OrderGraph, best_score, bound_onward, order_graph
from extbnsl.lab.baselines.outcome import STAGE, Outcome, rows_along
from extbnsl.proof.context import Context
from extbnsl.scores.local import LocalScores

EDGES = 1 << 16  # generated before it is looked whether to stop: some hundredths of a second
G, H = 0, 1  # columns of the costs of a node
COLUMNS = 2
CLOSED = -np.inf  # h of a node that has been expanded
NUMBER_BITS = u64(56)  # of an item of the open list; above them how many variables are missing
EXPANDED, GENERATED = 0, 1  # of the counts
FOUND, PAUSED, CRAMPED = 0, 1, 2  # how a call ends: at the goal, after EDGES, or where room is lacking


def find(scores: LocalScores, context: Context) -> Outcome:
    """The best network. A stop leaves the least f of the open list as the lower bound, and the network of the node that
    has it, completed greedily.

    A node takes 30 to 36 bytes of memory, and 16 more for each time that it comes into the open list. Raises Stopped
    and MemoryError, where it comes to that before the search.
    """
    graph = order_graph(scores, context)
    nodes, queue, counts = new_node_table(COLUMNS), new_queue(), np.zeros(2, np.int64)
    unit = _begin(graph, nodes, queue)
    status = _run(graph, nodes, queue, unit, counts, context)
    rows = rows_along(graph.order[_order_of_first(graph, nodes, queue)].tolist(), scores)
    least = float(queue.key[0]) * unit
    told = {
        "expanded": int(counts[EXPANDED]),
        "generated": int(counts[GENERATED]),
        "nodes": nodes.nodes,
        "memory_bytes": graph.bytes + nodes.bytes + queue.bytes,
    }
    return Outcome(status, rows, least - tolerance(least), told)


def _begin(graph: OrderGraph, nodes: NodeTable, queue: PriorityQueue) -> float:
    """Let the empty set be in the open list; the unit of f, in nats: what the optimum allows, which h is not above."""
    h = _insert_root(graph, nodes)
    unit = tolerance(max(0.0, h)) / graph.variables
    queue.key[0], queue.size[0] = math.floor(h / unit), 1
    return unit


def _run(
    graph: OrderGraph, nodes: NodeTable, queue: PriorityQueue, unit: float, counts: NDArray[np.int64], context: Context
) -> str:
    """Expand nodes until the set of all variables comes first; the status."""
    room = context.memory_left - graph.bytes
    while True:
        reason = context.workers.stop()
        if reason is not None:
            return reason
        reached = _expand(graph, nodes, queue, unit, counts, EDGES)
        context.observer(StageAdvanced(STAGE, int(counts[EXPANDED]), 0, "nodes"))
        if reached == FOUND:
            return OPTIMAL
        if reached == CRAMPED and not make_room(nodes, graph.variables, room, queue):
            return MEMORY_LIMIT


@njit
def _insert_root(graph, nodes):
    """Let the empty set be a node; its bound."""
    root = insert(u64(0), nodes)
    nodes.costs[root, G], nodes.costs[root, H] = 0.0, bound_onward(u64(0), graph.groups, graph.clusters)
    return nodes.costs[root, H]


@inlined
def _key(f, unit):
    """f in units."""
    return np.floor(f / unit)


@inlined
def _number(item):
    """The number of the node of an item of the open list."""
    return np.int64(item & ((u64(1) << NUMBER_BITS) - u64(1)))


@njit
def _expand(graph, nodes, queue, unit, counts, edges):
    """Expand the nodes that come first until about so many edges were generated, the set of all variables comes first,
    or nodes or queue lack room; FOUND, PAUSED or CRAMPED. What comes first stays in the queue."""
    graph, nodes, queue, counts, edges = borrowed((graph, nodes, queue, counts, edges))
    varsets, costs, variables = nodes.varsets, nodes.costs, graph.order.size
    tables, groups, clusters = graph.tables, graph.groups, graph.clusters
    everyone = ~u64(0) >> u64(64 - variables)
    last = counts[GENERATED] + edges
    while counts[GENERATED] < last:
        number = _number(queue.item[0])
        varset, g = varsets[number], costs[number, G]
        if costs[number, H] == CLOSED:
            pop(queue)
            continue
        if varset == everyone:
            return FOUND
        if not (has_room(variables, nodes) and queue.size[0] + variables <= queue.key.size):
            return CRAMPED
        pop(queue)
        costs[number, H] = CLOSED
        counts[EXPANDED] += 1
        missing = (u64(variables) - popcount(varset) - u64(1)) << NUMBER_BITS
        rest = everyone & ~varset
        while rest:
            x = lowest(rest)
            to = varset | (u64(1) << x)
            rest &= rest - u64(1)
            reached = g + best_score(x, varset, tables)
            if reached == np.inf:
                continue
            counts[GENERATED] += 1
            other = look_up(to, nodes)
            if other < 0:
                other = insert(to, nodes)
                h = bound_onward(to, groups, clusters)
                costs[other, G], costs[other, H] = reached, h
                push(_key(reached + h, unit), missing | u64(other), queue)
            elif reached < costs[other, G] and costs[other, H] != CLOSED:
                key, before = _key(reached + costs[other, H], unit), _key(costs[other, G] + costs[other, H], unit)
                costs[other, G] = reached
                if key < before:
                    push(key, missing | u64(other), queue)
    return PAUSED


@njit
def _order_of_first(graph, nodes, queue):
    """An order of all labels, int64 (n,): the cheapest path to the node that comes first, and then what costs least,
    with the bound behind it."""
    order = np.empty(graph.order.size, np.int64)
    first = nodes.varsets[_number(queue.item[0])]
    place, varset = popcount(first), first
    while varset:
        place -= u64(1)
        order[place] = _leaf(varset, graph.tables, nodes)
        varset ^= u64(1) << u64(order[place])
    for place in range(popcount(first), order.size):
        order[place] = _cheapest(first, graph)
        first |= u64(1) << u64(order[place])
    return order


@inlined
def _leaf(varset, tables, nodes):
    """The variable that comes last on the cheapest path to a node: g tells exactly."""
    g = nodes.costs[look_up(varset, nodes), G]
    rest = varset
    while True:
        x = lowest(rest)
        rest &= rest - u64(1)
        before = look_up(varset ^ (u64(1) << x), nodes)
        closed = before >= 0 and nodes.costs[max(before, 0), H] == CLOSED
        if closed and nodes.costs[before, G] + best_score(x, varset ^ (u64(1) << x), tables) == g:
            return x


@inlined
def _cheapest(varset, graph):
    """The variable that makes the cheapest step from a node, with the bound behind it."""
    least, found = np.inf, u64(0)
    rest = ~varset & (~u64(0) >> u64(64 - graph.order.size))
    while rest:
        x = lowest(rest)
        rest &= rest - u64(1)
        f = best_score(x, varset, graph.tables) + bound_onward(varset | (u64(1) << x), graph.groups, graph.clusters)
        if f < least:
            least, found = f, x
    return found
