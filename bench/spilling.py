"""`python -m bench.spilling`: what a search spends on nodes in files, part by part. See README.md."""

import argparse
import contextlib
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.table import aligned
from extbnsl.claims import Claim
from extbnsl.data import read_csv
from extbnsl.events import ignore
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.machine.budgets import parse_size
from extbnsl.machine.workers import Workers
from extbnsl.parents.components import components
from extbnsl.proof.bounding import Bounding, find_guide
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.proof.division import piece_limit, whole_component
from extbnsl.proof.guide import guided_problem
from extbnsl.proof.methods import Methods
from extbnsl.proof.searching import fixed_memory
from extbnsl.proof.stages import Stages
from extbnsl.proof.standing import Standing
from extbnsl.search import sink, tasks
from extbnsl.search.layers import Room, search_layers
from extbnsl.search.problem import SearchProblem
from extbnsl.solver.components import find_parts
from extbnsl.solver.families import find_survivors

BUDGETS = "16MiB,32MiB,64MiB,4GiB"


@dataclass
class Parts:
    """CPU seconds of one search, in all and in its parts, and the nodes that tasks pulled from runs.

    gathering: reading the runs of a block and putting its nodes in order. duplicates: finding the least g of each
    successor, and emitting the nodes that are left, where nodes were gathered. writing: runs that go to files.
    """

    search: float = 0.0
    gathering: float = 0.0
    duplicates: float = 0.0
    writing: float = 0.0
    pulled: int = 0
    kept: int = 0

    @property
    def merged_per_second(self) -> float | None:
        """Source nodes per core-second of merging: of gathering and finding duplicates."""
        merging = self.gathering + self.duplicates
        return self.pulled / merging if self.pulled else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.spilling", description="What nodes in files cost.")
    parser.add_argument("data", metavar="DATA", type=Path, help="a CSV file; its largest component is searched")
    parser.add_argument("--budgets", metavar="LIST", default=BUDGETS, help=f"memory budgets (default: {BUDGETS})")
    parser.add_argument("--static", action="store_true", help="the static bound without path extension")
    options = parser.parse_args(arguments)
    problem = prepared(options.data, options.static)
    searched(problem, 1 << 40)  # compiles the kernels if need be
    found = [(budget, searched(problem, parse_size(budget, "--budgets"))) for budget in options.budgets.split(",")]
    ample = found[-1][1].search
    head = ["budget", "search CPU s", "/ last", "gathering", "duplicates", "writing", "kept", "pulled", "merged/s"]
    print(aligned([head, *([budget, *_cells(parts, ample)] for budget, parts in found)]))
    return 0


def _cells(parts: Parts, ample: float) -> list[str]:
    seconds = (parts.search, parts.search / ample, parts.gathering, parts.duplicates, parts.writing)
    merged = parts.merged_per_second
    counts = (
        f"{parts.kept / 1e6:.1f}M",
        f"{parts.pulled / 1e6:.1f}M",
        "-" if merged is None else f"{merged / 1e6:.1f}M",
    )
    return [*(f"{s:.2f}" for s in seconds), *counts]


def prepared(data: Path, static: bool) -> SearchProblem:
    """The largest component of a data set, ready to search."""
    dataset = read_csv(data)
    store = Store(Path(), 0)
    commits = Commits(Standing(), store)
    with Workers(1) as workers:
        methods = Methods("static", path_extension=False) if static else Methods("pattern")
        context = Context(workers, Stages(ignore, {}), 1 << 32, methods, store, Shelf(1 << 31, store))
        survivors = find_survivors(dataset, Claim(), context, commits)
        found = components(survivors.scores, context.shelf.put)
        parts = find_parts(survivors, found, context)
        k = max(range(len(found)), key=lambda k: found[k].size)
        limit = piece_limit(whole_component(found[k]), 0, parts[k])
        return guided_problem(find_guide(Bounding(found[k]), limit, context).guide, limit, context)


def searched(problem: SearchProblem, memory: int) -> Parts:
    """The search within a budget of memory, on one thread: once for its time, and once more for the parts."""
    before = time.process_time()
    _search(problem, memory)
    parts = Parts(search=time.process_time() - before)
    with _measured(parts):
        parts.kept = _search(problem, memory)
    return parts


def _search(problem: SearchProblem, memory: int) -> int:
    """Search to the end and delete what is not needed any more, as a solve does; the nodes kept."""
    kept = 0
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, Workers(1) as workers:
        store = Store(Path(folder), 1 << 50)
        for state in search_layers(problem, workers, Room(memory - fixed_memory(problem, 1), store)):
            if state.kept != kept:
                kept = state.kept
                store.keep_only(state.files)
    return kept


@contextlib.contextmanager
def _measured(parts: Parts) -> Iterator[None]:
    """While the block runs, the tasks of a search on one thread add what they do to `parts`.

    Edges of gathered nodes are generated twice: first with all successors pruned, so that no duplicates are looked
    for. What the second time takes longer goes to finding them.
    """
    gather, expanded, write_run = tasks._gather, tasks._expanded, sink.write_run
    gathered: list[tasks.Sources] = []

    def measured_gather(*arguments: Any) -> tasks.Sources:
        before = time.thread_time()
        sources = gather(*arguments)
        parts.gathering += time.thread_time() - before
        parts.pulled += sources.lows.size
        gathered[:] = [sources]
        return sources

    def measured_expanded(task: Any, targets: Any) -> Iterator[Any]:
        if not gathered or task.sources is not gathered[0]:
            yield from expanded(task, targets)
            return
        nothing = replace(task, problem=replace(task.problem, limit=-math.inf))
        before = time.thread_time()
        for _ in expanded(nothing, targets):
            pass
        parts.duplicates -= time.thread_time() - before
        pieces = expanded(task, targets)
        while (piece := _timed(lambda: next(pieces, None), parts)) is not None:
            yield piece

    def measured_write(*arguments: Any) -> Any:
        before = time.thread_time()
        run = write_run(*arguments)
        parts.writing += time.thread_time() - before
        return run

    vars(tasks).update(_gather=measured_gather, _expanded=measured_expanded)
    vars(sink).update(write_run=measured_write)
    try:
        yield
    finally:
        vars(tasks).update(_gather=gather, _expanded=expanded)
        vars(sink).update(write_run=write_run)


def _timed(step: Callable[[], Any], parts: Parts) -> Any:
    before = time.thread_time()
    result = step()
    parts.duplicates += time.thread_time() - before
    return result


if __name__ == "__main__":
    sys.exit(main())
