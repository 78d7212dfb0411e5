"""What a terminal shows: lines that stay, a text in place below them, and colours."""

import os
import shutil
import sys
import threading
from typing import TextIO

from extbnsl.core.claims import FINISHED, OPTIMAL

ERASE = "\r\x1b[K"  # back to the beginning of the line, and delete it
_DIM, _GREEN, _YELLOW, _END = "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
ROOM = 3  # columns that a text in place leaves free: for the cursor, and for the ^C that a terminal writes there


def is_screen(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal that can overwrite a line."""
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except (OSError, ValueError):
        return False


def clearing() -> str:
    """What deletes the text that is shown in place on standard error, if one may be there."""
    return ERASE if is_screen(sys.stderr) else ""


def is_coloured(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal that shows colours, unless NO_COLOR is set (no-color.org)."""
    return is_screen(stream) and not os.environ.get("NO_COLOR")


def coloured(text: str, status: str) -> str:
    """What tells this status in green if it is proved, in yellow if a limit ended it."""
    if status in FINISHED and status != OPTIMAL:
        return text
    return f"{_GREEN if status == OPTIMAL else _YELLOW}{text}{_END}"


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


class Screen:
    """Lines that stay; and, where text is shown in place, one below them that is overwritten, and colour unless
    NO_COLOR is set (no-color.org).

    A stream that fails gets nothing more: a terminal that has gone, a closed pipe or a full disk must not cost anybody
    the solve. Safe to call from several threads.
    """

    def __init__(self, stream: TextIO, in_place: bool) -> None:
        self._stream = stream
        self._in_place = in_place
        self._gone = False
        self._lock = threading.RLock()
        self._coloured = in_place and not os.environ.get("NO_COLOR")
        self._shown = 0  # columns of the text in place

    def write(self, line: str) -> None:
        """Write a line that stays."""
        warns = line.startswith("warning:")
        self._put(f"{self._styled(line, _YELLOW) if warns else line}\n", 0)

    def show(self, text: str) -> None:
        """Show a text in place of the one before, as `fitting` the terminal; an empty one deletes it."""
        if self._in_place:
            told = fitting(text, self._width() - ROOM)
            self._put(self._styled(told, _DIM) if told else "", len(told))

    def _width(self) -> int:
        """Columns of the terminal, which may have changed."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (AttributeError, OSError, ValueError):
            return shutil.get_terminal_size().columns

    def _styled(self, text: str, style: str) -> str:
        return f"{style}{text}{_END}" if self._coloured else text

    def _put(self, text: str, shown: int) -> None:
        """Write a text, of which so many columns are to be overwritten, over what is shown in place."""
        with self._lock:
            if self._gone:
                return
            above = max(0, self._shown - 1) // self._width()  # rows of what a narrower terminal has folded
            erase = f"\r\x1b[{above}A\x1b[J" if above else ERASE
            self._shown = shown
            try:
                self._stream.write(f"{erase}{text}" if self._in_place else text)
                self._stream.flush()
            except (OSError, ValueError):
                self._gone = True
