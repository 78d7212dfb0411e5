"""Where variables and families stand in sums over orders.

A variable that has the empty parent set alone and is nobody's candidate can come anywhere: it takes no part in the
lattice. The others have positions there, in their order. Fewer than LEAST have company that is as free.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.kernels.varsets import WORD_BITS, unpack
from extbnsl.posteriors.lattice import Families, squeezed
from extbnsl.posteriors.wide import BITS, wide_of_logs
from extbnsl.scores.local import LocalScores

LEAST = 4  # positions
ROUND_OFF = 2.0**-53
MOST_POSITIONS = 40  # beyond which no machine has room
MOST_NATS = 1e9  # between two families of a child: of so many positions, wide numbers hold the product
PLAIN_NATS = 3 * BITS * math.log(2.0) - math.log(2 * MOST_POSITIONS)  # either side of 1, of the sums of plain weights


@dataclass(frozen=True)
class Layout:
    """Positions and families of sums over orders.

    variables: those with a position, ascending; size: how many positions there are. families: of the lattice; rows: of
    each variable with a position, which of its families stands where. log_factor: how much more than the weight of the
    lattice the weight of all orders is, as logarithms. nats: how far the logarithm of a weight is from 0 at most.
    """

    variables: tuple[int, ...]
    size: int
    families: Families
    rows: tuple[NDArray[np.int64], ...]
    log_factor: float
    nats: float

    @property
    def rounding(self) -> float:
        """What rounding changes the probability of a family by at most, relative, to first order.

        Each weight is off by the rounding of its logarithm, and of the exponential function: 3 nats + 100. A sum of
        weights goes through an addition for each group of families of a child and each low position; a product of
        them along an order through a multiplication and so many additions for each position. Both the weight of all
        orders and what is divided by it are sums of such products; the latter goes through an addition for each low
        position and each block. What is less than 2^-896 when it is divided is lost, for 2^768 times as much at most.
        """
        families, n = self.families, self.size
        within = 3.0 * self.nats + 100.0 + int(np.diff(families.groups).max()) + families.low
        return ROUND_OFF * (2.0 * n * (within + n + 2.0) + families.low + (1 << n - families.low) + 8.0)


def taking_part(scores: LocalScores) -> tuple[int, ...]:
    """The variables that have a position: those that can have parents, or be some."""
    candidates = {x for own in scores.parents for x in unpack(np.bitwise_or.reduce(own, axis=0))}
    return tuple(x for x, own in enumerate(scores.parents) if x in candidates or own.any())


def layout_of(scores: LocalScores, most_low: int) -> Layout:
    """The layout of these families, with at most so many low positions. O(families log families).

    Raises InputError if the costs of a child differ by more than MOST_NATS.
    """
    n, variables = scores.variables, taking_part(scores)
    size = max(LEAST, len(variables))
    varsets, rows, logs = list[NDArray[np.int64]](), list[NDArray[np.int64]](), list[NDArray[np.float64]]()
    middles = [float(costs[0] + costs[-1]) / 2.0 for costs in scores.costs]  # between the least and the largest
    plain = True
    for x in variables:
        _check(scores, x)
        own, costs = _by_position(scores.parents[x], variables), scores.costs[x]
        rows.append(np.argsort(own))
        varsets.append(own[rows[-1]])
        logs.append(middles[x] - costs[rows[-1]])
        plain &= float(costs[-1] - costs[0]) / 2.0 + math.log(costs.size) < PLAIN_NATS
    company = size - len(variables)
    varsets += [np.zeros(1, np.int64)] * company
    logs += [np.zeros(1)] * company
    together = np.concatenate(logs)
    weights, scales = (np.exp(together), None) if plain else wide_of_logs(together)
    factor = math.lgamma(n + 1) - math.lgamma(size + 1) - math.fsum(middles)
    nats = float(np.abs(together).max())
    return Layout(variables, size, _families(min(size, most_low), weights, scales, varsets), tuple(rows), factor, nats)


def _check(scores: LocalScores, x: int) -> None:
    if scores.costs[x][-1] - scores.costs[x][0] > MOST_NATS:
        raise InputError(
            f"The costs of the families of {scores.names[x]!r} differ by more than {MOST_NATS:,.0f} nats, too much for "
            "sums: leave out those that nobody is to have."
        )


def _by_position(parents: NDArray[np.uint64], variables: tuple[int, ...]) -> NDArray[np.int64]:
    """Varsets (m, words) that have none but these variables, over their positions: (m,)."""
    found = np.zeros(len(parents), np.int64)
    for at, x in enumerate(variables):
        found |= (parents[:, x // WORD_BITS] >> np.uint64(x % WORD_BITS) & np.uint64(1)).astype(np.int64) << at
    return found


def _families(
    low: int, weights: NDArray[np.float64], scales: NDArray[np.int32] | None, varsets: list[NDArray[np.int64]]
) -> Families:
    """The families of all children; varsets: of each child, ascending."""
    groups, starts, highs, places, total = [0], list[NDArray](), list[NDArray](), list[NDArray](), 0
    for x, own in enumerate(varsets):
        begins = np.flatnonzero(np.diff(own >> low, prepend=-1))
        starts.append(begins + total)
        highs.append((own >> low)[begins])
        groups.append(groups[-1] + begins.size)
        within = own & (1 << low) - 1
        places.append(squeezed.py_func(within, x) if x < low else within)
        total += own.size
    return Families(
        low,
        weights,
        scales,
        np.concatenate(places).astype(np.int32),
        np.concatenate(highs),
        np.concatenate([*starts, [total]]),
        np.array(groups),
    )
