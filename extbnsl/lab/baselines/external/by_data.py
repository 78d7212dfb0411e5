"""Programs that take the data. They prove nothing of ours.

- *bene* (Silander and Myllymaki, UAI 2006): dynamic programming over all sets of variables. `data2net.sh` of
  https://github.com/tomisilander/bene, which takes at most 32 variables and keeps its tables in files: n 2^(n-1) scores
  of four bytes, more than once. Its scores are ours, but of single precision.
- *pgmpy*: hill climbing over networks, by its BIC or AIC.
- *pomegranate*: its 'exact' structure learning, dynamic programming by BIC in single precision. Without a pseudocount a
  combination of states that never occurs makes the score of a family no number, and such families win. One that is too
  small to matter avoids that.

A Python package is a process of its own, so that it can be ended, with a script of this room.
"""

import importlib.metadata
import importlib.util
import json
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from extbnsl.core.claims import HEURISTIC
from extbnsl.core.errors import InputError, ProgramError
from extbnsl.lab.baselines.external import package_script
from extbnsl.lab.baselines.external.running import on_path, said, unreadable, write_rows
from extbnsl.lab.baselines.external.task import Call, Dialogue, Parents, Program, Task
from extbnsl.lab.process import Ended

VALUES, DATA, FOLDER, NETWORK = "data.vd", "data.idt", "found", "found/net"  # of bene
MOST_STATES = 255  # its codes are bytes
CODES, ASKED, FOUND = "codes.npy", "asked.json", "found.json"  # of a package
PSEUDOCOUNT = 1e-9
SCORES = {
    "bene": {"mdl": "BIC", "aic": "AIC"},
    "pgmpy": {"mdl": "bic-d", "aic": "aic-d"},
    "pomegranate": {"mdl": "mdl"},  # the only one that it has
}


def _call_bene(program: Program, task: Task) -> Call:
    dataset = task.given_data
    if (most := max(map(len, dataset.states))) > MOST_STATES:
        raise InputError(f"method: 'bene' takes {MOST_STATES} states at most, and a variable has {most}.")
    lines = ["\t".join([f"v{i}", *(f"s{k}" for k in range(len(own)))]) for i, own in enumerate(dataset.states)]
    (task.folder / VALUES).write_text("".join(line + "\n" for line in lines))
    write_rows(task.folder / DATA, dataset)
    limit = [] if task.claim.max_parents is None else ["-m", str(task.claim.max_parents)]
    return Call(program.command, [VALUES, DATA, SCORES["bene"][task.claim.score], FOLDER, *limit], {})


def _in_bits(program: Program, text: str, variables: int) -> Parents:
    """The parents of each variable, from a line for each with the number whose bits they are."""
    lines = text.split()
    for line in lines:
        if not re.fullmatch(r"\d{1,10}", line) or int(line) >> variables:
            raise unreadable(program, line)
    if len(lines) != variables:
        raise ProgramError(f"{program.name} has written the parents of {len(lines)} of {variables} variables.")
    return [[p for p in range(variables) if int(line) >> p & 1] for line in lines]


def _judge_bene(program: Program, task: Task, parents: Parents, ended: Ended) -> tuple[str, Mapping[str, Any]]:
    score = re.search(r"^(-?\d+\.\d+)$", ended.said, re.MULTILINE)
    if score is None:
        raise ProgramError(f"{program.name} has told no score{said(ended)}.")
    return HEURISTIC, {"says": "optimal, in single precision", "cost": -float(score[1])}


def _locate_package(package: str) -> Program:
    """A package that is installed, and the script of this room that uses it; InputError if it is not."""
    if importlib.util.find_spec(package) is None:
        raise InputError(f"method: {package!r} needs the package {package}; install it: pip install {package}.")
    # -P: modules of this room must not stand before the packages
    command = (sys.executable, "-P", package_script.__file__, package)
    return Program(package, command, importlib.metadata.version(package))


def _call_package(asked: Callable[[Task], Mapping[str, Any]], program: Program, task: Task) -> Call:
    """Write the codes, int64 (N, n), and what is asked."""
    np.save(task.folder / CODES, task.given_data.codes.astype(np.int64))
    document = {"score": SCORES[program.name][task.claim.score], **asked(task), "max_parents": task.claim.max_parents}
    Path(task.folder, ASKED).write_text(json.dumps(document))
    return Call(program.command, [CODES, ASKED, FOUND], {})


def _in_json(program: Program, text: str, variables: int) -> Parents:
    """The parents of each variable; ProgramError for a document that does not tell them."""
    try:
        found: Mapping[str, Any] = json.loads(text)
        return [[int(parent) for parent in own] for own in found["parents"]]
    except (ValueError, TypeError, KeyError):
        raise ProgramError(f"{program.name} has given what is no network: {text[:80]!r}.") from None


def _package(name: str, says: str, asked: Callable[[Task], Mapping[str, Any]]) -> Dialogue:
    """A package, of which that is asked beside a score and a limit of parents."""
    return Dialogue(
        locate=partial(_locate_package, name),
        call=partial(_call_package, asked),
        network=FOUND,
        parents=_in_json,
        judge=lambda program, task, parents, ended: (HEURISTIC, {"says": says}),
        scores=SCORES[name],
    )


DIALOGUES = {
    "bene": Dialogue(
        partial(on_path, "bene", "data2net.sh", "build it from https://github.com/tomisilander/bene"),
        *(_call_bene, NETWORK, _in_bits, _judge_bene),
        scores=SCORES["bene"],
    ),
    "pgmpy": _package(
        "pgmpy", "a local optimum", lambda task: {"arities": [len(own) for own in task.given_data.states]}
    ),
    "pomegranate": _package(
        *("pomegranate", "optimal, in single precision"),
        lambda task: {"threads": task.context.workers.threads, "pseudocount": PSEUDOCOUNT},
    ),
}
