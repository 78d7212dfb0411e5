"""A column on its way from a source to a Dataset: distinct texts, and for each record which of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.errors import InputError

# Above this, sums of values could overflow; no data has such numbers, so they count as text.
LARGEST_NUMBER = 1e150
NAMES_SHOWN = 6

Number = int | float


@dataclass(frozen=True)
class Column:
    """`codes[i]` indexes `values`, or is -1 where record i has no value.

    codes is (N,) int32. From a source, `values` may hold a text twice and values that do not occur; after
    `ordered` they are the states that occur, in their order, and `numbers` is their numeric meaning, or
    None if one of them is no number.
    """

    name: str
    values: tuple[str, ...]
    codes: NDArray[np.int32]
    numbers: tuple[Number, ...] | None = None


def number(text: str) -> Number | None:
    """The finite number that `text` writes in decimal, exact if an integer; None if it is no number."""
    try:
        value = float(text)
    except ValueError:
        return None
    # float() takes 1_000, which is a label rather than a number; and a nan fails the comparison.
    if "_" in text or not abs(value) <= LARGEST_NUMBER:
        return None
    return int(text) if text.lstrip("+-").isdigit() else value


def ordered(column: Column) -> Column:
    """The column with the values that occur, sorted: by number if all are numbers, else by code point.

    Texts of the same number ("1", "1.0", "01") are one state then, called by the first of them in code
    point order. O(N + d log d) for d distinct values.
    """
    occurs = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values)) > 0
    present = np.flatnonzero(occurs).tolist()
    texts = [column.values[i] for i in present]
    parsed = _numbers(texts)
    keys: Sequence[Number | str] = texts if parsed is None else parsed
    label: dict[Number | str, str] = {}
    for key, text in zip(keys, texts, strict=True):
        label[key] = min(text, label.get(key, text))
    in_order = sorted(label)  # all numbers, or all texts
    rank = {key: i for i, key in enumerate(in_order)}
    # One entry more, so that the code -1 finds -1.
    new_code = np.full(len(column.values) + 1, -1, dtype=np.int32)
    new_code[present] = [rank[key] for key in keys]
    return Column(
        column.name,
        tuple(label[key] for key in in_order),
        new_code[column.codes],
        None if parsed is None else tuple(in_order),  # type: ignore[arg-type]
    )


def has_fractions(column: Column) -> bool:
    """Whether the states are numbers and not all of them whole."""
    return column.numbers is not None and any(
        isinstance(value, float) and not value.is_integer() for value in column.numbers
    )


def weights(column: Column) -> NDArray[np.int64]:
    """In how many records each value occurs, shape (len(values),)."""
    return np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))


def mean(column: Column, numbers: Sequence[Number]) -> float:
    """The mean over the records that have a value, correctly rounded sum: no order of summation matters."""
    counts = weights(column).tolist()
    return math.fsum(v * w for v, w in zip(numbers, counts, strict=True)) / sum(counts)


def check_names(names: Sequence[str], source: str) -> None:
    """Refuse (InputError) no columns, a column without a name, and names that occur twice."""
    if not names:
        raise InputError(f"{source} has no columns: give at least one variable.")
    if "" in names:
        raise InputError(
            f"{source}: column {list(names).index('') + 1} has no name: name it, or remove it if it only "
            "numbers the records."
        )
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        what = "the name" if len(twice) == 1 else "each of the names"
        raise InputError(
            f"{source}: {what} {listed(twice)} occurs more than once: give every column a name of its own."
        )


def listed(names: Sequence[str]) -> str:
    """The names for a sentence, quoted: "'a', 'b' and 3 more"."""
    shown = [f"'{name}'" for name in names[:NAMES_SHOWN]]
    if len(names) > len(shown):
        return ", ".join(shown) + f" and {len(names) - len(shown)} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def _numbers(texts: Sequence[str]) -> list[Number] | None:
    """The number of each text, or None if there are no texts or one is no number."""
    parsed: list[Number] = []
    for text in texts:
        value = number(text)
        if value is None:
            return None
        parsed.append(value)
    return parsed or None
