"""`extbnsl solve`: begin a run."""

import argparse
from pathlib import Path

from extbnsl.cli import options
from extbnsl.cli.begin import begin_or_go_on
from extbnsl.core.options import Options, declared
from extbnsl.machine.budgets import Budgets
from extbnsl.proof.methods import Methods
from extbnsl.solver.methods import BFBNB, METHODS, Resamples
from extbnsl.solver.place import Place

EPILOG = """\
Writes a run directory with result.json, network.bif (for data only),
network.json, network.dot, the logs log.jsonl and solve.log, and the checkpoint
from which 'extbnsl resume' resumes after a limit, a signal or a crash.
Ctrl-C or SIGTERM once: stop, and write the state, the best network and the
bounds; twice: end at once. 'extbnsl status' tells, from elsewhere, how far the
run is. Progress goes to standard error, the summary to standard output.

example:
  extbnsl solve survey.csv --missing drop --discretise mean --time-limit 6h
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    options.add_shared(parser, "data")
    options.add_run_dir(parser, replaced=f"{options.REPLACE_RUN}, and the FILE of --plot")
    options.add_claim(parser)
    options.add_options(parser, declared(Budgets))
    options.add_options(parser, declared(Place), scratch_dir="the run directory")
    parser.add_argument(
        "--method",
        choices=METHODS,
        metavar="NAME",
        default=BFBNB,
        help=f"what finds and proves the network, of {', '.join(METHODS)}: the first is the search that extbnsl is "
        "about; the others are published methods to compare with, of which there are no checkpoints and no "
        "certificates (default: %(default)s)",
    )
    options.add_options(parser, declared(Resamples))
    parser.add_argument("--plot", metavar="FILE", type=Path, help="then draw the network in FILE, an .svg")
    options.add_options(parser, declared(Methods))
    options.add_data(parser)
    options.add_shared(parser, "--quiet", "--json", "--print")


def run(given: argparse.Namespace) -> int:
    """Begin a run and write what comes of it; the exit code."""
    if given.plot is not None:
        from extbnsl.cli.plot import check_drawing

        check_drawing(given, given.plot, given.overwrite, "--plot")
    return begin_or_go_on(given, *asked(given))


def asked(given: argparse.Namespace) -> tuple[Options, Resamples | None]:
    """By which methods a network is to be found, and how many resamples; InputError for what the method has no use
    for."""
    methods: Options = options.options_of(Methods, given)
    if given.method != BFBNB:
        from extbnsl.lab.baselines.methods import methods_named

        methods = methods_named(given.method, options.options_of(Methods, given))
    return methods, None if given.bootstrap is None else Resamples(given.bootstrap)
