"""Solving one component: its incumbent, the proof at the root, and the searches of the pieces that this leaves.

Multipliers bound the cost of every network, and fix families that no network cheaper than the incumbent has. What is
left may fall into pieces that can be solved one by one, as the components of the problem can: each below what the
others leave of the limit. A piece that has no network below its limit proves the incumbent; if all have one, together
they are a better network than it.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.clusters import Multipliers, families_of, multipliers_of, no_multipliers, renamed
from extbnsl.bounds.incumbent import BRIEF, LONG, USUAL, Effort, search_orders
from extbnsl.bounds.partition import WIDEST
from extbnsl.bounds.polish import load_polish
from extbnsl.commits import commit_if_due, commit_or_stop
from extbnsl.context import Context, tolerance
from extbnsl.errors import BudgetError
from extbnsl.events import IncumbentFound, LayerAdvanced, LayerEnded, Warned
from extbnsl.guide import (
    MANY_EDGES,
    Guide,
    Guided,
    find_guide,
    guided_problem,
    labelled_families,
    may_polish,
    rebuilt_partition,
    tables_fit,
)
from extbnsl.limits import too_little_memory
from extbnsl.parents.best_score import ByteTables, byte_tables, cheapest_families
from extbnsl.parents.components import Component
from extbnsl.pieces import Cut, Piece, RootPass, Search
from extbnsl.reconstruct import optimal_order
from extbnsl.search.layers import LEAST_TASK_BYTES, Room, search_layers
from extbnsl.search.problem import SearchProblem
from extbnsl.search.runs import goal_cost
from extbnsl.search.score_cache import (
    READING_BYTES,
    ScoreCache,
    open_score_cache,
    score_cache_bytes,
    write_score_cache,
)
from extbnsl.search.state import SearchState
from extbnsl.standing import Part, Standing
from extbnsl.varsets import pack, unpack
from extbnsl.workers import Stopped

FEWEST_NODES = 1 << 20  # kept by a search before it looks for a better network
FACTOR = 4  # by which it grows before it looks again
KERNEL_BYTES = 5 << 18  # of one thread: the table of a partition, and what a chunk of targets needs


def find_incumbent(component: Component, floor: float, k: int, context: Context) -> Part:
    """A good order of one component; `floor` bounds its cost from below. After a stop: one quick descent."""
    if component.size == 1:
        return Part((0,), float(component.costs[0][0]), floor)
    with context.stages.stage("incumbent", f"component {k + 1}, {component.size} variables") as summary:
        brief = component.size <= WIDEST and context.methods.lower_bound in ("pattern", "auto")
        best = search_orders(
            _best_scores(component, context),
            component.size,
            context.workers,
            context.seed,
            BRIEF if brief else USUAL,  # if it is brief, the bound finds the optimum itself
            lambda cost: context.observer(IncumbentFound(cost)),
        )
        summary.append(f"cost {best.cost:.6f}")
    return Part(tuple(best.order.tolist()), best.cost, floor)


def prove(component: Component, k: int, context: Context) -> Part:
    """Prove component k's incumbent optimal, or find the optimum; `standing.parts` follows the bounds meanwhile.

    Raises Stopped, with the standing ready to be committed.
    """
    standing = context.standing
    begun = standing.search if standing.search and standing.search.component == k else None
    if begun is None:
        part = _solved(whole_component(component), component, k, context)
    elif begun.state is None:
        part = _solved(begun.pieces, component, k, context)
    else:
        part = _after(begun, component, k, context)
    standing.search = standing.latest = None
    return part


def _solved(pieces: tuple[Piece, ...], component: Component, k: int, context: Context) -> Part:
    """The component's part when the pieces have been solved one by one, or one of them has proved it."""
    standing = context.standing
    passes: list[RootPass] = []
    tried = False
    while (at := next_piece(pieces)) is not None:
        limit = piece_limit(pieces, at, standing.parts[k])
        with context.stages.stage("bounds", _sizes(pieces, at, k)) as summary:
            found = find_guide(
                pieces[at].left, pieces[at].multipliers, limit, context, _bound_raiser(pieces, at, k, standing), tried
            )
            if not _any_searched(pieces):
                passes += [_root_pass(pieces, at, one) for one in found.passes]
            if found.proved:
                summary.append("proved at the root")
                return _proved(standing.parts[k], pieces, passes)
            pieces = guided_pieces(pieces, at, found)
            raise_bound(k, lower_bound(pieces), standing)
            summary.append(_told(pieces, found, standing.parts[k]))
        if found.pieces:
            continue
        if found.edges >= MANY_EDGES and not tried:
            tried = True
            with context.stages.stage("incumbent", _sizes(pieces, at, k)):
                better = _find_better(component, k, context.seed + 1, LONG, context)
            ready = _ready_to_polish(context)
            if better or ready:  # polishing waits for the best limit
                continue
        guide = found.guide
        if guide.partition is None:
            return replace(standing.parts[k], stopped="not_proved")
        search = Search(k, pieces, at, limit, guide.partition.groups, guide.multipliers, guide.sets)
        return _after(search, component, k, context)
    return _joined(pieces, k, context)


