"""The parameters of a network, fitted to data."""

import math

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention
from extbnsl.data import Data, Dataset, Numbers
from extbnsl.networks.network import Network

MOST_ENTRIES = 1 << 27  # of all tables together: 1 GiB


def fit(network: Network, dataset: Dataset, smoothing: float = 0.0) -> tuple[NDArray[np.float64], ...]:
    """The parameters: one table per child, (*arities of its parents, its arity) float64.

    They are the posterior means under a prior of smoothing / (q r) for each of the q joint states of the parents and r
    of the child, as in likelihood.py; with 0 those of maximum likelihood.
    Parents are in ascending order; every row along the last axis sums to 1, and is uniform where the
    parent configuration never occurs in the data. Raises InputError if the names are not those of the data, or the
    tables too large.
    """
    if network.names != dataset.names:
        raise InputError(f"The variables of the network are not those of {dataset.source}.")
    if (entries := sum(sizes := entries_of_tables(network, dataset))) > MOST_ENTRIES:
        largest = network.names[sizes.index(max(sizes))]
        raise InputError(
            f"The tables of this network have {entries:,} numbers, most of them that of {largest!r}, and "
            f"{MOST_ENTRIES:,} are the most; limit the parents, by ",
            Mention("max-parents"),
            " for instance.",
        )
    arities = [len(states) for states in dataset.states]
    families = ((*parents, child) for child, parents in enumerate(network.parents))
    return tuple(_table(dataset.codes, arities, family, smoothing) for family in families)


def entries_of_tables(network: Network, dataset: Dataset) -> list[int]:
    """How many numbers the table of each child has; O(variables + arcs)."""
    arities = [len(states) for states in dataset.states]
    return [
        arities[child] * math.prod(arities[parent] for parent in parents)
        for child, parents in enumerate(network.parents)
    ]


def number_of_parameters(network: Network, data: Data) -> int:
    """How many numbers of these tables are free, or of the regressions of continuous variables; O(variables + arcs)."""
    if isinstance(data, Numbers):
        return sum(len(parents) + 2 for parents in network.parents)  # the intercept and the variance
    entries = entries_of_tables(network, data)
    return sum(each - each // len(states) for each, states in zip(entries, data.states, strict=True))


def _table(
    codes: NDArray[np.uint16], arities: list[int], family: tuple[int, ...], smoothing: float
) -> NDArray[np.float64]:
    """P(last of `family` | the others) from relative frequencies, and those that the prior adds."""
    shape = tuple(arities[i] for i in family)
    cells = np.ravel_multi_index(tuple(codes[:, i].astype(np.int64) for i in family), shape)
    counts = np.bincount(cells, minlength=math.prod(shape)).reshape(shape)
    totals = counts.sum(axis=-1, keepdims=True)
    prior = smoothing / math.prod(shape[:-1])
    occurs = totals + prior > 0
    return np.where(occurs, (counts + prior / shape[-1]) / np.where(occurs, totals + prior, 1.0), 1 / shape[-1])
