"""A page about a run: one HTML file that needs no other and no network connection, on screen and on paper."""

import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from extbnsl.core.figures import held_of_all
from extbnsl.drawing import charts, markup
from extbnsl.drawing.heat_map import heat_map
from extbnsl.drawing.markup import Grid, escaped, html_rows
from extbnsl.drawing.network import OF_FOUND
from extbnsl.report import run_tables
from extbnsl.report.run_charts import charts_of_bounds, charts_of_layers
from extbnsl.report.run_tables import Row, Run
from extbnsl.results.facts import TERMINAL, claim_told, facts, has_posterior, has_resamples, shares_by_name
from extbnsl.results.reading import damage_told

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"  # no script, no request
MOST_OPEN = 30  # rows of a table that is shown without being asked for
STYLE = (
    charts.STYLE
    + """
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1.2rem; margin: 1rem 0; }
dt { color: var(--soft); } dd { margin: 0; }
.claim { font-size: 1.05rem; padding: 0.6rem 1rem; border-left: 4px solid var(--first); background: var(--band); }
.warnings { border-left: 4px solid var(--second); padding: 0.3rem 1rem 0.3rem 2rem; background: var(--band); }
.net { overflow: auto; } .net svg { display: block; margin: 0 auto; }
.net .bn { color: var(--ink); }
section:has(#full:checked) .net { max-height: 90vh; } section:has(#full:checked) .net svg { max-width: none; }
.charts { display: flex; flex-wrap: wrap; gap: 1.5rem; } .charts figure { flex: 1 1 26rem; max-width: 100%; }
figcaption { color: var(--soft); font-size: 0.9em; }
summary { cursor: pointer; margin: 0.4rem 0; } details details { margin-left: 1rem; }
summary h2 { display: inline; }
.states td:last-child { text-align: left; white-space: normal; } .states th:last-child { text-align: left; }
.arcs td:nth-child(2), .arcs th:nth-child(2) { text-align: left; }
pre { background: var(--band); padding: 0.6rem 1rem; white-space: pre-wrap; }
@media print {
  .screen { display: none; } .net, .wide { overflow: visible; } .net svg { max-width: 100%; }
  .net:not(.tall) svg { max-height: 24cm; }
  section:has(.tall) h2 { break-after: auto; }
  h2, summary { break-after: avoid; } tr, figure, dl { break-inside: avoid; } section { break-inside: auto; }
}
"""
)
TALL = 2.0  # times as high as wide: a drawing that goes on from page to page
TOO_WIDE = 1120  # units of a drawing that a page has no room for


def run_page(run: Run) -> str:
    """The page; RunDirectoryError if the result is damaged. O(size of the network, its tables and the log)."""
    with damage_told(run.path):
        body = [f"<h1>{escaped(_title(run))}</h1>\n", *_sections(run)]
    head = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
    return markup.page(_title(run), body, head, STYLE)


def _title(run: Run) -> str:
    source = run.document.get("provenance", {}).get("source")
    return f"The network of {Path(source).name if source else run.path.name}"


def _sections(run: Run) -> Iterator[str]:
    document = run.document
    yield f"<p class='claim'>{escaped(claim_told(document))}</p>\n"
    yield from _state(run)
    yield _list((fact.subject, fact.text) for fact in facts(document) if fact.subject not in TERMINAL)
    if document.get("warnings"):
        items = "".join(f"<li>{escaped(str(warning))}</li>\n" for warning in document["warnings"])
        yield f"<section>\n<h2>Warnings</h2>\n<ul class='warnings'>\n{items}</ul>\n</section>\n"
    yield _network(run)
    what = f"share {OF_FOUND}" if not has_resamples(document) else "strength"
    what = "probability" if has_posterior(document) else what
    yield _folded(run_tables.arcs(run, what, shares_by_name(document)), "arcs")
    if document.get("bootstrap", {}).get("arcs"):
        yield _folded(run_tables.resamples(document), "arcs")
    if has_posterior(document):
        yield _all_arcs(run)
        yield _folded(run_tables.probabilities(document), "arcs")
        yield _folded(run_tables.features(document)) if document["posterior"]["features"] else ""
    if document.get("top"):
        yield _folded(run_tables.best_networks(document))
    yield from _data(run)
    yield from _work(run)
    yield _provenance(run)


def _state(run: Run) -> Iterator[str]:
    """What is worth a word if the run is not over."""
    if run.status.state == "running":
        yield "<p class='note'>The run goes on; this is its last result, from before.</p>\n"
    elif run.status.resume:
        yield f"<p class='note'>To go on with it:</p>\n{_shell(run.status.resume)}"


def _network(run: Run) -> str:
    """The drawing; if the page has no room for it, it is made smaller, and a box shows it in full."""
    svg = run.drawing()
    width, height = (float(svg.split(f'" {side}="', 1)[1].split('"', 1)[0]) for side in ("width", "height"))
    box = "<input type='checkbox' id='full'> <label for='full'>in full size, to scroll</label>"
    toggle = f"<span class='screen'>{box}</span>\n" if width > TOO_WIDE else ""
    tall = " tall" if height > TALL * width else ""
    figure = f"{toggle}<figure class='net{tall}'>{svg}</figure>\n<p class='note'>{_caption(run)}</p>\n"
    return f"<section>\n<h2>Network</h2>\n{figure}</section>\n"


