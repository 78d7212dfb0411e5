"""What a result claims of its networks together, its types checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from extbnsl.errors import InputError
from extbnsl.verify.document import value_of
from extbnsl.verify.values import is_number, is_object, is_whole

MOST_PROBABLE = 1.0 + 1e-9  # what a sum of probabilities may be for rounding


@dataclass(frozen=True)
class Summary:
    """in_all: how many networks there are, None if that is not known; listed: how many of them are listed, and share:
    their probability, one if no others are known; within: how much more than the first they cost at most, in nats, None
    if there is no such limit; of_all: the probability of the listed ones among all networks there are, None if that is
    not known; arcs: the probability of (parent, child), indices; classes: whether classes are listed,
    by one member each."""

    in_all: int | None
    listed: int
    share: float
    within: float | None
    of_all: float | None
    arcs: Mapping[tuple[int, int], float]
    classes: bool

    @property
    def whole(self) -> bool:
        """Whether all networks are listed."""
        return self.in_all == self.listed


def read_summary(head: Mapping[str, Any], names: tuple[str, ...]) -> Summary:
    """The claims of a result with networks; raises InputError, with one sentence that names the key, if it lacks a key
    or has one of another type."""
    count = value_of(head, "count", is_object, "an object")
    options = head["provenance"].get("options")
    share = value_of(count, "probability", lambda v: v is None or is_probability(v), "a probability or null")
    of_all = value_of(count, "of_all", lambda v: v is None or is_probability(v), "a probability or null")
    return Summary(
        in_all=value_of(count, "networks", lambda v: v is None or _is_count(v), "a number of networks or null"),
        listed=value_of(count, "listed", _is_count, "a number of networks"),
        share=1.0 if share is None else float(share),
        within=value_of(head, "within", lambda v: v is None or (is_number(v) and v >= 0), "a number from 0 on or null"),
        of_all=None if of_all is None else float(of_all),
        arcs=_read_arcs(value_of(head, "arc_probabilities", is_object, "an object"), names),
        classes=is_object(options) and options.get("classes") is True,
    )


def is_probability(value: Any) -> bool:
    """Whether a JSON value is a number from 0 to 1, but for rounding."""
    return is_number(value) and 0 <= value <= MOST_PROBABLE


def _is_count(value: Any) -> bool:
    """Whether a JSON value is a whole number from 0 on."""
    return is_whole(value) and value >= 0


def _read_arcs(document: Mapping[str, Any], names: tuple[str, ...]) -> dict[tuple[int, int], float]:
    """The probabilities of arcs by (parent, child); raises InputError for an arc that cannot be."""
    index = {name: i for i, name in enumerate(names)}
    arcs = {}
    for child, parents in document.items():
        if child not in index or not is_object(parents):
            raise InputError(
                f"The 'arc_probabilities' of the result have {child!r}, which is not a variable with an object."
            )
        for parent, probability in parents.items():
            if parent not in index or parent == child:
                raise InputError(f"The 'arc_probabilities' of {child!r} have {parent!r}, which is no other variable.")
            if not is_probability(probability):
                raise InputError(f"The 'arc_probabilities' of {child!r} have no probability for {parent!r}.")
            arcs[index[parent], index[child]] = float(probability)
    return arcs
