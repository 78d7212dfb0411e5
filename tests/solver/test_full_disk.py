"""A disk that is full from some write on: the run ends in good order, and goes on when there is space again."""

import builtins
import contextlib
import errno
import io
import itertools
import json
import math
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from disk import path_of
from flat import solve
from patching import kept_on_disk
from portions import first, some
from survival import SharedDisk, arrays, outcome, problem, session, spilling

from extbnsl.cli import main
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import Warned
from extbnsl.files import arrays as arrays_module
from extbnsl.files import atomic as atomic_module
from extbnsl.files.manifest import read_manifest
from extbnsl.files.names import MANIFEST, MARK
from extbnsl.files.store import Store
from extbnsl.parents.exhaustive.lattice import Counts
from extbnsl.parents.exhaustive.state import Level, start_enumeration
from extbnsl.parents.exhaustive.stored import write_enumeration
from extbnsl.run import directory as directory_module


@pytest.fixture(scope="module", autouse=True)
def _small():
    solve(problem())  # loads the kernels
    with spilling():
        yield


def full():
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FullDisk(SharedDisk):
    """A disk with room for so many writes of storage; of those after them half is done."""

    def __init__(self, root, room):
        super().__init__(root)
        self.writes, self._room = 0, room

    def call(self, effect, half=None):
        if half is not None:
            self.writes += 1
            if self.writes > self._room:
                half()
                raise full()
        return super().call(effect, half or (lambda: None))


def undisturbed(folder, dataset):
    """The outcome of a run in `folder` that nothing happens to."""
    folder.mkdir()
    return outcome(session(folder, dataset))


def test_without_disk_there_are_no_working_files_and_no_checkpoint_stops_the_run(tmp_path):
    result = solve(problem(), run_folder=tmp_path, disk=0)
    assert result.status == "optimal"
    assert result.stats["peak_disk_bytes"] == 0
    assert arrays(tmp_path) == set()


@pytest.mark.slow
def test_full_from_any_write_of_a_solve_on(tmp_path):
    dataset, ends = problem(), []
    whole = FullDisk(tmp_path / "undisturbed", math.inf)
    whole.root.mkdir()
    with whole.watch():
        expected = outcome(session(whole.root, dataset))
    for room in some(range(0, whole.writes + 9, 3), 10):  # while a machine is busy, a run may write a little more
        disk = FullDisk(tmp_path / str(room), room)
        disk.root.mkdir()
        warnings = []
        with disk.watch():
            try:
                result = session(disk.root, dataset, observer=warnings.append)
            except BudgetError as error:
                ends.append(re.sub(".*manifest.json cannot be written: the disk .*", "no result", str(error)))
                assert not list(disk.root.iterdir())
            else:
                ends.append(result.status)
                assert result.lower_bound <= expected[3] <= result.cost
                if disk.writes <= room:
                    break
                assert "full" in [event.message for event in warnings if isinstance(event, Warned)][-1]
                assert {file.name for file in read_manifest(disk.root).files} <= arrays(disk.root)
        assert outcome(session(disk.root, dataset)) == expected
        assert not arrays(disk.root)
    optimal = ends.count("optimal")
    assert ends == ["no result"] + ["disk_limit"] * (len(ends) - 1 - optimal) + ["optimal"] * optimal
    assert optimal <= 2
    assert len(ends) > 8


@pytest.mark.slow
def test_full_when_memory_has_no_room(tmp_path, until_it_ends, failing):
    """The disk takes only so many of the arrays that do not fit into memory, and more of them when the run goes on."""
    dataset, taken, ends = problem(), itertools.count(), []
    expected = undisturbed(tmp_path / "undisturbed", dataset)
    failing("os.posix_fallocate", errno.ENOSPC, lambda *given: next(taken) >= room)
    until_it_ends(kept_on_disk)()
    for room in itertools.count(0, 7):
        folder, taken = tmp_path / str(room), itertools.count()
        folder.mkdir()
        try:
            ends.append(session(folder, dataset).status)
        except BudgetError as error:
            ends.append(str(error).partition(": ")[2])
        if ends[-1] == "optimal":
            break
        taken = itertools.count(-1_000_000)
        assert outcome(session(folder, dataset)) == expected
        assert not arrays(folder)
    assert set(ends) == {"the disk or quota is full; free some space and try again.", "disk_limit", "optimal"}


