"""The outcomes of a campaign: a row for each run, from its record and its result.json."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extbnsl.core.errors import BudgetError, ExtbnslError, InputError
from extbnsl.formats.bif import read_bif
from extbnsl.formats.spelling import csv_text
from extbnsl.lab.campaign.figures import FIGURES, Value, figure
from extbnsl.lab.campaign.one_run import Place, known
from extbnsl.lab.campaign.outcome import read_outcome
from extbnsl.lab.campaign.plan import Run
from extbnsl.lab.campaign.record import FAILED, Record
from extbnsl.lab.campaign.spec import AXES

WAITING, NO_RESULT, NO_NETWORK = "waiting", "failed", "no_network"


@dataclass(frozen=True)
class Row:
    """What became of a run. status: that of its result; WAITING if it is not over; NO_NETWORK if a budget ended before
    there was one; NO_RESULT if it failed, for the reason in `message`. document: the head of result.json, and `truth`
    with the arcs that are extra and missing, if the network that the records are from is known; empty without a
    result. number: its place in the campaign."""

    number: int
    run: Run
    status: str
    message: str
    document: Mapping[str, Any]

    @property
    def failed(self) -> bool:
        """Whether something happened that no budget explains."""
        return self.status == NO_RESULT

    def figure(self, name: str) -> Value:
        """A figure of the run, None if it has none."""
        return self.status if name == "status" else figure(name, self.document)


def rows_of(runs: Iterable[Run], place: Place) -> tuple[Row, ...]:
    """The rows of all runs, those that failed first, and otherwise in their order."""
    rows = [row_of(number, run, known(run, place), place) for number, run in enumerate(runs)]
    return tuple(sorted(rows, key=lambda row: not row.failed))


def row_of(number: int, run: Run, record: Record | None, place: Place) -> Row:
    """The row of a run with this record."""
    if record is None or not record.over:
        return Row(number, run, WAITING, "", {})
    if record.state == FAILED:
        by_budget = record.exit_codes[-1:] == (BudgetError.exit_code,)
        return Row(number, run, NO_NETWORK if by_budget else NO_RESULT, record.message, {})
    try:
        document = read_outcome(place.folder(run))
        if run.truth is not None:
            document["truth"] = _beside_truth(document, place.start / run.truth)
    except ExtbnslError as error:
        return Row(number, run, NO_RESULT, str(error), {})
    return Row(number, run, document["status"], "", document)


def _beside_truth(document: Mapping[str, Any], file: Path) -> dict[str, int]:
    """How many arcs of a network are extra and missing, beside those of a BIF file."""
    truth = read_bif(file).network
    true = {(truth.names[p], truth.names[c]) for p, c in truth.arcs()}
    own = {(parent, child) for child, parents in document["parents"].items() for parent in parents}
    names = set(document["variables"])
    if not names <= set(truth.names):
        raise InputError(f"{file} is a network of other variables.")
    true = {(parent, child) for parent, child in true if {parent, child} <= names}
    return {"extra": len(own - true), "missing": len(true - own)}


def csv_of(rows: Sequence[Row]) -> str:
    """All rows with all named figures, as CSV."""
    figures = [name for name in FIGURES if name != "status"]
    lines = (
        [
            *(row.run.names[axis] for axis in AXES),
            row.status,
            *map(row.figure, figures),
            row.message,
            row.run.name,
        ]
        for row in rows
    )
    return csv_text([*AXES, "status", *figures, "message", "run"], lines)
