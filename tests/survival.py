"""A small solve with a search of several layers that writes every run to files and commits at every chance."""

import contextlib
import math
import threading

import numpy as np
import pytest
from cases import dataset_of, random_dataset
from disk import Disk
from flat import solve
from patching import COMMIT_ALWAYS, SMALL_SEARCH, fast_disk, poor_incumbents, sized

from extbnsl.files.manifest import read_manifest
from extbnsl.files.names import MANIFEST
from extbnsl.search.layers import Room

OPTIONS = {"threads": 1, "memory": 16 << 20, "lower_bound": "pattern", "path_extension": False}
COUNTERS = ("nodes_expanded", "nodes_generated", "nodes_kept", "peak_layer", "varsets_counted", "parent_sets")


def problem(seed=35):
    """Ten variables in components of four, two and single ones; with seed 29 of six, two and single ones."""
    rng = np.random.default_rng(seed)
    codes = [random_dataset(rng, n, 150, largest_arity=3).codes for n in (7, 3)]
    return dataset_of(np.hstack(codes))


@contextlib.contextmanager
def spilling():
    """Solves while the search of a small problem has many tasks, nothing in memory, and a commit after each of them.

    The incumbents are poor, so that most nodes are kept and the optimum is found by the search.
    """
    ancestral = {"trials.FEWEST_EDGES": 0, "NODE_NS": -1e6}  # ancestral successors always seem to pay
    with (
        sized(COMMIT_ALWAYS | SMALL_SEARCH | ancestral | {"FEWEST_NODES": 4}),
        poor_incumbents(),
        fast_disk(),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(Room, "node_bytes", lambda room, threads: 0.0 if room.store else math.inf)
        yield


def session(folder, dataset, **options):
    """Solve from the checkpoint in `folder`, or from the start if there is none."""
    resume = read_manifest(folder) if (folder / MANIFEST).exists() else None
    return solve(dataset, run_folder=folder, resume=resume, **(OPTIONS | options))


def outcome(result):
    """What must be the same however often the run was interrupted."""
    counters = {name: result.stats[name] for name in COUNTERS}
    return result.status, result.network.parents, result.order, result.cost, result.lower_bound, counters


def before(calls, first=1):
    """The calls of a run, but for the last ones: while a machine is busy, a run may write a little more often."""
    return range(first, calls - 9)


def arrays(folder):
    """The files of arrays and the temporary files below a folder, by their names relative to it."""
    return {path.relative_to(folder).as_posix() for end in ("h5", "tmp") for path in folder.rglob(f"*.{end}")}


class SharedDisk(Disk):
    """A failing disk that tasks in several threads write to."""

    def __init__(self, root):
        super().__init__(root)
        self._lock = threading.RLock()

    def call(self, effect, half=lambda: None):
        with self._lock:
            return super().call(effect, half)
