"""What 'optimal' means, said once: among which networks, by which score, how exact the proof is, and the words for what
became of a solve."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, get_type_hints

from extbnsl.core.arguments import check_number
from extbnsl.core.codec import decode_some
from extbnsl.core.knowledge import MOST_COST, NOTHING, Knowledge
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
CHARGES = ("penalty", "gamma", "parent_cost")


@dataclass(frozen=True)
class Claim(Options):
    """What is claimed of a network: that none costs less, by this score, among those that are allowed. A run cannot be
    resumed under another claim. Which scores there are, and what is said of the first two, scores/known.py has.

    score: how families are scored from data; local scores that are given have their own.
    max_parents: the most parents that a variable may have, None for any number.
    ess: the equivalent sample size of scores that take one.
    knowledge: which networks are allowed, and what arcs cost besides.
    penalty: what a free parameter costs, in nats, by scores of misfit and penalty; None for what the score says.
    gamma: of n variables each arc costs 2 gamma ln n nats besides, by the same scores; None for none.
    parent_cost: what each arc costs besides, in nats.
    """

    score: str = "mdl"
    max_parents: Annotated[
        int | None,
        Option("at most K parents for a variable; 'optimal' is then about such networks", "K", default="no limit"),
    ] = None
    ess: float | None = None
    knowledge: Knowledge = NOTHING
    penalty: Annotated[
        float | None,
        Option(
            "what a free parameter costs by mdl, aic, gaussian-bic, cg-bic and dg-bic, in nats, above 0",
            "C",
            default="by the score",
        ),
    ] = None
    gamma: Annotated[
        float | None,
        Option("extended BIC: by the same scores an arc costs 2 G ln n nats more, of n variables", "G", default="0"),
    ] = None
    parent_cost: Annotated[
        float,
        Option("what each arc costs besides, in nats, by any score; what some arcs cost, --arc-costs says", "C"),
    ] = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.score, str):
            object.__setattr__(self, "score", ALIASES.get(self.score, self.score))

    def check(self) -> None:
        """Raise InputError for values that cannot be; whether there is such a score, scores/known.py says."""
        super().check()
        check_number("parent_cost", self.parent_cost, 0.0, MOST_COST)
        self.knowledge.check()

    @property
    def charges(self) -> bool:
        """Whether arcs cost something beside what the score says."""
        return bool(self.parent_cost or self.gamma or self.knowledge.costs)

    def document(self) -> dict[str, Any]:
        """The fields as JSON values, without a penalty, gamma or cost of arcs that nobody gave; `from_document` takes
        them back."""
        given = {name: own for name, own in vars(self).items() if name not in CHARGES or own != getattr(Claim, name)}
        return given | {"knowledge": self.knowledge.document() or None}

    @classmethod
    def from_document(cls, document: Any) -> "Claim":
        """The claim of a `document`, of which parts may be missing; Misfit if it is none."""
        found = decode_some(get_type_hints(cls) | {"knowledge": Knowledge | None}, document)
        return cls(**found | {"knowledge": found.get("knowledge") or NOTHING})

    @classmethod
    def of_result(cls, document: Mapping[str, Any]) -> "Claim":
        """The claim of the result with this document; Misfit if there is none."""
        known = {one.name for one in fields(cls)}
        return cls.from_document({key: own for key, own in document.items() if key in known and own is not None})


def tolerance(upper_bound: float) -> float:
    """How much cheaper than the incumbent a network must be to count, in nats: the proof holds within this."""
    return 1e-9 * abs(upper_bound) + 1e-9
