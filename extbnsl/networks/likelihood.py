"""How likely records are by a network whose parameters are fitted to others."""

import math

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
