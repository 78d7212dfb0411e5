"""A page about a run: one HTML file that needs no other and no network connection, on screen and on paper."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from extbnsl.core.claims import HEURISTIC, OPTIMAL
from extbnsl.core.figures import format_cost, format_gap, held_of_all, in_full
from extbnsl.report import charts, markup, run_tables
from extbnsl.report.charts import Axis, Line, line_chart
from extbnsl.report.drawing import OF_FOUND, OF_RESAMPLES, network_svg
from extbnsl.report.grid import Grid, html_rows
from extbnsl.report.markup import escaped
from extbnsl.report.run_facts import Facts, damaged

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
SEEN = 1e-6  # of a cost: what a chart can show
UNITS = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("bytes", 1.0))
TOO_WIDE = 1120  # units of a drawing that a page has no room for


def run_page(facts: Facts) -> str:
    """The page; RunDirectoryError if the result is damaged. O(size of the network, its tables and the log)."""
    try:
        body = [f"<h1>{escaped(_title(facts))}</h1>\n", *_sections(facts)]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise damaged(facts.path) from error
    head = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
    return markup.page(_title(facts), body, head, STYLE)


def drawing_of(facts: Facts) -> str:
    """The drawing of the network, with what is known of its arcs; RunDirectoryError if the result is damaged."""
    try:
        shares, strengths = facts.by_arc(_shares(facts.document)), facts.by_arc(facts.costs_of_removal)
        return network_svg(facts.network, strengths or None, shares or None, _of_which(facts.document))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(facts.path) from error


def _title(facts: Facts) -> str:
    source = facts.document.get("provenance", {}).get("source")
    return f"The network of {Path(source).name if source else facts.path.name}"


def _sections(facts: Facts) -> Iterator[str]:
    document = facts.document
    yield f"<p class='claim'>{escaped(claim(facts))}</p>\n"
    yield from _state(facts)
    yield _list(run_tables.figures(facts))
    if document.get("warnings"):
        items = "".join(f"<li>{escaped(str(warning))}</li>\n" for warning in document["warnings"])
        yield f"<section>\n<h2>Warnings</h2>\n<ul class='warnings'>\n{items}</ul>\n</section>\n"
    yield _network(facts)
    what = "strength" if "bootstrap" in document else f"share {OF_FOUND}"
    yield _folded(run_tables.arcs(facts, what, _shares(document)), "arcs")
    if document.get("bootstrap", {}).get("arcs"):
        yield _folded(run_tables.resamples(document), "arcs")
    if document.get("top"):
        yield _folded(run_tables.best_networks(document))
    yield from _data(facts)
    yield from _work(facts)
    yield _provenance(facts)


def claim(facts: Facts) -> str:
    """What was proved, in a sentence or two."""
    document = facts.document
    cost, lower = float(document["cost"]), float(document["lower_bound"])
    most = document.get("max_parents")
    n = len(facts.network.names)
    scope = f"No network over these {n:,} variables" if n > 1 else "No network over this one variable"
    scope += " that keeps to the knowledge" if document.get("knowledge") else ""
    scope += f", of at most {in_full(most, 'parent')} for each," if most is not None else ""
    bounds = f"{scope} costs less than {format_cost(lower, 3)} nats; this one costs {format_cost(cost, 3)}"
    gap = f"{bounds}, so that the gap is {format_gap(lower, cost)}."
    if document["status"] == OPTIMAL:
        return f"Proved: {scope[0].lower()}{scope[1:]} has a better score, but for 1e-9 of the score plus 1e-9 nats."
    if document.get("order_optimal"):
        return f"Proved: no network that keeps to the order costs less. {gap}"
    if document["status"] == HEURISTIC:
        return f"Not proved: the method does not try to prove that this network is the best. {gap}"
    return f"Not proved ({str(document['status']).replace('_', ' ')}): there may be a better network. {gap}"


def _state(facts: Facts) -> Iterator[str]:
    """What is worth a word if the run is not over."""
    if facts.state == "running":
        yield "<p class='note'>The run goes on; this is its last result, from before.</p>\n"
    elif facts.resume:
        yield f"<p class='note'>To go on with it:</p>\n{_shell(facts.resume)}"


def _shares(document: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """The shares of networks that have arcs, by names: of the k best, or of the resamples that join the two; empty if
    there is one network."""
    if "arc_shares" in document:
        return {(p, x): float(own[p]) for x, own in document["arc_shares"].items() for p in own}
    pairs = document.get("bootstrap", {}).get("arcs", ())
    return {(one["from"], one["to"]): float(one["strength"]) for one in pairs}


def _network(facts: Facts) -> str:
    """The drawing; if the page has no room for it, it is made smaller, and a box shows it in full."""
    svg = drawing_of(facts)
    width, height = (float(svg.split(f'" {side}="', 1)[1].split('"', 1)[0]) for side in ("width", "height"))
    box = "<input type='checkbox' id='full'> <label for='full'>in full size, to scroll</label>"
    toggle = f"<span class='screen'>{box}</span>\n" if width > TOO_WIDE else ""
    tall = " tall" if height > TALL * width else ""
    figure = f"{toggle}<figure class='net{tall}'>{svg}</figure>\n<p class='note'>{_caption(facts)}</p>\n"
    return f"<section>\n<h2>Network</h2>\n{figure}</section>\n"


def _caption(facts: Facts) -> str:
    document, said = facts.document, "Arcs are solid if all equally good networks of the class have them so."
    if facts.costs_of_removal:
        said += " The wider an arc, the more the network costs without it."
    if not _shares(document):
        return said
    if "arc_shares" in document:
        held = held_of_all(document["count"]["of_all"])
        what = f"the share {OF_FOUND} that have it, by their weight ({held})"
    else:
        what = "the share of the resamples whose networks join the two"
    return f"{said} Figures, and how dark an arc is: {what}; 1.00 is not written."


def _of_which(document: Mapping[str, Any]) -> str:
    """What shares are of."""
    return OF_FOUND if "arc_shares" in document else OF_RESAMPLES


def _data(facts: Facts) -> Iterator[str]:
    """What the variables hold, and the parameters, where they are known."""
    known, written = facts.document.get("provenance", {}), facts.written
    if isinstance(known.get("records"), int):
        rows = [("records", f"{known['records']:,}")]
        rows += [("read with", f"{name} {value}") for name, value in known.get("data_options", {}).items()]
        yield f"<section>\n<h2>Data</h2>\n{_list(rows)}</section>\n"
    if written.get("spreads"):
        yield _folded(run_tables.numbers(facts))
    if written.get("regressions"):
        yield _folded(run_tables.regressions(facts))
    if written.get("states") and written.get("tables"):
        yield _folded(run_tables.variables(facts), "states")
        yield _parameters(facts)


def _parameters(facts: Facts) -> str:
    tables = "".join(
        f"<details><summary>{escaped(grid.title)}</summary>\n{_table(grid)}</details>\n"
        for grid in run_tables.parameters(facts)
    )
    return (
        f"<section>\n<details>\n<summary><h2>Parameters</h2></summary>\n{tables}<p class='note'>Of maximum likelihood: "
        "shares of the records; even where a configuration of the parents never occurs.</p>\n</details>\n</section>\n"
    )


def _work(facts: Facts) -> Iterator[str]:
    """How the search went."""
    drawn = "".join(f"<figure>{chart}</figure>\n" for chart in (*_bounds(facts), *_layers(facts)) if chart)
    if drawn:
        yield f"<section>\n<h2>The search</h2>\n<div class='charts'>\n{drawn}</div>\n</section>\n"
    if facts.layers:
        yield _folded(run_tables.layers(facts), folded=True)
    stages = run_tables.stages(facts.document.get("stats", {}))
    if stages.rows:
        yield _folded(stages)


def _bounds(facts: Facts) -> Iterator[str]:
    """The bounds over time, and how far they are apart; nothing if neither changed for eyes to see."""
    document, moments = facts.document, facts.bounds
    end = max([float(document.get("stats", {}).get("seconds") or 0.0), *(moment.seconds for moment in moments)])
    least, most = float(document["lower_bound"]), float(document["upper_bound"])
    lower = [(m.seconds, min(m.lower, most)) for m in moments if m.lower is not None] + [(end, least)]
    upper = [(m.seconds, m.upper) for m in moments if m.upper is not None] + [(end, most)]
    values = [value for own in (lower, upper) if len(own) > 1 for _, value in own]
    if values and max(values) - min(values) > SEEN * max(map(abs, values)):
        lines = [Line("best network", tuple(upper), True), Line("lower bound", tuple(lower), True)]
        yield line_chart("Bounds over time", lines, Axis("seconds", from_zero=True), Axis("nats"))
    both = [(m.seconds, m.lower, m.upper) for m in moments if m.lower is not None and m.upper is not None]
    gaps = [(at, 100.0 * max(0.0, up - low) / max(abs(up), 1.0)) for at, low, up in (*both, (end, least, most))]
    if max(gap for _, gap in gaps) > 100.0 * SEEN:
        yield line_chart("Gap over time", [Line("gap", tuple(gaps), True)], Axis("seconds"), Axis("%", from_zero=True))


def _layers(facts: Facts) -> Iterator[str]:
    """Nodes, memory and disk of each layer; those of several components one after another."""
    along = Axis("layer", whole=True) if facts.layers and facts.layers[-1]["component"] == 1 else Axis("layers")
    nodes = [_of_layers(facts, key, name) for key, name in (("generated", "edges generated"), ("kept", "nodes kept"))]
    yield line_chart("Nodes of each layer", nodes, along, Axis("", logarithmic=True))
    keys = (("rss_bytes", "memory"), ("memory", "of it the solver's"), ("disk", "disk"))
    most = max((float(layer[key]) for layer in facts.layers for key, _ in keys), default=0.0)
    name, unit = next((name, unit) for name, unit in UNITS if most >= unit or unit == 1.0)
    sizes = [_of_layers(facts, key, text, unit) for key, text in keys]
    yield line_chart("Memory and disk of each layer", sizes, along, Axis(name, from_zero=True))


def _of_layers(facts: Facts, key: str, name: str, unit: float = 1.0) -> Line:
    return Line(name, tuple((float(at), float(layer[key]) / unit) for at, layer in enumerate(facts.layers)))


def _provenance(facts: Facts) -> str:
    known = facts.document.get("provenance", {})
    commands = [str(known["command"])] if known.get("command") else []
    source = known.get("source")
    if facts.document.get("certificate"):
        commands.append(shlex.join(["extbnsl", "verify", str(facts.path), *([str(source)] if source else [])]))
    shown = "".join(map(_shell, commands))
    again = f"<p>To do it again{', and to check it' if len(commands) > 1 else ''}:</p>\n{shown}" if commands else ""
    return f"<section>\n<h2>Where it comes from</h2>\n{_list(run_tables.provenance(facts))}{again}</section>\n"


def _shell(command: str) -> str:
    """A command to copy; a line ends between words, not within an option."""
    words = " ".join(f"<span>{escaped(word)}</span>" for word in command.split(" "))
    return f"<pre>{words}</pre>\n"


def _list(rows: Iterable[tuple[str, str]]) -> str:
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