def _bound_raiser(pieces: tuple[Piece, ...], at: int, k: int, standing: Standing) -> Callable[[Guide], None]:
    """What lets the standing know how far each better guide of a piece has brought the bound."""
    return lambda guide: raise_bound(k, lower_bound(guided_pieces(pieces, at, Guided(guide))), standing)


def _ready_to_polish(context: Context) -> bool:
    """Whether multipliers can be polished, their kernels loaded; a hint that there is more to install, if not."""
    if not may_polish(context.methods):
        if context.methods.clusters and context.methods.polish is None:
            context.observer(
                Warned("The search may be long. Linear programming may save it: pip install 'extbnsl[lp]'.")
            )
        return False
    if context.methods.polish is None:
        with context.stages.stage("kernels", "loading linear programming"):
            load_polish()
    return True


def _after(search: Search, component: Component, k: int, context: Context) -> Part:
    """The component's part after a search, and those of the pieces that it leaves."""
    answer = _searched(search, component, context)
    if answer is None:
        return _proved(context.standing.parts[k], search.pieces, ())
    pieces = (*search.pieces[: search.at], answer, *search.pieces[search.at + 1 :])
    context.standing.search = Search(k, pieces)
    commit_if_due(context.commits)
    return _solved(pieces, component, k, context)


def whole_component(component: Component) -> tuple[Piece, ...]:
    """The component as one piece."""
    least = float(sum(costs[0] for costs in component.costs))
    return (Piece(tuple(range(component.size)), least, None, component),)


def next_piece(pieces: tuple[Piece, ...]) -> int | None:
    """The smallest piece that is not solved."""
    left = [(len(piece.variables), at) for at, piece in enumerate(pieces) if piece.order is None]
    return min(left)[1] if left else None


def piece_limit(pieces: tuple[Piece, ...], at: int, part: Part) -> float:
    """Below what a piece must cost in a network that is better than the part's; infinity if there is none."""
    if not math.isfinite(part.upper_bound):
        return math.inf
    others = math.fsum(piece.lower_bound for number, piece in enumerate(pieces) if number != at)
    return part.upper_bound - tolerance(part.upper_bound) - others


def lower_bound(pieces: Iterable[Piece]) -> float:
    """What every network of interest costs at least."""
    return math.fsum(piece.lower_bound for piece in pieces)


def guided_pieces(pieces: tuple[Piece, ...], at: int, found: Guided) -> tuple[Piece, ...]:
    """The pieces with one replaced by its parts, or by what its guide has left of it."""
    whole, guide = pieces[at], found.guide
    if found.pieces:
        parts = [_part_of(whole, guide, part) for part in found.pieces]
    else:
        families = replace(whole.left, parents=guide.parents, costs=guide.costs)
        bound = max(whole.lower_bound, guide.root)
        parts = [replace(whole, lower_bound=bound, families=families, multipliers=guide.best_multipliers)]
    return (*pieces[:at], *parts, *pieces[at + 1 :])


