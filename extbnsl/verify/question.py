"""What a result claims to answer: every part that changes what its claim means, and whether that was demanded."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from extbnsl.core.claims import ALIASES
from extbnsl.core.knowledge import Knowledge
from extbnsl.verify.document import ClaimedResult, is_object, value_of
from extbnsl.verify.summary import Asked, is_count, read_asked

SHORT = 12  # characters of a digest that tells two values apart for people
# Parts of a question, as people demand them; those of DATA_PARTS are options of reading the data.
OUTCOME = ("status", "order-optimal")  # what came of it
PARTS = (*OUTCOME, "score", "ess", "max-parents", "knowledge", "variables", "records", "weights", "digest")
LIST_PARTS = ("k", "within-factor", "classes", "resamples")
DATA_PARTS = ("header", "delimiter", "missing", "na", "columns", "drop", "discrete", "discretise", "arities")
EVERY = "data-options"  # all of these together
KEYS = (*PARTS, *LIST_PARTS, EVERY, *DATA_PARTS)


@dataclass(frozen=True)
class Question:
    """status and order_optimal: what is claimed of the network, by its digest; the score with its parameters; among
    which networks: limit and knowledge; of which data: names, records (None of local scores), digest (None if the
    result does not tell it), the options of reading them. asked: which list, None if it is of one network. resamples:
    how many were asked for, None if none were. arcs: how many the network has."""

    status: str
    order_optimal: bool
    order: tuple[str, ...]
    arcs: int
    network_digest: str
    score: str
    ess: float | None
    max_parents: int | None
    knowledge: Knowledge
    names: tuple[str, ...]
    records: int | None
    digest: str | None
    data_options: Mapping[str, Any]
    asked: Asked | None
    resamples: int | None

    def parts(self) -> dict[str, Any]:
        """The value of each of KEYS, None for what there is not."""
        asked = self.asked
        own = {
            "status": self.status,
            "order-optimal": self.order_optimal or None,
            "score": self.score,
            "ess": self.ess,
            "max-parents": self.max_parents,
            "knowledge": self.knowledge or None,
            "variables": len(self.names),
            "records": self.records,
            "weights": self.data_options.get("weights"),
            "digest": self.digest,
            "k": asked and asked.k,
            "within-factor": asked and asked.within_factor,
            "classes": (asked and asked.classes) or None,
            "resamples": self.resamples,
            EVERY: dict(self.data_options) or None,
        }
        return own | {key: self.data_options.get(key) for key in DATA_PARTS}


def question_of(
    document: Mapping[str, Any], claim: ClaimedResult, records: int | None, data_options: Mapping[str, Any]
) -> Question:
    """The question of a result; records: of the data, which were read by these options. Raises InputError where a list
    does not tell what was asked for."""
    resamples = None
    if "bootstrap" in document:
        bootstrap = value_of(document, "bootstrap", is_object, "an object")
        resamples = value_of(bootstrap, "resamples", is_count, "a number of resamples")
    return Question(
        status=claim.status,
        order_optimal=claim.order_optimal,
        order=claim.order,
        arcs=sum(map(len, claim.parents.values())),
        network_digest=digest_of(sorted((child, sorted(own)) for child, own in claim.parents.items())),
        score=claim.score,
        ess=claim.ess,
        max_parents=claim.max_parents,
        knowledge=claim.knowledge,
        names=claim.variables,
        records=records,
        digest=claim.digest,
        data_options=data_options,
        asked=read_asked(document) if "count" in document else None,
        resamples=resamples,
    )


def unmet(question: Question, demanded: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each of some demands, values by KEYS, that a question is not as."""
    parts = question.parts()
    for key, wanted in demanded.items():
        if not _same(key, parts[key], wanted):
            yield f"{key}: {shown(wanted)} was demanded, but the result says {shown(parts[key])}."


def shown(value: Any) -> str:
    """A value of a part of a question, for people."""
    if value is None:
        return "none"
    if isinstance(value, Knowledge):
        return f"{value} (digest {knowledge_digest(value)})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {shown(own)}" for key, own in value.items())
    return str(value)


def knowledge_digest(knowledge: Knowledge) -> str:
    """A digest that knowledge shares that says the same, in whichever order."""
    return digest_of([sorted(map(repr, part)) for part in canonical(knowledge)])


def canonical(knowledge: Knowledge) -> tuple[Any, ...]:
    """The parts of knowledge, equal if they say the same."""
    limits = dict[str, int]()
    for name, most in knowledge.max_parents:
        limits[name] = min(most, limits.get(name, most))
    return (
        set(knowledge.required),
        set(knowledge.forbidden),
        {tuple(sorted(pair)) for pair in knowledge.allowed},
        tuple(enumerate(tuple(sorted(tier)) for tier in knowledge.tiers)),
        set(knowledge.roots),
        set(knowledge.leaves),
        set(limits.items()),
    )


def digest_of(value: Any) -> str:
    """The first characters of a digest of a JSON value."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:SHORT]


def _same(key: str, own: Any, wanted: Any) -> bool:
    """Whether a part is as demanded: numbers as numbers, knowledge by what it says, scores by either of their names."""
    if isinstance(own, Knowledge) and isinstance(wanted, Knowledge):
        return canonical(own) == canonical(wanted)
    if key == "score":
        return ALIASES.get(own, own) == ALIASES.get(wanted, wanted)
    alike = type(own) is type(wanted) or (_is_number(own) and _is_number(wanted))
    return alike and bool(own == wanted)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)
