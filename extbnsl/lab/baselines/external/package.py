"""A Python package as a program: a process of its own, so that it can be ended, with a script of this room."""

import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from extbnsl.core.claims import HEURISTIC
from extbnsl.core.errors import InputError, ProgramError
from extbnsl.lab.baselines.external.running import output, run, used
from extbnsl.lab.baselines.external.task import Answer, Program, Task

DATA, ASKED, FOUND = "codes.npy", "asked.json", "found.json"


def installed(package: str, script: str) -> Program:
    """A package that is installed, and the script of this room that uses it; InputError if it is not."""
    if importlib.util.find_spec(package) is None:
        raise InputError(f"method: {package!r} needs the package {package}; install it: pip install {package}.")
    # -P: modules of this room must not stand before the packages that they are named after
    command = (sys.executable, "-P", str(Path(__file__).with_name(script)))
    return Program(package, command, importlib.metadata.version(package))


def learn(program: Program, task: Task, says: str, **asked: Any) -> Answer:
    """What the package finds of the data: the script gets the codes, int64 (N, n), and what is asked."""
    assert task.dataset is not None, "the registry says that the package takes data"
    np.save(task.folder / DATA, task.dataset.codes.astype(np.int64))
    (task.folder / ASKED).write_text(json.dumps(asked | {"max_parents": task.claim.max_parents}))
    ended = run(program, task, [DATA, ASKED, FOUND])
    if ended.reason is not None:
        return Answer(ended.reason, None, used(ended))
    text = output(program, task, FOUND, ended)
    assert text is not None, "a program that ended by itself has an output"
    return Answer(HEURISTIC, _parents(program, text), used(ended) | {"says": says})


def _parents(program: Program, text: str) -> list[list[int]]:
    """The parents of each variable; ProgramError for a document that does not tell them."""
    try:
        found: Mapping[str, Any] = json.loads(text)
        return [[int(parent) for parent in own] for own in found["parents"]]
    except (ValueError, TypeError, KeyError):
        raise ProgramError(f"{program.name} has given what is no network: {text[:80]!r}.") from None
