"""Solving one component: the proof at the root, and the searches of the pieces that this leaves.

Multipliers bound the cost of every network, and fix families that no network cheaper than the incumbent has. What is
left may fall into pieces that can be solved one by one, as the components of the problem can: each below what the
others leave of the limit. A piece that has no network below its limit proves the incumbent; if all have one, together
they are a better network than it.
"""

from dataclasses import replace

from extbnsl.bounds.lp.branching import Tree
from extbnsl.bounds.lp.separation import Support
from extbnsl.bounds.multipliers import Multipliers
from extbnsl.core.claims import DISK_LIMIT, NOT_PROVED
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import IncumbentFound, Warned
from extbnsl.core.figures import counted, in_full
from extbnsl.files import names
from extbnsl.machine.workers import Stopped
from extbnsl.orders.local_search import LONG
from extbnsl.parents.components import Component
from extbnsl.proof.bounding import Bounding, Listeners, find_guide
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.proof.guide import (
    MANY_EDGES,
    Guide,
    Guided,
    guided_problem,
    labelled_families,
    may_polish,
    rebuilt_grouping,
    tables_fit,
)
from extbnsl.proof.incumbents import find_better_left, find_better_rounded, improved_limit
from extbnsl.proof.pieces import Part, Piece, PieceSearch, whole_component
from extbnsl.proof.solving import Solving
from extbnsl.proof.standing import Standing
from extbnsl.proof.steps import Branched, Step, cuts_over
from extbnsl.search.layers import LEAST_TASK_BYTES, Room, search_layers
from extbnsl.search.problem import SearchProblem
from extbnsl.search.runs import goal_cost
from extbnsl.search.score_cache import READING_BYTES, ScoreCache, open_score_cache, score_cache_bytes, write_score_cache
from extbnsl.search.state import SearchState, optimal_order

KERNEL_BYTES = 3 << 19  # of one thread: the table of a partition, and what a chunk of targets needs


class PieceSteps(Solving):
    """What happens to the pieces of a component: `prove` and the estimate go through them alike."""

    def bound(self, search: PieceSearch) -> tuple[PieceSearch, Guided]:
        """Find the bounds of the piece that the search is at, below its limit."""
        raise NotImplementedError

    def prepare(self, search: PieceSearch) -> bool:
        """Get ready for what is dear; whether the bounds of the piece may be better for that."""
        return may_polish(self.context.methods)

    def solve(self, search: PieceSearch, guide: Guide) -> Piece | None:
        """The piece that the search is at, solved or given up; None if nothing is below its limit."""
        raise NotImplementedError

    def guided(
        self, search: PieceSearch, begun: Bounding, context: Context, listeners: Listeners
    ) -> tuple[PieceSearch, Guided]:
        """What guides the search of a piece, found as `find_guide` does and told as a stage; the standing follows."""
        whose = self.whose(search)
        with self.context.stages.stage("bounds", whose) as summary:
            summary.append(whose)
            found = find_guide(begun, search.limit, context, listeners, search.tried)
            search = search if found.proved else search.guided(found)
            self.raise_bound(search.lower_bound)
            summary += bounds_told(search, found, self.standing)
        return search, found


def solve_pieces(search: PieceSearch, steps: PieceSteps) -> Part:
    """The component's part when the pieces have been solved one by one, or one of them has proved it.

    If some were given up, it is not proved, with the bounds that all pieces have.
    """
    while (at := search.next) is not None:
        search = replace(search, at=at)
        search, found = steps.bound(replace(search, limit=search.limit_below(steps.part)))
        if found.proved:
            return steps.part.by(search.steps)
        if found.pieces:
            continue
        if found.edges >= MANY_EDGES and not search.tried:
            search = replace(search, tried=True)
            if steps.prepare(search):  # the bounds are to have the best limit
                continue
        if found.proves(search.limit):
            answer = None
        elif found.tree is not None:
            assert found.tree.order is not None, "it has a network below its limit"
            answer = search.solved(found.tree.order, found.tree.cost)
        else:
            answer = steps.solve(search, found.guide)
        if found.tree is None:
            search = replace(search, multipliers=found.guide.multipliers)
        search = with_answer(search, answer, steps.part, found.tree)
        if answer is None:
            return steps.part.by(search.steps)
    if any(piece.given_up for piece in search.pieces):
        return replace(steps.part, stopped=NOT_PROVED)
    return search.joined


