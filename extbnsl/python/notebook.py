"""A result as notebooks show it: a small table of what it claims, and the drawing of its network."""

import html
from collections.abc import Iterator

from extbnsl.core.figures import format_cost, format_gap, held_of_all, in_full
from extbnsl.networks.network import Arc
from extbnsl.report.drawing import OF_FOUND, OF_RESAMPLES, network_svg
from extbnsl.results.ranked import KBestResult
from extbnsl.results.result import Result
from extbnsl.scores.known import NAMES, score_named
from extbnsl.scores.score import titled

MOST_DRAWN = 500  # variables: larger drawings take long, and nobody can read them


def result_html(result: Result) -> str:
    """A piece of HTML that tells a result; names are escaped. It takes as long as `network_svg`."""
    rows = "".join(f"<tr><th>{html.escape(what)}</th><td>{html.escape(text)}</td></tr>" for what, text in _rows(result))
    drawn = len(result.network.names) <= MOST_DRAWN
    of_which = OF_FOUND if result.bootstrap is None else OF_RESAMPLES
    drawing = network_svg(result.network, shares=_shares(result), of_which=of_which) if drawn else ""
    return f'<div class="extbnsl"><table>{rows}</table>{drawing}</div>'


def _rows(result: Result) -> Iterator[tuple[str, str]]:
    """What each row of the table is about, and what it says."""
    known = score_named(result.score, result.ess) if result.score in NAMES else None
    yield "status", result.status.replace("_", " ")
    yield (
        "cost",
        f"{format_cost(result.cost, 6)} nats ({titled(known) if known else 'minus the given scores'}, minimised)",
    )
    lower, upper = result.lower_bound, result.upper_bound
    yield "bounds", f"{format_cost(lower, 6)} to {format_cost(upper, 6)} (gap {format_gap(lower, upper)})"
    sizes = in_full(len(result.network.names), "variable"), in_full(len(result.network.arcs()), "arc")
    yield "network", ", ".join(sizes)
    if result.max_parents is not None:
        yield "limit", f"at most {in_full(result.max_parents, 'parent')} for each variable"
    if result.knowledge.document():
        yield "knowledge", str(result.knowledge)
    if isinstance(result, KBestResult):
        yield "networks", f"{in_full(len(result.networks), 'network')} listed; the best is drawn"
        yield "shares", f"of arcs: {OF_FOUND}, by their weight; {held_of_all(result.of_all)}"
    if result.bootstrap is not None:
        done, proved = len(result.bootstrap.done), result.bootstrap.proved
        yield "bootstrap", f"{in_full(done, 'resample')} of {result.bootstrap.resamples:,}, {proved:,} proved"


def _shares(result: Result) -> dict[Arc, float] | None:
    """Which share of the resamples or of the k best networks has each arc of the network; None if neither is there."""
    arcs = result.network.arcs()
    if result.bootstrap is not None:
        strength = {(one.parent, one.child): one.strength for one in result.bootstrap.arcs}
        names = result.network.names
        return {(p, child): strength.get((names[p], names[child]), 0.0) for p, child in arcs}
    if isinstance(result, KBestResult):
        return {arc: float(result.arcs[arc]) for arc in arcs}
    return None
