"""How much to do before a piece is searched: it follows the search that is expected, by a trial of its first layers."""

import contextlib
import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from extbnsl.bounds.groups import (
    BESIDE_CLUSTERS,
    EDGE_NS,
    WIDEST,
    Grouping,
    find_grouping,
    pair_weights,
    split_by_weight,
)
from extbnsl.bounds.patterns import pattern_bytes
from extbnsl.kernels.varsets import WORD_BITS
from extbnsl.parents.components import Component
from extbnsl.proof.context import Context
from extbnsl.proof.guide import Guide, guided_problem, labelled_families, rebuilt_grouping, tables_fit
from extbnsl.proof.methods import Methods
from extbnsl.search.ancestral import frequent_sets
from extbnsl.search.forecast import predicted_layers
from extbnsl.search.layers import Room, search_layers
from extbnsl.search.node_bound import closed_sets_of
from extbnsl.search.problem import SearchProblem
from extbnsl.search.score_cache import score_cache_bytes, write_score_cache
from extbnsl.search.state import SearchState, whole_layer

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
    return rebuilt_grouping(tuple(map(tuple, groups)), left.parents, left.costs, context)


def plain_grouping(
    piece: Component, limit: float, context: Context, on_better: Callable[[Guide], None]
) -> Grouping | None:
    """Groups for a bound by groups alone."""
    if piece.size > WORD_BITS:
        return None
    widest = WIDEST
    while widest > 1 and pattern_bytes(widest) * context.workers.threads > context.memory // 2:
        widest -= 1
    if context.methods.lower_bound == "static":
        groups = np.array_split(np.arange(piece.size), -(-piece.size // widest))
        return rebuilt_grouping(tuple(tuple(g.tolist()) for g in groups), piece.parents, piece.costs, context)

    def edges_of(grouping: Grouping) -> float:
        guide = Guide(piece.parents, piece.costs, None, grouping)
        on_better(guide)
        return expected_edges(guide, limit, context)

    families = piece.parents, piece.costs
    return find_grouping(families, widest, limit, context.workers, context.methods.seed, edges_of)


def with_ancestors(guide: Guide, limit: float, edges: float, context: Context) -> Guide:
    """The guide with ancestral successors, if they save more than they cost in a search of so many edges.

    What they cost follows from the lists: each node looks at the beginning of some of them.
    """
    n, node_ns = len(guide.costs), NODE_NS + FAMILY_NS * sum(costs.size for costs in guide.costs)
    dear = edges < FEWEST_EDGES or 2 * TRIAL_NODES * node_ns > SHARE * EDGE_NS * edges
    if not context.methods.ancestral or guide.grouping is None or dear:
        return guide
    with _tried(replace(guide, sets=()), limit, context) as problem:
        (last,) = deque(_trial(problem, context), maxlen=1)
        nodes = whole_layer(last)
        given = nodes.varsets(problem.low_bits), nodes.g, n, problem.clusters, problem.ancestry, limit
        closed = context.workers.run(closed_sets_of, *given, context.workers.halt)
    better = replace(guide, sets=tuple(frequent_sets(closed, n).tolist()))
    with _tried(better, limit, context) as problem:
        forecast = predicted_layers(_trial(problem, context), n)
    cost = EDGE_NS * float(forecast.edges.sum()) + node_ns * float(forecast.nodes.sum())
    return better if cost < EDGE_NS * edges else guide


def _trial(problem: SearchProblem, context: Context) -> Iterator[SearchState]:
    """The beginning of a search, in memory."""
    return search_layers(problem, context.workers, Room(math.inf), most_nodes_kept=TRIAL_NODES)


def all_edges(variables: int) -> float:
    """How many edges the whole order graph has."""
    return math.ldexp(variables, variables - 1)


def expected_edges(guide: Guide, limit: float, context: Context) -> float:
    """About how many edges the search will generate."""
    with _tried(guide, limit, context) as problem:
        return float(predicted_layers(_trial(problem, context), problem.variables).edges.sum())


@contextlib.contextmanager
def _tried(guide: Guide, limit: float, context: Context) -> Iterator[SearchProblem]:
    """The problem of a trial; it has layered parent graphs only if it must, and their score cache does not stay."""
    store = context.store
    if tables_fit(guide.costs, context) or score_cache_bytes(guide.costs) > store.free:
        yield guided_problem(guide, limit, context)
        return
    before = store.files
    try:
        cache = write_score_cache(store, TRIAL_CACHE, *labelled_families(guide, context))
        yield guided_problem(guide, limit, context, cache)
    finally:
        store.keep_only(before)
