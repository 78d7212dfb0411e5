"""What is printed of a result, from the document that is in result.json."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from extbnsl.cli import bootstrap, ranked
from extbnsl.cli.ranked import HELD
from extbnsl.core.claims import FINISHED, tolerance
from extbnsl.core.errors import RunDirectoryError
from extbnsl.core.knowledge import Knowledge
from extbnsl.files.names import RESULT
from extbnsl.scores.known import NAMES, score_named
from extbnsl.scores.score import titled

STOPPED = 10
MOST_LISTED = 20  # variables whose parents are listed unasked
LEAST_SECONDS = 0.05  # of a stage that is worth a word
WIDEST_NAME = 30  # columns for names of variables in a table
OLD = 0.5  # of the seconds: a network from before that is probably the best, or nearly so

BNLEARN = ("mdl", "aic", "bdeu", "bds", "k2")  # scores that R's bnlearn has, with this sign


def exit_code(document: Mapping[str, Any]) -> int:
    """The exit code of a command that ended with this result."""
    return 0 if document.get("status") in FINISHED else STOPPED


def final_line(document: Mapping[str, Any], folder: Path) -> str:
    """The result in one line; RunDirectoryError if the document is not one."""
    from extbnsl.core.figures import counted, format_cost

    with damage_told(folder):
        return (
            f"{document['status']}: cost {format_cost(document['cost'], 6)} nats, lower bound "
            f"{format_cost(document['lower_bound'], 6)}, {counted(_arcs(document), 'arc')}, "
            f"{f'{ranked.listed(document)}, ' if ranked.is_ranked(document) else ''}"
            f"{f'{bootstrap.done(document)}, ' if bootstrap.has_resamples(document) else ''}in {folder}"
        )


def summary(document: Mapping[str, Any], folder: Path, network: bool = False) -> str:
    """The result in a few lines, with the parents of each variable if they are few, or if the `network` is wanted.

    RunDirectoryError if the document is not a result.
    """
    with damage_told(folder):
        stats = document.get("stats", {})
        listed, ordered = network or len(document["variables"]) <= MOST_LISTED, "states" in stats
        several = ranked.is_ranked(document)
        rows = [*_claim_rows(document, listed, listed and not ordered), *(ranked.rows(document) if several else ())]
        rows += bootstrap.rows(document)
        rows += [*_effort_rows(stats), *_file_rows(folder, document["count"]["written"] if several else 1)]
        lines = [_line(subject, text) for subject, text in rows if text]
        table = [*ranked.table(document), ""] if several else [*bootstrap.table(document)]
        return "\n".join([*table, *(_ordered_lines(document, stats) if listed and ordered else ()), *lines])


def status_line(document: Mapping[str, Any]) -> str:
    """The line of the summary that tells the status."""
    return _line("status", _status(document))


def _line(subject: str, text: str) -> str:
    return f"{subject:12} {text}"


def _status(document: Mapping[str, Any]) -> str:
    return str(document["status"]).replace("_", " ")


def _claim_rows(document: Mapping[str, Any], listed: bool, here: bool) -> Iterator[tuple[str, str]]:
    """What was found: status, cost, score, bounds, and the network; its parents are listed, perhaps `here`."""
    from extbnsl.core.figures import counted, format_cost, format_gap

    cost, lower, upper = document["cost"], document["lower_bound"], document["upper_bound"]
    score = score_named(document["score"], document.get("ess")) if document["score"] in NAMES else None
    yield "status", _status(document)
    if document.get("order_optimal"):
        yield "order", "no network that keeps to the order costs less"
    title = titled(score) if score else "minus the scores of the file"
    yield "cost", f"{format_cost(cost, 6)} nats ({title}, minimised)"
    if score:
        yield score.maximised, f"{format_cost(-cost, 6)} (minus the cost{', as in bnlearn' * (score.name in BNLEARN)})"
    yield "bounds", f"{format_cost(lower, 6)} to {format_cost(upper, 6)} (gap {format_gap(lower, upper)})"
    yield "gap", "" if document["status"] in FINISHED else _left_by(document)
    parameters = document.get("stats", {}).get("parameters")
    sizes = [counted(len(document["variables"]), "variable"), counted(_arcs(document), "arc")]
    sizes += [] if parameters is None else [counted(parameters, "parameter")]
    if (most := document["max_parents"]) is not None:
        yield "limit", f"at most {counted(most, 'parent')} for each variable"
    if document.get("knowledge"):
        yield "knowledge", str(Knowledge.from_document(document["knowledge"]))
    yield "network", ", ".join(sizes) + ("" if listed else " (--print lists them)")
    for name in document["variables"] if here else ():
        parents = document["parents"][name]
        yield "", f"{name} | {', '.join(parents)}" if parents else name


def _left_by(document: Mapping[str, Any]) -> str:
    """Which of bound and network has moved last, so that more time may be worth it; empty if that is not known, or they
    have met."""
    from extbnsl.core.figures import format_cost

    stats, cost = document["stats"], document["cost"]
    if (improved := stats.get("improved")) is None or cost - document["lower_bound"] <= 2.0 * tolerance(cost):
        return ""
    since, seconds, risen = improved["seconds"], stats["seconds"], document["lower_bound"] - improved["lower_bound"]
    told = f"the network stands since second {since:.0f} of {seconds:.0f}, the bound rose by {format_cost(risen)} since"
    if since > OLD * seconds:
        return f"left by both, it seems: {told}"
    return f"left by the bound, it seems: {told}"


def _effort_rows(stats: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What it took, as far as that is known."""
    from extbnsl.core.figures import counted, in_full
    from extbnsl.machine.budgets import format_size
    from extbnsl.run.progress import title

    if {"seconds", "stages"} <= stats.keys():
        spent = [(title(stage), each["seconds"]) for stage, each in stats["stages"].items()]
        told = ", ".join(f"{name} {seconds:.1f}" for name, seconds in spent if seconds >= LEAST_SECONDS)
        yield "seconds", told or f"{stats['seconds']:.1f}"
    if "states" in stats:
        yield "states", f"{sum(stats['states'].values()):,}"
        yield "trapped", _trapped(stats)
        yield "unfinished", "" if not (open_ := stats["unfinished"]) else in_full(len(open_), "variable")
    if {"nodes_kept", "nodes_generated", "parent_sets"} <= stats.keys():
        nodes, edges = counted(stats["nodes_kept"], "node"), counted(stats["nodes_generated"], "edge")
        yield "search", f"{counted(stats['parent_sets'], 'parent set')}, {nodes}, {edges}"
    if {"peak_rss_bytes", "peak_disk_bytes"} <= stats.keys():
        memory, disk = format_size(stats["peak_rss_bytes"]), format_size(stats["peak_disk_bytes"])
        yield "at most", f"{memory} of memory, {disk} of disk"


