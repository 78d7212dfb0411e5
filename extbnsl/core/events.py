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

    'bootstrap' is that of all resamples, 'em' that of a round in which missing values are completed; of the k best
    networks also 'networks', 'tally' (all within a factor) or 'weight' (all there are); of a posterior 'sums' and
    'samples'.

    Attributes
    ----------
    stage : str
        The name of the stage.
    detail : str
        What it is about, for a person.
    seconds : float or None
        How much time is left from there on, but for compiling; None if no end is given.
    """

    stage: str
    detail: str
    seconds: float | None = None


@dataclass(frozen=True)
class StageAdvanced:
    """A long stage goes on.

    Attributes
    ----------
    stage : str
        The name of the stage.
    done : int
        How many units of work are done.
    total : int
        Of how many; 0 if nobody knows it.
    unit : str
        What is counted, such as sets of variables. If it is empty, only the share that is done means something to
        people.
    level : int or None
        Of counting, the size of the parent sets that have all been scored.
    detail : str
        The part of the stage that this is about, if it has parts.
    whole : float or None
        The share of the stage as a whole that is done, from 0 to 1, where `done` is of a part and this is known.
    """

    stage: str
    done: int
    total: int
    unit: str
    level: int | None = None
    detail: str = ""
    whole: float | None = None


@dataclass(frozen=True)
class StageEnded:
    """A stage is over.

    The stage 'kernels' ends without having started: it is what was compiled during the stage that ends next.

    Attributes
    ----------
    stage : str
        The name of the stage.
    seconds : float
        How much wall time it took.
    summary : str
        One line for a person.
    """

    stage: str
    seconds: float
    summary: str


@dataclass(frozen=True)
class IncumbentFound:
    """A cheaper network is in hand.

    Attributes
    ----------
    cost : float
        What it costs, in nats, of the whole problem.
    lower_bound : float or None
        What every network costs at least, if that is worth a word.
    """

    cost: float
    lower_bound: float | None = None


@dataclass(frozen=True)
class LayerAdvanced:
    """A layer is being generated. `LayerEnded` follows for the same layer; counts and sizes are so far.

    Attributes
    ----------
    layer, layers, component, components : int
        As in `LayerEnded`.
    done : float
        The share of the work on the layer, from 0 to 1.
    generated, kept, memory, disk : int
        As in `LayerEnded`.
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

    Attributes
    ----------
    layer, layers : int
        The number of the layer, and of how many.
    component, components : int
        The number of the component, counted from 1, and of how many.
    expanded : int
        How many nodes of the layer before were expanded.
    generated : int
        How many edges to this layer were generated.
    kept : int
        How many nodes of the layer were kept.
    spilled : int
        How many of these are in files.
    memory : int
        The bytes of the solver's own structures.
    disk : int
        The bytes of the run's working files.
    lower_bound, upper_bound : float
        Bounds for the whole problem, in nats.
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
    """A checkpoint has been written.

    Attributes
    ----------
    seconds : float
        How long that took.
    disk : int
        How many bytes the run's working files have now.
    """

    seconds: float
    disk: int


@dataclass(frozen=True)
class WorkersChanged:
    """How it stands with the workers of a cluster; what is counted is so far, in this session.

    Attributes
    ----------
    workers : int
        How many there are.
    worker_threads : int
        How many tasks they do at a time.
    workers_lost : int
        How many have gone.
    tasks : int
        How many tasks went to them.
    bytes_sent, bytes_received : int
        What went to them and came back.
    """

    workers: int
    worker_threads: int
    workers_lost: int
    tasks: int
    bytes_sent: int
    bytes_received: int


@dataclass(frozen=True)
class Warned:
    """Something the user should know that is no failure.

    Attributes
    ----------
    message : str
        A sentence for the user.
    """

    message: str


Event = (
    Begun
    | StageStarted
    | StageAdvanced
    | StageEnded
    | IncumbentFound
    | LayerAdvanced
    | LayerEnded
    | Committed
    | WorkersChanged
    | Warned
)
Observer = Callable[[Event], None]


def ignore(event: Event) -> None:
    """The observer that looks away.

    Parameters
    ----------
    event : Event
        Ignored.
    """
