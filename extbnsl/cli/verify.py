"""`extbnsl verify`: check a result against its data."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.claims import TIME_LIMIT as OUT_OF_TIME
from extbnsl.cli import options
from extbnsl.cli.console import say

if TYPE_CHECKING:
    from extbnsl.verify.verdict import Optimality

DOES_NOT_HOLD = 31
TIME_LIMIT = 600.0  # seconds
MOST_NAMES = 10  # that a sentence lists

EPILOG = """\
Recomputes the cost of the network from the data with code of its own, and checks every claim of the result. If the
result has a certificate of its optimality, that is checked too, as far as the time limit allows.
Give the same data options as for solve. Exit code 0 if everything holds that was checked, 31 if anything does not.

example:
  extbnsl verify wdbc.run wdbc.csv
"""


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = options.add_command(commands, "verify", "check a result against its data", EPILOG, run)
    parser.add_argument("result", metavar="RESULT", type=Path, help="a run directory or its result.json")
    parser.add_argument("data", metavar="DATA", help="the CSV file, or the local scores, that it was learned from")
    options.add_time_limit(parser, "default: 10m; only the check of a certificate takes long")
    options.add_data(parser)


def run(given: argparse.Namespace) -> int:
    """Print what does not hold, or that all does; the exit code."""
    from extbnsl.data import Dataset
    from extbnsl.machine.budgets import Deadline, default_threads
    from extbnsl.machine.workers import Workers
    from extbnsl.results.reading import read_result
    from extbnsl.verify.verdict import verify, verify_against_scores, verify_optimality

    deadline = Deadline.after(TIME_LIMIT if given.time_limit is None else given.time_limit)
    document = read_result(given.result)
    problem = options.read_problem(given.data, options.data_options(given))
    check = verify if isinstance(problem, Dataset) else verify_against_scores
    verdict = check(document, problem)
    findings, proof = verdict.findings, "That none is cheaper was not proved again."
    if verdict.ok:
        with Workers(default_threads(), lambda: OUT_OF_TIME if deadline.passed() else None) as workers:
            optimality = verify_optimality(document, problem, workers)
        if optimality is not None:
            findings, proof = optimality.findings, _told(optimality)
    for finding in findings:
        say(finding)
    if findings:
        say(f"{given.result} does not hold.")
        return DOES_NOT_HOLD
    say(
        f"{given.result} holds: the network has no cycle, keeps the limits and costs {verdict.cost:.6f} "
        f"nats, recomputed from {given.data}. {proof}"
    )
    return 0


def _told(optimality: "Optimality") -> str:
    """One or more sentences about how much of the optimality is proved; nothing was found to be wrong."""
    if optimality.complete:
        return "Optimality proved by certificate."
    told = []
    if optimality.proved:
        told.append(f"Optimality of {_components(optimality.proved)} proved by certificate.")
    if optimality.searched:
        told.append(
            f"That of {_components(optimality.searched)} was proved by search, which a certificate does not cover."
        )
    if optimality.unchecked:
        told.append(
            f"That of {_components(optimality.unchecked)} could not be checked in the time: not finished were the "
            f"families of {_listed(optimality.unfinished)}; give a longer --time-limit."
        )
    return " ".join(told)


def _components(components: tuple[tuple[str, ...], ...]) -> str:
    """Components by their first variables."""
    one = len(components) == 1
    return f"the component{'' if one else 's'} of {_listed(tuple(names[0] for names in components))}"


def _listed(names: tuple[str, ...]) -> str:
    """A few of the names."""
    shown = ", ".join(repr(name) for name in names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES} more"
