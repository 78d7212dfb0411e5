"""What a report on a run is made of: its result, its network and its log, read and held together; and their tables."""

import contextlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extbnsl.core.codec import Misfit
from extbnsl.core.errors import InputError, VerificationError
from extbnsl.core.figures import format_cost, format_count, format_size, held_of_all, in_full, stage_title
from extbnsl.drawing.markup import Grid
from extbnsl.files.names import BIF, DOCUMENT, RESULT
from extbnsl.networks.network import Arc, Network, cpdag
from extbnsl.results.facts import class_knowledge_in, network_drawn
from extbnsl.results.reading import damage_told, network_written, no_result, read_result
from extbnsl.run.directory import check_run
from extbnsl.run.log import Moment, read_bounds, read_layers
from extbnsl.run.status import Status, read_status

MOST_STATES = 12  # of a variable that are listed
MOST_ROWS = 64  # of a table of parameters
MOST_COLUMNS = 32
MOST_CELLS = 20_000  # of all of them together
NO_BREAK = "\u00a0"  # a blank at which no line ends
SIZES = ("memory", "disk")  # options in bytes
MOST_PAIRS = 200  # of the resamples

Row = tuple[str, str]


@dataclass(frozen=True)
class Run:
    """A run that has a result: the document of result.json without a list of networks, the network, that of
    network.json (empty if that is not of this result), the bounds over time and the layers of the log.

    status: what the run does now.
    compelled: the arcs that all networks of its class have that the knowledge allows.
    """

    path: Path
    document: Mapping[str, Any]
    network: Network
    written: Mapping[str, Any]
    bounds: tuple[Moment, ...]
    layers: tuple[Mapping[str, int], ...]
    status: Status
    compelled: frozenset[Arc]

    @property
    def costs_of_removal(self) -> dict[tuple[str, str], float]:
        """What the network costs more without each arc, in nats, by names; of those arcs of which it is known."""
        told = [(one["from"], one["to"], one["cost_of_removal"]) for one in self.written.get("arc_strengths") or ()]
        return {(parent, child): float(cost) for parent, child, cost in told if cost is not None}

    def drawing(self) -> str:
        """The drawing of the network, with what is known of its arcs; RunDirectoryError if the result is damaged."""
        with damage_told(self.path):
            return network_drawn(self.document, self.network, self.costs_of_removal)


def read_run(path: Path) -> Run:
    """What there is to report on the run in `path`.

    Raises InputError if it is no run directory or has no result yet, RunDirectoryError if its result is damaged.
    """
    check_run(path)
    status = read_status(path)
    if not (path / RESULT).exists():
        raise InputError(f"{path} has no result to report on yet; 'extbnsl status {path}' tells how far it is.")
    document = read_result(path)
    try:
        network = Network.from_names(document["variables"], document["parents"])
        compelled = frozenset(cpdag(network, class_knowledge_in(document, network))[0])
    except (KeyError, TypeError, AttributeError, InputError, VerificationError, Misfit) as error:
        raise no_result(path) from error
    layers: list[dict[str, int]] = []
    with contextlib.suppress(InputError):
        layers = read_layers(path)
    written = network_written(path, document) or {}
    return Run(path, document, network, written, read_bounds(path), tuple(layers), status, compelled)


def arcs(run: Run, what: str, shares: Mapping[tuple[str, str], float]) -> Grid:
    """All arcs of the network, and the shares of networks that have them, if there are several."""
    names, costs = run.network.names, run.costs_of_removal
    head = ["parent", "child", "direction", *(["nats more without it"] if costs else [])]
    head += [what] if shares else []
    rows = []
    for arc in run.network.arcs():
        parent, child = names[arc[0]], names[arc[1]]
        known = shares.get((parent, child))
        told = [_known(costs.get((parent, child)), 2)] if costs else []
        told += [_known(known, 3)] if shares else []
        rows.append((parent, child, "as drawn" if arc in run.compelled else "either way", *told))
    note = f"Either way: another network of the equivalence class{allowed(run.document)} turns the arc."
    return Grid("Arcs", tuple(head), tuple(rows), note if rows else "The network has none.")