def _part_of(whole: Piece, guide: Guide, part: Component) -> Piece:
    """A part of a piece, with those of its cuts that lie in the part."""
    assert guide.best_multipliers is not None, "only what multipliers fix takes a piece apart"
    cuts, weights = guide.best_multipliers.cuts, guide.best_multipliers.weights
    inside = ~(cuts & ~pack(part.variables, len(whole.variables))).any(axis=(1, 2))
    position = np.full(len(whole.variables), -1, np.int64)
    position[list(part.variables)] = np.arange(part.size)
    own = renamed(cuts[inside], position, part.size)
    multipliers = multipliers_of(families_of(part.parents, part.costs), own, weights[inside])
    variables = tuple(whole.variables[i] for i in part.variables)
    if part.size == 1:
        return Piece(variables, float(part.costs[0][0]), variables)
    return Piece(variables, multipliers.root, None, replace(part, variables=variables), multipliers)


def raise_bound(k: int, lower_bound: float, standing: Standing) -> None:
    """Let the standing know that every network of interest over component k costs at least `lower_bound`, in nats.

    That may be more than the incumbent costs, if nothing is left that is cheaper.
    """
    part = standing.parts[k]
    standing.parts[k] = replace(part, lower_bound=max(part.lower_bound, min(lower_bound, part.upper_bound)))


def _sizes(pieces: tuple[Piece, ...], at: int, k: int) -> str:
    size = f"component {k + 1}, {len(pieces[at].variables)} variables"
    return size if len(pieces) == 1 else f"{size} of {sum(len(piece.variables) for piece in pieces)}"


def _told(pieces: tuple[Piece, ...], found: Guided, part: Part) -> str:
    """What a piece's guide, or its falling apart, has brought."""
    if found.pieces:
        return f"in {len(pieces)} pieces of up to {max(len(piece.variables) for piece in pieces)} variables"
    families = f"{sum(costs.size for costs in found.guide.costs):,} parent sets left"
    return f"lower bound {part.lower_bound:.6f}, gap {part.upper_bound - part.lower_bound:.6f}, {families}"


def _root_pass(pieces: tuple[Piece, ...], at: int, multipliers: Multipliers) -> RootPass:
    """One piece's multipliers with those of the others, over the variables of the component."""
    cuts: list[Cut] = []
    weights: list[int] = []
    least = [0.0] * sum(len(piece.variables) for piece in pieces)
    for number, piece in enumerate(pieces):
        if piece.order is not None:  # a single variable
            least[piece.variables[0]] = piece.lower_bound
            continue
        own = multipliers if number == at else _own_multipliers(piece)
        cuts += [_over_component(cut, piece.variables) for cut in own.cuts]
        weights += own.weights.tolist()
        for variable, mu in zip(piece.variables, own.least.tolist(), strict=True):
            least[variable] = mu
    return RootPass(tuple(cuts), tuple(weights), tuple(least))


def _over_component(cut: NDArray[np.uint64], variables: tuple[int, ...]) -> Cut:
    """A cut (3, words) over a piece of these variables of the component."""
    return tuple(tuple(variables[i] for i in unpack(cluster)) for cluster in cut if cluster.any())


def _own_multipliers(piece: Piece) -> Multipliers:
    """The multipliers that give the piece's lower bound; none, if there is only the cheapest family of each child."""
    if piece.multipliers is not None:
        return piece.multipliers
    return no_multipliers(families_of(piece.left.parents, piece.left.costs))


def _proved(part: Part, pieces: tuple[Piece, ...], passes: Iterable[RootPass]) -> Part:
    """The part, of which no network is cheaper."""
    limit = part.upper_bound - tolerance(part.upper_bound)
    return replace(part, lower_bound=limit, proved=True, passes=() if _any_searched(pieces) else tuple(passes))


def _any_searched(pieces: tuple[Piece, ...]) -> bool:
    """Whether a piece was solved by a search; single variables are solved as they are."""
    return any(len(piece.order or ()) > 1 for piece in pieces)


