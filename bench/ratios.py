"""Ratios to the reference step in a file, by the names of the benchmarks, and what is slower than they say."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

COMMITTED = Path(__file__).with_name("ratios.json")
DIGITS = 3
FACTOR = 1.5  # times the ratio in the file, from which on a kernel is slower


def read_ratios(path: Path) -> dict[str, float]:
    """The ratios in a file; none if there is no file."""
    return dict(json.loads(path.read_text())) if path.exists() else {}


def save_ratios(found: Mapping[str, float], names: Collection[str], path: Path) -> None:
    """Let a file have what was found, sorted, and what it had of the other benchmarks with these names."""
    kept = {name: ratio for name, ratio in read_ratios(path).items() if name in names}
    rounded = {name: float(f"{ratio:.{DIGITS}g}") for name, ratio in found.items()}
    path.write_text(json.dumps(kept | rounded, indent=2, sort_keys=True) + "\n")


def slower(found: Mapping[str, float], known: Mapping[str, float], factor: float) -> list[str]:
    """The names of those found that are more than so many times what is known; what is new is none of them."""
    return [name for name, ratio in found.items() if name in known and ratio > factor * known[name]]
