"""The search of a piece, layer by layer: it is made ready, followed by the standing, and says what it has shown."""

import math
from dataclasses import replace

from extbnsl.core.claims import DISK_LIMIT
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import LayerAdvanced, LayerEnded
from extbnsl.core.figures import counted
from extbnsl.files import names
from extbnsl.machine.workers import Stopped
from extbnsl.proof.context import Context
from extbnsl.proof.guide import Guide, rebuilt_grouping
from extbnsl.proof.incumbents import improved_limit
from extbnsl.proof.pieces import Piece, PieceSearch
from extbnsl.proof.solving import Solving
from extbnsl.proof.trials import edge_ns, guided_problem, labelled_families, tables_fit
from extbnsl.search.forecast import edges_left
from extbnsl.search.layers import LEAST_TASK_BYTES, Room, search_layers
from extbnsl.search.problem import SearchProblem
from extbnsl.search.runs import goal_cost
from extbnsl.search.score_cache import READING_BYTES, ScoreCache, open_score_cache, score_cache_bytes, write_score_cache
from extbnsl.search.state import SearchState, optimal_order

KNOWN_LAYERS = 4  # that are known before the rest of a search is thought of
KERNEL_BYTES = 3 << 19  # of one thread: the table of a partition, and what a chunk of targets needs


def search_piece(search: PieceSearch, solving: Solving) -> Piece | None:
    """Search a piece layer by layer, from where its search is; its solution, or None if nothing is below its limit; the
    piece as it is, if the rest will take longer than the search is allowed.

    When a better network of the component turns up between two layers, the search goes on below the new limit. The
    standing follows, and is committed when that is due.
    """
    whose, context = solving.whose(search), solving.context
    with context.stages.stage("search", whose) as summary:
        problem = _problem_of_search(search, context)
        state, told = search.state, -1
        states = search_layers(problem, context.workers, _room(problem, search.name, solving), state)
        while (following := next(states, None)) is not None:
            state, ended, told = following, following.layer.size != told, following.layer.size
            search = _after(search, state, problem, ended, solving)
            if ended and _takes_too_long(search, state):
                summary.append(
                    f"{whose}; {counted(state.layer.size, 'layer')}, {counted(state.kept, 'node')}; too large"
                )
                return search.piece
            if search.limit < problem.rules.limit:
                problem = replace(problem, rules=problem.rules._replace(limit=search.limit))
                states = search_layers(problem, context.workers, _room(problem, search.name, solving), state)
                next(states)  # the state that they go on from
        assert state is not None, "a search yields its first state"
        summary.append(f"{whose}; {counted(state.layer.size, 'layer')}, {counted(state.kept, 'node')}")
        answer = _outcome(search, problem, state, solving)
        summary.append("no better network" if answer is None else "a better network")
    return answer


def _after(
    search: PieceSearch, state: SearchState, problem: SearchProblem, ended: bool, solving: Solving
) -> PieceSearch:
    """The search when it has come to a state, at the end of a layer or within it, with the limit that holds then;
    the standing follows."""
    standing, commits = solving.standing, solving.commits
    standing.latest = state
    size = problem.bytes + state.memory + state.layer.sources_memory
    standing.counters["search_bytes"] = max(standing.counters.get("search_bytes", 0), size)
    if ended:
        others = search.lower_bound - search.piece.lower_bound
        solving.raise_bound(others + min(state.least_f, problem.rules.limit))
    solving.context.observer(layer_told(solving, state, problem, ended))
    if ended:
        commits.layer_ended(state)
        search = replace(search, limit=improved_limit(search, state, solving))
    if state.to_commit:
        standing.search = replace(search, state=state.filed())
        commits.commit_or_stop()
        search = standing.search
    return search


