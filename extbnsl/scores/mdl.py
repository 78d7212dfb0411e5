"""MDL, the minimum description length: minus BIC.

cost(X | P) = N H(X | P) + (ln N / 2) (r_X - 1) prod of r_Y over Y in P     (Tian 2000, eq. 2-4; nats)
"""

import math

from extbnsl.scores.score import ParameterScore


def half_log(records: int) -> float:
    """Cost of one free parameter in nats: ln(N) / 2."""
    return math.log(records) / 2


MDL = ParameterScore("mdl", "MDL", "BIC", half_log)
