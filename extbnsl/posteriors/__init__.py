"""Sums over all networks, or all orders of the variables: what the data say of arcs, families and networks."""
