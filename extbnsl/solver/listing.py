"""All networks within a slack, and within more, until there are as many as are asked for, or all within the factor; and
what all of these add up to, if they are too many to list. The standing follows."""

import math

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import find_multipliers, multipliers_bytes
from extbnsl.bounds.multipliers import families_of
from extbnsl.core.claims import tolerance
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import StageAdvanced, Warned
from extbnsl.core.figures import in_full
from extbnsl.data import Data, Dataset
from extbnsl.data.dataset import apart_in
from extbnsl.kbest.below import Work, networks_below
from extbnsl.kbest.constants import with_constants
from extbnsl.kbest.networks import Networks
from extbnsl.kbest.ranking import FIRST, arc_shares, class_keys, next_slack, numbered
from extbnsl.kbest.scope import MOST_LISTED, Scope
from extbnsl.kbest.tally import Below, tally_below
from extbnsl.machine.workers import Stopped
from extbnsl.parents.components import Component
from extbnsl.parents.constraints import constraints_of
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.parents.pruning import prune
from extbnsl.proof.context import Context
from extbnsl.results.networks import varsets_of
from extbnsl.scores.local import LocalScores
from extbnsl.solver.families import all_given, counted_families, given_scores
from extbnsl.solver.opening import Opened
from extbnsl.solver.ranking import FOUND, TALLIED, FoundNetworks, Ranking, RankingCommits, Tallied, found_of

LISTING, TALLYING = "networks", "tally"  # stages
COUNTED = 12.0  # nats of slack of the families that are counted at first: little more work than those without
SHARE_OF_GAP = 0.02
FURTHER = 1.5  # by which it grows when that is not enough
ROUNDING = 2.0**-48  # what a sum of costs may be off, relative to how much they are

RankingRun = Opened[RankingCommits]


def first_families(run: RankingRun) -> Survivors:
    """The families that are looked at first: those of the standing, or as far as they can be counted."""
    standing, slack = run.commits.standing, run.asked.scope.slack
    return standing.survivors or _counted(run, standing.slack or (COUNTED if slack is None else slack))


def begin_listing(run: RankingRun, scores: LocalScores, upper: float) -> None:
    """Let the standing have what a network costs, and the first slack."""
    standing = run.commits.standing
    standing.upper_bound = upper
    standing.next_slack = _no_more(run.asked.scope, _first_slack(scores, upper, run.context))
    run.commits.commit_if_due()


def _no_more(scope: Scope, slack: float) -> float:
    """The slack, or that of the factor if this is less."""
    return slack if scope.slack is None else min(slack, scope.slack)


def _first_slack(scores: LocalScores, upper: float, context: Context) -> float:
    """The first guess: more where the bounds leave a gap beside which it makes no difference to the search."""
    families = families_of(scores.parents, scores.costs)
    if multipliers_bytes(scores.costs, scores.variables, context.workers.threads) > context.memory_left:
        return FIRST
    bound = find_multipliers(families, None, 0, context.methods.seed, context.workers).root
    return min(COUNTED, max(FIRST, SHARE_OF_GAP * (upper - bound)))


def list_networks(run: RankingRun) -> None:
    """Find the best networks within ever more slack, until it is enough; the standing gets them. Raises Stopped."""
    scope, standing = run.asked.scope, run.commits.standing
    while standing.found is None or not _enough(scope, standing.found, run):
        slack = standing.next_slack
        assert slack is not None, "there is a guess"
        if slack > standing.slack:
            wider = max(slack, FURTHER * standing.slack)
            standing.survivors, standing.scores = None, None  # they are given up for those within more slack
            stopped = _counted(run, wider).stopped
            if stopped is not None:
                raise Stopped(stopped)
        found = _within(run, slack)
        costs = found.networks.costs
        try:
            if not _enough(scope, found, run):
                slack = _wider(run, slack, costs - costs[0])
        finally:  # whoever stops meanwhile has the list, in the standing and in the ledger
            standing.next_slack, standing.found = slack, found
            standing.upper_bound = min(standing.upper_bound, float(costs[0]))
            standing.lower_bound = standing.upper_bound - tolerance(standing.upper_bound)
            standing.ledger.keep(FOUND, found.arrays, whole=True)


def _wider(run: RankingRun, slack: float, above: NDArray[np.float64]) -> float:
    """The next slack, when the networks within this one cost so much more than the best, ascending."""
    scope = run.asked.scope
    wider = _no_more(scope, next_slack(slack, above, scope.k or MOST_LISTED))
    return math.inf if scope.slack is None and wider > _widest(run) else wider


def _widest(run: RankingRun) -> float:
    """The slack after which all families of data are looked at: some may be singular, so that no slack has as many as
    there are sets of parents. Nothing depends on it but time: a nat for each value, and what the cheapest families
    cost. Local scores are all given, and may be differences that are next to nothing."""
    problem = run.asked.problem
    return math.inf if isinstance(problem, LocalScores) else problem.observed * problem.variables + _cheapest(run)


def _cheapest(run: RankingRun) -> float:
    """What the cheapest families cost together, each without its sign, as costs may cancel each other out."""
    return math.fsum(abs(float(costs[0])) for costs in _scores(run).costs)


def look_further(standing: Ranking, k: int) -> None:
    """Let the standing forget the networks that it has, which are fewer than the k that are asked for now; the slack
    follows from them."""
    assert standing.found is not None, "there are some"
    above = standing.found.networks.costs - standing.found.networks.costs[0]
    guess = next_slack(float(above[-1]), above, k) if above[-1] > 0.0 else FIRST
    standing.found, standing.next_slack = None, max(guess, standing.next_slack or FIRST)


