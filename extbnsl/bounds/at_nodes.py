"""The bounds as a search takes them at its nodes: arrays that kernels sum, over the labels of the search."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import Multipliers, no_cuts, renamed, unions
from extbnsl.kernels.varsets import WORD_BITS


class GroupBound(NamedTuple):
    """h(U) = sum over groups g of tables[start[g] + (U >> shift[g] & (2^width[g] - 1))], in nats.

    tables float64; start, shift, width int64 (groups,); the groups cover the variables from bit 0 upwards.
    """

    tables: NDArray[np.float64]
    start: NDArray[np.int64]
    shift: NDArray[np.int64]
    width: NDArray[np.int64]


def group_bound(tables: Sequence[NDArray[np.float64]]) -> GroupBound:
    """The bound whose group g has tables[g], of length 2^width."""
    width = np.array([t.size.bit_length() - 1 for t in tables], dtype=np.int64)
    start = np.cumsum([0] + [t.size for t in tables])[:-1]
    return GroupBound(np.concatenate(tables), start.astype(np.int64), np.cumsum(width) - width, width)


class ClusterBound(NamedTuple):
    """h1 of a component of at most 64 variables, ready for the search: masks (t,) uint64 and weights (t,) int64 of the
    unions that make up the cuts, in UNITs; waiting (8, 256) float64: the sum of mu over the variables of a byte that a
    value of it lacks. cuts (k, 3, 1) and multipliers (k,) int64: for ascents at nodes.
    """

    masks: NDArray[np.uint64]
    weights: NDArray[np.int64]
    waiting: NDArray[np.float64]
    cuts: NDArray[np.uint64]
    multipliers: NDArray[np.int64]


NO_CLUSTERS = ClusterBound(  # any other bound of a node that lacks a variable is larger, also if costs are below zero
    np.zeros(0, np.uint64),
    np.zeros(0, np.int64),
    np.tile(np.where(np.arange(256) == 255, 0.0, -np.inf), (8, 1)),
    no_cuts(1),
    np.zeros(0, np.int64),
)


def cluster_bound(multipliers: Multipliers, new: NDArray[np.int64]) -> ClusterBound:
    """The bound with variable x called new[x]."""
    cuts = renamed(multipliers.cuts, new, new.size)
    masks, weights = weighted_unions(cuts, multipliers.weights)
    least = np.zeros(WORD_BITS)
    least[new] = multipliers.least
    missing = (~np.arange(256)[:, None] >> np.arange(8)) & 1  # value, bit
    waiting = least.reshape(8, 8) @ missing.T.astype(float)
    return ClusterBound(masks[:, 0], weights, waiting, cuts, multipliers.weights)


def weighted_unions(
    cuts: NDArray[np.uint64], weights: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Varsets (t, words) and weights (t,) of either sign: the sum of the weights of those that are disjoint from U is
    what the cuts with these multipliers add to the bound at U. Equal ones are one."""
    varsets, cut, sign = unions(cuts)
    if not len(varsets):
        return varsets, np.zeros(0, np.int64)
    distinct, which = np.unique(varsets, axis=0, return_inverse=True)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, which.reshape(-1), weights[cut] * sign)
    return distinct[total != 0], total[total != 0]
