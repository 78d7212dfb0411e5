"""The layered search of one piece, in memory that is accounted for, with commits between."""

from dataclasses import dataclass, replace

from extbnsl.core.claims import DISK_LIMIT
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import LayerAdvanced, LayerEnded
from extbnsl.core.figures import counted
from extbnsl.files import names
from extbnsl.machine.workers import Stopped
from extbnsl.orders.local_search import USUAL
from extbnsl.parents.components import Component
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.proof.division import lower_bound, piece_limit, raise_bound, solved_piece
from extbnsl.proof.guide import Guide, guided_problem, labelled_families, rebuilt_grouping, tables_fit
from extbnsl.proof.incumbents import find_better, number_of_tries
from extbnsl.proof.pieces import Piece, PieceSearch
from extbnsl.proof.standing import Standing
from extbnsl.search.layers import LEAST_TASK_BYTES, Room, search_layers
from extbnsl.search.problem import SearchProblem
from extbnsl.search.runs import goal_cost
from extbnsl.search.score_cache import READING_BYTES, ScoreCache, open_score_cache, score_cache_bytes, write_score_cache
from extbnsl.search.state import SearchState, optimal_order

KERNEL_BYTES = 3 << 19  # of one thread: the table of a partition, and what a chunk of targets needs


def piece_sizes(pieces: tuple[Piece, ...], at: int, k: int, standing: Standing) -> str:
    """Whose figures they are, of a piece of component k: such as 'component 2 of 3, 7 variables'."""
    own, components = len(pieces[at].variables), len(standing.parts)
    size = counted(own, "variable")
    if len(pieces) > 1:
        size = f"piece {at + 1} of {len(pieces)}, {size}"
    return size if components == 1 else f"component {k + 1} of {components}, {size}"


def searched_piece(search: PieceSearch, component: Component, context: Context, commits: Commits) -> Piece | None:
    """Search a piece layer by layer; its solution, or None if nothing is below its limit.

    When a better network of the component turns up between two layers, the search goes on below the new limit.
    """
    whose = piece_sizes(search.pieces, search.at, search.component, commits.standing)
    with context.stages.stage("search", whose) as summary:
        problem = _problem_of_search(search, context)
        state, over = search.state, False
        while not over:
            search, state, over = _layers(search, problem, state, component, context, commits)
            problem = replace(problem, limit=search.limit)
        assert state is not None, "a search yields its first state"
        summary.append(f"{whose}; {counted(state.layer.size, 'layer')}, {counted(state.kept, 'node')}")
        answer = _outcome(search, problem, state, commits)
        summary.append("no better network" if answer is None else "a better network")
        return answer


def _layers(
    search: PieceSearch,
    problem: SearchProblem,
    begun: SearchState | None,
    component: Component,
    context: Context,
    commits: Commits,
) -> tuple[PieceSearch, SearchState, bool]:
    """Search until the end, or until the limit has changed: the search, its state, and whether it is over."""
    standing, k = commits.standing, search.component
    piece = search.pieces[search.at]
    report = Report(len(piece.variables), k, commits)
    others = lower_bound(search.pieces) - piece.lower_bound
    state, reached = begun, -1
    for state in search_layers(problem, context.workers, _room(problem, search.name, context, commits), begun):
        standing.latest = state
        size = problem.bytes + state.memory + state.layer.sources_memory
        standing.counters["search_bytes"] = max(standing.counters.get("search_bytes", 0), size)
        if state.layer.size != reached:
            reached = state.layer.size
            raise_bound(k, others + min(state.least_f, problem.limit), standing)
            if state is not begun or begun is search.state:  # otherwise it has been told
                context.observer(report.layer_ended(state, problem))
            commits.layer_ended(state)
            search = replace(search, limit=_improved_limit(search, state, component, context, standing))
        else:
            context.observer(report.layer_advanced(state, problem))
        if state.to_commit:
            standing.search = replace(search, state=state.filed())
            commits.commit_or_stop()
            search = standing.search
        if search.limit < problem.limit:
            return search, state, False
    assert state is not None, "a search yields its first state"
    return search, state, True


def _improved_limit(
    search: PieceSearch, state: SearchState, component: Component, context: Context, standing: Standing
) -> float:
    """The limit of a search, lower if there is time for a better network and it is found.

    That is tried at the end of a layer whenever the search has become FACTOR times as large; what is tried follows from
    the state, so that a resumed run tries the same.
    """
    k = search.component
    tries = number_of_tries(state.kept)
    if state.following or state.layer.nodes == 0 or tries == number_of_tries(state.kept - state.layer.nodes):
        return search.limit
    if not find_better(component, k, context.methods.seed + 1 + tries, USUAL, context, standing):
        return search.limit
    return min(search.limit, piece_limit(search.pieces, search.at, standing.parts[k]))


def _problem_of_search(search: PieceSearch, context: Context) -> SearchProblem:
    """The search's piece as a problem. The labelled families are held only as long as this takes."""
    piece = search.pieces[search.at]
    parents, costs = piece.left.parents, piece.left.costs
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


def _room(problem: SearchProblem, name: str, context: Context, commits: Commits) -> Room:
    """What the memory budget leaves for nodes and tasks; Stopped, with a warning, if that is too little."""
    threads = context.workers.threads
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
    standing, piece = commits.standing, search.pieces[search.at]
    solved = None
    if state.layer.nodes:
        folder = commits.store.folder
        labels = [i for group in search.groups for i in group]
        order = [labels[i] for i in optimal_order(state, problem.low_bits, folder)]
        solved = solved_piece(piece, order, goal_cost(state.layer.runs, folder))
    standing.counters = standing.counted()
    standing.latest = None
    return solved


@dataclass(frozen=True)
class Report:
    """What the observer is told of the search of component k, of `size` variables."""

    size: int
    k: int
    commits: Commits

    def layer_ended(self, state: SearchState, problem: SearchProblem) -> LayerEnded:
        standing = self.commits.standing
        return LayerEnded(
            layer=state.layer.size,
            layers=self.size,
            component=self.k + 1,
            components=len(standing.parts),
            expanded=0 if state.layer.size == 0 else sum(run.size for run in state.closed[-1]),
            generated=state.edges_in,
            kept=state.layer.nodes,
            spilled=state.spilled,
            memory=state.memory + problem.bytes,
            disk=self.commits.store.used,
            lower_bound=standing.lower_bound,
            upper_bound=standing.upper_bound,
        )

    def layer_advanced(self, state: SearchState, problem: SearchProblem) -> LayerAdvanced:
        return LayerAdvanced(
            layer=state.layer.size + 1,
            layers=self.size,
            component=self.k + 1,
            components=len(self.commits.standing.parts),
            done=state.position / (1 << problem.high_bits),
            generated=state.edges_out,
            kept=state.following_nodes,
            memory=state.memory + problem.bytes,
            disk=self.commits.store.used,
        )
