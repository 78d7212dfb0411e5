"""`python -m bench.knowledge`: what each kind of knowledge makes a solve cost, beside one without. See README.md."""

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from extbnsl.drawing.markup import Grid
from extbnsl.lab.report.texts import plain

NONE = "none"
KINDS = (
    NONE,
    "limits",
    "tiers",
    "two forbidden",
    "one required",
    "three of the best",
    "three into one child",
    "three into three",
    "five into five",
)
MOST_RATIO = 1.1  # CPU seconds with knowledge over those without
FIGURES = ("varsets_counted", "parent_sets", "nodes_expanded")
Options = tuple[str, ...]


@dataclass(frozen=True)
class Cost:
    """What a solve took: CPU seconds of the whole process, those of its stages, and what it looked at."""

    cpu_seconds: float
    stages: Mapping[str, float]
    counts: Mapping[str, int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0, or 1 where a kind of knowledge makes a solve slower by more than a tenth."""
    parser = argparse.ArgumentParser(prog="python -m bench.knowledge", description="Solve with knowledge.")
    parser.add_argument("data", metavar="DATA", type=Path, nargs="+", help="data sets")
    parser.add_argument("--repeats", metavar="R", type=int, default=3, help="solves of each kind (default: 3)")
    parser.add_argument("--solving", metavar="OPTIONS", default="", help="options of solve, in one argument")
    parser.add_argument("--stages", action="store_true", help="also print what the stages took, and the counts")
    given = parser.parse_args(arguments)
    rows, slow = list[tuple[str, ...]](), False
    for path in given.data:
        with TemporaryDirectory(prefix="knowledge-") as folder:
            begin = ["solve", str(path), "--threads", "1", *given.solving.split()]
            kinds = kinds_of(_solved(begin, Path(folder)))
            costs = measured(begin, kinds, given.repeats, Path(folder))
        own = costs[NONE].cpu_seconds
        ratios = (f"{costs[kind].cpu_seconds / own:.2f}" for kind in KINDS[1:])
        rows.append((path.stem, f"{own:.2f}", *ratios))
        slow = slow or any(cost.cpu_seconds > MOST_RATIO * own for cost in costs.values())
        if given.stages:
            for kind, cost in costs.items():
                print(f"{path.stem}, {kind}: {_told(cost)}", flush=True)
    print(plain(Grid("CPU seconds without knowledge, and times as many with", ("data", *KINDS), tuple(rows))))
    return int(slow)


def measured(begin: Sequence[str], kinds: Mapping[str, Options], repeats: int, folder: Path) -> dict[str, Cost]:
    """The cheapest of several solves of each kind, in turn; the first round, which may compile, does not count."""
    costs: dict[str, Cost] = {}
    for turn in range(repeats + 1):
        for kind, options in kinds.items():
            cost = _cost([*begin, *options], folder)
            if turn == 1 or (turn > 1 and cost.cpu_seconds < costs[kind].cpu_seconds):
                costs[kind] = cost
    return costs


def kinds_of(document: Mapping[str, Any]) -> dict[str, Options]:
    """The options of each kind of knowledge, from a network without any: at least ten variables."""
    names, parents = document["variables"], document["parents"]
    arcs = [(parent, child) for child in document["order"] for parent in parents[child]]
    later = {name: place for place, name in enumerate(document["order"])}
    draw = random.Random(1)
    # arcs that go with the order, so that they make no cycle
    pairs = [(a, b) for a in names for b in names if later[a] < later[b] and a not in parents[b]]
    some = draw.sample(pairs, len(pairs))
    child = document["order"][-1]
    into_one = [(name, child) for name in document["order"][:3]]
    apart: list[tuple[str, str]] = []
    for a, b in some:
        if b not in {child for _, child in apart}:
            apart.append((a, b))
    options: tuple[Options, ...] = (
        (),
        ("--max-parents-of", ",".join(f"{name}=2" for name in names[:3])),
        ("--tier", ",".join(names[: len(names) // 2]), "--tier", ",".join(names[len(names) // 2 :])),
        _each("--forbidden", arcs[:2]),
        _each("--required", apart[:1]),
        _each("--required", draw.sample(arcs, min(3, len(arcs)))),
        _each("--required", into_one),
        _each("--required", apart[:3]),
        _each("--required", apart[:5]),
    )
    return dict(zip(KINDS, options, strict=True))


def _each(option: str, arcs: Sequence[tuple[str, str]]) -> Options:
    return tuple(word for arc in arcs for word in (option, ",".join(arc)))


def _solved(begin: Sequence[str], folder: Path) -> dict[str, Any]:
    run = folder / "run"
    _run([*begin, "--quiet", "--overwrite", "--run-dir", str(run)])
    document: dict[str, Any] = json.loads((run / "result.json").read_text())
    return document


def _cost(begin: Sequence[str], folder: Path) -> Cost:
    run = folder / "run"
    seconds = _run([*begin, "--quiet", "--overwrite", "--run-dir", str(run)])
    stats = json.loads((run / "result.json").read_text())["stats"]
    stages = {name: spent["cpu_seconds"] for name, spent in stats["stages"].items()}
    return Cost(seconds, stages, {name: stats[name] for name in FIGURES})


def _run(command: Sequence[str]) -> float:
    """CPU seconds of a command that must succeed."""
    process = subprocess.Popen([sys.executable, "-m", "extbnsl", *command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"extbnsl {' '.join(command)}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def _told(cost: Cost) -> str:
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in cost.stages.items())
    return f"{cost.cpu_seconds:.2f} ({stages}); " + ", ".join(f"{n} {c:,}" for n, c in cost.counts.items())


if __name__ == "__main__":
    sys.exit(main())
