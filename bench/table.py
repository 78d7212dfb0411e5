"""Rows of figures as text: aligned tables, CSV, and ratios to an earlier run."""

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from bench.measure import STAGES, Row

SHOWN = ("scores", "incumbent", "bounds", "search")  # stages with a column of their own
COMPARED = ("cpu_seconds", "wall_seconds", *(f"{s}_cpu_seconds" for s in SHOWN), "nodes_generated", "peak_rss_bytes")
SMALLEST = 0.005  # seconds below which a ratio would be noise


def seconds_table(rows: Sequence[Row]) -> str:
    """CPU / wall seconds per data set and stage, and the CPU seconds over those of the reference loop."""
    head = ["data", "n", "status", "cost", "known?", *STAGES, "all", "/ reference"]
    return aligned([head, *(_seconds_line(row) for row in rows)])


def counts_table(rows: Sequence[Row]) -> str:
    """What was counted, kept, expanded and generated per data set, and the memory that it took."""
    head = ["data", "varsets", "parent sets", "expanded", "generated", "kept", "ns/generated", "peak layer", "peak RSS"]
    return aligned([head, *(_counts_line(row) for row in rows)])


def _seconds_line(row: Row) -> list[str]:
    known = {None: "-", True: "yes", False: "NO"}[row["matches"]]
    stages = [_pair(row.get(f"{s}_cpu_seconds"), row.get(f"{s}_wall_seconds")) for s in STAGES]
    cost = f"{row['cost']:.6f}" if "cost" in row else "-"
    everything = _pair(row["cpu_seconds"], row["wall_seconds"])
    ratio = f"{row['cpu_per_reference']:.1f}"
    return [row["data"], str(row.get("variables", "-")), row["status"], cost, known, *stages, everything, ratio]


def _counts_line(row: Row) -> list[str]:
    if "nodes_kept" not in row:
        return [row["data"], *["-"] * 8]
    each = row["ns_per_generated"]
    counts = ("varsets_counted", "parent_sets", "nodes_expanded", "nodes_generated", "nodes_kept")
    return [
        row["data"],
        *(f"{row[key]:,}" for key in counts),
        "-" if each is None else f"{each:.1f}",
        f"{row['peak_layer']:,}",
        f"{row['peak_rss_bytes'] / 2**20:.0f} MiB",
    ]


def _pair(cpu: float | None, wall: float | None) -> str:
    return "-" if cpu is None or wall is None else f"{cpu:.2f} / {wall:.2f}"


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, the first to the left and the others to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in lines
    )


def csv_text(rows: Sequence[Row]) -> str:
    """The rows as CSV with a header; what a row lacks is empty."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, keys, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def ratios(new: Row, old: Row) -> dict[str, float]:
    """new / old of every compared figure that both rows have and that is not too small to mean anything."""
    found = {}
    for key in COMPARED:
        floor = SMALLEST if key.endswith("seconds") else 0
        after, before = new.get(key), old.get(key)
        if after is not None and before is not None and min(after, before) > floor:
            found[key] = after / before
    return found


def comparison(new: Sequence[Row], old: Sequence[Row]) -> str:
    """The ratios of every data set that both runs have, and their geometric means."""
    before = {row["data"]: row for row in old}
    found = {row["data"]: ratios(row, before[row["data"]]) for row in new if row["data"] in before}
    means = {key: geometric_mean([r[key] for r in found.values() if key in r]) for key in COMPARED}
    head = ["new / old", *(key.removesuffix("_seconds").replace("_", " ") for key in COMPARED)]
    lines: list[list[str]] = [[name, *map(_ratio, (r.get(key) for key in COMPARED))] for name, r in found.items()]
    return aligned([head, *lines, ["geometric mean", *map(_ratio, means.values())]])


def geometric_mean(values: Sequence[float]) -> float | None:
    """The geometric mean of positive values; None if there are none."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None


def _ratio(value: Any) -> str:
    return "-" if value is None else f"{value:.2f}"
