"""The result of a run and its files: all that reports may import."""
