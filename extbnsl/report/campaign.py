"""The report of a campaign: its tables as files, its pictures, and a page."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from extbnsl.campaign.rows import Row, csv_of
from extbnsl.campaign.spec import Campaign
from extbnsl.errors import InputError
from extbnsl.files.atomic import write_atomically, write_failure
from extbnsl.formats.csv_text import csv_text
from extbnsl.report.comparison import comparison_of
from extbnsl.report.contents import Picture, Report
from extbnsl.report.contradictions import contradictions
from extbnsl.report.grid import in_markdown, latex, markdown, plain
from extbnsl.report.page import page
from extbnsl.report.plots import pictures_of
from extbnsl.report.tables import failures, overview, table_of

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