def with_answer(search: PieceSearch, answer: Piece | None, part: Part, tree: Tree | None = None) -> PieceSearch:
    """The search with what has come of the piece that it is at, and with the step of the proof that shows it: by a tree
    of branching, or else by a search.

    answer: None if no network below the limit is left to it, in view of what the part of the component is now.
    """
    if answer is not None and answer.given_up:
        steps = search.steps
    else:
        bound, variables = search.limit_below(part) if answer is None else answer.lower_bound, search.piece.variables
        by_tree = tree and Branched(variables, bound, cuts_over(tree.cuts, variables), tree.closed)
        steps = search.settled(by_tree or search.searched(bound))
    after = search if answer is None else search.with_pieces(answer)
    return PieceSearch(search.component, after.pieces, steps=steps)


def prove(component: Component, k: int, context: Context, commits: Commits) -> Part:
    """Prove component k's incumbent optimal, or find the optimum; `standing.parts` follows the bounds meanwhile.

    Raises Stopped, with the standing ready to be committed.
    """
    standing = commits.standing
    steps = _Proving(component, k, context, commits)
    search = standing.search
    if search is None or search.component != k:
        search = whole_component(component, k)
    if search.state is None:
        part = solve_pieces(search, steps)
    else:
        answer = steps.searched(search)
        search = with_answer(search, answer, steps.part)
        part = steps.part.by(search.steps) if answer is None else solve_pieces(search, steps)
    if part.upper_bound < standing.parts[k].upper_bound:
        standing.parts[k] = part
        context.observer(IncumbentFound(standing.upper_bound))
    standing.search = standing.latest = None
    return part


