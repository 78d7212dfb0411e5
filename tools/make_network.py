"""Make a random Bayesian network of many variables, as a BIF file.

    python tools/make_network.py --variables 4000 --most-parents 3 --seed 1 --output net4000.bif

The recipe: the variables stand in a random order. Each has 2 to 4 states, as many parents as a uniform draw from 0 to
--most-parents says, drawn from the --reach variables before it in the order, and for each configuration of its parents
probabilities from a Dirichlet distribution whose parameters are all 1/2. The same network comes out every time for the
same arguments.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from extbnsl.cli.options import whole
from extbnsl.cli.parser import Parser
from extbnsl.cli.saying import fail
from extbnsl.core.errors import ExtbnslError, InputError
from extbnsl.files.atomic import write_atomically
from extbnsl.formats.bif_writer import bif_text
from extbnsl.formats.tabled import TabledNetwork
from extbnsl.networks.network import Network

ARITIES = (2, 4)  # the least and the most
SPREAD = 0.5  # of the Dirichlet distribution: below 1 a state is often nearly sure, so that parents tell much
MOST_PARENTS = 10  # 4**10 configurations are a million rows


def main(arguments: Sequence[str]) -> int:
    """Exit code 0, or that of the failure."""
    options = _parser().parse_args(arguments)
    try:
        made = random_network(options.variables, options.most_parents, options.reach, options.seed)
        write_atomically(options.output, bif_text(made.network, made.states, made.tables).encode())
    except ExtbnslError as error:
        return fail(str(error), error.exit_code)
    return 0


def random_network(variables: int, most_parents: int, reach: int, seed: int) -> TabledNetwork:
    """A network of the recipe above, its variables called X0, X1, ... and their states 0, 1, ...

    `reach` 0: parents come from all variables before. Raises InputError for no variable, and for more than MOST_PARENTS
    parents.
    """
    if variables < 1:
        raise InputError("--variables 0 makes no network: give at least 1.")
    if most_parents > MOST_PARENTS:
        raise InputError(f"--most-parents {most_parents} makes tables too large: give at most {MOST_PARENTS}.")
    rng = np.random.default_rng(seed)
    parents = _parents(rng.permutation(variables), most_parents, reach, rng)
    arities = rng.integers(ARITIES[0], ARITIES[1] + 1, variables)
    names = tuple(f"X{i}" for i in range(variables))
    states = tuple(tuple(map(str, range(arity))) for arity in arities)
    tables = tuple(
        rng.dirichlet(np.full(arity, SPREAD), tuple(arities[list(row)]))
        for row, arity in zip(parents, arities, strict=True)
    )
    return TabledNetwork(Network(names, parents), states, tables)


def _parents(
    order: NDArray[np.int64], most_parents: int, reach: int, rng: np.random.Generator
) -> tuple[tuple[int, ...], ...]:
    """The parents of each variable, ascending, drawn from those shortly before it in the order."""
    drawn: dict[int, tuple[int, ...]] = {}
    for place, child in enumerate(order.tolist()):
        before = order[max(0, place - reach) if reach else 0 : place]
        count = min(int(rng.integers(most_parents + 1)), len(before))
        drawn[child] = tuple(sorted(rng.choice(before, count, replace=False).tolist()))
    return tuple(drawn[child] for child in range(len(order)))


def _parser() -> Parser:
    parser = Parser(prog="make_network.py", description="Make a random Bayesian network.")
    parser.add_argument("--variables", metavar="N", type=whole, required=True, help="how many")
    parser.add_argument("--most-parents", metavar="K", type=whole, default=3, help="of one (default: %(default)s)")
    parser.add_argument(
        "--reach",
        metavar="R",
        type=whole,
        default=100,
        help="how far before a variable its parents may stand in the order; 0: anywhere (default: %(default)s)",
    )
    parser.add_argument("--seed", metavar="S", type=whole, default=0, help="of the draws (default: %(default)s)")
    parser.add_argument("--output", metavar="FILE", type=Path, required=True, help="the BIF file")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
