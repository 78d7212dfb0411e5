"""How a stream of tasks is spread over hands: threads of this process begin with it, so that nothing short is ever
sent, unless its tasks are known to be long; what is left goes out in bundles that last about a second together."""

import itertools
import operator
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.compiling import clock
from extbnsl.machine.hands import Answer, Done, Hands, Lost, Parcels, unpacked

START_SECONDS = 0.5  # that threads have a stream for themselves
BUNDLE_SECONDS = 0.75  # that the tasks of a bundle last
PARTS_PER_SLOT = 4  # bundles of a stream whose length is known, for each slot, at least
OUT_PER_SLOT = 2  # bundles that are out for each slot: one waits there while another is done
MOST_LOSSES = 3  # of a bundle before it is done here
LISTEN_SECONDS = 0.2  # at most, between two looks at a stop


class Here(Protocol):
    """The threads of this process: `submit` is that of executors, `check` raises what ends the work."""

    threads: int
    halt: NDArray[np.uint8]

    def submit(self, task: Callable[..., Any], *arguments: Any) -> "Future[Any]": ...

    def check(self) -> None: ...


class NobodyLeft(Exception):
    """All workers have been gone for longer than there is patience."""


@dataclass(eq=False)
class _Out:
    """A bundle that is out: the arguments of its tasks, the future of what comes of them, what was put for it; whether
    it is done here; how often it was lost; `lost` while nobody has it."""

    arguments: list[tuple]
    future: "Future[Done]"
    parts: list[Any]
    here: bool
    losses: int = 0
    lost: bool = False


