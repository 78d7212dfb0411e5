"""Reading the input of a command, within its budgets."""

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from extbnsl.errors import InputError
from extbnsl.machine.budgets import Budgets, Deadline, default_memory


def read_problem(
    path: str, given: Mapping[str, Any], budgets: Budgets, quiet: bool = False, score: str = "mdl"
) -> tuple[Any, Budgets]:
    """The LocalScores in the file `path`, as its name says, or the data, with these options: a Dataset, or Numbers if
    the score is of these.

    Also returns the budgets, with the seconds that it took as spent. Says on standard error how far it is, if it takes
    some seconds and unless `quiet`. Raises InputError for what cannot be used, BudgetError if the budgets do not do.
    """
    from extbnsl.data.reading import STAGE, Reading
    from extbnsl.data.text import source_name
    from extbnsl.events import StageStarted
    from extbnsl.run.screen import told_on

    began = time.monotonic()
    memory, deadline = budgets.memory or default_memory(), Deadline.after(budgets.time_limit)
    if quiet:
        problem = _read(path, given, Reading(memory, deadline), score)
    else:
        with told_on(sys.stderr) as tell:
            tell(StageStarted(STAGE, source_name(path)))
            problem = _read(path, given, Reading(memory, deadline, tell), score)
    return problem, replace(budgets, spent=time.monotonic() - began)


def is_standard_input(path: str) -> bool:
    """Whether an input is standard input, which has no path and cannot be read twice."""
    from extbnsl.data.text import STANDARD_INPUT

    return path == STANDARD_INPUT


def absolute(path: str) -> str:
    """The path of an input as another folder finds it."""
    return path if is_standard_input(path) else os.path.abspath(path)


def _read(path: str, given: Mapping[str, Any], reading: Any, score: str) -> Any:
    from extbnsl.data.treatment import chosen
    from extbnsl.formats.score_reader import is_score_file, read_scores

    if not is_score_file(path):
        from extbnsl.data import read_data, read_numbers
        from extbnsl.scores.known import is_of_numbers

        return (read_numbers if is_of_numbers(score) else read_data)(path, **given, reading=reading)
    for name in chosen(given):
        option = "--header or --no-header" if name == "header" else f"--{name}"
        raise InputError(f"{option} is for data, but {path} holds local scores; leave it out.")
    return read_scores(path, reading)
