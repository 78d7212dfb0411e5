"""The outcomes of a campaign: a row for each run, from its record and its result.json; and for people, how far it is, a
line for each run that is over, with the time that is left.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extbnsl.core.errors import BudgetError, ExtbnslError, InputError
from extbnsl.core.figures import format_cost, format_gap, format_size, format_time, in_full
from extbnsl.formats.network_reader import read_network
from extbnsl.formats.spelling import csv_text
from extbnsl.lab.campaign.figures import FIGURES, WIDEST, Value, figure
from extbnsl.lab.campaign.one_run import Place, known
from extbnsl.lab.campaign.outcome import FAILED, Record, read_outcome
from extbnsl.lab.campaign.plan import NOTHING, Run
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
    """How many arcs of a network are extra and missing, beside those of a network in a file."""
    truth = read_network(file).network
    true = {(truth.names[p], truth.names[c]) for p, c in truth.arcs()}
    own = {(parent, child) for child, parents in document["parents"].items() for parent in parents}
    names = set(document["variables"])
    if not names <= set(truth.names):
        raise InputError(f"{file} is a network of other variables.")
    true = {(parent, child) for parent, child in true if {parent, child} <= names}
    return {"extra": len(own - true), "missing": len(true - own)}


def outcome_of(rows: Sequence[Row]) -> str:
    """What became of a campaign, in a sentence without its end."""
    waiting, failed = sum(row.status == WAITING for row in rows), sum(row.failed for row in rows)
    told = [in_full(len(rows), "run"), *([f"{failed:,} failed"] if failed else [])]
    return ", ".join([*told, *([f"{waiting:,} not over"] if waiting else [])])


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


class Progress:
    """What has been done of the runs, some at a time, and what that tells of those that are left."""

    def __init__(self, runs: int, left: Sequence[Run], jobs: int) -> None:
        self._left = {run.name: run for run in left}
        self._total = runs
        self._jobs = jobs
        self._seconds: dict[str, list[float]] = defaultdict(list)  # of runs that are over, by method

    def over(self, row: Row, seconds: float) -> str:
        """The line about a run that is over, after so many seconds."""
        self._left.pop(row.run.name, None)
        self._seconds[row.run.names["method"]].append(seconds)
        done = self._total - len(self._left)
        width = len(str(self._total))
        return f"{done:{width}}/{self._total}  {called(row.run)}: {outcome(row)}, {format_time(seconds)}{self._to_go()}"

    def doing(self, seconds: float) -> str:
        """What goes on after so many seconds, empty if nothing does: runs begin in their order, so many at a time."""
        left = list(self._left.values())
        running = "; ".join(called(run) for run in left[: self._jobs])
        over = f"{self._total - len(left)} of {self._total} runs are over"
        return f"campaign: {over}, now {running} ({format_time(seconds)})" if left else ""

    def _to_go(self) -> str:
        """How long the others take, if that is known: at the pace of their methods so far, and at most."""
        if not self._left:
            return ""
        told = [f"{len(self._left)} to go"]
        pace, most = self._pace(), self._most()
        if math.isfinite(pace):
            told.append(f"about {format_time(pace)} at the pace so far")
        if math.isfinite(most):
            told.append(f"at most {format_time(most)}")
        return f"; {', '.join(told)}"

    def _pace(self) -> float:
        """Seconds for the others if each takes as long as those of its method did; infinity if there was none."""
        total = 0.0
        for run in self._left.values():
            known = self._seconds.get(run.names["method"])
            total += sum(known) / len(known) if known else math.inf
        return total / self._jobs

    def _most(self) -> float:
        """Seconds for the others if each uses up its time limit, and the longest is the last to begin (Graham 1966);
        infinity if there is none."""
        limits = [math.inf if run.seconds is None else run.seconds for run in self._left.values()]
        return sum(limits) / self._jobs + max(limits) * (1.0 - 1.0 / self._jobs)


def called(run: Run) -> str:
    """A run for people, such as 'wdbc by DP, 1m 1GiB'."""
    names = run.names
    others = [names[axis] for axis in ("variant", "budget") if names[axis] != NOTHING]
    others += [f"seed {names['seed']}"] if names["seed"] != NOTHING else []
    return ", ".join([f"{names['data']} by {names['method']}", *others])


def outcome(row: Row) -> str:
    """What became of a run, for people."""
    if row.message:
        return f"{row.status.replace('_', ' ')}: {row.message.rstrip('.')}"
    told = [row.status.replace("_", " ")]
    cost, memory, gap, widest = map(row.figure, ("cost", "memory", "gap", WIDEST))
    if isinstance(cost, float | int):
        told.append(f"cost {format_cost(float(cost), 6)}")
    if isinstance(widest, float):
        told.append(f"intervals up to {widest:.2g} wide")
    elif row.status not in ("optimal", "heuristic") and isinstance(gap, float | int):
        told.append(f"gap {format_gap(1.0 - float(gap), 1.0)}")
    if isinstance(memory, int):
        told.append(format_size(memory))
    return ", ".join(told)
