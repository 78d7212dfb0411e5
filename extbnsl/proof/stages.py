"""Timing of the stages of a solve, told to the observer and kept for the statistics."""

import contextlib
import time
from collections.abc import Iterator

from extbnsl.events import Event, IncumbentFound, Observer, StageEnded, StageStarted, Warned


class Stages:
    """Wall and CPU seconds per stage, added up in `seconds`."""

    def __init__(self, observer: Observer, seconds: dict[str, dict[str, float]]) -> None:
        self.observer = observer
        self.seconds = seconds

    def quiet(self) -> "Stages":
        """The same seconds, but the observer hears nothing of stages and layers."""
        return Stages(_without_steps(self.observer), self.seconds)

    @contextlib.contextmanager
    def stage(self, name: str, detail: str = "") -> Iterator[list[str]]:
        """Time a block; what it appends to the list it gets is the summary."""
        self.observer(StageStarted(name, detail))
        summary: list[str] = []
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield summary
        finally:
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            spent = self.seconds.setdefault(name, {"seconds": 0.0, "cpu_seconds": 0.0})
            spent["seconds"] += wall
            spent["cpu_seconds"] += cpu
            self.observer(StageEnded(name, wall, "; ".join(summary)))


def _without_steps(observer: Observer) -> Observer:
    """An observer that passes on warnings and better networks alone."""

    def observe(event: Event) -> None:
        if isinstance(event, Warned | IncumbentFound):
            observer(event)

    return observe
