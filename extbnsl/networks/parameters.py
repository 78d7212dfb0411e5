"""The parameters of a network, fitted to data; how likely other records are by it, and records drawn from it."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention
from extbnsl.data import Dataset
from extbnsl.networks.network import Network

MOST_ENTRIES = 1 << 27  # of all tables together: 1 GiB


def fit(network: Network, dataset: Dataset, smoothing: float = 0.0) -> tuple[NDArray[np.float64], ...]:
    """The parameters: one table per child, (*arities of its parents, its arity) float64, as `table_of` gives them."""
    return tuple(tables_of(network, dataset, smoothing, range(len(network.names))).values())


def tables_of(
    network: Network,
    dataset: Dataset,
    smoothing: float,
    children: Collection[int],
    table: Callable[[int, tuple[int, ...]], NDArray[np.float64]] | None = None,
) -> dict[int, NDArray[np.float64]]:
    """The parameters of some children, by child, each as `table_of` has it; table: what makes one in place of that.

    Raises InputError if the names are not those of the data, or the tables too large.
    """
    if network.names != dataset.names:
        raise InputError(f"The variables of the network are not those of {dataset.source}.")
    every = entries_of_tables(network, dataset)
    check_entries({network.names[child]: every[child] for child in children})
    if table is None:
        return {child: table_of(dataset, smoothing, child, network.parents[child]) for child in children}
    return {child: table(child, network.parents[child]) for child in children}


def check_entries(sizes: Mapping[str, int]) -> None:
    """Raise InputError if tables with so many numbers, by their children, are too large together."""
    if (entries := sum(sizes.values())) > MOST_ENTRIES:
        largest = max(sizes, key=sizes.__getitem__)
        raise InputError(
            f"The tables of this network have {entries:,} numbers, most of them that of {largest!r}, and "
            f"{MOST_ENTRIES:,} are the most; limit the parents, by ",
            Mention("max-parents"),
            " for instance.",
        )


def table_of(dataset: Dataset, smoothing: float, child: int, parents: tuple[int, ...]) -> NDArray[np.float64]:
    """The parameters of a child: (*arities of its parents, its arity) float64.

    They are the posterior means under a prior of smoothing / (q r) for each of the q joint states of the parents and r
    of the child, as in `log_likelihoods`; with 0 those of maximum likelihood. Parents are in ascending order; every row
    along the last axis sums to 1, and is uniform where the parent configuration never occurs in the data.
    """
    family = [*parents, child]
    shape = tuple(dataset.arities[family].tolist())
    cells = np.ravel_multi_index(tuple(_training(dataset, family).T.astype(np.int64)), shape)
    counts = np.bincount(cells, minlength=math.prod(shape)).reshape(shape)
    totals = counts.sum(axis=-1, keepdims=True)
    prior = smoothing / dataset.each / math.prod(shape[:-1])  # in rows
    occurs = totals + prior > 0
    shares = (counts + prior / shape[-1]) / np.where(occurs, totals + prior, 1.0)
    return np.where(occurs, shares, 1 / shape[-1])


def _training(dataset: Dataset, family: Sequence[int]) -> NDArray[np.uint16]:
    """The codes of a family, of which the child is the last, in the records that are its, (M, k)."""
    *parents, child = family
    counted = dataset.counted(child, parents)
    own: NDArray[np.uint16] = dataset.codes[:, list(family)]
    return own if counted is None else own[counted]


def entries_of_tables(network: Network, dataset: Dataset) -> list[int]:
    """How many numbers the table of each child has; O(variables + arcs)."""
    arities = dataset.arities
    return [math.prod(arities[[*parents, child]].tolist()) for child, parents in enumerate(network.parents)]


def log_likelihoods(
    network: Network,
    training: Dataset,
    codes: NDArray[np.uint16],
    smoothing: float = 1.0,
    children: Sequence[int] | None = None,
) -> NDArray[np.float64]:
    """The log-likelihood of each record (N, n) of `codes`, in nats: float64 (N,); of these children alone, given all
    others, if some are named.

    The parameters are the posterior means given the M training records, with a prior of smoothing / (q r) for each of
    the q joint states of a family's parents and r of its child; with 0 the largest likelihood, and the same for all
    states where the parents' state did not occur. Then a record may be impossible: minus infinity. O((M + N) log M) for
    each family.
    """
    total = np.zeros(codes.shape[0])
    for child in range(len(network.parents)) if children is None else children:
        total += _of_family((*network.parents[child], child), training, codes, smoothing)
    return total


def by_observed(lacking: NDArray[np.bool_]) -> Iterator[tuple[tuple[int, ...], NDArray[np.int64]]]:
    """The observed columns, and the records that lack all others, of each pattern of missing values (N, n)."""
    patterns, which = np.unique(lacking, axis=0, return_inverse=True)
    order = np.argsort(which.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(which.reshape(-1)))
    for pattern, rows in zip(patterns, np.split(order, ends[:-1]), strict=True):
        yield tuple(np.flatnonzero(~pattern).tolist()), rows


def sampled(
    network: Network, training: Dataset, records: int, random: np.random.Generator, smoothing: float = 1.0
) -> NDArray[np.uint16]:
    """So many records drawn from the network, (records, n): forward, parents first (Henrion 1988).

    The parameters are those of `log_likelihoods`. O(r (M + records) log M) for each variable of r states.
    """
    codes = np.zeros((records, len(network.names)), np.uint16)
    for child in network.order():
        family = (*network.parents[child], child)
        codes[:, child] = states_drawn(np.exp(_by_state([family], training, codes, child, smoothing)), random)
    return codes


def states_drawn(each: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.intp]:
    """A state for each record by the probabilities of all of them, (records, states), but for a factor: (records,)."""
    sums = each.cumsum(axis=1)
    found: NDArray[np.intp] = (random.random(len(each))[:, None] * sums[:, -1:] >= sums[:, :-1]).sum(axis=1)
    return found


def _by_state(
    families: Sequence[tuple[int, ...]], training: Dataset, codes: NDArray[np.uint16], target: int, smoothing: float
) -> NDArray[np.float64]:
    """The sum of the log-probabilities of these families if `target` were in each of its states, (N, states)."""
    supposed = codes.copy()
    each = np.zeros((codes.shape[0], int(training.arities[target])))
    for state in range(each.shape[1]):
        supposed[:, target] = state
        for family in families:
            each[:, state] += _of_family(family, training, supposed, smoothing)
    return each


def _of_family(
    family: tuple[int, ...], training: Dataset, codes: NDArray[np.uint16], smoothing: float
) -> NDArray[np.float64]:
    """The log-probability of the last of a family given the others, of each record."""
    *parents, child = family
    states, arity = math.prod(len(training.states[p]) for p in parents), len(training.states[child])
    known = _training(training, family)
    given, both = (_occurrences(known[:, : len(own)], codes[:, list(own)]) for own in (parents, family))
    prior = smoothing / training.each / states  # in rows
    with np.errstate(divide="ignore"):
        known = np.log(both + prior / arity) - np.log(np.maximum(given + prior, np.finfo(float).tiny))
    return np.where((given == 0) & (prior == 0.0), -math.log(arity), known)


def _occurrences(training: NDArray[np.uint16], codes: NDArray[np.uint16]) -> NDArray[np.int64]:
    """In how many training records (M, k) the columns are as in each of the records (N, k)."""
    if training.shape[1] == 0:
        return np.full(codes.shape[0], training.shape[0], np.int64)
    rows, counts = np.unique(training, axis=0, return_counts=True)
    keys = np.vstack((rows, codes))
    _, which = np.unique(keys, axis=0, return_inverse=True)
    which = which.reshape(-1)
    found = np.zeros(int(which.max()) + 1, np.int64)
    found[which[: len(rows)]] = counts
    return found[which[len(rows) :]]
