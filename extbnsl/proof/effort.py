"""How much is done for the bounds of a piece before it is searched.

It follows the search that is expected: a trial of its first layers is carried on, and as long as another round of
improving the multipliers costs a small share of that, there is one. What they fix may take the piece apart.
"""

import contextlib
import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from extbnsl.bounds.ascent import ascend_nodes, multipliers_bytes
from extbnsl.bounds.fixing import WORTHWHILE, Fixed, fix_families, probed_families
from extbnsl.bounds.groups import WIDEST, Grouping, find_grouping, pair_weights, split_by_weight
from extbnsl.bounds.lp.polish import ITERATION_NS, Polish, highs_installed
from extbnsl.bounds.lp.probing import Told
from extbnsl.bounds.multipliers import NO_CLUSTERS, Multipliers, families_of
from extbnsl.bounds.patterns import pattern_bytes
from extbnsl.events import StageAdvanced
from extbnsl.kernels.varsets import WORD_BITS
from extbnsl.parents.components import Component, split
from extbnsl.proof.context import Context
from extbnsl.proof.guide import Guide, Guided, guided_problem, labelled_families, rebuilt_grouping, tables_fit
from extbnsl.proof.methods import Methods
from extbnsl.search.ancestral import NO_ANCESTRY, frequent_sets
from extbnsl.search.forecast import predicted_layers
from extbnsl.search.layers import Room, search_layers
from extbnsl.search.node_bound import closed_sets_of
from extbnsl.search.problem import LOW_BITS, SearchProblem
from extbnsl.search.score_cache import score_cache_bytes, write_score_cache
from extbnsl.search.state import SearchState, whole_layer

TRIAL_CACHE = "families-0-0"  # the name of the score cache of a trial
TRIAL_NODES = 20_000  # nodes kept before a trial is extrapolated
EDGE_NS = 35.0
SHARE = 0.3  # of the expected search that better multipliers may cost
MOST_NS = 120e9  # that they may cost, however large the search will be
LOOK_NS = 2e7  # what it costs to see what a round has brought, by another trial
FEWEST_ROUNDS, STALE = 8, 0.99  # so many rounds that leave such a share of the gap are not followed by twice as many
MANY_EDGES = 1e8  # of a search for which it is worth being thorough
FEWEST_EDGES = 1e6  # of a search for which ancestral successors are thought of
NODE_NS, FAMILY_NS = 300.0, 1.0  # that they cost for each node, and for each family of the piece
TOO_LARGE_NS = 20e9  # that they may cost where no search is possible
UNTIL_POLISH_NS = 1e9  # that they may cost where they can be polished afterwards
MOST_ITERATIONS = 1 << 30  # of the simplex method


def find_guide(
    piece: Component,
    start: Multipliers | None,
    limit: float,
    context: Context,
    on_better: Callable[[Guide], None] = lambda guide: None,
    thorough: bool = False,
) -> Guided:
    """Prove that no network over the piece costs less than `limit`, take it apart, or find what guides its search.

    start: multipliers to begin with. thorough: whether what is dear may be done, if it saves more. on_better gets each
    guide that is the best so far, which is what is left if this raises Stopped. Deterministic for a seed, whatever the
    threads and budgets; only the groups of pattern databases alone are smaller where memory is short.
    """
    needed = multipliers_bytes(piece.costs, piece.size, context.workers.threads)
    if not context.methods.clusters or needed > context.memory_left:
        guide = Guide(piece.parents, piece.costs, None, _plain_grouping(piece, limit, context, on_better))
        on_better(guide)
        return Guided(guide)
    polished = context.methods.polish or (thorough and may_polish(context.methods))
    polish = Polish(context.memory_left - needed, _teller(context)) if polished else None
    return _Guiding(limit, context, on_better, polish, thorough).find(piece, start)


def _teller(context: Context) -> Told:
    """What tells the observer how far the bounds are."""
    return lambda done, total, unit: context.observer(StageAdvanced("bounds", done, total, unit))


