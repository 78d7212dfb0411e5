"""How sure the arcs are: the data are solved, and then resamples of them (Friedman, Goldszmidt and Wyner 1999, *Data
analysis with Bayesian networks: a bootstrap approach*, UAI)."""

from dataclasses import replace
from functools import partial
from typing import Any, cast

from extbnsl.claims import DISK_LIMIT, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, TIME_LIMIT, Claim
from extbnsl.data import Data, Numbers
from extbnsl.data.resampling import Resampling, resampling_of
from extbnsl.errors import BudgetError, InputError
from extbnsl.events import Observer, StageAdvanced, Warned, ignore
from extbnsl.figures import in_full
from extbnsl.files.shelf import Shelf
from extbnsl.machine.budgets import MINIMUM_MEMORY, Budgets, format_size
from extbnsl.machine.workers import Stopped, StopSignal, never
from extbnsl.parents.exhaustive.measured import standardised
from extbnsl.proof.commits import Commits, commit_if_due, commit_or_stop
from extbnsl.proof.context import Context
from extbnsl.proof.methods import Methods
from extbnsl.proof.stages import Stages
from extbnsl.proof.standing import Standing
from extbnsl.results.bootstrap import Bootstrap, Resample, required_arcs
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.solver.outcome import network_of, result_of, stats_of, verified
from extbnsl.solver.place import Place
from extbnsl.solver.resamples import Resamples
from extbnsl.solver.solve import opened, solved
from extbnsl.solver.states import BOOTSTRAP
from extbnsl.solver.taken import Taken, taken_at

RESAMPLE_WORDS = "resample", "resamples"


def bootstrap_network(
    problem: Data | LocalScores,
    scope: Resamples,
    claim: Claim = Claim(),
    methods: Methods = Methods(),
    budgets: Budgets = Budgets(),
    place: Place = Place(),
    *,
    observer: Observer = ignore,
    stop: StopSignal = never,
) -> Result:
    """The network of least cost, as `solve` finds it, and what the networks of resamples say of its arcs.

    Each resample is solved by the same claim and within the same budgets, one after the other, with all threads; it is
    a function of the records, the seed and its number. The status is 'optimal' if the network of the data is proved
    and all resamples are done, whether these are proved or not; otherwise why it ended. Resamples are begun once the
    data are proved. In a run directory each is kept as soon as it is done, and a resume goes on behind the last one.

    Raises as `solve` does, and InputError for local scores, which have no records, and, before anything is solved, for
    a resample of numbers that no Gaussian fits: a column may vary in the data and not there.
    """
    scope.check()
    dataset = records_of(problem, methods)
    asked = {"kind": BOOTSTRAP, "scope": scope.document()}
    with (
        opened(dataset, claim, methods, budgets, place, asked, observer=observer, stop=stop) as (
            context,
            commits,
            granted,
        ),
        taken_at(place, dataset.names, scope.bootstrap) as taken,
    ):
        if isinstance(dataset, Numbers):
            _check_all(dataset, scope, context, len(taken.done))
        solution, stopped = solved(dataset, claim, context, commits)
        if stopped is None:
            stopped = _take_all(dataset, scope, claim, context, commits, taken)
        status = stopped or OPTIMAL
        options = scope.document() | claim.document() | methods.document() | granted.document()
        if stopped is not None:
            commits.last_commit(status)  # what it takes on disk is part of the result
        result = result_of(dataset, solution, options, context, partial(stats_of, solution, commits))
        if stopped is None:
            commits.finish(status)  # not before the network is verified
    required = required_arcs(claim.knowledge.required, dataset.names)
    return replace(
        result, status=status, bootstrap=Bootstrap(dataset.names, scope.bootstrap, tuple(taken.done), required)
    )


