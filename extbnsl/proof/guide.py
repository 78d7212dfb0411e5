"""What guides the search of a piece of a component: the families that are left, multipliers, and groups with tables.

How much is done for the bounds follows the search that is expected: a trial of its first layers is carried on, and as
long as another round of improving the multipliers costs a small share of that, there is one. What they fix may take the
piece apart.
"""

from dataclasses import dataclass

import numpy as np

from extbnsl.bounds.groups import Grouping, build_grouping
from extbnsl.bounds.lp.branching import Tree
from extbnsl.bounds.multipliers import NO_CLUSTERS, Multipliers, cluster_bound
from extbnsl.bounds.patterns import group_bound, static_table
from extbnsl.files.lists import FamilyLists
from extbnsl.kernels.varsets import renumber
from extbnsl.parents.best_score import byte_tables_bytes
from extbnsl.parents.components import Component
from extbnsl.proof.context import Context
from extbnsl.search.ancestral import NO_ANCESTRY, Ancestry, ancestry
from extbnsl.search.problem import SearchProblem, search_problem
from extbnsl.search.score_cache import ScoreCache


@dataclass(frozen=True)
class Guide:
    """A piece of a component, over positions in it: families, multipliers if there are any, and groups with their
    tables; without a grouping it cannot be searched. sets: for ancestral successors, over the labels of the search;
    None if there are to be none. at_root: the multipliers with the largest bound at the root, if these are others."""

    parents: FamilyLists
    costs: FamilyLists
    multipliers: Multipliers | None
    grouping: Grouping | None
    sets: tuple[int, ...] | None = None
    at_root: Multipliers | None = None

    @property
    def root(self) -> float:
        """What a network costs at least, in nats."""
        bounds = [float(sum(costs[0] for costs in self.costs))]
        bounds += [one.root for one in (self.multipliers, self.at_root) if one is not None]
        bounds += [] if self.grouping is None else [self.grouping.root]
        return max(bounds)

    @property
    def best_multipliers(self) -> Multipliers | None:
        """Those with the largest bound at the root."""
        return self.at_root or self.multipliers


@dataclass(frozen=True)
class Solved:
    """What branching has shown of a piece, by its tree: its cheapest network, by an order of the positions, and what
    that costs, in nats; no order if no network costs less than the limit."""

    order: tuple[int, ...] | None
    cost: float
    tree: Tree


@dataclass(frozen=True)
class Guided:
    """What came of a piece: its guide, and the pieces that it fell into, if it did.

    proved: multipliers prove that no network costs less than the limit, by the passes (see `Fixed`). edges: about how
    many its search will generate, infinity if it is too large. solved: if no search has to.
    """

    guide: Guide
    proved: bool = False
    pieces: tuple[Component, ...] = ()
    passes: tuple[Multipliers, ...] = ()
    edges: float = 0.0
    solved: Solved | None = None

    def proves(self, limit: float) -> bool:
        """Whether no network costs less than the limit; groups may prove it too, which no pass repeats."""
        if self.solved is not None:
            return self.solved.order is None
        return self.proved or (not self.pieces and self.guide.root >= limit)


def guided_problem(guide: Guide, limit: float, context: Context, cache: ScoreCache | None = None) -> SearchProblem:
    """The piece with its variables in the order of the groups, ready to search; nodes with f >= limit are pruned.

    With a score cache by layered parent graphs.
    """
    assert guide.grouping is not None, "the piece can be searched"
    parents, costs = labelled_families(guide, context)
    new = np.argsort(labels(guide.grouping))
    clusters = NO_CLUSTERS if guide.multipliers is None else cluster_bound(guide.multipliers, new)
    bound = group_bound(guide.grouping.tables)
    ancestors = NO_ANCESTRY if guide.sets is None else _ancestry(guide, parents)
    return search_problem(parents, costs, bound, limit, context.methods.path_extension, cache, clusters, ancestors)


def _ancestry(guide: Guide, parents: FamilyLists) -> Ancestry:
    """The ancestral successors by the families with these labelled parents."""
    assert guide.multipliers is not None, "reduced costs are those of multipliers"
    assert guide.grouping is not None, "the piece can be searched"
    assert guide.sets is not None, "nodes are to be looked at"
    cuts = np.cumsum([costs.size for costs in guide.costs])[:-1]
    reduced = np.split(guide.multipliers.reduced, cuts)
    own = tuple(reduced[v] for v in labels(guide.grouping))
    return ancestry(parents, own, np.array(guide.sets, dtype=np.uint64))


def labels(grouping: Grouping) -> list[int]:
    """The variable that each label of the search stands for: the groups one after the other."""
    return [v for group in grouping.groups for v in group]


def labelled_families(guide: Guide, context: Context) -> tuple[FamilyLists, FamilyLists]:
    """The families with the variables in the order of the groups."""
    assert guide.grouping is not None, "the piece can be searched"
    order = labels(guide.grouping)
    new = np.argsort(order)
    parents = tuple(context.shelf.put(renumber(guide.parents[v], new, len(order))) for v in order)
    return parents, tuple(guide.costs[v] for v in order)


def rebuilt_grouping(
    groups: tuple[tuple[int, ...], ...], parents: FamilyLists, costs: FamilyLists, context: Context
) -> Grouping:
    """The grouping into these groups, with the tables that the methods ask for."""
    if not context.methods.patterns:
        best = np.array([costs[0] for costs in costs])
        return Grouping(groups, tuple(static_table(best[list(group)]) for group in groups))
    return build_grouping(groups, (parents, costs))


def tables_fit(costs: FamilyLists, context: Context) -> bool:
    """Whether memory has room for sparse parent graphs of so many families and, as much again, for nodes."""
    return byte_tables_bytes(costs, len(costs)) <= context.memory_left // 2
