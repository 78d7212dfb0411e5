"""The network that a published method finds, as a result like that of `solve`."""

import importlib
import math
from dataclasses import replace

from extbnsl.core.claims import DISK_LIMIT, MEMORY_LIMIT, OPTIMAL, Claim, tolerance
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.events import Observer, ignore
from extbnsl.data import Data
from extbnsl.lab.baselines.external.solving import solved_by_program
from extbnsl.lab.baselines.methods import BASELINES, EXTERNAL, BaselineMethods
from extbnsl.lab.baselines.outcome import STAGE, Find, Outcome, Solved, any_network, network_of
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped, StopSignal, never
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.proof.methods import Methods
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.solver.families import find_survivors
from extbnsl.solver.opening import Opened, Request, opened
from extbnsl.solver.outcome import FoundNetwork, claim_on, result_of
from extbnsl.solver.place import Place


def solve_by(
    problem: Data | LocalScores,
    claim: Claim,
    methods: BaselineMethods,
    budgets: Budgets = Budgets(),
    place: Place = Place(),
    *,
    observer: Observer = ignore,
    stop: StopSignal = never,
) -> Result:
    """The network of least cost, by a published method; without a certificate, and without checkpoints.

    The families are counted, and pruned, as `solve` does, but for programs that take the data. `stop` is polled; a
    reason other than None, or the end of a budget, leaves the best network so far with that status. Raises InputError
    for unusable arguments, and ProgramError if a program of somebody else fails.
    """
    _check_variables(problem, methods.method)
    proof = Methods(lower_bound=methods.lower_bound, seed=methods.seed)
    asked = Request(problem, claim, methods, budgets, place)
    with opened(asked, Commits, proof, observer=observer, stop=stop, kept=False) as run:
        solved = solved_by_program(run, methods) if methods.method in EXTERNAL else _solved(run, methods.method)
        result = result_of(problem, solved.found, claim_on(problem, claim), run.context.stages)
        stats = {"method": methods.method, **solved.stats, **run.commits.taken()}
        return replace(
            result,
            status=solved.status,
            seed=methods.seed,
            local_scores=solved.scores,
            stats={**result.stats, **stats},
            warnings=(*result.warnings, *solved.warnings),
            options=asked.options(run.granted),
        )


def _check_variables(problem: Data | LocalScores, method: str) -> None:
    most = (EXTERNAL if method in EXTERNAL else BASELINES)[method].most
    if most is not None and problem.variables > most:
        raise InputError(
            f"method: {method!r} is for {most} variables at most, and there are {problem.variables}; take another."
        )


def _solved(run: Opened[Commits], method: str) -> Solved:
    """What a method of ours finds."""
    context = run.context
    survivors = find_survivors(run.asked.problem, run.asked.claim, context, run.commits)
    outcome = _outcome(survivors, method, context)
    stats = {"varsets_counted": survivors.varsets, "parent_sets": survivors.scores.families}
    return Solved(
        _found(survivors, outcome), outcome.status, survivors.scores, {**stats, "counts": dict(outcome.counts)}
    )


def _outcome(survivors: Survivors, method: str, context: Context) -> Outcome:
    """What the method finds of the families; nothing if not all of them are known."""
    if survivors.stopped is not None:
        return Outcome(survivors.stopped, None)
    find: Find = importlib.import_module(BASELINES[method].module).find
    with context.stages.stage(STAGE, f"by the method {method}") as summary:
        try:
            outcome = find(survivors.scores, context)
        except Stopped as stopped:
            outcome = Outcome(stopped.reason, None)
        except MemoryError:
            outcome = Outcome(MEMORY_LIMIT, None)
        except BudgetError:
            outcome = Outcome(DISK_LIMIT, None)
        summary.append(", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in outcome.counts.items()))
    return outcome


def _found(survivors: Survivors, outcome: Outcome) -> FoundNetwork:
    """The network of the outcome, or one that is acyclic, with its bounds: no method proves less than the families do
    one by one."""
    scores = survivors.scores
    found = network_of(scores, any_network(scores) if outcome.rows is None else outcome.rows.tolist())
    proved = found.cost - tolerance(found.cost) if outcome.status == OPTIMAL else outcome.lower_bound
    return replace(found, lower_bound=max(proved, math.fsum(survivors.least.tolist())))
