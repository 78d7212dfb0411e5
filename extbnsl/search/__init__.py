"""The layered search of the order graph."""
