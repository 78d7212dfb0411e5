"""How much better one method is than another over many data sets: differences of BIC, as Scanagatta et al. 2015 count
them in their Tables 2 to 4."""

import math
from collections.abc import Sequence

from extbnsl.campaign.rows import Row
from extbnsl.campaign.spec import AXES, Axis, Comparison
from extbnsl.report.grid import Grid

# Of a difference of BIC, from the first bound that it exceeds; the last has none
CATEGORIES = (
    ("Very positive (K > 10)", 10.0),
    ("Strongly positive (6 < K < 10)", 6.0),
    ("Positive (2 < K < 6)", 2.0),
    ("Neutral (-2 < K < 2)", -2.0),
    ("Negative (-6 < K < -2)", -6.0),
    ("Strongly negative (-10 < K < -6)", -10.0),
    ("Very negative (K < -10)", -math.inf),
)
SUPPORTING = 3  # of them, the first ones, count for the first of a pair in the sign test


def comparison_of(comparison: Comparison, rows: Sequence[Row]) -> Grid:
    """For each pair, how many differences of BIC are in each category, and the p-value of the sign test."""
    found = [[category(one) for one in _differences(rows, comparison.axis, *pair)] for pair in comparison.pairs]
    lines = [(name, *(str(own.count(k)) for own in found)) for k, (name, _) in enumerate(CATEGORIES)]
    values = [p_value(sum(k < SUPPORTING for k in own), len(own)) for own in found]
    head = ("difference of BIC (K)", *(f"{first} - {second}" for first, second in comparison.pairs))
    return Grid(comparison.title, head, (*lines, ("p-value", *(f"{value:.2g}" for value in values))), comparison.note)


def _differences(rows: Sequence[Row], axis: Axis, first: str, second: str) -> list[float]:
    """BIC by the first less that by the second, of all runs that differ in nothing else."""
    costs: dict[tuple[str, ...], dict[str, float]] = {}
    for row in rows:
        cost = row.figure("cost")
        if isinstance(cost, int | float):
            others = tuple(row.run.names[other] for other in AXES if other != axis)
            costs.setdefault(others, {})[row.run.names[axis]] = float(cost)
    return [own[second] - own[first] for own in costs.values() if first in own and second in own]


def category(difference: float) -> int:
    """The number of the category of a difference of BIC; on a bound, the lower one."""
    return next(k for k, (_, bound) in enumerate(CATEGORIES) if difference > bound)


def p_value(supporting: int, cases: int) -> float:
    """Of the one-sided sign test: how likely so many or more of the cases are if each is as likely as not."""
    return math.fsum(math.comb(cases, k) for k in range(supporting, cases + 1)) / 2.0**cases
