"""The disk budget binds every single write: however small it is, the working files never take more."""

import builtins
import contextlib
import io
import itertools
import math
import os
import threading
from unittest import mock

import numpy as np
import pytest
from portions import first
from survival import outcome, problem, session, spilling

from extbnsl.core.errors import BudgetError
from extbnsl.files import arrays as arrays_module
from extbnsl.files import names
from extbnsl.files.manifest import read_manifest
from extbnsl.proof.commits import Checkpoints
from extbnsl.search.layers import Room

BUDGETS = sorted({int(size) for size in np.geomspace(1, 2_000_000, 30)})
AMPLE = 1 << 30


class Meter:
    """The most that the files of a folder have taken after any write to one of them, without names or with one that is
    neither the log, the manifest, nor a part of the result."""

    def __init__(self, folder):
        self.folder, self.peak = folder, 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def watch(self):
        allocate = os.posix_fallocate

        def allocated(descriptor, at, size):
            allocate(descriptor, at, size)
            self.look()

        with (
            mock.patch.object(arrays_module, "open", self._open, create=True),
            mock.patch.object(os, "posix_fallocate", allocated),
        ):
            yield self

    def look(self):
        with self._lock:
            self.peak = max(self.peak, self._named() + self._nameless())

    def _open(self, file, mode):
        return _Watched(file, self.look) if mode == "wb" else builtins.open(file, mode)

    def _named(self):
        total = 0
        for path in self.folder.rglob("*"):
            name = path.relative_to(self.folder).as_posix()
            small = names.is_own(name) and not names.is_arrays(name)
            with contextlib.suppress(FileNotFoundError):  # a task may remove it now
                total += 0 if small or path.is_dir() or name == names.LOCK else path.stat().st_size
        return total

    def _nameless(self):
        """What open files in the folder take that have been deleted, each counted once."""
        found = {}
        for number in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                path = os.readlink(f"/proc/self/fd/{number}")
                if path.startswith(f"{self.folder}/") and path.endswith(" (deleted)"):
                    status = os.stat(int(number))
                    found[status.st_ino] = status.st_size
        return sum(found.values())


class _Watched(io.FileIO):
    """A file that is looked at after each write."""

    def __init__(self, file, look):
        super().__init__(file, "wb")
        self._look = look

    def write(self, data):
        super().write(data)
        self._look()


def metered(folder, dataset, disk, **options):
    """How a session ended, and the most that its working files took."""
    result = None
    with Meter(folder).watch() as meter, contextlib.suppress(BudgetError):
        result = session(folder, dataset, disk=disk, **options)
    assert meter.peak <= disk
    return result, meter.peak


KINDS = {  # bytes of memory for nodes; every how many chances to commit are taken
    "everything in files": (0, 5, {}),
    "two threads": (0, 5, {"threads": 2}),
    "layered parent graphs": (0, 5, {"parent_graph": "layered"}),
    "some nodes in memory": (1000, 5, {"threads": 2}),
    "closed layers go to files": (300, 1000, {}),
}


@contextlib.contextmanager
def taking(chances_taken, node_bytes):
    """Searches while they take one of so many chances to commit, and so many bytes of memory for nodes."""
    chances = itertools.count()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoints, "due", lambda commits: commits.possible and next(chances) % chances_taken == 0)
        patch.setattr(Room, "node_bytes", lambda room, threads: float(node_bytes) if room.store else math.inf)
        yield


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="which files are open cannot be told")
@pytest.mark.parametrize("kind", first(1, [*KINDS]))
def test_no_write_exceeds_the_budget_and_the_optimum_is_the_same(tmp_path, until_it_ends, kind):
    """The kinds share the budgets among them; each has the largest."""
    node_bytes, chances_taken, options = KINDS[kind]
    until_it_ends(spilling)()
    until_it_ends(taking)(chances_taken, node_bytes)
    dataset = problem(29)
    (tmp_path / "ample").mkdir()
    ample, peak = metered(tmp_path / "ample", dataset, AMPLE, **options)
    assert ample.status == "optimal"
    assert ample.stats["peak_disk_bytes"] == peak
    ends = []
    for disk in sorted({*BUDGETS[list(KINDS).index(kind) :: len(KINDS)], BUDGETS[-1]}):
        folder = tmp_path / str(disk)
        folder.mkdir()
        result, _ = metered(folder, dataset, disk, **options)
        ends.append("no network" if result is None else result.status)
        if ends[-1] != "optimal":
            assert read_manifest(folder)
            result, _ = metered(folder, dataset, AMPLE, **options)
        assert outcome(result)[:5] == outcome(ample)[:5]
    assert ends[0] != "optimal" == ends[-1]
