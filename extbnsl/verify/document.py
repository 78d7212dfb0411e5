"""What a result document claims: each key is declared once, by its type and what that is in words, and read by that."""

import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from typing import Annotated, Any, TypeVar, cast

from extbnsl.core.codec import Misfit, decode
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.verify import FORMAT_VERSION, LOG_BASE, SIGN

T = TypeVar("T")
Refusal = Callable[[str, str | None], Exception]  # of a key, and what its value is not, None if there is none

LARGEST_SHARE = 1.0 + 1e-9  # what a sum of shares may be for rounding
LARGEST = 1 << 62  # a number of networks or classes


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number that a float can hold; nan, infinity, true and 10^400 are none."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def is_share(value: Any) -> bool:
    """Whether a JSON value is a number from 0 to 1, but for rounding."""
    return is_number(value) and 0 <= value <= LARGEST_SHARE


def whole_from(least: int, most: float = float("inf")) -> Callable[[Any], bool]:
    """Whether a JSON value is a whole number in a range, of however many digits; true, and 1.0, are none."""
    return lambda value: type(value) is int and least <= value <= most


Word = Annotated[str, "a word"]
Truth = Annotated[bool, "true or false"]
Names = Annotated[tuple[str, ...], "a list of names"]
Number = Annotated[float, "a finite number"]
Whole = Annotated[Any, lambda value: type(value) is int, "a whole number"]
Positive = Annotated[Any, whole_from(1)]
Things = Annotated[list[Any], "a list"]
Thing = Annotated[dict[str, Any], "an object"]
Share = Annotated[float, is_share, "a share"]
Networks = Annotated[Any, whole_from(0, LARGEST), "a number of networks"]


def value_of(document: Mapping[str, Any], key: str, kind: Any, refused: Refusal | None = None) -> Any:
    """document[key], of a kind that says in words what it is; raises what `refused` makes, or InputError, if it is
    missing or something else."""
    refused = refused or _refused
    if key not in document:
        raise refused(key, None)
    try:
        return decode(kind, document[key])
    except Misfit:
        raise refused(key, [mark for mark in kind.__metadata__ if isinstance(mark, str)][-1]) from None


def read_fields(kind: type[T], document: Any, **known: Any) -> T:
    """A value of a dataclass, from an object that has its fields, but for those that are known; raises InputError as
    `value_of`. Those with a default may be missing or null."""
    found, document = dict(known), document if isinstance(document, dict) else {}
    for name, (hint, optional) in _declared(cast(Any, kind)).items():
        if name not in known and not (optional and document.get(name) is None):
            found[name] = value_of(document, name, hint)
    return kind(**found)


