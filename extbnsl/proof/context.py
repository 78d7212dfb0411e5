"""What the stages of one solve share, and how long each takes, told to the observer and kept for the statistics.

What compiling takes counts for no stage but for its own.
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

from extbnsl.core import compiling
from extbnsl.core.claims import MEMORY_LIMIT
from extbnsl.core.events import Event, IncumbentFound, Observer, StageEnded, StageStarted, Warned
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.machine.budgets import too_little_memory
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.proof.methods import Methods

COMPILING = "kernels"  # the stage that compiling counts for


@dataclass(frozen=True)
class Stages:
    """Wall and CPU seconds per stage, added up in `seconds`."""

    observer: Observer
    seconds: dict[str, dict[str, float]]

    def quiet(self) -> "Stages":
        """The same seconds, but the observer hears of warnings and better networks alone."""

        def observe(event: Event) -> None:
            if isinstance(event, Warned | IncumbentFound):
                self.observer(event)

        return Stages(observe, self.seconds)

    @contextlib.contextmanager
    def stage(self, name: str, detail: str = "", end: float | None = None) -> Iterator[list[str]]:
        """Time a block; what it appends to the list it gets is the summary. end: the moment of `compiling.clock` when
        the time for it is over, if that is known."""
        self.observer(StageStarted(name, detail, None if end is None else max(0.0, end - compiling.clock())))
        summary: list[str] = []
        before, wall, cpu = compiling.so_far(), compiling.clock(), time.process_time()
        try:
            yield summary
        finally:
            after = compiling.so_far()
            wall = compiling.clock() - wall
            compiled = after.seconds - before.seconds, after.cpu_seconds - before.cpu_seconds
            self._add(name, wall, time.process_time() - cpu - compiled[1])
            if after.done > before.done:
                self._add(COMPILING, *compiled)
                told = f"compiled {after.done - before.done} functions, first run only"
                self.observer(StageEnded(COMPILING, compiled[0], told))
            self.observer(StageEnded(name, wall, "; ".join(summary)))

    def _add(self, name: str, seconds: float, cpu_seconds: float) -> None:
        spent = self.seconds.setdefault(name, {"seconds": 0.0, "cpu_seconds": 0.0})
        spent["seconds"] += seconds
        spent["cpu_seconds"] += cpu_seconds


@dataclass(frozen=True)
class Context:
    """What the stages of one solve share and none of them changes; memory in bytes, of which the shelf may hold some.

    What changes, the standing, goes with the commits to the functions that may change it.
    """

    workers: Workers
    stages: Stages
    memory: int
    methods: Methods
    store: Store
    shelf: Shelf

    @property
    def observer(self) -> Observer:
        """Whoever watches."""
        return self.stages.observer

    @property
    def memory_left(self) -> int:
        """Bytes that the shelf does not hold."""
        return self.memory - self.shelf.held

    def require(self, work: str, needed: int) -> None:
        """Raise Stopped, with a warning, if the shelf leaves fewer bytes of memory than some work needs."""
        if needed > self.memory_left:
            total, threads = needed + self.shelf.held, self.workers.threads
            self.observer(Warned(too_little_memory(work, total, self.memory, threads)))
            raise Stopped(MEMORY_LIMIT)
