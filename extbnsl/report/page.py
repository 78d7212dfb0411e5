"""A page about a campaign: one HTML file that needs no other, in dark and light, on screen and on paper."""

from collections.abc import Sequence

from extbnsl.campaign.progress import called
from extbnsl.campaign.rows import Row
from extbnsl.report import markup
from extbnsl.report.contents import Picture, Report
from extbnsl.report.grid import html_table

WHITE_PICTURES = "@media (prefers-color-scheme: dark) { figure svg { background: #ffffff; border-radius: 4px; } }\n"


def page(report: Report) -> str:
    """The page; failures come first."""
    parts = [f"<h1>{markup.escaped(report.title)}</h1>\n", _summary(report.rows)]
    parts += [f"<div class='failures'>{html_table(grid)}</div>\n" for grid in report.failures]
    parts += map(html_table, report.grids)
    parts += map(_figure, report.pictures)
    if report.missing is not None:
        parts.append(f"<p class='note'>{markup.escaped(report.missing)}</p>\n")
    parts.append(_runs(report.rows))
    return markup.page(report.title, parts, style=WHITE_PICTURES)


def _summary(rows: Sequence[Row]) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.status] = counts.get(row.status, 0) + 1
    told = ", ".join(f"{count:,} {status.replace('_', ' ')}" for status, count in counts.items())
    return f"<p>{len(rows):,} runs: {markup.escaped(told)}.</p>\n"


def _figure(picture: Picture) -> str:
    svg = picture.svg[picture.svg.index("<svg") :]
    return f"<section>\n<h2>{markup.escaped(picture.title)}</h2>\n<figure>{svg}</figure>\n</section>\n"


def _runs(rows: Sequence[Row]) -> str:
    """Links to the run directories, which lie beside the page."""
    items = "".join(
        f"<li><a href='runs/{markup.escaped(row.run.name)}.run/'>{markup.escaped(called(row.run))}</a>: "
        f"{markup.escaped(row.status.replace('_', ' '))}</li>\n"
        for row in sorted(rows, key=lambda row: row.number)
    )
    return f"<section>\n<details><summary>The run directories</summary>\n<ul>\n{items}</ul>\n</details>\n</section>\n"
