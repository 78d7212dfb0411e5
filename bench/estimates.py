"""How far `extbnsl estimate` is from what a solve then takes: CPU seconds, memory and disk, problem by problem.

    python -m bench.estimates [--effort 10s] [--threads 2] [NAME ...]

Each problem is estimated, then solved, by commands of their own. A line says whether what the solve took lies within
the range that the estimate gave. Exit code 1 if fewer than nine of ten do.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from extbnsl.drawing.markup import aligned
from extbnsl.proof.context import COMPILING

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
MEGABYTE = 1 << 20
SHARE = 0.9  # of the problems that must lie within their ranges
STATIC = ("--lower-bound", "static", "--no-path-extension", "--no-polish")
HEAD = ("problem", "estimated CPU s", "solve", "", "memory MiB", "solve", "", "disk MiB", "solve", "")


def noisy(variables: int, records: int, arity: int, seed: int) -> np.ndarray:
    """Records of variables of which each follows some that stand before it, three times in four."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, arity, (records, variables))
    for x in range(1, variables):
        parents = rng.integers(0, x, 2)
        follows = table[:, parents].sum(axis=1) % arity
        table[:, x] = np.where(rng.random(records) < 0.75, follows, table[:, x])
    return table


MADE = {
    "made5": (5, 200, 2, 1),
    "made10": (10, 200, 3, 2),
    "made15": (15, 500, 2, 3),
    "made20": (20, 1000, 2, 4),
    "made25": (25, 500, 3, 5),
    "made30": (30, 300, 2, 6),
    "made35": (35, 200, 2, 7),
    "made40": (40, 150, 2, 8),
    "tall12": (12, 50_000, 3, 9),
    "independent": (12, 300, 4, 10),
}
PROBLEMS: dict[str, tuple[str, tuple[str, ...]]] = {
    **{name: (f"{name}.csv", ()) for name in ("asia", "wine", "wdbc", "letter") if (EXAMPLES / f"{name}.csv").exists()},
    **{name: (f"{name}.csv", ()) for name in MADE},
    "made20 bdeu": ("made20.csv", ("--score", "bdeu")),
    "made25 aic 3": ("made25.csv", ("--score", "aic", "--max-parents", "3")),
    "made30 bdeu 3": ("made30.csv", ("--score", "bdeu", "--max-parents", "3")),
    "made15 k2": ("made15.csv", ("--score", "k2", "--max-parents", "4")),
    "made15 static": ("made15.csv", STATIC),
    "made20 static": ("made20.csv", STATIC),
    "wdbc 25 static": ("wdbc25.csv", (*STATIC, "--max-parents", "2")),
    "wdbc 22 static": ("wdbc22.csv", STATIC),
    "made20 qnml": ("made20.csv", ("--score", "qnml", "--max-parents", "3")),
}


def write_problems(folder: Path) -> None:
    """Write the files of all problems."""
    for name, made in MADE.items():
        table = noisy(*made)
        names = ",".join(f"x{x}" for x in range(table.shape[1]))
        np.savetxt(folder / f"{name}.csv", table, fmt="%d", delimiter=",", header=names, comments="")
    for file in EXAMPLES.glob("*.csv"):
        (folder / file.name).write_bytes(file.read_bytes())
    for columns in (22, 25):
        rows = [line.split(",")[:columns] for line in (EXAMPLES / "wdbc.csv").read_text().splitlines()]
        (folder / f"wdbc{columns}.csv").write_text("".join(",".join(row) + "\n" for row in rows))


def told(folder: Path, *arguments: str) -> dict:
    """What a command prints as JSON."""
    command = [sys.executable, "-m", "extbnsl", *arguments, "--json", "--quiet"]
    return json.loads(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout)


def taken(folder: Path, name: str, threads: str) -> dict[str, float]:
    """What a problem takes to solve, by the names that an estimate has."""
    stats = told(folder, "solve", *_words(name, threads), "--run-dir", name.replace(" ", "-"))["stats"]
    compiling = stats["stages"].get(COMPILING, {}).get("cpu_seconds", 0.0)
    return {
        "cpu_seconds": stats["cpu_seconds"] - compiling,
        "memory_bytes": stats["search_bytes"],
        "disk_bytes": stats["peak_disk_bytes"],
    }


def compared(folder: Path, name: str, effort: str, threads: str, took: dict[str, float]) -> tuple[list[str], bool]:
    """The line of a problem, and whether all that it took lies within its range."""
    guess = told(folder, "estimate", *_words(name, threads), "--effort", effort)
    unit = {"cpu_seconds": 1.0, "memory_bytes": MEGABYTE, "disk_bytes": MEGABYTE}
    slack = {"cpu_seconds": 1.0, "memory_bytes": 0.0, "disk_bytes": MEGABYTE}
    row, within = [name], True
    for key, value in took.items():
        least, most = guess[f"{key}_range"]
        fits = (key == "memory_bytes" or value >= least - slack[key]) and (most is None or value <= most + slack[key])
        most_told = "" if most is None else f"{most / unit[key]:.4g}"
        row += [f"{least / unit[key]:.4g} to {most_told}", f"{value / unit[key]:.4g}", "" if fits else "OUT"]
        within &= fits
    return row, within


def _words(name: str, threads: str) -> tuple[str, ...]:
    """What commands are told of a problem."""
    file, options = PROBLEMS[name]
    return (file, *options, "--threads", threads)


def main() -> int:
    """Print the table; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"problems: {', '.join(PROBLEMS)}")
    parser.add_argument("--effort", default="10s", help="of each estimate (default: %(default)s)")
    parser.add_argument("--threads", default="2")
    given = parser.parse_args()
    rows, within = [list(HEAD)], 0
    with tempfile.TemporaryDirectory() as folder:
        write_problems(Path(folder))
        names = given.names or list(PROBLEMS)
        for name in names:
            took = taken(Path(folder), name, given.threads)
            row, fits = compared(Path(folder), name, given.effort, given.threads, took)
            rows.append(row)
            within += fits
    print("\n".join(aligned(rows, left=1)))
    print(f"{within} of {len(names)} within their ranges")
    return 0 if within >= SHARE * len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
