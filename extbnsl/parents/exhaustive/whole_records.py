"""Whether data with missing values leave each family that must be the records that it takes."""

import math

import numpy as np

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention, dropped
from extbnsl.data import Data, Numbers
from extbnsl.data.column import listed
from extbnsl.parents.constraints import Constraints
from extbnsl.parents.exhaustive.problem import Source


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
    if isinstance(data, Numbers):
        constant = [
            name for v, name in enumerate(data.names) if np.nanmin(data.values[:, v]) == np.nanmax(data.values[:, v])
        ]
        if constant:
            has = "has" if len(constant) == 1 else "have"
            raise InputError(
                f"{data.source}: {listed(constant)} {has} the same number in every record, which no Gaussian fits",
                names=constant,
                advice=("leave out what never varies", dropped(constant, ", with ")),
            )


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
