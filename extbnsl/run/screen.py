"""Progress for people who watch: in place and with modest colour on a terminal, line by line elsewhere."""

import contextlib
import os
import re
import shutil
import threading
from collections.abc import Iterator
from typing import TextIO

from extbnsl.claims import FINISHED, OPTIMAL
from extbnsl.events import Observer
from extbnsl.run.progress import Table, beating, line_writer, only_warnings

ERASE = "\r\x1b[K"  # back to the beginning of the line, and delete it
_DIM, _GREEN, _YELLOW, _END = "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
ROOM = 3  # columns that a text in place leaves free: for the cursor, and for the ^C that a terminal writes there


def is_screen(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal that can overwrite a line."""
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except (OSError, ValueError):
        return False


def is_coloured(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal that shows colours, unless NO_COLOR is set (no-color.org)."""
    return is_screen(stream) and not os.environ.get("NO_COLOR")


def status_coloured(text: str, line: str, status: str) -> str:
    """The text with the status, which ends this line of it, in green if it is proved, in yellow if a limit ended it."""
    style = _GREEN if status == OPTIMAL else _YELLOW
    if status in FINISHED and status != OPTIMAL:
        return text
    told = status.replace("_", " ")
    painted = f"{line.removesuffix(told)}{style}{told}{_END}"
    return re.sub(rf"^{re.escape(line)}$", lambda _: painted, text, count=1, flags=re.MULTILINE)


def fitting(text: str, width: int) -> str:
    """A text of at most so many columns: of the remarks in brackets at its end the first go first, then its last parts,
    then its last words."""
    before, bracket, rest = text.rpartition(" (")
    remarks = rest.removesuffix(")").split(", ") if bracket and text.endswith(")") else []
    while len(text) > width and remarks:
        remarks = remarks[1:]
        text = f"{before} ({', '.join(remarks)})" if remarks else before
    while len(text) > width and ", " in text:
        text = text.rpartition(", ")[0]
    if len(text) <= width:
        return text
    return text[: width + 1].rpartition(" ")[0].rstrip(",:") or text[:width]


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
        self._shown = 0  # columns of the text in place

    def write(self, line: str) -> None:
        """Write a line that stays."""
        warns = line.startswith("warning:")
        self._put(f"{self._styled(line, _YELLOW) if warns else line}\n", 0)

    def show(self, text: str) -> None:
        """Show a text in place of the one before, as `fitting` the terminal; an empty one deletes it."""
        told = fitting(text, self._width() - ROOM)
        self._put(self._styled(told, _DIM) if told else "", len(told))

    def _width(self) -> int:
        """Columns of the terminal, which may have changed."""
        try:
            assert self._stream is not None
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (AssertionError, AttributeError, OSError, ValueError):
            return shutil.get_terminal_size().columns

    def _styled(self, text: str, style: str) -> str:
        return f"{style}{text}{_END}" if self._coloured else text

    def _put(self, text: str, shown: int) -> None:
        """Write a text, of which so many columns are to be overwritten, over what is shown in place."""
        with self._lock:
            if self._stream is None:
                return
            above = max(0, self._shown - 1) // self._width()  # rows of what a narrower terminal has folded
            self._shown = shown
            try:
                self._stream.write(f"\r\x1b[{above}A\x1b[J{text}" if above else f"{ERASE}{text}")
                self._stream.flush()
            except (OSError, ValueError):
                self._stream = None
