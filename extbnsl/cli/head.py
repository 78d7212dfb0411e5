"""What is asked of a command that works, and its first lines: the version, the input, changed options, and budgets."""

import os
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.core.figures import counted, format_size, format_time
from extbnsl.core.options import Options
from extbnsl.core.version import __version__
from extbnsl.files.manifest import Remembered
from extbnsl.machine.budgets import free_disk, machine_memory

if TYPE_CHECKING:
    from extbnsl.data import Data
    from extbnsl.scores.local import LocalScores
    from extbnsl.solver.opening import Request


def head(asked: "Request") -> Iterator[str]:
    """At most four lines; O(variables)."""
    from extbnsl.data.treatment import chosen

    place, remembered = asked.place, asked.place.remember or Remembered("", {})
    yield f"extbnsl {__version__}"
    yield f"input: {_input(asked.problem, remembered.input)}"
    reading = chosen(remembered.data_options)
    scope = _changed(asked.scope) if isinstance(asked.scope, Options) else ()
    options = []
    for name, value in (*scope, *_changed(asked.claim), *_changed(asked.methods), *reading.items()):
        options.append(name if value is True else f"no {name}" if value is False else f"{name} {value}")
    if place.compress:
        options.append("compress")
    if options:
        yield f"options: {', '.join(options)}"
    granted = asked.budgets.granted(place.folder, place.held)
    memory = f"{format_size(granted.memory)} of memory"
    if asked.budgets.memory:  # else it is less than the machine has
        memory += beyond_machine(granted.memory)
    disk = "no disk"
    if granted.disk:
        disk = f"{format_size(granted.disk)} of disk{beyond_disk(granted.disk, place.folder, place.held)}"
    limit = "no time limit" if granted.time_limit is None else f"time limit {format_time(granted.time_limit)}"
    cluster = "" if asked.budgets.hands is None else f", with the workers of {asked.budgets.hands}"
    yield f"budgets: {counted(granted.threads, 'thread')}, {memory}, {disk}, {limit}{cluster}"


def beyond_machine(memory: int) -> str:
    """A remark if so many bytes of memory are more than the machine has; else empty."""
    own = machine_memory()
    return f" (the machine has {format_size(own)})" if memory > own else ""


def beyond_disk(disk: int, folder: Path, held: int = 0) -> str:
    """A remark if so many bytes are more than the disk of `folder` has free, beside those `held` there; else empty."""
    free = free_disk(folder)
    return f" ({format_size(free)} are free)" if disk > free + held else ""


def _input(problem: "Data | LocalScores", path: str) -> str:
    """What was read, such as 'wdbc.csv: 569 records, 31 variables, 2 states each, comma, header'."""
    from extbnsl.data.text import source_name
    from extbnsl.scores.local import LocalScores

    name = os.path.basename(source_name(path))
    if isinstance(problem, LocalScores):
        return f"{name}: {counted(problem.variables, 'variable')}, {counted(problem.families, 'parent set')}"
    layout = f", {problem.layout}" if problem.layout else ""
    of = f"{counted(problem.observed, 'record')}, {counted(problem.variables, 'variable')}"
    return f"{name}: {of}, {problem.contents}{layout}"


def _changed(given: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a dataclass that are not as they are by default, with their values."""
    for field in fields(given):
        if (value := getattr(given, field.name)) != field.default:
            yield field.name.replace("_", "-"), value
