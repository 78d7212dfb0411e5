"""The compositions: solve, estimate and score."""
