"""bene (Silander and Myllymaki, UAI 2006): dynamic programming over all sets of variables, from data.

`data2net.sh` of https://github.com/tomisilander/bene, which takes at most 32 variables and keeps its tables in files:
n 2^(n-1) scores of four bytes, more than once. Its scores are ours, but of single precision: it proves nothing of ours.
"""

import re

from extbnsl.core.claims import HEURISTIC
from extbnsl.core.errors import InputError, ProgramError
from extbnsl.lab.baselines.external.checking import score_of
from extbnsl.lab.baselines.external.data_files import write_rows
from extbnsl.lab.baselines.external.running import on_path, output, run, said, unreadable, used
from extbnsl.lab.baselines.external.task import Answer, Parents, Program, Task

VALUES, DATA, FOLDER, NETWORK = "data.vd", "data.idt", "found", "found/net"
SCORES = {"mdl": "BIC", "aic": "AIC"}
MOST_STATES = 255  # its codes are bytes


def locate() -> Program:
    """The script data2net.sh, beside which bene's programs are; InputError if it is not there."""
    return on_path("bene", "data2net.sh", "build it from https://github.com/tomisilander/bene")


def solve(program: Program, task: Task) -> Answer:
    """What bene finds of the data."""
    dataset = task.dataset
    assert dataset is not None, "the registry says that the program takes data"
    if (most := max(map(len, dataset.states))) > MOST_STATES:
        raise InputError(f"method: 'bene' takes {MOST_STATES} states at most, and a variable has {most}.")
    lines = ["\t".join([f"v{i}", *(f"s{k}" for k in range(len(own)))]) for i, own in enumerate(dataset.states)]
    (task.folder / VALUES).write_text("".join(line + "\n" for line in lines))
    write_rows(task.folder / DATA, dataset)
    limit = [] if task.claim.max_parents is None else ["-m", str(task.claim.max_parents)]
    ended = run(program, task, [VALUES, DATA, score_of(program, task, SCORES), FOLDER, *limit])
    if ended.reason is not None:
        return Answer(ended.reason, None, used(ended))
    text = output(program, task, NETWORK, ended)
    assert text is not None, "a program that ended by itself has an output"
    score = re.search(r"^(-?\d+\.\d+)$", ended.said, re.MULTILINE)
    if score is None:
        raise ProgramError(f"{program.name} has told no score{said(ended)}.")
    told = {"says": "optimal, in single precision", "cost": -float(score[1])}
    return Answer(HEURISTIC, _parents(program, text, dataset.variables), used(ended) | told)


def _parents(program: Program, text: str, variables: int) -> Parents:
    """The parents of each variable, from a line for each with the number whose bits they are."""
    lines = text.split()
    for line in lines:
        if not re.fullmatch(r"\d{1,10}", line) or int(line) >> variables:
            raise unreadable(program, line)
    if len(lines) != variables:
        raise ProgramError(f"{program.name} has written the parents of {len(lines)} of {variables} variables.")
    return [[p for p in range(variables) if int(line) >> p & 1] for line in lines]
