"""One component of the problem, ready to search; and what decides which nodes are kept: the bound h of a node from
groups and multipliers, in kernels.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.at_nodes import NO_CLUSTERS, ClusterBound, GroupBound
from extbnsl.bounds.multipliers import UNIT, FamilyArrays, families_of
from extbnsl.kernels.bits import assign, u64
from extbnsl.kernels.compiler import borrowed, inner, njit
from extbnsl.parents.best_score import ByteTables, as_bytes, byte_tables
from extbnsl.search.ancestral import NO_ANCESTRY, Ancestry, closed_set
from extbnsl.search.score_cache import ScoreCache

VECTOR = 8  # clusters that are looked at together
NEIGHBOURS = 8  # lowest bits of the high part in which neighbouring partitions differ


class Pruning(NamedTuple):
    """What decides which nodes are kept, and which successors they get: of a search of so many variables, those with
    f >= limit are pruned; h is the maximum of the group bound and the cluster bound.

    unmet (bytes, 256) uint64: for each byte of a varset and its value the children whose best parents of all have a
    member there that is missing; extend_path: whether a node whose successor has all of these gets no other. ancestry:
    which successors are enough.
    """

    variables: int
    low_bits: int
    limit: float
    groups: GroupBound
    clusters: ClusterBound
    unmet: NDArray[np.uint64]
    extend_path: bool
    ancestry: Ancestry


class Near(NamedTuple):
    """The clusters near one target: masks (3, k + VECTOR) uint64, weights (3, k + VECTOR) int64.

    In row 0 all clusters, in row 1 those that are disjoint from the upper bits of a target's high part, last (1,)
    uint64, in row 2 those that are disjoint from all of it. counts (3,) int64: how many.
    """

    masks: NDArray[np.uint64]
    weights: NDArray[np.int64]
    counts: NDArray[np.int64]
    last: NDArray[np.uint64]


@inner
def fill_coarse(high, group, coarse):
    """What the groups but the first add to h in one partition, for each value of the low bits beyond the first one."""
    tables, start, shift, width = group.tables, group.start, group.shift, group.width
    for c in range(coarse.size):
        varset = high | (u64(c) << u64(width[0]))
        total = 0.0
        for k in range(1, start.size):
            total += tables[start[k] + np.int64((varset >> u64(shift[k])) & ((u64(1) << u64(width[k])) - u64(1)))]
        coarse[c] = total


@inner
def fine_part(high, low_bits, group):
    """The first group's part of h in one partition: (tables, at, mask, cut); the group bound of the node with low
    part `low` is coarse[low >> cut] + tables[at + (low & mask)]."""
    width = u64(group.width[0])
    mask = (u64(1) << min(width, u64(low_bits))) - u64(1)
    return group.tables, high & ((u64(1) << width) - u64(1)), mask, width


@inner
def new_near(clusters):
    """Room for the clusters near one target, of which none is known yet."""
    size = clusters.masks.size
    masks, weights = np.empty((3, size + VECTOR), np.uint64), np.empty((3, size + VECTOR), np.int64)
    assign(masks[0], clusters.masks)
    assign(weights[0], clusters.weights)
    return Near(masks, weights, np.full(3, size), np.full(1, ~u64(0)))


@inner
def near_clusters(high, low_bits, near):
    """Find the clusters that are disjoint from `high`, and fill them up with some that weigh nothing.

    Returns how many there are, in vectors. Neighbouring targets share the upper bits of `high`: as long as these stay,
    only what they leave of the clusters is looked at.
    """
    masks, weights, counts, last = near.masks, near.weights, near.counts, near.last
    upper = high >> u64(low_bits + NEIGHBOURS) << u64(low_bits + NEIGHBOURS)
    for row in range(1 if upper == last[0] else 0, 2):
        bits = high if row else upper
        left = u64(0)
        for c in range(u64(counts[row])):  # without a branch, which would be hard to predict
            masks[row + 1, left], weights[row + 1, left] = masks[row, c], weights[row, c]
            left += u64(0) if masks[row, c] & bits else u64(1)
        counts[row + 1] = left
    last[0] = upper
    for c in range(left, left + u64(VECTOR)):
        masks[2, c], weights[2, c] = ~u64(0), 0
    return (left + u64(VECTOR - 1)) // u64(VECTOR)


@inner
def weight_of(varset, masks, weights, vectors):
    """What those of the clusters weigh that are disjoint from a node.

    No more than this: with the rest of the bound it would not be inlined, and cost more by the call than by the sum.
    """
    total = np.int64(0)
    for c in range(vectors * u64(VECTOR)):
        total += np.int64(0) if masks[c] & varset else weights[c]
    return total


@inner
def bound_of_waiting(varset, waiting):
    """The sum of mu over the variables that a varset lacks; two low bytes come last, as in `emit`."""
    h = 0.0
    for b in range(2, waiting.shape[0]):
        h += waiting[b, (varset >> u64(b << 3)) & u64(255)]
    return h + waiting[0, varset & u64(255)] + waiting[1, (varset >> u64(8)) & u64(255)]


@njit
def closed_sets_of(varsets, g, variables, clusters, ancestry, limit, halt):
    """The set of each node, see `ancestral.closed_set`: uint64, as the search takes it where it extends no path. Ends
    early when halt[0] is set."""
    varsets, g, variables, clusters, ancestry, halt = borrowed((varsets, g, variables, clusters, ancestry, halt))
    closed = np.empty(varsets.size, np.uint64)
    everything = ~u64(0) >> u64(64 - variables)
    near = new_near(clusters)
    par = np.empty(64, np.uint64)
    vectors = near_clusters(u64(0), np.int64(0), near)
    for i in range(varsets.size):
        if halt[0]:
            break
        h = weight_of(varsets[i], near.masks[2], near.weights[2], vectors) * UNIT
        h += bound_of_waiting(varsets[i], clusters.waiting)
        closed[i] = closed_set(varsets[i], everything, limit - g[i] - h, ancestry, par)
    return closed


LOW_BITS = 16


@dataclass(frozen=True)
class SearchProblem:
    """One component, ready to search: n <= 64 variables, labelled so that the bound's groups are contiguous.

    rules: which nodes are kept, for kernels. parent_graphs answer BestScore: sparse ones are byte tables with every
    byte for every child; layered ones are rows that the nodes carry, and the score cache that they are made from.
    families: for dual ascents at nodes, if there are clusters. keeps_costs: whether g of closed layers is kept.
    """

    rules: Pruning
    parent_graphs: ByteTables | ScoreCache
    families: FamilyArrays | None
    keeps_costs: bool = False

    @property
    def variables(self) -> int:
        return self.rules.variables

    @property
    def low_bits(self) -> int:
        """Of a varset, which is cut into these and the high rest."""
        return self.rules.low_bits

    @property
    def high_bits(self) -> int:
        return self.variables - self.low_bits

    @property
    def bytes(self) -> int:
        """Memory that the tables take."""
        return _bytes_of((self.rules, self.parent_graphs, self.families))

    @property
    def score_cache(self) -> ScoreCache | None:
        """What layered parent graphs are made from; None if they are sparse."""
        return self.parent_graphs if isinstance(self.parent_graphs, ScoreCache) else None

    def row_width(self, size: int) -> int:
        """How many best scores a node of `size` variables carries."""
        return self.variables - size if self.score_cache else 0


def _bytes_of(value: Any) -> int:
    """Bytes of the arrays in tuples of tuples."""
    return sum(map(_bytes_of, value)) if isinstance(value, tuple) else getattr(value, "nbytes", 0)


def search_problem(
    parents: tuple[NDArray[np.uint64], ...],
    costs: tuple[NDArray[np.float64], ...],
    bound: GroupBound,
    limit: float,
    path_extension: bool,
    cache: ScoreCache | None = None,
    clusters: ClusterBound = NO_CLUSTERS,
    ancestry: Ancestry = NO_ANCESTRY,
) -> SearchProblem:
    """The problem of families in score order, parents[X] (m, 1), over the labels that `bound` and `clusters` use.

    With a score cache, which holds the same families, the parent graphs are layered, otherwise sparse.
    """
    n = len(parents)
    size = -(-n // 8)
    favourites = np.stack([as_bytes(p[0])[:size] for p in parents])
    values = np.arange(256, dtype=np.uint8)
    lacking = (favourites[:, :, None] & ~values) != 0  # child, byte, value
    unmet = np.zeros((size, 256), dtype=np.uint64)
    for child in range(n):
        unmet |= lacking[child].astype(np.uint64) << np.uint64(child)
    parent_graphs = cache or byte_tables(parents, costs, bytes_of_all=size)
    # with three groups and more, partitions of one group would hold few nodes, and what a partition costs would count
    low_bits = min(LOW_BITS, max(int(bound.width[0]), n // 2))
    families = families_of(parents, costs) if clusters.masks.size else None
    rules = Pruning(n, low_bits, limit, bound, clusters, unmet, path_extension, ancestry)
    return SearchProblem(rules, parent_graphs, families)
