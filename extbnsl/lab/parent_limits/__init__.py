"""How many parents the networks of a list need, and what limits on parents cost (Chen, Darwiche and Choi 2015)."""
