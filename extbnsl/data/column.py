"""A column on its way from a source to a Dataset: distinct texts, and for each record which of them."""

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import NAMES_SHOWN, dropped
from extbnsl.data.dataset import LARGEST_NUMBER

States = int | tuple[str, ...]  # declared of a column: how many, or their names in their order
LARGEST_ARITY = 65_535  # codes are uint16, and a state for missing values may come on top
PIECE = 1 << 16  # codes looked up at a time: numpy makes eight bytes of each for that

LOOKED_AT = 256  # values that show whether a column of texts may have numbers
_DIGIT = re.compile(r"\d")

# From here on a float cannot tell neighbouring integers apart.
LARGEST_EXACT = 2**53


@dataclass(frozen=True)
class Column:
    """`codes[i]` indexes `values`, or is -1 where record i has no value.

    codes is (N,), of the narrowest signed integers that hold them. From a source, `values` may hold a text twice and
    values that do not occur; after `ordered` they are the d states that occur, in their order, and `numbers`, (d,)
    float64, is their numeric meaning, or None if one of them is no number. Before that `numbers` is what the values are
    taken for, infinite ones among them, where the texts do not say it. levels: whether the values are all states
    that there are, in the order that they are to have, each of them once.
    """

    name: str
    values: tuple[str, ...]
    codes: NDArray[Any]
    numbers: NDArray[np.float64] | None = None
    levels: bool = False


def column_of_texts(name: str, texts: Iterable[str | None]) -> Column:
    """The column of the texts of its records, None where there is no value."""
    place: defaultdict[str | None, int] = defaultdict()
    place.default_factory = place.__len__
    place[None] = 0
    codes = np.fromiter(map(place.__getitem__, texts), np.int32) - 1
    return Column(
        name, canonical([text for text in place if text is not None]), codes.astype(narrowest(len(place) - 1))
    )


def column_of_levels(name: str, levels: Iterable[Any], codes: NDArray[Any], source: str, called: str) -> Column:
    """The column of levels that are all its states, and codes, -1 where there is no value; InputError if two levels,
    which are `called` so, have the same text."""
    texts = canonical(list(map(str, levels)))
    if len(set(texts)) < len(texts):
        raise InputError(f"{source}: column '{name}' has two {called} with the same text: rename one of them.")
    return Column(name, texts, codes.astype(narrowest(len(texts))), levels=True)


def column_of_numbers(name: str, values: NDArray[Any], source: str) -> Column:
    """The column of a 1-D array of booleans, integers or floats; infinity is an InputError.

    Its texts are the shortest decimals of the dtype, without ".0" where they are whole.
    """
    if values.dtype.kind == "f" and bool(np.isinf(values).any()):
        raise InputError(f"{source}: column '{name}' has an infinite value: remove or replace it.")
    distinct, codes = np.unique(values, return_inverse=True)
    texts: list[str] = distinct.astype(str).tolist()
    if values.dtype.kind == "f":
        for i in np.flatnonzero(distinct == np.trunc(distinct)).tolist():
            texts[i] = str(int(distinct[i]))
    return Column(name, tuple(texts), codes.astype(narrowest(len(texts))))


def canonical(texts: Sequence[str]) -> tuple[str, ...]:
    """The texts with each character spelled in one way (Unicode's NFC): what looks and means the same is equal then."""
    if all(map(str.isascii, texts)):
        return tuple(texts)
    return tuple(unicodedata.normalize("NFC", text) for text in texts)


def check_lengths(columns: Sequence[Column], source: str) -> None:
    """Refuse (InputError) columns of different lengths."""
    lengths = {len(column.codes) for column in columns}
    if len(lengths) > 1:
        raise InputError(f"{source} has columns of {min(lengths)} to {max(lengths)} values: make them equally long.")


def narrowest(values: int) -> np.dtype[Any]:
    """The narrowest signed integers that hold -1 and the codes of so many values."""
    return np.dtype(np.min_scalar_type(-max(1, values)))