class Spread:
    """Tasks that are out, here and at hands, oldest first."""

    def __init__(
        self, here: Here, hands: Hands, task: Callable[..., Any], arguments: Iterable[tuple], lasting: float = 0.0
    ) -> None:
        self._here, self._hands, self._task = here, hands, task
        self._waiting = iter(arguments)
        self._back = deque[tuple]()  # arguments of tasks that were taken back from the threads
        self._began = clock()
        self._alone = lasting < START_SECONDS or not hands.slots  # whether threads have it for themselves
        self._out = deque[_Out]()
        self._parcels, self._token = Parcels(hands, here.halt, here.check), uuid.uuid4().hex
        self._done, self._seconds = 0, 0.0
        self._come, self._bytes = 0, 0  # tasks that others have done, and what came of them
        self._results = deque[Any]()  # that nobody has asked for yet

    def __iter__(self) -> "Iterator[Future[Done]]":
        """What is out here."""
        return (out.future for out in self._out if out.here)

    def results(self, ordered: bool, forget: Callable[[Any], None]) -> Iterator[Any]:
        """The results of all tasks, in the order of their arguments, or as they come; `forget` gets what is there when
        nobody asks any more. Raises what a task raised, what `check` raises, and NobodyLeft."""
        try:
            while self._fill():
                for out in self._ended(ordered):
                    done = out.future.result()
                    self._note(out, done)
                    self._results.extend(done.results)
                    while self._results:
                        yield self._results.popleft()
        finally:
            self._hands.give_up(self._token)
            for result in self._results:
                forget(result)
            for out in self._out:
                if not out.future.cancel() and out.future.done() and out.future.exception() is None:
                    for result in out.future.result().results:
                        forget(result)

    def _fill(self) -> bool:
        """Keep enough tasks out; whether any are."""
        nobody_yet = self._hands.slots == 0 and self._hands.missing == 0.0
        if self._alone and (nobody_yet or clock() - self._began < START_SECONDS):
            while len(self._out) < 2 * self._here.threads and (own := self._take(1)):
                self._out.append(self._do_here(own))
            return bool(self._out)
        if self._alone:
            self._alone = False
            self._take_back()
        self._mind_losses()
        while len(self._out) < OUT_PER_SLOT * self._hands.slots and (own := self._take(self._many())):
            self._out.append(self._send(_Out(own, Future(), [], False)))
        if not self._out and (own := self._take(1)):  # there is nobody; whoever comes gets it
            self._out.append(_Out(own, Future(), [], False, lost=True))
        return bool(self._out)

    def _take(self, most: int) -> list[tuple]:
        """The next arguments."""
        return list(itertools.islice(itertools.chain(_emptied(self._back), self._waiting), most))

    def _many(self) -> int:
        """How many tasks the next bundle has: one, until it is known what comes back of one."""
        if not self._come:
            return 1
        many, slots = BUNDLE_SECONDS * self._done / max(self._seconds, 1e-9), max(1, self._hands.slots)
        left = operator.length_hint(self._waiting) + len(self._back)
        if operator.length_hint(self._waiting):
            many = min(many, left / (PARTS_PER_SLOT * slots))
        many = min(many, self._hands.room / (OUT_PER_SLOT * slots) / max(1.0, self._bytes / self._come))
        return max(1, int(many))

    def _take_back(self) -> None:
        """Take back what no thread has begun."""
        kept = deque[_Out]()
        while self._out:
            out = self._out.pop()
            if not kept and out.future.cancel():
                self._back.extendleft(reversed(out.arguments))
            else:
                kept.appendleft(out)
        self._out = kept

    def _do_here(self, arguments: list[tuple], losses: int = 0) -> _Out:
        return _Out(arguments, self._here.submit(_done_here, self._task, arguments), [], True, losses)

    def _send(self, out: _Out) -> _Out:
        """Send a bundle; it is lost if there is nobody."""
        out.lost = True
        if self._hands.slots:
            try:
                body, out.parts = self._parcels.packed(self._task, out.arguments)
                answer = self._hands.send(self._token, len(out.arguments), body, out.parts)
            except Lost:
                out.losses += 1
                return out
            out.future, out.lost = Future(), False
            answer.add_done_callback(partial(_pass_on, out.future))
        return out

    def _mind_losses(self) -> None:
        """Send again what was lost, and do here what was lost too often. Raises NobodyLeft."""
        if self._hands.missing > self._hands.patience:
            raise NobodyLeft
        for place, out in enumerate(self._out):
            if out.here:
                continue
            error = out.future.exception() if out.future.done() else None
            if isinstance(error, Lost):
                out.losses = MOST_LOSSES if error.for_good else out.losses + 1
                out.future, out.lost = Future(), True
                self._parcels.renew(out.parts)
            if out.losses >= MOST_LOSSES:
                self._out[place] = self._do_here(out.arguments, out.losses)
            elif out.lost and self._hands.slots:
                self._send(out)

    def _ended(self, ordered: bool) -> list[_Out]:
        """Those that have ended and whose turn it is, waited for a moment; they are not out any more."""
        awaited = [self._out[0].future] if ordered else [out.future for out in self._out]
        wait(awaited, LISTEN_SECONDS, FIRST_COMPLETED)
        self._here.check()
        self._hands.beat()
        found = list[_Out]()
        for out in [self._out[0]] if ordered else list(self._out):
            if out.future.done() and not isinstance(out.future.exception(), Lost):
                self._out.remove(out)
                found.append(out)
        return found

    def _note(self, out: _Out, done: Done) -> None:
        """Keep how long tasks last, and how much they return."""
        self._done += len(out.arguments)
        self._seconds += done.seconds
        if done.size:
            self._come += len(out.arguments)
            self._bytes += done.size


def _emptied(back: deque[tuple]) -> Iterator[tuple]:
    while back:
        yield back.popleft()


def _done_here(task: Callable[..., Any], arguments: list[tuple]) -> Done:
    began = clock()
    results = [task(*own) for own in arguments]
    return Done(results, clock() - began, 0)


def _pass_on(future: "Future[Done]", answered: "Future[Answer]") -> None:
    """Let a future have what an answer says."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(unpacked(answered.result()))
    except BaseException as error:
        future.set_exception(error)
