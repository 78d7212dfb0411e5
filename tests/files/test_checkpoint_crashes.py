"""After a kill, a power loss or a full disk at any moment, the last commit is found or the one in flight, and no other.

A toy run of four generations stands for a solve: scores first, then layers, which stay, each with two files of a
frontier, which go with the next. It is made to fail at every call that changes the disk.
"""

import contextlib
import copy
import errno
import os
import random
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from disk import Disk, Killed, contents, restore
from runs import marked

from extbnsl.core.claims import Claim
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.files.arrays import write_arrays
from extbnsl.files.manifest import Manifest, RunState, commit, read_manifest, recover
from extbnsl.files.names import MANIFEST, MARK
from extbnsl.files.store import Store
from extbnsl.machine.workers import Workers

LAST = 3  # the generation that the toy run ends with
NOTHING = -1  # no generation has been committed
OTHERS = ("result.json", "log.jsonl", "solve.log", "lock", "notes.txt", ".hidden", "x.h5.txt", ".manifest.json.tmp")


# What is on disk is up to the `Disk` of a test; nobody needs to wait for the real one.
pytestmark = pytest.mark.usefixtures("fast_disk")


@pytest.fixture(scope="module")
def workers():
    with Workers(2) as pool:
        yield pool


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Each file of the toy run as it is when it holds its `arrays`, by name: always the same bytes."""
    folder = tmp_path_factory.mktemp("written")
    every = {name for generation in range(LAST + 1) for name in names(generation)}
    return {name: write_arrays(folder, name, arrays(name)) for name in every}


@pytest.fixture(params=["in the run directory", "in a scratch folder"])
def places(request, tmp_path):
    """A run directory that holds files of others, and the scratch folder of the run or None; both are on disk."""
    folder, scratch = tmp_path / "x.run", tmp_path / "x.run-00000001"
    folder.mkdir()
    for name in OTHERS:
        (folder / name).write_text("not the checkpoint's")
    return folder, None if request.param == "in the run directory" else marked(scratch)


@pytest.fixture
def found(places, workers, written):
    """A function that recovers, checks that all is there as it was written and no more, and returns the generation."""
    folder, scratch = places
    place = folder if scratch is None else scratch.folder

    def recovered():
        if not (folder / MANIFEST).exists():
            return NOTHING
        manifest = read_manifest(folder)
        store = recover(folder, manifest, 1 << 30, workers)  # which checks the files against the manifest
        generation = manifest.state.standing
        assert manifest == Manifest(state_of(generation), manifest.files, scratch)
        assert set(manifest.files) == {written[name] for name in names(generation)}
        left = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()} - {*OTHERS, MANIFEST, MARK}
        assert left == set(names(generation))
        assert set(OTHERS) <= set(os.listdir(folder)) <= {*OTHERS, MANIFEST, "layers", "runs", "scores.h5"}
        assert (store.folder, store.used) == (place, sum(file.bytes for file in manifest.files))
        return generation

    return recovered


class ToyRun:
    """A process that works on a run: from its checkpoint if there is one and there are workers, else from the start.

    `committed` is the last generation that is on disk for sure, `begun` the last that may be.
    """

    def __init__(self, places, workers=None):
        self.folder, self.scratch = places
        self.store = Store(self.folder if self.scratch is None else self.scratch.folder, 1 << 30)
        self.files, self.pending = (), None
        self.committed = self.begun = NOTHING
        if workers and (self.folder / MANIFEST).exists():
            manifest = read_manifest(self.folder)
            self.store = recover(self.folder, manifest, 1 << 30, workers)
            self.files = manifest.files
            self.committed = self.begun = manifest.state.standing

    def finish(self):
        """Go on to the last generation; after a failure, what failed is done again."""
        while self.committed < LAST:
            if self.pending is None:
                self.pending = self._write(self.committed + 1)
            self.begun = self.committed + 1
            commit(self.folder, self.store, self.pending)
            self.committed = self.begun
            self.files, self.pending = self.pending.files, None

    def _write(self, generation):
        """Write the files of a generation that are new."""
        kept = [file for file in self.files if not file.name.startswith("runs/")]
        new = sorted(set(names(generation)) - {file.name for file in kept})
        files = [write_arrays(self.store.folder, name, arrays(name)) for name in new]
        self.store.add(files)
        return Manifest(state_of(generation), (*kept, *files), self.scratch)


def state_of(generation):
    return RunState("solve", "0" * 64, Claim(), {}, {}, None, standing=generation)


def names(generation):
    """The files that the toy run has after a generation."""
    layers = [f"layers/c1-1-{k:02}-000000000000.h5" for k in range(1, generation + 1)]
    runs = [f"runs/c1-1-{generation:02}-000000000000-{part}.h5" for part in "12"] if generation else []
    return ["scores.h5", *layers, *runs]


def arrays(name):
    """What a file of the toy run holds."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return {"varset": rng.integers(0, 1 << 60, 20, dtype=np.uint64), "cost": rng.random(20)}


