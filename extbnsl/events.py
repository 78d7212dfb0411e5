"""What a solve tells whoever watches it: small immutable values, passed to an observer.

An observer is any callable that takes one event. It is called from the thread that drives the solve,
never from a kernel, and must return quickly.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Begun:
    """What was asked for is possible, and the work begins; nothing has been written before."""


@dataclass(frozen=True)
class StageStarted:
    """A stage begins: 'scores', 'parents', 'incumbent', 'components', 'bounds', 'search' or 'verify'.

    'bootstrap' is that of all resamples; of the k best networks also 'networks', 'tally' (all within a factor) or
    'weight' (all there are).

    seconds: how much time is left from there on, but for compiling, if an end is given.
    """

    stage: str
    detail: str
    seconds: float | None = None


@dataclass(frozen=True)
class StageAdvanced:
    """A long stage goes on: `done` of `total` units of work, e.g. sets of variables; total is 0 if nobody knows it.

    Without a unit, only the share that is done means something to people. detail: the part of the stage that this is
    about, if it has parts. level: of counting, the size of the parent sets that have all been scored.
    """

    stage: str
    done: int
    total: int
    unit: str
    level: int | None = None
    detail: str = ""


@dataclass(frozen=True)
class StageEnded:
    """A stage is over, after `seconds` of wall time; `summary` is one line for a person.

    The stage 'kernels' ends without having started: it is what was compiled during the stage that ends next.
    """

    stage: str
    seconds: float
    summary: str


@dataclass(frozen=True)
class IncumbentFound:
    """A cheaper network is in hand; `cost` in nats, of the whole problem; lower_bound: what every network costs at
    least, if that is worth a word."""

    cost: float
    lower_bound: float | None = None


@dataclass(frozen=True)
class LayerAdvanced:
    """A layer is being generated: `done` is the share of the work on it, from 0 to 1, and counts and sizes are so far.

    The other fields are as in LayerEnded, which follows for the same layer.
    """

    layer: int
    layers: int
    component: int
    components: int
    done: float
    generated: int
    kept: int
    memory: int
    disk: int


@dataclass(frozen=True)
class LayerEnded:
    """A layer of the order graph of one component has been generated and merged.

    `layer` of `layers`, `component` of `components` (counted from 1); `expanded` nodes of the layer before, `generated`
    edges to this layer, `kept` nodes of it, `spilled` of them in files. `memory`: bytes of the solver's own structures;
    `disk`: bytes of the run's working files. Bounds in nats for the whole problem.
    """

    layer: int
    layers: int
    component: int
    components: int
    expanded: int
    generated: int
    kept: int
    spilled: int
    memory: int
    disk: int
    lower_bound: float
    upper_bound: float


@dataclass(frozen=True)
class Committed:
    """A checkpoint has been written, which took `seconds`; the run's working files have `disk` bytes now."""

    seconds: float
    disk: int


@dataclass(frozen=True)
class Warned:
    """Something the user should know that is no failure."""

    message: str


Event = (
    Begun | StageStarted | StageAdvanced | StageEnded | IncumbentFound | LayerAdvanced | LayerEnded | Committed | Warned
)
Observer = Callable[[Event], None]


def ignore(event: Event) -> None:
    """The observer that looks away."""