def may_polish(methods: Methods) -> bool:
    """Whether multipliers are polished where a search would be large."""
    return methods.clusters and (highs_installed() if methods.polish is None else methods.polish)


class _Guiding:
    """The rounds in which multipliers are found for a piece."""

    def __init__(
        self,
        limit: float,
        context: Context,
        on_better: Callable[[Guide], None],
        polish: Polish | None,
        thorough: bool,
    ) -> None:
        self._limit, self._context, self._on_better, self._polish = limit, context, on_better, polish
        self._passes: list[Multipliers] = []
        self._probing = thorough and context.methods.fixing

    def find(self, piece: Component, start: Multipliers | None) -> Guided:
        """What `find_guide` does, with multipliers."""
        context, limit, polish = self._context, self._limit, self._polish
        left, rounds, gap = (piece.parents, piece.costs), 0, math.inf
        while True:
            fixed = fix_families(
                *left,
                start,
                limit,
                context.methods.fixing,
                rounds,
                context.methods.seed + rounds,
                context.workers,
                polish,
            )
            self._passes += fixed.passes
            if (ended := self._ended(fixed)) is not None:
                return ended
            left, start = (fixed.parents, fixed.costs), fixed.multipliers
            guide = self._guide(fixed, rounds)
            self._on_better(guide)
            edges = math.inf if guide.grouping is None else _expected_edges(guide, limit, context)
            before, gap = gap, limit - guide.root
            stale = rounds >= FEWEST_ROUNDS and gap > STALE * before
            more = max(1, 2 * rounds)
            round_ns = fixed.round_ns() + (0.0 if polish is None else polish.round_ns)
            done = stale or (polish is not None and polish.optimal)
            if not done and LOOK_NS + more * round_ns <= self._worthwhile_ns(edges):
                rounds = more
                continue
            probed = self._probed(fixed, edges)
            if probed is None:
                return Guided(_with_ancestors(guide, limit, edges, context), passes=tuple(self._passes), edges=edges)
            self._passes += probed.passes
            if (ended := self._ended(probed)) is not None:
                return ended
            left, start = (probed.parents, probed.costs), probed.multipliers

    def _ended(self, fixed: Fixed) -> Guided | None:
        """What has come of the piece, if it is proved or in pieces."""
        guide = Guide(fixed.parents, fixed.costs, fixed.multipliers, None)
        if fixed.proved:
            return Guided(guide, proved=True, passes=tuple(self._passes))
        pieces = split(fixed.parents, fixed.costs, self._context.shelf.put)
        return Guided(guide, pieces=pieces, passes=tuple(self._passes)) if len(pieces) > 1 else None

    def _guide(self, fixed: Fixed, rounds: int) -> Guide:
        """What a search would have by now."""
        guide = Guide(fixed.parents, fixed.costs, fixed.multipliers, _grouping(fixed, self._context))
        if self._polish is None:
            return guide
        families = families_of(fixed.parents, fixed.costs)
        effort = max(1, rounds)
        spread = self._polish.spread(families, fixed.multipliers, self._limit, effort, self._context.workers)
        return replace(guide, multipliers=spread, at_root=fixed.multipliers)

    def _probed(self, fixed: Fixed, edges: float) -> Fixed | None:
        """What probing leaves of the families; None if it would not pay, or there is no more to it."""
        polish, context = self._polish, self._context
        worthwhile = self._worthwhile_ns(edges)
        if polish is None or not self._probing:
            return None
        families = families_of(fixed.parents, fixed.costs)
        if polish.probing_ns(families) > worthwhile:
            return None
        effort = int(min(MOST_ITERATIONS, worthwhile / ITERATION_NS))
        found = probed_families(fixed, self._limit, polish, effort, context.workers)
        self._probing = found.families < (1.0 - WORTHWHILE) * fixed.families
        return found

    def _worthwhile_ns(self, edges: float) -> float:
        """How long it may take to make a search of so many edges smaller. Where none is possible, infinity: polished
        multipliers are the best that there are sooner or later, others never. Nor are others if these are yet to come.
        """
        if self._polish is None and may_polish(self._context.methods):
            return min(UNTIL_POLISH_NS, SHARE * EDGE_NS * edges)
        if math.isfinite(edges):
            return min(MOST_NS, SHARE * EDGE_NS * edges)
        return TOO_LARGE_NS if self._polish is None else math.inf


