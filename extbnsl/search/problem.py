"""One component of the problem, ready to search."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import NO_CLUSTERS, ClusterBound, FamilyArrays, families_of
from extbnsl.bounds.patterns import GroupBound
from extbnsl.parents.best_score import ByteTables, as_bytes, byte_tables
from extbnsl.search.ancestral import NO_ANCESTRY, Ancestry
from extbnsl.search.node_bound import Rules
from extbnsl.search.score_cache import ScoreCache

LOW_BITS = 16


@dataclass(frozen=True)
class SearchProblem:
    """One component, ready to search: n <= 64 variables, labelled so that the bound's groups are contiguous.

    A varset is cut into `low_bits` low bits and the high rest; h is the maximum of the group bound and the cluster
    bound. parent_graphs answer BestScore: sparse ones are byte tables with every byte for every child; layered ones are
    rows that the nodes carry, and the score cache that they are made from. unmet (bytes, 256) uint64: for each byte of
    a varset and its value the children whose best parents of all have a member there that is missing; a node with
    f >= limit is pruned. ancestry: which successors of a node are enough. families: for dual ascents at nodes, if there
    are clusters. keeps_costs: whether g of closed layers is kept.
    """

    variables: int
    low_bits: int
    parent_graphs: ByteTables | ScoreCache
    unmet: NDArray[np.uint64]
    bound: GroupBound
    clusters: ClusterBound
    limit: float
    path_extension: bool
    ancestry: Ancestry
    families: FamilyArrays | None
    keeps_costs: bool = False

    @property
    def high_bits(self) -> int:
        return self.variables - self.low_bits

    @property
    def rules(self) -> Rules:
        """Which nodes are kept, for kernels."""
        return Rules(
            self.variables,
            self.low_bits,
            self.limit,
            self.bound,
            self.clusters,
            self.unmet,
            self.path_extension,
            self.ancestry,
        )

    @property
    def bytes(self) -> int:
        """Memory that the tables take."""
        arrays: tuple[NDArray, ...] = (*self.bound, *self.clusters, *self.ancestry, self.unmet)
        if self.families is not None:
            arrays += self.families
        if isinstance(self.parent_graphs, ByteTables):
            arrays += self.parent_graphs
        return sum(array.nbytes for array in arrays)

    @property
    def score_cache(self) -> ScoreCache | None:
        """What layered parent graphs are made from; None if they are sparse."""
        return self.parent_graphs if isinstance(self.parent_graphs, ScoreCache) else None

    def row_width(self, size: int) -> int:
        """How many best scores a node of `size` variables carries."""
        return self.variables - size if self.score_cache else 0


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
    return SearchProblem(n, low_bits, parent_graphs, unmet, bound, clusters, limit, path_extension, ancestry, families)
