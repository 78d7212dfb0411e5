"""`python -m bench.anytime`: networks found in a given time, beside known optima. See README.md."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import measure
from bench.suite import matches, read_optima
from bench.table import aligned
from extbnsl.machine.budgets import parse_duration

NEAR = 1e-4  # relative: how far from the optimum a network may be
LEAST_SHARE = 25 / 29  # of the data sets, whose optimum itself is to be found

HEAD = ["data", "n", "cost", "optimum", "above", "gap", "wall s", "CPU s"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 if a run failed or is not NEAR the optimum, or if fewer than LEAST_SHARE are optimal."""
    given = _parser().parse_args(arguments)
    optima = read_optima(given.optima)
    chosen = [file for file in optima if not given.names or any(name in file for name in given.names.split(","))]
    options = ["--time", given.time, "--threads", str(given.threads), "--seed", str(given.seed)]
    rows = []
    for file in chosen:
        found = measure.run_once("approximate", given.optima.parent / file, options)
        rows.append(line_of(file, found, optima[file][1]))
        print(aligned([HEAD, rows[-1]]).splitlines()[-1], flush=True)
    print(f"\n{aligned([HEAD, *rows])}")
    return judged(optima, chosen, rows)


def _parser() -> argparse.ArgumentParser:
    text = "Networks found in a given time, beside known optima."
    parser = argparse.ArgumentParser(prog="python -m bench.anytime", description=text)
    parser.add_argument("--optima", metavar="FILE", type=Path, required=True, help="beside the data that it names")
    parser.add_argument("--names", metavar="LIST", help="only data whose name has one of these in it")
    parser.add_argument("--time", metavar="T", type=_duration, default="10s", help="of each (default: 10s)")
    parser.add_argument("--threads", metavar="T", type=int, default=2)
    parser.add_argument("--seed", metavar="S", type=int, default=0)
    return parser


def _duration(text: str) -> str:
    parse_duration(text, "--time")
    return text


def line_of(file: str, found: measure.Run, optimum: float) -> list[str]:
    """A row as it is printed; of a run that failed, its last words."""
    if found.document is None:
        return [file, "-", found.message, f"{optimum:.6f}", *["-"] * 4]
    cost, bound = found.document["cost"], found.document["lower_bound"]
    return [
        file,
        str(len(found.document["variables"])),
        f"{cost:.6f}",
        f"{optimum:.6f}",
        "optimal" if matches(cost, optimum) else f"{100 * (cost / optimum - 1):.5f} %",
        f"{100 * (cost - bound) / cost:.2f} %",
        f"{found.wall_seconds:.1f}",
        f"{found.cpu_seconds:.1f}",
    ]


def judged(optima: Mapping[str, tuple[int, float]], chosen: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Say how many are optimal, and how many are not even near; the exit code."""
    optimal = sum(row[4] == "optimal" for row in rows)
    far = [row[0] for row in rows if row[1] == "-" or float(row[2]) > (1 + NEAR) * optima[row[0]][1]]
    print(f"\noptimal: {optimal} of {len(chosen)}; more than {100 * NEAR:.2f} % above the optimum: {len(far)}")
    return int(bool(far) or optimal < LEAST_SHARE * len(chosen))


if __name__ == "__main__":
    sys.exit(main())
