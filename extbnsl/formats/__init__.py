"""Formats in which a network is given to people and to other programs."""
