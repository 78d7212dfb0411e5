"""Whether data with missing values leave each family that must be the records that it takes, and what those of numbers
cost at least."""

import math

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention, dropped
from extbnsl.data import Data, Mixed, Numbers
from extbnsl.data.column import listed
from extbnsl.parents.constraints import Constraints
from extbnsl.parents.exhaustive.problem import Source
from extbnsl.scores.gaussian import LEAST_SHARE


def check_values(data: Data) -> None:
    """Raise InputError if a variable has no value at all, or numbers that never vary."""
    empty = [
        name for v, name in enumerate(data.names) if (counted := data.counted(v, ())) is not None and not counted.any()
    ]
    if empty:
        raise InputError(
            f"{data.source}: no record that counts for {listed(empty)} has a value there",
            names=empty,
            advice=("leave out what has none", dropped(empty, ", with ")),
        )
    constant = [name for v, name in enumerate(data.names) if _is_one_number(data, v)]
    if constant:
        has = "has" if len(constant) == 1 else "have"
        raise InputError(
            f"{data.source}: {listed(constant)} {has} the same number in every record, which no Gaussian fits",
            names=constant,
            advice=("leave out what never varies", dropped(constant, ", with ")),
        )


def _is_one_number(data: Data, v: int) -> bool:
    """Whether a variable has numbers, all of which are the same; by both kinds, in the records that it counts."""
    if isinstance(data, Numbers):
        return bool(np.nanmin(data.values[:, v]) == np.nanmax(data.values[:, v]))
    if not isinstance(data, Mixed) or data.states[v]:
        return False
    counted = data.counted(v, ())
    own = data.values[:, v] if counted is None else data.values[counted, v]
    return bool((own == own[0]).all())


def least_of_numbers(data: Data, child: int, values: NDArray[np.float64]) -> float:
    """What a family of a child of these values (N,), some of which are missing, leaves at least, in nats.

    No regular one leaves less than LEAST_SHARE of the variance of n records that differ; and that is at least
    (n - 1) / n^2 times the square of the least difference of two values, or half of it over N.
    """
    records = data.records if data.targets is None else int(data.targets.left(child).sum())
    apart = np.diff(np.unique(values[~np.isnan(values)])).min(initial=math.inf)
    variance = 2 * math.pi * LEAST_SHARE / (2 * data.records)
    return data.each * records * ((math.log(variance) + 1) / 2 + math.log(apart))


def check_required(source: Source, constraints: Constraints) -> None:
    """Raise InputError if no record, or no Gaussian, tells of a family that must be."""
    for child in range(source.data.variables):
        must = constraints.parents_required(child)
        if math.isinf(source.cost(child, must)):
            name, parents = source.data.names[child], [source.data.names[p] for p in must]
            raise InputError(
                f"{source.data.source}: too few records tell of '{name}'"
                + (f" and {listed(parents)}, which must be its parents, together" if must else ""),
                names=[name, *parents],
                advice=("leave one of these arcs out of ", Mention("required"), " and the knowledge")
                if must
                else ("leave it out", dropped([name], ", with ")),
            )
