"""Trials of searches: they go on until they tell something."""

from dataclasses import dataclass

import pytest

from extbnsl.proof.trials import TRIAL_NODES, _until_told


@dataclass
class Layer:
    size: int
    nodes: int


@dataclass
class State:
    layer: Layer
    kept: int


def seen(nodes, variables):
    """How many layers of a trial are looked at, if they have so many nodes."""
    kept, states = 0, []
    for size, count in enumerate(nodes):
        kept += count
        states.append(State(Layer(size, count), kept))
    return len(list(_until_told(states, variables)))


@pytest.mark.parametrize(
    ("nodes", "layers"),
    [
        ([1, 64, 2016, 40767, 580_003], 5),
        ([1, 64, 2016, 20000, 580_003], 4),
        ([1, 64, 100, 150, 200, TRIAL_NODES, 5, 3], 6),
        ([1, 64, 100, 50, 5], 5),
    ],
)
def test_a_trial_goes_on_while_it_keeps_most_of_a_layer(nodes, layers):
    assert seen(nodes, 64) == layers