def allowed(document: Mapping[str, Any]) -> str:
    """Which networks of a class are meant, as a clause behind it; nothing if there is no knowledge."""
    return " that keeps to the knowledge" if document.get("knowledge") else ""


def _known(figure: float | None, digits: int) -> str:
    """A figure, or nothing if it is not known."""
    return "" if figure is None else f"{figure:,.{digits}f}"


def resamples(document: Mapping[str, Any]) -> Grid:
    """What the resamples say of pairs of variables, the likelier direction of each."""
    pairs = document["bootstrap"]["arcs"][::2]
    keys = ("strength", "direction", "compelled", "reversible")
    rows = tuple((one["from"], one["to"], *(f"{one[key]:.3f}" for key in keys)) for one in pairs[:MOST_PAIRS])
    left = f" {len(pairs) - MOST_PAIRS:,} that are weaker are in bootstrap.csv." if len(pairs) > MOST_PAIRS else ""
    strength = "Strength: the share of the resamples whose networks join the two."
    direction = "Direction: of these, the share that point from the one to the other."
    return Grid("Resamples", ("from", "to", *keys), rows, f"{strength} {direction}{left}")


def probabilities(document: Mapping[str, Any]) -> Grid:
    """How likely arcs are over all networks, the likeliest first."""
    found = document["posterior"]
    if "estimate" in found:
        keys: tuple[str, ...] = ("probability", "standard_error", "either", "either_standard_error")
        note = "Estimates with their standard errors, not proved; either: that an arc joins the two."
    else:
        keys = ("probability", "at_least", "at_most", "either")
        note = "Each probability lies between the two figures beside it; either: that an arc joins the two."
    rows = tuple((one["from"], one["to"], *(f"{one[key]:.4f}" for key in keys)) for one in found["arcs"][:MOST_PAIRS])
    left = len(found["arcs"]) - MOST_PAIRS
    more = f" {left:,} that are less likely are in posterior.csv." if left > 0 else ""
    head = ("from", "to", *(key.replace("_", " ") for key in keys))
    return Grid("Probabilities of arcs", head, rows, note + more)


def features(document: Mapping[str, Any]) -> Grid:
    """What share of the networks that were drawn has each feature."""
    found = document["posterior"]
    rows = tuple((one["name"], f"{one['share']:.4f}", f"{one['standard_error']:.4f}") for one in found["features"])
    note = f"Of {in_full(found['sampled'], 'network')} drawn from all."
    return Grid("Features", ("feature", "share", "standard error"), rows, note)


def best_networks(document: Mapping[str, Any]) -> Grid:
    """The first of the k best networks."""
    rows = tuple(
        (
            f"{one['rank']}",
            format_cost(one["cost"], 6),
            f"{one['share']:.4g}",
            f"{one['equivalence_class']}",
            f"{one['arcs']}",
        )
        for one in document["top"]
    )
    held = held_of_all(document["count"]["of_all"])
    note = f"All are in networks.csv. Share: of the weight of the networks found; {held}."
    return Grid("The best networks", ("rank", "cost", "share", "class", "arcs"), rows, note)


def variables(run: Run) -> Grid:
    """The states of each variable with how many records have each, as far as they are few, and how columns were read
    and cut; where the run does not tell how many, their names."""
    states, counts, treated = run.written["states"], run.written.get("counts"), run.written.get("treated")
    rows = tuple(
        (
            *(name, f"{len(states[name]):,}", *([treated.get(name, "")] if treated else [])),
            _counted(states[name], counts[name]) if counts else _named(states[name]),
        )
        for name in run.network.names
        if name in states
    )
    head = ("variable", "states", *(["read and cut"] if treated else []))
    if not counts:
        return Grid("Variables", (*head, "their names"), rows)
    many = any(len(own) > MOST_STATES for own in states.values())
    note = f"Of more than {MOST_STATES} states, those that most records have come first." if many else ""
    return Grid("Variables", (*head, "records with each"), rows, note)


