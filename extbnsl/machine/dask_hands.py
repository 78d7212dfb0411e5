"""Hands that are workers of a Dask cluster."""

import contextlib
import os
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.core.compiling import clock
from extbnsl.core.events import Observer, Warned, WorkersChanged
from extbnsl.core.figures import format_time
from extbnsl.machine.budgets import Deadline, Granted
from extbnsl.machine.cluster import PATIENCE_SECONDS, cluster_client, patience_with
from extbnsl.machine.hands import Driver, Lost, Part, Put, difference, done_by, hear, sees, told_of_this

if TYPE_CHECKING:
    from distributed import Client

ROOM_SHARE = 8  # of memory, for results that are under way
RUNNING = "running"  # the status of a client that has its scheduler
SEE_SECONDS = 5.0  # that all workers together may take to look for a file
PUT_SECONDS = 10.0  # that an array may take to get to a worker which does not answer
WATCH_SECONDS = 0.5  # between two looks at who is there
TELL_SECONDS = 2.0  # between two words to the observer, if workers neither come nor go
BEAT_SECONDS = 5.0  # between two words to the workers
HALTED = 64  # tokens that are told with each word
FAILURES = CancelledError, OSError, RuntimeError, AttributeError, ValueError  # of a client whose scheduler has gone


@contextlib.contextmanager
def hands_of(given: Any, granted: Granted, observer: Observer) -> Iterator["DaskHands"]:
    """The hands of a client, or of the cluster that a text names, until the end of the block. Raises InputError."""
    with contextlib.ExitStack() as stack:
        client, patience = given, PATIENCE_SECONDS
        if isinstance(given, str):
            client, patience = stack.enter_context(cluster_client(given, granted.threads)), patience_with(given)
        yield stack.enter_context(DaskHands(client, observer, granted.memory // ROOM_SHARE, patience))


class DaskHands:
    """The workers of a client, as `Hands`; use it as a context.

    A worker counts once it has shown that it has the same sources and versions; of another one the observer hears a
    sentence, and no task is sent to it. All that is waited for is waited for by a thread of its own, so that a
    scheduler that does not answer holds up nobody.
    """

    def __init__(self, client: "Client", observer: Observer, room: int, patience: float) -> None:
        self.room, self.patience, self.nobody = room, patience, False
        self.kept: Put = {}
        self._client, self._observer = client, observer
        self._driver, self._halted = Driver(uuid.uuid4().hex, told_of_this()), list[str]()
        self._lock, self._over = threading.Lock(), threading.Event()
        self._asked: dict[str, Any] = {}  # what workers were asked about themselves
        self._threads: dict[str, int] = {}  # of the workers that count
        self._refused: dict[str, str] = {}  # why others do not
        self._out: dict[Future[bytes], tuple[str, Any]] = {}  # what nobody refers to, Dask gives up
        self._lost = self._tasks = self._sent = self._received = 0
        self._gone: float | None = None
        self._told, self._said = WorkersChanged(0, 0, 0, 0, 0, 0), clock()
        self._sayings = list[str]()
        self._blind = set[str]()  # of which that was told
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "DaskHands":
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.beat()
        self._tell(self._counted())
        self._halt()
        self._watcher.join(BEAT_SECONDS)
        if self._driver.mark is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._driver.mark[0])

    @property
    def slots(self) -> int:
        """Threads of all workers that count."""
        with self._lock:
            return sum(self._threads.values())

    @property
    def together(self) -> int:
        """See `Hands`."""
        with self._lock:
            return max(self._threads.values(), default=1)

    @property
    def missing(self) -> float:
        """See `Hands`."""
        return 0.0 if self._gone is None else clock() - self._gone

    def put(self, part: Part) -> Any:
        """See `Hands`."""
        try:
            [put] = self._client.scatter([part], hash=False, workers=self._only(), timeout=PUT_SECONDS)
        except FAILURES as error:
            raise Lost from error
        self._sent += part.array.nbytes
        return put

    def send(self, token: str, tasks: int, body: bytes, parts: list[Any]) -> Future[bytes]:
        """See `Hands`."""
        answer, only = Future[bytes](), self._only()
        try:
            sent = self._client.submit(
                done_by, self._driver, token, body, *parts, pure=False, workers=only, allow_other_workers=False
            )
        except FAILURES as error:
            raise Lost from error
        self._tasks += tasks
        self._sent += len(body)
        self._out[answer] = token, sent
        sent.add_done_callback(partial(self._answered, answer))
        return answer

    def give_up(self, token: str) -> None:
        """See `Hands`."""
        left = [sent for own, sent in list(self._out.values()) if own == token and not sent.done()]
        if left:
            with contextlib.suppress(*FAILURES):
                self._client.cancel(left)
            self._halted.append(token)
            self._halt()

    def see(self, mark: Path) -> bool:
        """See `Hands`."""
        told = self._driver.mark or (str(mark), self._driver.name)
        try:
            mark.write_text(told[1])
            with self._lock:
                workers = list(self._threads)
            asked = [self._client.submit(sees, *told, pure=False, workers=[one]) for one in workers]
            end = Deadline.after(SEE_SECONDS)
            blind = [worker for worker, one in zip(workers, asked, strict=True) if not one.result(end.remaining())]
        except FAILURES:
            return False
        self._driver = self._driver._replace(mark=None if blind else told)
        if blind:
            mark.unlink(missing_ok=True)
        if blind and blind[0] not in self._blind:
            self._blind.add(blind[0])
            said = f"The worker at {blind[0]} does not see {mark.parent}: layers are expanded here alone."
            self._sayings.append(said)
            self.beat()  # nothing else may be sent for long
        return not blind

    def beat(self) -> None:
        """Tell the observer what there is to say."""
        while self._sayings:
            self._observer(Warned(self._sayings.pop(0)))
        told, before = self._counted(), self._told
        came_or_went = (told.workers, told.workers_lost) != (before.workers, before.workers_lost)
        if came_or_went or (told != before and clock() - self._said >= TELL_SECONDS):
            self._tell(told)

    def _tell(self, told: WorkersChanged) -> None:
        self._told, self._said = told, clock()
        self._observer(told)

    def _only(self) -> list[str] | None:
        """The workers that may be sent to, if there are others."""
        with self._lock:
            return list(self._threads) if self._refused else None

    def _answered(self, answer: "Future[bytes]", sent: Any) -> None:
        """A task of Dask's has ended; called in a thread of its client."""
        from distributed.scheduler import KilledWorker

        self._out.pop(answer, None)
        if not answer.set_running_or_notify_cancel():
            return
        try:
            packed = sent.result()
        except BaseException as error:  # what tasks raise comes in their answer
            answer.set_exception(Lost(isinstance(error, KilledWorker)))
        else:
            self._received += len(packed)
            answer.set_result(packed)

    def _counted(self) -> WorkersChanged:
        with self._lock:
            threads = sum(self._threads.values())
            return WorkersChanged(len(self._threads), threads, self._lost, self._tasks, self._sent, self._received)

    def _watch(self) -> None:
        """See who is there, and tell the workers that the driver is, until it is over."""
        said = clock()
        while not self._over.wait(WATCH_SECONDS):
            self._look()
            if clock() - said >= BEAT_SECONDS:
                said = clock()
                self._halt()

    def _look(self) -> None:
        """See who is there; nobody, if the scheduler does not answer."""
        there: dict[str, int] = {}
        with contextlib.suppress(*FAILURES):
            if self._client.status == RUNNING:  # else it would wait for the scheduler
                there = self._client.nthreads()
        for address in there.keys() - self._asked.keys():
            with contextlib.suppress(*FAILURES):
                self._asked[address] = self._client.submit(
                    told_of_this, pure=False, workers=[address], allow_other_workers=False, priority=100
                )
        for address in self._asked.keys() - there.keys():
            del self._asked[address]
        for address, asked in list(self._asked.items()):
            if asked is not None and asked.done():
                self._judge(address, asked, there[address])
        with self._lock:
            gone = self._threads.keys() - there.keys()
            self._lost += len(gone)
            for address in gone:
                del self._threads[address]
            for address in self._refused.keys() - there.keys():
                del self._refused[address]
            if self._threads:
                self._gone = None
            elif gone:
                self._gone = clock()
                left = format_time(round(self.patience))
                self._sayings.append(f"All workers are gone; the run stops if none comes within {left}.")

    def _judge(self, address: str, asked: Any, threads: int) -> None:
        """Count a worker, or refuse it, by what it said of itself."""
        try:
            error = asked.exception() if asked.status == "error" else None
            why = "" if error is not None else difference(asked.result(), told_of_this())
        except FAILURES:  # it has gone
            del self._asked[address]
            return
        if error is not None:
            why = f"it cannot do what it is asked ({type(error).__name__}: {' '.join(str(error).split())})"
        self._asked[address] = None
        with self._lock:
            if why:
                self._refused[address] = why
                self._sayings.append(
                    f"The worker at {address} gets no work: {why}; give it the extbnsl and the Python of the driver."
                )
            else:
                self._threads[address] = threads

    def _halt(self) -> None:
        """Tell the workers that the driver is there, and which work is halted."""
        with self._lock:
            workers = list(self._threads)
        with contextlib.suppress(*FAILURES):
            if workers and self._client.status == RUNNING:
                halted = tuple(self._halted[-HALTED:])
                self._client.run(hear, self._driver.name, halted, workers=workers, wait=False)
