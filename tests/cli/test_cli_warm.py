"""`extbnsl warm`: its lines are commands, its data can be read, and what fails is said."""

import os
import shlex
import signal
import threading
import time

import psutil
import pytest

from extbnsl.cli import main, warm
from extbnsl.cli.parser import usage_error


@pytest.mark.parametrize("line", [*warm.FIRST, *(line for lines in warm.OTHERS for line in lines)])
def test_every_line_is_a_command(line):
    assert usage_error(shlex.split(line)) is None


def test_the_first_work_is_done_before_all_other(monkeypatch, capsys):
    monkeypatch.setattr(warm, "FIRST", ("describe states.csv",))
    monkeypatch.setattr(warm, "OTHERS", (("describe numbers.csv", "describe both.csv"), ("describe gaps.csv",)))
    assert main(["warm"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("Compiled, in ")
    assert "2 of 2 kinds of work" in said.err


@pytest.mark.parametrize("first", [True, False])
def test_what_fails_is_said(monkeypatch, capsys, first):
    bad, good = ("solve nothing.csv",), ("describe states.csv",)
    monkeypatch.setattr(warm, "FIRST", bad if first else good)
    monkeypatch.setattr(warm, "OTHERS", (good, bad))
    assert main(["warm"]) == 30
    said = capsys.readouterr()
    assert "extbnsl solve nothing.csv: nothing.csv" in said.err
    assert not said.out


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.filterwarnings("error")
def test_an_interrupt_ends_what_it_began(monkeypatch, capsys, number, first):
    long, short = ("approximate states.csv --time 10m",), ("describe states.csv",)
    monkeypatch.setattr(warm, "FIRST", long if first else short)
    monkeypatch.setattr(warm, "OTHERS", (long,) * 3)

    real, began = warm.run_process, []

    def interrupted(command, *given):
        if "approximate" in command and not began:
            began.append(time.monotonic())
            threading.Timer(1.0, os.kill, (os.getpid(), number)).start()
        return real(command, *given)

    monkeypatch.setattr(warm, "run_process", interrupted)
    assert main(["warm"]) == 130
    assert time.monotonic() - began[0] < 10.0
    assert not psutil.wait_procs(psutil.Process().children(), timeout=10)[1]
    assert "Interrupted" in capsys.readouterr().err
