"""`extbnsl kbest`: the best networks, and what they say together."""

import argparse

from extbnsl.cli import options
from extbnsl.cli.begin import begin_or_go_on
from extbnsl.core.options import Options, declared
from extbnsl.kbest.scope import ALL, KEEPS_ONE, MOST_LISTED, Scope
from extbnsl.lab.baselines.methods import RANKING_METHODS, methods_named
from extbnsl.machine.budgets import Budgets
from extbnsl.proof.methods import Methods
from extbnsl.solver.methods import BFBNB
from extbnsl.solver.place import Place

K = 10  # unless a number or a factor is given

EPILOG = """\
Proves which networks are the k best, or all that are at most F times less
probable than the best one, and ranks them. Writes a run directory as solve
does, where result.json has the list of networks, networks.csv their ranks, and
arcs.csv for each arc the share of the networks found that have it, by their
weight. What these hold of all networks there are is known of up to 18
variables; of more it is told between which bounds it lies.
Networks that cost the same have the same rank. Path extension and ancestral
successors, two methods of solve, are not there: they keep one of several
networks. Ctrl-C once: stop, and write what is known; 'extbnsl resume' goes on.

example:
  extbnsl kbest survey.csv -k 1000 --time-limit 1h
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    options.add_shared(parser, "data")
    options.add_options(parser, declared(Scope), k=f"{K}, or {MOST_LISTED:,} within a factor")
    options.add_run_dir(parser)
    options.add_claim(parser)
    options.add_options(parser, declared(Budgets))
    options.add_options(parser, declared(Place), "compress", scratch_dir="the run directory")
    parser.add_argument(
        "--method",
        choices=RANKING_METHODS,
        default=BFBNB,
        help="what finds the networks: the search that extbnsl is about, or A* over the BN graph, a published method "
        "to compare with, without checkpoints (default: %(default)s)",
    )
    options.add_options(parser, declared(Methods), *KEEPS_ONE)
    options.add_data(parser)
    options.add_shared(parser, "--quiet", "--json", "--print")


def run(given: argparse.Namespace) -> int:
    """Find the networks, write and print them; the exit code."""
    return begin_or_go_on(given, *asked(given))


def asked(given: argparse.Namespace) -> tuple[Options, Scope]:
    """By which methods networks are to be found, and which; InputError for what cannot be, or has no use."""
    scope = options.options_of(Scope, given, **({"k": K} if given.k is None and given.within_factor is None else {}))
    scope.check()
    own = options.options_of(Methods, given, **dict.fromkeys(KEEPS_ONE, False))
    return methods_named(given.method, own, ALL), scope
