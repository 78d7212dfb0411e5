"""Hands that are workers of a Dask cluster."""

import contextlib
import os
import sys
import threading
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from extbnsl.core.compiling import clock
from extbnsl.core.events import Observer, Warned, WorkersChanged
from extbnsl.core.figures import format_time
from extbnsl.machine.budgets import Deadline, Granted
from extbnsl.machine.cluster import PATIENCE_SECONDS, cluster_client, is_local, patience_with
from extbnsl.machine.hands import (
    LENT,
    Answer,
    Driver,
    Lost,
    Part,
    Put,
    difference,
    done_by,
    hear,
    prepare,
    sees,
    size_of,
    told_of_this,
)
from extbnsl.machine.lending import Lent

if TYPE_CHECKING:
    from distributed import Client

ROOM_SHARE = 8  # of memory, for results that are under way
RUNNING = "running"  # the status of a client that has its scheduler, and of a worker that takes work
PAUSED = "paused"  # that of one whose memory is nearly full
SEE_SECONDS = 5.0  # that all workers together may take to look for a file
MOST_LENT = 256  # at a time: each is an open file
PUT_SECONDS = 10.0  # that an array may take to get to a worker which does not answer
LISTEN_SECONDS = 0.2  # between two looks at a stop
END_SECONDS = 2.0  # that the end may take if somebody does not answer
WATCH_SECONDS = 0.5  # between two looks at who is there
TELL_SECONDS = 2.0  # between two words to the observer, if workers neither come nor go
GONE_SECONDS = 5.0  # that all workers are gone before it is told: a signal that ends them may end the run as well
BEAT_SECONDS = 5.0  # between two words to the workers
HALTED = 64  # tokens that are told with each word
ENGINE = "extbnsl.solver."  # the modules that tasks are from, which load what they need


