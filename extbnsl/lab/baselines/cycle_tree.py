"""For breaking cycles: the tree of nodes, those that are open, and what it is to expand one. See `cycles`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.lab.baselines.cycle_graph import find_arcs, find_cycle, has_cycle, put

NODE_BYTES = 8 + 4 + 2 + 2 + 8 + 8  # of `Tree` and `OpenList`

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


class OpenList(NamedTuple):
    """A binary heap of the nodes that were not expanded: bound (c,) float64, in nats, and node (c,) int64. The least
    bound comes first, of equal ones the node that came last."""

    bound: NDArray[np.float64]
    node: NDArray[np.int64]


class Counts(NamedTuple):
    """Of nodes, each (1,) int64: those in the tree, those that are open now and at most, those that were expanded."""

    made: NDArray[np.int64]
    open: NDArray[np.int64]
    peak: NDArray[np.int64]
    expanded: NDArray[np.int64]


@njit
def expand(steps, limit, halt, families, having, tree, open_list, counts, graph):
    """Expand so many nodes, those with the least bounds, and leave out children whose bound is `limit` nats or more.

    Ends early with FOUND, when the graph of a node has no cycle: it is an optimal network; CLOSED, when no node below
    the limit is open; FULL, when the tree has no room for the children of another node. Otherwise, or when halt[0] is
    set, MORE. The last graph is in `graph`.
    """
    halt, families, having, tree, open_list, counts, graph = borrowed(
        (halt, families, having, tree, open_list, counts, graph)
    )
    for _ in range(steps):
        if halt[0]:
            break
        if counts.open[0] == 0 or open_list.bound[0] >= limit:
            return CLOSED
        if tree.row.size < counts.made[0] + graph.rows.size:
            return FULL
        node = open_list.node[0]
        _pop(open_list, counts)
        counts.expanded[0] += 1
        value = _recall(node, families, tree, graph)
        if not has_cycle(families, graph):
            return FOUND
        find_arcs(limit - value, families, having, graph)
        length = find_cycle(graph)
        _add_children(node, value, length, tree, open_list, counts, graph)
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
def _add_children(node, value, length, tree, open_list, counts, graph):
    """Make a child of the node for each of the first arcs of the cycle, and let them be open."""
    for k in range(length):
        i, made = graph.cycle[k], counts.made[0]
        tree.above[made] = node
        tree.child[made], tree.parent[made], tree.row[made] = graph.child[i], graph.parent[i], graph.row[i]
        counts.made[0] += 1
        _push(value + graph.rise[i], made, open_list, counts)
    counts.peak[0] = max(counts.peak[0], counts.open[0])


@inlined
def _comes_before(bound, node, at, open_list):
    """Whether a node with this bound comes before the one that stands at a place."""
    return bound < open_list.bound[at] or (bound == open_list.bound[at] and node > open_list.node[at])


@inner
def _push(bound, node, open_list, counts):
    at = counts.open[0]
    counts.open[0] += 1
    while at > 0 and _comes_before(bound, node, (at - 1) >> 1, open_list):
        above = (at - 1) >> 1
        open_list.bound[at], open_list.node[at] = open_list.bound[above], open_list.node[above]
        at = above
    open_list.bound[at], open_list.node[at] = bound, node


@inner
def _pop(open_list, counts):
    """Take the first one out."""
    counts.open[0] -= 1
    size = counts.open[0]
    bound, node = open_list.bound[size], open_list.node[size]
    at = np.int64(0)
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and _comes_before(open_list.bound[below + 1], open_list.node[below + 1], below, open_list):
            below += 1
        if _comes_before(bound, node, below, open_list):
            break
        open_list.bound[at], open_list.node[at] = open_list.bound[below], open_list.node[below]
        at = below
    open_list.bound[at], open_list.node[at] = bound, node
