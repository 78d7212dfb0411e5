"""How likely records are by a network whose parameters are fitted to others."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from extbnsl.networks.network import Network


def log_likelihoods(
    network: Network,
    arities: NDArray[np.int64],
    training: NDArray[np.uint16],
    codes: NDArray[np.uint16],
    smoothing: float = 1.0,
) -> NDArray[np.float64]:
    """The log-likelihood of each record (N, n) of `codes`, in nats: float64 (N,).

    The parameters are the posterior means given the training records (M, n), with a prior of smoothing / (q r) for each
    of the q joint states of a family's parents and r of its child; with 0 the largest likelihood, and the same for all
    states where the parents' state did not occur. Then a record may be impossible: minus infinity. O((M + N) log M) for
    each family.
    """
    total = np.zeros(codes.shape[0])
    for child, parents in enumerate(network.parents):
        total += _of_family((*parents, child), arities, training, codes, smoothing)
    return total


def log_conditionals(
    network: Network,
    arities: NDArray[np.int64],
    training: NDArray[np.uint16],
    codes: NDArray[np.uint16],
    target: int,
    smoothing: float = 1.0,
) -> NDArray[np.float64]:
    """The log-probability of each state of the variable `target` given all others in each record of `codes`: float64
    (N, states), nan in a record that the others make impossible.

    The parameters are those of `log_likelihoods`. Of the network only the families that `target` is in matter, so its
    Markov blanket (Pearl 1988, section 3.3.1); its own column of `codes` is not looked at. O(r (M + N) log M) for each
    of them, of r states.
    """
    families = [(*network.parents[child], child) for child in (target, *network.children()[target])]
    each = _by_state(families, arities, training, codes, target, smoothing)
    highest = each.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        known: NDArray[np.float64] = each - highest - np.log(np.exp(each - highest).sum(axis=1, keepdims=True))
    return known


def sampled(
    network: Network,
    arities: NDArray[np.int64],
    training: NDArray[np.uint16],
    records: int,
    random: np.random.Generator,
    smoothing: float = 1.0,
) -> NDArray[np.uint16]:
    """So many records drawn from the network, (records, n): forward, parents first (Henrion 1988).

    The parameters are those of `log_likelihoods`. O(r (M + records) log M) for each variable of r states.
    """
    codes = np.zeros((records, len(network.names)), np.uint16)
    for child in network.order():
        family = (*network.parents[child], child)
        each = np.exp(_by_state([family], arities, training, codes, child, smoothing)).cumsum(axis=1)
        drawn = random.random(records)[:, None] * each[:, -1:]
        codes[:, child] = (drawn >= each[:, :-1]).sum(axis=1)
    return codes


def _by_state(
    families: Sequence[tuple[int, ...]],
    arities: NDArray[np.int64],
    training: NDArray[np.uint16],
    codes: NDArray[np.uint16],
    target: int,
    smoothing: float,
) -> NDArray[np.float64]:
    """The sum of the log-probabilities of these families if `target` were in each of its states, (N, states)."""
    supposed = codes.copy()
    each = np.zeros((codes.shape[0], int(arities[target])))
    for state in range(each.shape[1]):
        supposed[:, target] = state
        for family in families:
            each[:, state] += _of_family(family, arities, training, supposed, smoothing)
    return each


def _of_family(
    family: tuple[int, ...],
    arities: NDArray[np.int64],
    training: NDArray[np.uint16],
    codes: NDArray[np.uint16],
    smoothing: float,
) -> NDArray[np.float64]:
    """The log-probability of the last of a family given the others, of each record."""
    states, arity = math.prod(arities[list(family[:-1])].tolist()), int(arities[family[-1]])
    given = _occurrences(training[:, family[:-1]], codes[:, family[:-1]])
    both = _occurrences(training[:, family], codes[:, family])
    prior = smoothing / states
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
