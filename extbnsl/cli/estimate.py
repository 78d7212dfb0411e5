"""`extbnsl estimate`: tell what a solve would need, before it is begun."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.cli import options
from extbnsl.cli.head import say, say_head
from extbnsl.cli.options import read_problem
from extbnsl.cli.session import arming
from extbnsl.core.options import declared
from extbnsl.machine.budgets import Budgets, parse_duration
from extbnsl.machine.interrupts import Interrupts
from extbnsl.proof.methods import Methods
from extbnsl.solver.place import Place

if TYPE_CHECKING:
    from extbnsl.solver.needs import Estimate

EPILOG = """\
Begins a solve without writing anything: the scores, a first network and the
bounds as solve has them, then as many layers of the search as the effort and
the memory allow. Their sizes are carried on to the last layer; from that follow
memory, disk and time, each with the range that the guess may miss by. It warns
where the budgets will not do. Nothing is kept: solve does all of it again. Give
the options that solve is to have. Ctrl-C once: tell what is known by then.

example:
  extbnsl estimate survey.csv --missing drop --memory 8GiB --time-limit 2d
"""
STOPPING = "Stopping; the estimate so far follows (once more: end at once)."


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = options.add_command(commands, "estimate", "tell the memory, disk and time that a solve needs", EPILOG, run)
    parser.add_argument(
        "data",
        metavar="INPUT",
        help="a CSV file (or .csv.gz), - for standard input, or local scores (.jkl .jaa .scores .pss)",
    )
    parser.add_argument(
        "--effort",
        metavar="T",
        type=lambda text: parse_duration(text, "--effort"),
        default=60.0,
        help="look at it for at most T (default: 60 seconds); the longer, the better the guess",
    )
    options.add_claim(parser)
    options.add_options(parser, declared(Budgets), disk="nine tenths of what is free on the disk of this folder")
    options.add_options(parser, declared(Place), "compress", scratch_dir="where temporary files go")
    options.add_options(parser, declared(Methods))
    options.add_data(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing while it goes on")
    parser.add_argument("--json", action="store_true", help="print a JSON object instead of lines")


def run(given: argparse.Namespace) -> int:
    """Print the estimate; the exit code."""
    with Interrupts() as interrupts:
        estimate = _estimate(given, interrupts)
    from extbnsl.cli.outlook import document, lines

    if given.json:
        from extbnsl.core.codec import json_text

        say(json_text(document(estimate), indent=1))
    else:
        say("\n".join(lines(estimate)))
    return 0


def _estimate(given: argparse.Namespace, interrupts: Interrupts) -> "Estimate":
    budgets = options.budgets_of(given)
    problem, _ = read_problem(
        given.data, options.data_options(given), replace(budgets, time_limit=None), given.quiet, given.score
    )
    from extbnsl.run.progress import combine, told_on
    from extbnsl.solver.estimate import estimate

    claim, methods = options.claim_of(given), options.options_of(Methods, given)
    if not given.quiet:
        say_head(problem, claim, methods, budgets, Place(Path(), remember=options.input_of(given)))
    with told_on(sys.stderr, given.quiet) as told:
        return estimate(
            problem,
            claim,
            methods,
            budgets,
            given.scratch_dir,
            effort=given.effort,
            observer=combine(arming(interrupts, STOPPING), told),
            stop=interrupts.stop,
        )
