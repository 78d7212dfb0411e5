"""What the data say of all networks: the best one, and then sums over all of them."""

import contextlib
import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import INTERRUPTED, MEMORY_LIMIT, NOT_PROVED, OPTIMAL, tolerance
from extbnsl.core.codec import Misfit
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.events import Observer, StageAdvanced, Warned, ignore
from extbnsl.core.figures import format_cost, format_share, in_full
from extbnsl.data import Dataset
from extbnsl.files.manifest import POSTERIOR, malformed
from extbnsl.kbest.constants import with_constants
from extbnsl.machine.workers import Stopped, StopSignal, chunks, never
from extbnsl.parents.constraints import constraints_of
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.posteriors.features import Features, features_of, shares_of
from extbnsl.posteriors.lists import lost_by, possible_families, slack_for
from extbnsl.posteriors.scope import ORDER, UNIFORM
from extbnsl.posteriors.weighted import WeightedDraws
from extbnsl.results.networks import varsets_of
from extbnsl.results.posterior import Estimate, Exactness, Feature, Posterior, Samples, Sums
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.solver.engines import Engine, State, engine_for
from extbnsl.solver.families import all_given, counted_families, without_dominated
from extbnsl.solver.opening import Opened, Request, opened
from extbnsl.solver.outcome import concluded
from extbnsl.solver.posterior_so_far import PosteriorCommits
from extbnsl.solver.solving import solved

DRAWN_TOGETHER = 1000  # networks
MOST_IGNORED = 0.05  # share of the weight of all orders that draws may lack without a word
FAMILIES_SHARE = 1e-3  # of the width that is allowed, for families that are left out

_PRIORS = {UNIFORM: "all networks", ORDER: "all orders"}
PosteriorRun = Opened[PosteriorCommits]


def posterior_over_all(asked: Request, *, observer: Observer = ignore, stop: StopSignal = never) -> Result:
    """The network of least cost, as `solve` finds it, and what the data say of all networks, as `PosteriorScope` asks.

    The status is 'optimal' if that network is proved and the interval of every probability is as narrow as was asked
    for; 'not_proved' if it is wider; otherwise why it ended. In a run directory the state is committed as by `solve`.

    Raises as `solve` does, and InputError for features of variables that there are not.
    """
    scope, asked = asked.scope, replace(asked, kind=POSTERIOR)
    scope.check()
    features: Features = {} if scope.features is None else features_of(scope.features, asked.problem.names)
    with opened(asked, PosteriorCommits, asked.methods, observer=observer, stop=stop) as run:
        run.commits.commit()
        survivors = _families(run)
        solution, stopped = solved(without_dominated(survivors, run.context.workers), run.context, run.commits)
        found = None
        if stopped is None:
            found, stopped = _posterior(run, survivors, features)
        result = concluded(run, solution, stopped)
    if result.status == OPTIMAL:
        result = replace(result, status=stopped or (OPTIMAL if found is not None and found.reached else NOT_PROVED))
    return replace(result, posterior=None if found is None else found.with_best(result.network, result.cost))


def _families(run: PosteriorRun) -> Survivors:
    """The families that sums go over, of the variables that vary: those of the standing, or from the problem; the
    standing gets them if they are complete."""
    problem, claim, standing = run.asked.problem, run.asked.claim, run.commits.standing
    if standing.survivors is not None:
        return standing.survivors
    if isinstance(problem, LocalScores):
        return run.commits.keep(all_given(problem, claim))
    wide = _slack(run) + 3.0 * tolerance(source_of(problem, claim).without_arcs())
    found = counted_families(problem, claim, run.context, run.commits, wide)
    return run.commits.keep(found) if found.stopped is None else found


def _slack(run: PosteriorRun) -> float:
    """How much more than the best of its subsets a family that is summed may cost, in nats."""
    problem, scope = run.asked.problem, run.asked.scope
    if isinstance(problem, LocalScores):
        return math.inf
    return slack_for(possible_families(constraints_of(run.asked.claim, problem.names)), FAMILIES_SHARE * scope.within)


