"""What a result claims of its networks together, its types checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from extbnsl.core.errors import InputError
from extbnsl.verify.document import is_list, is_names, is_number, is_object, is_truth, is_whole, value_of

LARGEST_SHARE = 1.0 + 1e-9  # what a sum of shares may be for rounding
LARGEST = 1 << 62  # a rank, or the number of a class
TOP_KEYS = ("rank", "cost", "share", "equivalence_class", "arcs")


@dataclass(frozen=True)
class Asked:
    """Which networks were asked for: the k best, or those within a factor, or the k best of these; of classes or not.
    top: how many were to have files of their own."""

    k: int | None
    within_factor: float | None
    classes: bool
    top: int


@dataclass(frozen=True)
class Summary:
    """in_all: how many networks there are, None if that is not known; listed: how many of them are listed, and share:
    of the weight of those that were found; within: how much more than the first they cost at most, in nats, None if
    there is no such limit; of_all: what the networks that were found have of the weight of all there are, None if that
    is not known; written: how many have files of their own. arcs: the share of (parent, child), indices; shared: the
    arcs that all have. classes: how many are listed, the number of the heaviest, its share. top: the first networks,
    each by the values of TOP_KEYS."""

    asked: Asked
    in_all: int | None
    listed: int
    share: float
    within: float | None
    of_all: float | None
    written: int
    arcs: Mapping[tuple[int, int], float]
    shared: tuple[tuple[int, int], ...]
    classes: tuple[int, int, float]
    top: tuple[tuple[Any, ...], ...]

    @property
    def tallied(self) -> bool:
        """Whether networks were found that are not listed, but counted."""
        return self.in_all is not None and self.in_all > self.listed


def read_summary(head: Mapping[str, Any], names: tuple[str, ...]) -> Summary:
    """The claims of a result with networks; raises InputError, with one sentence that names the key, if it lacks a key
    or has one of another type."""
    count = value_of(head, "count", is_object, "an object")
    return Summary(
        asked=read_asked(head),
        in_all=value_of(count, "networks", lambda v: v is None or is_count(v), "a number of networks or null"),
        listed=value_of(count, "listed", is_count, "a number of networks"),
        share=float(value_of(count, "share", is_share, "a share")),
        within=value_of(head, "within", lambda v: v is None or (is_number(v) and v >= 0), "a number from 0 on or null"),
        of_all=value_of(count, "of_all", lambda v: v is None or is_share(v), "a share or null"),
        written=value_of(count, "written", is_count, "a number of networks"),
        arcs=_read_arcs(value_of(head, "arc_shares", is_object, "an object"), names),
        shared=_read_shared(value_of(head, "shared_arcs", is_list, "a list"), names),
        classes=_read_classes(value_of(head, "classes", is_object, "an object")),
        top=tuple(map(_read_top, value_of(head, "top", is_list, "a list"))),
    )


def read_asked(head: Mapping[str, Any]) -> Asked:
    """What was asked for, as the options of a result with networks say; raises as `read_summary`."""
    options = value_of(head["provenance"], "options", is_object, "an object")
    return Asked(
        k=value_of(options, "k", lambda v: v is None or (is_whole(v) and v > 0), "a number above 0 or null"),
        within_factor=value_of(
            options, "within_factor", lambda v: v is None or (is_number(v) and v >= 1), "a number from 1 on or null"
        ),
        classes=value_of(options, "classes", is_truth, "true or false"),
        top=value_of(options, "top", is_count, "a number of networks"),
    )


def is_share(value: Any) -> bool:
    """Whether a JSON value is a number from 0 to 1, but for rounding."""
    return is_number(value) and 0 <= value <= LARGEST_SHARE


def is_count(value: Any) -> bool:
    """Whether a JSON value is a whole number from 0 on."""
    return is_whole(value) and 0 <= value <= LARGEST


def _read_arcs(document: Mapping[str, Any], names: tuple[str, ...]) -> dict[tuple[int, int], float]:
    """The shares of arcs by (parent, child); raises InputError for an arc that cannot be."""
    index = {name: i for i, name in enumerate(names)}
    arcs = {}
    for child, parents in document.items():
        if child not in index or not is_object(parents):
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
        if not is_names(arc) or len(arc) != 2 or not index.keys() >= set(arc):
            raise InputError(f"The 'shared_arcs' of the result have {arc!r}, which is no arc between its variables.")
    return tuple((index[parent], index[child]) for parent, child in document)


def _read_classes(document: Mapping[str, Any]) -> tuple[int, int, float]:
    """How many classes are listed, the number of the heaviest, and its share."""
    return (
        value_of(document, "listed", is_count, "a number of classes"),
        value_of(document, "heaviest", is_count, "the number of a class"),
        float(value_of(document, "share", is_share, "a share")),
    )


def _read_top(document: Any) -> tuple[Any, ...]:
    """The values of TOP_KEYS of one of the first networks."""
    if not is_object(document):
        raise InputError("The 'top' of the result has something that is not an object: give the result.json of a run.")
    return tuple(value_of(document, key, is_number, "a finite number") for key in TOP_KEYS)
