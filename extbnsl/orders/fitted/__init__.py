"""Orders of continuous variables: the parents of each are chosen again within the moves, without lists of families."""
