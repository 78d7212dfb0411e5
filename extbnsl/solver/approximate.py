"""A network of low cost, of thousands of variables, within a time: parent sets are explored, then orders searched."""

from dataclasses import replace

from extbnsl.core.claims import HEURISTIC
from extbnsl.core.compiling import clock
from extbnsl.core.events import IncumbentFound, Observer, ignore
from extbnsl.core.figures import format_cost, format_gap, in_full
from extbnsl.data import Data
from extbnsl.files.manifest import APPROXIMATE
from extbnsl.machine.budgets import Deadline, Granted
from extbnsl.machine.workers import StopSignal, never
from extbnsl.networks.network import Network
from extbnsl.orders.fitted.search import Fitting, search_fitted
from extbnsl.orders.population import METHODS, Improve, Population, search_lists
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.solver.approximation import ApproximateCommits, Times
from extbnsl.solver.components import raised_bound
from extbnsl.solver.families import given_scores
from extbnsl.solver.gathered import ApproximateRun, Gathered, gathered_families
from extbnsl.solver.opening import Request, opened
from extbnsl.solver.outcome import FoundNetwork, claim_on, result_of

TIME = 60.0  # seconds, unless others are given
BOUNDING = 0.2  # of the time that is left, for the lower bound, where all families are known
CELL_SECONDS, VARIABLE_SECONDS = 150e-9, 1e-3  # to score the network again, each record and variable, and to write it
RESERVE = 0.25  # of the time, at most, for that
GRACE = 2.0  # seconds of searching where a stop came before it, for more than a random order
FEW_VARIABLES, FEW_ROUNDS = 12, 5  # whose best order is found in so many rounds


def approximate_network(
    asked: Request, *, observer: Observer = ignore, stop: StopSignal = never, improve: Improve | None = None
) -> Result:
    """The best network that is found within the time limit, or TIME, by `ApproximateMethods`.

    The status is 'heuristic' when the time is used, or for few variables after some rounds. `stop` is polled; a reason
    other than None ends the search with that status and the best network so far. The lower bound holds for every
    network. In a run directory what is known is committed every few seconds; a state that is resumed must be of the
    same problem, claim and methods, and the time limit is then what is left for the run. The observer hears of each
    child that is explored, and of each better network. improve: what searches for orders, if it is none of the
    program's own METHODS. Raises InputError for unusable arguments, BudgetError if the memory does not do,
    RunDirectoryError if the state does not belong to the problem or is damaged.
    """
    # the fingerprint is not that of what --max-parents leaves of local scores
    given = asked.problem if isinstance(asked.problem, Data) else given_scores(asked.problem, asked.claim)
    budgets = replace(asked.budgets, time_limit=asked.budgets.time_limit or TIME)
    asked = replace(asked, budgets=budgets, kind=APPROXIMATE)
    with opened(asked, ApproximateCommits, observer=observer, stop=stop) as run:
        commits = run.commits
        standing = commits.standing
        standing.times = _times(given, standing.used, run.granted)
        if standing.best is not None:
            observer(IncumbentFound(standing.best.cost, standing.lower_bound))
        commits.commit_or_stop()
        if not standing.done:
            _searched(gathered_families(given, run), run, improve or METHODS[asked.methods.search])
        interrupted = run.stop()
        if interrupted is not None:
            commits.last_commit(interrupted)  # what it takes on disk is part of the result
        result = _result(given, interrupted or HEURISTIC, run)
        if interrupted is None:
            commits.finish(HEURISTIC)  # not before the network is verified
    return replace(result, digest=asked.problem.fingerprint)


def _times(problem: Data | LocalScores, used: float, granted: Granted) -> Times:
    """The times of a run that has used so many seconds."""
    assert granted.time_limit is not None, "there is one by default"
    whole = used + max(0.0, granted.time_limit - granted.spent)  # its shares are of what reading has left
    records = problem.records if isinstance(problem, Data) else 0
    reserve = problem.variables * (records * CELL_SECONDS + VARIABLE_SECONDS)
    return Times(whole, granted.deadline().at, min(reserve, RESERVE * whole))


def _result(problem: Data | LocalScores, status: str, run: ApproximateRun) -> Result:
    """The result of the best network, scored again."""
    standing, best = run.commits.standing, run.commits.standing.best
    assert best is not None, "a search has one"
    network, order = Network(problem.names, best.parents), tuple(best.order.tolist())
    found = FoundNetwork(network, order, best.cost, standing.lower_bound)
    result = result_of(problem, found, claim_on(problem, run.asked.claim), run.context.stages)
    return replace(
        result,
        status=status,
        seed=run.asked.methods.seed,
        stats={**result.stats, **standing.counted, **run.commits.taken()},
        options=run.asked.options(run.granted),
    )


def _searched(gathered: Gathered, run: ApproximateRun, improve: Improve) -> None:
    """Search orders until the time is over, the caller says stop, or the network is proved to be optimal; the standing
    gets the best network."""
    rounds = FEW_ROUNDS if gathered.lists.variables <= FEW_VARIABLES else None
    end = run.commits.standing.times.searched
    if run.stop() is not None:
        run, end = replace(run, stop=never), min(end, clock() + GRACE)
    elif gathered.scores is not None and not run.commits.standing.bounded:
        if run.commits.standing.best is None:
            _search(gathered, 1, end, run, improve)
        _raise_bound(gathered.scores, run)
    standing = run.commits.standing
    if standing.best is None or (run.stop() is None and not standing.proved):
        _search(gathered, rounds, end, run, improve)


def _search(gathered: Gathered, rounds: int | None, end: float, run: ApproximateRun, improve: Improve) -> None:
    """Search orders by so many rounds, or until the moment `end`."""
    methods, stages, standing = run.asked.methods, run.context.stages, run.commits.standing

    def keep(population: Population) -> None:
        if population.best.cost < standing.upper_bound:
            standing.best = population.best
        if standing.searching:
            standing.population = population
            run.commits.know(*gathered.grown())
            run.commits.commit_if_due()

    detail = f"searching orders of {in_full(gathered.lists.variables, 'variable')}"
    with (
        run.workers(end, lambda: standing.proved) as workers,
        stages.stage("incumbent", detail, end) as summary,
    ):
        begun, tell = standing.population or methods.seed, run.commits.tell
        if isinstance(gathered.lists, Fitting):
            best = search_fitted(gathered.lists, workers, begun, tell, rounds=rounds, on_round=keep)
        else:
            best = search_lists(gathered.lists, workers, begun, tell, improve=improve, rounds=rounds, on_round=keep)
        if gathered.families is not None:
            standing.counted["parent_sets"] = gathered.families
        summary.append(f"cost {best.cost:.6f}, gap {format_gap(standing.lower_bound, best.cost)}")


def _raise_bound(scores: LocalScores, run: ApproximateRun) -> None:
    """Raise the lower bound, below what the best network costs, in a share of the time that is left."""
    standing, granted = run.commits.standing, run.granted
    assert standing.best is not None, "a search came before"
    end = clock() + BOUNDING * Deadline(standing.times.searched).remaining()
    with run.workers(end) as workers, run.context.stages.stage("bounds", "", end) as summary:
        bound = raised_bound(scores, standing.best.cost, granted.memory // 4, workers, run.asked.methods.seed)
        standing.lower_bound, standing.bounded = max(standing.lower_bound, bound), run.stop() is None
        gap = format_gap(standing.lower_bound, standing.best.cost)
        summary.append(f"best bound {format_cost(standing.lower_bound)}, gap {gap}")
