"""Journals: files of lines that grow while a run goes on. What one has is never written again, and each line is on disk
when it counts."""

import os
from pathlib import Path

from extbnsl.core.errors import InputError
from extbnsl.files.atomic import encoded, open_regular, read_regular, write_failure, writing
from extbnsl.machine.system import write_at

MOST_BYTES = 1 << 31  # of a journal


class Journal:
    """A journal that this process adds to, whose first `kept` bytes stay: what is behind them is cut off. To be closed.

    Raises InputError if it cannot be written, BudgetError if the disk is full, RunDirectoryError if it is no file.
    """

    def __init__(self, path: Path, kept: int = 0) -> None:
        self._path = path
        self._length = kept
        with writing(path):
            self._file = open_regular(path, os.O_WRONLY | os.O_CREAT)
            os.ftruncate(self._file, kept)

    def append(self, line: str) -> None:
        """Add a line, which is on disk when this returns; if that fails, the journal is as before. Raises as the class
        does."""
        data = encoded(f"{line}\n")
        try:
            write_at(self._file, data, self._length)
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self._length)
            raise write_failure(self._path, error) from error
        self._length += len(data)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


def read_lines(path: Path) -> list[bytes]:
    """The whole lines of a journal without their ends, none if it is not there; what a killed process has left of a
    line at the end is none. Raises InputError if it cannot be read, RunDirectoryError if it is no file or too long."""
    try:
        return read_regular(path, MOST_BYTES).split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); make it a file that you may read.") from error
