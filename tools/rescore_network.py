"""Score a network as Scanagatta, Corani, de Campos and Zaffalon 2018 do, to compare it with the figures that they give.

    python tools/rescore_network.py RESULT DATA

RESULT is a run directory or its result.json, DATA the file it was learned from, which is read as the run did. With r
for the states of a child, q for the configurations that its parents can have, n for the records of a cell and m for
those of its parent configuration, their score of a family is

    sum n (ln(n + 1 / (r q)) - ln(m + 1 / r)) - ln N (r - 1) floor(q / 2),

and without parents sum n ln((n + 1 / r) / (N + 1)) - ln N (r - 1) / 2. It is near BIC, and not BIC; larger is better.
"""

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from extbnsl.cli.options import read_problem
from extbnsl.cli.parser import Parser
from extbnsl.cli.saying import fail, say
from extbnsl.core.errors import ExtbnslError, InputError
from extbnsl.data import Dataset
from extbnsl.machine.budgets import Budgets
from extbnsl.results.reading import read_result


def main(arguments: Sequence[str]) -> int:
    """Exit code 0, or that of the failure."""
    options = _parser().parse_args(arguments)
    try:
        document = read_result(options.result)
        dataset, _ = read_problem(str(options.data), document["provenance"]["data_options"], Budgets())
        if not isinstance(dataset, Dataset) or list(dataset.names) != list(document["variables"]):
            raise InputError(f"{options.data} does not have the variables of {options.result}, or no records of them.")
        places = {name: place for place, name in enumerate(dataset.names)}
        parents = [[places[parent] for parent in document["parents"][child]] for child in dataset.names]
        say(f"{network_score(dataset, parents):.3f}")
    except ExtbnslError as error:
        return fail(str(error), error.exit_code)
    return 0


def network_score(dataset: Dataset, parents: Sequence[Sequence[int]]) -> float:
    """The score of the network with these parents of each child: the sum of those of its families."""
    arities, codes = dataset.arities.tolist(), dataset.codes
    return math.fsum(
        family_score(codes[:, child], codes[:, list(own)], arities[child], math.prod(arities[p] for p in own))
        for child, own in enumerate(parents)
    )


def family_score(child: NDArray, parents: NDArray, arity: int, configurations: int) -> float:
    """The score of a family: the states of the child (N,), of its parents (N, k), how many states and parent
    configurations there can be. O(N k log N)."""
    records, r, q = child.size, arity, configurations
    if parents.shape[1] == 0:
        _, n = np.unique(child, return_counts=True)
        return float(n @ np.log((n + 1 / r) / (records + 1))) - math.log(records) * (r - 1) / 2
    _, m = np.unique(parents, axis=0, return_counts=True)
    _, n = np.unique(np.column_stack((parents, child)), axis=0, return_counts=True)
    fit = float(n @ np.log(n + 1 / (r * q)) - m @ np.log(m + 1 / r))
    return fit - math.log(records) * (r - 1) * (q // 2)


def _parser() -> Parser:
    parser = Parser(prog="rescore_network.py", description="Score a network as Scanagatta et al. 2018 do.")
    parser.add_argument("result", metavar="RESULT", type=Path, help="a run directory or its result.json")
    parser.add_argument("data", metavar="DATA", type=Path, help="the file it was learned from")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
