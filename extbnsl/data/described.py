"""What the columns of data hold, as it is told."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from extbnsl.core.sentences import Sentence

STATES_LISTED = 20  # of a column that is described


class Described(NamedTuple):
    """A column of data.

    name: as it is in the data.
    kind: "states", "numbers", "date", "identifier", "text", "constant", "empty", "weights", "imputation",
        "targets", "time", or "unit".
    distinct: how many different values it has, without missing ones, before it is cut.
    states: the first STATES_LISTED of the states that a solve has, or would have, with how many records have each; none
    of numbers that are not cut.
    smallest, largest: of numbers; None of others.
    missing: how many records have no value, before some are dropped for that.
    read: how its texts were read, such as "decimal comma"; "" if as they are.
    cut: the rule that cuts it, or "".
    odd: what is odd about it, and the option that settles it, in sentences.
    refused: whether a solve with the same options is refused because of it.
    taken: "states" or "numbers", what a solve by the score that was named takes it for; "" if none was, or it is no
        variable.
    """

    name: str
    kind: str
    distinct: int
    states: Mapping[str, int]
    smallest: float | None
    largest: float | None
    missing: int
    read: str
    cut: str
    odd: tuple[Sentence, ...] = ()
    refused: bool = False
    taken: str = ""


class Note(NamedTuple):
    """Something odd about columns, given by their places, in a sentence; and whether a solve is refused for it."""

    columns: tuple[int, ...]
    sentence: Sentence
    refuses: bool


@dataclass(frozen=True, eq=False)
class Description:
    """What the columns of data hold.

    columns: one after the other.
    notes: what is odd about them, all columns of a kind in one.
    source, warnings, layout: as a `Dataset` has them.
    gaps: whether values are missing that stay so, each family being costed without them, or with a network's guesses.
    in_parts: whether rows of a solve are parts of records, by weights that are not whole, or by imputed tables.
    """

    columns: tuple[Described, ...]
    notes: tuple[Note, ...]
    records: int
    source: str
    warnings: tuple[str, ...] = ()
    layout: str = ""
    gaps: bool = False
    in_parts: bool = False

    def document(self) -> dict[str, Any]:
        """All of it as JSON values."""
        columns = [{**column._asdict(), "odd": list(column.odd)} for column in self.columns]
        told = {"source": self.source, "layout": self.layout, "records": self.records}
        return {**told, "warnings": list(self.warnings), "columns": columns}
