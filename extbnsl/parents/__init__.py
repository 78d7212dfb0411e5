"""Which families can win, and BestScore(child, varset) from those that can."""
