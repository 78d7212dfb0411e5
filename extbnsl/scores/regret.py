"""The regret of the multinomial: how much the normalised maximum likelihood takes off the largest likelihood.

C(m, K) is the sum, over all sequences of m records with K states, of the largest likelihood of each. It is 1 for K = 1
or m = 0, and C(m, K + 2) = C(m, K + 1) + m / K C(m, K) (Kontkanen and Myllymaki 2007); for one K it is

    C(m, K) = sum over k of m! / (m - k)! m^-k (K - 1) K ... (K + k - 2) / k!     (Mononen and Myllymaki 2008)
"""

import functools
import math

import numpy as np
from numpy.typing import NDArray

NEGLIGIBLE = 45.0  # nats below the largest term: 3e-20 of it
TERMS = 64  # at a time


@functools.lru_cache(maxsize=64)
def log_regrets(records: int, arity: int) -> NDArray[np.float64]:
    """ln C(m, arity) for m = 0 to `records`, not to be changed. O(records (sqrt(records) + arity))."""
    counts = np.arange(records + 1, dtype=np.float64)
    one, two = np.zeros(records + 1), _of_two_states(counts)
    if arity == 1:
        return one
    with np.errstate(divide="ignore"):
        for states in range(1, arity - 1):
            one, two = two, np.logaddexp(two, np.log(counts / states) + one)
    return two


def log_regrets_of(records: int, states: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln C(records, K) for each K of `states`, at least 1. O(records) for each at worst, mostly much less."""
    found = np.zeros(states.size)
    if records == 0:
        return found
    open_, term, first = np.flatnonzero(states > 1.0), np.zeros(states.size), 1
    largest = np.zeros(states.size)
    while first <= records and open_.size:
        k = np.arange(first, min(first + TERMS, records + 1), dtype=np.float64)
        shrinking = np.log1p(-(k - 1) / records) - np.log(k)
        logs = term[open_, None] + np.cumsum(shrinking + np.log(states[open_, None] - 2.0 + k), axis=1)
        found[open_] = np.logaddexp(found[open_], np.logaddexp.reduce(logs, axis=1))
        term[open_], largest[open_] = logs[:, -1], np.maximum(largest[open_], logs.max(axis=1))
        open_ = open_[term[open_] >= largest[open_] - NEGLIGIBLE]  # they rise to one largest, and fall after it
        first += TERMS
    return found


def _of_two_states(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln C(m, 2) for these m: the sum over k of m! / (m - k)! m^-k, the terms of which fall."""
    total, term = np.ones(counts.size), np.ones(counts.size)
    k = 0
    while k < counts.size and term.max() > math.exp(-NEGLIGIBLE):
        with np.errstate(divide="ignore", invalid="ignore"):
            term = np.where(counts > k, term * (1.0 - k / counts), 0.0)
        total += term
        k += 1
    return np.log(total)
