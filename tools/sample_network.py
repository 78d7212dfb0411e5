"""Sample records from a Bayesian network in a file: BIF, XMLBIF, XDSL or NET.

    python tools/sample_network.py alarm.bif.gz --records 1000 --seed 1 --output alarm_1000.csv

Writes a CSV file with a header: the variables in the order of the file, the names of their states. Records are
independent, and the same come out every time for the same network, number of records and seed.
"""

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from extbnsl.cli.options import whole
from extbnsl.cli.parser import Parser
from extbnsl.cli.saying import fail, say
from extbnsl.core.errors import ExtbnslError
from extbnsl.files.atomic import write_atomically
from extbnsl.formats.network_reader import read_network
from extbnsl.formats.tabled import TabledNetwork


def main(arguments: Sequence[str]) -> int:
    """Exit code 0, or that of the failure."""
    options = _parser().parse_args(arguments)
    try:
        source = read_network(options.network)
        text = csv_text(source, sample(source, options.records, options.seed))
        if options.output is None:
            say(text.removesuffix("\n"))
        else:
            write_atomically(options.output, text.encode())
    except ExtbnslError as error:
        return fail(str(error), error.exit_code)
    return 0


def sample(source: TabledNetwork, records: int, seed: int) -> NDArray[np.uint16]:
    """Records drawn parents first, as codes of the states: (records, n); O(records x arity) for each variable."""
    rng = np.random.default_rng(seed)
    codes = np.zeros((records, len(source.states)), np.uint16)
    for child in source.network.order():
        parents = source.network.parents[child]
        table = source.tables[child].cumsum(axis=-1)
        bounds = (table / table[..., -1:])[tuple(codes[:, parent] for parent in parents)]
        # The last bound is 1, which no draw reaches; so a state of probability 0 never comes.
        codes[:, child] = (rng.random((records, 1)) >= bounds).sum(axis=-1)
    return codes


def csv_text(source: TabledNetwork, codes: NDArray[np.uint16]) -> str:
    """Names and records, the states by their labels."""
    columns = [np.array(labels, object)[codes[:, i]] for i, labels in enumerate(source.states)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(source.network.names)
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _parser() -> Parser:
    parser = Parser(prog="sample_network.py", description="Sample records from a Bayesian network.")
    parser.add_argument("network", metavar="NETWORK", type=Path, help="a BIF, XMLBIF, XDSL or NET file, plain or gzip")
    parser.add_argument("--records", metavar="N", type=whole, default=1000, help="how many (default: %(default)s)")
    parser.add_argument("--seed", metavar="S", type=whole, default=0, help="of the draws (default: %(default)s)")
    parser.add_argument("--output", metavar="FILE", type=Path, help="a CSV file (default: standard output)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
