"""Networks, their equivalence classes and their parameters."""
