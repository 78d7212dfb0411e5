"""The network that a published method finds, ours or somebody else's program, as a result like that of `solve`. What a
program finds is scored by us."""

import importlib
import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from extbnsl.core.claims import DISK_LIMIT, MEMORY_LIMIT, OPTIMAL, Claim, tolerance
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.events import Observer, Warned, ignore
from extbnsl.data import Data, Dataset
from extbnsl.lab.baselines.able import DIALOGUES, refusals
from extbnsl.lab.baselines.external.running import answer_of
from extbnsl.lab.baselines.external.task import Answer, Program, Task, cost_of, network_of_parents
from extbnsl.lab.baselines.methods import BASELINES, EXTERNAL, BaselineMethods
from extbnsl.lab.baselines.outcome import STAGE, Find, Outcome, network_of
from extbnsl.machine.workers import Stopped, StopSignal, never
from extbnsl.networks.network import Network
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.proof.methods import Methods
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.solver.families import find_survivors, given_scores
from extbnsl.solver.opening import Opened, Request, opened
from extbnsl.solver.outcome import FoundNetwork, claim_on, result_of


class Solved(NamedTuple):
    """What has come of a solve by a baseline: the network with its bounds, the status, the families that were counted,
    if they were, and what the result is to tell of it."""

    found: FoundNetwork
    status: str
    scores: LocalScores | None
    stats: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


def solve_by(asked: Request, *, observer: Observer = ignore, stop: StopSignal = never) -> Result:
    """The network of least cost, by one of `BaselineMethods`; without a certificate, and without checkpoints.

    The families are counted, and pruned, as `solve` does, but for programs that take the data. `stop` is polled; a
    reason other than None, or the end of a budget, leaves the best network so far with that status. Raises InputError
    for unusable arguments, and ProgramError if a program of somebody else fails.
    """
    problem, claim, methods = asked.problem, asked.claim, asked.methods
    for error in refusals(methods, asked.scope, claim, type(problem)):
        raise error
    _check_variables(problem, methods.method)
    proof = Methods(lower_bound=methods.lower_bound, seed=methods.seed)
    with opened(asked, Commits, proof, observer=observer, stop=stop, kept=False) as run:
        solved = _solved_by_program(run, methods) if methods.method in EXTERNAL else _solved(run, methods.method)
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
    found = network_of(scores, outcome.rows)
    proved = found.cost - tolerance(found.cost) if outcome.status == OPTIMAL else outcome.lower_bound
    return replace(found, lower_bound=max(proved, math.fsum(survivors.least.tolist())))


@dataclass(frozen=True)
class _Known:
    """What we know before a program begins: a network, the families that can win, if they were counted, what every
    network costs at least, and why we stopped by then, if we did."""

    network: Network
    scores: LocalScores | None
    lower_bound: float
    stopped: str | None = None
    varsets: int = 0


def _solved_by_program(run: Opened[Commits], methods: BaselineMethods) -> Solved:
    """What a program finds; InputError if it is not there, ProgramError if it fails."""
    problem, claim, context = run.asked.problem, run.asked.claim, run.context
    external, dialogue = EXTERNAL[methods.method], DIALOGUES[methods.method]
    program = dialogue.locate()
    known = _known_before(run, external.takes_scores)
    answer = Answer(known.stopped, None) if known.stopped is not None else None
    if answer is None:
        with (
            context.stages.stage(STAGE, f"by the program {program.name}") as summary,
            tempfile.TemporaryDirectory(prefix="program-", dir=context.store.folder) as folder,
        ):
            dataset = problem if isinstance(problem, Dataset) else None
            path = Path(folder).absolute()
            task = Task(dataset, known.scores, claim, methods.seed, context, run.deadline, path)
            answer = answer_of(program, dialogue, task)
            summary.append(answer.status.replace("_", " "))
    return _scored(problem, claim, program, known, answer, context)


def _known_before(run: Opened[Commits], families: bool) -> _Known:
    """What there is to know before the program begins; `families` says that those that can win are needed."""
    problem, claim, context = run.asked.problem, run.asked.claim, run.context
    if not families:
        assert isinstance(problem, Dataset), "programs that take no scores take data"
        if not problem.alike:
            raise InputError(
                f"method: the program {run.asked.methods.method!r} costs all families over all records; take another "
                "method for targets, and for missing values by averages."
            )
        empty = Network(problem.names, ((),) * problem.variables)
        bound = math.fsum(source_of(problem, claim).least_costs(context.workers))
        return _Known(empty, None, bound, context.workers.stop())
    survivors = find_survivors(problem, claim, context, run.commits)
    network, least = network_of(survivors.scores).network, survivors.least
    return _Known(network, survivors.scores, math.fsum(least.tolist()), survivors.stopped, survivors.varsets)


def _scored(
    problem: Data | LocalScores, claim: Claim, program: Program, known: _Known, answer: Answer, context: Context
) -> Solved:
    """The network with its cost and its bound, and what the statistics are to have."""
    network, warnings = known.network, tuple[str, ...]()
    if answer.parents is None:
        warnings = (f"{program.name} had no network when it was stopped: this one is extbnsl's own, and a poor one.",)
        context.observer(Warned(warnings[0]))
    else:
        network = network_of_parents(program, problem.names, answer.parents, claim.max_parents)
    listed = problem if isinstance(problem, Data) else given_scores(problem, claim)
    cost = cost_of(program, network, listed, claim)
    proved = cost - tolerance(cost) if answer.status == OPTIMAL else -math.inf
    found = FoundNetwork(network, network.order(), cost, max(proved, known.lower_bound))
    told = {"version": program.version} | dict(answer.told)
    stats: dict[str, Any] = {"program": {"name": program.name, "command": list(program.command), **told}}
    if known.scores is not None:
        stats |= {"varsets_counted": known.varsets, "parent_sets": known.scores.families}
    return Solved(found, answer.status, known.scores, stats, warnings)
