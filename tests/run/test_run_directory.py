"""Run directories: nothing of the user's is lost, two processes never share one, results are complete."""

import errno
import fcntl
import json
import os
import subprocess
import sys
import types

import numpy as np
import pytest
from cases import from_array
from patching import forbidden
from runs import commit, stopped

from extbnsl.core.claims import Claim
from extbnsl.core.errors import BudgetError, InputError, RunDirectoryError
from extbnsl.files import lock
from extbnsl.files.names import OUTPUTS
from extbnsl.networks.network import Network
from extbnsl.results import reading
from extbnsl.results.result import Result
from extbnsl.run import directory as directory_module


def contents(path):
    """The files below a folder by name."""
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(here):
    pass


def finished(path=None, source="wdbc.csv", overwrite=False):
    """The path of a run that wrote a log and a result."""
    with directory_module.create(path, source, overwrite) as run:
        run.begin()
        run.append("solve.log", "a line")
        run.write([("result.json", b"{}")])
    return run.path


@pytest.mark.parametrize(
    ("source", "name"),
    [("wdbc.csv", "wdbc"), ("/a/b/asia_10000.csv.gz", "asia_10000"), ("x.y.jkl", "x.y"), ("data", "data")],
)
def test_the_default_name_is_that_of_the_data(source, name):
    assert [str(finished(source=source)) for _ in range(3)] == [
        f"{name}.run",
        f"{name}-2.run",
        f"{name}-3.run",
    ]


def test_overwrite_without_a_path_replaces_the_first():
    assert str(finished()) == str(finished(overwrite=True)) == "wdbc.run"


def test_a_directory_that_is_not_empty_is_refused(here):
    path = finished(here / "r")
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    with pytest.raises(InputError, match=r"--overwrite.*--run-dir"):
        directory_module.create(path, "x")
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


def test_a_directory_with_a_run_to_resume_says_so(here):
    path = stopped(here / "a run")
    before = contents(path)
    with pytest.raises(InputError, match=rf"'extbnsl resume '{path}''.*--overwrite.*--run-dir"):
        directory_module.create(path, "x")
    assert contents(path) == before


def test_an_empty_directory_is_taken(here):
    (here / "r").mkdir()
    assert finished(here / "r") == here / "r"


@pytest.mark.parametrize(
    "foreign",
    [
        "notes.txt",
        "data.csv",
        "result.json.bak",
        ".git",
        "mine.h5",
        "scores.h5",
        "layers/mine",
        "runs/a/b.h5",
        ".x.1.tmp",
    ],
)
def test_overwrite_refuses_what_no_run_has_written(here, foreign):
    path = finished(here / "r")
    (path / foreign).mkdir(parents=True)
    with pytest.raises(InputError, match=foreign.removesuffix("/b.h5").replace(".", r"\.")):
        directory_module.create(path, "x", overwrite=True)
    assert (path / "result.json").read_bytes() == b"{}"


def test_overwrite_keeps_the_old_run_until_the_new_one_begins(here):
    path = finished(here / "r")
    (path / ".result.json.123.tmp").touch()  # what a killed process leaves
    with directory_module.create(path, "x", overwrite=True) as run:
        run.append("solve.log", "too early")
        assert (path / "solve.log").read_text() == "a line\n"
    assert (path / "result.json").exists()
    with directory_module.create(path, "x", overwrite=True) as run:
        run.begin()
        run.append("log.jsonl", "1")
        run.begin()
        run.append("log.jsonl", "2")
    assert sorted(os.listdir(path)) == ["lock", "log.jsonl", "solve.log"]
    assert (path / "log.jsonl").read_text() == "1\n2\n"


def test_overwrite_removes_the_checkpoint_before_wherever_its_files_are(here):
    scratch = here / "large" / "r-00000001"
    path = stopped(here / "r", scratch)
    (path / "layers").mkdir()
    for name in (
        "layers/c1-1-09-000000000000.h5",
        "bounds-1-1-1.h5",
        "status.json",
        "layers.png",
        ".manifest.json.7.tmp",
    ):
        (path / name).touch()
    (scratch / "mine.txt").touch()
    with directory_module.create(path, "x", overwrite=True) as run:
        assert (scratch / "scores.h5").exists()
        run.begin()
    assert sorted(contents(path)) == ["lock", "log.jsonl", "solve.log"]
    assert not (path / "layers").exists()
    assert [entry.name for entry in scratch.iterdir()] == ["mine.txt"]


def test_a_scratch_folder_that_cannot_be_used_is_refused_before_anything_is_made(here, forbidden):
    (here / "file").touch()
    for place in ("file", "none"):
        with pytest.raises(InputError, match=rf"--scratch-dir: .*{place}.*existing folder"):
            directory_module.create(here / "r", "x", scratch_dir=here / place)
    forbidden()
    with pytest.raises(InputError, match=r"--scratch-dir: .*no permission"):
        directory_module.create(here / "r", "x", scratch_dir=here)
    assert os.listdir(here) == ["file"]


