"""A page about a campaign: one HTML file that needs no other, in dark and light, on screen and on paper."""

import html
from collections.abc import Sequence

from extbnsl.campaign.progress import called
from extbnsl.campaign.rows import Row
from extbnsl.report.contents import Picture, Report
from extbnsl.report.grid import html_table
from extbnsl.version import __version__

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6672; --line: #d5dbe1; --back: #ffffff; --band: #f4f6f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --soft: #9aa5b1; --line: #36404a; --back: #14181c; --band: #1d2329; }
  img, svg { background: #ffffff; border-radius: 4px; }
}
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: var(--ink); background: var(--back);
       font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p.note, footer { color: var(--soft); font-size: 0.9em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
tbody tr:nth-child(even) { background: var(--band); }
figure { margin: 0; } figure svg { max-width: 100%; height: auto; }
.failures td { white-space: normal; text-align: left; }
@media print { body { margin: 0; max-width: none; } section { break-inside: avoid; } }
"""


def page(report: Report) -> str:
    """The page; failures come first."""
    parts = [f"<h1>{html.escape(report.title)}</h1>\n", _summary(report.rows)]
    parts += [f"<div class='failures'>{html_table(grid)}</div>\n" for grid in report.failures]
    parts += map(html_table, report.grids)
    parts += map(_figure, report.pictures)
    if report.missing is not None:
        parts.append(f"<p class='note'>{html.escape(report.missing)}</p>\n")
    parts.append(_runs(report.rows))
    return (
        "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{html.escape(report.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{''.join(parts)}"
        f"<footer><p>Made by extbnsl {html.escape(__version__)}.</p></footer>\n</body>\n</html>\n"
    )


def _summary(rows: Sequence[Row]) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.status] = counts.get(row.status, 0) + 1
    told = ", ".join(f"{count:,} {status.replace('_', ' ')}" for status, count in counts.items())
    return f"<p>{len(rows):,} runs: {html.escape(told)}.</p>\n"


def _figure(picture: Picture) -> str:
    svg = picture.svg[picture.svg.index("<svg") :]
    return f"<section>\n<h2>{html.escape(picture.title)}</h2>\n<figure>{svg}</figure>\n</section>\n"


def _runs(rows: Sequence[Row]) -> str:
    """Links to the run directories, which lie beside the page."""
    items = "".join(
        f"<li><a href='runs/{html.escape(row.run.name, quote=True)}.run/'>{html.escape(called(row.run))}</a>: "
        f"{html.escape(row.status.replace('_', ' '))}</li>\n"
        for row in sorted(rows, key=lambda row: row.number)
    )
    return f"<section>\n<details><summary>The run directories</summary>\n<ul>\n{items}</ul>\n</details>\n</section>\n"
