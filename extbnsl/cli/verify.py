"""`extbnsl verify`: check a result against its data."""

import argparse
from pathlib import Path
from typing import Any

from extbnsl.cli import options
from extbnsl.cli.console import say

DOES_NOT_HOLD = 31

EPILOG = """\
Recomputes the cost of the network from the data with code of its own, and checks every claim of the result.
Give the same data options as for solve. Exit code 0 if everything holds, 31 if anything does not.

example:
  extbnsl verify wdbc.run wdbc.csv
"""


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = options.add_command(commands, "verify", "check a result against its data", EPILOG, run)
    parser.add_argument("result", metavar="RESULT", type=Path, help="a run directory or its result.json")
    parser.add_argument("data", metavar="DATA", help="the CSV file, or the local scores, that it was learned from")
    options.add_data(parser)


def run(given: argparse.Namespace) -> int:
    """Print what does not hold, or that all does; the exit code."""
    from extbnsl.data import Dataset
    from extbnsl.run_directory import read_result
    from extbnsl.verify import verify, verify_against_scores

    document = read_result(given.result)
    problem = options.read_problem(given.data, options.data_options(given))
    check = verify if isinstance(problem, Dataset) else verify_against_scores
    verdict = check(document, problem)
    for finding in verdict.findings:
        say(finding)
    if not verdict.ok:
        say(f"{given.result} does not hold.")
        return DOES_NOT_HOLD
    say(
        f"{given.result} holds: the network has no cycle, keeps the limits and costs {verdict.cost:.6f} "
        f"nats, recomputed from {given.data}. That none is cheaper was not proved again."
    )
    return 0
