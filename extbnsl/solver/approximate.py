"""A network of low cost, of thousands of variables, within a time: parent sets are explored, then orders searched."""

from dataclasses import replace

from extbnsl.core.claims import HEURISTIC, Claim
from extbnsl.core.compiling import clock
from extbnsl.core.events import IncumbentFound, Observer, ignore
from extbnsl.core.figures import format_cost, format_gap, in_full
from extbnsl.data import Data
from extbnsl.files.manifest import APPROXIMATE
from extbnsl.machine.budgets import Budgets, Deadline, Granted
from extbnsl.machine.workers import StopSignal, never
from extbnsl.networks.network import Network
from extbnsl.orders.population import Population, search_lists
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.solver.approximation import ApproximateCommits, Session, Times
from extbnsl.solver.components import raised_bound
from extbnsl.solver.families import given_scores
from extbnsl.solver.gathered import Gathered, gathered_families
from extbnsl.solver.methods import ApproximateMethods
from extbnsl.solver.opening import Request, opened
from extbnsl.solver.outcome import FoundNetwork, claim_on, result_of
from extbnsl.solver.place import Place

TIME = 60.0  # seconds, unless others are given
BOUNDING = 0.2  # of the time that is left, for the lower bound, where all families are known
CELL_SECONDS, VARIABLE_SECONDS = 150e-9, 1e-3  # to score the network again, each record and variable, and to write it
RESERVE = 0.25  # of the time, at most, for that
GRACE = 2.0  # seconds of searching where a stop came before it, for more than a random order
FEW_VARIABLES, FEW_ROUNDS = 12, 5  # whose best order is found in so many rounds


def approximate_network(
    problem: Data | LocalScores,
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
    given = problem if isinstance(problem, Data) else given_scores(problem, claim)
    budgets = replace(budgets, time_limit=budgets.time_limit or TIME)
    # the fingerprint is not that of what --max-parents leaves of local scores
    asked = Request(problem, claim, methods, budgets, place, APPROXIMATE)
    with opened(asked, ApproximateCommits, observer=observer, stop=stop) as run:
        commits, context = run.commits, run.context
        commits.let(times=_times(given, commits.standing.used, run.granted))
        session = Session(claim, methods, run.granted, context, commits, stop)
        standing = commits.standing
        if standing.best is not None:
            observer(IncumbentFound(standing.best.cost, standing.lower_bound))
        commits.commit_or_stop()
        if not standing.done:
            _searched(gathered_families(given, session), session)
        result = _concluded(given, session)
    return replace(result, digest=problem.fingerprint)


def _concluded(problem: Data | LocalScores, session: Session) -> Result:
    """The result, and the last commit: of a run that the caller has stopped before that of the result."""
    interrupted, commits = session.stop(), session.commits
    if interrupted is not None:
        commits.last_commit(interrupted)
        return _result(problem, interrupted, session)
    result = _result(problem, HEURISTIC, session)
    commits.finish(HEURISTIC)  # not before the network is verified
    return result


def _times(problem: Data | LocalScores, used: float, granted: Granted) -> Times:
    """The times of a run that has used so many seconds."""
    assert granted.time_limit is not None, "there is one by default"
    whole = used + max(0.0, granted.time_limit - granted.spent)  # its shares are of what reading has left
    records = problem.records if isinstance(problem, Data) else 0
    reserve = problem.variables * (records * CELL_SECONDS + VARIABLE_SECONDS)
    return Times(whole, granted.deadline().at, min(reserve, RESERVE * whole))


def _result(problem: Data | LocalScores, status: str, session: Session) -> Result:
    """The result of the best network, scored again."""
    standing, best = session.standing, session.standing.best
    assert best is not None, "a search has one"
    network, order = Network(problem.names, best.parents), tuple(best.order.tolist())
    found = FoundNetwork(network, order, best.cost, standing.lower_bound)
    result = result_of(problem, found, claim_on(problem, session.claim), session.context.stages)
    return replace(
        result,
        status=status,
        seed=session.methods.seed,
        stats={**result.stats, **standing.counted, **session.commits.taken()},
        options=session.claim.document() | session.methods.document() | session.granted.document(),
    )


def _searched(gathered: Gathered, session: Session) -> None:
    """Search orders until the time is over, the caller says stop, or the network is proved to be optimal; the standing
    gets the best network."""
    rounds = FEW_ROUNDS if gathered.lists.variables <= FEW_VARIABLES else None
    end = session.standing.times.searched
    if session.stop() is not None:
        session, end = replace(session, stop=never), min(end, clock() + GRACE)
    elif gathered.scores is not None and not session.standing.bounded:
        if session.standing.best is None:
            _search(gathered, 1, end, session)
        _raise_bound(gathered.scores, session)
    standing = session.standing
    if standing.best is None or (session.stop() is None and not standing.proved):
        _search(gathered, rounds, end, session)


def _search(gathered: Gathered, rounds: int | None, end: float, session: Session) -> None:
    """Search orders by so many rounds, or until the moment `end`."""
    methods, stages, commits = session.methods, session.context.stages, session.commits

    def keep(population: Population) -> None:
        standing = session.standing.improved(population.best)
        if standing.searching:
            children = standing.children.having(*gathered.grown())
            standing = replace(standing, population=population, children=children)
        commits.standing = standing
        if standing.searching:
            commits.commit_if_due()

    detail = f"searching orders of {in_full(gathered.lists.variables, 'variable')}"
    with (
        session.workers(end, lambda: session.standing.proved) as workers,
        stages.stage("incumbent", detail, end) as summary,
    ):
        best = search_lists(
            gathered.lists,
            workers,
            session.standing.population or methods.seed,
            session.tell,
            method=methods.search,
            rounds=rounds,
            on_round=keep,
        )
        session.count(parent_sets=gathered.searched.costs.size)
        summary.append(f"cost {best.cost:.6f}, gap {format_gap(session.standing.lower_bound, best.cost)}")


def _raise_bound(scores: LocalScores, session: Session) -> None:
    """Raise the lower bound, below what the best network costs, in a share of the time that is left."""
    standing, granted = session.standing, session.granted
    assert standing.best is not None, "a search came before"
    end = clock() + BOUNDING * Deadline(standing.times.searched).remaining()
    with session.workers(end) as workers, session.context.stages.stage("bounds", "", end) as summary:
        bound = raised_bound(scores, standing.best.cost, granted.memory // 4, workers, session.methods.seed)
        standing = replace(standing.bounded_by(bound), bounded=session.stop() is None)
        session.commits.standing = standing
        assert standing.best is not None, "it stays"
        gap = format_gap(standing.lower_bound, standing.best.cost)
        summary.append(f"best bound {format_cost(standing.lower_bound)}, gap {gap}")
