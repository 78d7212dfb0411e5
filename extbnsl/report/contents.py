"""What a report has to say."""

from dataclasses import dataclass

from extbnsl.campaign.rows import Row
from extbnsl.report.grid import Grid


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG, with its title."""

    title: str
    svg: str


@dataclass(frozen=True)
class Report:
    """What there is to say of a campaign. failures: what failed, and results that cannot all hold, if there are any.
    missing: why there are no pictures."""

    title: str
    rows: tuple[Row, ...]
    failures: tuple[Grid, ...]
    grids: tuple[Grid, ...]
    pictures: tuple[Picture, ...]
    missing: str | None
