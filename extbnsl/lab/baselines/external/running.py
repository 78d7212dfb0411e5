"""One run of somebody else's program: found, begun in a folder of its own, watched, ended, and its output read."""

import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from extbnsl.core.claims import DISK_LIMIT, MEMORY_LIMIT
from extbnsl.core.errors import InputError, ProgramError
from extbnsl.data import Dataset
from extbnsl.lab.baselines.external import begin
from extbnsl.lab.baselines.external.task import Answer, Dialogue, Parents, Program, Task
from extbnsl.lab.process import Ended, Manner, Watch, run_process
from extbnsl.machine.system import disk_bytes, session_bytes

GRACE_SECONDS = 0.6  # from the signal that asks a program to end to the one that ends it
LARGEST_OUTPUT = 1 << 26  # bytes of a file that tells a network
MOST_SAID = 200  # characters of what a program says that a sentence repeats


def on_path(name: str, command: str, install: str) -> Program:
    """The program whose command is on PATH; InputError that says what to install if none is."""
    found = shutil.which(command)
    if found is None:
        raise InputError(f"method: {name!r} needs the command {command!r}, which is not on PATH; {install}.")
    return Program(name, (os.path.abspath(found),))


def write_rows(path: Path, dataset: Dataset, head: Sequence[str] = ()) -> None:
    """Write lines, and then the codes of each record, with spaces in between."""
    with path.open("w", encoding="ascii") as file:
        file.writelines(f"{line}\n" for line in head)
        np.savetxt(file, dataset.codes, fmt="%d")


def answer_of(program: Program, dialogue: Dialogue, task: Task) -> Answer:
    """What a program gives, within the budgets; ProgramError if it fails or gives what is no network.

    Where it was made to end the answer has no network unless it has written a whole one.
    """
    call = dialogue.call(program, task)
    ended = _run(program._replace(command=call.command), task, call.arguments, dialogue.asked or signal.SIGTERM)
    told = {**_used(ended), **call.told}
    if ended.reason is not None and dialogue.asked is None:
        return Answer(ended.reason, None, told)
    told.update(dialogue.hear(program, ended))
    text = _output(program, task.folder / dialogue.network, ended)
    if text is None:
        return Answer(str(ended.reason), None, told)
    try:
        parents = dialogue.parents(program, text, task.variables)
    except ProgramError:
        if ended.reason is None:
            raise
        return Answer(ended.reason, None, told)  # it was cut short
    status, more = dialogue.judge(program, task, parents, ended)
    return Answer(status, parents, {**told, **more})


def _run(program: Program, task: Task, arguments: Sequence[str], asked: signal.Signals) -> Ended:
    """What has become of a program that ran in the folder of its task within the budgets; `asked` is the signal that
    lets it give what it has.

    The reason is that of the workers' stop, MEMORY_LIMIT or DISK_LIMIT, if it was made to end. Raises ProgramError if
    it cannot be begun, or ended by itself and failed.
    """
    command = (sys.executable, "-I", "-S", begin.__file__, str(os.getpid()), *program.command, *arguments)
    manner = Manner(GRACE_SECONDS, asked, _watch(task))
    try:
        ended = run_process(command, task.folder, task.context.workers.stop, manner)
    except OSError as error:
        raise ProgramError(f"{program.name} cannot be begun: {error.strerror}.") from error
    if ended.reason is None and ended.exit_code:
        code = ended.exit_code
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        raise ProgramError(f"{program.name} {how}{said(ended)}.")
    return ended


def said(ended: Ended) -> str:
    """The last line of what a program said, to go on with in a sentence about its failure."""
    lines = [line.strip() for line in ended.said.splitlines() if line.strip()]
    if not lines:
        return " and said nothing"
    printable = "".join(character if character.isprintable() else "?" for character in lines[-1])
    return f"; the last that it said is {printable[:MOST_SAID]!r}"


def _output(program: Program, path: Path, ended: Ended) -> str | None:
    """The text of a file that a program is to have written; None if there is none, but the program was made to end.

    Raises ProgramError if there is none otherwise, or if it is no text, or larger than LARGEST_OUTPUT.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_OUTPUT + 1)
    except OSError:
        if ended.reason is not None:
            return None
        raise ProgramError(f"{program.name} has written no network{said(ended)}.") from None
    if len(data) > LARGEST_OUTPUT:
        raise ProgramError(f"{program.name} has written more than {LARGEST_OUTPUT >> 20} MiB for a network.")
    try:
        return data.decode("ascii")
    except UnicodeDecodeError:
        raise ProgramError(f"{program.name} has written a network that is no text.") from None


def unreadable(program: Program, line: str) -> ProgramError:
    """The refusal of a line of its output."""
    return ProgramError(f"{program.name} has written what is no network: {line[:MOST_SAID]!r}.")


def all_of(program: Program, found: Mapping[int, Sequence[int]], variables: int) -> Parents:
    """The parents by variable of so many; ProgramError if some are missing."""
    if sorted(found) != list(range(variables)):
        raise ProgramError(f"{program.name} has written the parents of {len(found)} of {variables} variables.")
    return [found[child] for child in range(variables)]


def _used(ended: Ended) -> dict[str, Any]:
    """What a program took, for the statistics: the seconds of the processes that it has waited for, and the memory of
    the largest."""
    return {
        "seconds": ended.seconds,
        "cpu_seconds": ended.cpu_seconds,
        "peak_rss_bytes": ended.peak_rss_bytes,
    }


def _watch(task: Task) -> Watch:
    """Ends a program whose processes hold more memory, or whose folder more bytes, than the run has left."""
    memory, disk = task.context.memory_left, task.context.store.free

    def look(process: int) -> str | None:
        if session_bytes(process) > memory:
            return MEMORY_LIMIT
        return DISK_LIMIT if _folder_bytes(task.folder) > disk else None

    return look


def _folder_bytes(folder: Path) -> int:
    """What the files of a folder take; what goes while it is looked at counts nothing."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += disk_bytes(os.lstat(os.path.join(where, name)))
            except OSError:
                continue
    return total
