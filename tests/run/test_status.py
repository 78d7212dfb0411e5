"""What others can tell of a run: while it works, when it ended in whatever way, and from damaged files."""

import contextlib
import errno
import json
import os
import re
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runs import commit, stopped

from extbnsl.cli import main
from extbnsl.core import compiling
from extbnsl.core.errors import InputError
from extbnsl.core.events import (
    Committed,
    IncumbentFound,
    LayerAdvanced,
    LayerEnded,
    StageAdvanced,
    StageEnded,
    StageStarted,
)
from extbnsl.files.manifest import read_manifest
from extbnsl.run import directory as directory_module
from extbnsl.run.progress import StatusFile, run_clock
from extbnsl.run.status import finished_result, read_status

LAYER = LayerEnded(12, 31, 1, 1, 9, 311_200_000, 51_800_000, 30_000_000, 6 << 30, 21 << 30, 6589.441, 6602.578)
ADVANCE = LayerAdvanced(13, 31, 1, 1, 0.42, 100, 50, 7 << 30, 22 << 30)


class Clock:
    """A clock that only the test moves."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def row(status, subject):
    """What the lines say on a subject, None if nothing."""
    found = [line[12:].strip() for line in status.lines() if line.split()[0] == subject]
    assert len(found) <= 1
    return found[0] if found else None


@contextlib.contextmanager
def session(path):
    """A process, this one, that works on a run which is there; what keeps its status."""
    with directory_module.reopen(path) as run:
        run.begin()
        yield StatusFile(run.show, run_clock())


@pytest.fixture
def path(tmp_path):
    """A run directory with a checkpoint after 100 seconds, and no status.json."""
    return stopped(tmp_path / "r")


@pytest.fixture
def told(path):
    """One whose last session told its end."""
    with session(path) as status:
        status(LAYER)
        status.end("memory_limit")
    return path


def test_it_is_written_when_something_ends_and_else_once_a_second():
    clock, written = Clock(), []
    status = StatusFile(lambda text: written.append(json.loads(text)), clock)
    status(StageStarted("scores", "counting"))
    for step in range(8):
        clock.now += 0.25
        status(StageAdvanced("scores", step, 10, "varsets"))
    assert [record["doing"] for record in written] == [
        "scores: counting",
        "scores: 3 of 10 varsets, 30%",
        "scores: 7 of 10 varsets, 70%",
    ]
    assert (written[1]["stage"], written[1]["elapsed"], written[1]["ended"]) == ("scores", 1001, None)
    clock.now += 0.125
    status(StageEnded("scores", 1.0, ""))
    clock.now += 0.125
    status(LAYER)
    assert len(written) == 5
    assert written[4]["doing"] == "search: layer 13 of 31"
    assert {key: written[4][key] for key in ("kept", "spilled", "memory", "upper_bound")} == {
        "kept": 51_800_000,
        "spilled": 30_000_000,
        "memory": 6 << 30,
        "upper_bound": 6602.578,
    }
    for _ in range(100):
        status(LAYER)
    assert len(written) == 5


def test_a_beat_writes_what_was_passed_over():
    clock, written = Clock(), []
    status = StatusFile(lambda text: written.append(json.loads(text)), clock)
    for event in (StageStarted("search", ""), LAYER, ADVANCE, Committed(0.5, 23 << 30), IncumbentFound(9.0)):
        status(event)
    clock.now += 0.5
    status.beat()
    assert len(written) == 2
    last = written[1]
    assert last["doing"].startswith("search: layer 13 of 31, 42%")
    assert (last["layer"], last["done"], last["memory"], last["disk"]) == (12, 0.42, 7 << 30, 23 << 30)
    assert (last["committed"], last["elapsed"], last["ended"]) == (1000, 1000.5, None)
    status.end("optimal")
    assert written[2]["ended"] == "optimal"
    assert written[2].keys() == written[0].keys()


def test_it_tells_what_compiling_took_before_and_now(monkeypatch):
    written = []
    monkeypatch.setattr(compiling, "_state", compiling.Compiling(seconds=2.5))
    status = StatusFile(lambda text: written.append(json.loads(text)), Clock(), compiled=10.0)
    status.beat()
    assert written[0]["compiling"] == 12.5


def test_one_of_an_earlier_version_does_not_tell_of_compiling(told):
    file = told / "status.json"
    document = json.loads(file.read_text())
    del document["compiling"]
    file.write_text(json.dumps(document))
    status = read_status(told)
    assert (status.document["compiling"], status.document["notes"]) == (None, [])
    assert status.document["generated"] is not None


def test_a_run_that_works(path):
    with session(path) as keeper:
        for event in (LAYER, ADVANCE, Committed(1.0, 5 << 30)):
            keeper(event)
        keeper.beat()
        status = read_status(path)
    assert (status.state, status.document["process"], status.resume) == ("running", os.getpid(), None)
    assert row(status, "state") == f"running, process {os.getpid()}"
    assert row(status, "layer") == "12 of 31: 311.2M generated, 51.8M kept, 30.0M spilled"
    assert row(status, "bounds") == "6589.441000 to 6602.578000 (gap 0.20%)"
    assert row(status, "disk") == "5.0GiB"
    assert "7.0GiB of it the solver's own" in row(status, "memory")
    assert row(status, "checkpoint") == "at 0:00:00"
    assert row(status, "updated") == "0 s ago"
    assert row(status, "note") is None
    assert row(status, "doing").startswith("search: layer 13 of 31, 42%")


def test_several_components_and_another_machine(path):
    with session(path) as keeper:
        keeper(LayerEnded(2, 7, 3, 5, 1, 2, 3, 0, 5, 6, 1.0, 2.0))
        document = json.loads((path / "status.json").read_text())
        (path / "status.json").write_text(json.dumps(document | {"host": "elsewhere"}))
        status = read_status(path)
    assert row(status, "layer") == "2 of 7, component 3 of 5: 2 generated, 3 kept"
    assert row(status, "state").endswith(" on elsewhere")


def test_a_run_that_has_not_begun_to_write(told, tmp_path):
    with directory_module.create(tmp_path / "new", "data.csv"):
        status = read_status(tmp_path / "new")
    assert (status.state, row(status, "doing"), status.document["notes"]) == ("running", "starting", [])
    document = json.loads((told / "status.json").read_text())
    (told / "status.json").write_text(json.dumps(document | {"process": os.getpid() + 1}))
    with directory_module.reopen(told):
        status = read_status(told)
    assert (status.state, row(status, "doing"), row(status, "layer")) == ("running", "starting", None)


def test_a_process_that_lives_but_does_not_write_gets_a_note(path):
    with session(path) as keeper:
        keeper(LAYER)
        now = os.stat(path / "status.json").st_mtime
        assert not read_status(path, lambda: now + 30).document["notes"]
        status = read_status(path, lambda: now + 3600)
    assert "suspended" in row(status, "note")
    assert row(status, "updated") in ("1:00:00 ago", "0:59:59 ago")


def test_a_run_that_stopped_says_how_to_go_on(told):
    status = read_status(told)
    assert (status.state, status.ended, status.document["phase"]) == ("stopped", "memory_limit", "search")
    assert row(status, "state") == "stopped: memory limit"
    assert row(status, "continue") == f"extbnsl resume {told}"
    assert row(status, "doing") is None


def test_the_disk_of_a_run_that_has_ended_is_that_of_its_checkpoint(told):
    files = read_manifest(told).files
    assert row(read_status(told), "disk") == f"{sum(file.bytes for file in files)}B"
    (told / "manifest.json").unlink()  # as clean does
    assert row(read_status(told), "disk") == "0B"


def test_before_a_search_the_bounds_are_those_of_the_result(path):
    commit(path, phase="counting", lower_bound=None, upper_bound=None)
    assert row(read_status(path), "bounds") is None
    (path / "result.json").write_text(json.dumps({"status": "time_limit", "lower_bound": 3.0, "upper_bound": 6.0}))
    assert row(read_status(path), "bounds") == "3.000000 to 6.000000 (gap 50.00%)"
    commit(path)
    assert row(read_status(path), "bounds") == "10.000000 to 20.000000 (gap 50.00%)"


def test_a_scratch_folder_that_is_not_there_gets_a_note(tmp_path):
    scratch = tmp_path / "mounted-00000001"
    stopped(tmp_path / "r", scratch)
    assert row(read_status(tmp_path / "r"), "note") is None
    scratch.rename(tmp_path / "elsewhere")
    assert f"scratch folder {scratch} is not there; bring it back" in row(read_status(tmp_path / "r"), "note")


def test_a_failure_is_told_as_it_was(path):
    with session(path) as keeper:
        keeper.end("failed: /a_b/scores.h5 cannot be written: the disk is full.")
    assert row(read_status(path), "state") == "stopped: failed: /a_b/scores.h5 cannot be written: the disk is full."


def test_a_run_that_was_killed(path):
    with session(path) as keeper:
        keeper(LAYER)
    status = read_status(path)
    assert (status.state, status.ended) == ("killed", None)
    assert "killed" in row(status, "state")
    assert row(status, "continue") == f"extbnsl resume {path}"
    assert row(status, "layer")


WORKING = """
import sys, time
from pathlib import Path
from extbnsl.core.events import StageStarted
from extbnsl.run import directory
from extbnsl.run.progress import run_clock
from extbnsl.run.progress import StatusFile
with directory.reopen(Path(sys.argv[1])) as run:
    run.begin()
    StatusFile(run.show, run_clock())(StageStarted("search", "all of it"))
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_process_is_seen_from_another_one_until_it_is_killed(path):
    process = subprocess.Popen([sys.executable, "-c", WORKING, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    status = read_status(path)
    assert (status.state, status.document["process"]) == ("running", process.pid)
    assert row(status, "doing") == "search: all of it"
    process.kill()
    process.communicate()
    assert read_status(path).state == "killed"
    assert main(["resume", str(path), "--data", "none"]) == 30  # the lock went with the process


def test_without_status_json_the_manifest_tells_what_it_can(path):
    status = read_status(path)
    assert row(status, "state") == "stopped: time limit"
    assert row(status, "bounds") == "10.000000 to 20.000000 (gap 50.00%)"
    assert row(status, "elapsed") == "0:01:40"
    commit(path, status=None)
    assert read_status(path).state == "killed"


def test_a_run_that_is_done(told):
    commit(told, names=(), phase="done", status="optimal")
    (told / "result.json").write_text(json.dumps({"status": "optimal", "lower_bound": 5.0, "upper_bound": 5.5}))
    status = read_status(told)
    assert (status.state, status.ended, status.resume) == ("done", "optimal", None)
    assert row(status, "bounds") == "5.000000 to 5.500000 (gap 9.09%)"
    (told / "manifest.json").unlink()  # as clean does
    assert read_status(told).state == "done"
    assert row(read_status(told), "note") is None


def test_what_the_last_word_on_a_run_is(path):
    assert finished_result(path) is None
    for result, phase, status, last in (
        ("time_limit", "search", "time_limit", False),
        ("optimal", "search", "time_limit", True),
        ("not_proved", "done", "not_proved", True),
        ("time_limit", "done", "optimal", False),  # killed before the new result was written
    ):
        commit(path, phase=phase, status=status)
        (path / "result.json").write_text(json.dumps({"status": result}))
        assert (finished_result(path) is not None) == last
    (path / "result.json").write_text('{"status": "opt')
    assert finished_result(path) is None


def test_a_run_whose_checkpoint_is_gone(told):
    (told / "manifest.json").unlink()
    status = read_status(told)
    assert (status.state, status.resume) == ("stopped", None)
    assert "no checkpoint" in row(status, "note")


def test_a_lock_that_cannot_be_looked_at(path, failing):
    with session(path) as keeper:
        keeper(LAYER)
    failing("fcntl.flock", errno.ENOLCK)
    status = read_status(path)
    assert status.state == "unknown"
    assert "cannot be told" in row(status, "state")
    assert row(status, "doing") == "search: layer 13 of 31"


@pytest.mark.parametrize("name", ["status.json", "manifest.json", "result.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\x00", b"7", b"[" * 5000, b'{"status": 1}'])
def test_a_damaged_file_costs_only_what_it_says(told, name, content):
    (told / name).write_bytes(content)
    status = read_status(told)
    assert status.state == "stopped"
    assert all(isinstance(line, str) for line in status.lines())
    if (name, content) != ("result.json", b'{"status": 1}'):
        assert name in row(status, "note")
    json.dumps(status.document, allow_nan=False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(data=st.data())
def test_any_value_in_status_json_can_be_shown(told, data):
    document = json.loads((told / "status.json").read_text())
    key = data.draw(st.sampled_from(sorted(document)))
    values = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just([]) | st.just(10**400)
    document[key] = data.draw(values)
    before = (told / "status.json").read_bytes()
    (told / "status.json").write_text(json.dumps(document))
    try:
        status = read_status(told)
        assert "\n".join(status.lines())
        json.dumps(status.document, allow_nan=False)
    finally:
        (told / "status.json").write_bytes(before)


def test_only_a_run_directory_has_a_status(tmp_path):
    (tmp_path / "file").touch()
    for name, words in (("none", "does not exist"), ("file", "is a file"), (".", "no run directory")):
        with pytest.raises(InputError, match=words):
            read_status(tmp_path / name)


def test_the_command_prints_lines_or_json(told, capsys):
    assert main(["status", str(told)]) == 0
    assert re.match(rf"run +{told}\nstate +stopped: memory limit\ncontinue +extbnsl resume", capsys.readouterr().out)
    assert main(["status", str(told), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["state"], document["ended"], document["resume"]) == (
        "stopped",
        "memory_limit",
        f"extbnsl resume {told}",
    )
    assert (document["layer"], document["kept"], document["notes"]) == (12, 51_800_000, [])
    assert main(["status", str(told.parent)]) == 30
    assert capsys.readouterr().err.count("\n") == 1
