"""`extbnsl approximate`: a network of thousands of variables, as good as a time allows."""

import argparse

from extbnsl.cli import options
from extbnsl.cli.begin import begin_or_go_on
from extbnsl.core.options import declared
from extbnsl.machine.budgets import Budgets, parse_duration
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


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("data", metavar="INPUT", help="a CSV file (or .csv.gz), - for standard input, or local scores")
    parser.add_argument(
        "--time",
        metavar="T",
        type=lambda text: parse_duration(text, "--time"),
        default="1m",
        dest="time_limit",
        help="how long: 90 (seconds), 45m, 1h30m, 2d (default: %(default)s)",
    )
    options.add_options(parser, declared(ApproximateMethods))
    options.add_run_dir(parser)
    options.add_claim(parser)
    options.add_options(parser, declared(Budgets), "disk", "time_limit")
    options.add_data(parser)
    options.add_shared(parser, "--quiet", "--json", "--print")


def run(given: argparse.Namespace) -> int:
    """Find the network, write and print it; the exit code."""
    return begin_or_go_on(given, *asked(given))


def asked(given: argparse.Namespace) -> tuple[ApproximateMethods, None]:
    """By which methods a network is to be found; InputError for values that cannot be."""
    methods = options.options_of(ApproximateMethods, given)
    methods.check()
    return methods, None
