"""What guides the search of a piece of a component: the families that are left, multipliers, and groups with tables.

How much is done for it follows the search that is expected, by a trial of its first layers.
"""

import contextlib
import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from extbnsl.bounds.groups import (
    BESIDE_CLUSTERS,
    EDGE_NS,
    WIDEST,
    Grouping,
    build_grouping,
    find_grouping,
    pair_weights,
    split_by_weight,
)
from extbnsl.bounds.lp.branching import Tree
from extbnsl.bounds.multipliers import NO_CLUSTERS, Multipliers, cluster_bound
from extbnsl.bounds.patterns import group_bound, pattern_bytes, static_table
from extbnsl.files.shelf import FamilyLists
from extbnsl.kernels.varsets import WORD_BITS, renumber
from extbnsl.parents.best_score import byte_tables_bytes
from extbnsl.parents.components import Component
from extbnsl.proof.context import Context
from extbnsl.proof.methods import Methods
from extbnsl.search.ancestral import NO_ANCESTRY, ancestry, frequent_sets
from extbnsl.search.forecast import Forecast, predicted_layers
from extbnsl.search.layers import Room, search_layers
from extbnsl.search.problem import SearchProblem, closed_sets_of, search_problem
from extbnsl.search.score_cache import ScoreCache, score_cache_bytes, write_score_cache
from extbnsl.search.state import SearchState, whole_layer


@dataclass(frozen=True)
class Guide:
    """What guides the search of a piece of a component, over positions in it.

    left: its families.
    multipliers: if there are any.
    grouping: groups with their tables; without them it cannot be searched.
    sets: for ancestral successors, over the labels of the search; None if there are to be none.
    at_root: the multipliers with the largest bound at the root, if these are others.
    """

    left: Component
    multipliers: Multipliers | None
    grouping: Grouping | None = None
    sets: tuple[int, ...] | None = None
    at_root: Multipliers | None = None

    @property
    def root(self) -> float:
        """What a network costs at least, in nats."""
        bounds = [float(sum(costs[0] for costs in self.left.costs))]
        bounds += [one.root for one in (self.multipliers, self.at_root) if one is not None]
        bounds += [] if self.grouping is None else [self.grouping.root]
        return max(bounds)

    @property
    def best_multipliers(self) -> Multipliers | None:
        """Those with the largest bound at the root."""
        return self.at_root or self.multipliers


@dataclass(frozen=True)
class Guided:
    """What came of a piece.

    guide: what guides its search.
    proved: whether multipliers prove that no network costs less than the limit.
    pieces: what it fell into, if it did.
    passes: the multipliers by which families were dropped, or it is proved (see `Fixed`).
    edges: about how many its search will generate, infinity if it is too large.
    tree: of branching, which has solved the piece, if no search has to.
    """

    guide: Guide
    proved: bool = False
    pieces: tuple[Component, ...] = ()
    passes: tuple[Multipliers, ...] = ()
    edges: float = 0.0
    tree: Tree | None = None

    def proves(self, limit: float) -> bool:
        """Whether no network costs less than the limit; groups may prove it too, which no pass repeats."""
        if self.tree is not None:
            return self.tree.cost >= limit
        return self.proved or (not self.pieces and self.guide.root >= limit)


def guided_problem(guide: Guide, limit: float, context: Context, cache: ScoreCache | None = None) -> SearchProblem:
    """The piece with its variables in the order of the groups, ready to search; nodes with f >= limit are pruned.

    With a score cache by layered parent graphs.
    """
    assert guide.grouping is not None, "the piece can be searched"
    parents, costs = labelled_families(guide, context)
    order, bound = labels(guide.grouping), group_bound(guide.grouping.tables)
    clusters, ancestors = NO_CLUSTERS, NO_ANCESTRY
    if guide.multipliers is not None:
        clusters = cluster_bound(guide.multipliers, np.argsort(order))
    if guide.sets is not None:
        assert guide.multipliers is not None, "reduced costs are those of multipliers"
        reduced = np.split(guide.multipliers.reduced, np.cumsum([own.size for own in guide.left.costs])[:-1])
        ancestors = ancestry(parents, tuple(reduced[v] for v in order), np.array(guide.sets, dtype=np.uint64))
    return search_problem(parents, costs, bound, limit, context.methods.path_extension, cache, clusters, ancestors)


def labels(grouping: Grouping) -> list[int]:
    """The variable that each label of the search stands for: the groups one after the other."""
    return [v for group in grouping.groups for v in group]


def labelled_families(guide: Guide, context: Context) -> tuple[FamilyLists, FamilyLists]:
    """The families with the variables in the order of the groups."""
    assert guide.grouping is not None, "the piece can be searched"
    order = labels(guide.grouping)
    new = np.argsort(order)
    parents = tuple(context.shelf.put(renumber(guide.left.parents[v], new, len(order))) for v in order)
    return parents, tuple(guide.left.costs[v] for v in order)


def rebuilt_grouping(groups: tuple[tuple[int, ...], ...], left: Component, context: Context) -> Grouping:
    """The grouping into these groups, with the tables that the methods ask for."""
    if not context.methods.patterns:
        best = np.array([costs[0] for costs in left.costs])
        return Grouping(groups, tuple(static_table(best[list(group)]) for group in groups))
    return build_grouping(groups, (left.parents, left.costs))


