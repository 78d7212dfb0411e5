"""The k best networks, or all within a factor of the best: a good network, then all that cost little more."""

import contextlib
import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from extbnsl.bounds.ascent import find_multipliers, multipliers_bytes
from extbnsl.bounds.multipliers import families_of
from extbnsl.claims import MEMORY_LIMIT, OPTIMAL, TIME_LIMIT, Claim, tolerance
from extbnsl.data import Dataset
from extbnsl.errors import InputError
from extbnsl.events import Begun, Observer, Warned, ignore
from extbnsl.figures import in_full
from extbnsl.files.arrays import load_hdf5
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.kbest.below import Work, networks_below
from extbnsl.kbest.classes import class_keys, numbered
from extbnsl.kbest.constants import with_constants
from extbnsl.kbest.networks import Networks
from extbnsl.kbest.ranking import parents_of
from extbnsl.kbest.scope import Scope
from extbnsl.kbest.slack import FIRST, next_slack
from extbnsl.kernels.compiler import cache_warning
from extbnsl.kernels.varsets import unpack
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped, StopSignal, Workers, never
from extbnsl.networks.network import Network
from extbnsl.parents.components import Component, components
from extbnsl.parents.exhaustive.state import Enumeration
from extbnsl.parents.exhaustive.surviving import Survivors, surviving_families
from extbnsl.parents.pruning import prune
from extbnsl.proof.commits import Record, commit_if_due, commit_or_stop
from extbnsl.proof.context import Context
from extbnsl.proof.methods import Methods
from extbnsl.proof.stages import Stages
from extbnsl.proof.standing import Part, give_up
from extbnsl.results.ranked import KBestResult
from extbnsl.scores.local import LocalScores
from extbnsl.solver.components import find_parts
from extbnsl.solver.families import VARSETS, given_scores, warnings_of
from extbnsl.solver.outcome import Solution, result_of, spent_on
from extbnsl.solver.place import Place, check_same, store_at
from extbnsl.solver.ranked import ranked_result
from extbnsl.solver.ranking import Counted, Found, Ranking, RankingCommits, found_arrays, found_of, read_ranking
from extbnsl.solver.ranking_document import FOUND
from extbnsl.solver.states import K_BEST

ALL = Methods(path_extension=False, ancestral=False)  # that keep every network
KEEPS_ONE = ("path_extension", "ancestral")
COUNTED = 12.0  # nats of slack of the families that are counted at first: little more work than those without
SHARE_OF_GAP = 0.02
FURTHER = 1.5  # by which it grows when that is not enough


