"""Threads for kernels that release the interpreter lock, and the one place where a stop is noticed."""

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Executor, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from extbnsl.compiling import clock
from extbnsl.errors import BudgetError

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


def unhalted() -> NDArray[np.uint8]:
    """A `halt` that nobody sets; see `Workers`."""
    return np.zeros(1, np.uint8)


class Patience:
    """For work that may go on for some seconds after it is time to stop; `over` is to be asked while it goes on."""

    def __init__(self, stop: StopSignal, seconds: float) -> None:
        self._stop = stop
        self._seconds = seconds
        self._since: float | None = None

    def over(self) -> bool:
        """Whether it was time to stop, when this was asked so many seconds ago or more."""
        if self._since is None and self._stop() is not None:
            self._since = clock()
        return self._since is not None and clock() - self._since >= self._seconds


class Workers:
    """A number of threads that run kernels over many small tasks; use it as a context.

    The calling thread only waits, so that signals are noticed at once. `stop` is asked between tasks and at least
    every POLL_SECONDS; once it returns a reason, `map` raises Stopped after the tasks in flight have ended. A task is
    never cut short: it should last well under a second, or look at `halt`, uint8 (1,), which is set to 1 then.

    The tasks of `stream` must be pure functions of values that can be pickled, `halt` apart: another
    `executor` of so many workers may run them, such as a pool of processes. It stays the caller's, and there nobody
    sees `halt` being set.

    Raises BudgetError if the system does not give it the threads.
    """

    def __init__(self, threads: int, stop: StopSignal = never, executor: Executor | None = None) -> None:
        self.threads = threads
        self.stop = stop
        self.halt = unhalted()
        self._pool = ThreadPoolExecutor(threads)
        self._executor = executor or self._pool
        self._start()

    def _start(self) -> None:
        """Start all threads now: later there is something to lose."""
        gate = threading.Event()
        try:
            for _ in range(self.threads):
                self._pool.submit(gate.wait)  # none is idle, so each starts a thread
            gate.set()
        except RuntimeError as error:
            gate.set()
            self._pool.shutdown()
            raise BudgetError(f"The system does not give this process {self.threads} threads; give fewer.") from error

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
            self._give_up(futures)
            raise
        return [future.result() for future in futures]

    def stream(
        self, task: Callable[..., T], arguments: Iterable[tuple[Any, ...]], ahead: int, forget: Callable[[T], None]
    ) -> Iterator[T]:
        """task(*a) for each a in `arguments`, results in their order, at most `ahead` tasks out at a time.

        The next of `arguments` are asked for when results have been dealt with, and at most two tasks per thread are
        out. When it is left early, the results that nobody will get are given to `forget`.
        """
        waiting = iter(arguments)
        futures: deque[Future[T]] = deque()
        enough = 2 * self.threads
        try:
            while True:
                if len(futures) <= enough:
                    futures.extend(
                        self._executor.submit(task, *a) for a in itertools.islice(waiting, ahead - len(futures))
                    )
                if not futures:
                    return
                if not futures[0].done():
                    # waking up for each task would cost as much as a small one does
                    wait([futures[max(0, len(futures) - enough - 1)]], POLL_SECONDS)
                self._await([futures[0]])
                yield futures.popleft().result()
        except BaseException:
            self._give_up(futures)
            for future in futures:
                if not future.cancelled() and future.exception() is None:
                    forget(future.result())
            raise

    def _give_up(self, futures: Iterable[Future[T]]) -> None:
        """Let the tasks that have begun end early, and forget the others."""
        self.halt[0] = 1
        wait([future for future in futures if not future.cancel()])  # nobody may be there to hear of the others
        self.halt[0] = self.stop() is not None

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
