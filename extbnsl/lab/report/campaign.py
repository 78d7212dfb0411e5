"""The report of a campaign: its tables as files, its pictures, and a page.

A page about a campaign: one HTML file that needs no other, in dark and light, on screen and on paper.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from extbnsl.core.errors import InputError
from extbnsl.drawing import markup
from extbnsl.files.atomic import write_atomically, write_failure
from extbnsl.formats.spelling import csv_text
from extbnsl.lab.campaign.rows import Row, called, csv_of
from extbnsl.lab.campaign.spec import Campaign
from extbnsl.lab.report.plots import pictures_of
from extbnsl.lab.report.tables import Picture, Report, comparison_of, contradictions, failures, overview, table_of
from extbnsl.lab.report.texts import html_table, in_markdown, latex, markdown, plain

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


TABLES, PLOTS, PAGE, RESULTS = "tables", "plots", "index.html", "results.csv"


def report_on(campaign: Campaign, rows: Sequence[Row]) -> Report:
    """The report on these runs of a campaign."""
    grids = [table_of(table, rows) for table in campaign.tables] or [overview(rows)]
    grids += [comparison_of(comparison, rows) for comparison in campaign.comparisons]
    pictures: tuple[Picture, ...] = ()
    missing = None
    try:
        pictures = pictures_of(campaign.plots, rows)
    except InputError as error:
        missing = str(error)
    title = f"{campaign.title} ({campaign.source})" if campaign.source else campaign.title
    wrong = tuple(grid for grid in (failures(rows), contradictions(rows)) if grid is not None)
    return Report(title, tuple(rows), wrong, tuple(grids), pictures, missing)


def text_of(report: Report) -> str:
    """The report for a terminal: failures first."""
    parts = [report.title, *map(plain, (*report.failures, *report.grids))]
    return "\n\n".join([*parts, *filter(None, [report.missing])])


def write_report(report: Report, folder: Path) -> None:
    """Write all files of the report into the folder, and delete those that an earlier one had and this one has not;
    raises as `write_atomically` does."""
    for name in (TABLES, PLOTS):
        try:
            (folder / name).mkdir(exist_ok=True)
        except OSError as error:
            raise write_failure(folder / name, error) from error
    written = set()
    for name, content in _files(report):
        write_atomically(folder / name, content.encode("utf-8", "backslashreplace"))
        written.add(folder / name)
    for path in (*(folder / TABLES).glob("table-*"), *(folder / PLOTS).glob("plot-*.svg")):
        if path not in written:  # of an earlier report on another file
            path.unlink(missing_ok=True)


def _files(report: Report) -> Iterator[tuple[str, str]]:
    yield RESULTS, csv_of(sorted(report.rows, key=lambda row: row.number))
    missing = [] if report.missing is None else [f"{in_markdown(report.missing)}\n"]
    grids = map(markdown, (*report.failures, *report.grids))
    yield f"{TABLES}/all.md", "\n".join([f"# {in_markdown(report.title)}\n", *grids, *missing])
    for number, grid in enumerate(report.grids, start=1):
        yield f"{TABLES}/table-{number}.csv", csv_text(grid.head, grid.rows)
        yield f"{TABLES}/table-{number}.tex", latex(grid)
    for number, picture in enumerate(report.pictures, start=1):
        yield f"{PLOTS}/plot-{number}.svg", picture.svg
    yield PAGE, page(report)