def test_full_in_the_middle_of_counting_leaves_no_half_of_it(tmp_path, sizes):
    sizes(PIECE_BYTES=20)
    enumeration = start_enumeration(3)
    enumeration = replace(enumeration, costs=(np.zeros(5),) * 3, parents=(np.zeros((5, 1), np.uint64),) * 3)
    counts = Counts(np.zeros((1, 2), np.uint64), np.zeros(9))
    enumeration = replace(enumeration, level=Level(0, counts, counts, np.zeros((9, 1), np.uint64)))
    for room in itertools.count():
        disk = FullDisk(tmp_path / str(room), room)
        disk.root.mkdir()
        store = Store(disk.root, 1 << 30)
        with disk.watch():
            try:
                counting = write_enumeration(enumeration, store, lambda: False, lambda size: None)
                break
            except BudgetError:
                assert not arrays(disk.root)
                assert store.used == 0
    assert len(counting.families) == 3
    assert room == len(counting.files) == len(arrays(disk.root)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("disk", [1, 60_000, 110_000])
def test_a_small_disk_budget_can_be_raised(tmp_path, disk):
    (tmp_path / "r").mkdir()
    assert session(tmp_path / "r", problem(29), disk=disk).status == "disk_limit"
    expected = undisturbed(tmp_path / "undisturbed", problem(29))
    assert outcome(session(tmp_path / "r", problem(29), disk=1 << 30)) == expected


@pytest.mark.slow
def test_what_a_run_has_on_disk_is_not_taken_off_what_is_free_for_it(tmp_path, monkeypatch):
    dataset = problem(29)
    expected = undisturbed(tmp_path / "undisturbed", dataset)
    (tmp_path / "r").mkdir()
    session(tmp_path / "r", dataset, disk=110_000)
    held = sum(file.bytes for file in read_manifest(tmp_path / "r").files)
    free = 170_000 - held
    assert session(tmp_path / "r", dataset, disk=free).status == "disk_limit"
    monkeypatch.setattr("extbnsl.machine.budgets.default_disk", lambda folder: free)
    assert outcome(session(tmp_path / "r", dataset)) == expected


class FullFileSystem:
    """Room below a folder until so many writes of one kind are done, then for none of any kind; `names` are those of
    the files that they went to. How often the log and the status are written depends on the time."""

    def __init__(self, root, kind=None, room=0):
        self.root, self.names, self._full = root, [], False
        self._kind, self._room = kind, room

    def write(self, path, data, write):
        if self.root not in Path(path).parents:
            return write(data)
        name = (
            Path(path).name.split(".")[0].split("-")[0] or Path(path).name.split(".")[1]
        )  # temporary ones begin with a dot
        self.names.append(Path(path).parent.name if Path(path).parent.name in ("layers", "runs") else name)
        self._full |= self.names[-1] == self._kind and self.names.count(self._kind) > self._room
        if not self._full:
            return write(data)
        write(data[: len(data) // 2])
        raise full()

    @contextlib.contextmanager
    def watch(self):
        write, write_bytes = os.write, Path.write_bytes
        whole = self

        class File(io.FileIO):
            def write(self, data):
                return whole.write(path_of(self.fileno()), data, super().write)

        def open_file(file, mode):
            return File(file, mode) if mode == "wb" else builtins.open(file, mode)

        with (
            mock.patch.object(os, "write", lambda f, data: self.write(path_of(f), data, lambda part: write(f, part))),
            mock.patch.object(
                Path, "write_bytes", lambda p, data: self.write(p, data, lambda part: write_bytes(p, part))
            ),
            mock.patch.object(arrays_module, "open", open_file, create=True),
            mock.patch.object(atomic_module, "open", open_file, create=True),
            mock.patch.object(directory_module, "open", open_file, create=True),
        ):
            yield


FLAGS = ("--threads", "1", "--memory", "16MiB", "--lower-bound", "pattern", "--no-path-extension")
KINDS = ("lock", "log", "solve", "status", "manifest", "scores", "bounds", "layers", "runs", "result", "network")


def data_file(folder, dataset):
    """The data set as a file in `folder`."""
    path = folder / "data.csv"
    np.savetxt(path, dataset.codes, fmt="s%d", delimiter=",", header=",".join(dataset.names), comments="")
    return str(path)


def result_of(run):
    document = json.loads((run / "result.json").read_text())
    return [document[key] for key in ("status", "cost", "parents", "order")]


def assert_ended_well(code, err, run):
    """One sentence for the user if there is no result; if there is one, it is whole."""
    assert code in (0, 10, 20), err
    assert "Traceback" not in err
    said = [line for line in err.splitlines() if line.startswith("extbnsl: ")]
    assert len(said) == (code == 20)
    if code == 20:
        assert "the disk or quota is full; free some space and try again." in said[0]
    else:
        assert result_of(run)[0] == ("optimal" if code == 0 else "disk_limit")


@pytest.mark.parametrize("kind", first(1, [*KINDS]))
def test_full_when_a_session_writes_a_file_of_any_kind(tmp_path, capsys, kind):
    data = data_file(tmp_path, problem())
    files = FullFileSystem(tmp_path)
    with files.watch():
        assert main(["solve", data, "--run-dir", f"{tmp_path / 'undisturbed'}", *FLAGS]) == 0
    expected = result_of(tmp_path / "undisturbed")
    times = files.names.count(kind)
    codes = set()
    for room in sorted({0, times // 2, times - 1}):
        run = tmp_path / f"{room}"
        capsys.readouterr()
        with FullFileSystem(tmp_path, kind, room).watch():
            code = main(["solve", data, "--run-dir", str(run), *FLAGS])
        assert_ended_well(code, capsys.readouterr().err, run)
        codes.add(code)
        if (run / MANIFEST).exists():
            assert main(["status", str(run)]) == 0
            assert main(["resume", str(run), "--quiet"]) == 0
            assert result_of(run) == expected
    assert codes & {10, 20}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scores", "bounds", "layers", "runs"])
def test_full_scratch_disk(tmp_path, capsys, kind):
    data, large = data_file(tmp_path, problem()), tmp_path / "large"
    large.mkdir()
    solving = ["solve", data, "--scratch-dir", str(large), *FLAGS, "--run-dir"]
    files = FullFileSystem(large)
    with files.watch():
        assert main([*solving, f"{tmp_path / 'undisturbed'}"]) == 0
    assert set(files.names) == {"scores", "bounds", "pieces", "layers", "runs", MARK}
    times = files.names.count(kind)
    for room in {0, times // 2, times - 1}:
        run = tmp_path / f"{room}"
        capsys.readouterr()
        with FullFileSystem(large, kind, room).watch():
            code = main([*solving, str(run)])
        assert_ended_well(code, capsys.readouterr().err, run)
        assert code == 10
        assert not arrays(run)
        assert arrays(large) == {f"{next(large.iterdir()).name}/{file.name}" for file in read_manifest(run).files}
        assert main(["status", str(run)]) == 0
        assert main(["resume", str(run), "--quiet"]) == 0
        assert result_of(run) == result_of(tmp_path / "undisturbed")
        assert not list(large.iterdir())


@pytest.fixture
def small_disk(tmp_path):
    """A function that mounts a file system of so many bytes, or gives the one that it has mounted so many."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = []

    def resized(size):
        options = ("remount," if mounted else "") + f"size={size}"
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode and not mounted:
            pytest.skip(f"file systems cannot be mounted here: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        mounted.append(size)
        return place

    yield resized
    if mounted:
        subprocess.run(["umount", "-l", str(place)], check=True)


LARGE = ("--disk", "1GiB")  # more than the file system has


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount file systems")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "budget"),
    [(60 << 10, ()), (180 << 10, LARGE), (4 << 10, LARGE), (4 << 10, ()), (120 << 10, ()), (220 << 10, LARGE)],
)
def test_a_small_file_system_that_grows(tmp_path, capsys, small_disk, size, budget):
    data = data_file(tmp_path, problem(29))
    assert main(["solve", data, "--run-dir", f"{tmp_path / 'undisturbed'}", *FLAGS]) == 0
    capsys.readouterr()
    run = small_disk(size) / "r"
    code = main(["solve", data, "--run-dir", str(run), *FLAGS, *budget])
    assert_ended_well(code, capsys.readouterr().err, run)
    assert code in (10, 20)
    small_disk(64 << 20)
    again = ["resume", str(run)] if (run / MANIFEST).exists() else ["solve", data, "--run-dir", str(run), "--overwrite"]
    assert main([*again, *(FLAGS if again[0] == "solve" else ("--disk", "32MiB")), "--quiet"]) == 0
    assert result_of(run) == result_of(tmp_path / "undisturbed")
    assert not arrays(run)
