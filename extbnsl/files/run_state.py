"""What the manifest of a run of any kind says of it, beside what the run itself goes on from."""

import math
from dataclasses import dataclass, field
from typing import Annotated, Any

from extbnsl.core.claims import STATUSES, Claim, tolerance
from extbnsl.core.codec import Highest, Lowest, Whole, Within
from extbnsl.files.names import is_drawing_path

SOLVE, APPROXIMATE, K_BEST, BOOTSTRAP = KINDS = ("solve", "approximate", "kbest", "bootstrap")
START, DONE = "start", "done"  # phases of any run
PHASES = (START, "counting", "scores", "search", "bootstrap", "networks", "parents", "orders", DONE)

Scalar = bool | int | float | str | None


@dataclass(frozen=True)
class Spent:
    """What all processes of a run have taken so far.

    stages: the seconds and cpu_seconds of each stage.
    seconds, cpu_seconds: of all of it.
    peak_rss, peak_disk: the most bytes that one of the processes had in memory, and in files.
    """

    stages: dict[str, dict[str, float]] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss: Whole = 0
    peak_disk: Whole = 0


@dataclass(frozen=True)
class Remembered:
    """What a command keeps with its run, so that `resume` can read the input again and has the same budgets.

    input: the path of the data.
    data_options: what was given of the options that say how they are read.
    budgets: memory, disk, threads and compress, null where they were not given.
    command, version: the command line, and the version of the program that began the run.
    plot: the absolute path of a drawing of the network.
    """

    input: str
    data_options: dict[str, Scalar]
    budgets: dict[str, bool | Whole | None] = field(default_factory=dict)
    command: str = ""
    version: str = ""
    plot: Annotated[str, is_drawing_path] | None = None


@dataclass(frozen=True)
class RunState:
    """The state of a run.

    kind: of KINDS.
    digest: the fingerprint of the problem.
    claim, methods, scope: what was asked; none of it changes while the run lasts.
    run: what the command remembers; None of a run that no command began.
    status: why the last process ended, None if it did not.
    phase: of PHASES.
    upper_bound, lower_bound: what some network, and every network, costs in nats.
    seconds_left: of the time of an approximation.
    spent: what it has taken.
    standing: what the run goes on from, as JSON values; whoever goes on looks at it.
    """

    kind: Annotated[str, KINDS.__contains__]
    digest: Annotated[str, lambda digest: len(digest) == 64]
    claim: Claim
    methods: dict[str, Scalar]
    scope: dict[str, Scalar]
    run: Remembered | None
    status: Annotated[str, STATUSES.__contains__] | None = None
    phase: Annotated[str, PHASES.__contains__] = START
    upper_bound: Highest = math.inf
    lower_bound: Lowest = -math.inf
    seconds_left: Annotated[float, Within()] | None = None
    spent: Spent = field(default_factory=Spent)
    standing: Any = None


def has_more_to_find(state: RunState) -> bool:
    """Whether a network may be better than the one of this run."""
    upper, lower = state.upper_bound, state.lower_bound
    return math.isinf(upper) or upper > lower + tolerance(upper)
