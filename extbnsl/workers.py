"""Threads for kernels that release the interpreter lock, and the one place where a stop is noticed."""

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
StopSignal = Callable[[], str | None]

POLL_SECONDS = 0.2


class Stopped(Exception):
    """Work was given up because of a limit or a signal; `reason` is the status that the result will have."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def never() -> str | None:
    """The stop signal that never comes."""
    return None


class Workers:
    """A number of threads that run kernels over many small tasks; use it as a context.

    The calling thread only waits, so that signals are noticed at once. `stop` is asked between tasks and at least
    every POLL_SECONDS; once it returns a reason, `map` raises Stopped after the tasks in flight have ended. A task is
    never cut short: it should last well under a second, or look at `halt`, uint8 (1,), which is set to 1 then.
    """

    def __init__(self, threads: int, stop: StopSignal = never) -> None:
        self.threads = threads
        self.stop = stop
        self.halt = np.zeros(1, dtype=np.uint8)
        self._pool = ThreadPoolExecutor(threads)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *exc: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def check(self) -> None:
        """Raise Stopped if it is time to stop."""
        reason = self.stop()
        if reason is not None:
            self.halt[0] = 1
            raise Stopped(reason)

    def map(self, task: Callable[..., T], arguments: Iterable[tuple[Any, ...]]) -> list[T]:
        """task(*a) for each a in `arguments`, results in their order whatever the number of threads."""
        futures = [self._pool.submit(task, *a) for a in arguments]
        try:
            self._await(futures)
        except BaseException:
            self.halt[0] = 1
            for future in futures:
                future.cancel()
            wait(futures)
            raise
        return [future.result() for future in futures]

    def _await(self, futures: list[Future[T]]) -> None:
        """Wait for all; the first failure is raised at once."""
        pending: set[Future[T]] = set(futures)
        while pending:
            self.check()
            done, pending = wait(pending, POLL_SECONDS, FIRST_EXCEPTION)
            for future in done:
                future.result()


def chunks(total: int, size: int, first: int = 0) -> list[tuple[int, int]]:
    """The ranges [lo, hi) of at most `size` that cover [first, total)."""
    return [(lo, min(lo + size, total)) for lo in range(first, total, size)]
