"""solve, kbest and approximate with --resume: begin, go on, or tell the result, by one line in a job script."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from commands import fails, run

import extbnsl.cli.resume

SOLVE = ["solve", "data.csv", "--run-dir", "r", "--threads", "1", "--quiet", "--resume"]


def result():
    return json.loads(Path("r/result.json").read_text())


def test_it_begins_and_tells_what_is_finished(capsys):
    code, out, err = run(capsys, *SOLVE)
    assert (code, err) == (0, "")
    cost = result()["cost"]
    again = run(capsys, *SOLVE)
    assert again == (0, out, "")
    told = run(capsys, *[word for word in SOLVE if word != "--quiet"])
    assert "The run in r is finished; there is nothing left to do." in " ".join(told[2].split())
    assert run(capsys, "clean", "r", "--yes")[0] == 0
    assert run(capsys, *SOLVE) == (0, out, "")
    assert result()["cost"] == cost


@pytest.mark.parametrize("cleaned", [False, True])
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (["--score", "bdeu"], "score = mdl, not bdeu"),
        (["--max-parents", "1"], "max_parents = None, not 1"),
        (["--forbidden", "a,b"], "knowledge"),
        (["--drop", "d"], "The data are not those that the run was begun with"),
    ],
)
def test_another_question_is_refused(capsys, changed, told, cleaned):
    run(capsys, *SOLVE)
    before = result()
    if cleaned:
        run(capsys, "clean", "r", "--yes")
    code, out, err = run(capsys, *SOLVE, *changed)
    assert (code, out) == (31, "")
    assert ("had other data, or another question" if cleaned else told) in " ".join(err.split())
    assert result() == before


def stopped_while_it_reads(capsys, monkeypatch, *words):
    """Begin a run, and stop it before it has read the data."""

    def read(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("extbnsl.cli.options.read_problem", read)
        assert run(capsys, *words)[0] == 130


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (["--score", "bdeu"], "score = mdl, not bdeu"),
        (["--max-parents", "1"], "max_parents = 3, not 1"),
        (["--forbidden", "a,b"], "knowledge"),
        (["--drop", "d"], "other options of the data"),
    ],
)
def test_another_question_is_refused_of_a_run_that_has_read_nothing(capsys, monkeypatch, changed, told):
    stopped_while_it_reads(capsys, monkeypatch, *SOLVE, "--max-parents", "3")
    code, out, err = run(capsys, *SOLVE, "--max-parents", "3", *changed)
    assert (code, out) == (31, "")
    assert told in " ".join(err.split())
    assert run(capsys, *SOLVE, "--max-parents", "3")[0] == 0


def test_a_run_that_has_read_nothing_goes_on_by_the_same_line_and_reads_once(capsys, monkeypatch):
    words = [*SOLVE, "--forbidden", "a,*", "--drop", "d"]
    stopped_while_it_reads(capsys, monkeypatch, *words)
    read, count = extbnsl.cli.resume.read_problem, []
    monkeypatch.setattr("extbnsl.cli.resume.read_problem", lambda *given: (count.append(given), read(*given))[1])
    assert run(capsys, *words)[0] == 0
    assert len(count) == 1
    assert result()["knowledge"]["forbidden"] == [["a", "b"], ["a", "c"]]


def test_changed_data_are_refused(capsys):
    run(capsys, *SOLVE)
    with open("data.csv", "a") as file:
        file.write("0,1,0,1\n")
    assert run(capsys, *SOLVE)[0] == 31


def test_what_does_not_go_with_it(capsys):
    assert "astar has no checkpoints to go on from" in fails(capsys, *SOLVE, "--method", "astar")
    assert "give one of them" in fails(capsys, *SOLVE, "--overwrite")
    Path("r").mkdir()
    Path("r/notes.txt").write_text("mine")
    assert run(capsys, *SOLVE)[0] == 30
    assert os.listdir("r") == ["notes.txt"]


def test_without_a_run_directory_it_is_the_one_without_a_number(capsys):
    command = ["solve", "data.csv", "--threads", "1", "--quiet", "--resume"]
    for _ in range(2):
        assert run(capsys, *command)[0] == 0
    assert [name for name in os.listdir() if name.endswith(".run")] == ["data.run"]


def test_an_empty_folder_and_one_with_a_lock_alone_are_begun(capsys):
    for names in ([], ["lock"]):
        os.makedirs("r", exist_ok=True)
        for name in names:
            Path("r", name).touch()
        assert run(capsys, *SOLVE)[0] == 0
        subprocess.run(["rm", "-rf", "r"], check=True)


def test_a_run_that_was_killed_before_its_first_file_is_begun_again(capsys):
    Path("r").mkdir()
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    Path("r", "lock").write_text(f"extbnsl {gone.pid}")
    Path("r", f".manifest.json.{gone.pid}.tmp").write_text("{")
    assert run(capsys, *SOLVE)[0] == 0
    assert not [name for name in os.listdir("r") if name.endswith(".tmp")]


@pytest.mark.parametrize(
    "command", [["kbest", "-k", "3"], ["approximate", "--time", "2s"], ["solve", "--bootstrap", "3"]]
)
def test_other_commands(capsys, command):
    words = [command[0], "data.csv", *command[1:], "--run-dir", "r", "--threads", "1", "--quiet", "--resume"]
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    assert run(capsys, *words)[1] == out


def killed(command, seconds, number):
    """Start a command and kill it after so many seconds; its exit code."""
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="")
    with subprocess.Popen(
        [sys.executable, "-m", "extbnsl", *command],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=environment,
    ) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
            return process.wait(60)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["solve", "wide.csv", "--max-parents", "3"],
        ["kbest", "wide.csv", "--max-parents", "2", "-k", "20"],
        ["solve", "wide.csv", "--max-parents", "2", "--bootstrap", "6"],
    ],
)
def test_one_line_repeated_comes_to_the_end_whatever_kills_it(capsys, command):
    rng = np.random.default_rng(3)
    table = rng.integers(0, 2, (400, 20))
    for j in range(1, 20):
        table[:, j] = np.where(rng.random(400) < 0.75, table[:, rng.integers(j)], table[:, j])
    names = ",".join(f"x{j}" for j in range(20))
    np.savetxt("wide.csv", table, fmt="%d", delimiter=",", header=names, comments="")
    draw, first = random.Random(str(command)), [*command, "--threads", "1", "--quiet", "--run-dir", "whole"]
    begun = time.monotonic()
    assert run(capsys, *first)[0] == 0
    once = max(1.0, time.monotonic() - begun)
    line = [*command, "--threads", "1", "--quiet", "--resume", "--run-dir", "parts"]
    for _ in range(60):
        number = draw.choice((signal.SIGTERM, signal.SIGKILL))
        code = killed(line, draw.uniform(0.05, once + 0.5), number)
        assert code in (0, 10, 130, -number)  # the last if it came before the program heard signals
        if code == 0:
            break
    assert run(capsys, *line)[0] == 0
    whole, parts = (json.loads(Path(folder, "result.json").read_text()) for folder in ("whole", "parts"))
    for key in ("status", "cost", "lower_bound", "parents", "networks", "top"):
        assert parts.get(key) == whole.get(key)
    if "bootstrap" in whole:
        assert parts["bootstrap"]["arcs"] == whole["bootstrap"]["arcs"]
