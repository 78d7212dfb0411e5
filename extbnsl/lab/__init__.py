"""The laboratory: published methods to compare with, campaigns of many runs, and their report. The solver does not
know it."""
