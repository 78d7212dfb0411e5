"""Run directories: nothing of the user's is lost, two processes never share one, results are complete."""

import errno
import fcntl
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from extbnsl import run_directory
from extbnsl.data import from_array
from extbnsl.errors import BudgetError, InputError, RunDirectoryError
from extbnsl.network import Network


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Every test runs in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def finished(path=None, source="wdbc.csv", overwrite=False):
    """The path of a run that wrote a log and a result."""
    with run_directory.create(path, source, overwrite) as run:
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
        run_directory.create(path, "x")
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


def test_an_empty_directory_is_taken(here):
    (here / "r").mkdir()
    assert finished(here / "r") == here / "r"


@pytest.mark.parametrize("foreign", ["notes.txt", "data.csv", "result.json.bak", ".git"])
def test_overwrite_refuses_what_no_run_has_written(here, foreign):
    path = finished(here / "r")
    (path / foreign).mkdir()
    with pytest.raises(InputError, match=foreign.replace(".", r"\.")):
        run_directory.create(path, "x", overwrite=True)
    assert (path / "result.json").read_bytes() == b"{}"


def test_overwrite_keeps_the_old_run_until_the_new_one_begins(here):
    path = finished(here / "r")
    (path / ".result.json.123.tmp").touch()  # what a killed process leaves
    with run_directory.create(path, "x", overwrite=True) as run:
        run.append("solve.log", "too early")
        assert (path / "solve.log").read_text() == "a line\n"
    assert (path / "result.json").exists()
    with run_directory.create(path, "x", overwrite=True) as run:
        run.begin()
        run.append("log.jsonl", "1")
        run.begin()
        run.append("log.jsonl", "2")
    assert sorted(os.listdir(path)) == ["lock", "log.jsonl", "solve.log"]
    assert (path / "log.jsonl").read_text() == "1\n2\n"


def test_a_run_that_never_begins_leaves_no_trace(here):
    (here / "mine").mkdir()
    with run_directory.create(None, "wdbc.csv"), run_directory.create(here / "mine", "x"):
        assert (here / "wdbc.run" / "lock").exists()
    assert os.listdir(here) == ["mine"]
    assert run_directory.create(here / "mine", "x").path == here / "mine"  # a lock alone is no run


def test_a_second_process_is_told_who_holds_the_directory(here):
    path = finished(here / "r")
    code = (
        "import sys; from pathlib import Path; from extbnsl import run_directory\n"
        "from extbnsl.errors import RunDirectoryError\n"
        "try: run_directory.create(Path(sys.argv[1]), 'x', True)\n"
        "except RunDirectoryError as error: print(error)"
    )
    with run_directory.create(path, "x", overwrite=True):
        shown = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert f"in use by another process (id {os.getpid()})" in shown.stdout
    assert (path / "result.json").exists()


def test_the_same_process_cannot_hold_it_twice(here):
    with run_directory.create(here / "r", "x"), pytest.raises(RunDirectoryError, match="in use"):
        run_directory.create(here / "r", "x")


def test_file_systems_without_locks_get_a_warning(here, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with run_directory.create(here / "r", "x") as run:
        assert "without locks" in run.warnings[0]


def test_places_that_cannot_be_written(here, monkeypatch):
    (here / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        run_directory.create(here / "file", "x")
    with pytest.raises(InputError, match=r"no/r cannot be written.*create it first"):
        run_directory.create(here / "no" / "r", "x")

    def refuse(*_, **__):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "mkdir", refuse)
    for path in (None, here / "r"):
        with pytest.raises(InputError, match="no permission"):
            run_directory.create(path, "wdbc.csv")


def test_a_full_disk_costs_log_lines_but_not_silently_a_result(here, monkeypatch):
    with run_directory.create(here / "r", "x") as run:
        run.begin()

        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "write", full)
        monkeypatch.setattr(os, "fsync", full)
        run.append("solve.log", "lost")
        with pytest.raises(BudgetError, match="full"):
            run.write([("result.json", b"{}")])
    assert sorted(os.listdir(here / "r")) == ["lock", "log.jsonl", "solve.log"]


def a_result(dataset):
    names = ("a", "b")
    return SimpleNamespace(
        network=Network(names, ((), (0,))),
        dataset=dataset,
        cost=1.5,
        document=lambda command: {"command": command, "lower_bound": float("-inf"), "nodes": np.int64(3)},
    )


def test_outputs_with_data():
    dataset = from_array(np.array([[0, 0], [0, 1], [1, 1]]), ["a", "b"])
    files = dict(run_directory.outputs(a_result(dataset), "extbnsl solve x"))
    assert sorted(files) == sorted(run_directory.OUTPUTS)
    assert json.loads(files["result.json"]) == {"command": "extbnsl solve x", "lower_bound": None, "nodes": 3}
    document = json.loads(files["network.json"])
    assert document["arcs"] == [["a", "b"]]
    assert document["tables"]["b"] == [[0.5, 0.5], [0.0, 1.0]]
    assert b'"a" -> "b"' in files["network.dot"]
    assert b"probability ( b | a )" in files["network.bif"]


def test_without_data_there_are_no_parameters():
    files = dict(run_directory.outputs(a_result(None), ""))
    assert "network.bif" not in files
    assert json.loads(files["network.json"])["tables"] is None


def test_the_result_is_out_before_anything_else_is_computed(here):
    broken = a_result(None)
    broken.network = None
    with run_directory.create(here / "r", "x") as run, pytest.raises(AttributeError):
        run.write(run_directory.outputs(broken, ""))
    assert (here / "r" / "result.json").exists()


def test_read_result(here):
    path = finished(here / "r")
    (path / "result.json").write_text('{"cost": 1}')
    assert run_directory.read_result(path) == run_directory.read_result(path / "result.json") == {"cost": 1}
    with pytest.raises(InputError, match=r"none.json does not exist"):
        run_directory.read_result(here / "none.json")
    for text in ("", '{"cost": ', "[1]", "\xff"):
        (path / "result.json").write_bytes(text.encode("latin-1"))
        with pytest.raises(RunDirectoryError, match="damaged"):
            run_directory.read_result(path)