def _takes_too_long(search: PieceSearch, state: SearchState) -> bool:
    """Whether a search will take longer than it is allowed, as far as can be said at the end of a layer."""
    if math.isinf(search.allowed_ns) or not state.layer.nodes or len(state.closed) < KNOWN_LAYERS:
        return False
    nodes = [sum(run.size for run in runs) for runs in (*state.closed, state.layer.runs)]
    left = edges_left(nodes, state.edges_in, search.piece.left.size)
    return edge_ns(search.piece.left.costs) * (state.generated + left) > search.allowed_ns


def layer_told(solving: Solving, state: SearchState, problem: SearchProblem, ended: bool) -> LayerEnded | LayerAdvanced:
    """What the observer is told of a search: at the end of a layer, or within the next one."""
    shared = {
        "layers": problem.variables,
        "component": solving.k + 1,
        "components": len(solving.standing.parts),
        "memory": state.memory + problem.bytes,
        "disk": solving.commits.store.used,
    }
    if not ended:
        done, kept = state.position / (1 << problem.high_bits), state.following_nodes
        return LayerAdvanced(layer=state.layer.size + 1, done=done, generated=state.edges_out, kept=kept, **shared)
    return LayerEnded(
        layer=state.layer.size,
        expanded=0 if state.layer.size == 0 else sum(run.size for run in state.closed[-1]),
        generated=state.edges_in,
        kept=state.layer.nodes,
        spilled=state.spilled,
        lower_bound=solving.standing.lower_bound,
        upper_bound=solving.standing.upper_bound,
        **shared,
    )


def _room(problem: SearchProblem, name: str, solving: Solving) -> Room:
    """What the memory budget leaves for nodes and tasks; Stopped, with a warning, if that is too little."""
    context, commits, threads = solving.context, solving.commits, solving.context.workers.threads
    fixed = fixed_memory(problem, threads)
    context.require("The search", fixed + least_room(threads))
    store = context.store if context.store.in_use else None
    return Room(context.memory_left - fixed, store, commits.due, commits.unsaved, name)


def _outcome(search: PieceSearch, problem: SearchProblem, state: SearchState, solving: Solving) -> Piece | None:
    """What a search that is over has shown of its piece."""
    solved, folder = None, solving.context.store.folder
    if state.layer.nodes:
        labels = [i for group in search.groups for i in group]
        order = [labels[i] for i in optimal_order(state, problem.low_bits, folder)]
        solved = search.solved(order, goal_cost(state.layer.runs, folder))
    solving.standing.counters = solving.standing.counted()
    solving.standing.latest = None
    return solved


def _problem_of_search(search: PieceSearch, context: Context) -> SearchProblem:
    """The search's piece as a problem. The labelled families are held only as long as this takes."""
    grouping = rebuilt_grouping(search.groups, search.piece.left, context)
    guide = Guide(search.piece.left, search.multipliers, grouping, search.sets)
    return guided_problem(guide, search.limit, context, _score_cache(search, guide, context))


def _score_cache(search: PieceSearch, guide: Guide, context: Context) -> ScoreCache | None:
    """The score cache of a search, if the parent graphs are layered; Stopped if the disk has no room for it.

    They are if that is asked for, or if memory has no room for sparse ones; a search that has begun goes on as it is.
    """
    store, begun = context.store, search.state
    if begun is not None:
        return open_score_cache(store.folder, begun.cache, guide.left.size) if begun.cache else None
    if context.methods.parent_graph == "sparse" and tables_fit(guide.left.costs, context):
        return None
    if score_cache_bytes(guide.left.costs) > store.free:
        raise Stopped(DISK_LIMIT)
    try:
        return write_score_cache(store, names.families(search.name), *labelled_families(guide, context))
    except BudgetError as error:
        raise Stopped(DISK_LIMIT) from error


def fixed_memory(problem: SearchProblem, threads: int) -> int:
    """Bytes of memory that a search takes beside its nodes and tasks."""
    return problem.bytes + threads * (KERNEL_BYTES + (READING_BYTES if problem.score_cache else 0))


def least_room(threads: int) -> int:
    """Bytes of memory that a search must have for its nodes and tasks."""
    return 3 * threads * LEAST_TASK_BYTES
