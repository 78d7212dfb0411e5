"""The MDL score and what follows from its formula alone.

cost(X | P) = N H(X | P) + (ln N / 2) (r_X - 1) prod of r_Y over Y in P     (Tian 2000, eq. 2-4; nats)
"""

import math

import numpy as np
from numpy.typing import NDArray


def half_log(records: int) -> float:
    """Cost of one free parameter in nats: ln(N) / 2."""
    return math.log(records) / 2


def max_size(entropy: float, arity: int, records: int, smallest_arities: NDArray[np.int64]) -> int:
    """Largest size of a parent set that can cost less than the empty one.

    entropy: N H(X) in nats. smallest_arities: those of the possible parents, ascending. A set of d parents costs at
    least its penalty, so it wins only if penalty(d) < N H(X) + penalty(0); with binary parents 2^d <
    1 + 2 N H(X) / ((r - 1) ln N) (H per record). Tian's Theorem 1 and eq. 25 drop the '1 +' of eq. 24 and are too
    small at some N. Arity 1 or N = 1 has no entropy: no parents.
    """
    if entropy <= 0.0:
        return 0
    unit = half_log(records) * (arity - 1)
    size, states = 0, 1.0
    for r in smallest_arities.tolist():
        states *= r
        if unit * states >= entropy + unit:
            break
        size += 1
    return size
