"""From the end of a search back to its order: walk the closed layers (Malone et al. 2011, Section 5.5)."""

from pathlib import Path

from extbnsl.search.runs import leaf_of
from extbnsl.search.state import SearchState


def optimal_order(state: SearchState, low_bits: int, folder: Path | None = None) -> list[int]:
    """The order of the variables (labels of the search) that leads to the goal, which `state.layer` must hold.

    Reads one run of each closed layer. Raises KeyError if a layer lacks a node of the path, RunDirectoryError if a
    file of `folder` cannot be read.
    """
    varset = (1 << state.layer.size) - 1
    order: list[int] = []
    for runs in (state.layer.runs, *reversed(state.closed[1:])):
        order.append(leaf_of(runs, varset, low_bits, folder))
        varset ^= 1 << order[-1]
    return order[::-1]