@cache
def _declared(kind: Any) -> dict[str, tuple[Any, bool]]:
    """The type of each field, and whether it has a default."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return {one.name: (hints[one.name], one.default is not MISSING) for one in fields(kind)}


def _refused(key: str, wanted: str | None) -> InputError:
    if wanted is None:
        return InputError(f"The result has no {key!r}: give the whole result.json of a run.")
    return InputError(f"The {key!r} of the result is not {wanted}: give the result.json of a run.")


@dataclass(frozen=True)
class Provenance:
    """What a result was made from, as far as that is a claim."""

    data_digest: Annotated[str | None, "a digest or null"]
    records: Annotated[Positive, "a number above 0"] = None


@dataclass(frozen=True)
class ClaimedResult:
    """What a result document says; costs in nats, minimised."""

    variables: Names
    order: Annotated[tuple[str, ...] | tuple[Whole, ...], "a list of names or of indices of variables"]
    status: Word
    score: Word
    cost: Number
    lower_bound: Number
    upper_bound: Number
    parents: Annotated[dict[str, list[str]], "an object of lists of names"]
    max_parents: Annotated[Annotated[Any, whole_from(0)] | None, "a whole number or null"]
    provenance: Provenance
    order_optimal: Annotated[bool, "true, false or null"] = False  # whether no network of its order costs less
    ess: Annotated[Annotated[float, lambda value: value > 0] | None, "a number above 0"] = None
    knowledge: Knowledge = NOTHING
    penalty: Annotated[Annotated[float, lambda value: value > 0] | None, "a number above 0"] = None
    gamma: Annotated[Annotated[float, lambda value: value >= 0] | None, "a number of at least 0"] = None
    parent_cost: Annotated[Annotated[float, lambda value: value >= 0], "a number of at least 0"] = 0.0


def read_claims(document: Any) -> ClaimedResult:
    """The claims of a document; raises InputError, with one sentence that names the key, if it lacks a key or has one
    of another type. Earlier formats have the same keys: see `check_format`."""
    if not isinstance(document, dict):
        raise InputError("The result is not a JSON object: give the result.json of a run.")
    for key, known in (("sign", SIGN), ("log_base", LOG_BASE)):
        if value_of(document, key, Word) != known:
            raise InputError(
                f"The {key!r} of the result is {document[key]!r}, not {known!r}: costs are minimised nats."
            )
    provenance = read_fields(Provenance, value_of(document, "provenance", Thing))
    knowledge = _knowledge(document.get("knowledge"))
    claim = read_fields(ClaimedResult, document, provenance=provenance, knowledge=knowledge)
    names = dict(enumerate(claim.variables))
    return replace(claim, order=tuple(own if isinstance(own, str) else names.get(own, str(own)) for own in claim.order))


def check_format(document: Mapping[str, Any]) -> None:
    """Raise InputError unless a result is of the format that can be verified."""
    version = value_of(document, "format_version", Whole)
    if version != FORMAT_VERSION:
        raise InputError(
            f"The result has format {version}, but this version of extbnsl reads format {FORMAT_VERSION}: "
            "solve again, or verify it with the version that wrote it."
        )
    if "em" in document:
        raise InputError(
            "The result is a local optimum that EM came to, which claims no bound: there is nothing to verify here but "
            "its last round, which a solve of the completed data does again."
        )


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


@dataclass(frozen=True)
class Asked:
    """Which networks were asked for: the k best, or those within a factor, or the k best of these."""

    k: Annotated[Positive | None, "a number above 0 or null"]
    within_factor: Annotated[Annotated[float, lambda value: value >= 1] | None, "a number from 1 on or null"]
    classes: Truth  # whether of equivalence classes
    top: Networks  # how many were to have files of their own


@dataclass(frozen=True)
class OfAll:
    """Between which values a share of all networks there are lies."""

    at_least: Share
    at_most: Share


@dataclass(frozen=True)
class Count:
    """How many networks there are, and what they weigh."""

    networks: Annotated[Networks | None, "a number of networks or null"]
    listed: Networks  # how many of these
    share: Share  # that the listed ones have of the weight of those that were found
    of_all: Annotated[OfAll | None, "two shares or null"]  # that they have of all there are
    written: Networks  # how many have files of their own


@dataclass(frozen=True)
class Classes:
    """The equivalence classes of the networks that are listed."""

    listed: Annotated[Networks, "a number of classes"]
    heaviest: Annotated[Networks, "the number of a class"]
    share: Share  # of the heaviest


@dataclass(frozen=True)
class TopNetwork:
    """What is told of one of the first networks."""

    rank: Number
    cost: Number
    share: Number
    equivalence_class: Number
    arcs: Number


@dataclass(frozen=True)
class Summary:
    """What a result claims of its networks together."""

    asked: Asked
    count: Count
    # how much more than the first they cost at most, in nats, None if there is no such limit
    within: Annotated[Annotated[float, lambda value: value >= 0] | None, "a number from 0 on or null"]
    arcs: Mapping[tuple[int, int], float]  # the shares of (parent, child), indices
    shared: tuple[tuple[int, int], ...]  # the arcs that all have
    classes: Classes
    top: tuple[TopNetwork, ...]

    @property
    def tallied(self) -> bool:
        """Whether networks were found that are not listed, but counted."""
        return self.count.networks is not None and self.count.networks > self.count.listed


def read_summary(head: Mapping[str, Any], names: tuple[str, ...]) -> Summary:
    """The claims of a result with networks; raises InputError, with one sentence that names the key, if it lacks a key
    or has one of another type."""
    count = read_fields(Count, value_of(head, "count", Thing))
    return read_fields(
        Summary,
        head,
        asked=read_asked(head),
        count=count,
        arcs=_read_arcs(value_of(head, "arc_shares", Thing), names),
        shared=_read_shared(value_of(head, "shared_arcs", Things), names),
        classes=read_fields(Classes, value_of(head, "classes", Thing)),
        top=tuple(map(_read_top, value_of(head, "top", Things))),
    )


def read_asked(head: Mapping[str, Any]) -> Asked:
    """What was asked for, as the options of a result with networks say; raises as `read_summary`."""
    return read_fields(Asked, value_of(head["provenance"], "options", Thing))


def _read_arcs(document: Mapping[str, Any], names: tuple[str, ...]) -> dict[tuple[int, int], float]:
    """The shares of arcs by (parent, child); raises InputError for an arc that cannot be."""
    index = {name: i for i, name in enumerate(names)}
    arcs = {}
    for child, parents in document.items():
        if child not in index or not isinstance(parents, dict):
            raise InputError(f"The 'arc_shares' of the result have {child!r}, which is not a variable with an object.")
        for parent, share in parents.items():
            if parent not in index or parent == child:
                raise InputError(f"The 'arc_shares' of {child!r} have {parent!r}, which is no other variable.")
            if not is_share(share) or share == 0:
                raise InputError(f"The 'arc_shares' of {child!r} have no share above 0 for {parent!r}.")
            arcs[index[parent], index[child]] = float(share)
    return arcs


def _read_shared(document: list[Any], names: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Arcs as (parent, child); raises InputError for what is none."""
    index = {name: i for i, name in enumerate(names)}
    for arc in document:
        if not (isinstance(arc, list) and len(arc) == 2 and all(isinstance(own, str) and own in index for own in arc)):
            raise InputError(f"The 'shared_arcs' of the result have {arc!r}, which is no arc between its variables.")
    return tuple((index[parent], index[child]) for parent, child in document)


def _read_top(document: Any) -> TopNetwork:
    """One of the first networks."""
    if not isinstance(document, dict):
        raise InputError("The 'top' of the result has something that is not an object: give the result.json of a run.")
    return read_fields(TopNetwork, document)
