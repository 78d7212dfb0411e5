"""What Ctrl-C and the signals that end a process do to a command that has something to lose."""

import contextlib
import os
import signal
from types import FrameType
from typing import Any

KILLED = 130  # the exit code of what was ended by Ctrl-C


class Interrupts:
    """What Ctrl-C, SIGTERM and SIGHUP do while a command runs; a context manager.

    Until `arm` the first signal is a KeyboardInterrupt. After it the first signal makes `stop` answer
    "interrupted", which whoever works polls. The second signal ends the process at once.
    """

    def __init__(self) -> None:
        self._reason: str | None = None
        self._armed = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interrupts":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup is respected
                self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def arm(self) -> None:
        """From now on the first signal asks to stop; whoever works polls `stop`."""
        self._armed = True

    def stop(self) -> str | None:
        """The reason to stop, which is "interrupted", once a signal came."""
        return self._reason

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._reason is not None:
            os._exit(KILLED)
        self._reason = "interrupted"
        if not self._armed:
            raise KeyboardInterrupt
        with contextlib.suppress(OSError):  # not print, which must not be entered twice
            os.write(2, b"Stopping; the best network so far will be written (once more: end at once).\n")
