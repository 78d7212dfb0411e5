"""A network of low cost, of thousands of variables, within a time: parent sets are explored, then orders searched."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from extbnsl.claims import HEURISTIC, TIME_LIMIT, Claim
from extbnsl.compiling import clock
from extbnsl.data import Dataset
from extbnsl.errors import BudgetError
from extbnsl.events import Begun, IncumbentFound, Observer, Warned, ignore
from extbnsl.figures import format_gap, in_full
from extbnsl.files.arrays import load_hdf5
from extbnsl.files.store import Store
from extbnsl.kernels.compiler import cache_warning
from extbnsl.machine.budgets import Budgets, Deadline, Granted, too_little_memory
from extbnsl.machine.workers import StopSignal, Workers, never
from extbnsl.networks.network import Network
from extbnsl.orders.growing import GrowingLists
from extbnsl.orders.parent_lists import ParentLists, lists_of_scores
from extbnsl.orders.population import Population, search_lists
from extbnsl.parents.explored.explore import (
    ALL,
    MOST_PARENTS,
    Effort,
    Exploration,
    Explored,
    exploration,
    explored_families,
    thread_bytes,
    without_parents,
)
from extbnsl.proof.commits import Record
from extbnsl.proof.stages import Stages
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.scores.score import penalty_of
from extbnsl.solver.approximation import ApproximateCommits, Approximation, Times, read_approximation
from extbnsl.solver.families import given_scores, warnings_of
from extbnsl.solver.found import FoundNetwork, bounds_of_children, result_of_found
from extbnsl.solver.methods import ApproximateMethods
from extbnsl.solver.place import Place, check_same, store_at
from extbnsl.solver.states import APPROXIMATE

TIME = 60.0  # seconds, unless others are given
PAIRS = 0.25  # of what a child gets, for all pairs of parents, where that does
SET_SECONDS, RECORD_SECONDS = 2e-6, 2e-9  # to score a pair: for each, and for each record
BOUNDING = 0.05  # of the time, for the lower bound, where that does
BOUND_SECONDS = 50e-9  # for each record and variable, at most
CELL_SECONDS, VARIABLE_SECONDS = 150e-9, 1e-3  # to score the network again, each record and variable, and to write it
RESERVE = 0.25  # of the time, at most, for that
LISTED, LISTED_IN_ALL = 200, 20_000  # families of a child to begin with: so many, more if there are fewer in all
FAMILY_BYTES = 256  # that a family takes as it is found, in the lists, and while these are made
GRACE = 2.0  # seconds of searching where a stop came before it, for more than a random order
FEW_VARIABLES, FEW_ROUNDS = 12, 5  # whose best order is found in so many rounds


@dataclass(frozen=True)
class Session:
    """What the steps of one process share. stop: the caller's signal, beside which each step has its own deadline."""

    claim: Claim
    methods: ApproximateMethods
    granted: Granted
    stages: Stages
    commits: ApproximateCommits
    stop: StopSignal

    @property
    def standing(self) -> Approximation:
        """What is known so far."""
        return self.commits.standing

    def workers(self, end: float) -> Workers:
        """Threads until the caller's signal, or the moment `end` of `compiling.clock`."""
        deadline = Deadline(end)
        return Workers(self.granted.threads, lambda: self.stop() or (TIME_LIMIT if deadline.passed() else None))


def approximate_network(
    problem: Dataset | LocalScores,
    claim: Claim = Claim(),
    methods: ApproximateMethods = ApproximateMethods(),
    budgets: Budgets = Budgets(time_limit=TIME),
    place: Place = Place(),
    *,
    observer: Observer = ignore,
    stop: StopSignal = never,
) -> Result:
    """The best network that is found within the time limit, or TIME.

    The status is 'heuristic' when the time is used, or for few variables after some rounds. `stop` is polled; a reason
    other than None ends the search with that status and the best network so far. The lower bound holds for every
    network. In a run directory what is known is committed every few seconds; a state that is resumed must be of the
    same problem, claim and methods, and the time limit is then what is left for the run. The observer hears of each
    child that is explored, and of each better network. Raises InputError for unusable arguments, BudgetError if the
    memory does not do, RunDirectoryError if the state does not belong to the problem or is damaged.
    """
    for value in (claim, methods, budgets, place):
        value.check()
    given = problem if isinstance(problem, Dataset) else given_scores(problem, claim)
    about = {
        "kind": APPROXIMATE,
        "digest": problem.fingerprint,  # not that of what --max-parents leaves of local scores
        "claim": claim.document(),
        "methods": methods.document(),
        "run": place.remember,
    }
    check_same(about, place.resume)
    granted = replace(budgets, time_limit=budgets.time_limit or TIME).granted(place.folder, place.held)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(store_at(place, granted))
        if place.run_folder is not None:
            load_hdf5()
        standing = _standing(place, store, given, granted)
        stages = Stages(observer, standing.stages)
        held = () if place.resume is None else place.resume.files
        record = None if place.run_folder is None else Record(place.run_folder, about, held)
        commits = ApproximateCommits(standing, store, record, observer)
        session = Session(claim, methods, granted, stages, commits, stop)
        observer(Begun())
        for message in (*warnings_of(given), *filter(None, [cache_warning()])):
            observer(Warned(message))
        commits.commit_or_warn()
        if not standing.done:
            _searched(_families(given, session), session)
        interrupted = stop()
        if interrupted is not None:
            commits.last_commit(interrupted)
        result = _result(given, interrupted or HEURISTIC, session)
        if interrupted is None:
            commits.finish(HEURISTIC)
    return replace(result, digest=problem.fingerprint)


