"""The one composition of everything: from a data set or local scores to a network with its proof, or to the surviving
local scores alone.
"""

from extbnsl.core.events import Observer, ignore
from extbnsl.data import Data
from extbnsl.machine.workers import Stopped, StopSignal, never
from extbnsl.proof.commits import Commits
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.solver.families import find_survivors
from extbnsl.solver.opening import Request, opened
from extbnsl.solver.outcome import concluded
from extbnsl.solver.solving import solved


def solve(asked: Request, *, observer: Observer = ignore, stop: StopSignal = never) -> Result:
    """The network of least cost, with the proof or the bounds that were reached, by `Methods`.

    `stop` is polled; a reason other than None ends the solve with that
    status. In a run directory the state is committed at the beginning, about once a minute and at the end; a state that
    is resumed must be of the same problem, claim and methods. What is spent of the time limit already is not granted
    again; it does not count the time in which kernels are compiled.

    Raises InputError for unusable arguments, BudgetError if the disk is full before there is a network,
    RunDirectoryError if the state does not belong to the problem or is damaged.
    """
    if isinstance(asked.problem, Data) and asked.problem.latent:
        from extbnsl.solver.em import solve_by_em

        return solve_by_em(asked, observer=observer, stop=stop)
    with opened(asked, Commits, asked.methods, observer=observer, stop=stop) as run:
        run.commits.commit()
        survivors = find_survivors(asked.problem, asked.claim, run.context, run.commits, one=True)
        solution, stopped = solved(survivors, run.context, run.commits)
        return concluded(run, solution, stopped)


def compute_scores(asked: Request, *, observer: Observer = ignore, stop: StopSignal = never) -> LocalScores:
    """The surviving local scores of data: every family that can be in an optimal network.

    What exceeds the memory goes to files below the scratch folder, or else where temporary files go. Raises Stopped if
    `stop` or the time limit says so or the memory does not do, InputError for unusable arguments.
    """
    with opened(asked, Commits, observer=observer, stop=stop) as run:
        survivors = find_survivors(asked.problem, asked.claim, run.context, run.commits)
    if survivors.stopped is not None:
        raise Stopped(survivors.stopped)
    return survivors.scores