@contextlib.contextmanager
def hands_of(given: Any, granted: Granted, observer: Observer) -> Iterator["DaskHands"]:
    """The hands of a client, or of the cluster that a text names, until the end of the block. Raises InputError."""
    with contextlib.ExitStack() as stack:
        client, patience, lends = given, PATIENCE_SECONDS, False
        if isinstance(given, str):
            client, patience = stack.enter_context(cluster_client(given, granted.threads)), patience_with(given)
            lends = is_local(given) and _can_lend(client)
        yield stack.enter_context(DaskHands(client, observer, granted.memory // ROOM_SHARE, patience, lends))


def _can_lend(client: "Client") -> bool:
    """Whether all workers, which are of this machine, can see what this process lends."""
    try:
        probe = Lent(np.arange(7))
        return all(client.run(_sum_of, probe, on_error="return").get(one) == 21 for one in client.nthreads())
    except Exception:
        return False


def _sum_of(lent: Lent) -> int:
    return int(lent.value.sum())


class _Sent(NamedTuple):
    """A bundle that is out: the token of its work, Dask's future, and the workers that may do it."""

    token: str
    future: Any
    workers: list[str]


class DaskHands:
    """The workers of a client, as `Hands`; use it as a context.

    A worker counts once it has shown that it has the same sources and versions; of another one the observer hears a
    sentence, and no task is sent to it. One whose memory is nearly full does not count while that is so. Dask waits for
    a scheduler or a worker that does not answer; here only threads that nobody waits for do.
    """

    def __init__(self, client: "Client", observer: Observer, room: int, patience: float, lends: bool = False) -> None:
        self.room, self.patience, self.nobody = room, patience, False
        self._lends, self._lent = lends, weakref.WeakSet[Lent]()
        self.kept: Put = {}
        self._client, self._observer = client, observer
        self._driver, self._halted = Driver(uuid.uuid4().hex, told_of_this(), sees_lent=lends), list[str]()
        self._lock, self._over = threading.Lock(), threading.Event()
        self._asked: dict[str, Any] = {}  # what workers were asked about themselves
        self._preparing: dict[str, Any] = {}  # what lets workers load the modules that tasks are from
        self._threads: dict[str, int] = {}  # of the workers that count
        self._out: dict[Future[Answer], _Sent] = {}  # what nobody refers to, Dask gives up
        self._ending: Future[None] | None = None  # of the last work that was given up
        self._told_now: set[tuple[str, ...]] = set()  # the workers that are being told something, by the call
        self._lost = self._tasks = self._sent = self._received = 0
        self._gone: float | None = None
        self._gone_is_told = True
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
        self._watcher.join(END_SECONDS)
        if self._ending is not None:
            wait([self._ending], END_SECONDS)
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

    def put(self, part: Part, check: Callable[[], None]) -> Any:
        """See `Hands`."""
        workers = self._counting()
        if self._lends and part.array.nbytes >= LENT and len(self._lent) < MOST_LENT:
            with contextlib.suppress(OSError):  # memory is short
                lent = Lent(part.array)
                self._lent.add(lent)
                self._sent += part.array.nbytes
                return lent
        put = _aside(self._client.scatter, [part], hash=False, workers=workers, timeout=PUT_SECONDS)
        end = Deadline.after(PUT_SECONDS)
        while not wait([put], LISTEN_SECONDS).done and not end.passed():
            check()
        if not put.done() or put.exception() is not None:
            raise Lost
        self._sent += part.array.nbytes
        return put.result()[0]

    def send(self, token: str, tasks: int, body: bytes, parts: list[Any]) -> Future[Answer]:
        """See `Hands`."""
        answer, workers = Future[Answer](), self._counting()
        try:
            sent = self._client.submit(
                done_by, self._driver, token, body, *parts, pure=False, workers=workers, allow_other_workers=False
            )
        except Exception as error:
            raise Lost from error
        self._tasks += tasks
        self._sent += len(body)
        self._out[answer] = _Sent(token, sent, workers)
        sent.add_done_callback(partial(_aside, self._fetch, answer))
        return answer

    def give_up(self, token: str) -> None:
        """See `Hands`."""
        if any(sent.token == token and not sent.future.done() for sent in list(self._out.values())):
            self._halted.append(token)
            self._ending = _aside(self._end, token)

    def see(self, mark: Path) -> bool:
        """See `Hands`."""
        told = self._driver.mark or (str(mark), self._driver.name)
        try:
            mark.write_text(told[1])
            with self._lock:
                workers = list(self._threads)
            asked = [self._client.submit(sees, *told, pure=False, workers=[one], priority=100) for one in workers]
            end = Deadline.after(SEE_SECONDS)
            blind = [worker for worker, one in zip(workers, asked, strict=True) if not one.result(end.remaining())]
        except Exception:  # one is busy, or has gone; the next layer may go out
            if self._driver.mark is None:
                mark.unlink(missing_ok=True)
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

    def _counting(self) -> list[str]:
        """The workers that may be sent to. Raises Lost if there are none."""
        with self._lock:
            if not self._threads:
                raise Lost
            return list(self._threads)

    def _fetch(self, answer: "Future[Answer]", sent: Any) -> None:
        """Fetch what came of a task of Dask's. Its worker may be gone by now, and then Dask does it again: until it is
        here, it is out."""
        from distributed.scheduler import KilledWorker

        try:
            packed = sent.result()
            if isinstance(packed, Lent):
                packed.hold()
        except BaseException as error:  # what tasks raise comes in their answer
            answer.set_exception(Lost(isinstance(error, KilledWorker)))
        else:
            with self._lock:
                self._received += size_of(packed)
            answer.set_result(packed)
        finally:
            del self._out[answer]

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
                self._tell_workers()

    def _look(self) -> None:
        """See who is there; nobody, if the scheduler does not answer."""
        there: dict[str, int] = {}
        with contextlib.suppress(Exception):
            there = self._at_work(self._workers())
        for address in there.keys() - self._asked.keys():
            with contextlib.suppress(Exception):
                self._asked[address] = self._client.submit(
                    told_of_this, pure=False, workers=[address], allow_other_workers=False, priority=100
                )
        for address in self._asked.keys() - there.keys():
            del self._asked[address]
            self._preparing.pop(address, None)
        for address, asked in list(self._asked.items()):
            if asked is not None and asked.done():
                self._judge(address, asked, there[address])
        with self._lock:
            gone = self._threads.keys() - there.keys()
            self._lost += len(gone)
            for address in gone:
                del self._threads[address]
            if self._threads:
                self._gone = None
            elif gone:
                self._gone, self._gone_is_told = clock(), False
        if not self._gone_is_told and self._gone is not None and clock() - self._gone >= GONE_SECONDS:
            self._gone_is_told = True
            left = format_time(round(self.patience))
            self._sayings.append(f"All workers are gone; the run stops if none comes within {left}.")
        # What none of those who are there may do; Dask would keep it until others come, who may not either.
        self._drop(sent.future for sent in list(self._out.values()) if there.keys().isdisjoint(sent.workers))

    def _workers(self) -> dict[str, Any]:
        """The workers that the scheduler tells of; none if it has gone. The client asks it now and then for their
        number alone, and takes that answer for this one if both come at once."""
        while self._client.status == RUNNING:  # else it would wait for the scheduler
            told = self._client.scheduler_info(n_workers=-1)
            if len(told["workers"]) == told["n_workers"]:
                return told["workers"]
        return {}

    def _at_work(self, workers: dict[str, Any]) -> dict[str, int]:
        """The threads of the workers that Dask gives work, of those that its scheduler tells of."""
        paused = [one for one in self._threads.keys() & workers.keys() if workers[one]["status"] == PAUSED]
        for address in paused:
            self._sayings.append(f"The worker at {address} gets no work while its memory is nearly full.")
            keys = self._client.processing([address])[address]
            self._drop(sent.future for sent in list(self._out.values()) if sent.future.key in keys)
        return {address: told["nthreads"] for address, told in workers.items() if told["status"] == RUNNING}

    def _judge(self, address: str, asked: Any, threads: int) -> None:
        """Count a worker, or refuse it, by what it said of itself."""
        try:
            error = asked.exception() if asked.status == "error" else None
            why = "" if error is not None else difference(asked.result(), told_of_this())
        except Exception:  # it has gone
            del self._asked[address]
            return
        if error is not None:
            why = f"it cannot do what it is asked ({type(error).__name__}: {' '.join(str(error).split())})"
        self._asked[address] = None
        with self._lock:
            if why:
                self._sayings.append(
                    f"The worker at {address} gets no work: {why}; give it the extbnsl and the Python of the driver."
                )
            else:
                self._threads[address] = threads
        if not why:
            modules = tuple(sorted(name for name in sys.modules if name.startswith(ENGINE)))
            with contextlib.suppress(Exception):  # the first bundle loads them too
                self._preparing[address] = self._client.submit(prepare, modules, pure=False, workers=[address])

    def _end(self, token: str) -> None:
        """Cancel the bundles of work that was given up, and tell the workers."""
        self._drop(sent.future for sent in list(self._out.values()) if sent.token == token)
        with self._lock:
            workers = tuple(self._threads)
        self._tell_some(workers)

    def _drop(self, futures: Iterable[Any]) -> None:
        """Cancel bundles that are out: they are lost."""
        left = [future for future in futures if not future.done()]
        with contextlib.suppress(Exception):
            if left:
                self._client.cancel(left)

    def _tell_workers(self) -> None:
        """Tell the workers that the driver is there, and which work is halted: all by one call, but each by its own
        while a call has not come back, so that one that does not answer holds up no other."""
        slow = [call for call in list(self._told_now) if len(call) > 1]
        alone = {worker for call in list(self._told_now) if len(call) == 1 for worker in call}
        with self._lock:
            left = [worker for worker in self._threads if worker not in alone]
        for call in [(worker,) for worker in left] if slow else [tuple(left)] if left else []:
            self._told_now.add(call)
            _aside(self._tell_some, call)

    def _tell_some(self, call: tuple[str, ...]) -> None:
        try:
            if call and self._client.status == RUNNING:
                halted = tuple(self._halted[-HALTED:])
                self._client.run(hear, self._driver.name, halted, workers=list(call), on_error="ignore")
        finally:
            self._told_now.discard(call)


def _aside(call: Callable[..., Any], *arguments: Any, **named: Any) -> "Future[Any]":
    """The future of a call in a thread of its own, which ends with this process."""
    future = Future[Any]()

    def do() -> None:
        try:
            future.set_result(call(*arguments, **named))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=do, daemon=True).start()
    return future
