"""The order graph, as kernels walk it, and the bound that guides them.

A node is a varset U, an arc adds X at the cost BestScore(X | U); a path from the empty set to the set of all is an
order of the variables, and costs what the best network along it does. The variables have labels, so that the groups of
a bound are neighbouring bits. At most 64 variables.

There are bounds both ways: onward of what the variables outside U cost at least, and backward, for a search from the
set of all to the empty one, of what those of U do. Each is the maximum of two:

- groups: static tables or pattern databases (`extbnsl.bounds.patterns`), which are others backward;
- clusters (`extbnsl.bounds.multipliers`): onward those disjoint from U count, and mu outside of it. Backward those that
  U meets count, because the first member of each in an order of U pays for it, and mu over U. The two add up to the
  bound of the empty set. Without multipliers that is the static bound again.

All are consistent.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import find_multipliers, multipliers_bytes
from extbnsl.bounds.at_nodes import ClusterBound, GroupBound, cluster_bound, group_bound
from extbnsl.bounds.fixing import round_ns
from extbnsl.bounds.groups import Grouping
from extbnsl.bounds.multipliers import UNIT, Multipliers, families_of, no_multipliers
from extbnsl.bounds.patterns import group_families, pattern_table
from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import inlined
from extbnsl.kernels.varsets import renumber
from extbnsl.parents.best_score import ByteTables, byte_tables, byte_tables_bytes
from extbnsl.parents.components import Component
from extbnsl.proof.context import Context
from extbnsl.proof.guide import labels, weighed_grouping
from extbnsl.scores.local import LocalScores
from extbnsl.search.problem import bound_of_waiting

ROUNDS_NS, MOST_ROUNDS = 2e9, 256  # what improving the multipliers may take about, of one thread, and how many rounds


class OrderGraph(NamedTuple):
    """The order graph of n variables: label i stands for the variable order[i], int64 (n,); BestScore by tables with a
    block for each byte; groups and clusters over the labels."""

    order: NDArray[np.int64]
    tables: ByteTables
    groups: GroupBound
    clusters: ClusterBound

    @property
    def variables(self) -> int:
        """The number n of variables."""
        return self.order.size

    @property
    def bytes(self) -> int:
        """Memory that the arrays take."""
        arrays: tuple[NDArray, ...] = (self.order, *self.tables, *self.groups, *self.clusters)
        return sum(array.nbytes for array in arrays)


def order_graph(scores: LocalScores, context: Context, backward: bool = False) -> OrderGraph:
    """The order graph of local scores over at most 64 variables, with the bound that the methods name, one way.

    Groups are those that `solve` has beside clusters: by pair weights, of up to 16 variables. Raises Stopped, and
    MemoryError if the tables take more than half of the memory.
    """
    if byte_tables_bytes(scores.costs, scores.variables) > context.memory_left // 2:
        raise MemoryError("The tables of BestScore take more than half of the memory.")
    grouping = weighed_grouping(Component(tuple(range(scores.variables)), scores.parents, scores.costs), context)
    assert grouping is not None, "there are few enough variables"
    own = _backward(grouping, scores, context) if backward else grouping.tables
    order = np.array(labels(grouping), np.int64)
    new = np.argsort(order)
    parents = [renumber(scores.parents[v], new, order.size) for v in order.tolist()]
    tables = byte_tables(parents, [scores.costs[v] for v in order.tolist()], bytes_of_all=-(-order.size // 8))
    return OrderGraph(order, tables, group_bound(own), cluster_bound(_multipliers(scores, context), new))


def _backward(grouping: Grouping, scores: LocalScores, context: Context) -> list[NDArray[np.float64]]:
    """The tables of the groups for the other way."""
    if not context.methods.patterns:
        return [table[::-1] for table in grouping.tables]
    own = [(*group_families(scores.parents, scores.costs, group), True) for group in grouping.groups]
    return context.workers.map(pattern_table, own)


def _multipliers(scores: LocalScores, context: Context) -> Multipliers:
    """Multipliers, improved for some seconds at most; none where the bound has none or memory has no room for them."""
    families, seed = families_of(scores.parents, scores.costs), context.methods.seed
    needed = multipliers_bytes(scores.costs, scores.variables, context.workers.threads)
    if not context.methods.clusters or needed > context.memory_left // 2:
        return no_multipliers(families)
    first = find_multipliers(families, None, 0, seed, context.workers)
    rounds = min(MOST_ROUNDS, int(ROUNDS_NS / round_ns(scores.costs, first)))
    return find_multipliers(families, first, rounds, seed, context.workers)


@inlined
def _word_inside(varset, at, tables):
    """A word of a child's bitset: its parent sets inside `varset`; at: where the word is in its first row, and how wide
    that is."""
    left = ~u64(0)
    for b in range(u64(tables.block_first[1])):
        left &= tables.bits[at[0] + ((u64(b) << u64(8)) + ((varset >> u64(b << 3)) & u64(255))) * at[1]]
    return left


@inlined
def best_score(x, varset, tables):
    """BestScore(x | varset), infinity if no parent set is inside.

    A cost is read in any case: where a branch decides whether an array is needed, the compiler counts references to it,
    which takes longer than all the rest.
    """
    start, width = u64(tables.start[x]), u64(tables.width[x])
    word = u64(0)
    left = _word_inside(varset, (start, width), tables)
    while not left and word + u64(1) < width:
        word += u64(1)
        left = _word_inside(varset, (start + word, width), tables)
    cost = tables.costs[u64(tables.first[x]) + ((word << u64(6)) + lowest(left) if left else u64(0))]
    return cost if left else np.inf


@inlined
def _of_groups(varset, groups):
    """The sum of a node's entries in the tables of the groups."""
    total = 0.0
    for k in range(groups.start.size):
        inside = (u64(1) << u64(groups.width[k])) - u64(1)
        total += groups.tables[u64(groups.start[k]) + ((varset >> u64(groups.shift[k])) & inside)]
    return total


@inlined
def bound_onward(varset, groups, clusters):
    """What the variables outside a node cost at least, nats. It depends on the node alone, also in its rounding."""
    weight = np.int64(0)
    for c in range(clusters.masks.size):
        weight += np.int64(0) if clusters.masks[c] & varset else clusters.weights[c]
    return max(_of_groups(varset, groups), weight * UNIT + bound_of_waiting(varset, clusters.waiting))


@inlined
def bound_backward(varset, groups, clusters):
    """What the variables of a node cost at least, nats, without others before them than these, with groups backward."""
    weight = np.int64(0)
    for c in range(clusters.masks.size):
        weight += clusters.weights[c] if clusters.masks[c] & varset else np.int64(0)
    return max(_of_groups(varset, groups), weight * UNIT + bound_of_waiting(~varset, clusters.waiting))
