"""URLearning (Malone and Yuan): A* over the order graph with pattern databases, with our local scores as its input.

The program `astar` of https://github.com/bmmalone/urlearning-cpp, which writes networks in Hugin's format. It computes
in single precision: its optimum is one within some 1e-7 of the cost for each variable, which proves nothing of ours.
"""

import re

from extbnsl.core.claims import HEURISTIC
from extbnsl.core.errors import ProgramError
from extbnsl.lab.baselines.external.checking import check_told
from extbnsl.lab.baselines.external.running import on_path, output, run, said, unreadable, used
from extbnsl.lab.baselines.external.score_files import scores_for
from extbnsl.lab.baselines.external.task import Answer, Parents, Program, Task

SCORES, NETWORK = "scores.pss", "network.net"
SINGLE_PRECISION = 1e-4  # of the cost, and nats, that sums of single precision may be off


def locate() -> Program:
    """The command astar; InputError if it is not there."""
    return on_path("urlearning", "astar", "build it from https://github.com/bmmalone/urlearning-cpp")


def solve(program: Program, task: Task) -> Answer:
    """What A* finds of the local scores."""
    scores = scores_for(task, SCORES)
    ended = run(program, task, [SCORES, "-n", NETWORK])
    if ended.reason is not None:
        return Answer(ended.reason, None, used(ended))
    found = re.search(r"^Found solution: (\d+\.\d+|-\d+\.\d+)$", ended.said, re.MULTILINE)
    if found is None:
        raise ProgramError(f"{program.name} has found no network{said(ended)}.")
    text = output(program, task, NETWORK, ended)
    assert text is not None, "a program that ended by itself has an output"
    parents, told = _parents(program, text, scores.variables), float(found[1])
    check_told(program, parents, scores, told, SINGLE_PRECISION * (1.0 + abs(told)))
    return Answer(HEURISTIC, parents, used(ended) | {"says": "optimal, in single precision"})


def _parents(program: Program, text: str, variables: int) -> Parents:
    """The parents of each variable, from the lines `potential ( X | Y Z ) {`; ProgramError for anything else."""
    found: dict[int, list[int]] = {}
    for line in (line for line in text.splitlines() if line.startswith("potential")):
        match = re.fullmatch(r"potential \( (\d+) (?:\| ((?:\d+ )*) ?)?\) \{", line)
        if match is None or int(match[1]) in found:
            raise unreadable(program, line)
        found[int(match[1])] = [int(name) for name in (match[2] or "").split()]
    if sorted(found) != list(range(variables)):
        raise ProgramError(f"{program.name} has written the parents of {len(found)} of {variables} variables.")
    return [found[child] for child in range(variables)]