def _all_arcs(run: Run) -> str:
    """The probabilities of all arcs, as a square."""
    title = "How likely each arc is"
    svg = heat_map(run.network.names, shares_by_name(run.document), title)
    note = "From the variable of a row to that of a column: the darker, the likelier; point at a cell for its figure."
    return f"<section>\n<h2>{title}</h2>\n<figure>{svg}</figure>\n<p class='note'>{note}</p>\n</section>\n"


def _caption(run: Run) -> str:
    document, said = run.document, "Arcs are solid if every network of the equivalence class"
    said += f"{run_tables.allowed(document)} has them so."
    if run.costs_of_removal:
        said += " The wider an arc, the more the network costs without it."
    if not shares_by_name(document):
        return said
    if has_posterior(document):
        what = "its probability, over all networks"
    elif "arc_shares" in document:
        held = held_of_all(document["count"]["of_all"])
        what = f"the share {OF_FOUND} that have it, by their weight ({held})"
    else:
        what = "the share of the resamples whose networks join the two"
    return f"{said} The figure beside an arc is {what}; 1.00 is not written. The smaller it is, the fainter the arc."


def _data(run: Run) -> Iterator[str]:
    """What the variables hold, and the parameters, where they are known."""
    known, written = run.document.get("provenance", {}), run.written
    if isinstance(known.get("records"), int):
        rows = [("records", f"{known['records']:,}")]
        rows += [("read with", f"{name} {value}") for name, value in known.get("data_options", {}).items()]
        yield f"<section>\n<h2>Data</h2>\n{_list(rows)}</section>\n"
    if written.get("spreads"):
        yield _folded(run_tables.numbers(run))
    if written.get("regressions"):
        yield _folded(run_tables.regressions(run))
    if written.get("states") and any(map(written.get, MADE_OF)):
        yield _folded(run_tables.variables(run), "states")
        yield _parameters(run)


# By their word in network.json how parameters of networks that have states are told.
MADE_OF: dict[str, Callable[[Run], Iterator[Grid]]] = {
    "tables": run_tables.parameters,
    "conditionals": run_tables.conditionals,
    "columns": run_tables.blocks,
}


def _parameters(run: Run) -> str:
    told = next(key for key in MADE_OF if run.written.get(key))
    grids = MADE_OF[told](run)
    tables = "".join(f"<details><summary>{escaped(grid.title)}</summary>\n{_table(grid)}</details>\n" for grid in grids)
    return (
        f"<section>\n<details>\n<summary><h2>Parameters</h2></summary>\n{tables}<p class='note'>Of maximum likelihood: "
        "shares of the records; even where a configuration of the parents never occurs.</p>\n</details>\n</section>\n"
    )


def _work(run: Run) -> Iterator[str]:
    """How the search went."""
    drawn = (*charts_of_bounds(run.document, run.bounds), *charts_of_layers(run.layers))
    figures = "".join(f"<figure>{chart}</figure>\n" for chart in drawn if chart)
    if figures:
        yield f"<section>\n<h2>The search</h2>\n<div class='charts'>\n{figures}</div>\n</section>\n"
    if run.layers:
        yield _folded(run_tables.layers(run), folded=True)
    stages = run_tables.stages(run.document.get("stats", {}))
    if stages.rows:
        yield _folded(stages)


def _provenance(run: Run) -> str:
    known = run.document.get("provenance", {})
    commands = [str(known["command"])] if known.get("command") else []
    source = known.get("source")
    if run.document.get("certificate"):
        commands.append(shlex.join(["extbnsl", "verify", str(run.path), *([str(source)] if source else [])]))
    shown = "".join(map(_shell, commands))
    again = f"<p>To do it again{', and to check it' if len(commands) > 1 else ''}:</p>\n{shown}" if commands else ""
    return f"<section>\n<h2>Where it comes from</h2>\n{_list(run_tables.provenance(run))}{again}</section>\n"


def _shell(command: str) -> str:
    """A command to copy; a line ends between words, not within an option."""
    words = " ".join(f"<span>{escaped(word)}</span>" for word in command.split(" "))
    return f"<pre>{words}</pre>\n"


def _list(rows: Iterable[Row]) -> str:
    """A list of subjects and what there is to say of each, if there is anything."""
    items = "".join(f"<dt>{escaped(subject)}</dt><dd>{escaped(text)}</dd>\n" for subject, text in rows if text)
    return f"<dl>\n{items}</dl>\n" if items else ""


def _folded(grid: Grid, kind: str = "", folded: bool = False) -> str:
    """A table that a long list, or one of little importance, folds up."""
    unfolded = "" if folded or len(grid.rows) > MOST_OPEN else " open"
    count = f" ({len(grid.rows):,})" if len(grid.rows) > MOST_OPEN else ""
    classes = f" class='{kind}'" if kind else ""
    return (
        f"<section{classes}>\n<details{unfolded}>\n<summary><h2>{escaped(grid.title)}{count}</h2></summary>\n"
        f"{_table(grid)}</details>\n</section>\n"
    )


def _table(grid: Grid) -> str:
    return html_rows(grid) if grid.rows else f"<p class='note'>{escaped(grid.note)}</p>\n"