def _posterior(run: PosteriorRun, survivors: Survivors, features: Features) -> tuple[Posterior | None, str | None]:
    """What is known of all networks, and why there is more to do; None if nothing is known, or nothing to be done."""
    scope, context, standing, stopped = run.asked.scope, run.context, run.commits.standing, None
    standing.summing = True
    try:
        scores = _with_constants(run, survivors.scores)
        engine = engine_for(scores, scope, _means(run), context.methods.seed, standing.sums)
        stopped = _sum(run, engine)
    except Stopped as stop:
        return None, stop.reason
    except (BudgetError, MemoryError) as error:
        context.observer(Warned(str(error) or "There is no memory for sums over all networks; give it more."))
        return None, MEMORY_LIMIT
    except InputError as error:  # which sums can be had only the families tell
        context.observer(Warned(str(error)))
        return None, NOT_PROVED
    state, scores = standing.sums, engine.scores
    if state is None or not state.answers:
        return None, stopped
    lost = math.log1p(_lost(run)) + math.log1p(engine.lost) + math.log1p(state.ignored)
    exact = Exactness(math.expm1(lost), state.error)
    sums = Sums(scores.parents, scores.costs, state.families, state.log_weight)
    estimate = _estimate(state) if isinstance(state, WeightedDraws) else None
    if estimate is not None and estimate.ignored_orders > MOST_IGNORED:
        context.observer(Warned(_doubted(estimate)))
    found = Posterior(scores.names, scope.prior, state.engine, scope.within, exact, sums, estimate=estimate)
    if not scope.sample or stopped is not None:
        return found, stopped
    drawn, stopped = _drawn(run, engine, state)
    if isinstance(state, WeightedDraws):
        looked_at, weights = Samples(scores.parents, scores.costs, state.rows), state.shares
    else:
        looked_at, weights = drawn, np.ones(len(drawn))
    return replace(found, networks=drawn, features=_shares(features, scores.names, looked_at, weights)), stopped


def _estimate(state: WeightedDraws) -> Estimate:
    """How sure estimates from these draws are."""
    effective = 1.0 / float((state.shares**2).sum())
    log_error = math.sqrt(max(0.0, 1.0 / effective - 1.0 / state.logs.size))
    return Estimate(state.logs.size, effective, log_error, state.ignored_orders, state.squares)


def _doubted(estimate: Estimate) -> str:
    """What standard errors do not tell of draws that lack much."""
    text = f"Orders with up to {format_share(estimate.ignored_orders)} of the weight of all could not be drawn"
    return f"{text}: the estimates may be off by far more than their standard errors. Give more memory or disk."


def _sum(run: PosteriorRun, engine: Engine) -> str | None:
    """Let the standing have the last state of the engine; the reason if it had to stop before.

    Raises BudgetError, InputError, and RunDirectoryError if the sums that it is to go on from are of other families.
    """
    context, standing = run.context, run.commits.standing
    with context.stages.stage("sums", _PRIORS[run.asked.scope.prior]) as summary:
        try:
            for state in engine.states(standing.sums):
                standing.sums = state
                run.commits.commit_if_due()
        except Stopped as stop:
            return stop.reason
        except Misfit:
            folder = run.asked.place.run_folder
            assert folder is not None, "they were read"
            raise malformed(folder, "state.standing.stored") from None
        finally:
            if standing.sums is not None and standing.sums.answers:
                own, estimated = standing.sums.log_weight, standing.sums.ignored == math.inf
                summary.append(f"log weight {f'about {own:,.3f}' if estimated else format_cost(own, 6)}")
    return None


def _drawn(run: PosteriorRun, engine: Engine, state: State) -> tuple[Samples, str | None]:
    """The networks that are drawn, all or the first ones, and why not all are."""
    context, scores, asked, stopped = run.context, engine.scores, run.asked.scope.sample, None
    rows = [np.zeros((0, scores.variables), np.int32)]
    with context.stages.stage("samples", in_full(asked, "network")) as summary:
        with contextlib.suppress(Stopped):
            for lo, hi in chunks(asked, DRAWN_TOGETHER):
                rows.append(engine.draw(state, context.methods.seed, range(lo, hi)))
                context.observer(StageAdvanced("samples", hi, asked, "networks"))
        found = np.concatenate(rows)
        if found.shape[0] < asked:
            stopped = context.workers.stop() or INTERRUPTED
        summary.append(in_full(found.shape[0], "network"))
    return Samples(scores.parents, scores.costs, found), stopped


def _shares(
    features: Features, names: tuple[str, ...], networks: Samples, weights: NDArray[np.float64]
) -> tuple[Feature, ...]:
    """What share of networks that count so much has what was asked for."""
    if not features or not len(networks):
        return ()
    found = shares_of(features, names, lambda some: varsets_of(networks.parents, networks.rows[some]), weights)
    return tuple(Feature(name, *own) for name, own in found.items())


def _means(run: PosteriorRun) -> Means:
    return Means(run.context.workers, run.context.shelf, run.context.observer)


def _with_constants(run: PosteriorRun, scores: LocalScores) -> LocalScores:
    """The families of columns that never vary as well, which cost nothing but their penalty."""
    problem = run.asked.problem
    if not isinstance(problem, Dataset):
        return scores
    return with_constants(scores, problem, _slack(run), None, run.context.workers.check)


def _lost(run: PosteriorRun) -> float:
    """What is left out for its cost weighs at most so much of what is summed."""
    problem = run.asked.problem
    if isinstance(problem, LocalScores):
        return 0.0
    return lost_by(possible_families(constraints_of(run.asked.claim, problem.names)), _slack(run))
