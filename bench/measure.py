"""One solve in a process of its own, by the command line, and what it cost."""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STAGES = ("kernels", "scores", "parents", "incumbent", "bounds", "search", "verify")
COUNTS = (
    "varsets_counted",
    "parent_sets",
    "nodes_expanded",
    "nodes_generated",
    "nodes_kept",
    "peak_layer",
)

FEWEST_GENERATED = 10_000

Row = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What a finished process left: its result document (None if it failed), seconds, and its last words."""

    document: dict[str, Any] | None
    wall_seconds: float
    cpu_seconds: float
    message: str


def solve(path: Path, options: list[str]) -> Run:
    """Solve `path` with the command line's `options`; CPU seconds are those of the whole process.

    A run that had to compile is done once more: what is compiled now lies in a cache.
    """
    run = run_once("solve", path, options)
    compiled = run.document is not None and "kernels" in run.document["stats"]["stages"]
    return run_once("solve", path, options) if compiled else run


def run_once(word: str, path: Path, options: list[str]) -> Run:
    """Let a command of the command line, such as 'solve', run once on `path`."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        run = Path(folder, "run")
        command = ["-m", "extbnsl", word, str(path), "--run-dir", str(run), "--quiet", *options]
        return finished(command, run / "result.json")


def finished(arguments: list[str], result: Path) -> Run:
    """Let the interpreter run with these arguments in a process of its own, which leaves its document in `result`."""
    with tempfile.TemporaryFile("w+") as errors:
        started = time.perf_counter()
        process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read().strip().splitlines()
    document = json.loads(result.read_text()) if result.exists() else None
    return Run(document, wall, usage.ru_utime + usage.ru_stime, said[-1] if said else f"exit code {process.returncode}")


def measured(name: str, run: Run, known: float | None, matches: bool | None, reference: float) -> Row:
    """One flat row of figures; `reference` is the CPU seconds of the reference loop."""
    row: Row = {"data": name, "status": "failed", "message": run.message}
    row |= {"cpu_seconds": run.cpu_seconds, "wall_seconds": run.wall_seconds, "known_cost": known, "matches": matches}
    row["cpu_per_reference"] = run.cpu_seconds / reference
    if run.document is None:
        return row
    stats = run.document["stats"]
    row |= {key: run.document[key] for key in ("status", "cost", "lower_bound")}
    row |= {"variables": len(run.document["variables"]), "message": ""}
    row |= {key: stats[key] for key in (*COUNTS, "peak_rss_bytes")}
    for stage in STAGES:
        spent = stats["stages"].get(stage, {"seconds": 0.0, "cpu_seconds": 0.0})
        row[f"{stage}_cpu_seconds"] = spent["cpu_seconds"]
        row[f"{stage}_wall_seconds"] = spent["seconds"]
    row["ns_per_generated"] = ns_per_generated(row["search_cpu_seconds"], row["nodes_generated"])
    return row


def ns_per_generated(search_cpu_seconds: float, generated: int) -> float | None:
    """Nanoseconds of CPU that the search spent per generated edge; None if too few to tell."""
    return search_cpu_seconds * 1e9 / generated if generated >= FEWEST_GENERATED else None
