"""`extbnsl warm`: compile the kernels before there is work."""

import argparse
import random
import shlex
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

from extbnsl.cli.saying import fail, remark, say_sentence
from extbnsl.core.claims import INTERRUPTED
from extbnsl.core.figures import format_time
from extbnsl.lab.process import kill_all, run_process
from extbnsl.machine.budgets import default_memory, default_threads
from extbnsl.machine.interrupts import Interrupts

EPILOG = """\
Kernels are compiled when a command first needs them, and kept in the user's
cache, or in the folder that NUMBA_CACHE_DIR names. This runs every kind of
command on small data that it makes, so that no command on this machine
compiles any more, or next to nothing: for images, and for nodes of a cluster
whose workers share that folder. Nothing else is written.

example:
  NUMBA_CACHE_DIR=/shared/kernels extbnsl warm
"""
RECORDS, VARIABLES = 300, 12
BYTES = 1 << 30  # that a process may come to
SEARCHED = "--lower-bound pattern --no-path-extension --memory 16MiB"  # with a search, and files

# What is run: lines one after the other. The first ones alone, since all others need what they compile.
FIRST = (
    "solve states.csv --run-dir r",
    "verify r states.csv",
    "kbest states.csv -k 20 --run-dir k",
    "verify k states.csv",
)
OTHERS = (
    (
        f"solve states.csv {SEARCHED} --run-dir r",
        "kbest states.csv -k 20 --lower-bound pattern --memory 16MiB --run-dir k",
        "solve states.csv --bootstrap 2 --run-dir b",
        "score states.csv --output s.jkl",
        "solve s.jkl --run-dir l",
        "order states.csv --order order.txt --run-dir o",
        "approximate states.csv --time 2s --run-dir a",
        "score-network r states.csv",
        "query r --given v0=s0",
    ),
    (
        "solve states.csv --score bdeu --run-dir r",
        "verify r states.csv",
        "solve states.csv --score bdeu --max-parents 3 --run-dir m",
        "verify m states.csv",
        "posterior states.csv --score bdeu --max-parents 3 --sample 10 --run-dir p",
        "verify p states.csv",
        "posterior states.csv --score bdeu --prior order --max-parents 3 --sample 10 --run-dir q",
        "verify q states.csv",
    ),
    *(
        (f"solve states.csv --score {score} --run-dir r", "verify r states.csv")
        for score in ("aic", "k2", "bds", "fnml", "qnml")
    ),
    (
        "solve numbers.csv --score gaussian-bic --run-dir r",
        "verify r numbers.csv",
        "approximate numbers.csv --score gaussian-bic --time 2s --run-dir a",
        "posterior numbers.csv --score gaussian-bic --max-parents 3 --run-dir p",
        "solve numbers.csv --score gaussian-bic --time-column t --lags 1 --no-instant --run-dir t",
        "verify t numbers.csv",
    ),
    (
        "solve both.csv --score cg-bic --run-dir r",
        "verify r both.csv",
        "solve both.csv --score dg-bic --run-dir d",
        "verify d both.csv",
    ),
    (
        "solve gaps.csv --missing average --max-parents 3 --run-dir r",
        "verify r gaps.csv",
        "solve gaps.csv --missing em --max-parents 2 --run-dir e",
    ),
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes: nothing."""


def run(given: argparse.Namespace) -> int:
    """Compile; the exit code, that of the first command that fails if one does."""
    began, over = time.monotonic(), threading.Event()
    together = max(1, min(default_threads(), default_memory() // BYTES))
    with Interrupts(), tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(together) as pool:
        try:
            failed = _failure(Path(folder, "first"), FIRST, over)
            places = (Path(folder, str(number)) for number in range(len(OTHERS)))
            found = () if failed else pool.map(_failure, places, OTHERS, repeat(over))
            for number, other in enumerate(found, start=1):
                remark(f"{number} of {len(OTHERS)} kinds of work are done.")
                failed = failed or other
        finally:
            over.set()
            kill_all()
    if failed:
        return fail(*failed)
    say_sentence(f"Compiled, in {format_time(time.monotonic() - began)}.")
    return 0


def _failure(folder: Path, lines: Sequence[str], over: threading.Event) -> tuple[str, int] | None:
    """Run these lines in a new folder with data, until it is `over`; the sentence and the exit code of the first one
    that fails, after which it is."""
    folder.mkdir()
    for name, rows in _tables():
        (folder / name).write_text("".join(",".join(row) + "\n" for row in rows))
    for line in lines:
        if over.is_set():
            return None
        command = [sys.executable, "-m", "extbnsl", *shlex.split(line)]
        ended = run_process(command, folder, lambda: INTERRUPTED if over.is_set() else None)
        if ended.reason is None and ended.exit_code not in (0, 11):  # 11: some of it is claimed alone
            over.set()
            said = ended.said.strip().rpartition("\n")[2].removeprefix("extbnsl: ")
            return f"extbnsl {line}: {said or 'It said nothing.'}", ended.exit_code
    return None


def _tables() -> Iterator[tuple[str, list[list[str]]]]:
    """Names of files, and their rows: chains of states, of numbers, of both, states of which some are missing; an
    order."""
    chance, names = random.Random(1), [f"v{i}" for i in range(VARIABLES)]
    states, numbers = [names], [["t", *names]]
    for moment in range(RECORDS):
        own, values = [chance.randrange(3)], [chance.gauss(0.0, 1.0)]
        for i in range(1, VARIABLES):
            own.append(own[i - 1] if chance.random() < 0.6 else chance.randrange(2 + i % 2))
            values.append(0.7 * values[i - 1] + chance.gauss(0.0, 1.0))
        states.append([f"s{state}" for state in own])
        numbers.append([str(moment), *(f"{value:.4f}" for value in values)])
    half = VARIABLES // 2
    yield "states.csv", states
    yield "numbers.csv", numbers
    yield "both.csv", [[*one[:half], *other[-half:]] for one, other in zip(states, numbers, strict=True)]
    yield "gaps.csv", [states[0], *([own if chance.random() < 0.9 else "" for own in row] for row in states[1:])]
    yield "order.txt", [[name] for name in names]
