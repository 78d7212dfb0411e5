"""`extbnsl posterior`: how likely arcs, families and networks are, over all networks there are."""

import argparse

from extbnsl.cli import options
from extbnsl.cli.begin import begin_or_go_on
from extbnsl.core.options import declared
from extbnsl.machine.budgets import Budgets
from extbnsl.posteriors.scope import PosteriorScope
from extbnsl.proof.methods import Methods
from extbnsl.solver.place import Place

EPILOG = """\
Finds the network of least cost, as solve does, and then sums exp(-cost) over
all networks: how likely each arc is given the data, in either direction, and
each family, with an interval that is proved to hold it. Costs of arcs are odds
before the data, and what is forbidden is impossible. Writes a run directory as
solve does, with posterior.csv, families.csv and, with --sample, samples.jsonl.
Exit code 10 where intervals are wider than --within. By the uniform prior of
more than 26 variables that can lie on cycles together there are estimates with
standard errors, and nothing is proved: exit code 10 as well. A list of the k
best networks is no posterior: thousands may hold next to nothing of it.
Ctrl-C once: stop, and write what is known; 'extbnsl resume' goes on.

example:
  extbnsl posterior survey.csv --max-parents 5 --sample 1000
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    options.add_shared(parser, "data")
    options.add_options(parser, declared(PosteriorScope))
    options.add_run_dir(parser)
    options.add_claim(parser)
    options.add_options(parser, declared(Budgets))
    options.add_options(parser, declared(Place), "compress", scratch_dir="the run directory")
    options.add_options(parser, {"seed": declared(Methods)["seed"]})
    options.add_data(parser)
    options.add_shared(parser, "--quiet", "--json", "--print")


def run(given: argparse.Namespace) -> int:
    """Sum over all networks, write and print what they say; the exit code."""
    return begin_or_go_on(given, *asked(given))


def asked(given: argparse.Namespace) -> tuple[Methods, PosteriorScope]:
    """By which methods the best network is found, and what is asked of all; InputError for what cannot be."""
    scope = options.options_of(PosteriorScope, given)
    scope.check()
    return Methods(seed=given.seed), scope
