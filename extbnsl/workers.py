"""Threads for kernels that release the interpreter lock, and the one place where a stop is noticed."""

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

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

    `stop` is asked between tasks, at least every POLL_SECONDS; once it returns a reason, `map` raises Stopped. A task
    is never cut short, so tasks should last well under a second.
    """

    def __init__(self, threads: int, stop: StopSignal = never) -> None:
        self.threads = threads
        self.stop = stop
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *exc: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def check(self) -> None:
        """Raise Stopped if it is time to stop."""
        reason = self.stop()
        if reason is not None:
            raise Stopped(reason)

    def map(self, task: Callable[..., T], arguments: Iterable[tuple[Any, ...]]) -> list[T]:
        """task(*a) for each a in `arguments`, results in their order whatever the number of threads."""
        if self._pool is None:
            results = []
            for a in arguments:
                self.check()
                results.append(task(*a))
            return results
        futures = [self._pool.submit(task, *a) for a in arguments]
        try:
            self._await(futures)
        except BaseException:
            for future in futures:
                future.cancel()
            wait(futures)
            raise
        return [future.result() for future in futures]

    def _await(self, futures: list[Future[T]]) -> None:
        pending: set[Future[T]] = set(futures)
        while pending:
            self.check()
            done, pending = wait(pending, POLL_SECONDS, FIRST_COMPLETED)
            for future in done:
                future.result()


def chunks(total: int, size: int, first: int = 0) -> list[tuple[int, int]]:
    """The ranges [lo, hi) of at most `size` that cover [first, total)."""
    return [(lo, min(lo + size, total)) for lo in range(first, total, size)]
