"""`extbnsl approximate`: a network of thousands of variables, as good as a time allows."""

import argparse
from pathlib import Path
from typing import Any

from extbnsl.cli import options, session
from extbnsl.cli.options import read_problem
from extbnsl.core.options import declared
from extbnsl.machine.budgets import Budgets, parse_duration
from extbnsl.machine.interrupts import Interrupts
from extbnsl.solver.methods import ApproximateMethods

EPILOG = """\
Up to half of the time goes to parent sets, all or the more promising ones, and
the rest to a search over orders, which scores more of them beside those that
its networks have; from local scores the search has it all. The status is
'heuristic', but the lower bound holds for every network: the command ends early
if the network costs no more. Ctrl-C once: stop, and write the best network so
far. A run that is stopped or killed goes on by 'extbnsl resume' for the time it
has left.

example:
  extbnsl approximate genes.csv --time 10m --max-parents 4
"""


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    text = "find a good network of many variables in a given time"
    parser = options.add_command(commands, "approximate", text, EPILOG, run)
    parser.add_argument("data", metavar="INPUT", help="a CSV file (or .csv.gz), - for standard input, or local scores")
    parser.add_argument(
        "--time",
        metavar="T",
        type=lambda text: parse_duration(text, "--time"),
        default="1m",
        help="how long: 90 (seconds), 45m, 1h30m, 2d (default: %(default)s)",
    )
    options.add_options(parser, declared(ApproximateMethods))
    parser.add_argument(
        "--run-dir", metavar="DIR", type=Path, help="where to write (default: INPUT's name with .run, here)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the run in an existing run directory")
    options.add_claim(parser)
    options.add_options(parser, declared(Budgets), "disk", "time_limit")
    options.add_data(parser)
    options.add_output(parser, json=True)


def run(given: argparse.Namespace) -> int:
    """Find the network, write and print it; the exit code."""
    from extbnsl.cli.options import is_standard_input
    from extbnsl.run import directory as directory_module

    source = "stdin" if is_standard_input(given.data) else given.data
    with (
        Interrupts() as interrupts,
        directory_module.create(given.run_dir, source, given.overwrite) as directory,
    ):
        if given.run_dir is None:
            directory.warnings += session.stopped_before(directory.path, given.data)
        return _run_in(directory, given, interrupts)


def _run_in(directory: Any, given: argparse.Namespace, interrupts: Interrupts) -> int:
    from dataclasses import replace

    from extbnsl.solver.place import Place

    claim, methods = options.claim_of(given), options.options_of(ApproximateMethods, given)
    methods.check()
    budgets = replace(options.budgets_of(given), time_limit=given.time)
    problem, budgets = read_problem(given.data, options.data_options(given), budgets, given.quiet, given.score)
    asked = session.Asked(claim, methods, budgets, Place(directory.path, remember=options.remembered(given)))
    telling = session.Telling(given.quiet, given.json, budgets.spent, given.print)
    return session.solve_in(directory, problem, asked, interrupts, telling)
