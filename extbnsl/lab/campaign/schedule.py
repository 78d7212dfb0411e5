"""All runs of a campaign, some at a time, here or on a cluster: whatever becomes of one, the others go on."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from extbnsl.core.claims import INTERRUPTED
from extbnsl.core.errors import ExtbnslError, InputError
from extbnsl.lab.campaign.one_run import Place, carry_out
from extbnsl.lab.campaign.outcome import FAILED, Record, write_record
from extbnsl.lab.campaign.plan import Run
from extbnsl.machine.cluster import OPTION, cluster_client, named
from extbnsl.machine.workers import StopSignal

WAIT_SECONDS = 0.5
RETRIES = 3  # of a run whose worker is lost

OnOver = Callable[[Run, Record], None]


class Hands(NamedTuple):
    """Who does the runs, and where: an executor, and what it is to do with a run; how many it does at a time; `halt`
    makes what has begun stop."""

    place: Place
    jobs: int
    executor: Executor
    task: Callable[[Run], Record]
    halt: Callable[[], None]


def do_all(runs: Sequence[Run], hands: Hands, on_over: OnOver, stop: StopSignal) -> None:
    """Do all runs, or those that are over when `stop` has a reason; `on_over` hears of each that is over."""
    futures: dict[Future[Record], Run] = {hands.executor.submit(hands.task, run): run for run in runs}
    left, halted = set(futures), False
    while left:
        done, left = wait(left, WAIT_SECONDS, FIRST_COMPLETED)
        for future in done:
            if not future.cancelled():
                on_over(futures[future], _record(future, futures[future], hands.place))
        if stop() is not None and not halted:
            halted = True
            hands.halt()
            for future in left:
                future.cancel()


def _record(future: "Future[Record]", run: Run, place: Place) -> Record:
    """The record of a run; of one that nobody could do, why, which is kept."""
    error = future.exception()
    if error is None:
        return future.result()
    record = Record(FAILED, f"Nobody could do it: {type(error).__name__}: {' '.join(str(error).split())}")
    with contextlib.suppress(ExtbnslError):
        write_record(place.record(run), record, run.arguments)
    return record


@contextlib.contextmanager
def here(jobs: int, place: Place, stop: StopSignal) -> Iterator[Hands]:
    """Threads of this process, each of which waits for the process of a run."""
    with ThreadPoolExecutor(jobs) as executor:
        yield Hands(place, jobs, executor, lambda run: carry_out(run, place, stop), lambda: None)


@contextlib.contextmanager
def on_cluster(cluster: str, place: Place, stop_file: Path) -> Iterator[Hands]:
    """The workers of a Dask cluster, one run at a time for each of their threads; the text says which, as for
    `cluster_client`.

    The folder of the campaign must be where they see it under the same name. Raises InputError if there is no such
    cluster, or what it takes is not installed.
    """
    with cluster_client(cluster, threads=1) as client:
        executor = client.get_executor(pure=False, retries=RETRIES)
        try:
            threads = sum(client.nthreads().values())
        except OSError as error:
            raise InputError(f"{OPTION}: the scheduler of {cluster} has gone ({error}).") from error
        jobs = max(1, named(cluster).number, threads)
        yield Hands(place, jobs, executor, OnWorker(place, stop_file), stop_file.touch)


@dataclass(frozen=True)
class OnWorker:
    """What a worker does with a run: as here, but it hears of a stop by a file."""

    place: Place
    stop_file: Path

    def __call__(self, run: Run) -> Record:
        return carry_out(run, self.place, lambda: INTERRUPTED if self.stop_file.exists() else None)
