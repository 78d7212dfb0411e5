"""On a system that has nothing of what only Linux has the program does the same; see elsewhere/sitecustomize.py."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from killing import PATIENCE, debris, often, outcome

from extbnsl.cli import main as extbnsl
from extbnsl.core.errors import RunDirectoryError
from extbnsl.files.lock import hold, holder
from extbnsl.machine import system

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
SOLVING = ("--max-parents", "3", "--lower-bound", "pattern", "--threads", "2")


@pytest.fixture
def elsewhere(monkeypatch):
    """Processes that are started begin on such a system."""
    monkeypatch.setenv("PYTHONPATH", str(HERE / "elsewhere"), prepend=os.pathsep)


@pytest.fixture
def hidden(monkeypatch):
    """This process has none of it, but for locks, and knows no files of the system."""
    for name in ("pread", "pwrite", "posix_fallocate", "wait4", "killpg", "sched_getaffinity"):
        monkeypatch.delattr(os, name)
    monkeypatch.setattr(system, "resource", None)
    monkeypatch.setattr(system, "PROCESSES", Path("/nowhere"))


def there(*arguments):
    command = [sys.executable, "-m", "extbnsl", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_the_system_there_lacks_what_it_is_to_lack(elsewhere):
    asked = "import os; from extbnsl.machine import system; print(system.fcntl, system.resource, hasattr(os, 'pread'))"
    run = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["None", "None", "False"]


def test_a_run_that_is_stopped_there_goes_on_and_ends_as_here(elsewhere, tmp_path):
    data, run = EXAMPLES / "wine.csv", tmp_path / "r"
    assert extbnsl(["solve", str(data), *SOLVING, "--run-dir", str(tmp_path / "here"), "--quiet"]) == 0
    stopped = often("--term", "scores", "solve", data, "--run-dir", run, *SOLVING)
    assert stopped.returncode == 10, stopped.stderr
    told = there("status", run)
    assert told.returncode == 0
    assert "stopped" in told.stdout, told.stdout
    again = there("resume", run)
    assert again.returncode == 0, again.stderr
    assert outcome(run) == outcome(tmp_path / "here")
    assert not debris(run)
    assert json.loads((run / "result.json").read_text())["stats"]["peak_rss_bytes"] > 1 << 20
    assert there("verify", run, data).returncode == 0


def test_a_campaign_measures_and_ends_what_it_began(elsewhere, tmp_path):
    text = (
        "title: Here\ndata: [{0}/asia.csv]\nmethods: [bfbnb]\noptions: {{threads: 1}}\nbudgets: [{{time-limit: 1m}}]\n"
    )
    (tmp_path / "c.yaml").write_text(text.format(EXAMPLES))
    run = there("campaign", tmp_path / "c.yaml", "--output-dir", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    assert "optimal" in "".join(path.read_text() for path in (tmp_path / "out").glob("*.csv"))


HOLDING = "import sys, pathlib; from extbnsl.files.lock import hold; hold(pathlib.Path(sys.argv[1])); print(); input()"


def test_a_lock_there_keeps_others_out_until_its_process_ends(elsewhere, tmp_path, monkeypatch):
    monkeypatch.setattr(system, "fcntl", None)
    monkeypatch.setattr(system, "msvcrt", runpy.run_path(str(HERE / "elsewhere" / "sitecustomize.py"))["double"]())
    command = [sys.executable, "-c", HOLDING, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        told = holder(tmp_path)
        assert (told.holds, told.process) == (True, process.pid)
        with pytest.raises(RunDirectoryError, match=f"id {process.pid}"):
            hold(tmp_path)
        process.kill()
    assert holder(tmp_path).holds is False
    os.close(hold(tmp_path)[0])


def test_where_there_are_no_locks_a_warning_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(system, "fcntl", None)
    descriptor, warnings = hold(tmp_path)
    os.close(descriptor)
    assert "without locks" in warnings[0]
    assert holder(tmp_path).holds is None


def test_places_of_a_file_are_read_and_written(hidden, tmp_path):
    descriptor = os.open(tmp_path / "f", os.O_RDWR | os.O_CREAT)
    system.reserve(descriptor, 10)
    system.write_at(descriptor, b"abcdef", 2)
    assert system.read_at(descriptor, 4, 3) == b"bcde"
    assert os.fstat(descriptor).st_size == 10
    os.close(descriptor)


GROWING = "import subprocess, sys; x = b'x' * (64 << 20); p = subprocess.Popen([sys.executable, '-c', 'input()'], \
stdin=subprocess.PIPE); print(p.pid, flush=True); input()"


def test_a_process_is_measured_and_ended_with_those_it_began(hidden):
    process = subprocess.Popen(
        [sys.executable, "-c", GROWING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    child = psutil.Process(int(process.stdout.readline()))
    assert system.session_bytes(process.pid) > 64 << 20
    system.kill_session(process.pid)
    used = system.wait_for(process)
    ended = psutil.wait_procs([child], timeout=PATIENCE)[0]
    assert ended == [child]
    assert used.exit_code < 0
    process.stdin.close(), process.stdout.close()
    assert system.session_bytes(process.pid) == 0


def test_what_a_process_used_is_looked_up(hidden):
    process = subprocess.Popen([sys.executable, "-c", "x = b'x' * (64 << 20); sum(range(20_000_000))"])
    used = system.wait_for(process)
    assert used.exit_code == 0
    assert used.cpu_seconds > 0.1
    assert used.peak_rss_bytes > 64 << 20


def test_there_are_figures_of_this_process(hidden):
    assert system.peak_rss() > 1 << 20
    assert system.processors() == os.cpu_count()
    assert system.address_space() == float("inf")


def test_a_link_is_none_of_a_run(tmp_path, monkeypatch):
    from extbnsl.files import atomic

    monkeypatch.setattr(atomic, "NO_LINK", 0)
    (tmp_path / "f").write_text("f")
    (tmp_path / "link").symlink_to(tmp_path / "f")
    with pytest.raises(RunDirectoryError, match="a link"):
        atomic.open_regular(tmp_path / "link")
