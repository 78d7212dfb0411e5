"""For breaking cycles: the graph of a node, its cycles, and what it costs to lose their arcs. See `cycles`."""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import FamilyArrays
from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import inlined, inner, njit
from extbnsl.kernels.varsets import WORD_BITS, sizes, unpack
from extbnsl.scores.local import LocalScores


class Having(NamedTuple):
    """In which families a variable is a parent: word w of the bitset over the families of child X for parent Y is
    bits[begin[X, Y] + w], uint64; begin (n, n) int64, -1 where Y is in none. 8 n^2 bytes, and a bit for each family and
    variable that is a parent in any family of its child."""

    bits: NDArray[np.uint64]
    begin: NDArray[np.int64]


class Graph(NamedTuple):
    """The graph of one of the nodes, with room for a arcs in cycles.

    rows (n,) int64: the number of each child's family; required, forbidden (n, words) uint64: the parents that it must
    have and cannot have. core (words,) uint64: variables of which those on cycles are a part; masks (n, words) uint64:
    the parents in it that are looked at, as `_peel` needs them, and reached (words,) uint64.

    Arc i goes from parent[i] to child[i], int64; without it the child's family is row[i], int64, and costs rise[i]
    more, float64, infinity if there is none within the limit. The arcs to a child v begin at first[v], int64 (n + 1,).
    far, via (n,) and queue (4 n + 2,) int64: for paths, which take a variable in twice at most. begins (n,) int64:
    places in `Having`. cycle (n,) int64: arcs.
    """

    rows: NDArray[np.int64]
    required: NDArray[np.uint64]
    forbidden: NDArray[np.uint64]
    core: NDArray[np.uint64]
    reached: NDArray[np.uint64]
    masks: NDArray[np.uint64]
    parent: NDArray[np.int64]
    child: NDArray[np.int64]
    row: NDArray[np.int64]
    rise: NDArray[np.float64]
    first: NDArray[np.int64]
    far: NDArray[np.int64]
    via: NDArray[np.int64]
    queue: NDArray[np.int64]
    begins: NDArray[np.int64]
    cycle: NDArray[np.int64]


def graph_for(scores: LocalScores) -> Graph:
    """Room for the graphs of these scores."""
    n, words = scores.variables, scores.parents[0].shape[1]
    arcs = sum(int(sizes(own).max()) for own in scores.parents)

    def varsets(*shape: int) -> NDArray[np.uint64]:
        return np.zeros((*shape, words), np.uint64)

    def numbers(size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)

    return Graph(
        rows=numbers(n),
        required=varsets(n),
        forbidden=varsets(n),
        core=varsets(),
        reached=varsets(),
        masks=varsets(n),
        parent=numbers(arcs),
        child=numbers(arcs),
        row=numbers(arcs),
        rise=np.zeros(arcs),
        first=numbers(n + 1),
        far=numbers(n),
        via=numbers(n),
        queue=numbers(4 * n + 2),
        begins=numbers(n),
        cycle=numbers(n),
    )


