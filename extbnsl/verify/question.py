"""What a result claims to answer: every part that changes what its claim means, whether that was demanded, and what of
it nobody checked."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from extbnsl.core.claims import ALIASES
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.verify.document import Asked, ClaimedResult, Networks, Share, Thing, Word, read_asked, value_of

SHORT = 12  # characters of a digest that tells two values apart for people
# Parts of a question, as people demand them; those of DATA_PARTS are options of reading the data.
OUTCOME = ("status", "order-optimal")  # what came of it
DATA_PARTS = (
    *("header", "delimiter", "skip-lines", "comment", "missing", "na", "decimal", "thousands", "unit"),
    *("below-detection", "columns", "drop", "discrete", "discretise", "states", "resolution", "imputation"),
    *("targets", "time-column", "lags", "unit-column", "instant"),
)
EVERY = "data-options"  # all of these together
KEYS = (
    *(*OUTCOME, "score", "ess", "penalty", "gamma", "parent-cost", "max-parents", "knowledge"),
    *("variables", "records", "weights", "digest"),
    *("k", "within-factor", "classes", "resamples", "prior", "within", EVERY, *DATA_PARTS),
)

# What a result claims and a check may leave as it is, as people are told. Of the network:
OPTIMALITY = "that no network costs less"
ORDER = "that no network of its order costs less"
BOUND = "the lower bound"
DATA = "that these are the data of the run, since the result has no digest"
RESAMPLES = "what the resamples say, how often they have each arc"
PROBABILITIES = "the sum over all networks, and how likely arcs are"
DRAWN = "that networks were drawn from all, and what share of them has a feature"
# Of a list of networks:
LISTED = "that the networks of the list are as it says, with their tables, and that there are no others"
MISSING = "that no network that is not listed costs less than the last one"
COUNT = "how many networks there are"
SHARES = "shares of networks, classes and arcs, which tell of networks that are not listed"
OF_ALL = "what the networks found hold of all there are"


@dataclass(frozen=True)
class Unchecked:
    """A claim that was not checked."""

    what: str  # one of the above
    why: str = ""  # a stop reason or a clause, empty if nobody could
    components: tuple[tuple[str, ...], ...] = ()  # the variables, for OPTIMALITY of some; none if it is of all


@dataclass(frozen=True)
class Question:
    """What a result answers."""

    claim: ClaimedResult
    records: int | None  # of the data, None of local scores
    data_options: Mapping[str, Any]  # of reading the data
    asked: Asked | None = None  # which list, None if it is of one network
    resamples: int | None = None  # how many were asked for, None if none were
    prior: str | None = None  # of a sum over all networks, None if there is none
    within: float | None = None  # how wide its intervals may be

    def parts(self) -> dict[str, Any]:
        """The value of each of KEYS, None for what there is not."""
        claim, asked = self.claim, self.asked
        own = {
            "status": claim.status,
            "order-optimal": claim.order_optimal or None,
            "score": claim.score,
            "ess": claim.ess,
            "penalty": claim.penalty,
            "gamma": claim.gamma or None,
            "parent-cost": claim.parent_cost or None,
            "max-parents": claim.max_parents,
            "knowledge": claim.knowledge or None,
            "variables": len(claim.variables),
            "records": self.records,
            "weights": self.data_options.get("weights"),
            "digest": claim.provenance.data_digest,
            "k": asked and asked.k,
            "within-factor": asked and asked.within_factor,
            "classes": (asked and asked.classes) or None,
            "resamples": self.resamples,
            "prior": self.prior,
            "within": self.within,
            EVERY: dict(self.data_options) or None,
        }
        return own | {key: self.data_options.get(key.replace("-", "_")) for key in DATA_PARTS}


def question_of(
    document: Mapping[str, Any], claim: ClaimedResult, records: int | None, data_options: Mapping[str, Any]
) -> Question:
    """The question of a result; records: of the data, which were read by these options. Raises InputError where a list
    does not tell what was asked for."""
    resamples = None
    if "bootstrap" in document:
        bootstrap = value_of(document, "bootstrap", Thing)
        resamples = value_of(bootstrap, "resamples", Annotated[Networks, "a number of resamples"])
    if "count" not in document and "arc_shares" in document:
        raise InputError("The result has no 'count', but 'arc_shares': give the whole result.json of a run.")
    asked = read_asked(document) if "count" in document else None
    prior = within = None
    if "posterior" in document:
        posterior = value_of(document, "posterior", Thing)
        prior, within = value_of(posterior, "prior", Word), value_of(posterior, "within", Share)
    return Question(claim, records, data_options, asked, resamples, prior, within)


def unmet(question: Question, demanded: Mapping[str, Any], of_data: Knowledge = NOTHING) -> Iterator[str]:
    """A sentence for each of some demands, values by KEYS, that a question is not as. of_data: what the data say of
    networks themselves, which joins the knowledge that is demanded. InputError if one demands knowledge of variables
    that there are not."""
    parts = question.parts()
    for key, wanted in demanded.items():
        if key == "knowledge":
            own = (wanted or NOTHING).over(question.claim.variables)  # the claim has no patterns
            wanted = (own.joined(of_data) if of_data else own) or None
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
        {tuple(sorted(set(group))) for group in knowledge.apart},
        set(knowledge.costs),
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
    kinds = {type(own), type(wanted)}
    return (len(kinds) == 1 or kinds == {int, float}) and bool(own == wanted)