def _standing(place: Place, store: Store, problem: Dataset | LocalScores, granted: Granted) -> Approximation:
    """What is known at the beginning, and the times of the run."""
    assert granted.time_limit is not None, "there is one by default"
    used = 0.0 if place.resume is None else float(place.resume.state["used"])
    whole = used + granted.time_limit
    records = problem.records if isinstance(problem, Dataset) else 0
    reserve = problem.variables * (records * CELL_SECONDS + VARIABLE_SECONDS)
    times = Times(whole, granted.deadline().at, min(reserve, RESERVE * whole))
    if place.resume is None:
        return Approximation(times)
    return read_approximation(place.resume, times, store.folder, problem.variables)


def _result(problem: Dataset | LocalScores, status: str, session: Session) -> Result:
    """The result of the best network, scored again."""
    standing, best = session.standing, session.standing.best
    assert best is not None, "a search has one"
    network, order = Network(problem.names, best.parents), tuple(best.order.tolist())
    found = FoundNetwork(network, order, best.cost, standing.lower_bound)
    result = result_of_found(problem, found, session.claim, session.stages)
    session.commits.add_up()
    spent = {
        "seconds": standing.seconds,
        "cpu_seconds": standing.cpu_seconds,
        "peak_rss_bytes": standing.peak_rss,
        "peak_disk_bytes": standing.peak_disk,
    }
    return replace(
        result,
        status=status,
        seed=session.methods.seed,
        stats={**result.stats, **standing.counted, **spent},
        options=session.claim.document() | session.methods.document() | session.granted.document(),
    )


def _families(problem: Dataset | LocalScores, session: Session) -> ParentLists | GrowingLists:
    """The families to be searched, which grow if there are data; the standing gets what every network costs at least,
    and for how many of the children there are no others that could win."""
    standing = session.standing
    if isinstance(problem, Dataset):
        explored, setting = _explored(problem, session)
        most = _room(problem, setting, session.granted) // FAMILY_BYTES
        whole = sum(own.ended == ALL for own in explored)
        floors = standing.floors or [0.0] * problem.variables
        proved = [max(floor, _proved(own, setting)) for floor, own in zip(floors, explored, strict=True)]
        standing.lower_bound = math.fsum(proved)
        standing.counted["explored_whole"] = whole
        standing.known.clear()  # the lists have it, and the files
        return GrowingLists(setting, [own.families for own in explored], most)
    standing.lower_bound = math.fsum(float(costs[0]) for costs in problem.costs)
    standing.counted["explored_whole"] = problem.variables
    standing.searching = True
    return lists_of_scores(problem)


def _explored(dataset: Dataset, session: Session) -> tuple[tuple[Explored, ...], Exploration]:
    """What an exploration finds in its share of the time, or has found, and the exploration."""
    standing, times, n = session.standing, session.standing.times, dataset.variables
    pair_seconds = max(0.0, times.explored - clock()) * session.granted.threads / n
    whole = 2 if _has_time_for_pairs(dataset, session.claim, pair_seconds) else 1
    setting = exploration(dataset, session.methods.selection, session.claim.score, session.claim.max_parents, whole)
    known = standing.known
    if standing.searching:
        return tuple(known[x] if x in known else without_parents(x, setting) for x in range(n)), setting
    with session.workers(times.latest) as workers:
        if standing.floors is None:
            floors = tuple(_floors(dataset, session.claim, times.end, workers))
            standing.floors = floors if session.stop() is None else None  # which may have kept them from being good
        explored = _explored_by(workers, setting, session, _room(dataset, setting, session.granted))
    if session.stop() is None:  # what is known of children that were cut short is all that will be known
        for own in explored:
            if own.child not in known and own.families.families > 1:
                standing.keep(own)
        standing.searching = True
        session.commits.commit_or_warn()
    return explored, setting


