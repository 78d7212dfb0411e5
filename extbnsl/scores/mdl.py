"""MDL, the minimum description length, which is minus BIC; and AIC, Akaike's information criterion, halved.

MDL: cost(X | P) = N H(X | P) + (ln N / 2) (r_X - 1) prod of r_Y over Y in P     (Tian 2000, eq. 2-4; nats)
AIC: cost(X | P) = N H(X | P) + (r_X - 1) prod of r_Y over Y in P     (Akaike 1974; nats)
"""

import math

from extbnsl.scores.score import ParameterScore


def half_log(records: float) -> float:
    """Cost of one free parameter in nats: ln(N) / 2."""
    return math.log(records) / 2


MDL = ParameterScore("mdl", "MDL", "BIC", half_log)


def one_nat(records: float) -> float:
    """Cost of one free parameter in nats, whatever the number of records."""
    return 1.0


AIC = ParameterScore("aic", "AIC", "AIC", one_nat)
