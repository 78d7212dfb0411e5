"""Real processes that are killed, told to stop, locked out, or run out of memory; simulated ones: test_survival.py."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from killing import OFTEN, PATIENCE, Trial, debris, often, outcome
from often import POINTS
from portions import is_thorough

from extbnsl.cli import main as extbnsl
from extbnsl.files.names import MANIFEST

WDBC = Path(__file__).parents[2] / "examples" / "wdbc.csv"
VARIABLES = 23  # of the data here: two groups, so that there is a search
MANY = 24  # variables whose search with the static bound outgrows what the C library has set aside
SOLVING = ("--max-parents", "3", "--lower-bound", "pattern", "--threads", "2")


def write_columns(path, count):
    """The first columns of the example as a file of their own."""
    rows = [line.split(",")[:count] for line in WDBC.read_text().splitlines()]
    path.write_text("\n".join(map(",".join, rows)) + "\n")
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_columns(tmp_path_factory.mktemp("data") / "data.csv", VARIABLES)


@pytest.fixture(scope="module")
def trial(data, tmp_path_factory):
    return Trial(tmp_path_factory.mktemp("trial"), [*OFTEN, "solve", str(data), *SOLVING], random.Random(1))


@pytest.mark.slow
def test_killed_at_random_times_a_run_ends_as_if_nothing_had_happened(trial):
    most, kills = 15 if is_thorough() else 6, 0
    while kills < most:
        kills += trial.survive(most - kills)
    assert kills == most


@pytest.mark.slow
def test_a_signal_stops_the_run_in_good_order_in_every_phase(data, trial, tmp_path):
    run = tmp_path / "r"
    command = ["solve", data, "--run-dir", run, *SOLVING]
    for point in POINTS:
        stopped = often("--term", point, *command)
        assert stopped.returncode == 10, stopped.stderr
        assert stopped.stderr.count("Stopping; ") == 1
        assert json.loads((run / "result.json").read_text())["status"] == "interrupted"
        manifest = json.loads((run / MANIFEST).read_text())
        assert manifest["state"]["status"] == "interrupted"
        assert sorted(debris(run)) == sorted(Path(file["name"]).name for file in manifest["files"])
        command = ["resume", run]
    assert often("resume", run).returncode == 0
    assert outcome(run) == trial.expected
    assert not debris(run)


@pytest.mark.slow
def test_a_second_signal_ends_the_process_at_once(data, trial, tmp_path):
    run = tmp_path / "r"
    stopped = often("--term", "search", "--twice", "solve", data, "--run-dir", run, *SOLVING)
    assert stopped.returncode == 130
    assert not (run / "result.json").exists()
    assert often("resume", run).returncode == 0
    assert outcome(run) == trial.expected


@pytest.mark.slow
def test_a_run_in_use_is_refused_until_its_process_is_killed(data, trial, tmp_path, capsys):
    run = tmp_path / "r"
    command = [*OFTEN, "solve", str(data), "--run-dir", str(run), *SOLVING]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE
        while not (run / MANIFEST).exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)  # it holds the lock, however long this takes
        for other in (["resume", run], ["solve", data, "--run-dir", run, "--overwrite"], ["clean", run, "--yes"]):
            assert extbnsl([str(argument) for argument in other]) == 31
            assert f"in use by another process (id {process.pid})" in capsys.readouterr().err
        assert extbnsl(["status", str(run)]) == 0
        assert f"running, process {process.pid}" in capsys.readouterr().out
    finally:
        process.kill()
        process.wait()
    assert extbnsl(["status", str(run)]) == 0
    assert "it ended without a message (killed, or power failure)" in capsys.readouterr().out
    assert often("resume", run).returncode == 0
    assert outcome(run) == trial.expected


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="how much address space is in use cannot be told")
def test_out_of_memory_a_run_stops_and_goes_on_where_there_is_more(tmp_path):
    run = tmp_path / "r"
    data = write_columns(tmp_path / "data.csv", MANY)
    options = "--lower-bound", "static", "--threads", 2
    assert often("solve", data, *options).returncode == 0  # what is compiled by then takes no more memory
    stopped = often("--spare", 0, "solve", data, "--run-dir", run, *options)
    assert stopped.returncode == 10, stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert json.loads((run / "result.json").read_text())["status"] == "memory_limit"
    subprocess.run([sys.executable, "-m", "extbnsl", "resume", str(run)], check=True, timeout=PATIENCE)
    assert json.loads((run / "result.json").read_text())["cost"] == pytest.approx(5326.292644)
    assert not debris(run)