def _named(states: Sequence[str]) -> str:
    more = f", and {len(states) - MOST_STATES:,} more" if len(states) > MOST_STATES else ""
    return ", ".join(states[:MOST_STATES]) + more


def _counted(states: Sequence[str], counts: Sequence[int]) -> str:
    """How many records have each state, in their order; of many states, the most frequent ones first."""
    records, pairs = sum(counts), list(zip(states, counts, strict=True))
    if len(pairs) > MOST_STATES:
        pairs.sort(key=lambda pair: -pair[1])
    told = [f"{state}: {_share(count, records)}" for state, count in pairs[:MOST_STATES]]
    if rest := pairs[MOST_STATES:]:
        told.append(f"{len(rest):,} more: {_share(sum(count for _, count in rest), records)}")
    return ", ".join(told)


def _share(count: int, records: int) -> str:
    """So many of the records, and which part that is, on one line."""
    percent = 100.0 * count / records
    part = "< 0.1" if 0.0 < percent < 0.05 else f"{percent:.1f}"
    return f"{count:,} ({part} %)".replace(" ", NO_BREAK)


def numbers(run: Run) -> Grid:
    """Where the numbers of each continuous variable lie."""
    keys = ("mean", "standard_deviation", "smallest", "largest")
    told, treated = run.written["spreads"], run.written.get("treated")
    rows = tuple(
        (name, *(f"{told[name][key]:.6g}" for key in keys), *([treated.get(name, "")] if treated else []))
        for name in run.network.names
        if name in told
    )
    note = "Standard deviation: the root of the mean squared deviation from the mean."
    head = ("variable", *(key.replace("_", " ") for key in keys), *(["read as"] if treated else []))
    return Grid("Variables", head, rows, note)


def parameters(run: Run) -> Iterator[Grid]:
    """The probabilities of each variable's states given its parents'; of a table that is too large, a sentence."""
    states, left = run.written["states"], MOST_CELLS
    for child, parents in run.network.parents_by_name().items():
        rows = math.prod(len(states[parent]) for parent in parents)
        columns = len(states[child])
        heading = f"{child} given {', '.join(parents)}" if parents else child
        if rows > MOST_ROWS or columns > MOST_COLUMNS or rows * columns > left:
            yield Grid(heading, (), (), f"{rows:,} rows of {in_full(columns, 'state')}: too many to show; see {BIF}.")
            continue
        left -= rows * columns
        configurations = itertools.product(*(states[parent] for parent in parents))
        values = _leaves(run.written["tables"][child], len(parents))
        lines = tuple((*own, *(f"{p:.4f}" for p in row)) for own, row in zip(configurations, values, strict=True))
        yield Grid(heading, (*parents, *states[child]), lines)


def regressions(run: Run) -> Grid:
    """The regression of each variable on its parents."""
    rows = []
    for name in run.network.names:
        own = run.written["regressions"][name]
        rows.append((name, *_regression(own)))
    note = "Each variable is its intercept, plus these coefficients times its parents, plus noise of this variance."
    return Grid("Regressions", ("variable", "intercept", "coefficients", "variance"), tuple(rows), note)


def conditionals(run: Run) -> Iterator[Grid]:
    """The parameters of each variable of a network of states and numbers; of too many rows, a sentence."""
    states, left = run.written["states"], MOST_CELLS
    for child, own in run.written["conditionals"].items():
        parents = run.network.parents_by_name()[child]
        heading = f"{child} given {', '.join(parents)}" if parents else child
        head: tuple[str, ...]
        lines: tuple[tuple[str, ...], ...]
        if "table" in own:
            configurations = itertools.product(*(states[parent] for parent in own["given"]))
            values = _leaves(own["table"], len(own["given"]))
            lines = tuple((*each, *(f"{p:.4f}" for p in row)) for each, row in zip(configurations, values, strict=True))
            head = (*own["given"], *states[child])
        else:
            head = (*own["given"], "records", "intercept", "coefficients", "variance")
            lines = tuple((*one["states"], f"{one['records']:,}", *_regression(one)) for one in own["regressions"])
        if len(lines) > MOST_ROWS or len(head) > MOST_COLUMNS or len(lines) * len(head) > left:
            yield Grid(heading, (), (), f"{in_full(len(lines), 'row')}: too many to show; see {DOCUMENT}.")
            continue
        left -= len(lines) * len(head)
        yield Grid(heading, head, lines)