def load_rare_kernels() -> None:
    """Run the kernels that only large searches need, on nothing."""
    families = families_of((np.zeros((1, 1), np.uint64),), (np.zeros(1),))
    multipliers = NO_CLUSTERS.cuts, NO_CLUSTERS.multipliers
    none, halt = np.zeros(0, np.uint64), np.zeros(1, np.uint8)
    ascend_nodes(none, np.zeros(0), 0.0, families, multipliers, np.zeros(0, np.uint8), halt)
    closed_sets_of(none, np.zeros(0), 1, NO_CLUSTERS, NO_ANCESTRY, 0.0)


def _grouping(fixed: Fixed, context: Context) -> Grouping | None:
    """Groups beside multipliers: by pair weights; better ones would not pay. None if there are too many variables."""
    n = len(fixed.parents)
    if n > WORD_BITS:
        return None
    groups = split_by_weight(pair_weights(fixed.parents, fixed.costs), -(-n // LOW_BITS))
    return rebuilt_grouping(tuple(map(tuple, groups)), fixed.parents, fixed.costs, context)


def _plain_grouping(
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

    def expected_edges(grouping: Grouping) -> float:
        guide = Guide(piece.parents, piece.costs, None, grouping)
        on_better(guide)
        return _expected_edges(guide, limit, context)

    return find_grouping(
        (piece.parents, piece.costs), widest, limit, context.workers, context.methods.seed, expected_edges
    )


def _with_ancestors(guide: Guide, limit: float, edges: float, context: Context) -> Guide:
    """The guide with ancestral successors, if they save more than they cost in a search of so many edges.

    What they cost follows from the lists: each node looks at the beginning of some of them.
    """
    if not context.methods.ancestral or guide.grouping is None or edges < FEWEST_EDGES:
        return guide
    n = len(guide.costs)
    with _tried(replace(guide, sets=()), limit, context) as problem:
        (last,) = deque(_trial(problem, context), maxlen=1)
        nodes = whole_layer(last)
        bounds = problem.clusters, problem.ancestry
        closed = closed_sets_of(nodes.varsets(problem.low_bits), nodes.g, n, *bounds, limit)
    better = replace(guide, sets=tuple(frequent_sets(closed, n).tolist()))
    with _tried(better, limit, context) as problem:
        forecast = predicted_layers(_trial(problem, context), n)
    node_ns = NODE_NS + FAMILY_NS * sum(costs.size for costs in guide.costs)
    cost = EDGE_NS * float(forecast.edges.sum()) + node_ns * float(forecast.nodes.sum())
    return better if cost < EDGE_NS * edges else guide


def _trial(problem: SearchProblem, context: Context) -> Iterator[SearchState]:
    """The beginning of a search, in memory."""
    return search_layers(problem, context.workers, Room(math.inf), most_nodes_kept=TRIAL_NODES)


def _expected_edges(guide: Guide, limit: float, context: Context) -> float:
    """About how many edges the search will generate."""
    with _tried(guide, limit, context) as problem:
        return float(predicted_layers(_trial(problem, context), problem.variables).edges.sum())


@contextlib.contextmanager
def _tried(guide: Guide, limit: float, context: Context) -> Iterator[SearchProblem]:
    """The problem of a trial; it has layered parent graphs only if it must, and their score cache does not stay."""
    store = context.store
    if tables_fit(guide.costs, context) or store.used + score_cache_bytes(guide.costs) > store.disk:
        yield guided_problem(guide, limit, context)
        return
    before = store.files
    try:
        cache = write_score_cache(store, TRIAL_CACHE, *labelled_families(guide, context))
        yield guided_problem(guide, limit, context, cache)
    finally:
        store.keep_only(before)
