"""From the end of a search back to its order: walk the closed layers (Malone et al. 2011, Section 5.5)."""

from extbnsl.search.layers import Layer, SearchState


def optimal_order(state: SearchState) -> list[int]:
    """The order of the variables (labels of the search) that leads to the goal, which `state.layer` must hold.

    Raises KeyError if a closed layer lacks a node of the path. One binary search per layer.
    """
    varset = _goal(state.layer)
    order = [int(state.layer.leaf[0])]
    for closed in reversed(state.closed[1:]):
        varset ^= 1 << order[-1]
        order.append(closed.leaf_of(varset))
    return order[::-1]


def _goal(layer: Layer) -> int:
    assert layer.nodes == 1, "the last layer holds the goal alone"
    return int(layer.varsets[0])
