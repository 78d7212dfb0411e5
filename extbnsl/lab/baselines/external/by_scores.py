"""Programs that take our local scores, with the numbers of the variables for names.

- *GOBNILP* (Cussens and Bartlett): integer linear programming by SCIP. Its adjacency matrix is read: row p, column c is
  1 if p is a parent of c. The manual of GOBNILP 1.6 has the options.
- *URLearning* (Malone and Yuan): A* over the order graph with pattern databases, the program `astar` of
  https://github.com/bmmalone/urlearning-cpp, which writes networks in Hugin's format. It computes in single precision:
  its optimum is one within some 1e-7 of the cost for each variable, which proves nothing of ours.
- *BLIP* (Scanagatta and others): WINASOBS, a search over orders with windows.
  https://github.com/mauro-idsia/blip, a Java program: the jar file in BLIP_JAR, or a command `blip`. It uses all of its
  time limit, and proves nothing. Results have a line `child: score  (parents)` for each variable.
"""

import os
import re
import signal
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from extbnsl.core.claims import HEURISTIC, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, TIME_LIMIT
from extbnsl.core.errors import InputError, ProgramError
from extbnsl.formats.score_writer import write_scores
from extbnsl.lab.baselines.external.running import all_of, on_path, said, unreadable, write_rows
from extbnsl.lab.baselines.external.task import Call, Dialogue, Parents, Program, Task, check_told
from extbnsl.lab.process import Ended

JKL, PSS, MATRIX, HUGIN, ROWS, RESULT = (
    "scores.jkl",
    "scores.pss",
    "matrix.txt",
    "network.net",
    "data.dat",
    "network.res",
)
ENDLESS = 1e15  # seconds left: there is no time limit
SETTINGS = "settings.txt"  # of GOBNILP
GOBNILP_MARGIN, LEAST_SECONDS = 1.0, 0.1  # seconds before the end of the run at which it is to end with what it has
PRINTED = 1e-5  # nats: its score has six decimals
STATUSES = {
    "optimal solution found": OPTIMAL,
    "time limit reached": TIME_LIMIT,
    "memory limit reached": MEMORY_LIMIT,
    "user interrupt": INTERRUPTED,
}  # others, such as a limit of the gap, are ends without a proof
SINGLE_PRECISION = 1e-4  # of the cost, and nats, that sums of single precision may be off
SOLUTION = re.compile(r"^Found solution: (\d+\.\d+|-\d+\.\d+)$", re.MULTILINE)  # of URLearning
JAR = "BLIP_JAR"  # of the environment
DEFAULT_SECONDS = 10  # BLIP's own
BLIP_MARGIN = 2.0  # seconds before the end of the run at which it is to end by itself
JAVA_SHARE = 0.8  # of the memory for what Java calls its heap


def _write_scores(task: Task, name: str) -> None:
    """Write the local scores of a task to the file of this name in its folder, in the format of the name."""
    names = tuple(map(str, range(task.variables)))
    write_scores(replace(task.given_scores, names=names), task.folder / name)


def _call_gobnilp(program: Program, task: Task) -> Call:
    """Write the scores and the settings file: limits, in seconds and megabytes, and where the matrix goes."""
    _write_scores(task, JKL)
    lines = [f'gobnilp/outputfile/adjacencymatrix = "{MATRIX}"', f"limits/memory = {task.context.memory_left >> 20}"]
    left = task.deadline.remaining()
    if left < ENDLESS:
        lines.append(f"limits/time = {max(LEAST_SECONDS, left - GOBNILP_MARGIN):.3f}")
    (task.folder / SETTINGS).write_text("\n".join([*lines, ""]))
    return Call(program.command, [f"-g={SETTINGS}", "-f=jkl", JKL], {})


def _versions(program: Program, ended: Ended) -> Mapping[str, Any]:
    found = re.findall(r"^(GOBNILP|SCIP) version (\S+)", ended.said, re.MULTILINE)
    return {"version": ", ".join(f"{name} {version}" for name, version in found) or None}


