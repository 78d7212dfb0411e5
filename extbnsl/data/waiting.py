"""What is no file, such as a pipe: it may have nothing to say yet."""

import io
import select
from collections.abc import Callable
from typing import Any

LOOK_MILLISECONDS = 200  # at the time limit, while there is nothing to read


class Waiting(io.FileIO):
    """Something to read that is waited for; `check_time`, which is called again and again, may end that by raising."""

    def __init__(self, descriptor: int, check_time: Callable[[], None]) -> None:
        super().__init__("", opener=lambda *_: descriptor)  # which is closed if it is a folder
        self._check_time = check_time
        self._ready = select.poll()
        self._ready.register(self, select.POLLIN)

    def readinto(self, buffer: Any) -> int:
        while True:
            found = super().readinto(buffer) if self._ready.poll(LOOK_MILLISECONDS) else None
            if found is not None:  # it is None too if another process was faster
                return found
            self._check_time()
