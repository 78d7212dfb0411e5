"""The network of somebody else's program, scored by us, for `solve`."""

import importlib
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extbnsl.core.claims import OPTIMAL, Claim, tolerance
from extbnsl.core.errors import InputError
from extbnsl.core.events import Warned
from extbnsl.data import Data, Dataset, Numbers
from extbnsl.lab.baselines.external.checking import cost_of, network_of_parents
from extbnsl.lab.baselines.external.task import Answer, Locate, Program, Solve, Task
from extbnsl.lab.baselines.methods import EXTERNAL, BaselineMethods
from extbnsl.lab.baselines.outcome import STAGE, Solved, any_network, network_of
from extbnsl.networks.network import Network
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.scores.local import LocalScores
from extbnsl.solver.families import find_survivors, given_scores
from extbnsl.solver.opening import Opened
from extbnsl.solver.outcome import FoundNetwork, bounds_of_children


@dataclass(frozen=True)
class _Known:
    """What we know before a program begins: a network, the families that can win, if they were counted, what every
    network costs at least, and why we stopped by then, if we did."""

    network: Network
    scores: LocalScores | None
    lower_bound: float
    stopped: str | None = None
    varsets: int = 0


def solved_by_program(run: Opened[Commits], methods: BaselineMethods) -> Solved:
    """What a program finds; InputError if it is not there or has no use for the problem, ProgramError if it fails."""
    problem, claim, context = run.asked.problem, run.asked.claim, run.context
    external = EXTERNAL[methods.method]
    module = importlib.import_module(external.module)
    locate: Locate = module.locate
    solve: Solve = module.solve
    program = locate()
    if not external.takes_scores and isinstance(problem, Numbers):
        raise InputError(f"method: {methods.method!r} learns from states, and numbers are given; take another.")
    if not external.takes_scores and isinstance(problem, LocalScores):
        raise InputError(f"method: {methods.method!r} learns from data, and local scores are given; take another.")
    known = _known(run, external.takes_scores)
    answer = Answer(known.stopped, None) if known.stopped is not None else None
    if answer is None:
        with (
            context.stages.stage(STAGE, f"by the program {program.name}") as summary,
            tempfile.TemporaryDirectory(prefix="program-", dir=context.store.folder) as folder,
        ):
            dataset = problem if isinstance(problem, Dataset) else None
            path = Path(folder).absolute()
            answer = solve(program, Task(dataset, known.scores, claim, methods.seed, context, run.deadline, path))
            summary.append(answer.status.replace("_", " "))
    return _solved(problem, claim, program, known, answer, context)


def _known(run: Opened[Commits], families: bool) -> _Known:
    """What there is to know before the program begins; `families` says that those that can win are needed."""
    problem, claim, context = run.asked.problem, run.asked.claim, run.context
    if not families:
        assert isinstance(problem, Dataset), "programs that take no scores take data"
        empty = Network(problem.names, ((),) * problem.variables)
        bound = math.fsum(bounds_of_children(problem, claim, context.workers))
        return _Known(empty, None, bound, context.workers.stop())
    survivors = find_survivors(problem, claim, context, run.commits)
    network, least = network_of(survivors.scores, any_network(survivors.scores)).network, survivors.least
    return _Known(network, survivors.scores, math.fsum(least.tolist()), survivors.stopped, survivors.varsets)


def _solved(
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
