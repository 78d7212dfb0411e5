"""What 'optimal' means, said once: among which networks, by which score, how exact the proof is, and the words for what
became of a solve."""

from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

from extbnsl.core.codec import decode_some
from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.core.options import Option, Options

OPTIMAL = "optimal"  # no network is cheaper, but for the tolerance
HEURISTIC = "heuristic"  # the method came to its end, and has no proof over all networks
TIME_LIMIT = "time_limit"
MEMORY_LIMIT = "memory_limit"
DISK_LIMIT = "disk_limit"
INTERRUPTED = "interrupted"  # by a signal
NO_WORKERS = "no_workers"  # all workers of a cluster were gone for too long
NOT_PROVED = "not_proved"  # there is no method that goes on

STOP_REASONS = (TIME_LIMIT, MEMORY_LIMIT, DISK_LIMIT, INTERRUPTED, NO_WORKERS, NOT_PROVED)
FINISHED = (OPTIMAL, HEURISTIC)  # there is nothing to go on with
STATUSES = (*FINISHED, *STOP_REASONS)


ALIASES = {"bic": "mdl"}  # other words for scores


@dataclass(frozen=True)
class Claim(Options):
    """What is claimed of a network: that none costs less, by this score, among those that are allowed. A run cannot be
    resumed under another claim. Which scores there are, and what is said of the first two, scores/known.py has.

    score: how families are scored from data; local scores that are given have their own.
    max_parents: the most parents that a variable may have, None for any number.
    ess: the equivalent sample size of scores that take one.
    knowledge: which networks are allowed.
    """

    score: str = "mdl"
    max_parents: Annotated[
        int | None,
        Option("at most K parents for a variable; 'optimal' is then about such networks", "K", default="no limit"),
    ] = None
    ess: float | None = None
    knowledge: Knowledge = NOTHING

    def __post_init__(self) -> None:
        if isinstance(self.score, str):
            object.__setattr__(self, "score", ALIASES.get(self.score, self.score))

    def check(self) -> None:
        """Raise InputError for values that cannot be; whether there is such a score, scores/known.py says."""
        super().check()
        self.knowledge.check()

    def document(self) -> dict[str, Any]:
        """The fields as JSON values; `from_document` takes them back."""
        return vars(self) | {"knowledge": self.knowledge.document() or None}

    @classmethod
    def from_document(cls, document: Any) -> "Claim":
        """The claim of a `document`, of which parts may be missing; Misfit if it is none."""
        found = decode_some(get_type_hints(cls) | {"knowledge": Knowledge | None}, document)
        return cls(**found | {"knowledge": found.get("knowledge") or NOTHING})


def tolerance(upper_bound: float) -> float:
    """How much cheaper than the incumbent a network must be to count, in nats: the proof holds within this."""
    return 1e-9 * abs(upper_bound) + 1e-9