def _joined(pieces: tuple[Piece, ...], k: int, context: Context) -> Part:
    """The component's part when all pieces are solved: they come one after the other, each after its parents."""
    standing = context.standing
    cost = lower_bound(pieces)
    order = tuple(v for piece in pieces for v in piece.order or ())
    context.observer(IncumbentFound(standing.upper_bound - standing.parts[k].upper_bound + cost))
    return Part(order, cost, cost - tolerance(cost), proved=True)


def _searched(search: Search, component: Component, context: Context) -> Piece | None:
    """Search a piece layer by layer; its solution, or None if nothing is below its limit.

    When a better network of the component turns up between two layers, the search goes on below the new limit.
    """
    with context.stages.stage("search", _sizes(search.pieces, search.at, search.component)) as summary:
        problem = _problem_of_search(search, context)
        state, over = search.state, False
        while not over:
            search, state, over = _layers(search, problem, state, component, context)
            problem = replace(problem, limit=search.limit)
        assert state is not None, "a search yields its first state"
        summary.append(f"{state.layer.size} layers, {state.kept:,} nodes")
        return _outcome(search, problem, state, context)


def _layers(
    search: Search, problem: SearchProblem, begun: SearchState | None, component: Component, context: Context
) -> tuple[Search, SearchState, bool]:
    """Search until the end, or until the limit has changed: the search, its state, and whether it is over."""
    standing, commits, k = context.standing, context.commits, search.component
    piece = search.pieces[search.at]
    report = Report(len(piece.variables), k, problem, context)
    others = lower_bound(search.pieces) - piece.lower_bound
    state, reached = begun, -1
    for state in search_layers(problem, context.workers, _room(problem, search.name, context), begun):
        standing.latest = state
        if state.layer.size != reached:
            reached = state.layer.size
            raise_bound(k, others + min(state.least_f, problem.limit), standing)
            if state is not begun or begun is search.state:  # otherwise it has been told
                context.observer(report.layer_ended(state))
            commits.layer_ended(state)
            search = replace(search, limit=_improved_limit(search, state, component, context))
        else:
            context.observer(report.layer_advanced(state))
        if state.to_commit:
            standing.search = replace(search, state=state.filed())
            commit_or_stop(commits)
            search = standing.search
        if search.limit < problem.limit:
            return search, state, False
    assert state is not None, "a search yields its first state"
    return search, state, True


def _improved_limit(search: Search, state: SearchState, component: Component, context: Context) -> float:
    """The limit of a search, lower if there is time for a better network and it is found.

    That is tried at the end of a layer whenever the search has become FACTOR times as large; what is tried follows from
    the state, so that a resumed run tries the same.
    """
    k = search.component
    tries = _tries(state.kept)
    if state.following or state.layer.nodes == 0 or tries == _tries(state.kept - state.layer.nodes):
        return search.limit
    if not _find_better(component, k, context.seed + 1 + tries, USUAL, context):
        return search.limit
    return min(search.limit, piece_limit(search.pieces, search.at, context.standing.parts[k]))


def _find_better(component: Component, k: int, seed: int, effort: Effort, context: Context) -> bool:
    """Look for a better network of component k; whether there is one, in the standing then."""
    part = context.standing.parts[k]
    best = search_orders(
        _best_scores(component, context), component.size, context.workers, seed, effort, lambda cost: None
    )
    if best.cost >= part.upper_bound - tolerance(part.upper_bound):
        return False
    context.standing.parts[k] = replace(part, order=tuple(best.order.tolist()), upper_bound=best.cost)
    context.observer(IncumbentFound(context.standing.upper_bound))
    return True