def calls_of_a_whole_run(places):
    """How many calls of the toy run change the disk, which is as before then."""
    disk = Disk(places[0].parent)
    before = contents(disk.root)
    with disk.watch():
        ToyRun(places).finish()
    restore(disk.root, before)
    return disk.calls


def crashed_runs(places, ways=(False,)):
    """The disk and the run after a kill at every call in turn; `ways`: before the call, after it (True)."""
    before = contents(places[0].parent)
    for call in range(1, calls_of_a_whole_run(places) + 1):
        for after in ways:
            yield crashed_run(places, call, after)
            restore(places[0].parent, before)


def crashed_run(places, call, after):
    """The disk and the run after a kill at this call."""
    disk, run = Disk(places[0].parent), ToyRun(places)
    with pytest.raises(Killed), disk.crash_at(call, after):
        run.finish()
    return disk, run


def manifest_of(places):
    """The generation in the manifest."""
    return read_manifest(places[0]).state.standing if (places[0] / MANIFEST).exists() else NOTHING


def test_a_run_that_is_never_disturbed(places, found):
    ToyRun(places).finish()
    assert found() == LAST


@pytest.mark.slow
def test_a_process_killed_at_any_call_leaves_the_last_commit_or_the_one_in_flight(places, found, workers):
    seen = set()
    for _, run in crashed_runs(places, (False, True)):
        generation = found()
        assert generation in (run.committed, run.begun)
        seen.add((generation, run.begun))
        ToyRun(places, workers).finish()
        assert found() == LAST
    assert {(k - 1, k) for k in range(LAST + 1)} | {(k, k) for k in range(LAST + 1)} <= seen


@pytest.mark.slow
def test_a_power_loss_at_any_call_leaves_the_last_commit_or_the_one_in_flight(places, found):
    seen = set()
    for disk, run in crashed_runs(places):
        for seed in range(4):
            restore(disk.root, disk.after_power_loss(random.Random(seed)))
            generation = found()
            assert generation in (run.committed, run.begun)
            seen.add((generation, run.begun))
    assert {(k - 1, k) for k in range(LAST + 1)} | {(k, k) for k in range(LAST + 1)} <= seen


@pytest.mark.slow
def test_what_a_recovery_has_found_stays_after_a_power_loss(places, found):
    """Even if the manifest had only just got its name when the process before was killed."""
    for disk, _ in crashed_runs(places):
        with disk.watch():
            generation = found()
        for seed in range(3):
            restore(disk.root, disk.after_power_loss(random.Random(seed)))
            assert found() == generation


@pytest.mark.slow
def test_a_recovery_killed_on_its_way_loses_nothing_in_a_power_loss(places, found):
    """Where it is most delicate: the manifest in flight has its name, and that may not be on disk."""
    doubtful = ((d, r) for d, r in crashed_runs(places) if manifest_of(places) == r.begun != r.committed)
    recoveries = 0
    for crashed, run in doubtful:
        there = contents(crashed.root)
        for call in range(1, 6):
            restore(crashed.root, there)
            disk = copy.deepcopy(crashed)
            with contextlib.suppress(Killed), disk.crash_at(call):
                found()
            for seed in range(4):
                restore(disk.root, disk.after_power_loss(random.Random(seed)))
                assert found() in (run.committed, run.begun)
        recoveries += 1
    assert recoveries > LAST