def recoded(
    column: Column, new_code: ArrayLike, values: Iterable[str], numbers: NDArray[np.float64] | None = None
) -> Column:
    """The column with these values, and their `numbers`: records with value i get the code new_code[i], those without a
    value have none."""
    new_codes = np.append(np.asarray(new_code, np.int32), np.int32(-1))  # which the code -1 finds at the end
    codes = np.empty(len(column.codes), narrowest(int(new_codes.max()) + 1))
    for start in range(0, len(codes), PIECE):
        codes[start : start + PIECE] = new_codes[column.codes[start : start + PIECE]]
    return Column(column.name, tuple(values), codes, numbers)


def numbers_of(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """The finite numbers that `texts` write in decimal; None if there are no texts or one is no number."""
    try:
        numbers = np.array(list(map(float, texts)), dtype=np.float64)
    except ValueError:
        return None
    # A nan fails the comparison; and float() takes 1_000, which is a label rather than a number.
    usable = bool((np.abs(numbers) <= LARGEST_NUMBER).all()) and "_" not in "".join(texts)
    return numbers if usable and texts else None


def ordered(column: Column) -> Column:
    """The column with the values that occur, sorted: by number if all are numbers, else by code point; levels as they
    are.

    Texts of the same number ("1", "1.0", "01") are one state then, called by the first of them in code
    point order. O(N + d log d) for d distinct values.
    """
    if column.levels:
        return column
    present = np.flatnonzero(weights(column))
    own = np.array(column.values, dtype=object)[present]
    texts: list[str] = own.tolist()
    numbers = numbers_of(texts) if column.numbers is None else column.numbers[present]
    keys = own if numbers is None else _exact(numbers, texts)
    _, first, rank = np.unique(keys, return_index=True, return_inverse=True)
    new_code = np.full(len(column.values), -1)
    new_code[present] = rank
    labels: list[str] = own[first].tolist()
    for text, state in zip(texts, rank.tolist(), strict=True):
        if text < labels[state]:
            labels[state] = text
    return recoded(column, new_code, labels, None if numbers is None else numbers[first])


def has_digits(column: Column) -> bool:
    """Whether some of the first values have digits: those of an `ordered` column of texts may be numbers then."""
    return any(map(_DIGIT.search, column.values[:LOOKED_AT]))


def has_fractions(column: Column) -> bool:
    """Whether the states are numbers and not all of them whole."""
    return column.numbers is not None and bool((column.numbers != np.trunc(column.numbers)).any())


def weights(column: Column) -> NDArray[np.int64]:
    """In how many records each value occurs, shape (len(values),) int64."""
    counts = np.zeros(len(column.values), dtype=np.int64)
    for start in range(0, len(column.codes), PIECE):
        codes = column.codes[start : start + PIECE]
        counts += np.bincount(codes[codes >= 0], minlength=counts.size)
    return counts


def unseen(column: Column) -> list[str]:
    """The values that no record has."""
    return [column.values[i] for i in np.flatnonzero(weights(column) == 0).tolist()]


def mean(column: Column, numbers: NDArray[np.float64]) -> float:
    """The mean, over the records that have a value, of the number of their state.

    The sum is rounded once, so that the order of summation does not matter.
    """
    counts = weights(column)
    return math.fsum((numbers * counts).tolist()) / int(counts.sum())


def clean_name(text: str) -> str:
    """A column's name as it is used: each run of white space, line breaks too, is one space, and characters are
    `canonical`."""
    return canonical([" ".join(text.split())])[0]


def check_names(names: Sequence[str], source: str) -> None:
    """Refuse (InputError) no columns, a column without a name, and names that occur twice."""
    if not names:
        raise InputError(f"{source} has no columns: give at least one variable.")
    if "" in names:
        what = f"{source}: column {list(names).index('') + 1} has no name"
        raise InputError(what, names=[""], advice=("name it, or leave it out", dropped([""])))
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


def _exact(numbers: NDArray[np.float64], texts: Sequence[str]) -> NDArray[Any]:
    """Keys that compare as the numbers do: the numbers, with large integers as Python's."""
    if np.abs(numbers).max() < LARGEST_EXACT:
        return numbers
    whole = [text.lstrip("+-").isdigit() for text in texts]
    pairs = zip(numbers.tolist(), texts, whole, strict=True)
    return np.array([int(text) if is_whole else value for value, text, is_whole in pairs], dtype=object)
