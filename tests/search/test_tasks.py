"""Tasks are pure functions of values, so processes can run them as well as threads."""

import math
import multiprocessing
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from elsewhere import Elsewhere
from test_layers import ends
from test_rows import Layered, columns

from extbnsl.files.store import Store
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.search import tasks
from extbnsl.search.layers import Room, search_layers


@pytest.fixture(scope="module")
def processes():
    """Two processes that share nothing with this one."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("parent_graph", ["sparse", "layered"])
@pytest.mark.parametrize("memory", [0, math.inf])
def test_processes_make_the_layers_that_threads_make(parent_graph, memory, processes, tmp_path, monkeypatch, sizes):
    sizes(LEAST_SOURCES=9, LOW_BITS=4)
    problem = Layered(5, 10, most=60)
    limits = problem.optimum + 4, True
    ready = problem.ready(*limits) if parent_graph == "sparse" else problem.layered(Store(tmp_path, 1 << 30), *limits)

    def layers_made_by(executor):
        store = Store(Path(tempfile.mkdtemp(dir=tmp_path)), 1 << 30)
        with Elsewhere(2, executor) if executor else Workers(2) as workers:
            states = ends(search_layers(ready, workers, Room(memory, store)))
        assert any(run.files for run in states[-1].runs) == (memory == 0)
        return [columns(state, ready, store.folder) for state in states]

    expected = layers_made_by(None)
    monkeypatch.setattr(tasks, "expand", None)  # of no use in this process any more
    assert layers_made_by(processes) == expected
    assert len(expected) == 11


@pytest.mark.slow
def test_processes_outlive_the_workers_and_a_stop_is_noticed(processes):
    reasons = iter([None, None, None])
    with Elsewhere(2, processes, lambda: next(reasons, "interrupted")) as workers, pytest.raises(Stopped):
        list(search_layers(Layered(5, 8).ready(), workers, Room(math.inf)))
    assert processes.submit(math.sqrt, 4.0).result() == 2.0
