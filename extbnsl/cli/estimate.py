"""`extbnsl estimate`: tell what a solve would need, before it is begun."""

import argparse
from dataclasses import replace
from pathlib import Path

from extbnsl.cli import options, session
from extbnsl.cli.saying import say
from extbnsl.core.codec import json_text
from extbnsl.core.options import declared
from extbnsl.machine.budgets import Budgets, parse_duration
from extbnsl.machine.interrupts import Interrupts
from extbnsl.proof.methods import Methods
from extbnsl.solver.place import Place

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


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    options.add_shared(parser, "data")
    parser.add_argument(
        "--effort",
        metavar="T",
        type=lambda text: parse_duration(text, "--effort"),
        default=60.0,
        help="look at it for at most T of CPU time (default: 60 seconds); the longer, the better the guess",
    )
    options.add_claim(parser)
    options.add_options(
        parser, declared(Budgets), "hands", disk="nine tenths of what is free on the disk of this folder"
    )
    options.add_options(parser, declared(Place), "compress", scratch_dir="where temporary files go")
    options.add_options(parser, declared(Methods))
    options.add_data(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing while it goes on")
    parser.add_argument("--json", action="store_true", help=options.AS_JSON)


def run(given: argparse.Namespace) -> int:
    """Print the estimate; the exit code."""
    methods = options.options_of(Methods, given)
    with (
        Interrupts() as interrupts,
        session.without_run(given, methods, interrupts, STOPPING, run_folder=Path()) as (asked, observer),
    ):
        from extbnsl.cli.outlook import document, lines
        from extbnsl.solver.estimate import estimate

        wanted = replace(asked, place=Place(scratch_dir=given.scratch_dir))
        found = estimate(wanted, effort=given.effort, observer=observer, stop=interrupts.stop)
    say(json_text(document(found), indent=1) if given.json else "\n".join(lines(found)))
    return 0
