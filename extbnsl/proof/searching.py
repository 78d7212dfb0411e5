"""The layered search of one piece, in memory that is accounted for, with commits between."""

from dataclasses import replace

from extbnsl.core.claims import DISK_LIMIT
from extbnsl.core.errors import BudgetError
from extbnsl.core.figures import counted
from extbnsl.files import names
from extbnsl.machine.workers import Stopped
from extbnsl.orders.local_search import USUAL
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.proof.guide import Guide, guided_problem, labelled_families, rebuilt_grouping, tables_fit
from extbnsl.proof.incumbents import find_better, number_of_tries
from extbnsl.proof.pieces import Piece, PieceSearch
from extbnsl.proof.solving import Solving
from extbnsl.search.layers import LEAST_TASK_BYTES, Room, search_layers
from extbnsl.search.problem import SearchProblem
from extbnsl.search.runs import goal_cost
from extbnsl.search.score_cache import READING_BYTES, ScoreCache, open_score_cache, score_cache_bytes, write_score_cache
from extbnsl.search.state import SearchState, optimal_order

KERNEL_BYTES = 3 << 19  # of one thread: the table of a partition, and what a chunk of targets needs


def searched_piece(search: PieceSearch, solving: Solving) -> Piece | None:
    """Search a piece layer by layer; its solution, or None if nothing is below its limit.

    When a better network of the component turns up between two layers, the search goes on below the new limit.
    """
    whose = solving.whose(search)
    with solving.context.stages.stage("search", whose) as summary:
        problem = _problem_of_search(search, solving.context)
        state, over = search.state, False
        while not over:
            search, state, over = _layers(search, problem, state, solving)
            problem = replace(problem, rules=problem.rules._replace(limit=search.limit))
        assert state is not None, "a search yields its first state"
        summary.append(f"{whose}; {counted(state.layer.size, 'layer')}, {counted(state.kept, 'node')}")
        answer = _outcome(search, problem, state, solving.commits)
        summary.append("no better network" if answer is None else "a better network")
        return answer


def _layers(
    search: PieceSearch, problem: SearchProblem, begun: SearchState | None, solving: Solving
) -> tuple[PieceSearch, SearchState, bool]:
    """Search until the end, or until the limit has changed: the search, its state, and whether it is over."""
    standing, commits, context = solving.standing, solving.commits, solving.context
    others = search.lower_bound - search.piece.lower_bound
    state, reached = begun, -1
    for state in search_layers(problem, context.workers, _room(problem, search.name, solving), begun):
        standing.latest = state
        size = problem.bytes + state.memory + state.layer.sources_memory
        standing.counters["search_bytes"] = max(standing.counters.get("search_bytes", 0), size)
        ended, reached = state.layer.size != reached, state.layer.size
        if ended:
            solving.raise_bound(others + min(state.least_f, problem.rules.limit))
        if not ended or state is not begun or begun is search.state:  # otherwise it has been told
            context.observer(solving.layer_told(state, problem, ended))
        if ended:
            commits.layer_ended(state)
            search = replace(search, limit=_improved_limit(search, state, solving))
        if state.to_commit:
            standing.search = replace(search, state=state.filed())
            commits.commit_or_stop()
            search = standing.search
        if search.limit < problem.rules.limit:
            return search, state, False
    assert state is not None, "a search yields its first state"
    return search, state, True


def _improved_limit(search: PieceSearch, state: SearchState, solving: Solving) -> float:
    """The limit of a search, lower if there is time for a better network and it is found.

    That is tried at the end of a layer whenever the search has become FACTOR times as large; what is tried follows from
    the state, so that a resumed run tries the same.
    """
    tries = number_of_tries(state.kept)
    if state.following or state.layer.nodes == 0 or tries == number_of_tries(state.kept - state.layer.nodes):
        return search.limit
    if not find_better(solving, solving.context.methods.seed + 1 + tries, USUAL):
        return search.limit
    return min(search.limit, search.limit_below(solving.part))


def _problem_of_search(search: PieceSearch, context: Context) -> SearchProblem:
    """The search's piece as a problem. The labelled families are held only as long as this takes."""
    parents, costs = search.piece.left.parents, search.piece.left.costs
    grouping = rebuilt_grouping(search.groups, parents, costs, context)
    guide = Guide(parents, costs, search.multipliers, grouping, search.sets)
    return guided_problem(guide, search.limit, context, _score_cache(search, guide, context))


def _score_cache(search: PieceSearch, guide: Guide, context: Context) -> ScoreCache | None:
    """The score cache of a search, if the parent graphs are layered; Stopped if the disk has no room for it.

    They are if that is asked for, or if memory has no room for sparse ones; a search that has begun goes on as it is.
    """
    store, begun = context.store, search.state
    if begun is not None:
        return open_score_cache(store.folder, begun.cache, len(guide.costs)) if begun.cache else None
    if context.methods.parent_graph == "sparse" and tables_fit(guide.costs, context):
        return None
    if score_cache_bytes(guide.costs) > store.free:
        raise Stopped(DISK_LIMIT)
    try:
        return write_score_cache(store, names.families(search.name), *labelled_families(guide, context))
    except BudgetError as error:
        raise Stopped(DISK_LIMIT) from error


def _room(problem: SearchProblem, name: str, solving: Solving) -> Room:
    """What the memory budget leaves for nodes and tasks; Stopped, with a warning, if that is too little."""
    context, commits, threads = solving.context, solving.commits, solving.context.workers.threads
    fixed = fixed_memory(problem, threads)
    context.require("The search", fixed + least_room(threads))
    store = context.store if context.store.in_use else None
    return Room(context.memory_left - fixed, store, commits.due, commits.unsaved, name)


def fixed_memory(problem: SearchProblem, threads: int) -> int:
    """Bytes of memory that a search takes beside its nodes and tasks."""
    reading = READING_BYTES if problem.score_cache else 0
    return problem.bytes + threads * (KERNEL_BYTES + reading)


def least_room(threads: int) -> int:
    """Bytes of memory that a search must have for its nodes and tasks."""
    return 3 * threads * LEAST_TASK_BYTES


def _outcome(search: PieceSearch, problem: SearchProblem, state: SearchState, commits: Commits) -> Piece | None:
    """What a search that is over has shown of its piece."""
    standing, solved = commits.standing, None
    if state.layer.nodes:
        folder = commits.store.folder
        labels = [i for group in search.groups for i in group]
        order = [labels[i] for i in optimal_order(state, problem.low_bits, folder)]
        solved = search.solved(order, goal_cost(state.layer.runs, folder))
    standing.counters = standing.counted()
    standing.latest = None
    return solved
