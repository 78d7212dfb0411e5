"""Results of a campaign that cannot all hold: a bound that another run's network is below."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from extbnsl.campaign.progress import called
from extbnsl.campaign.rows import Row
from extbnsl.claims import tolerance
from extbnsl.figures import format_cost
from extbnsl.report.grid import Grid


def contradictions(rows: Iterable[Row]) -> Grid | None:
    """For each problem that several runs have, the largest lower bound if the cheapest network is below it; None if
    there is no such problem. Problems are the same if data, score and limit of parents are."""
    found = tuple(line for own in _by_problem(rows).values() for line in _lines(own))
    head = ("run", "proves at least", "but this run", "has a network of")
    return Grid("Contradictions", head, found, "One of the two is wrong: please report it.") if found else None


def _by_problem(rows: Iterable[Row]) -> dict[tuple[Any, ...], list[Row]]:
    """The runs with bounds and networks, by their problem."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        bounds = (row.figure("cost"), row.figure("lower_bound"))
        digest = row.figure("provenance.data_digest")
        if isinstance(digest, str) and all(isinstance(value, int | float) for value in bounds):
            problem = (digest, row.figure("score"), row.figure("max_parents"))
            groups.setdefault(problem, []).append(row)
    return groups


def _lines(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    least = min(rows, key=_cost)
    most = max(rows, key=_bound)
    if _bound(most) > _cost(least) + tolerance(_cost(least)):
        yield called(most.run), format_cost(_bound(most), 6), called(least.run), format_cost(_cost(least), 6)


def _cost(row: Row) -> float:
    return float(row.document["cost"])


def _bound(row: Row) -> float:
    return float(row.document["lower_bound"])