def _enough(scope: Scope, found: FoundNetworks, run: RankingRun) -> bool:
    """Whether that is all that is asked for. Raises Stopped."""
    if found.within >= (math.inf if scope.slack is None else scope.slack):
        return True
    many = found.networks.costs.size
    if scope.classes:
        workers, problem = run.context.workers, run.asked.problem
        told = apart_in(problem if isinstance(problem, Data) else None)
        keys = workers.run(class_keys, varsets_of(found.parents, found.networks.rows), workers.halt, told)
        many = int(numbered(keys).max()) + 1
    return many >= (scope.k or MOST_LISTED)


def _within(run: RankingRun, slack: float) -> FoundNetworks:
    """The networks that cost at most `slack` nats more than the optimum, or the cheapest of them; all there are, if all
    families are within the slack.

    The families are those within the slack of their best subsets. The limit is that above a network that may not be
    the best; what is found between the two limits may not be all there is.
    """
    scope, upper = run.asked.scope, run.commits.standing.upper_bound
    told = "whatever they cost" if math.isinf(slack) else f"that cost up to {slack:.3g} nats more than the best"
    with run.context.stages.stage(LISTING, told) as summary:
        wide = slack + 2.0 * tolerance(upper) + ROUNDING * _cheapest(run)
        scores = _scores_within(run, wide, scope.most)
        limit, within = upper + wide, slack
        if math.isinf(slack) or (scope.slack is None and scores.families == _families_in_all(run)):
            limit, wide, within = math.fsum(float(costs[-1]) for costs in scores.costs) + 1.0, math.inf, math.inf
        whole = Component(tuple(range(scores.variables)), scores.parents, scores.costs, wide)
        networks = networks_below(whole, limit, _work(run, LISTING, scope.most))
        kept = int(np.searchsorted(networks.costs, networks.costs[0] + within + tolerance(upper), side="right"))
        summary.append(f"{in_full(kept, 'network')} of {in_full(scores.families, 'parent set')}")
    cut = scope.slack is not None and kept == scope.most
    within = scope.slack if cut and scope.slack is not None else within
    return found_of(scores, Networks(networks.rows[:kept], networks.costs[:kept]), within)


def _scores(run: RankingRun) -> LocalScores:
    """The families that are counted."""
    assert run.commits.standing.survivors is not None, "there are families"
    return run.commits.standing.survivors.scores


def _scores_within(run: RankingRun, slack: float, most: int | None) -> LocalScores:
    """The families within a slack, in nats, of their best subsets, or enough of them for the cheapest networks."""
    scores, workers = _scores(run), run.context.workers
    if slack < run.commits.standing.slack:
        scores = workers.run(prune, scores, slack, workers.halt)
    if not isinstance(run.asked.problem, Dataset):
        return scores
    return with_constants(scores, run.asked.problem, slack, most, workers.check)


def _work(run: RankingRun, stage: str, most: int | None) -> Work:
    """What the steps of a stage share that finds so many networks."""
    found = 0

    def tell(more: int) -> None:
        nonlocal found
        found += more
        run.context.observer(StageAdvanced(stage, found, 0, "networks"))

    return Work(run.context, most, run.commits.standing.ledger, tell)


def tally_networks(run: RankingRun) -> None:
    """Let the standing have what all networks within the factor add up to, if they are not all listed. Raises Stopped.

    A column that never varies may be a parent of so many that nobody counts them; then the observer hears of it.
    """
    scope, standing = run.asked.scope, run.commits.standing
    found, slack = standing.found, scope.slack
    assert found is not None, "networks are listed"
    if slack is None or standing.tallied is not None or found.networks.costs.size != scope.most:
        return
    best = float(found.networks.costs[0])
    wide = slack + tolerance(best)
    try:
        scores = _scores_within(run, wide, None)
    except BudgetError as error:
        run.context.observer(Warned(f"The networks within the factor are not counted. {error}"))
        return
    detail = f"all networks that cost up to {slack:.3g} nats more than the best"
    with run.context.stages.stage(TALLYING, detail) as summary:
        whole = Component(tuple(range(scores.variables)), scores.parents, scores.costs, wide)
        limit = math.nextafter(best + wide, math.inf)
        tally = tally_below(whole, np.zeros(1), Below(limit, best, _work(run, TALLYING, None)))
        summary.append(in_full(tally.networks, "network"))
    arcs = arc_shares(scores.parents, tally.families)
    standing.tallied = Tallied(tally.networks, tally.weight, arcs)
    standing.ledger.keep(TALLIED, lambda: {"arcs": arcs}, whole=True)


def _families_in_all(run: RankingRun) -> int:
    """How many families there are, whatever they cost."""
    problem = run.asked.problem
    if isinstance(problem, LocalScores):
        return given_scores(problem, run.asked.claim).families
    constraints, found = constraints_of(run.asked.claim, problem.names), 0
    for child in range(problem.variables):
        others = int(constraints.candidates(child).size)
        most = int(constraints.limits[child]) - len(constraints.parents_required(child))
        found += sum(math.comb(others, size) for size in range(min(others, most) + 1))
    return found


def _counted(run: RankingRun, slack: float) -> Survivors:
    """The families that cost at most `slack` nats more than the best of their subsets, of the variables that vary; the
    standing gets them if they are complete."""
    problem, standing = run.asked.problem, run.commits.standing
    if isinstance(problem, LocalScores):
        standing.slack, standing.survivors = math.inf, all_given(problem, run.asked.claim)
        return standing.survivors
    standing.slack = slack
    wide = slack + 3.0 * tolerance(source_of(problem, run.asked.claim).without_arcs())
    found = counted_families(problem, run.asked.claim, run.context, run.commits, wide)
    return run.commits.keep(found) if found.stopped is None else found
