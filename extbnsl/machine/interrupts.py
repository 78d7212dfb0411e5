"""What Ctrl-C and the signals that end a process do to a command that has something to lose."""

import contextlib
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

from extbnsl.claims import INTERRUPTED

KILLED = 130  # the exit code of what was ended by Ctrl-C
NOTHING_WRITTEN = "Interrupted before there was a result; nothing was written."


class Interrupts:
    """What Ctrl-C, SIGTERM and SIGHUP do while a command runs; a context manager.

    The first signal is a KeyboardInterrupt; after `arm` it makes `stop` answer INTERRUPTED, which whoever works polls.
    The second signal ends the process at once.
    """

    def __init__(self) -> None:
        self._reason: str | None = None
        self._said: str | None = None
        self._at_once: Callable[[], None] = lambda: None
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interrupts":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup is respected
                self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def arm(self, sentence: str, at_once: Callable[[], None] = lambda: None) -> None:
        """From now on the first signal says `sentence` and asks to stop; whoever works polls `stop`. The second
        one does `at_once`, which must be quick, before it ends the process."""
        self._said = sentence
        self._at_once = at_once

    def stop(self) -> str | None:
        """The reason to stop, which is INTERRUPTED, once a signal came."""
        return self._reason

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._reason is not None:
            self._at_once()
            os._exit(KILLED)
        self._reason = INTERRUPTED
        if self._said is None:
            raise KeyboardInterrupt
        _say(self._said)


def _say(sentence: str) -> None:
    # Not print, which must not be entered twice.
    with contextlib.suppress(OSError):
        os.write(2, f"{sentence}\n".encode())
