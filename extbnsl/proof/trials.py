"""The search of a piece as its guide makes it, and trials of its beginning, by which its size is foreseen."""

import contextlib
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from extbnsl.bounds.at_nodes import NO_CLUSTERS, cluster_bound, group_bound
from extbnsl.bounds.groups import WIDEST, Grouping, find_grouping
from extbnsl.bounds.patterns import pattern_bytes
from extbnsl.files.shelf import FamilyLists
from extbnsl.kernels.varsets import WORD_BITS, renumber
from extbnsl.parents.best_score import byte_tables_bytes
from extbnsl.parents.components import Component
from extbnsl.proof.context import Context
from extbnsl.proof.guide import SHARE, Guide, labels, may_polish, rebuilt_grouping
from extbnsl.search.ancestral import NO_ANCESTRY, ancestry, frequent_sets
from extbnsl.search.forecast import Forecast, predicted_layers
from extbnsl.search.layers import CACHE_BYTES, Room, search_layers
from extbnsl.search.problem import SearchProblem, closed_sets_of, search_problem
from extbnsl.search.score_cache import ScoreCache, score_cache_bytes, write_score_cache
from extbnsl.search.state import SearchState, whole_layer

EDGE_NS, FAR = 100.0, 10.0  # of an edge in a search, and how many times as much where its tables exceed the cache
TRIAL_CACHE = "families-0-0"  # the name of the score cache of a trial
TRIAL_NODES = 20_000  # nodes kept before a trial is extrapolated
FULL, MOST_NODES = 0.5, 400_000  # where it keeps such a share of a layer, it goes on, to so many
HOPELESS_NS = 1e14  # of one thread: no search that takes longer, as far as can be said, is begun
FEWEST_EDGES = 1e6  # of a search for which ancestral successors are thought of
NODE_NS, FAMILY_NS = 300.0, 1.0  # that they cost for each node, and for each family of the piece


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


def labelled_families(guide: Guide, context: Context) -> tuple[FamilyLists, FamilyLists]:
    """The families with the variables in the order of the groups."""
    assert guide.grouping is not None, "the piece can be searched"
    order = labels(guide.grouping)
    new = np.argsort(order)
    parents = tuple(context.shelf.put(renumber(guide.left.parents[v], new, len(order))) for v in order)
    return parents, tuple(guide.left.costs[v] for v in order)


def edge_ns(costs: FamilyLists) -> float:
    """About what an edge of a search takes, in nanoseconds of one thread, where the children have these families."""
    return EDGE_NS * (FAR if byte_tables_bytes(costs, len(costs)) > CACHE_BYTES else 1.0)


def tables_fit(costs: FamilyLists, context: Context) -> bool:
    """Whether memory has room for sparse parent graphs of so many families and, as much again, for nodes."""
    return byte_tables_bytes(costs, len(costs)) <= context.memory_left // 2


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

    def time_of(grouping: Grouping) -> float:
        guide = Guide(piece, None, grouping)
        on_better(guide)
        return edge_ns(piece.costs) * float(foreseen(guide, limit, context).edges.sum())

    return find_grouping((piece.parents, piece.costs), widest, limit, context.workers, context.methods.seed, time_of)


def with_ancestors(guide: Guide, limit: float, search_ns: float, context: Context) -> Guide:
    """The guide with ancestral successors, if they save more than they cost in a search that takes so long, as far as
    TRIAL_NODES tell.

    What they cost follows from the lists: each node looks at the beginning of some of them.
    """
    n, node_ns = guide.left.size, NODE_NS + FAMILY_NS * sum(costs.size for costs in guide.left.costs)
    each = edge_ns(guide.left.costs)
    dear = search_ns < FEWEST_EDGES * each or 2 * TRIAL_NODES * node_ns > SHARE * search_ns
    if not context.methods.ancestral or guide.grouping is None or dear:
        return guide
    with _tried(replace(guide, sets=()), limit, context, TRIAL_NODES) as (problem, states):
        nodes = whole_layer(deque(states, maxlen=1)[0])
        given = nodes.varsets(problem.low_bits), nodes.g, n, problem.rules.clusters, problem.rules.ancestry, limit
        closed = context.workers.run(closed_sets_of, *given, context.workers.halt)
    better = replace(guide, sets=tuple(frequent_sets(closed, n).tolist()))
    plain, other = (foreseen(one, limit, context, TRIAL_NODES) for one in (guide, better))
    cost = each * float(other.edges.sum()) + node_ns * float(other.nodes.sum())
    return better if cost < each * float(plain.edges.sum()) else guide


def time_foreseen(guide: Guide, limit: float, context: Context) -> float:
    """About how long the search takes, by a trial; see `search_ns`."""
    return search_ns(foreseen(guide, limit, context), guide.left.costs, context)


def search_ns(forecast: Forecast, costs: FamilyLists, context: Context) -> float:
    """About how long a search takes of a piece whose children have these families, in nanoseconds of one thread;
    infinity where that is hopeless and there are linear programs to go on with."""
    found = edge_ns(costs) * float(forecast.edges.sum())
    hopeless = found > HOPELESS_NS * forecast.doubt and may_polish(context.methods)
    return math.inf if hopeless else found


def foreseen(guide: Guide, limit: float, context: Context, most: int = MOST_NODES) -> Forecast:
    """The layers of the search, by a trial of at most so many nodes and another layer."""
    with _tried(guide, limit, context, most) as (problem, states):
        return predicted_layers(_until_told(states, problem.variables), problem.variables)


def _until_told(states: Iterable[SearchState], variables: int) -> Iterator[SearchState]:
    """The states of a trial until they tell how the layers thin out: as long as these are nearly all varsets of their
    size, nothing does."""
    for state in states:
        yield state
        if state.kept > TRIAL_NODES and state.layer.nodes < FULL * math.comb(variables, state.layer.size):
            return


@contextlib.contextmanager
def _tried(
    guide: Guide, limit: float, context: Context, most: int
) -> Iterator[tuple[SearchProblem, Iterator[SearchState]]]:
    """The problem of a trial, and the beginning of its search, of so many nodes, in memory; it has layered parent
    graphs only if it must, and their score cache does not stay."""
    store, cache = context.store, None
    layered = not tables_fit(guide.left.costs, context) and score_cache_bytes(guide.left.costs) <= store.free
    before = store.files
    try:
        if layered:
            cache = write_score_cache(store, TRIAL_CACHE, *labelled_families(guide, context))
        problem = guided_problem(guide, limit, context, cache)
        yield problem, search_layers(problem, context.workers, Room(math.inf), most_nodes_kept=most)
    finally:
        if layered:
            store.keep_only(before)