def records_of(problem: Data | LocalScores, methods: Any) -> Data:
    """The problem, of which resamples can be drawn; InputError for local scores, and for a published method."""
    if not isinstance(problem, Data):
        raise InputError("bootstrap: local scores have no records to draw from; give the data that they are from.")
    if not isinstance(methods, Methods):
        raise InputError("bootstrap: the published methods solve no resamples; leave --method or --bootstrap out.")
    return problem


def _check_all(numbers: Numbers, scope: Resamples, context: Context, done: int) -> None:
    """Raise InputError if no Gaussian fits one of the resamples after the first `done`; O(N n^2) each. Ends early when
    it is time to stop."""
    resampling = resampling_of(numbers)
    for number in range(done + 1, scope.bootstrap + 1):
        if context.workers.stop() is not None:
            return
        try:
            standardised(cast(Numbers, resampling.drawn(context.methods.seed, number)))
        except InputError as error:
            raise InputError(f"bootstrap: resample {number} cannot be solved, though the data can. {error}") from error


def _take_all(
    dataset: Data, scope: Resamples, claim: Claim, context: Context, commits: Commits, taken: Taken
) -> str | None:
    """Solve the resamples that are not done yet; the reason if it had to stop before the last one.

    Where memory or disk do not do for one at all, the others wait for more as well: the network of the data is there.
    """
    asked, before = scope.bootstrap, len(taken.done)
    if before == asked:
        return None
    detail = in_full(asked, *RESAMPLE_WORDS) + (f", {before:,} of them done before" if before else "")
    commits.standing.resampling = True
    with context.stages.stage("bootstrap", detail) as summary:
        try:
            if commits.possible:
                commit_or_stop(commits)  # whoever goes on has nothing left to prove
            resampling = resampling_of(dataset)
            memory = _memory_left(resampling, context)
            while len(taken.done) < asked:
                context.observer(StageAdvanced("bootstrap", len(taken.done), asked, RESAMPLE_WORDS[1]))
                context.workers.check()
                commit_if_due(commits)
                taken.add(_solved(resampling, len(taken.done) + 1, claim, context, memory))
        except Stopped as stop:
            return stop.reason
        except (BudgetError, MemoryError) as error:
            short = isinstance(error, MemoryError)
            context.observer(Warned("There is no memory for a resample; give it more." if short else str(error)))
            return MEMORY_LIMIT if short else DISK_LIMIT
        finally:
            unproved = sum(one.status != OPTIMAL for one in taken.done)
            summary.append(f"{len(taken.done):,} of {in_full(asked, *RESAMPLE_WORDS)} done, {unproved:,} not proved")
    return None


def _memory_left(resampling: Resampling, context: Context) -> int:
    """Bytes that a resample may be solved in: a copy of the data goes off; Stopped if too few are left."""
    left = context.memory_left - resampling.size
    if left < MINIMUM_MEMORY:
        needed = format_size(context.memory - left + MINIMUM_MEMORY)
        context.observer(Warned(f"A resample is a copy of the data and needs {needed} of memory in all; give as much."))
        raise Stopped(MEMORY_LIMIT)
    return left


def _solved(resampling: Resampling, number: int, claim: Claim, context: Context, memory: int) -> Resample:
    """A resample, solved as the data were, but for commits and words; Stopped, with nothing of it left, when the time
    is over or a signal came."""
    store = context.store
    before = store.files
    quiet = replace(context, stages=Stages(ignore, {}), memory=memory, shelf=Shelf(memory // 2, store))
    data = resampling.drawn(context.methods.seed, number)
    try:
        solution, stopped = solved(data, claim, quiet, Commits(Standing(), store, stop=context.workers.stop))
    finally:
        store.keep_only(before)
    if stopped in (TIME_LIMIT, INTERRUPTED):
        raise Stopped(stopped)
    network, _, cost = network_of(solution)
    cost = verified(network, cost, data, solution.survivors.scores.claim)
    return Resample(number, solution.status, cost, min(cost, solution.lower_bound), network)