def _in_matrix(program: Program, text: str, variables: int) -> Parents:
    """The parents of each variable, from the adjacency matrix; ProgramError if it is none of so many variables."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    for row in rows:
        if len(row) != variables or not set(row) <= {"0", "1"}:
            raise unreadable(program, " ".join(row))
    if len(rows) != variables:
        raise ProgramError(f"{program.name} has written a matrix of {len(rows)} rows for {variables} variables.")
    return [[p for p in range(variables) if rows[p][child] == "1"] for child in range(variables)]


def _judge_gobnilp(program: Program, task: Task, parents: Parents, ended: Ended) -> tuple[str, Mapping[str, Any]]:
    """What GOBNILP's words stand for: what it says last counts, since it may solve in rounds. It is optimal if it has
    as many parent sets as it was given: it has a limit of parents of its own, for data."""
    scores, text = task.given_scores, ended.said
    score = re.search(r"^BN score is (-?\d+\.\d+)$", text, re.MULTILINE)
    if score is not None:
        check_told(program, parents, scores, -float(score[1]), PRINTED + 1e-9 * abs(float(score[1])))
    words = re.findall(r"^SCIP Status +: .*\[([a-z ]+)\]", text, re.MULTILINE)
    says = words[-1] if words else None
    status = ended.reason or STATUSES.get(says or "", HEURISTIC)
    read = re.search(r"^Number of candidate parent sets: +(\d+)$", text, re.MULTILINE)
    read_all = read is None or int(read[1]) == scores.families
    if status == OPTIMAL and (score is None or not read_all):
        status = HEURISTIC
    return status, {"says": says}


def _call_urlearning(program: Program, task: Task) -> Call:
    _write_scores(task, PSS)
    return Call(program.command, [PSS, "-n", HUGIN], {})


def _hear_urlearning(program: Program, ended: Ended) -> Mapping[str, Any]:
    """Nothing; ProgramError if it has found no network."""
    if SOLUTION.search(ended.said) is None:
        raise ProgramError(f"{program.name} has found no network{said(ended)}.")
    return {}


def _in_hugin(program: Program, text: str, variables: int) -> Parents:
    """The parents of each variable, from the lines `potential ( X | Y Z ) {`; ProgramError for anything else."""
    found: dict[int, list[int]] = {}
    for line in (line for line in text.splitlines() if line.startswith("potential")):
        match = re.fullmatch(r"potential \( (\d+) (?:\| ((?:\d+ )*) ?)?\) \{", line)
        if match is None or int(match[1]) in found:
            raise unreadable(program, line)
        found[int(match[1])] = [int(name) for name in (match[2] or "").split()]
    return all_of(program, found, variables)


def _judge_urlearning(program: Program, task: Task, parents: Parents, ended: Ended) -> tuple[str, Mapping[str, Any]]:
    solution = SOLUTION.search(ended.said)
    assert solution is not None, "it was heard"
    told = float(solution[1])
    check_told(program, parents, task.given_scores, told, SINGLE_PRECISION * (1.0 + abs(told)))
    return HEURISTIC, {"says": "optimal, in single precision"}


def _locate_blip() -> Program:
    """Java with the jar file of BLIP_JAR, or the command blip; InputError if neither is there."""
    jar = os.environ.get(JAR)
    if not jar:
        return on_path("blip", "blip", f"build https://github.com/mauro-idsia/blip, or let {JAR} be its jar file")
    if not os.path.isfile(jar):
        raise InputError(f"{JAR}: {jar} is not there; give the jar file of BLIP.")
    java = on_path("blip", "java", "install a Java runtime")
    return java._replace(command=(*java.command, "-jar", os.path.abspath(jar)))


def _call_blip(program: Program, task: Task) -> Call:
    """Write the scores; with data the orders of WINASOBS follow the entropies. Java has a limit of memory."""
    _write_scores(task, JKL)
    how = ["-smp", "std"]
    if task.dataset is not None:
        variables = range(task.dataset.variables)
        head = [" ".join(map(str, variables)), " ".join(str(len(own)) for own in task.dataset.states)]
        write_rows(task.folder / ROWS, task.dataset, head)
        how = ["-smp", "ent", "-d", ROWS]
    left = task.deadline.remaining()
    seconds = DEFAULT_SECONDS if left > ENDLESS else max(1, int(left - BLIP_MARGIN))
    limits = ["-t", str(seconds), "-b", str(task.context.workers.threads), "-seed", str(task.seed)]
    java, *jar = program.command
    heap = f"-Xmx{max(16, int(JAVA_SHARE * task.context.memory_left) >> 20)}m"
    command = (java, heap, *jar) if jar else program.command
    return Call(command, ["solver.winasobs.adv", *how, "-j", JKL, "-r", RESULT, *limits], {"time_limit": seconds})


def _in_result(program: Program, text: str, variables: int) -> Parents:
    """The parents of each variable; ProgramError for anything but a line for each, and the score."""
    found: dict[int, list[int]] = {}
    for line in filter(str.strip, text.splitlines()):
        match = re.fullmatch(r"(\d+): -?\d+(?:\.\d+)? +(?:\((\d+(?:,\d+)*)\))? *", line + " ")
        if match is not None and int(match[1]) not in found:
            found[int(match[1])] = [int(name) for name in match[2].split(",")] if match[2] else []
        elif not re.fullmatch(r"Score: -?\d+\.\d+ *", line):
            raise unreadable(program, line)
    return all_of(program, found, variables)


DIALOGUES = {
    "gobnilp": Dialogue(
        partial(on_path, "gobnilp", "gobnilp", "install GOBNILP from https://bitbucket.org/jamescussens/gobnilp"),
        *(_call_gobnilp, MATRIX, _in_matrix, _judge_gobnilp),
        hear=_versions,
        asked=signal.SIGINT,
    ),
    "urlearning": Dialogue(
        partial(on_path, "urlearning", "astar", "build it from https://github.com/bmmalone/urlearning-cpp"),
        *(_call_urlearning, HUGIN, _in_hugin, _judge_urlearning),
        hear=_hear_urlearning,
    ),
    "blip": Dialogue(
        *(_locate_blip, _call_blip, RESULT, _in_result),
        judge=lambda program, task, parents, ended: (ended.reason or HEURISTIC, {}),
        asked=signal.SIGTERM,
    ),
}
