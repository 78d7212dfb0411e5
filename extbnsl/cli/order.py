"""`extbnsl order`: the best network under an order of the variables."""

import argparse
from typing import TYPE_CHECKING

from extbnsl.cli import options, session
from extbnsl.cli.options import is_standard_input
from extbnsl.core.errors import InputError
from extbnsl.core.options import declared
from extbnsl.machine.budgets import Budgets
from extbnsl.parents.ordered.methods import OrderMethods

if TYPE_CHECKING:
    from extbnsl.data import Data

EPILOG = """\
Every variable gets its best parents among those before it, or with --method k3
those that a greedy search finds. The status is 'heuristic', since another order
may have a better network; 'order_optimal' in result.json says that no network
of this order costs less. The table has the states that the method visited, as
Tian (2000) counts them, and for which variables K3 was trapped: the parents
that it finds cost more. Ctrl-C once: stop, and write the network so far; there
are no checkpoints, so that a run that is stopped or killed starts again.

example:
  extbnsl order survey.csv --order order.txt --method dfbnb-k3
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("data", metavar="INPUT", help="a CSV file (or .csv.gz), - for standard input")
    parser.add_argument(
        "--order",
        metavar="FILE",
        required=True,
        help="the names of all variables, one a line, parents first, or a network (.bif .bifxml .xdsl .net), whose "
        "order it is; - for standard input",
    )
    options.add_options(parser, declared(OrderMethods))
    options.add_shared(parser, "--run-dir")
    parser.add_argument("--overwrite", action="store_true", help=options.REPLACE_RUN)
    options.add_claim(parser)
    options.add_options(parser, declared(Budgets), "disk")
    parser.set_defaults(disk=0)
    options.add_data(parser)
    options.add_shared(parser, "--quiet", "--json", "--print")


def run(given: argparse.Namespace) -> int:
    """Find the network, write and print it; the exit code."""
    from extbnsl.data.text import source_name
    from extbnsl.formats.network_reader import is_network_file
    from extbnsl.orders.given import positions

    methods, _ = asked(given)
    if is_standard_input(given.data) and is_standard_input(given.order):
        raise InputError("--order: standard input has the data already; give the order in a file.")
    file = source_name(given.order)
    names = _names(given.order, file)

    def order_of(dataset: "Data") -> tuple[int, ...]:
        of_network = is_network_file(given.order)  # which may have others
        used = [each for each in names if each[1] in dataset.names or not of_network]
        return positions(used, dataset.names, file, source_name(given.data), dataset.given)

    with session.new_run(given, methods, order_of) as begun:
        return session.solve_in(*begun, given)


def asked(given: argparse.Namespace) -> tuple[OrderMethods, None]:
    """By which methods parents are to be chosen; InputError where there are no data."""
    from extbnsl.formats.kinds import is_score_file

    if is_score_file(given.data):
        raise InputError(f"{given.data} holds local scores; give the data that they were computed from.")
    return options.options_of(OrderMethods, given), None


def _names(file: str, source: str) -> list[tuple[str, str]]:
    """The names in a file of an order or of a network, in order, each with where it stands."""
    from extbnsl.data.text import open_source, read_text
    from extbnsl.files.atomic import open_given
    from extbnsl.formats.network_reader import is_network_file, read_network
    from extbnsl.orders.given import places_in

    if not is_network_file(file):
        return places_in(read_text(file, open_source if is_standard_input(file) else open_given), source)
    network = read_network(file).network
    return [(source, network.names[x]) for x in network.order()]
