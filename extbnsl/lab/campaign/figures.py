"""The figures of a run: from the head of its result.json alone, and what the campaign's tables call them."""

from collections.abc import Callable, Mapping
from typing import Any

from extbnsl.proof.context import COMPILING

Document = Mapping[str, Any]
Value = int | float | str | None
MOST = 1e300  # of a number that anything can be done with


def _at(*way: str) -> Callable[[Document], Any]:
    """What is at the end of a way through mappings; None if it ends before."""

    def value(document: Document) -> Any:
        found: Any = document
        for key in way:
            if not isinstance(found, Mapping) or key not in found:
                return None
            found = found[key]
        return found

    return value


def _gap(document: Document) -> float | None:
    """The gap as a share of the upper bound, or of a nat if that is more."""
    lower, upper = document.get("lower_bound"), document.get("upper_bound")
    if not isinstance(lower, int | float) or not isinstance(upper, int | float):
        return None
    return max(0.0, upper - lower) / max(abs(upper), 1.0)


def _length(*way: str) -> Callable[[Document], Any]:
    """How many things are at the end of a way."""
    at = _at(*way)
    return lambda document: len(found) if isinstance(found := at(document), list | Mapping) else None


def _total(*way: str) -> Callable[[Document], Any]:
    """The sum of the numbers at the end of a way."""
    at = _at(*way)
    return lambda document: sum(found.values()) if isinstance(found := at(document), Mapping) else None


def _search_memory(document: Document) -> Any:
    """Bytes of the bounds, tables and nodes of a search, of BFBnB or of a baseline that counts them."""
    own = _at("stats", "search_bytes")(document)
    return _at("stats", "counts", "memory_bytes")(document) if own is None else own


def _arcs(document: Document) -> int | None:
    parents = document.get("parents")
    return sum(map(len, parents.values())) if isinstance(parents, Mapping) else None


def _beside_truth(document: Document) -> str | None:
    """How many arcs are extra and missing, beside the network that the records are from, such as '2 / 15'."""
    extra, missing = (_at("truth", key)(document) for key in ("extra", "missing"))
    return None if extra is None else f"{extra} / {missing}"


def _log_weight(document: Document) -> Any:
    """The logarithm of what a posterior has summed."""
    ends = _at("posterior", "log_weight")(document)
    return ends[0] if isinstance(ends, list) and ends else None


def _widest(document: Document) -> float | None:
    """How wide the interval of a probability of a posterior is at most, rounding included."""
    ignored, rounding = (_at("posterior", key)(document) for key in ("ignored", "rounding"))
    if not isinstance(ignored, int | float) or not isinstance(rounding, int | float) or ignored < 0.0:
        return None
    return min(1.0, ignored / (1.0 + ignored) + 2.0 * rounding)


def _without_compiling(name: str) -> Callable[[Document], Any]:
    """Seconds of a run without those of compiling, which the first run on a machine does for all others."""
    of_run, of_compiling = _at("stats", name), _at("stats", "stages", COMPILING, name)

    def seconds(document: Document) -> Any:
        found, taken = of_run(document), of_compiling(document)
        return found - taken if isinstance(found, float) and isinstance(taken, float) else found

    return seconds


STATES, WIDEST = "states", "widest"
FIGURES: Mapping[str, Callable[[Document], Any]] = {
    "status": _at("status"),
    "cost": _at("cost"),
    "lower_bound": _at("lower_bound"),
    "upper_bound": _at("upper_bound"),
    "gap": _gap,
    "seconds": _without_compiling("seconds"),
    "cpu_seconds": _without_compiling("cpu_seconds"),
    "memory": _at("stats", "peak_rss_bytes"),
    "search_memory": _search_memory,
    "disk": _at("stats", "peak_disk_bytes"),
    "variables": _length("variables"),
    "records": _at("provenance", "records"),
    "arcs": _arcs,
    "extra_missing": _beside_truth,
    "parameters": _at("stats", "parameters"),
    "parent_sets": _at("stats", "parent_sets"),
    "varsets": _at("stats", "varsets_counted"),
    "expanded": _at("stats", "nodes_expanded"),
    "generated": _at("stats", "nodes_generated"),
    "kept": _at("stats", "nodes_kept"),
    STATES: _total("stats", "states"),
    "trapped": _length("stats", "trapped"),
    "networks": _at("count", "listed"),
    "counted": _at("count", "networks"),
    "log_weight": _log_weight,
    WIDEST: _widest,
    "best_probability": _at("posterior", "network", "probability"),
    "drawn": _at("posterior", "sampled"),
    "sum_seconds": _at("stats", "stages", "sums", "seconds"),
}
BYTES, SECONDS = ("memory", "search_memory", "disk"), ("seconds", "cpu_seconds", "sum_seconds")


def figure(name: str, document: Document) -> Value:
    """The figure of this name, or at the end of this way, such as stats.counts.expanded; None if there is none."""
    found = FIGURES[name](document) if name in FIGURES else _at(*name.split("."))(document)
    return _plain(found)


def is_figure(name: str) -> bool:
    """Whether there may be a figure of this name, or at the end of this way."""
    return name in FIGURES or "." in name


def states_of_first(variables: int, document: Document) -> Value:
    """How many states a search under an order visited for the first so many variables of the order."""
    states, order = _at("stats", "states")(document), document.get("order")
    if not isinstance(states, Mapping) or not isinstance(order, list):
        return None
    return _plain(sum(states.get(name, 0) for name in order[:variables]))


def _plain(found: Any) -> Value:
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        return None
    return found if isinstance(found, str) or abs(found) <= MOST else None  # not NaN either
