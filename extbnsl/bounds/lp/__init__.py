"""Multipliers from linear programs: the program, violated cuts, polishing, probing."""