def test_a_directory_that_cannot_be_written_is_refused(here):
    path = stopped(here / "r")
    before = contents(path)
    with forbidden(), pytest.raises(InputError, match="no permission"):
        directory_module.create(path, "x", overwrite=True)
    unwritable = forbidden(lambda place, mode: mode & os.W_OK)
    with unwritable, pytest.raises(InputError, match="cannot be written: no permission"):
        directory_module.reopen(path)
    assert contents(path) == before


def test_reopening_keeps_all_and_appends_to_the_logs(here):
    path = stopped(here / "r")
    with open(path / "log.jsonl", "a") as log:
        log.write('{"half a li')
    before = contents(path)
    with directory_module.reopen(path):
        pass
    assert contents(path) == before
    with directory_module.reopen(path) as run:
        run.append("solve.log", "more")
        run.begin()
        run.append("log.jsonl", "[]")
    assert (path / "solve.log").read_text() == "a line\nmore\n"
    assert (path / "log.jsonl").read_text() == '{}\n{"half a li\n[]\n'
    assert contents(path).keys() == before.keys()


def test_only_run_directories_are_reopened(here, forbidden):
    (here / "file").touch()
    (here / "empty").mkdir()
    for place, words in (("none", "does not exist"), ("file", "is a file"), ("empty", "no run directory")):
        with pytest.raises(InputError, match=words):
            directory_module.reopen(here / place)
    with pytest.raises(InputError, match="does not exist"):
        directory_module.reopen(here / ("long" * 100))
    forbidden()
    with pytest.raises(InputError, match="no permission to look"):
        directory_module.reopen(here)
    assert os.listdir(here / "empty") == []


def test_the_status_is_replaced_as_a_whole_once_the_run_has_begun(here, failing):
    with directory_module.create(here / "r", "x") as run:
        run.show("early")
        assert not (here / "r" / "status.json").exists()
        run.begin()
        run.show("one")
        run.show("two \udcff")
        assert (here / "r" / "status.json").read_text() == "two \\udcff"
        failing("pathlib.Path.replace", errno.ENOSPC)
        run.show("three")
    assert sorted(os.listdir(here / "r")) == ["lock", "log.jsonl", "solve.log", "status.json"]
    assert (here / "r" / "status.json").read_text() == "two \\udcff"


def test_what_a_resume_needs_is_found_and_removed_and_nothing_else(here):
    scratch = here / "large" / "r-00000001"
    path = stopped(here / "r", scratch)
    arrays = ("bounds-12-1-1.h5", "families-3-2.h5")
    for name in ("result.json", "network.bif", ".result.json.3.tmp", "notes.txt", "mine.h5", *arrays):
        (path / name).write_text(name)
    (scratch / "layers" / "c1-1-04-000000000000.h5").touch()
    found = directory_module.scratch_files(path)
    assert found[-1] == path / "manifest.json"
    names = {file.name for file in found}
    assert names == {
        "manifest.json",
        "scores.h5",
        "c1-1-03-000000000000.h5",
        "c1-1-04-000000000000.h5",
        ".result.json.3.tmp",
        *arrays,
    }
    directory_module.remove_scratch(path)
    assert directory_module.scratch_files(path) == []
    assert not scratch.exists()
    assert {"result.json", "network.bif", "notes.txt", "mine.h5", "log.jsonl", "solve.log"} <= contents(path).keys()


def test_a_damaged_manifest_or_a_scratch_folder_that_is_gone_hides_only_what_is_there(here):
    path = stopped(here / "r", here / "gone-00000001", names=())
    assert directory_module.scratch_files(path) == [path / "manifest.json"]
    commit(path)
    (path / "manifest.json").write_bytes(b"torn")
    assert len(directory_module.scratch_files(path)) == 4
    directory_module.remove_scratch(path)
    assert sorted(contents(path)) == ["lock", "log.jsonl", "solve.log"]


def test_files_that_cannot_be_deleted_are_named(here, failing):
    path = stopped(here / "r")
    failing("pathlib.Path.unlink", errno.EPERM)
    with pytest.raises(InputError, match=r"h5 cannot be deleted"):
        directory_module.remove_scratch(path)


def test_a_run_that_never_begins_leaves_no_trace(here):
    (here / "mine").mkdir()
    with directory_module.create(None, "wdbc.csv"), directory_module.create(here / "mine", "x"):
        assert (here / "wdbc.run" / "lock").exists()
    assert os.listdir(here) == ["mine"]
    assert directory_module.create(here / "mine", "x").path == here / "mine"  # a lock alone is no run


def test_a_second_process_is_told_who_holds_the_directory(here):
    path = finished(here / "r")
    code = (
        "import sys; from pathlib import Path; from extbnsl.run import directory\n"
        "from extbnsl.core.errors import RunDirectoryError\n"
        "try: directory.create(Path(sys.argv[1]), 'x', True)\n"
        "except RunDirectoryError as error: print(error)"
    )
    with directory_module.create(path, "x", overwrite=True):
        shown = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert f"in use by another process (id {os.getpid()})" in shown.stdout
    assert (path / "result.json").exists()