def _trapped(stats: Mapping[str, Any]) -> str:
    """At how many of the variables of which that is known K3 was trapped; empty if it is of none, as after K3 alone."""
    from extbnsl.core.figures import in_full

    if stats["trapped"] is None:
        return ""
    known = stats["states"].keys() - set(stats["unfinished"]) | set(stats["trapped"])
    return f"K3 at {len(stats['trapped'])} of {in_full(len(known), 'variable')}"


def _ordered_lines(document: Mapping[str, Any], stats: Mapping[str, Any]) -> Iterator[str]:
    """The table of what was found under an order: a line for each variable, or more if it has many parents."""
    from extbnsl.run.progress import wrapped

    trapped, unfinished, states = stats["trapped"] or [], stats["unfinished"], stats["states"]
    width = min(WIDEST_NAME, max(map(len, [*states, "child"])))
    yield f"{'child':{width}} {'states':>13}  trapped  parents"
    for name in document["order"]:
        known = "-" if stats["trapped"] is None or name in unfinished else "no"
        cells = f"{name:{width}} {states[name]:13,}  {'yes' if name in trapped else known:7}  "
        held = cells.replace(" ", HELD)  # blanks of the columns are no places to break a line at
        yield wrapped(held + ", ".join(document["parents"][name]), indent=width + 25).replace(HELD, " ").rstrip()
    yield ""


def _file_rows(folder: Path, networks: int) -> Iterator[tuple[str, str]]:
    """What there is in the folder: the best of so many networks that have files has those of OUTPUTS."""
    from extbnsl.files.names import BOOTSTRAP, OUTPUTS, TABLES, of_network

    yield "written", f"{folder}{os.sep}"
    yield "", ", ".join(name for name in OUTPUTS if (folder / name).exists())
    last = Path(of_network(networks)[1]).stem
    further = {1: [], 2: [f"{last}.*"]}.get(networks, [f"network-2.* to {last}.*"])
    yield "", ", ".join([*(name for name in (*TABLES, *BOOTSTRAP) if (folder / name).exists()), *further])
    yield "continue", _continuation(folder)


def _arcs(document: Mapping[str, Any]) -> int:
    return sum(map(len, document["parents"].values()))


def _continuation(folder: Path) -> str:
    """The command that goes on with the run; empty if there is nothing to go on with."""
    from extbnsl.files.names import MANIFEST
    from extbnsl.run.directory import resume_command
    from extbnsl.run.status import finished_result

    resumable = (folder / MANIFEST).exists() and finished_result(folder) is None
    return resume_command(folder) if resumable else ""


@contextlib.contextmanager
def damage_told(folder: Path) -> Iterator[None]:
    """Tell what fails in the block because the document is no result as RunDirectoryError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunDirectoryError(f"{folder / RESULT} is damaged or no result of a solve.") from error
