"""Real processes of `approximate` that are killed or told to stop: what was committed is never lost."""

import json
import math
import random
import signal
import subprocess
import time

import pytest
from killing import OFTEN, PATIENCE, debris, often
from portions import is_thorough
from test_kill import write_columns

from extbnsl.data.reading import read_csv
from extbnsl.files.names import MANIFEST
from extbnsl.verify.verdict import verify

VARIABLES = 25
TIME = 5.0  # seconds
KERNELS = ("--time", "1s", "--threads", "2", "--quiet")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Data for which the kernels have been compiled."""
    folder = tmp_path_factory.mktemp("data")
    path = write_columns(folder / "data.csv", VARIABLES)
    assert often("approximate", path, *KERNELS, "--run-dir", folder / "first").returncode == 0
    return path


def begun(run):
    return json.loads((run / MANIFEST).read_text())["state"]


def state(run):
    return {**begun(run), **begun(run)["standing"]}


def committed(run):
    """What the best network costs of which the checkpoint knows, and the seconds that it says are used."""
    if not (run / MANIFEST).exists() or begun(run)["standing"] is None:
        return math.inf, 0.0
    known = state(run)
    return math.inf if known["upper_bound"] is None else known["upper_bound"], known["used"]


def command(data, run):
    if (run / MANIFEST).exists():
        return [*OFTEN, "resume", str(run)]
    begin = [*OFTEN, "approximate", str(data), "--run-dir", str(run), "--overwrite"]
    return [*begin, "--time", f"{TIME}s", "--threads", "2"]


def check(run, data, at_most):
    document = json.loads((run / "result.json").read_text())
    assert document["status"] == "heuristic"
    assert document["cost"] <= at_most + 1e-6
    assert document["lower_bound"] <= document["cost"]
    assert verify(document, read_csv(data)).findings == ()
    assert debris(run) == sorted([*state(run)["children"]["explored"], *filter(None, [state(run)["orders"]])])


@pytest.mark.slow
def test_killed_at_random_times_it_ends_no_worse_than_what_was_committed(data, tmp_path):
    run, rng = tmp_path / "r", random.Random(10)
    known = committed(run)
    for _ in range(8 if is_thorough() else 4):
        process = subprocess.Popen(command(data, run), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            _, errors = process.communicate(timeout=rng.uniform(0.5, TIME))
            assert process.returncode == 0, errors.decode()
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        before, known = known, committed(run)
        assert known[0] <= before[0]
        assert known[1] >= before[1]
    assert subprocess.run(command(data, run), capture_output=True, timeout=PATIENCE).returncode == 0
    check(run, data, known[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "selection"),
    [
        ("scores", "auto"),
        ("parents", "independence"),
        ("incumbent", "independence"),
    ],
)
def test_a_signal_stops_it_in_good_order_and_resume_goes_on(data, tmp_path, point, selection):
    run = tmp_path / "r"
    stopped = often("--term", point, *command(data, run)[len(OFTEN) :], "--selection", selection)
    assert stopped.returncode == 10, stopped.stderr
    assert stopped.stderr.count("Stopping; ") == 1
    first = json.loads((run / "result.json").read_text())
    assert first["status"] == state(run)["status"] == "interrupted"
    assert verify(first, read_csv(data)).findings == ()
    assert state(run)["used"] < TIME
    assert often("resume", run).returncode == 0
    check(run, data, first["cost"])


@pytest.mark.slow
def test_a_second_signal_ends_the_process_at_once_and_costs_nothing(data, tmp_path):
    run = tmp_path / "r"
    process = subprocess.Popen(command(data, run), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    while committed(run)[0] == math.inf and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):  # both arrive at once
        process.send_signal(number)
    assert process.wait(PATIENCE) == 130
    known, _ = committed(run)
    assert not (run / "result.json").exists()
    assert subprocess.run([*OFTEN, "resume", str(run)], capture_output=True, timeout=PATIENCE).returncode == 0
    check(run, data, known)