class _Proving(PieceSteps):
    """The steps of a proof; the standing follows them, and is committed when that is due."""

    def bound(self, search: PieceSearch) -> tuple[PieceSearch, Guided]:
        """Find the bounds of a piece, from where they are."""
        piece = search.piece
        begun = search.bounding or Bounding(piece.left, piece.multipliers)
        steps, seen = search.steps, len(begun.passes)

        def steps_with(passes: tuple[Multipliers, ...]) -> tuple[Step, ...]:
            """The steps so far, with one over the whole component for each of the passes that is new."""
            nonlocal steps, seen
            steps += tuple(search.with_pieces(replace(piece, multipliers=one)).root_pass for one in passes[seen:])
            seen = len(passes)
            return steps

        def on_step(reached: Bounding) -> float:
            bounded = search.bounded(reached)
            self.raise_bound(bounded.lower_bound)
            known = steps_with(reached.passes)
            self.standing.search = replace(bounded, bounding=reached, steps=known, file=None, lists=())
            self.commits.commit_if_due()
            return self.standing.upper_bound - self.standing.lower_bound

        def on_solution(reached: Bounding, support: Support) -> float | None:
            now = search.bounded(reached)
            return now.limit_below(self.part) if find_better_rounded(now, self, support) else None

        after, found = self.guided(search, begun, self.context, Listeners(on_step, on_solution))
        after = replace(after, steps=steps_with(found.passes))
        if found.proved:
            return after, found
        limit = search.limit if found.pieces else after.limit_below(self.part)  # a better network may be known
        return replace(after, limit=limit, bounding=None, file=None, lists=()), found

    def prepare(self, search: PieceSearch) -> bool:
        """Look for a better network with much effort."""
        self.standing.search = search  # a resumed run is not to do it again
        with self.context.stages.stage("incumbent", "looking for a better one") as summary:
            better = find_better_left(search, self, LONG)
            summary.append(self.standing.bounds_told() if better else "no better one found")
        return super().prepare(search) or better

    def solve(self, search: PieceSearch, guide: Guide) -> Piece | None:
        """Search a piece, if it can be searched; otherwise there was nothing that goes on with it but linear programs,
        which the methods do without."""
        if guide.grouping is None:
            what = f"A part of {in_full(guide.left.size, 'variable')} is too large for a search"
            how = "solve it without --no-polish, by --lower-bound clusters or auto"
            self.context.observer(Warned(f"{what}, and without linear programs nothing else can prove it: {how}."))
            return replace(search.piece, given_up=True)
        return self.searched(
            replace(search, groups=guide.grouping.groups, multipliers=guide.multipliers, sets=guide.sets, file=None)
        )

    def searched(self, search: PieceSearch) -> Piece | None:
        """Search a piece layer by layer, from where its search is; its solution, or None if nothing is below its limit.

        When a better network of the component turns up between two layers, the search goes on below the new limit.
        What has come of it is committed when that is due.
        """
        whose, context = self.whose(search), self.context
        with context.stages.stage("search", whose) as summary:
            problem = _problem_of_search(search, context)
            state, told = search.state, -1
            states = search_layers(problem, context.workers, self._room(problem, search.name), state)
            while (following := next(states, None)) is not None:
                state, ended, told = following, following.layer.size != told, following.layer.size
                search = self._after(search, state, problem, ended)
                if search.limit < problem.rules.limit:
                    problem = replace(problem, rules=problem.rules._replace(limit=search.limit))
                    states = search_layers(problem, context.workers, self._room(problem, search.name), state)
                    next(states)  # the state that they go on from
            assert state is not None, "a search yields its first state"
            summary.append(f"{whose}; {counted(state.layer.size, 'layer')}, {counted(state.kept, 'node')}")
            answer = self._outcome(search, problem, state)
            summary.append("no better network" if answer is None else "a better network")
        if answer is not None:
            self.standing.search = with_answer(search, answer, self.part)
            self.commits.commit_if_due()
        return answer

    def _after(self, search: PieceSearch, state: SearchState, problem: SearchProblem, ended: bool) -> PieceSearch:
        """The search when it has come to a state, at the end of a layer or within it, with the limit that holds then;
        the standing follows."""
        standing, commits = self.standing, self.commits
        standing.latest = state
        size = problem.bytes + state.memory + state.layer.sources_memory
        standing.counters["search_bytes"] = max(standing.counters.get("search_bytes", 0), size)
        if ended:
            others = search.lower_bound - search.piece.lower_bound
            self.raise_bound(others + min(state.least_f, problem.rules.limit))
        self.context.observer(self.layer_told(state, problem, ended))
        if ended:
            commits.layer_ended(state)
            search = replace(search, limit=improved_limit(search, state, self))
        if state.to_commit:
            standing.search = replace(search, state=state.filed())
            commits.commit_or_stop()
            search = standing.search
        return search

    def _room(self, problem: SearchProblem, name: str) -> Room:
        """What the memory budget leaves for nodes and tasks; Stopped, with a warning, if that is too little."""
        context, commits, threads = self.context, self.commits, self.context.workers.threads
        fixed = fixed_memory(problem, threads)
        context.require("The search", fixed + least_room(threads))
        store = context.store if context.store.in_use else None
        return Room(context.memory_left - fixed, store, commits.due, commits.unsaved, name)

    def _outcome(self, search: PieceSearch, problem: SearchProblem, state: SearchState) -> Piece | None:
        """What a search that is over has shown of its piece."""
        solved, folder = None, self.context.store.folder
        if state.layer.nodes:
            labels = [i for group in search.groups for i in group]
            order = [labels[i] for i in optimal_order(state, problem.low_bits, folder)]
            solved = search.solved(order, goal_cost(state.layer.runs, folder))
        self.standing.counters = self.standing.counted()
        self.standing.latest = None
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
    reading = READING_BYTES if problem.score_cache else 0
    return problem.bytes + threads * (KERNEL_BYTES + reading)


def least_room(threads: int) -> int:
    """Bytes of memory that a search must have for its nodes and tasks."""
    return 3 * threads * LEAST_TASK_BYTES


def bounds_told(search: PieceSearch, found: Guided, standing: Standing) -> list[str]:
    """What a piece's guide, or its falling apart, has brought below the limit of a search that has it."""
    if found.tree is not None:
        return ["solved by branching"]
    if found.proves(search.limit):
        return ["proved before any search"]
    left = f"{in_full(sum(costs.size for costs in found.guide.left.costs), 'parent set')} left"
    if found.pieces:
        largest = max(len(piece.variables) for piece in search.pieces)
        left = f"in {in_full(len(search.pieces), 'piece')} of up to {in_full(largest, 'variable')}"
    return [left, standing.bounds_told()]
