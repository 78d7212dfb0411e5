"""The independent check of a result."""

UNITS_PER_NAT = 1 << 36  # of certificates: sums of whole units are exact
# Of result.json. 1 had multipliers that were not whole units, 2 no steps of branching in the certificate, and called
# the shares of networks probabilities; 3 knew what a list holds of all networks as one number.
FORMAT_VERSION = 4
SIGN, LOG_BASE = "minimised", "e"  # of costs