def blocks(run: Run) -> Iterator[Grid]:
    """The regression of the columns of each variable of a network of blocks; of too many rows, a sentence."""
    left = MOST_CELLS
    for child, own in run.written["columns"].items():
        parents = run.network.parents_by_name()[child]
        heading = f"{child} given {', '.join(parents)}" if parents else child
        labels = [one for p, of in own["given"].items() for one in ([p] if of is None else [f"{p}={s}" for s in of])]
        head = ("column", "intercept", "coefficients", "variance")
        lines = tuple(
            (
                f"{child}={own['states'][k]}" if own["states"] else child,
                f"{intercept:.6g}",
                ", ".join(f"{slope:.6g} {label}" for slope, label in zip(own["coefficients"][k], labels, strict=True)),
                f"{own['covariance'][k][k]:.6g}",
            )
            for k, intercept in enumerate(own["intercepts"])
        )
        if len(lines) > MOST_ROWS or len(lines) * len(head) > left:
            yield Grid(heading, (), (), f"{in_full(len(lines), 'row')}: too many to show; see {DOCUMENT}.")
            continue
        left -= len(lines) * len(head)
        yield Grid(heading, head, lines)


def _regression(own: Mapping[str, Any]) -> tuple[str, str, str]:
    """Intercept, coefficients and variance."""
    slopes = ", ".join(f"{slope:.6g} {parent}" for parent, slope in own["coefficients"].items())
    return f"{own['intercept']:.6g}", slopes, f"{own['variance']:.6g}"


def _leaves(table: Any, depth: int) -> Iterator[Sequence[float]]:
    """The rows of a nested table, in the order of its configurations."""
    if depth == 0:
        yield table
    else:
        for part in table:
            yield from _leaves(part, depth - 1)


def stages(stats: Mapping[str, Any]) -> Grid:
    """What each stage took."""
    rows = tuple(
        (stage_title(stage), f"{each['seconds']:,.2f}", f"{each['cpu_seconds']:,.2f}")
        for stage, each in stats.get("stages", {}).items()
    )
    return Grid("Time", ("stage", "seconds", "CPU seconds"), rows)


def layers(run: Run) -> Grid:
    """What each layer of the search has."""
    several = any(layer["component"] != 1 for layer in run.layers)
    rows = tuple(
        (
            f"{layer['component']}:{layer['layer']}" if several else f"{layer['layer']}",
            format_count(layer["generated"]),
            format_count(layer["kept"]),
            format_size(layer["rss_bytes"]),
            format_size(layer["disk"]),
        )
        for layer in run.layers
    )
    return Grid("Layers of the search", ("layer", "edges generated", "nodes kept", "memory", "disk"), rows)


def provenance(run: Run) -> Iterator[Row]:
    """Where the result comes from, as (subject, text)."""
    known = run.document.get("provenance", {})
    yield "source", str(known.get("source") or "")
    yield "data digest", str(known.get("data_digest") or "")
    yield "versions", ", ".join(f"{name} {version}" for name, version in known.get("versions", {}).items())
    told = known.get("options", {}).items()
    given = [(name, value) for name, value in told if value is not None and name != "knowledge"]
    yield "options", ", ".join(f"{name} {format_size(value) if name in SIZES else value}" for name, value in given)
    yield "data options", ", ".join(f"{name} {value}" for name, value in known.get("data_options", {}).items())
