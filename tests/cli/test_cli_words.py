"""What the commands say: within the width of a terminal, and in words that people know."""

import contextlib
import io
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from cases import random_dataset
from commands import run

from extbnsl.cli.parser import COMMANDS
from extbnsl.cli.saying import remark, say_sentence
from extbnsl.cli.summary import summary
from extbnsl.core.figures import WIDTH, in_full, wrapped
from extbnsl.formats.kinds import OF_SCORES
from extbnsl.results.reading import read_result

NAMES = list(COMMANDS)
LONG = "The search needs 3.4GiB of memory, and --memory grants 1.0GiB, which is not enough for it; grant more."


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("command", [[], *([name] for name in NAMES)], ids=["extbnsl", *NAMES])
def test_help_fits_a_terminal(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    code, out, _ = run(capsys, *command, "--help")
    assert code == 0
    assert [line for line in out.splitlines() if len(line) > WIDTH] == []


@pytest.mark.parametrize("command", ["solve", "estimate"])
def test_help_names_every_ending_of_local_scores(capsys, command):
    out = " ".join(run(capsys, command, "--help")[1].split())
    for suffix in OF_SCORES:
        assert re.search(rf"local scores \([^)]*{re.escape(suffix)}\b", out)


@pytest.mark.parametrize(("say", "stream"), [(remark, "stderr"), (say_sentence, "stdout")])
def test_sentences_are_wrapped_on_a_terminal_and_nowhere_else(capsys, monkeypatch, say, stream):
    say(LONG)
    assert getattr(capsys.readouterr(), "err" if stream == "stderr" else "out").endswith(f"{LONG}\n")
    terminal = Terminal()
    monkeypatch.setattr(sys, stream, terminal)
    say(LONG)
    lines = terminal.getvalue().splitlines()
    assert len(lines) == 2
    assert max(map(len, lines)) <= WIDTH
    assert " ".join(terminal.getvalue().split()).endswith(LONG)


def test_usage_errors_are_wrapped_on_a_terminal(capsys, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert run(capsys, "solve", "data.csv", "--score", "bge")[0] == 30
    assert max(map(len, terminal.getvalue().splitlines())) <= WIDTH


@pytest.mark.parametrize("figure", ["20.3 s", "12 min", "5.1 days", "6602.118 nats"])
def test_a_figure_and_its_unit_stay_in_one_line(figure):
    for length in range(WIDTH - 12, WIDTH + 2):
        line = f"{'x' * length} {figure}"
        assert any(figure in part for part in wrapped(line).splitlines())
        assert " ".join(wrapped(line).split()) == line


def test_one_is_singular_in_full_too():
    assert in_full(1, "set of variables", "sets of variables") == "1 set of variables"
    assert in_full(2381873, "set of variables", "sets of variables") == "2,381,873 sets of variables"


@contextlib.contextmanager
def standard_input(path):
    """Let a file be the standard input of the process."""
    before = os.dup(0)
    try:
        with open(path) as file:
            os.dup2(file.fileno(), 0)
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


def test_standard_input_is_called_that(capsys):
    with standard_input("data.csv"):
        assert "input: standard input: 60 records" in run(capsys, "solve", "-")[2]
    with standard_input("data.csv"):
        assert "nats, from standard input" in run(capsys, "verify", "stdin.run", "-")[1]


def test_what_is_proved_before_any_search_is_said_so(capsys):
    dataset = random_dataset(np.random.default_rng(3), 8, 200)
    rows = [",".join(dataset.names), *(",".join(f"s{code}" for code in record) for record in dataset.codes)]
    Path("proved.csv").write_text("\n".join(rows) + "\n")
    assert run(capsys, "solve", "proved.csv", "--threads", 1)[0] == 0
    log = Path("proved.run/solve.log").read_text()
    assert re.search(
        r"^bounds: component 1 of 2, 7 variables; proved before any search\s+\([\d.]+ s\)$", log, re.MULTILINE
    )
    assert not re.search(r"^search:|^ +Layer ", log, re.MULTILINE)
    assert run(capsys, "plot", "proved.run")[2] == (
        "extbnsl: proved.run was proved before any search: there are no layers to draw; --network draws the network.\n"
    )


def test_the_status_alone_is_coloured(capsys):
    assert run(capsys, "solve", "data.csv", "--quiet")[0] == 0
    plain, painted = (summary(read_result(Path("data.run")), Path("data.run"), colours=own) for own in (False, True))
    assert "\nstatus       optimal\n" in f"\n{plain}"
    assert painted == plain.replace("optimal", "\x1b[32moptimal\x1b[0m", 1)


def test_the_summary_fits_a_terminal_and_tells_the_limit(capsys, sizes):
    sizes({"summary.MOST_LISTED": 3})
    _, out, err = run(capsys, "solve", "data.csv", "--max-parents", 1, "--run-dir", f"{'long-name' * 5}.run")
    assert "\nlimit        at most 1 parent for each variable\n" in out
    assert max(map(len, (out + err).splitlines())) <= WIDTH
