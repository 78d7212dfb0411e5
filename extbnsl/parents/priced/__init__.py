"""Families by price: only those that a network cheaper than the best known one can have."""
