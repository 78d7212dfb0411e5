"""What all networks weigh together, of which the list is a part: to a last digit of few variables, else bounds."""

import contextlib
import math

import numpy as np

from extbnsl.core.claims import Claim
from extbnsl.core.errors import BudgetError
from extbnsl.core.figures import format_cost
from extbnsl.data import Data, Dataset
from extbnsl.kbest.constants import with_constants
from extbnsl.machine.workers import Stopped
from extbnsl.parents.constraints import constraints_of
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.parents.pruning import prune
from extbnsl.posteriors.between import LogWeight, not_backwards, weigh
from extbnsl.posteriors.choice import log_of_sum
from extbnsl.posteriors.lists import log_growth, possible_families, slack_for
from extbnsl.results.networks import network_of
from extbnsl.scores.local import LocalScores
from extbnsl.solver.families import given_scores
from extbnsl.solver.listing import COUNTED, RankingRun
from extbnsl.solver.ranking import FoundNetworks

WEIGHING = "weight"  # a stage
LEFT_OUT = 1e-9  # of the weight of all networks may be of families that are not looked at, relative
ALL_LOOKED_AT = 18  # variables of which all families are, if need be
MOST_FAMILIES = 1 << 18  # about so many, of more variables


def weigh_all(run: RankingRun) -> None:
    """Let the standing have between which values the weight of all networks there are lies, if time and memory do for
    it."""
    standing, context = run.commits.standing, run.context
    assert standing.found is not None, "networks are listed"
    with context.stages.stage(WEIGHING, "all networks there are") as summary:
        with contextlib.suppress(Stopped, BudgetError, MemoryError):
            means = Means(context.workers, context.shelf, context.observer)
            scores, log_more = _families_that_weigh(run, means)
            best = network_of(scores.names, standing.found.parents, standing.found.networks.rows[0])
            found = weigh(scores, best.order(), means)
            if found is not None:
                standing.log_weight = _with_listed(found, standing.found, log_more)
        summary.append(_told(standing.log_weight))


def _told(found: LogWeight | None) -> str:
    """What is known of the weight, for people."""
    if found is None:
        return "not known"
    low, high = (format_cost(end, 6) for end in (found.at_least, found.at_most))
    return f"log weight between {low} and {high}" if found.groups else f"log weight {high}"


def _with_listed(found: LogWeight, listed: FoundNetworks, log_more: float) -> LogWeight:
    """The bounds, the lower one with the weight of listed networks that it has not; log_more: the logarithm of the
    factor by which all networks weigh more, at most, than those of the families that were looked at."""
    within = not_backwards(found.groups, listed.parents)
    backwards = ~np.all([own[listed.networks.rows[:, x]] for x, own in enumerate(within)], axis=0)
    others = log_of_sum(-listed.networks.costs[backwards])
    return LogWeight(float(np.logaddexp(found.at_least, others)), found.at_most + log_more, found.groups)


def _families_that_weigh(run: RankingRun, means: Means) -> tuple[LocalScores, float]:
    """The families that make up the weight of all networks, and the logarithm of the factor by which it is more at
    most: all but LEFT_OUT of it, or as much as about MOST_FAMILIES bring. Raises Stopped.

    How many more there are with more slack is guessed: their number grows about exponentially.
    """
    problem, claim, standing = run.asked.problem, run.asked.claim, run.commits.standing
    if isinstance(problem, LocalScores):
        return given_scores(problem, claim), 0.0
    assert standing.survivors is not None, "there are families"
    possible = possible_families(constraints_of(claim, problem.names))
    wanted, slack, scores = slack_for(possible, LEFT_OUT), standing.slack, standing.survivors.scores
    if len(possible) > ALL_LOOKED_AT:
        if slack < min(COUNTED, wanted):
            slack = min(COUNTED, wanted)
            scores = _within(problem, claim, slack, means)
        wanted = min(wanted, _reach(scores, slack, means))
    if slack < wanted:
        slack, scores = wanted, _within(problem, claim, wanted, means)
    if isinstance(problem, Dataset):
        scores = with_constants(scores, problem, slack, None, means.workers.check)
    return scores, log_growth(possible, slack)


def _within(problem: Data, claim: Claim, slack: float, means: Means) -> LocalScores:
    """The families within a slack, in nats, of their best subsets, of the variables that vary. Raises Stopped."""
    found = surviving_families(problem, claim, means, slack=slack)
    if found.stopped:
        raise Stopped(found.stopped)
    return found.scores


def _reach(scores: LocalScores, slack: float, means: Means) -> float:
    """The slack, in nats, with which there are about MOST_FAMILIES, if these are those within another one."""
    if scores.families >= MOST_FAMILIES or slack <= 0.0:
        return slack
    half = means.workers.run(prune, scores, 0.5 * slack, means.workers.halt).families
    growth = math.log(scores.families / half) / (0.5 * slack)
    return slack + math.log(MOST_FAMILIES / scores.families) / growth if growth > 0.0 else math.inf
