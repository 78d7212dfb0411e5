"""The lock of a run directory: the system holds it for the life of a process, and lets go when that dies."""

import contextlib
import errno
import os
import time
from dataclasses import dataclass
from pathlib import Path

from extbnsl.core.errors import RunDirectoryError
from extbnsl.files.atomic import open_regular, writing
from extbnsl.files.names import LOCK
from extbnsl.machine.system import LOCKED, lock, read_at

PROGRAM = "extbnsl"  # what a lock begins with, before the process id
LOOK_SECONDS = 0.2  # by then whoever only looked at the lock has let go of it


@dataclass(frozen=True)
class Holder:
    """Whether a process holds a lock, None if that cannot be told, and the id that the last one left in it."""

    holds: bool | None
    process: int | None


def hold(folder: Path) -> tuple[int, tuple[str, ...]]:
    """Lock a run directory until the descriptor that is returned is closed; also returned: warnings.

    Raises RunDirectoryError if another process holds it or the lock is no file, InputError if it cannot be written.
    """
    with writing(folder / LOCK):
        descriptor = open_regular(folder / LOCK, os.O_RDWR | os.O_CREAT)
    warnings: tuple[str, ...] = ()
    try:
        try:
            lock(descriptor)
        except OSError as error:
            if error.errno not in LOCKED:
                raise
            time.sleep(LOOK_SECONDS)
            lock(descriptor)
    except OSError as error:
        if error.errno in LOCKED:
            process = _process_in(descriptor) or "unknown"
            os.close(descriptor)
            raise RunDirectoryError(
                f"The run directory {folder} is in use by another process (id {process}); "
                "wait for it to end, or choose another run directory."
            ) from None
        warnings = (
            f"{folder} is on a file system without locks ({error.strerror}): "
            "let no second process use this run directory.",
        )
    with contextlib.suppress(OSError):  # only to tell others who it is
        text = f"{PROGRAM} {os.getpid()}\n".encode()
        os.write(descriptor, text)
        os.truncate(descriptor, len(text))
    return descriptor, warnings


def holder(folder: Path) -> Holder:
    """Who holds a run directory; its lock is shared for an instant to know."""
    try:
        descriptor = open_regular(folder / LOCK)
    except OSError as error:
        return Holder(False if error.errno == errno.ENOENT else None, None)
    except RunDirectoryError:
        return Holder(None, None)
    try:
        process = _process_in(descriptor)
        try:
            lock(descriptor, shared=True)
        except OSError as error:
            return Holder(True if error.errno in LOCKED else None, process)
        return Holder(False, process)
    finally:
        os.close(descriptor)


def left_by_a_run(folder: Path) -> bool:
    """Whether there is a lock in a folder that this program has left, not another's file of that name."""
    return holder(folder).process is not None


def _process_in(descriptor: int) -> int | None:
    """The process id in a lock file, if there is one."""
    program, _, process = read_at(descriptor, 40, 0).partition(b" ")
    return int(process) if program == PROGRAM.encode() and process.strip().isdigit() else None
