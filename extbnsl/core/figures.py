"""How counts, times, costs and gaps are written for people, and lines that a terminal has room for."""

import math
import re
import textwrap
from collections.abc import Mapping
from typing import TextIO

WIDTH = 80  # of a terminal, at least
HELD = "\1"  # a blank at which no line is to end
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:s|min|h|days|years|nats)\b)")
_COUNT_UNITS = ((1e3, "k"), (1e6, "M"), (1e9, "G"))
_TITLES = {"kernels": "code", "incumbent": "network"}  # of stages whose names are no words for people
_LEAST_IN_FULL = 1e-3  # share that is written without an exponent


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun, such as '1 node' or '311.2M nodes'."""
    return f"{format_count(count)} {noun if count == 1 else plural or noun + 's'}"


def in_full(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun and all of its digits, such as '1 record' or '311,204,117 records'."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def format_size(size: float) -> str:
    """A size for people, such as '7.8GiB'; bytes below 1 KiB are exact."""
    if size < 1024:
        return f"{size:.0f}B"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 999.95:
            return f"{size:.1f}{unit}"
    return f"{size / 1024:.1f}TiB"


def format_count(count: float) -> str:
    """A count for people: exact below 100,000, then such as '311.2M' or '3.57G'."""
    if count < 100_000:
        return f"{count:,.0f}"
    size, unit = next(((s, u) for s, u in _COUNT_UNITS if count < 999.95 * s), (1e12, "T"))
    return f"{count / size:.2f}{unit}" if count < 9.995 * size else f"{count / size:.1f}{unit}"


def format_time(seconds: float) -> str:
    """Hours, minutes and seconds, such as '0:00:41'."""
    minutes, second = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{second:02}"


def format_cost(cost: float, decimals: int = 3) -> str:
    """A cost in nats, such as '6602.118'; a dash if it is not finite, and never '-0.000'."""
    return f"{round(cost, decimals) + 0.0:.{decimals}f}" if math.isfinite(cost) else "-"


def format_gap(lower_bound: float, upper_bound: float) -> str:
    """The gap as a share of the upper bound, or of a nat if that is more, such as '0.20%'; a dash without bounds."""
    if not (math.isfinite(lower_bound) and math.isfinite(upper_bound)):
        return "-"
    return f"{max(0.0, upper_bound - lower_bound) / max(abs(upper_bound), 1.0):.2%}"


def format_share(share: float) -> str:
    """A share for people, such as '0.3314' or '3.35e-05'."""
    return f"{share:.4f}" if share >= _LEAST_IN_FULL else f"{share:.2e}"


def stage_title(stage: str) -> str:
    """What a stage is called."""
    return _TITLES.get(stage, stage)


def held_of_all(of_all: Mapping[str, float] | None) -> str:
    """A clause about what 'they', some of the networks there are, have of the probability of all of them: at_least and
    at_most, None if that is not known."""
    whole = "of the posterior probability of all networks"
    if of_all is None:
        return f"what they hold {whole} is not known"
    return f"they hold {share_between(of_all['at_least'], of_all['at_most'])} {whole}"


def share_between(at_least: float, at_most: float) -> str:
    """Between which values a share lies, for people; one figure if they are as good as the same."""
    low, high = format_share(at_least), format_share(at_most)
    return low if low == high else f"between {low} and {high}"


def wrapped(line: str, indent: int = 2) -> str:
    """A line of at most WIDTH columns, or several, all but the first indented. None ends at a blank that is HELD, or
    between a figure and its unit."""
    held = _BEFORE_UNIT.sub(HELD, line)
    filled = textwrap.fill(held, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return filled.replace(HELD, " ")


def fitted(sentence: str, stream: TextIO, indent: int = 2) -> str:
    """The sentence in lines, all but the first indented, if people see it on a terminal; in one line where a program
    may look for it."""
    return wrapped(sentence, indent) if stream.isatty() else sentence
