"""Threads for kernels that release the interpreter lock, and the one place where a stop is noticed."""

import contextlib
import itertools
import math
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import NO_WORKERS
from extbnsl.core.compiling import clock
from extbnsl.core.errors import BudgetError

if TYPE_CHECKING:
    from extbnsl.machine.hands import Hands

T = TypeVar("T")
StopSignal = Callable[[], str | None]

POLL_SECONDS = 0.2
GRACE_SECONDS = 5.0  # that the tasks in flight have to end, once they are told to


class Stopped(Exception):
    """Work was given up because of a limit or a signal; `reason` is the status that the result will have.

    deaf: whether a task did not end when it was told to, and may still write to what it was given.
    """

    def __init__(self, reason: str, deaf: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.deaf = deaf


def never() -> str | None:
    """The stop signal that never comes."""
    return None


def unhalted() -> NDArray[np.uint8]:
    """A `halt` that nobody sets; see `Workers`."""
    return np.zeros(1, np.uint8)


@contextlib.contextmanager
def halted_after(seconds: float) -> Iterator[NDArray[np.uint8]]:
    """A `halt` that is set after so many seconds: for a kernel that the calling thread runs itself."""
    halt = unhalted()
    timer = threading.Timer(seconds, halt.fill, (1,))
    timer.daemon = True
    timer.start()
    try:
        yield halt
    finally:
        timer.cancel()


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


class _Threads:
    """Threads for tasks. The process ends without them if it has to, unlike with those of the standard library.

    Raises BudgetError if the system does not give it so many.
    """

    def __init__(self, number: int) -> None:
        self._waiting: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        try:
            for _ in range(number):
                thread = threading.Thread(target=_work, args=(self._waiting,), daemon=True)
                thread.start()
                self._threads.append(thread)
        except RuntimeError as error:
            self.shutdown()
            raise BudgetError(f"The system does not give this process {number} threads; give fewer.") from error

    def submit(self, task: Callable[..., T], *arguments: Any) -> Future[T]:
        """The future of task(*arguments)."""
        future: Future[T] = Future()
        self._waiting.put((future, task, arguments))
        return future

    def shutdown(self, wait: bool = True) -> None:
        """Let the threads end, which is waited for no longer than a task in flight has; those that have not begun never
        do."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._waiting.get_nowait()
        for _ in self._threads:
            self._waiting.put(None)
        end = clock() + GRACE_SECONDS if wait else -math.inf
        for thread in self._threads:
            thread.join(max(0.0, end - clock()))


def _work(waiting: "queue.SimpleQueue[tuple[Any, ...] | None]") -> None:
    """Do what waits, until that is nothing."""
    while (work := waiting.get()) is not None:
        _do(*work)
        del work


def _do(future: Future[T], task: Callable[..., T], arguments: tuple[Any, ...]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(task(*arguments))
        except BaseException as error:
            future.set_exception(error)
            del future  # which has the error, which has this frame, with what the task held


class Workers:
    """A number of threads that run kernels over many small tasks; use it as a context.

    The calling thread only waits, so that signals are noticed at once. `stop` is asked between tasks and at least
    every POLL_SECONDS; once it returns a reason, `map` raises Stopped after the tasks in flight have ended. A task is
    never cut short: it should last well under a second, or look at `halt`, uint8 (1,), which is set to 1 then.

    A task that does not end within GRACE_SECONDS is left behind, with its thread: others take over, with another
    `halt`. So a task writes to nothing that anybody looks at after a stop, or Stopped tells whether it may.

    With `hands`, other processes do what is left of a stream once it has lasted for a moment: see `spreading`.

    Raises BudgetError if the system does not give it the threads.
    """

    def __init__(self, threads: int, stop: StopSignal = never, hands: "Hands | None" = None) -> None:
        self.threads = threads
        self.stop = stop
        self.hands = hands
        self.halt = unhalted()
        self._stopped: float | None = None  # when it was first noticed that it is time to stop
        self._pool, self._aside = _Threads(threads), _Threads(1)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *exc: object) -> None:
        self._pool.shutdown()
        self._aside.shutdown()

    def check(self) -> None:
        """Raise Stopped if it is time to stop."""
        reason = self.stop()
        if reason is not None:
            self._stopped = self._stopped or clock()
            self.halt[0] = 1
            raise Stopped(reason)

    def left_of(self, seconds: float) -> float:
        """What is left of so many seconds after a stop; all of them before one is noticed."""
        return seconds if self._stopped is None else max(0.0, self._stopped + seconds - clock())

    def run(self, task: Callable[..., T], *arguments: Any) -> T:
        """task(*arguments), in a thread that does what the calling thread would do: it waits behind no other task."""
        futures = [self._aside.submit(task, *arguments)]
        with self._giving_up(futures):
            return self._await(futures)[0]

    def map(self, task: Callable[..., T], arguments: Iterable[tuple[Any, ...]]) -> list[T]:
        """task(*a) for each a in `arguments`, results in their order whatever the number of threads."""
        futures = [self._pool.submit(task, *a) for a in arguments]
        with self._giving_up(futures):
            return self._await(futures)

    def submit(self, task: Callable[..., T], *arguments: Any) -> "Future[T]":
        """The future of task(*arguments) in one of the threads; whoever asks for it sees to stops."""
        return self._pool.submit(task, *arguments)

    @property
    def slots(self) -> int:
        """How many tasks of `spread` are done at a time: by hands, or by the threads as long as there are none."""
        return (0 if self.hands is None else self.hands.slots) or self.threads

    @property
    def together(self) -> int:
        """How many tasks of `spread` a process does at a time, here or elsewhere: they share its memory."""
        return max(self.threads, 0 if self.hands is None else self.hands.together)

    def spread(
        self,
        task: Callable[..., T],
        arguments: Iterable[tuple[Any, ...]],
        ahead: int,
        forget: Callable[[T], None] = lambda result: None,
        ordered: bool = True,
        lasting: float = 0.0,
    ) -> Iterator[T]:
        """What `stream` yields, by hands if there are any: for pure functions of values, which other processes find by
        their names. `halt` among their arguments is that of whoever does them. Unless `ordered`, results come as they
        are there, at hands at least. A list of arguments tells how many there are, which makes for better bundles.
        lasting: seconds that a task is expected to last, if that is known; what is long goes to the hands at once.
        """
        if self.hands is None:
            yield from self.stream(task, arguments, ahead, forget)
            return
        from extbnsl.machine.spreading import NobodyLeft, Spread

        spread = Spread(self, self.hands, task, arguments, lasting)
        with self._giving_up(spread):
            try:
                yield from spread.results(ordered, forget)
            except NobodyLeft:
                self.hands.nobody = True  # whatever comes next would need them too
                raise Stopped(NO_WORKERS) from None

    def keep(self, values: Iterable[Any]) -> None:
        """The arrays among these do not change any more: hands get them once, and not with each `spread`."""
        if self.hands is not None:
            from extbnsl.machine.hands import known_while_there

            for array in values:
                if isinstance(array, np.ndarray):
                    self.hands.kept.setdefault(id(array), (known_while_there(array, self.hands.kept), None))

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
            with self._giving_up(futures):
                while True:
                    if len(futures) <= enough:
                        for a in itertools.islice(waiting, ahead - len(futures)):
                            futures.append(self._pool.submit(task, *a))
                    if not futures:
                        return
                    if not futures[0].done():
                        # waking up for each task would cost as much as a small one does
                        wait([futures[max(0, len(futures) - enough - 1)]], POLL_SECONDS)
                    self._await([futures[0]])
                    yield futures.popleft().result()
        finally:
            for future in futures:
                if future.done() and not future.cancelled() and future.exception() is None:
                    forget(future.result())

    @contextlib.contextmanager
    def _giving_up(self, futures: Iterable[Future[T]]) -> Iterator[None]:
        """Should this fail, let the tasks that have begun end early, and forget the others."""
        try:
            yield
        except BaseException as error:
            self.halt[0] = 1
            begun = {future for future in futures if not future.cancel()}  # nobody may be there to hear of the others
            end = clock() + GRACE_SECONDS
            while begun and clock() < end:
                _, begun = wait(begun, POLL_SECONDS)
            if begun:
                self._leave_behind()
                if isinstance(error, Stopped):
                    error.deaf = True
            self.halt[0] = self.stop() is not None
            raise

    def _leave_behind(self) -> None:
        """Go on with other threads, and another `halt`: those who have the one of before are not to see it unset."""
        self._pool.shutdown(wait=False)
        self._aside.shutdown(wait=False)
        self._pool, self._aside, self.halt = _Threads(self.threads), _Threads(1), unhalted()

    def _await(self, futures: list[Future[T]]) -> list[T]:
        """The results of all, waited for; the first failure is raised at once."""
        pending: set[Future[T]] = set(futures)
        while pending:
            self.check()
            done, pending = wait(pending, POLL_SECONDS, FIRST_EXCEPTION)
            for future in done:
                future.result()
        return [future.result() for future in futures]


class Alone:
    """`run` and `map` of `Workers` for what a task asks for: it does that itself, and at once."""

    def __init__(self, halt: NDArray[np.uint8]) -> None:
        self.halt = halt

    def run(self, task: Callable[..., T], *arguments: Any) -> T:
        """task(*arguments)."""
        return task(*arguments)

    def map(self, task: Callable[..., T], arguments: Iterable[tuple[Any, ...]]) -> list[T]:
        """task(*a) for each a in `arguments`."""
        return [task(*a) for a in arguments]


def chunks(total: int, size: int, first: int = 0) -> list[tuple[int, int]]:
    """The ranges [lo, hi) of at most `size` that cover [first, total)."""
    return [(lo, min(lo + size, total)) for lo in range(first, total, size)]