def _best_scores(component: Component, context: Context) -> ByteTables:
    """What answers BestScore; of the cheapest families only, if memory has no room for all."""
    return byte_tables(*cheapest_families(component.parents, component.costs, context.memory_left // 2))


def _tries(nodes: int) -> int:
    """How often a search of so many nodes looks for a better network."""
    return 1 + int(math.log(nodes / FEWEST_NODES, FACTOR)) if nodes >= FEWEST_NODES else 0


def _problem_of_search(search: Search, context: Context) -> SearchProblem:
    """The search's piece as a problem. The labelled families are held only as long as this takes."""
    piece = search.pieces[search.at]
    parents, costs = piece.left.parents, piece.left.costs
    partition = rebuilt_partition(search.groups, parents, costs, context)
    guide = Guide(parents, costs, search.multipliers, partition, search.sets)
    return guided_problem(guide, search.limit, context, _score_cache(search, guide, context))


def _score_cache(search: Search, guide: Guide, context: Context) -> ScoreCache | None:
    """The score cache of a search, if the parent graphs are layered; Stopped if the disk has no room for it.

    They are if that is asked for, or if memory has no room for sparse ones; a search that has begun goes on as it is.
    """
    store, begun = context.commits.store, search.state
    if begun is not None:
        return open_score_cache(store.folder, begun.cache, len(guide.costs)) if begun.cache else None
    if context.methods.parent_graph == "sparse" and tables_fit(guide.costs, context):
        return None
    if store.used + score_cache_bytes(guide.costs) > store.disk:
        raise Stopped("disk_limit")
    try:
        return write_score_cache(store, f"families-{search.name}", *labelled_families(guide, context))
    except BudgetError as error:
        raise Stopped("disk_limit") from error


def _room(problem: SearchProblem, name: str, context: Context) -> Room:
    """What the memory budget leaves for nodes and tasks; Stopped, with a warning, if that is too little."""
    threads, commits = context.workers.threads, context.commits
    least = least_memory(problem, threads)
    if least > context.memory_left:
        needed = least + context.shelf.held
        context.observer(Warned(too_little_memory("The search", needed, context.memory, threads)))
        raise Stopped("memory_limit")
    return Room(
        context.memory_left - fixed_memory(problem, threads), commits.store, commits.due, commits.unsaved, f"c{name}-"
    )


def fixed_memory(problem: SearchProblem, threads: int) -> int:
    """Bytes of memory that a search takes beside its nodes and tasks."""
    reading = READING_BYTES if problem.score_cache else 0
    return problem.bytes + threads * (KERNEL_BYTES + reading)


def least_memory(problem: SearchProblem, threads: int) -> int:
    """The memory budget, in bytes, below which a search does not begin."""
    return fixed_memory(problem, threads) + least_room(threads)


def least_room(threads: int) -> int:
    """Bytes of memory that a search must have for its nodes and tasks."""
    return 3 * threads * LEAST_TASK_BYTES


def _outcome(search: Search, problem: SearchProblem, state: SearchState, context: Context) -> Piece | None:
    """What a search that is over has shown of its piece."""
    standing, piece = context.standing, search.pieces[search.at]
    solved = None
    if state.layer.nodes:
        folder = context.commits.store.folder
        variables = [piece.variables[i] for group in search.groups for i in group]
        order = tuple(variables[i] for i in optimal_order(state, problem.low_bits, folder))
        solved = Piece(piece.variables, goal_cost(state.layer.runs, folder), order)
    standing.counters = standing.counted()
    standing.latest = None
    return solved


@dataclass(frozen=True)
class Report:
    """What the observer is told of the search of component k, of `size` variables."""

    size: int
    k: int
    problem: SearchProblem
    context: Context

    def layer_ended(self, state: SearchState) -> LayerEnded:
        standing = self.context.standing
        return LayerEnded(
            layer=state.layer.size,
            layers=self.size,
            component=self.k + 1,
            components=len(standing.parts),
            expanded=0 if state.layer.size == 0 else sum(run.size for run in state.closed[-1]),
            generated=state.edges_in,
            kept=state.layer.nodes,
            spilled=state.spilled,
            memory=state.memory + self.problem.bytes,
            disk=self.context.commits.store.used,
            lower_bound=standing.lower_bound,
            upper_bound=standing.upper_bound,
        )

    def layer_advanced(self, state: SearchState) -> LayerAdvanced:
        return LayerAdvanced(
            layer=state.layer.size + 1,
            layers=self.size,
            component=self.k + 1,
            components=len(self.context.standing.parts),
            done=state.position / (1 << self.problem.high_bits),
            generated=state.edges_out,
            kept=state.following_nodes,
            memory=state.memory + self.problem.bytes,
            disk=self.context.commits.store.used,
        )
