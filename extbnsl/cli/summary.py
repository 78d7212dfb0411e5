"""What is printed of a result, from the document that is in result.json."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from extbnsl.core.figures import HELD, format_cost, format_share, wrapped
from extbnsl.files.names import (
    ARC_FREQUENCIES,
    BOOTSTRAP,
    MANIFEST,
    OF_ALL,
    OUTPUTS,
    POSTERIOR_ARCS,
    TABLES,
    of_network,
)
from extbnsl.results import facts
from extbnsl.results.facts import INDENT, Fact, has_resamples, is_ranked
from extbnsl.results.reading import damage_told
from extbnsl.run.directory import resume_command
from extbnsl.run.screen import coloured
from extbnsl.run.status import finished_result

MOST_LISTED = 20  # variables whose parents are listed unasked
WIDEST_NAME = 30  # columns for names of variables in a table
RANKS = 10  # networks in a table
PAIRS = 15  # arcs in a table of pairs
WRAPPED = (facts.EMPTY, "networks", "shares", "classes", "arcs")  # facts that may take more than a line


def summary(document: Mapping[str, Any], folder: Path, network: bool = False, colours: bool = False) -> str:
    """The result in a few lines, with the parents of each variable if they are few, or if the `network` is wanted.

    RunDirectoryError if the document is not a result.
    """
    with damage_told(folder):
        listed, ordered = network or len(document["variables"]) <= MOST_LISTED, "states" in document.get("stats", {})
        lines = []
        for fact in facts.facts(document):
            if fact.subject == "status" and colours:
                fact = Fact(fact.subject, coloured(fact.text, document["status"]))
            lines += [] if fact.subject in facts.PAGE else [_told(fact, listed)]
            if fact.subject == "network" and listed and not ordered:
                lines += _parents(document)
        written = document["count"]["written"] if is_ranked(document) else 1
        lines += [fact.line for fact in _files(folder, written) if fact.text]
        tables = [*_ranked_lines(document), *_resampled_lines(document), *_summed_lines(document)]
        tables += _ordered_lines(document) if listed and ordered else ()
        return "\n".join([*tables, *lines])


def _told(fact: Fact, listed: bool) -> str:
    """A fact in lines; whether the parents of the variables are listed below that on the network."""
    text = fact.text + ("" if fact.subject != "network" or listed else " (--print lists them)")
    if fact.subject in WRAPPED:
        lines = (wrapped(HELD * INDENT + line, indent=INDENT)[INDENT:] for line in text.split("\n"))
        text = f"\n{' ' * INDENT}".join(lines)
    return Fact(fact.subject, text).line


def _parents(document: Mapping[str, Any]) -> Iterator[str]:
    """The parents of each variable, a line each."""
    for name in document["variables"]:
        parents = document["parents"][name]
        yield Fact("", f"{name} | {', '.join(parents)}" if parents else name).line


def _ranked_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The first of the k best networks, a line each; of those that cost the same the first alone has its rank, as in
    Figures 1 and 2 of Chen, Darwiche and Choi."""
    if not is_ranked(document):
        return
    yield f"{'rank':>6} {'cost':>18} {'difference':>14} {'share':>12} {'class':>9} {'arcs':>6}"
    top = document["top"][:RANKS]
    for before, one in zip([None, *top], top, strict=False):
        rank = "-" if before is not None and before["rank"] == one["rank"] else one["rank"]
        cost, more = format_cost(one["cost"], 6), format_cost(one["cost"] - top[0]["cost"], 6)
        share = format_share(one["share"])
        yield f"{rank:>6} {cost:>18} {more:>14} {share:>12} {one['equivalence_class']:>9} {one['arcs']:>6}"
    yield ""


