"""A program: the command line, with a search that keeps nothing in memory and commits all the time.

So a small data set is as exposed to what may happen as a large one is in hours. On demand it sends SIGTERM to itself
at a chosen point; or it keeps all in memory, and takes that away from itself when a search begins.
"""

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import extbnsl.proof.commits
import extbnsl.search.layers
import extbnsl.solver.approximation
from extbnsl.cli import main
from extbnsl.core.events import Event, LayerEnded, Observer, StageAdvanced, StageStarted
from extbnsl.run import progress

COMMIT_SECONDS = 0.05
POINTS = ("scores", "incumbent", "bounds", "search", "commit")


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command of extbnsl that follows the options; its exit code."""
    parser = argparse.ArgumentParser(prog="often.py")
    parser.add_argument("--term", choices=(*POINTS, "parents"), help="where to send SIGTERM to itself")
    parser.add_argument("--twice", action="store_true", help="and once more at once")
    parser.add_argument("--spare", metavar="BYTES", type=int, help="address space left when a search begins")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="a command of extbnsl with its arguments")
    given = parser.parse_args(arguments)
    extbnsl.proof.commits.COMMIT_SECONDS, extbnsl.proof.commits.COMMIT_SHARE = COMMIT_SECONDS, 1.0
    extbnsl.solver.approximation.COMMIT_SECONDS = COMMIT_SECONDS
    if given.term == "commit":
        _before_commits(lambda: _terminate(given.twice))
    elif given.term:
        _at_event(lambda event: _is_at(given.term, event), lambda: _terminate(given.twice))
    if given.spare is not None:
        _at_event(_search_begins, lambda: _leave(given.spare))
    else:
        extbnsl.search.layers.Room.node_bytes = _nothing  # type: ignore[assignment, method-assign]
    return main(given.command)


def _nothing(room: extbnsl.search.layers.Room, threads: int) -> float:
    """In place of Room.node_bytes: no memory for runs that can be written."""
    return 0.0 if room.store else float("inf")


def _at_event(reached: Callable[[Event], bool], act: Callable[[], None]) -> None:
    """Act once, at the first event that is `reached`."""
    told_on, waiting = progress.told_on, [act]

    @contextlib.contextmanager
    def watched(*given: Any) -> Iterator[Observer]:
        with told_on(*given) as told:

            def observe(event: Event) -> None:
                told(event)
                if waiting and reached(event):
                    waiting.pop()()

            yield observe

    progress.told_on = watched


def _is_at(point: str, event: Event) -> bool:
    """Whether the work of a stage has just begun, or that of the search goes on with files."""
    if point == "search":
        return isinstance(event, LayerEnded) and event.layer >= 3 and event.spilled > 0
    begun = StageAdvanced if point == "scores" else StageStarted
    return isinstance(event, begun) and event.stage == point


def _search_begins(event: Event) -> bool:
    """Whether a search begins; a trial of it has called what it needs."""
    return isinstance(event, StageStarted) and event.stage == "search"


def _before_commits(act: Callable[[], None]) -> None:
    """Act once, when a commit of a search has begun."""
    commit, waiting = extbnsl.proof.commits.commit, [act]

    def committing(folder, store, manifest):  # type: ignore[no-untyped-def]
        if waiting and len(manifest.files) > 3:
            waiting.pop()()
        commit(folder, store, manifest)

    extbnsl.proof.commits.commit = committing


def _terminate(twice: bool) -> None:
    """Send SIGTERM to this process."""
    for _ in range(1 + twice):
        os.kill(os.getpid(), signal.SIGTERM)


def _leave(spare: int) -> None:
    """Let this process have so many bytes of address space more than it has now."""
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + spare, used + spare))


if __name__ == "__main__":
    sys.exit(run())
