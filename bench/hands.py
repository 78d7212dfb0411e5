"""`python -m bench.hands`: what more workers would bring, by simulation from measured tasks. See README.md."""

import argparse
import asyncio
import heapq
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import extbnsl
from extbnsl.core.events import Event, StageStarted
from extbnsl.drawing.markup import aligned
from extbnsl.machine import spreading
from extbnsl.machine.hands import Driver, Part, done_by, hear, told_of_this, unpacked

WORKERS = (2, 4, 8, 16, 32, 128)
DRIVER_MS = 5.0  # that a bundle takes of the driver's time, as measured with Dask
RATE = 1e9  # bytes in a second, between the driver and all workers together
PAYS = 0.5  # of their time that workers are busy as long as more of them pay


@dataclass(eq=False)
class Stream:
    """The tasks of a `spread`: CPU seconds of each, bytes that all of them share, that each gets, and returns."""

    stage: str
    shared: int = 0
    seconds: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


class Recorder:
    """Hands that do every task alone and at once, in this process, and keep what it took; an observer too."""

    slots, together, room, missing, patience, nobody = 1, 1, 0, 0.0, 0.0, False

    def __init__(self) -> None:
        self.kept: dict = {}
        self.streams: dict[str, Stream] = {}
        self._stage, self._shared = "", 0
        self._driver = Driver("recorder", told_of_this())

    def __call__(self, event: Event) -> None:
        if isinstance(event, StageStarted):
            self._stage = event.stage

    def put(self, part: Part, check: Callable[[], None]) -> Part:
        self._shared += part.array.nbytes
        return part

    def send(self, token: str, tasks: int, body: bytes, parts: list[Any]) -> Future[bytes]:
        stream = self.streams.setdefault(token, Stream(self._stage))
        stream.shared, self._shared = stream.shared + self._shared, 0
        answer, before = Future[bytes](), time.process_time()
        packed = done_by(self._driver, token, body, *parts)
        assert isinstance(packed, bytes), "a driver who is lent nothing"
        unpacked(packed)
        stream.seconds.append(time.process_time() - before)
        stream.sizes.append(len(body) + len(packed))
        answer.set_result(packed)
        return answer

    def give_up(self, token: str) -> None:
        pass

    def see(self, mark: Path) -> bool:
        return True

    def beat(self) -> None:
        asyncio.run(hear(self._driver.name, ()))


def simulated(stream: Stream, workers: int, driver: float = DRIVER_MS / 1e3, rate: float = RATE) -> float:
    """Seconds until so many workers have done a stream, as `Spread` hands it out; O(tasks log workers)."""
    own = list(zip(stream.seconds, stream.sizes, strict=True))
    start, alone = 0.0, 0
    while alone < len(own) and start < spreading.START_SECONDS:
        start, alone = start + own[alone][0], alone + 1
    if alone == len(own):
        return start
    sent = start + stream.shared * workers / rate
    free, ends, at = [sent] * workers, start, alone
    mean = start / alone if alone else own[0][0]
    while at < len(own):
        many = min(spreading.BUNDLE_SECONDS / max(mean, 1e-6), (len(own) - at) / (spreading.PARTS_PER_SLOT * workers))
        bundle = own[at : at + max(1, int(many))]
        at += len(bundle)
        seconds, size = (sum(part) for part in zip(*bundle, strict=True))
        sent += driver + size / rate  # one after the other over the driver's wire
        end = max(sent, heapq.heappop(free)) + seconds
        heapq.heappush(free, end)
        ends = max(ends, end)
    return ends


def recorded(data: Any, asked: dict[str, Any]) -> tuple[list[Stream], float, float]:
    """The streams of a solve; CPU seconds of all its tasks, and of the driver beside them."""
    extbnsl.learn(data, threads=1, **asked | {"bootstrap": asked.get("bootstrap") and 1})  # compiles
    recorder, before = Recorder(), spreading.START_SECONDS
    try:
        spreading.START_SECONDS = 0.0
        began = time.process_time()
        extbnsl.learn(data, threads=1, hands=recorder, progress=recorder, **asked)
        whole = time.process_time() - began
    finally:
        spreading.START_SECONDS = before
    streams = list(recorder.streams.values())
    tasks = sum(sum(stream.seconds) for stream in streams)
    return streams, tasks, whole - tasks


def rows(streams: list[Stream], driver: float) -> list[tuple[str, ...]]:
    """A row for each stage and one for the whole: tasks, CPU seconds, the longest, bytes, and speed-ups."""
    found = []
    for stage in dict.fromkeys(stream.stage for stream in streams):
        own = [stream for stream in streams if stream.stage == stage]
        found.append(_row(stage, own, 0.0))
    return [*found, _row("whole", streams, driver)]


def _row(name: str, streams: list[Stream], driver: float) -> tuple[str, ...]:
    seconds = [one for stream in streams for one in stream.seconds]
    alone = sum(seconds) + driver
    ups = [alone / max(1e-9, driver + sum(simulated(stream, count) for stream in streams)) for count in WORKERS]
    paying = [count for count, up in zip(WORKERS, ups, strict=True) if up >= PAYS * count]
    shared, sizes = sum(one.shared for one in streams), sum(sum(one.sizes) for one in streams)
    figures = f"{len(seconds):,}", f"{alone:.1f}", f"{max(seconds):.2f}", f"{shared / 1e6:.1f}", f"{sizes / 1e6:.1f}"
    return name, *figures, *(f"{up:.1f}" for up in ups), str(max(paying, default=1))


def really(data: Any, asked: dict[str, Any], processes: int) -> float:
    """Wall seconds of a solve by so many processes of this machine."""
    began = time.perf_counter()
    extbnsl.learn(data, threads=processes, hands=f"local:{processes}", **asked)
    return time.perf_counter() - began


def option(text: str) -> tuple[str, Any]:
    """A keyword of `learn` and its value."""
    name, _, value = text.partition("=")
    return name, float(value) if name == "ess" else int(value) if value.isdecimal() else value


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.hands", description="What more workers would bring.")
    parser.add_argument("data", metavar="DATA", help="a data set")
    parser.add_argument("options", metavar="NAME=VALUE", nargs="*", type=option, help="keywords of extbnsl.learn")
    parser.add_argument("--really", action="store_true", help="measure one process and two of this machine as well")
    given = parser.parse_args(arguments)
    asked = dict(given.options)
    data = extbnsl.read_csv(given.data)
    streams, tasks, driver = recorded(data, asked)
    print(f"tasks {tasks:.1f} CPU s, driver {driver:.1f} CPU s\n")
    head = "stage", "tasks", "CPU s", "longest", "MB shared", "MB each way", *(f"x{w}" for w in WORKERS), "pays to"
    print("\n".join(aligned([head, *rows(streams, driver)])))
    if given.really:
        one, two = (really(data, asked, processes) for processes in (1, 2))
        alone, both = (sum(simulated(stream, count) for stream in streams) + driver for count in (1, 2))
        print(f"\ntwo processes really: {one:.1f} s and {two:.1f} s, x{one / two:.2f}; simulated x{alone / both:.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