def _explored_by(workers: Workers, setting: Exploration, session: Session, room: int) -> tuple[Explored, ...]:
    """What is known of all children after the exploration within so many bytes, or when the workers are stopped."""
    standing, times, n = session.standing, session.standing.times, setting.data.variables
    observer = session.stages.observer

    def keep(own: Explored) -> None:
        standing.keep(own)
        session.commits.commit_if_due()

    most = min(room // FAMILY_BYTES // n, max(LISTED, LISTED_IN_ALL // n))
    effort = Effort(families=most, until=times.explored)
    detail = f"exploring those of {in_full(n, 'variable')}"
    with session.stages.stage("parents", detail, times.searched) as summary:
        explored = explored_families(setting, effort, workers, room, dict(standing.known), observer, keep)
        scored, kept = sum(own.scored for own in explored), sum(own.families.families for own in explored)
        whole = in_full(sum(own.ended == ALL for own in explored), "child", "children")
        summary.append(f"{in_full(scored, 'set')} scored, {kept:,} kept; all for {whole}")
    return explored


def _room(dataset: Dataset, setting: Exploration, granted: Granted) -> int:
    """Bytes for what the threads work on, and as many for the families; BudgetError if they do not do."""
    n, threads = dataset.variables, granted.threads
    data = dataset.codes.nbytes + sum(array.nbytes for array in setting.data)
    needed = max(n * FAMILY_BYTES, threads * max(thread_bytes(setting.data), n * n // 8))
    room = (granted.memory - data) // 2
    if room < needed:
        raise BudgetError(too_little_memory("Exploring parent sets", data + 2 * needed, granted.memory, threads))
    return room


def _proved(own: Explored, setting: Exploration) -> float:
    """What a family of the child costs at least, in nats, as its exploration proves; zero if it did not end.

    Larger sets than any that are explored cost at least their penalty: of constants, which have one state, nothing is
    gained.
    """
    if own.ended != ALL:
        return 0.0
    beyond = penalty_of(setting.parameter, int(setting.data.arities[own.child]), 2.0 ** (MOST_PARENTS + 1))
    return min(float(own.families.costs[0]), beyond)


def _floors(dataset: Dataset, claim: Claim, end: float, workers: Workers) -> Sequence[float]:
    """What a family of each child costs at least, as good as a small share of the time until `end` affords."""
    estimated = BOUND_SECONDS * dataset.records * dataset.variables / workers.threads
    if estimated <= BOUNDING * Deadline(end).remaining():
        return bounds_of_children(dataset, claim, workers)
    return [0.0] * dataset.variables


def _has_time_for_pairs(dataset: Dataset, claim: Claim, seconds: float) -> bool:
    """Whether all pairs of parents of a child can be scored in a share of its time."""
    pairs = dataset.variables**2 / 2
    needed = pairs * (SET_SECONDS + RECORD_SECONDS * dataset.records)
    return claim.max_parents not in (0, 1) and needed <= PAIRS * seconds


def _searched(lists: ParentLists | GrowingLists, session: Session) -> None:
    """Search orders until the time is over or the caller says stop; the standing gets the best network."""
    standing, methods, stages = session.standing, session.methods, session.stages
    rounds = FEW_ROUNDS if lists.variables <= FEW_VARIABLES else None
    end = standing.times.searched
    if session.stop() is not None:
        session, end = replace(session, stop=never), min(end, clock() + GRACE)

    def keep(population: Population) -> None:
        standing.improve(population.best)
        if standing.searching:
            standing.population = population
            session.commits.commit_if_due()

    with (
        session.workers(end) as workers,
        stages.stage("incumbent", f"searching orders of {in_full(lists.variables, 'variable')}", end) as summary,
    ):
        best = search_lists(
            lists,
            workers,
            standing.population or methods.seed,
            lambda cost: stages.observer(IncumbentFound(cost, standing.lower_bound)),
            method=methods.search,
            rounds=rounds,
            on_round=keep,
        )
        searched = lists.lists if isinstance(lists, GrowingLists) else lists
        standing.counted["parent_sets"] = searched.costs.size
        summary.append(f"cost {best.cost:.6f}, gap {format_gap(standing.lower_bound, best.cost)}")
