"""Make records of a random network of columns with states and columns with numbers, as a CSV file.

    python tools/make_mixed.py --states 20 --numbers 20 --records 1000 --seed 1 --output mixed.csv

The recipe, a conditional linear Gaussian network: the columns stand in a random order. One of states has 2 to 4, called
a to d, and up to two parents among the columns of states before it; for each configuration of these its probabilities
are from a Dirichlet distribution whose parameters are all 1/2. One of numbers has up to two parents of states and up to
three of numbers; for each configuration of those of states it has an intercept, normal, a slope from 0.3 to 1 in size
for each parent of numbers, and noise with a standard deviation from 0.5 to 1. Numbers of parents are uniform draws.
The same records come out every time for the same arguments.
"""

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.cli.options import whole
from extbnsl.cli.parser import Parser
from extbnsl.cli.saying import fail
from extbnsl.core.errors import ExtbnslError, InputError
from extbnsl.files.atomic import write_atomically

LABELS = "abcd"
MOST_OF_STATES, MOST_OF_NUMBERS = 2, 3  # parents


def main(arguments: Sequence[str]) -> int:
    """Exit code 0, or that of the failure."""
    options = _parser().parse_args(arguments)
    try:
        columns = random_columns(options.states, options.numbers, options.records, options.seed)
        write_atomically(options.output, csv_text(columns).encode())
    except ExtbnslError as error:
        return fail(str(error), error.exit_code)
    return 0


def random_columns(states: int, numbers: int, records: int, seed: int) -> dict[str, NDArray[Any]]:
    """The columns of the recipe above, by name: D0, D1, ... int64 states and C0, C1, ... float64 numbers, (records,).

    Raises InputError for no column or record.
    """
    if states + numbers < 1 or records < 1:
        raise InputError("There is nothing to make: give at least one column, and one record.")
    rng = np.random.default_rng([seed, states, numbers, records])
    names = [f"D{i}" for i in range(states)] + [f"C{i}" for i in range(numbers)]
    made: dict[str, NDArray[Any]] = {}
    for name in rng.permutation(names).tolist():
        of_states = _drawn([own for own in made if own[0] == "D"], MOST_OF_STATES, rng)
        configuration = np.zeros(records, np.int64)
        for parent in of_states:
            configuration = configuration * len(LABELS) + made[parent]
        if name[0] == "D":
            made[name] = _states(configuration, rng)
        else:
            of_numbers = _drawn([own for own in made if own[0] == "C"], MOST_OF_NUMBERS, rng)
            made[name] = _numbers(configuration, [made[parent] for parent in of_numbers], rng)
    return {name: made[name] for name in names}


def _drawn(before: list[str], most: int, rng: np.random.Generator) -> list[str]:
    count = min(int(rng.integers(most + 1)), len(before))
    return [before[at] for at in rng.choice(len(before), count, replace=False)] if count else []


def _states(configuration: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    arity = int(rng.integers(2, len(LABELS) + 1))
    ends = rng.dirichlet(np.full(arity, 0.5), int(configuration.max()) + 1).cumsum(axis=1)
    drawn = (rng.random(configuration.size)[:, None] > ends[configuration]).sum(axis=1)
    return np.minimum(drawn, arity - 1)


def _numbers(
    configuration: NDArray[np.int64], parents: list[NDArray[Any]], rng: np.random.Generator
) -> NDArray[np.float64]:
    size = int(configuration.max()) + 1
    values = rng.normal(size=size)[configuration]
    for parent in parents:
        slopes = rng.uniform(0.3, 1.0, size) * rng.choice([-1.0, 1.0], size)
        values = values + slopes[configuration] * parent
    return values + rng.uniform(0.5, 1.0, size)[configuration] * rng.normal(size=configuration.size)


def csv_text(columns: dict[str, NDArray[Any]]) -> str:
    """A table with a header: states by their labels, numbers with six digits behind the point."""
    text = io.StringIO()
    told = [
        [LABELS[value] for value in own.tolist()] if name[0] == "D" else [f"{value:.6f}" for value in own.tolist()]
        for name, own in columns.items()
    ]
    csv.writer(text, lineterminator="\n").writerows([list(columns), *zip(*told, strict=True)])
    return text.getvalue()


def _parser() -> Parser:
    parser = Parser(prog="make_mixed.py", description="Make records of columns with states and columns with numbers.")
    parser.add_argument("--states", metavar="D", type=whole, required=True, help="how many columns of states")
    parser.add_argument("--numbers", metavar="C", type=whole, required=True, help="how many columns of numbers")
    parser.add_argument("--records", metavar="N", type=whole, required=True, help="how many records")
    parser.add_argument("--seed", metavar="S", type=whole, default=0, help="of the draws (default: %(default)s)")
    parser.add_argument("--output", metavar="FILE", type=Path, required=True, help="the CSV file")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
