"""GOBNILP (Cussens and Bartlett): integer linear programming by SCIP, with our local scores as its input.

Its adjacency matrix is read: row p, column c is 1 if p is a parent of c. The manual of GOBNILP 1.6 has the options.
"""

import re
import signal

from extbnsl.core.claims import HEURISTIC, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, TIME_LIMIT
from extbnsl.core.errors import ProgramError
from extbnsl.lab.baselines.external.checking import check_told
from extbnsl.lab.baselines.external.running import on_path, output, run, unreadable, used
from extbnsl.lab.baselines.external.score_files import scores_for
from extbnsl.lab.baselines.external.task import Answer, Parents, Program, Task
from extbnsl.machine.process import Ended

SCORES, SETTINGS, MATRIX = "scores.jkl", "settings.txt", "matrix.txt"
MARGIN = 1.0  # second before the end of the run at which GOBNILP is to end by itself, with what it has
LEAST_SECONDS = 0.1
PRINTED = 1e-5  # nats: its score has six decimals
STATUSES = {
    "optimal solution found": OPTIMAL,
    "time limit reached": TIME_LIMIT,
    "memory limit reached": MEMORY_LIMIT,
    "user interrupt": INTERRUPTED,
}  # others, such as a limit of the gap, are ends without a proof


def locate() -> Program:
    """The command gobnilp; InputError if it is not there."""
    return on_path("gobnilp", "gobnilp", "install GOBNILP from https://bitbucket.org/jamescussens/gobnilp")


def solve(program: Program, task: Task) -> Answer:
    """What GOBNILP finds of the local scores."""
    scores = scores_for(task, SCORES)
    (task.folder / SETTINGS).write_text(_settings(task))
    ended = run(program, task, [f"-g={SETTINGS}", "-f=jkl", SCORES], signal.SIGINT)
    told = used(ended) | {"version": _version(ended.said)}
    text = output(program, task, MATRIX, ended)
    if text is None:
        return Answer(str(ended.reason), None, told)
    try:
        parents = _parents(program, text, scores.variables)
    except ProgramError:
        if ended.reason is None:
            raise
        return Answer(ended.reason, None, told)  # it was cut short
    score = re.search(r"^BN score is (-?\d+\.\d+)$", ended.said, re.MULTILINE)
    if score is not None:
        check_told(program, parents, scores, -float(score[1]), PRINTED + 1e-9 * abs(float(score[1])))
    status = _status(ended)
    if status == OPTIMAL and (score is None or not _read_all(ended.said, scores.families)):
        status = HEURISTIC
    return Answer(status, parents, told | {"says": _scip_status(ended.said)})


def _settings(task: Task) -> str:
    """The settings file: limits, in seconds and megabytes, and where the matrix goes."""
    lines = [f'gobnilp/outputfile/adjacencymatrix = "{MATRIX}"', f"limits/memory = {task.context.memory_left >> 20}"]
    left = task.deadline.remaining()
    if left < 1e15:
        lines.append(f"limits/time = {max(LEAST_SECONDS, left - MARGIN):.3f}")
    return "\n".join([*lines, ""])


def _status(ended: Ended) -> str:
    """What GOBNILP's words stand for; what it says last counts, since it may solve in rounds."""
    return ended.reason or STATUSES.get(_scip_status(ended.said) or "", HEURISTIC)


def _scip_status(said: str) -> str | None:
    found = re.findall(r"^SCIP Status +: .*\[([a-z ]+)\]", said, re.MULTILINE)
    return found[-1] if found else None


def _read_all(said: str, families: int) -> bool:
    """Whether GOBNILP has as many parent sets as it was given: it has a limit of parents of its own, for data."""
    found = re.search(r"^Number of candidate parent sets: +(\d+)$", said, re.MULTILINE)
    return found is None or int(found[1]) == families


def _version(said: str) -> str | None:
    found = re.findall(r"^(GOBNILP|SCIP) version (\S+)", said, re.MULTILINE)
    return ", ".join(f"{name} {version}" for name, version in found) or None


def _parents(program: Program, text: str, variables: int) -> Parents:
    """The parents of each variable, from the adjacency matrix; ProgramError if it is none of so many variables."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    for row in rows:
        if len(row) != variables or not set(row) <= {"0", "1"}:
            raise unreadable(program, " ".join(row))
    if len(rows) != variables:
        raise ProgramError(f"{program.name} has written a matrix of {len(rows)} rows for {variables} variables.")
    return [[p for p in range(variables) if rows[p][child] == "1"] for child in range(variables)]