@pytest.mark.parametrize("seed", range(12))
def test_a_run_that_fails_again_and_again_loses_no_commit(places, found, workers, seed):
    """Kills, power losses and full disks one after the other, while it recovers too."""
    rng = random.Random(seed)
    disk = Disk(places[0].parent)
    committed = begun = NOTHING
    while committed < LAST:
        run = None
        try:
            with disk.watch(rng.randrange(1, 40), rng.choice(["before", "after", errno.ENOSPC])):
                run = ToyRun(places, workers)
                run.finish()
        except (Killed, BudgetError, InputError):  # not RunDirectoryError: nothing may be missing or damaged
            pass
        if run is not None:
            committed, begun = run.committed, run.begun
        if rng.random() < 0.5:
            disk.lose_power(rng)
        assert manifest_of(places) in (committed, begun)
    assert found() == LAST


@pytest.mark.slow
def test_a_full_disk_at_any_call_is_one_sentence_and_the_commit_can_be_repeated(places, found):
    before = contents(places[0].parent)
    failed = 0
    for call in range(1, calls_of_a_whole_run(places) + 1):
        run, disk = ToyRun(places), Disk(places[0].parent)
        with disk.fail_write(call, errno.ENOSPC):
            try:
                run.finish()
            except BudgetError as error:
                failed += 1
                sentence = re.fullmatch(r"(.*) cannot be written: the disk or quota is full; [^.]*\.", str(error))
                assert Path(sentence[1]).is_relative_to(disk.root)
        if run.committed < LAST:
            kept = contents(disk.root)
            assert found() in (run.committed, run.begun)
            restore(disk.root, kept)
            run.finish()
        run.store.keep_only(run.files)  # what could not be removed then
        assert run.store.used == sum(file.bytes for file in run.files)
        assert found() == LAST
        restore(disk.root, before)
    assert failed > 50


def test_a_commit_synchronises_what_is_new_and_nothing_else(tmp_path, workers):
    """However many files there are."""
    disk, store, files = Disk(tmp_path), Store(tmp_path, 1 << 30), ()
    counts = []
    for new in (0, 1, 300, 0):
        with disk.watch():
            added = [write_arrays(tmp_path, f"layers/c1-1-01-{len(files) + k:012x}.h5", {}) for k in range(new)]
        store.add(added)
        files = (*files, *added)
        counts.append(calls_of_a_commit(disk, store, files))
    nothing, one, many, nothing_again = counts
    assert nothing_again == nothing
    assert many == one + 299
    store = recover(tmp_path, read_manifest(tmp_path), 1 << 30, workers)
    assert calls_of_a_commit(disk, store, files) == nothing


def calls_of_a_commit(disk, store, files):
    with disk.watch():
        commit(disk.root, store, Manifest(state_of(0), files, None))
    return disk.calls


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EIO])
def test_a_folder_that_cannot_be_written_is_one_sentence(places, number):
    ToyRun(places).finish()
    store = Store(places[0], 1 << 30)
    disk = Disk(places[0].parent)
    with disk.watch():
        commit(places[0], store, Manifest(state_of(0), (), None))
    for call in range(1, disk.calls):  # the last removes the temporary file, which is gone
        before = contents(disk.root)
        with Disk(disk.root).fail_write(call, number), pytest.raises(InputError, match=r"manifest\.json.*choose"):
            commit(places[0], store, Manifest(state_of(0), (), None))
        assert contents(disk.root).keys() == before.keys()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_debris_that_cannot_be_removed_is_named(places, workers, number):
    ToyRun(places).finish()
    (places[0] / ".result.json.12.tmp").touch()
    disk = Disk(places[0].parent)
    sentence = rf"\.result\.json\.12\.tmp is left .*\({os.strerror(number)}\); make its folder writable"
    with disk.fail_write(3, number), pytest.raises(InputError, match=sentence):
        recover(places[0], read_manifest(places[0]), 1 << 30, workers)
