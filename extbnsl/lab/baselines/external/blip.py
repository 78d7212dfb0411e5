"""BLIP (Scanagatta and others): WINASOBS, a search over orders with windows, with our local scores as its input.

https://github.com/mauro-idsia/blip, a Java program: the jar file in BLIP_JAR, or a command `blip`. It uses all of its
time limit, and proves nothing. Results have a line `child: score  (parents)` for each variable.
"""

import os
import re

from extbnsl.core.claims import HEURISTIC
from extbnsl.core.errors import InputError, ProgramError
from extbnsl.lab.baselines.external.data_files import write_rows
from extbnsl.lab.baselines.external.running import on_path, output, run, unreadable, used
from extbnsl.lab.baselines.external.score_files import scores_for
from extbnsl.lab.baselines.external.task import Answer, Parents, Program, Task

JAR = "BLIP_JAR"  # of the environment
SCORES, DATA, NETWORK = "scores.jkl", "data.dat", "network.res"
DEFAULT_SECONDS = 10  # BLIP's own
MARGIN = 2.0  # seconds before the end of the run at which it is to end by itself
JAVA_SHARE = 0.8  # of the memory for what Java calls its heap


def locate() -> Program:
    """Java with the jar file of BLIP_JAR, or the command blip; InputError if neither is there."""
    jar = os.environ.get(JAR)
    if not jar:
        return on_path("blip", "blip", f"build https://github.com/mauro-idsia/blip, or let {JAR} be its jar file")
    if not os.path.isfile(jar):
        raise InputError(f"{JAR}: {jar} is not there; give the jar file of BLIP.")
    java = on_path("blip", "java", "install a Java runtime")
    return java._replace(command=(*java.command, "-jar", os.path.abspath(jar)))


def solve(program: Program, task: Task) -> Answer:
    """What WINASOBS finds of the local scores; with data its orders follow the entropies."""
    scores = scores_for(task, SCORES)
    how = ["-smp", "std"]
    if task.dataset is not None:
        variables = range(task.dataset.variables)
        head = [" ".join(map(str, variables)), " ".join(str(len(own)) for own in task.dataset.states)]
        write_rows(task.folder / DATA, task.dataset, head)
        how = ["-smp", "ent", "-d", DATA]
    left = task.deadline.remaining()
    seconds = DEFAULT_SECONDS if left > 1e15 else max(1, int(left - MARGIN))
    limits = ["-t", str(seconds), "-b", str(task.context.workers.threads), "-seed", str(task.seed)]
    arguments = ["solver.winasobs.adv", *how, "-j", SCORES, "-r", NETWORK, *limits]
    ended = run(_within(program, task), task, arguments)
    told = used(ended) | {"time_limit": seconds}
    text = output(program, task, NETWORK, ended)
    if text is None:
        return Answer(str(ended.reason), None, told)
    try:
        return Answer(ended.reason or HEURISTIC, _parents(program, text, scores.variables), told)
    except ProgramError:
        if ended.reason is None:
            raise
        return Answer(ended.reason, None, told)  # it was cut short


def _within(program: Program, task: Task) -> Program:
    """The program with a limit of memory, if it is Java that begins it."""
    java, *jar = program.command
    heap = f"-Xmx{max(16, int(JAVA_SHARE * task.context.memory_left) >> 20)}m"
    return program._replace(command=(java, heap, *jar)) if jar else program


def _parents(program: Program, text: str, variables: int) -> Parents:
    """The parents of each variable; ProgramError for anything but a line for each, and the score."""
    found: dict[int, list[int]] = {}
    for line in filter(str.strip, text.splitlines()):
        match = re.fullmatch(r"(\d+): -?\d+(?:\.\d+)? +(?:\((\d+(?:,\d+)*)\))? *", line + " ")
        if match is not None and int(match[1]) not in found:
            found[int(match[1])] = [int(name) for name in match[2].split(",")] if match[2] else []
        elif not re.fullmatch(r"Score: -?\d+\.\d+ *", line):
            raise unreadable(program, line)
    if sorted(found) != list(range(variables)):
        raise ProgramError(f"{program.name} has written the parents of {len(found)} of {variables} variables.")
    return [found[child] for child in range(variables)]
