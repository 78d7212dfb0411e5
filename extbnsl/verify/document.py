"""What a result document claims: its types and its format are checked."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from extbnsl.core.codec import Misfit
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import NOTHING, Knowledge


def is_list(value: Any) -> bool:
    """Whether a JSON value is a list."""
    return isinstance(value, list)


def is_object(value: Any) -> bool:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_truth(value: Any) -> bool:
    """Whether a JSON value is true or false."""
    return isinstance(value, bool)


def is_word(value: Any) -> bool:
    """Whether a JSON value is a string."""
    return isinstance(value, str)


def is_names(value: Any) -> bool:
    """Whether a JSON value is a list of names."""
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number that a float can hold; nan, infinity, true and 10^400 are none."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def is_whole(value: Any) -> bool:
    """Whether a JSON value is a whole number, written without a point; true is none."""
    return type(value) is int


# Of result.json. 1 had multipliers that were not whole units, 2 no steps of branching in the certificate, and called
# the shares of networks probabilities.
FORMAT_VERSION = 3
SIGN, LOG_BASE = "minimised", "e"


@dataclass(frozen=True)
class ClaimedResult:
    """What a result document says; costs in nats, minimised. order_optimal: whether it says that no network of its
    order costs less."""

    status: str
    score: str
    cost: float
    lower_bound: float
    upper_bound: float
    variables: tuple[str, ...]
    parents: Mapping[str, list[str]]
    order: tuple[str, ...]
    order_optimal: bool
    max_parents: int | None
    ess: float | None
    knowledge: Knowledge
    digest: str | None
    records: int | None


def read_claims(document: Any) -> ClaimedResult:
    """The claims of a document; raises InputError, with one sentence that names the key, if it lacks a key or has one
    of another type. Earlier formats have the same keys: see `check_format`."""
    if not is_object(document):
        raise InputError("The result is not a JSON object: give the result.json of a run.")
    for key, known in (("sign", SIGN), ("log_base", LOG_BASE)):
        if value_of(document, key, is_word, "a word") != known:
            raise InputError(
                f"The {key!r} of the result is {document[key]!r}, not {known!r}: costs are minimised nats."
            )
    variables = tuple(value_of(document, "variables", is_names, "a list of names"))
    order = value_of(document, "order", _is_order, "a list of names or of indices of variables")
    provenance = value_of(document, "provenance", is_object, "an object")
    return ClaimedResult(
        status=value_of(document, "status", is_word, "a word"),
        score=value_of(document, "score", is_word, "a word"),
        cost=float(value_of(document, "cost", is_number, "a finite number")),
        lower_bound=float(value_of(document, "lower_bound", is_number, "a finite number")),
        upper_bound=float(value_of(document, "upper_bound", is_number, "a finite number")),
        variables=variables,
        parents=value_of(document, "parents", _is_parents, "an object of lists of names"),
        order_optimal=_optional(document, "order_optimal", is_truth, "true, false or null") is True,
        order=tuple(variables[i] if is_whole(i) and 0 <= i < len(variables) else str(i) for i in order),
        max_parents=value_of(document, "max_parents", _is_limit, "a whole number or null"),
        ess=None if (ess := _optional(document, "ess", _is_size, "a number above 0")) is None else float(ess),
        knowledge=_knowledge(document.get("knowledge")),
        digest=value_of(provenance, "data_digest", lambda v: v is None or is_word(v), "a digest or null"),
        records=_optional(provenance, "records", lambda value: is_whole(value) and value > 0, "a number above 0"),
    )


def check_format(document: Mapping[str, Any]) -> None:
    """Raise InputError unless a result is of the format that can be verified."""
    version = value_of(document, "format_version", is_whole, "a whole number")
    if version != FORMAT_VERSION:
        raise InputError(
            f"The result has format {version}, but this version of extbnsl reads format {FORMAT_VERSION}: "
            "solve again, or verify it with the version that wrote it."
        )


def value_of(document: Mapping[str, Any], key: str, fits: Callable[[Any], bool], wanted: str) -> Any:
    """document[key]; raises InputError if it is missing or does not fit."""
    if key not in document:
        raise InputError(f"The result has no {key!r}: give the whole result.json of a run.")
    if not fits(document[key]):
        raise InputError(f"The {key!r} of the result is not {wanted}: give the result.json of a run.")
    return document[key]


def _optional(document: Mapping[str, Any], key: str, fits: Callable[[Any], bool], wanted: str) -> Any:
    """document[key], None if it is null or missing; raises InputError if it does not fit."""
    return None if document.get(key) is None else value_of(document, key, fits, wanted)


def _is_limit(value: Any) -> bool:
    """Whether a JSON value is a parent limit."""
    return value is None or (is_whole(value) and value >= 0)


def _knowledge(value: Any) -> Knowledge:
    """The knowledge that a JSON value says, none for null; InputError if it is no knowledge, or contradicts itself."""
    if value is None:
        return NOTHING
    try:
        knowledge = Knowledge.from_document(value)
    except Misfit as found:
        place = found.place
        raise InputError(f"The 'knowledge' of the result is none at {place}: give the result.json of a run.") from None
    knowledge.check()
    return knowledge


def _is_size(value: Any) -> bool:
    """Whether a JSON value is an equivalent sample size."""
    return is_number(value) and value > 0


def _is_order(value: Any) -> bool:
    """Whether a JSON value is a list of names or of indices."""
    return is_names(value) or (isinstance(value, list) and all(map(is_whole, value)))


def _is_parents(value: Any) -> bool:
    """Whether a JSON value maps names to lists of names."""
    return is_object(value) and all(map(is_names, value.values()))