def _resampled_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The strongest arcs of resamples, a line each, of each pair the likelier one; * for those of the network. Nothing
    without resamples, or before one is done."""
    if not has_resamples(document) or not document["bootstrap"]["arcs"]:
        return
    yield f"{'strength':>8} {'direction':>9} {'compelled':>9} {'reversible':>10}   arc (* joined in the network)"
    shares = "{strength:8.3f} {direction:9.3f} {compelled:9.3f} {reversible:10.3f}"
    likelier = document["bootstrap"]["arcs"][::2]
    yield from _pairs(document["parents"], likelier, shares, f"that are weaker, in {ARC_FREQUENCIES}")


def _summed_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The pairs of variables that an arc joins most likely, a line each, by the likelier direction; * for those that
    are joined in the network. Nothing of a result that does not tell of all networks."""
    if not facts.has_posterior(document):
        return
    found, pairs = document["posterior"], dict[frozenset[str], Any]()
    for one in sorted(found["arcs"], key=lambda one: (-one["either"], -one["probability"])):
        pairs.setdefault(frozenset((one["from"], one["to"])), one)
    if "estimate" in found:
        yield f"{'joined':>8} {'error':>9} {'this way':>9} {'error':>9}   arc (* joined in the network)"
        cells = "{either:8.4f} {either_standard_error:9.4f} {probability:9.4f} {standard_error:9.4f}"
    else:
        yield f"{'joined':>8} {'this way':>9} {'at least':>9} {'at most':>9}   arc (* joined in the network)"
        cells = "{either:8.4f} {probability:9.4f} {at_least:9.4f} {at_most:9.4f}"
    yield from _pairs(document["parents"], [*pairs.values()], cells, f"that are less likely, in {POSTERIOR_ARCS}")


def _pairs(parents: Mapping[str, Any], likelier: Sequence[Mapping[str, Any]], cells: str, others: str) -> Iterator[str]:
    """The first of some arcs, each with its cells, a format; * for pairs that are joined in the network; and how many
    others there are."""
    for one in likelier[:PAIRS]:
        at, to = one["from"], one["to"]
        mark = "*" if at in parents[to] or to in parents[at] else " "
        yield _row(f"{cells.format(**one)} {mark} ", f"{at} -> {to}")
    if len(likelier) > PAIRS:
        yield f"and {len(likelier) - PAIRS:,} {others}"
    yield ""


def _ordered_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The table of what was found under an order: a line for each variable, or more if it has many parents."""
    stats = document["stats"]
    trapped, unfinished, states = stats["trapped"] or [], stats["unfinished"], stats["states"]
    width = min(WIDEST_NAME, max(map(len, [*states, "child"])))
    yield f"{'child':{width}} {'states':>13}  trapped  parents"
    for name in document["order"]:
        known = "-" if stats["trapped"] is None or name in unfinished else "no"
        cells = f"{name:{width}} {states[name]:13,}  {'yes' if name in trapped else known:7}  "
        yield _row(cells, ", ".join(document["parents"][name]), width + 25).rstrip()
    yield ""


def _row(cells: str, text: str, indent: int | None = None) -> str:
    """A line of a table, or several: its columns, whose blanks are no places to break it at, and a text."""
    held = cells.replace(" ", HELD)
    return wrapped(held + text, indent=len(held) if indent is None else indent)


def _files(folder: Path, networks: int) -> Iterator[Fact]:
    """What there is in the folder: the best of so many networks that have files has those of OUTPUTS."""
    yield Fact("written", f"{folder}{os.sep}")
    yield Fact("", ", ".join(name for name in OUTPUTS if (folder / name).exists()))
    last = Path(of_network(networks)[1]).stem
    further = {1: [], 2: [f"{last}.*"]}.get(networks, [f"network-2.* to {last}.*"])
    tables = (name for name in (*TABLES, *BOOTSTRAP, *OF_ALL) if (folder / name).exists())
    yield Fact("", ", ".join([*tables, *further]))
    resumable = (folder / MANIFEST).exists() and finished_result(folder) is None
    yield Fact("continue", resume_command(folder) if resumable else "")
