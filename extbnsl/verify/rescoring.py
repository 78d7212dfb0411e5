"""What a network costs, by plain code that shares nothing with the kernels that search."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Dataset
from extbnsl.errors import InputError, VerificationError
from extbnsl.kernels.varsets import pack
from extbnsl.networks.network import Network
from extbnsl.scores.local import LocalScores

MOST_PARAMETERS = 10**300  # of a family: any finite cost is smaller
# What a free parameter costs in nats, by the name of the score, given the number of records: written here once more, as
# all that this room computes.
PARAMETER_COSTS: Mapping[str, Callable[[int], float]] = {
    "mdl": lambda records: math.log(records) / 2,
    "aic": lambda records: 1.0,
}


def score_network(dataset: Dataset, network: Network, score: str = "mdl") -> float:
    """The cost of a network in nats: sum of N H(X | parents) + parameter (r_X - 1) prod r_parent.

    parameter: what the score, one of PARAMETER_COSTS, asks for each. Arities are the numbers of states of the data set.
    Raises InputError if the names are not those of the data. O(N log N) per child.
    """
    if network.names != dataset.names:
        raise InputError(f"The variables of the network are not those of {dataset.source}.")
    return math.fsum(family_costs(dataset, network, score))


def family_costs(problem: Dataset | LocalScores, network: Network, score: str) -> list[float]:
    """What the family of each child costs, in nats; raises VerificationError for one that the scores do not list."""
    return [family_cost(problem, child, parents, score) for child, parents in enumerate(network.parents)]


def family_cost(problem: Dataset | LocalScores, child: int, parents: tuple[int, ...], score: str) -> float:
    """What the family of a child costs, in nats; raises VerificationError if the scores do not list it."""
    if isinstance(problem, Dataset):
        return _counted(problem, child, parents, PARAMETER_COSTS[score](problem.records))
    return _listed(problem, child, parents)


def _counted(dataset: Dataset, child: int, parents: tuple[int, ...], parameter: float) -> float:
    """The cost of one family; infinity if it is more than a float can hold."""
    free_parameters = (len(dataset.states[child]) - 1) * math.prod(len(dataset.states[p]) for p in parents)
    if free_parameters > MOST_PARAMETERS:
        return math.inf
    configurations = _numbered(dataset.codes[:, parents])
    cells = _numbered(np.column_stack([configurations, dataset.codes[:, child]]))
    in_cell = np.bincount(cells)
    in_configuration = np.zeros(len(in_cell), dtype=np.int64)
    in_configuration[cells] = np.bincount(configurations)[configurations]
    occurs = in_cell > 0
    in_cell, in_configuration = in_cell[occurs], in_configuration[occurs]
    misfit = -math.fsum((in_cell * np.log(in_cell / in_configuration)).tolist())
    return misfit + parameter * free_parameters


def _numbered(rows: NDArray[Any]) -> NDArray[np.int64]:
    """For each row of a matrix a number that equal rows share and no others; all the same if there are no columns."""
    which, numbers = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        states = int(column.max()) + 1
        which = which * states + column
        numbers *= states
        if numbers > len(rows):  # without gaps the next ones stay below N^2 however many columns there are
            which = np.unique(which, return_inverse=True)[1].reshape(-1).astype(np.int64)
            numbers = int(which.max()) + 1
    return which


def _listed(scores: LocalScores, child: int, parents: tuple[int, ...]) -> float:
    """The listed cost of one family; raises VerificationError if it is not listed."""
    varset = pack(parents, len(scores.names))
    found: NDArray[np.intp] = np.flatnonzero((scores.parents[child] == varset).all(axis=1))
    if len(found) == 0:
        members = ", ".join(repr(scores.names[p]) for p in parents) or "no parents"
        raise VerificationError(f"The local scores do not list the family of {scores.names[child]!r} with {members}.")
    return float(scores.costs[child][found[0]])