def having_of(families: FamilyArrays) -> Having:
    """In which families each variable is a parent. O(families' parents)."""
    n = families.first.size - 1
    begin, size = np.full((n, n), -1), 0
    for x, (lo, hi) in enumerate(itertools.pairwise(families.first.tolist())):
        own = np.array(unpack(np.bitwise_or.reduce(families.parents[:, lo:hi], axis=1)), np.int64)
        begin[x, own] = size + np.arange(own.size) * -(-(hi - lo) // WORD_BITS)
        size += own.size * -(-(hi - lo) // WORD_BITS)
    bits = np.zeros(size, np.uint64)
    _fill(bits, begin, families)
    return Having(bits, begin)


@njit
def _fill(bits, begin, families):
    """Set the bits of `Having`."""
    for x in range(families.first.size - 1):
        lo = families.first[x]
        for j in range(lo, families.first[x + 1]):
            for w in range(families.parents.shape[0]):
                left = families.parents[w, j]
                while left:
                    at = begin[x, np.int64(lowest(left)) + (w << 6)] + ((j - lo) >> 6)
                    bits[at] |= u64(1) << u64((j - lo) & 63)
                    left &= left - u64(1)


@inlined
def has(varset, v):
    return (varset[v >> 6] >> u64(v & 63)) & u64(1)


@inlined
def put(varset, v):
    varset[v >> 6] |= u64(1) << u64(v & 63)


@inner
def has_cycle(families, graph):
    """Whether the graph has a cycle; the core then has all that are on one."""
    graph.core[:] = 0
    for v in range(graph.rows.size):
        put(graph.core, v)
        for w in range(graph.core.size):
            graph.masks[v, w] = families.parents[w, families.first[v] + graph.rows[v]]
    return _peel(graph)


@inner
def _peel(graph):
    """Take the variables out of the core that have no parent in it by the masks, or no child, again and again; whether
    any is left. O(n words) a pass."""
    changed = True
    while changed:
        changed, some = False, False
        graph.reached[:] = 0
        for w in range(graph.core.size):
            left = graph.core[w]
            while left:
                v = np.int64(lowest(left)) + (w << 6)
                left &= left - u64(1)
                common = u64(0)
                for k in range(graph.core.size):
                    own = graph.masks[v, k] & graph.core[k]
                    graph.reached[k] |= own
                    common |= own
                if common:
                    some = True
                else:
                    graph.core[w] ^= u64(1) << u64(v & 63)
                    changed = True
        for w in range(graph.core.size):
            if graph.core[w] & ~graph.reached[w]:
                graph.core[w] &= graph.reached[w]
                changed = True
    return some


@inner
def find_arcs(room, families, having, graph):
    """List the arcs of the core, with what the child's family becomes without them if it costs less than `room` nats
    more. O(arcs), and for each variable of the core its arcs times the words of the families up to there."""
    count = np.int64(0)
    for v in range(graph.rows.size):
        graph.first[v] = count
        if not has(graph.core, v):
            continue
        for w in range(graph.core.size):
            left = families.parents[w, families.first[v] + graph.rows[v]] & graph.core[w]
            while left:
                p = np.int64(lowest(left)) + (w << 6)
                left &= left - u64(1)
                graph.parent[count], graph.child[count] = p, v
                graph.row[count], graph.rise[count] = -1, np.inf
                count += 1
        _find_rows(v, count, room, families, having, graph)
    graph.first[graph.rows.size] = count


@inner
def _find_rows(v, end, room, families, having, graph):
    """For each of the arcs to v up to `end` the cheapest family of v that its arcs allow without this one, if there is
    one for less than `room` nats more."""
    unknown = np.int64(0)
    for i in range(graph.first[v], end):
        if not has(graph.required[v], graph.parent[i]):
            graph.queue[unknown] = i
            unknown += 1
    forbidden = _gather(v, graph.forbidden[v], np.int64(0), having, graph)
    chosen = _gather(v, graph.required[v], forbidden, having, graph)
    lo, hi = families.first[v], families.first[v + 1]
    most = families.costs[lo + graph.rows[v]] + room
    begin = graph.rows[v] + 1
    for word in range(begin >> 6, (hi - lo + 63) >> 6):
        at = lo + max(begin, word << 6)
        if unknown == 0 or at == hi or families.costs[at] >= most:
            break
        left = ~u64(0)
        if word == begin >> 6:
            left <<= u64(begin & 63)
        if word == (hi - lo) >> 6:
            left &= (u64(1) << u64((hi - lo) & 63)) - u64(1)
        for k in range(forbidden):
            left &= ~having.bits[graph.begins[k] + word]
        for k in range(forbidden, chosen):
            left &= having.bits[graph.begins[k] + word]
        if not left:
            continue
        others = np.int64(0)
        for k in range(unknown):
            i = graph.queue[k]
            without = left & ~having.bits[having.begin[v, graph.parent[i]] + word]
            if without:
                row = np.int64(lowest(without)) + (word << 6)
                if families.costs[lo + row] < most:
                    graph.row[i], graph.rise[i] = row, families.costs[lo + row] - families.costs[lo + graph.rows[v]]
            else:
                graph.queue[others] = i
                others += 1
        unknown = others


@inner
def _gather(v, varset, count, having, graph):
    """Append to graph.begins where `having` tells of each member of a varset in which families of v it is; how many
    there are then."""
    for w in range(varset.size):
        left = varset[w]
        while left:
            graph.begins[count] = having.begin[v, np.int64(lowest(left)) + (w << 6)]
            left &= left - u64(1)
            count += 1
    return count


@inner
def find_cycle(graph):
    """The arcs that may be lost of a cycle go into graph.cycle; how many.

    The cycle is one whose cheapest arc is dearest, and has few arcs that may be lost. Some cycle tells how dear the
    cheapest arc can be at least; as long as the dearer arcs have a cycle, it is that.
    """
    rise = _some_cycle(-1.0, graph)
    while True:
        higher = _some_cycle(rise, graph)
        if higher < 0.0:
            break
        rise = higher
    if rise == np.inf:
        return np.int64(0)
    fewest, closing = np.int64(graph.rows.size + 1), np.int64(-1)
    for i in range(graph.first[graph.rows.size]):
        if graph.rise[i] == rise:  # without these arcs the dearer ones have no cycle
            far = _find_path(i, rise, graph)
            if 0 <= far < fewest:
                fewest, closing = far, i
    _find_path(closing, rise, graph)
    return _take_cycle(closing, graph)


@inner
def _some_cycle(rise, graph):
    """What the cheapest arc of some cycle of arcs that cost more than so much to be lost costs; -1 if there is no
    cycle, infinity if a cycle cannot be lost. O(arcs)."""
    graph.core[:] = 0
    for v in range(graph.rows.size):
        for w in range(graph.core.size):
            graph.masks[v, w] = 0
        for i in range(graph.first[v], graph.first[v + 1]):
            if graph.rise[i] > rise:
                put(graph.masks[v], graph.parent[i])
                put(graph.core, v)
        graph.far[v] = 0
    if not _peel(graph):
        return -1.0
    w = 0
    while not graph.core[w]:
        w += 1
    v = np.int64(lowest(graph.core[w])) + (w << 6)
    while graph.far[v] < 2:  # from the second visit on it goes around a cycle
        graph.far[v] += 1
        graph.via[v] = _dearest(v, graph)
        v = graph.parent[graph.via[v]]
    least, begin = graph.rise[graph.via[v]], v
    v = graph.parent[graph.via[v]]
    while v != begin:
        least = min(least, graph.rise[graph.via[v]])
        v = graph.parent[graph.via[v]]
    return least


@inner
def _dearest(v, graph):
    """The arc to v from the core that costs most to be lost."""
    found = np.int64(-1)
    for i in range(graph.first[v], graph.first[v + 1]):
        if has(graph.core, graph.parent[i]) and (found < 0 or graph.rise[i] > graph.rise[found]):
            found = i
    return found


@inner
def _find_path(arc, rise, graph):
    """Find the path from the child of an arc to its parent with the fewest arcs that may be lost, of those that cost at
    least so much; how many, -1 if there is no path. via[v]: the arc that leaves v then.

    Breadth first from the parent to its parents, and on; arcs that are never lost cost nothing.
    """
    far, queue = graph.far, graph.queue
    far[:] = -1
    begin = queue.size >> 1
    end = begin + 1
    queue[begin], far[graph.parent[arc]] = graph.parent[arc], 0
    while begin < end:
        v = queue[begin]
        begin += 1
        for i in range(graph.first[v], graph.first[v + 1]):
            p = graph.parent[i]
            if graph.rise[i] < rise:
                continue
            free = np.int64(graph.rise[i] < np.inf)
            if far[p] >= 0 and far[p] <= far[v] + free:
                continue
            far[p], graph.via[p] = far[v] + free, i
            if free:
                queue[end] = p
                end += 1
            else:
                begin -= 1
                queue[begin] = p
    return far[graph.child[arc]]


@inner
def _take_cycle(arc, graph):
    """The arcs that may be lost of an arc and the path from its child to its parent, the cheapest first, go into
    graph.cycle; how many."""
    graph.cycle[0] = arc
    count, v = np.int64(1), graph.child[arc]
    while v != graph.parent[arc]:
        i = graph.via[v]
        v = graph.child[i]
        if graph.rise[i] == np.inf:
            continue
        at = count
        while at > 0 and graph.rise[graph.cycle[at - 1]] > graph.rise[i]:
            graph.cycle[at] = graph.cycle[at - 1]
            at -= 1
        graph.cycle[at] = i
        count += 1
    return count