def test_the_holder_is_known_without_holding(here, failing):
    assert lock.holder(here).holds is False
    with directory_module.create(here / "r", "x") as run:
        run.begin()
        held = lock.holder(here / "r")
        assert (held.holds, held.process) == (True, os.getpid())
    assert lock.holder(here / "r").holds is False
    failing("fcntl.flock", errno.ENOLCK)
    assert lock.holder(here / "r").holds is None
    failing("os.open", errno.EACCES)
    assert lock.holder(here / "r").holds is None


def test_a_lock_that_someone_only_looks_at_is_waited_for(here, monkeypatch):
    path = finished(here / "r")
    looking = os.open(path / "lock", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr(lock.time, "sleep", lambda seconds: os.close(looking))
    with directory_module.reopen(path) as run:
        assert run.path == path


def test_the_same_process_cannot_hold_it_twice(here):
    with directory_module.create(here / "r", "x"), pytest.raises(RunDirectoryError, match="in use"):
        directory_module.create(here / "r", "x")


def test_file_systems_without_locks_get_a_warning(here, failing):
    failing("fcntl.flock", errno.ENOLCK)
    with directory_module.create(here / "r", "x") as run:
        assert "without locks" in run.warnings[0]


def test_places_that_cannot_be_written(here, failing):
    (here / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        directory_module.create(here / "file", "x")
    with pytest.raises(InputError, match=r"no/r cannot be written.*create it first"):
        directory_module.create(here / "no" / "r", "x")
    failing("os.mkdir", errno.EACCES)
    for path in (None, here / "r"):
        with pytest.raises(InputError, match="no permission"):
            directory_module.create(path, "wdbc.csv")


def test_a_full_disk_costs_log_lines_but_not_silently_a_result(here, failing):
    with directory_module.create(here / "r", "x") as run:
        run.begin()
        failing("os.write", errno.ENOSPC)
        failing("os.fsync", errno.ENOSPC)
        run.append("solve.log", "lost")
        with pytest.raises(BudgetError, match="full"):
            run.write([("result.json", b"{}")])
    assert sorted(os.listdir(here / "r")) == ["lock", "log.jsonl", "solve.log"]


def outputs(document, network, dataset):
    """The files of a result of which nothing else is known."""
    told = types.SimpleNamespace(network=network, dataset=dataset, claim=Claim(), posterior=None)
    return Result.files(told, document)


DOCUMENT = {"score": "mdl", "cost": 1.5, "lower_bound": float("-inf"), "nodes": np.int64(3)}
NETWORK = Network(("a", "b"), ((), (0,)))


def test_outputs_with_data():
    dataset = from_array(np.array([[0, 0], [0, 1], [1, 1]]), ["a", "b"])
    files = dict(outputs(DOCUMENT, NETWORK, dataset))
    assert sorted(files) == sorted(OUTPUTS)
    assert json.loads(files["result.json"]) == {"score": "mdl", "cost": 1.5, "lower_bound": None, "nodes": 3}
    document = json.loads(files["network.json"])
    assert document["arcs"] == [["a", "b"]]
    assert document["tables"]["b"] == [[0.5, 0.5], [0.0, 1.0]]
    without, with_arc = ((2 * np.log(1.5) + np.log(3)) + np.log(3) / 2, 2 * np.log(2) + np.log(3))
    (strength,) = document["arc_strengths"]
    assert (strength.pop("from"), strength.pop("to")) == ("a", "b")
    assert strength["cost_of_removal"] == pytest.approx(without - with_arc)
    assert strength["cost_of_reversal"] == pytest.approx(0)
    assert b'"a" -> "b"' in files["network.dot"]
    assert b"probability ( b | a )" in files["network.bif"]


def test_without_data_there_are_no_parameters():
    files = dict(outputs(DOCUMENT, NETWORK, None))
    assert "network.bif" not in files
    assert json.loads(files["network.json"])["tables"] is None


def test_the_result_is_out_before_anything_else_is_computed(here):
    with directory_module.create(here / "r", "x") as run, pytest.raises(AttributeError):
        run.write(outputs(DOCUMENT, None, None))
    assert (here / "r" / "result.json").exists()


def test_read_result(here):
    path = finished(here / "r")
    (path / "result.json").write_text('{"cost": 1}')
    assert reading.read_result(path) == reading.read_result(path / "result.json") == {"cost": 1}
    with pytest.raises(InputError, match=r"none.json does not exist"):
        reading.read_result(here / "none.json")
    for text in ("", '{"cost": ', "[1]", "\xff"):
        (path / "result.json").write_bytes(text.encode("latin-1"))
        with pytest.raises(RunDirectoryError, match="damaged"):
            reading.read_result(path)
