"""What Ctrl-C and the signals that end a process do to a command that has something to lose."""

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from extbnsl.core.claims import INTERRUPTED
from extbnsl.machine.system import ENDING, NO_TERMINAL

KILLED = 130  # the exit code of what was ended by Ctrl-C
NOTHING_WRITTEN = "Interrupted before there was a result; nothing was written."


class Interrupts:
    """What Ctrl-C, SIGTERM and SIGHUP do while a command runs; a context manager.

    The first signal is a KeyboardInterrupt; after `arm` it makes `stop` answer INTERRUPTED, which whoever works polls.
    The second signal ends the process at once: a thread listens for it, as Python tells the main thread of signals only
    when that is in no kernel.
    """

    def __init__(self) -> None:
        self._reason: str | None = None
        self._said: str | None = None
        self._at_once: Callable[[], None] = lambda: None
        self._previous: dict[signal.Signals, Any] = {}
        self._told_before = -1  # the descriptor that gets the numbers of signals otherwise

    def __enter__(self) -> "Interrupts":
        heard, self._told = socket.socketpair()
        self._told.setblocking(False)
        self._told_before = signal.set_wakeup_fd(self._told.fileno(), warn_on_full_buffer=False)
        self._heard = threading.Thread(target=self._listen, args=(heard,), daemon=True)
        with contextlib.suppress(RuntimeError):  # whoever works needs a thread too, and says that there is none
            self._heard.start()
        for number in ENDING:
            if number != NO_TERMINAL or signal.getsignal(number) != signal.SIG_IGN:  # nohup is respected
                self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._told_before)
        self._told.close()
        if self._heard.ident is not None:
            self._heard.join()

    def arm(self, sentence: str, at_once: Callable[[], None] = lambda: None) -> None:
        """From now on the first signal says `sentence` and asks to stop; whoever works polls `stop`. The second
        one does `at_once`, which must be quick, before it ends the process."""
        self._said = sentence
        self._at_once = at_once

    def stop(self) -> str | None:
        """The reason to stop, which is INTERRUPTED, once a signal came."""
        return self._reason

    def _listen(self, heard: socket.socket) -> None:
        """End the process at the second signal."""
        left = 2
        with heard:
            while number := heard.recv(1):
                left -= number[0] in self._previous
                if left == 0:
                    self._at_once()
                    os._exit(KILLED)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._reason is not None:
            return
        self._reason = INTERRUPTED
        if self._said is None:
            raise KeyboardInterrupt
        with contextlib.suppress(OSError):
            os.write(2, f"{self._said}\n".encode())  # not print, which must not be entered twice
