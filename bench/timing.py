"""Time work beside the reference loop: nanoseconds of processor time, and their ratio."""

import time
from typing import NamedTuple

from bench.copies import copies_of
from bench.reference import STEPS, reference, reference_table
from bench.work import Work

REPEATS = 7
LEAST_SECONDS = 0.05  # of a repeat; shorter work is done several times
MOST_SECONDS = 0.3  # of the clock on the wall that this may take, with making copies


class Timing(NamedTuple):
    """Nanoseconds of processor time for a unit of work, and for a step of the reference loop."""

    ns: float
    reference_ns: float

    @property
    def ratio(self) -> float:
        return self.ns / self.reference_ns


def timed(work: Work, repeats: int = REPEATS) -> Timing:
    """The least of several repeats of the work and of the loop, in turn: other processes only ever add."""
    _seconds(work)  # it compiles
    began = time.monotonic()
    once = _seconds(work)
    rounds = rounds_of(once, time.monotonic() - began)
    own, loop = list[float](), list[float]()
    for _ in range(repeats):
        loop.append(_reference_seconds())
        own.append(sum(_seconds(work) for _ in range(rounds)) / rounds)
    return Timing(1e9 * min(own) / work.units, 1e9 * min(loop) / STEPS)


def rounds_of(seconds: float, wall_seconds: float) -> int:
    """How often work that takes so long, by itself and with copies, is done in a repeat."""
    return max(1, min(round(LEAST_SECONDS / max(1e-9, seconds)), int(MOST_SECONDS / max(1e-9, wall_seconds))))


def _seconds(work: Work) -> float:
    """Of all calls; making their copies does not count."""
    kernel, calls = work.kernel, copies_of(work.calls)
    before = time.process_time()
    for arguments in calls:
        kernel(*arguments)
    return time.process_time() - before


def _reference_seconds() -> float:
    table = reference_table()
    before = time.process_time()
    reference(STEPS, table)
    return time.process_time() - before
