"""What commands say and how they end when reading their input takes long, or more than they may use."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from extbnsl.cli import main
from extbnsl.cli.options import read_problem
from extbnsl.data.text import AMPLE, BLOCK
from extbnsl.machine.budgets import Budgets

OPTIONS = {"header": None, "delimiter": None, "missing": "refuse", "discretise": None, "states": None}
COMMANDS = [["solve"], ["estimate"], ["score", "-o", "out.jkl"]]


@pytest.fixture(autouse=True)
def here(here):
    """Every test runs in a folder of its own, with a table of eight megabytes."""
    Path("data.csv").write_bytes(b"a,b\n" + b"0,1\n1,0\n1,1\n0,0\n" * (1 << 19))
    return here


def failure(capsys, *arguments):
    """The exit code and the one sentence of a command that fails and leaves nothing."""
    code = main(list(arguments))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert os.listdir() == ["data.csv"]
    return code, err


@pytest.mark.parametrize("command", COMMANDS)
def test_too_little_memory_to_read_is_said(capsys, command):
    code, said = failure(capsys, *command, "data.csv", "--memory", "16MiB")
    assert code == 20
    assert "data.csv needs more than the 16.0MiB of memory that --memory grants" in said


def test_a_time_limit_that_passes_while_reading_is_said(capsys):
    code, said = failure(capsys, "solve", "data.csv", "--time-limit", "0.001")
    assert code == 20
    assert said == "extbnsl: The time limit passed while data.csv was read: give a longer one.\n"


def test_reading_is_in_the_time_limit():
    _, budgets = read_problem("data.csv", OPTIONS, Budgets(time_limit=1000.0))
    left = budgets.granted(Path()).deadline().remaining()
    assert 0 < budgets.spent < 1000
    assert 999 - budgets.spent < left < 1000 - budgets.spent


def test_how_far_reading_is_is_said_but_not_if_that_is_unwanted(capsys, sizes):
    sizes(ADVANCE_SECONDS=0.0)
    read_problem("data.csv", OPTIONS, Budgets(memory=AMPLE - 1), quiet=True)
    assert capsys.readouterr().err == ""
    read_problem("data.csv", OPTIONS, Budgets(memory=AMPLE - 1))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= (8 << 20) // BLOCK
    assert lines[15].startswith("reading: 4.0MiB of 8.0MiB, 50% (memory ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_reading_ends_at_once_and_leaves_nothing(number):
    """The input is a pipe that never ends."""
    os.mkdir("run")
    os.chdir("run")
    command = [sys.executable, "-m", "extbnsl", "solve", "/dev/stdin"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True) as process:
        process.stdin.write("0,1\n1,0\n" * BLOCK)  # more than a pipe holds: when it is written, reading has begun
        process.stdin.flush()
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "extbnsl: Interrupted before there was a result; nothing was written.\n")
    assert os.listdir() == []


@pytest.mark.parametrize(("command", "named"), [("estimate", "estimate.estimate"), ("score", "solve.compute_scores")])
def test_scratch_files_go_where_they_are_to_go(monkeypatch, command, named):
    asked = []

    def take(request, **_):
        asked.append(request.place.scratch_dir)
        raise KeyboardInterrupt

    monkeypatch.setattr(f"extbnsl.solver.{named}", take)
    os.mkdir("large")
    output = ["-o", "out.jkl"] if command == "score" else []
    assert main([command, "data.csv", "--scratch-dir", "large", *output]) == 130
    assert asked == [Path("large")]


@pytest.mark.parametrize("option", ["--na", "--columns", "--drop", "--discrete", "--discretise", "--no-header"])
def test_options_of_data_are_refused_for_local_scores(capsys, option):
    Path("data.csv").rename("data.jkl")
    value = [] if option == "--no-header" else ["a"]
    assert main(["solve", "data.jkl", option, *value]) == 30
    assert f"{option} is for data, but data.jkl holds local scores" in capsys.readouterr().err


def test_a_dash_is_standard_input_for_solve(monkeypatch):
    requests = []
    monkeypatch.setattr("extbnsl.cli.session.solve_in", lambda run, asked, *_: requests.append(asked) or 0)
    before = os.dup(0)
    try:
        with open("data.csv") as file:
            os.dup2(file.fileno(), 0)
        assert main(["solve", "-", "--quiet"]) == 0
    finally:
        os.dup2(before, 0)
        os.close(before)
    (asked,) = requests
    assert (asked.problem.source, asked.problem.names) == ("standard input", ("a", "b"))
    assert asked.place.remember.input == "-"
    assert asked.place.run_folder == Path("stdin.run")