def k_best_networks(
    problem: Dataset | LocalScores,
    scope: Scope,
    claim: Claim = Claim(),
    methods: Methods = ALL,
    budgets: Budgets = Budgets(),
    place: Place = Place(),
    *,
    observer: Observer = ignore,
    stop: StopSignal = never,
) -> KBestResult:
    """The best networks, each once, best first, and what they say together.

    All networks within a slack of a good one are found, the optimum among them; where these are fewer than k, all
    within a larger one. `stop` is polled; a reason other than None, or the end of a budget, leaves the networks within
    the last slack, with that status. In a run directory what is known is committed as `solve` does; a state that is
    resumed must be of the same problem, scope, claim and methods.

    Raises InputError for unusable arguments, BudgetError where columns that never vary make too many networks of the
    same cost or the disk is full before there is a network, RunDirectoryError if the state does not belong to the
    problem or is damaged.
    """
    for value in (scope, claim, methods, budgets, place):
        value.check()
    check_methods(methods)
    about = {
        "kind": K_BEST,
        "digest": problem.fingerprint,
        "claim": claim.document(),
        "methods": methods.document(),
        "scope": scope.document(),
        "run": place.remember,
    }
    check_same(about, place.resume)
    granted = budgets.granted(place.folder, place.held)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(store_at(place, granted))
        load_hdf5()
        shelf = Shelf(granted.memory // 2, store)
        standing = _standing(place, store, shelf, problem.variables)
        stages, deadline = Stages(observer, standing.stages), granted.deadline()
        workers = Workers(granted.threads, lambda: stop() or (TIME_LIMIT if deadline.passed() else None))
        context = Context(stack.enter_context(workers), stages, granted.memory, methods, store, shelf)
        held = () if place.resume is None else place.resume.files
        record = None if place.run_folder is None else Record(place.run_folder, about, held)
        commits = RankingCommits(standing, store, record, observer, workers.stop, shelf.touched)
        standing.ledger.look = partial(commit_if_due, commits)
        observer(Begun())
        for message in (*warnings_of(problem), *filter(None, [cache_warning()])):
            observer(Warned(message))
        commits.commit()
        solution, status = _solved(_Search(problem, scope, claim, context, commits))
        options = scope.document() | claim.document() | methods.document() | granted.document()
        if status != OPTIMAL:
            commits.last_commit(status)  # what it takes on disk is part of the result
        result = result_of(problem, solution, options, context, partial(spent_on, solution, commits))
        if status == OPTIMAL:
            commits.finish(status)
    return ranked_result(replace(result, status=status), standing.found, scope)


def check_methods(methods: Methods) -> None:
    """Raise InputError for methods that keep one of several best networks."""
    for name in KEEPS_ONE:
        if getattr(methods, name):
            raise InputError(f"{name}: it keeps one of several networks, and all are asked for; leave it off.")


@dataclass(frozen=True)
class _Search:
    """What is asked of which problem, and what the steps share."""

    problem: Dataset | LocalScores
    scope: Scope
    claim: Claim
    context: Context
    commits: RankingCommits

    @property
    def standing(self) -> Ranking:
        """What is known so far."""
        return self.commits.standing


def _standing(place: Place, store: Store, shelf: Shelf, variables: int) -> Ranking:
    return Ranking() if place.resume is None else read_ranking(place.resume, store.folder, shelf, variables)


def _solved(search: _Search) -> tuple[Solution, str]:
    """The best network with what is proved of it, and the status; the standing has what is found of the others."""
    context, standing = search.context, search.standing
    counted = standing.counted or _counted(search, standing.slack or _first_counted(search.scope))
    survivors = Survivors(prune(counted.scores), counted.least, counted.stopped, counted.varsets)
    parts, status = components(survivors.scores, context.shelf.put), survivors.stopped or OPTIMAL
    incumbents: list[Part] = []
    try:
        if survivors.stopped is None:
            context.workers.check()
            if standing.next_slack is None:
                incumbents = find_parts(survivors, parts, context)
                context.workers.check()
                _begin_listing(search, survivors.scores, math.fsum(part.upper_bound for part in incumbents))
            _list_networks(search)
    except Stopped as stop:
        status = stop.reason
    except MemoryError:
        status = MEMORY_LIMIT
        standing.ledger.revert()
    found = standing.found
    if found is None:
        known = incumbents or find_parts(survivors, parts, context)
        return Solution(survivors, parts, tuple(give_up(known, status))), status
    if survivors.stopped is not None:  # more were to be counted, and not all that were counted before are at hand
        survivors = _of_found(survivors, found)
        parts = components(survivors.scores, context.shelf.put)
    return Solution(survivors, parts, _proved_parts(survivors.scores.names, found, parts)), status


def _first_counted(scope: Scope) -> float:
    return COUNTED if scope.slack is None else scope.slack


def _of_found(survivors: Survivors, found: Found) -> Survivors:
    """The families of the networks that are found, in the place of others."""
    scores = survivors.scores
    own = LocalScores(scores.names, found.parents, found.costs, scores.score, scores.max_parents)
    return replace(survivors, scores=own)


def _proved_parts(names: tuple[str, ...], found: Found, parts: tuple[Component, ...]) -> tuple[Part, ...]:
    """The parts of a problem of which the best network is known."""
    rows = found.networks.rows[0].tolist()
    parents = tuple(unpack(own[row]) for own, row in zip(found.parents, rows, strict=True))
    place = {x: at for at, x in enumerate(Network(names, parents).order())}
    proved = []
    for part in parts:
        order = np.argsort([place[x] for x in part.variables]).tolist()
        cost = math.fsum(float(found.costs[x][rows[x]]) for x in part.variables)
        proved.append(Part(tuple(order), cost, cost - tolerance(cost), proved=True))
    return tuple(proved)


def _begin_listing(search: _Search, scores: LocalScores, upper: float) -> None:
    """Let the standing have what a network costs, and the first slack."""
    slack = search.scope.slack
    search.standing.upper_bound = upper
    search.standing.next_slack = _first_slack(scores, upper, search.context) if slack is None else slack
    commit_if_due(search.commits)


def _first_slack(scores: LocalScores, upper: float, context: Context) -> float:
    """The first guess: more where the bounds leave a gap beside which it makes no difference to the search."""
    families = families_of(scores.parents, scores.costs)
    if multipliers_bytes(scores.costs, scores.variables, context.workers.threads) > context.memory_left:
        return FIRST
    bound = find_multipliers(families, None, 0, context.methods.seed, context.workers).root
    return min(COUNTED, max(FIRST, SHARE_OF_GAP * (upper - bound)))


def _list_networks(search: _Search) -> None:
    """Find the best networks within ever more slack, until it is enough; the standing gets them. Raises Stopped."""
    scope, standing = search.scope, search.standing
    while standing.found is None or not _enough(scope, standing.found):
        slack, counted = standing.next_slack, standing.counted
        assert slack is not None, "there is a guess"
        assert counted is not None, "there are families"
        if slack > counted.slack:
            counted = _counted_further(search, max(slack, FURTHER * counted.slack))
        found = _within(search, counted, slack)
        costs = found.networks.costs
        standing.found, standing.upper_bound = found, min(standing.upper_bound, float(costs[0]))
        standing.lower_bound = standing.upper_bound - tolerance(standing.upper_bound)
        if scope.k is not None and not _enough(scope, found):
            standing.next_slack = next_slack(slack, costs - costs[0], scope.k)
        standing.ledger.keep(FOUND, partial(found_arrays, found))


def _enough(scope: Scope, found: Found) -> bool:
    """Whether that is all that is asked for."""
    return scope.slack is not None or found.within == math.inf or _many(scope, found) >= (scope.k or 0)


def _many(scope: Scope, found: Found) -> int:
    """How many there are of what is asked for."""
    if not scope.classes:
        return found.networks.costs.size
    return int(numbered(class_keys(parents_of(found.networks, found.parents))).max()) + 1


def _within(search: _Search, counted: Counted, slack: float) -> Found:
    """The networks that cost at most `slack` nats more than the optimum, or the cheapest of them; all there are, if all
    families are within the slack.

    The families are those within the slack of their best subsets. The limit is that above a network that may not be
    the best; what is found between the two limits may not be all there is.
    """
    scope, problem, upper = search.scope, search.problem, search.standing.upper_bound
    with search.context.stages.stage("networks", f"that cost up to {slack:.3g} nats more than the best") as summary:
        wide = slack + 2.0 * tolerance(upper)
        scores = counted.scores if slack == counted.slack else prune(counted.scores, wide)
        if isinstance(problem, Dataset):
            scores = with_constants(scores, problem, wide, scope.k)
        limit, within = upper + wide, slack
        if scope.slack is None and scores.families == _families_in_all(search):
            limit, wide, within = math.fsum(float(costs[-1]) for costs in scores.costs) + 1.0, math.inf, math.inf
        whole = Component(tuple(range(scores.variables)), scores.parents, scores.costs, wide)
        work = Work(search.context, None if scope.classes else scope.k, search.standing.ledger)
        networks = networks_below(whole, limit, work)
        kept = int(np.searchsorted(networks.costs, networks.costs[0] + within + tolerance(upper), side="right"))
        summary.append(f"{in_full(kept, 'network')} of {in_full(scores.families, 'parent set')}")
    return found_of(scores, Networks(networks.rows[:kept], networks.costs[:kept]), within)


def _families_in_all(search: _Search) -> int:
    """How many families there are, whatever they cost."""
    problem = search.problem
    if isinstance(problem, LocalScores):
        return given_scores(problem, search.claim).families
    n, most = problem.variables, search.claim.max_parents
    return n * sum(math.comb(n - 1, size) for size in range(n if most is None else min(n, most + 1)))


def _counted_further(search: _Search, slack: float) -> Counted:
    """The families within more slack than those that the standing has, which it gives up for them."""
    search.standing.counted, search.standing.scores = None, ()
    counted = _counted(search, slack)
    if counted.stopped is not None:
        raise Stopped(counted.stopped)
    return counted


def _counted(search: _Search, slack: float) -> Counted:
    """The families that cost at most `slack` nats more than the best of their subsets, of the variables that vary; the
    standing gets them if they are complete."""
    problem, standing = search.problem, search.standing
    if isinstance(problem, LocalScores):
        scores = given_scores(problem, search.claim)
        standing.counted = Counted(scores, np.array([costs[0] for costs in scores.costs]), None, 0, math.inf)
        return standing.counted
    standing.slack = slack
    detail = f"{in_full(problem.variables, 'variable')}, {in_full(problem.records, 'record')}"
    with search.context.stages.stage("scores", detail) as summary:
        found = _survivors(problem, slack, search)
        kept = in_full(found.scores.families, "parent set")
        summary.append(f"{kept} kept, of {in_full(found.varsets, *VARSETS)} counted")
    counted = Counted(found.scores, found.least, found.stopped, found.varsets, slack)
    if counted.stopped is None:
        held = standing.counting
        standing.counted, standing.counting, standing.enumeration = counted, None, None
        try:
            if held is None:
                commit_if_due(search.commits)
            else:
                commit_or_stop(search.commits)  # the search is to have the room that the files of counting take
        except Stopped as stop:
            return replace(counted, stopped=stop.reason)
    return counted


def _survivors(dataset: Dataset, slack: float, search: _Search) -> Survivors:
    """The families of the data within the slack; the standing follows."""
    standing, context = search.standing, search.context

    def on_progress(enumeration: Enumeration) -> None:
        if not enumeration.done:
            standing.enumeration = enumeration
            commit_if_due(search.commits)

    at_most = dataset.records * float(np.log(dataset.arities).sum())  # that the data cost without any arc
    wide = slack + 3.0 * tolerance(at_most)
    workers, shelf, observer = context.workers, context.shelf, context.observer
    return surviving_families(dataset, search.claim, workers, shelf, observer, standing.enumeration, on_progress, wide)
