"""What a solve tells whoever watches it: small immutable values, passed to an observer.

An observer is any callable that takes one event. It is called from the thread that drives the solve,
never from a kernel, and must return quickly.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class StageStarted:
    """A stage of the solve begins: 'kernels', 'scores', 'parents', 'incumbent', 'bounds', 'search', 'verify'."""

    stage: str
    detail: str


@dataclass(frozen=True)
class StageAdvanced:
    """A long stage goes on: `done` of `total` units of work, e.g. varsets counted."""

    stage: str
    done: int
    total: int
    unit: str


@dataclass(frozen=True)
class StageEnded:
    """A stage is over, after `seconds` of wall time; `summary` is one line for a person."""

    stage: str
    seconds: float
    summary: str


@dataclass(frozen=True)
class IncumbentFound:
    """A cheaper network is in hand; `cost` in nats."""

    cost: float


@dataclass(frozen=True)
class LayerEnded:
    """A layer of the order graph of one component has been generated and merged.

    `layer` of `layers`, `component` of `components` (counted from 1); `generated` edges, `kept` nodes of
    this layer; bounds in nats for the whole problem.
    """

    layer: int
    layers: int
    component: int
    components: int
    generated: int
    kept: int
    lower_bound: float
    upper_bound: float


@dataclass(frozen=True)
class Warned:
    """Something the user should know that is no failure."""

    message: str


Event = StageStarted | StageAdvanced | StageEnded | IncumbentFound | LayerEnded | Warned
Observer = Callable[[Event], None]


def ignore(event: Event) -> None:
    """The observer that looks away."""