def tables_fit(costs: FamilyLists, context: Context) -> bool:
    """Whether memory has room for sparse parent graphs of so many families and, as much again, for nodes."""
    return byte_tables_bytes(costs, len(costs)) <= context.memory_left // 2


TRIAL_CACHE = "families-0-0"  # the name of the score cache of a trial
TRIAL_NODES = 20_000  # nodes kept before a trial is extrapolated
SHARE = 0.3  # of the expected search that better multipliers may cost
MOST_NS = 120e9  # that they may cost, however large the search will be
MANY_EDGES = 1e8  # of a search for which it is worth being thorough
FEWEST_EDGES = 1e6  # of a search for which ancestral successors are thought of
NODE_NS, FAMILY_NS = 300.0, 1.0  # that they cost for each node, and for each family of the piece
TOO_LARGE_NS = 20e9  # that they may cost where no search is possible


def may_polish(methods: Methods) -> bool:
    """Whether multipliers are polished where a search would be large."""
    return methods.clusters and methods.polish is not False


def worthwhile_ns(edges: float, methods: Methods) -> float:
    """How long it may take to make a search of so many edges smaller, in nanoseconds of one thread.

    Where no search is possible, infinity if there may be linear programs: their multipliers are the best that there are
    sooner or later, others never.
    """
    if math.isfinite(edges):
        return min(MOST_NS, SHARE * EDGE_NS * edges)
    return math.inf if may_polish(methods) else TOO_LARGE_NS


def weighed_grouping(left: Component, context: Context) -> Grouping | None:
    """Groups beside multipliers: by pair weights; better ones would not pay. None if there are too many variables."""
    n = len(left.parents)
    if n > WORD_BITS:
        return None
    groups = split_by_weight(pair_weights(left.parents, left.costs), -(-n // BESIDE_CLUSTERS))
    return rebuilt_grouping(tuple(map(tuple, groups)), left, context)


def plain_grouping(
    piece: Component, limit: float, context: Context, on_better: Callable[[Guide], None]
) -> Grouping | None:
    """Groups for a bound by groups alone."""
    if piece.size > WORD_BITS:
        return None
    widest = WIDEST
    while widest > 1 and pattern_bytes(widest) * context.workers.threads > context.memory // 2:
        widest -= 1
    if not context.methods.patterns:
        groups = np.array_split(np.arange(piece.size), -(-piece.size // widest))
        return rebuilt_grouping(tuple(tuple(g.tolist()) for g in groups), piece, context)

    def edges_of(grouping: Grouping) -> float:
        guide = Guide(piece, None, grouping)
        on_better(guide)
        return expected_edges(guide, limit, context)

    families = piece.parents, piece.costs
    return find_grouping(families, widest, limit, context.workers, context.methods.seed, edges_of)


def with_ancestors(guide: Guide, limit: float, edges: float, context: Context) -> Guide:
    """The guide with ancestral successors, if they save more than they cost in a search of so many edges.

    What they cost follows from the lists: each node looks at the beginning of some of them.
    """
    n, node_ns = guide.left.size, NODE_NS + FAMILY_NS * sum(costs.size for costs in guide.left.costs)
    dear = edges < FEWEST_EDGES or 2 * TRIAL_NODES * node_ns > SHARE * EDGE_NS * edges
    if not context.methods.ancestral or guide.grouping is None or dear:
        return guide
    with _tried(replace(guide, sets=()), limit, context) as problem:
        (last,) = deque(_trial(problem, context), maxlen=1)
        nodes = whole_layer(last)
        given = nodes.varsets(problem.low_bits), nodes.g, n, problem.rules.clusters, problem.rules.ancestry, limit
        closed = context.workers.run(closed_sets_of, *given, context.workers.halt)
    better = replace(guide, sets=tuple(frequent_sets(closed, n).tolist()))
    forecast = _forecast(better, limit, context)
    cost = EDGE_NS * float(forecast.edges.sum()) + node_ns * float(forecast.nodes.sum())
    return better if cost < EDGE_NS * edges else guide


def _trial(problem: SearchProblem, context: Context) -> Iterator[SearchState]:
    """The beginning of a search, in memory."""
    return search_layers(problem, context.workers, Room(math.inf), most_nodes_kept=TRIAL_NODES)


def expected_edges(guide: Guide, limit: float, context: Context) -> float:
    """About how many edges the search will generate."""
    return float(_forecast(guide, limit, context).edges.sum())


def _forecast(guide: Guide, limit: float, context: Context) -> Forecast:
    """The layers of the search, by a trial."""
    with _tried(guide, limit, context) as problem:
        return predicted_layers(_trial(problem, context), problem.variables)


@contextlib.contextmanager
def _tried(guide: Guide, limit: float, context: Context) -> Iterator[SearchProblem]:
    """The problem of a trial; it has layered parent graphs only if it must, and their score cache does not stay."""
    store = context.store
    if tables_fit(guide.left.costs, context) or score_cache_bytes(guide.left.costs) > store.free:
        yield guided_problem(guide, limit, context)
        return
    before = store.files
    try:
        cache = write_score_cache(store, TRIAL_CACHE, *labelled_families(guide, context))
        yield guided_problem(guide, limit, context, cache)
    finally:
        store.keep_only(before)
