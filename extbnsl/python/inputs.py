"""What callers of the public functions give: data, budgets, who hears of progress.

Nothing heavy is imported before it is called.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from extbnsl.core.events import Observer
    from extbnsl.data import Data
    from extbnsl.data.treatment import Options
    from extbnsl.machine.budgets import Budgets
    from extbnsl.scores.local import LocalScores


@contextlib.contextmanager
def told_in_python() -> Iterator[None]:
    """Let errors name arguments where they name options."""
    from extbnsl.core.errors import ExtbnslError
    from extbnsl.data.advice import in_python

    try:
        yield
    except ExtbnslError as error:
        error.args = (in_python(str(error)),)
        raise


def budgets_from(
    memory: int | str | None, threads: Any, time_limit: float | str | None = None, disk: int | str | None = None
) -> "Budgets":
    from extbnsl.core.arguments import plain
    from extbnsl.machine.budgets import MINIMUM_MEMORY, Budgets, parse_duration, parse_size

    return Budgets(
        memory=None if memory is None else parse_size(memory, "memory", MINIMUM_MEMORY),
        disk=None if disk is None else parse_size(disk, "disk", least=0),
        threads=plain(threads),
        time_limit=None if time_limit is None else parse_duration(time_limit),
    )


def problem_from(
    data: Any, names: "list[str] | tuple[str, ...] | None", options: "Options", score: str
) -> "Data | LocalScores":
    """`data` as a problem to solve, of numbers if the score is of these; InputError for options that its kind has no
    use for."""
    from extbnsl.core.errors import InputError
    from extbnsl.data import Data, from_array, from_dataframe, numbers_from_array, numbers_from_dataframe
    from extbnsl.data.advice import in_python
    from extbnsl.data.treatment import chosen
    from extbnsl.scores.known import is_of_numbers
    from extbnsl.scores.local import LocalScores, named_scores

    if isinstance(data, dict):
        data = named_scores(data)
    ready = isinstance(data, Data | LocalScores)
    if names is not None and (ready or hasattr(data, "columns")):
        raise InputError(f"names: a {type(data).__name__} has names of its own; leave them out.")
    if ready and (useless := ", ".join(chosen(options))):
        raise InputError(f"{useless}: a {type(data).__name__} is ready to use; leave them out.")
    if isinstance(data, Data | LocalScores):
        return data
    if isinstance(data, (str, bytes, PathLike)):
        raise InputError(f"data: {data!r} is no data; read a file with extbnsl.read_csv first.")
    if hasattr(data, "to_frame"):
        raise InputError("data: a series is a single column; give a data frame (series.to_frame()).")
    made: Data
    if is_of_numbers(score):
        of_frame = hasattr(data, "columns")
        made = numbers_from_dataframe(data, **options) if of_frame else numbers_from_array(data, names, **options)
    else:
        made = from_dataframe(data, **options) if hasattr(data, "columns") else from_array(data, names, **options)
    return replace(made, warnings=tuple(map(in_python, made.warnings)))


def observer_from(progress: Any) -> "Observer":
    """What `progress` asks for: lines on standard error, nothing, or the observer that it is."""
    import sys

    from extbnsl.core.errors import InputError
    from extbnsl.core.events import ignore
    from extbnsl.run.progress import Table, line_writer

    if progress is True:
        return Table(line_writer(sys.stderr))
    if progress is False:
        return ignore
    if callable(progress):
        observer: Observer = progress
        return observer
    raise InputError(f"progress: {progress!r} is neither True, False nor a function that takes an event.")
