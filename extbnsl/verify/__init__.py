"""The independent check of a result."""

UNITS_PER_NAT = 1 << 36  # of certificates: sums of whole units are exact
