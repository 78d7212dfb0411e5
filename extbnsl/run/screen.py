"""Progress for people who watch: in place and with modest colour on a terminal, line by line elsewhere."""

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator
from typing import TextIO

from extbnsl.events import Observer
from extbnsl.run.progress import Table, beating, line_writer, only_warnings

ERASE = "\r\x1b[K"  # back to the beginning of the line, and delete it
_DIM, _YELLOW, _END = "\x1b[2m", "\x1b[33m", "\x1b[0m"


def is_screen(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal that can overwrite a line."""
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def told_on(stream: TextIO, quiet: bool = False, seconds_before: float = 0.0) -> Iterator[Observer]:
    """An observer that tells on `stream` what goes on: in place if that is a terminal, warnings alone if `quiet`."""
    if quiet:
        yield only_warnings(line_writer(stream))
        return
    screen = Screen(stream) if is_screen(stream) else None
    write, show = (line_writer(stream), None) if screen is None else (screen.write, screen.show)
    table = Table(write, seconds_before=seconds_before, show=show)
    try:
        with beating(table.beat):
            yield table
    finally:
        table.end()
        if screen is not None:
            screen.show("")


class Screen:
    """Lines that stay, and below them one that is overwritten; colour unless NO_COLOR is set (no-color.org).

    A terminal that has gone gets nothing more. Safe to call from several threads.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream
        self._lock = threading.Lock()
        self._coloured = not os.environ.get("NO_COLOR")

    def write(self, line: str) -> None:
        """Write a line that stays."""
        warns = line.startswith("warning:")
        self._put(f"{ERASE}{self._styled(line, _YELLOW) if warns else line}\n")

    def show(self, text: str) -> None:
        """Show a text in place of the one before, cut to the width of the terminal; an empty one deletes it."""
        width = shutil.get_terminal_size().columns
        self._put(ERASE + (self._styled(text[: width - 1], _DIM) if text else ""))

    def _styled(self, text: str, style: str) -> str:
        return f"{style}{text}{_END}" if self._coloured else text

    def _put(self, text: str) -> None:
        with self._lock:
            if self._stream is None:
                return
            try:
                self._stream.write(text)
                self._stream.flush()
            except (OSError, ValueError):
                self._stream = None
