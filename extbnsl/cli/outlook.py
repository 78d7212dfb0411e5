"""What is said of an estimate: lines for people, a document for programs, warnings and advice."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from extbnsl.cli.head import beyond_disk, beyond_machine
from extbnsl.core.figures import format_count, format_gap, format_size, in_full, wrapped
from extbnsl.drawing.markup import aligned
from extbnsl.machine.budgets import free_disk, machine_memory
from extbnsl.posteriors.scope import UNIFORM
from extbnsl.results.facts import INDENT, Fact
from extbnsl.solver.families import VARSETS
from extbnsl.solver.needs import HOPELESS, TOO_MANY, Estimate, Trial, sum_needs

YEAR = 31_557_600.0  # seconds
FAR_MORE = 20.0  # times the disk, or the memory, that is granted
ROUGH = 4.0  # factor of doubt from which a longer effort is worth more than a number
FEWEST_EDGES = 10_000  # whose time is worth telling

_AGAIN = "nothing is kept, solve does it again"
_HEADER = ("component", "variables", "parent sets", "gap", "layers", "nodes", "edges", "largest")
_SPANS = ((YEAR, "years", 2.0), (86400.0, "days", 2.0), (3600.0, "h", 1.7), (60.0, "min", 1.7), (1.0, "s", 0.0))
_OPTION_UNITS = ((86400.0, "d", 3.0), (3600.0, "h", 3.0), (60.0, "m", 3.0), (1.0, "s", 0.0))


def lines(estimate: Estimate) -> list[str]:
    """The estimate for people, in lines that fit a terminal."""
    rows = [("scores", _scores(estimate))]
    rows += [("search", _search(estimate))] if estimate.complete else []
    rows += [("memory", _memory(estimate)), ("disk", _disk(estimate)), ("time", _time(estimate))]
    rows += [("posterior", _sums(estimate))] if sum_needs(estimate.counting) else []
    rows += [("warning", warning) for warning in warnings(estimate)]
    rows += [("advice", advice(estimate))]
    return [*_table(estimate.trials), *(wrapped(Fact(*row).line, indent=INDENT) for row in rows)]


def document(estimate: Estimate) -> dict[str, Any]:
    """The estimate as JSON values, in bytes, seconds and nats; what is not known is null."""
    counting = estimate.counting
    totals = {
        "factor": estimate.doubt,
        "memory_bytes": estimate.memory,
        "disk_bytes": estimate.disk,
        "seconds": estimate.time,
        "cpu_seconds": estimate.cpu_seconds,
    }
    ranges = {
        "memory_bytes_range": estimate.memory_range,
        "disk_bytes_range": estimate.disk_range,
        "seconds_range": tuple(map(_finite, estimate.time_range)),
        "cpu_seconds_range": tuple(map(_finite, estimate.cpu_range)),
    }
    return {
        "complete": estimate.complete,
        "stopped": estimate.stopped,
        "scores": {
            "varsets_counted": counting.varsets,
            "parent_sets": counting.families,
            "complete": counting.complete,
            "seconds": counting.seconds,
            "seconds_left": counting.seconds_left,
        },
        "components": [_component(trial) for trial in estimate.trials],
        **(totals if estimate.complete else dict.fromkeys(totals)),
        **ranges,
        "posterior": [vars(own) for own in sum_needs(estimate.counting)],
        "budgets": estimate.budgets.document(),
        "warnings": warnings(estimate),
        "advice": advice(estimate),
    }


def _finite(seconds: float) -> float | None:
    """The seconds; None where there is no limit."""
    return seconds if math.isfinite(seconds) else None


def warnings(estimate: Estimate) -> list[str]:
    """A sentence for everything that cannot be told, and for every budget that will not do, or may not."""
    budgets, left, found = estimate.budgets, estimate.counting.seconds_left, []
    if math.isinf(left):
        found.append("The effort ended before enough was counted to tell how long the local scores take.")
    elif left:
        found.append(f"The local scores may take {format_span(left)} more, and nothing was seen of the search.")
    for k, trial in enumerate(estimate.trials, start=1):
        if trial.unknown:
            found.append(f"Component {k}, of {trial.variables} variables: {trial.unknown}.")
    if not estimate.complete:
        return found
    if budgets.memory < estimate.least_memory:
        least = format_size(estimate.least_memory)
        found.append(f"The search needs {least} of memory, and --memory grants {format_size(budgets.memory)}.")
    most = estimate.disk * estimate.doubt
    found += _exceeded("files will take", estimate.disk, most, budgets.disk, "--disk", format_size)
    if budgets.time_limit is not None:
        most = estimate.time_range[1]
        found += _exceeded("solve will take", estimate.time, most, budgets.time_limit, "--time-limit", format_span)
    return found + list(_beyond(estimate))


def _beyond(estimate: Estimate) -> Iterator[str]:
    """A sentence for memory and for disk if the search will take what is granted, but not there."""
    budgets, own, free = estimate.budgets, machine_memory(), free_disk(Path())
    if min(estimate.memory, budgets.memory) > own:
        yield f"The search may take {format_size(estimate.memory)} of memory, and the machine has {format_size(own)}."
    if min(estimate.disk, budgets.disk) > free:
        yield f"The files will take about {format_size(estimate.disk)}, and {format_size(free)} of disk are free."


def _exceeded(
    what: str, need: float, most: float, budget: float, option: str, shown: Callable[[float], str]
) -> list[str]:
    """The sentence that a budget will not do, or may not; none if it will."""
    if need > budget:
        return [f"The {what} about {shown(need)}, and {option} grants {shown(budget)}."]
    if most > budget:
        return [f"The {what} about {shown(need)}, perhaps {shown(most)}, and {option} grants {shown(budget)}."]
    return []


def advice(estimate: Estimate) -> str:
    """What to do, in one sentence."""
    budgets = estimate.budgets
    if not estimate.counting.complete:
        return "Give --max-parents to have less to count, or a longer --effort to see more of it."
    if any(trial.unknown for trial in estimate.trials):
        if any(trial.unknown in (TOO_MANY, HOPELESS) for trial in estimate.trials):
            return "A solve finds a network and bounds, maybe no proof; a smaller --max-parents may split it."
        return "Give a longer --effort, so that the search can be looked at."
    if budgets.memory < estimate.least_memory:
        return f"Give --memory {format_size(estimate.least_memory)} or more."
    if (own := machine_memory()) < min(estimate.memory, budgets.memory):
        return f"Give a --memory that the machine has: less than {format_size(own)}."
    least_time, most_time = estimate.time_range
    least_disk, most_disk = estimate.disk / estimate.doubt, estimate.disk * estimate.doubt
    if least_time > YEAR or least_disk > FAR_MORE * max(budgets.disk, budgets.memory):
        return "A proof is out of reach; a solve with a --time-limit finds a network with bounds."
    short_of_time = budgets.time_limit is not None and most_time > budgets.time_limit
    if estimate.doubt > ROUGH and (short_of_time or most_disk > budgets.disk):
        return "Give a longer --effort: this guess is too rough to choose budgets by."
    if most_disk > budgets.disk:
        return (
            f"Give --disk {format_size(most_disk)} or more, or --memory {format_size(estimate.memory)}, which keeps "
            "all layers in memory."
        )
    if short_of_time:
        return (
            f"Give --time-limit {_option(most_time)}, or go on with 'extbnsl resume': a solve that is stopped has a "
            "network with bounds and keeps what it has done."
        )
    if not all(trial.fits(budgets) for trial in estimate.trials):
        return f"The budgets will do; --memory {format_size(estimate.memory)} would keep all layers in memory."
    return "The budgets will do, and all layers stay in memory."


def format_span(seconds: float) -> str:
    """A duration for people, in the unit that suits it, such as '0.4 s', '41 s', '12 min', '3.4 h', '5.1 days'."""
    size, name, _ = next(unit for unit in _SPANS if seconds >= unit[2] * unit[0])
    count = seconds / size
    return f"{count:.1f} {name}" if count < 9.95 else f"{count:,.0f} {name}"


def _sums(estimate: Estimate) -> str:
    """What `posterior` takes for its sums."""
    needs = sum_needs(estimate.counting)
    told = (
        f"by the prior {own.prior} {format_span(own.seconds)} of a processor, {format_size(own.bytes)}" for own in needs
    )
    said = f"extbnsl posterior sums {'; '.join(told)}, at most, after the scores"
    return said if needs[0].prior == UNIFORM else f"{said}; by the prior {UNIFORM} it may give estimates alone"


def _option(seconds: float) -> str:
    """A duration as options take it, rounded up."""
    size, name, _ = next(unit for unit in _OPTION_UNITS if seconds >= unit[2] * unit[0])
    return f"{math.ceil(seconds / size)}{name}"


def _component(trial: Trial) -> dict[str, Any]:
    forecast = trial.forecast
    return {
        "variables": trial.variables,
        "parent_sets": trial.families,
        "upper_bound": trial.upper_bound,
        "lower_bound": trial.lower_bound,
        "unknown": trial.unknown or None,
        "layers_seen": None if forecast is None else forecast.seen - 1,
        "all_seen": None if forecast is None else forecast.complete,
        "nodes": None if forecast is None else forecast.nodes,
        "edges": None if forecast is None else forecast.edges,
        "nanoseconds_per_edge": trial.edge_ns or None,
    }


def _table(trials: tuple[Trial, ...]) -> list[str]:
    """A line for each component that has more than one variable, below a header; none if there is none."""
    rows = [_HEADER, *(_row(k, trial) for k, trial in enumerate(trials, start=1) if trial.variables > 1)]
    return aligned(rows) if len(rows) > 1 else []


def _row(k: int, trial: Trial) -> tuple[str, ...]:
    known = str(k), str(trial.variables), f"{trial.families:,}", format_gap(trial.lower_bound, trial.upper_bound)
    if trial.forecast is None:
        return (*known, "-", "-", "-", "-")
    nodes, edges = trial.forecast.nodes, trial.forecast.edges
    counts = (format_count(float(count)) for count in (nodes.sum(), edges.sum(), nodes.max()))
    return (*known, f"{trial.forecast.seen - 1} of {trial.variables}", *counts)


def _scores(estimate: Estimate) -> str:
    counting = estimate.counting
    done = [f"{in_full(counting.varsets, *VARSETS)} counted"] if counting.varsets else []
    done.append(f"{in_full(counting.families, 'parent set')} kept")
    if not counting.complete:
        done.append(f"done up to size {counting.judged} of at most {counting.limit}")
    return f"{', '.join(done)} ({format_span(counting.seconds)})"


def _search(estimate: Estimate) -> str:
    forecasts = [trial.forecast for trial in estimate.trials if trial.forecast is not None]
    if not forecasts:
        return f"none: proved before any search; {_AGAIN}"
    nodes = format_count(sum(float(forecast.nodes.sum()) for forecast in forecasts))
    edges = format_count(sum(float(forecast.edges.sum()) for forecast in forecasts))
    if all(forecast.complete for forecast in forecasts):
        return f"{nodes} nodes, {edges} edges, all of them seen; {_AGAIN}"
    return f"about {nodes} nodes and {edges} edges, guessed; perhaps {estimate.doubt:.1f} times as many or as few"


def _memory(estimate: Estimate) -> str:
    granted = estimate.budgets.memory
    grants = f"--memory grants {format_size(granted)}{beyond_machine(granted)}"
    if not estimate.complete:
        return f"from {format_size(estimate.least_memory)} to all that is granted; {grants}"
    least = f"{format_size(estimate.least_memory)} is the least that works"
    return f"{format_size(estimate.memory)} keep all layers in memory, {least}; {grants}"


def _disk(estimate: Estimate) -> str:
    granted = estimate.budgets.disk
    grants = f"--disk grants {format_size(granted)}{beyond_disk(granted, Path())}"
    if not estimate.complete:
        return f"from none to all that is granted; {grants}"
    return f"about {format_size(estimate.disk)}; {grants}" if estimate.disk else "none"


def _span(least: float, most: float) -> str:
    """A range of seconds; one figure where both ends look the same."""
    return " to ".join(dict.fromkeys(map(format_span, (least, most))))


def _time(estimate: Estimate) -> str:
    least, most = estimate.time_range
    computed = f"{_span(*estimate.cpu_range)} of CPU time"
    if math.isinf(most):
        return f"at least {format_span(least)}, and there is no telling how much more"
    if not estimate.complete:
        return f"{_span(least, most)} ({computed}): nobody saw how much is pruned"
    between = f" ({_span(least, most)}; {computed})"
    searched = [(trial.forecast.edges.sum(), trial.edge_ns) for trial in estimate.trials if trial.forecast is not None]
    count, edge_ns = max(searched, default=(0.0, 0.0))
    threads = estimate.budgets.threads
    pace = f"about {format_count(1e9 / max(1.0, edge_ns))} edges a second"
    edges = f", then {pace} with --threads {threads}" if count >= FEWEST_EDGES else ""
    return f"about {format_span(estimate.time)}{between}: {format_span(estimate.seconds)} up to the search{edges}"
