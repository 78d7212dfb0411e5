"""AIC, Akaike's information criterion, halved.

cost(X | P) = N H(X | P) + (r_X - 1) prod of r_Y over Y in P     (Akaike 1974; nats)
"""

from extbnsl.scores.score import ParameterScore


def one_nat(records: int) -> float:
    """Cost of one free parameter in nats, whatever the number of records."""
    return 1.0


AIC = ParameterScore("aic", "AIC", "AIC", one_nat)
