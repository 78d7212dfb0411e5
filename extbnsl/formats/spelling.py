"""Names and labels of states in the words that a format allows, how they are written otherwise, and CSV as text."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Fits = Callable[[str], object]  # whose truth tells
Change = dict[str, str]


def spelled(
    names: Sequence[str],
    fits_name: Fits,
    states: Sequence[Sequence[str]] | None = None,
    fits_label: Fits = str.isidentifier,
    never: re.Pattern[str] | None = None,
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], tuple[Change, ...]]:
    """How a file that takes what fits spells variables, and their states if it has them, see `words`; and what it does
    not spell as the originals: {"variable": as written, "name": original} for a name, and {"variable": as written,
    "state": as written, "label": original} for a label."""
    states = ((),) * len(names) if states is None else states
    written = words(names, fits_name, "X", never)
    labels: list[tuple[str, ...]] = []
    changes: list[Change] = []
    for name, original, row in zip(written, names, states, strict=True):
        labels.append(words(row, fits_label, "s", never))
        if name != original:
            changes.append({"variable": name, "name": original})
        for word, label in zip(labels[-1], row, strict=True):
            if word != label:
                changes.append({"variable": name, "state": word, "label": label})
    return written, tuple(labels), tuple(changes)


def words(originals: Sequence[str], fits: Fits, prefix: str, never: re.Pattern[str] | None = None) -> tuple[str, ...]:
    """Distinct words for distinct `originals`: those that fit stay, in the others odd characters become '_'.

    `prefix` stands before a word that needs another beginning, and must fit with digits and '_' behind it; what matches
    `never` is left out of such a word. O(length of all), unless many of the words are the same.
    """
    taken = set(filter(fits, originals))
    last: dict[str, int] = {}  # by stem, the number of its last word
    written = []
    for original in originals:
        word = original
        if word not in taken:
            stem = _stem(original, fits, prefix, never)
            number = last.get(stem, 0) + 1
            while (word := stem if number == 1 else f"{stem}_{number}") in taken:
                number += 1
            last[stem] = number
            taken.add(word)
        written.append(word)
    return tuple(written)


def _stem(original: str, fits: Fits, prefix: str, never: re.Pattern[str] | None) -> str:
    stem = re.sub(r"[^A-Za-z0-9]", "_", original)
    if fits(stem):
        return stem
    stem = f"{prefix}_{stem if never is None else never.sub('', stem)}"
    return stem if fits(stem) else prefix


_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the beginning of one (OWASP: CSV injection)


def csv_text(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A header and rows: texts, numbers in full, None as nothing.

    A text that a spreadsheet would run as a formula has an apostrophe before it, as spreadsheets themselves write one
    that is none. A field that would end early is in quotes.
    """
    return "".join(",".join(map(_field, row)) + "\n" for row in (head, *rows))


def as_text(text: str) -> str:
    """A text as a table in CSV has it, but for quotes around it."""
    formula = len(text) > 1 and text.startswith(_FORMULA) and not is_number(text)
    return f"'{text}" if formula else text


def _field(value: Any) -> str:
    text = "" if value is None else as_text(str(value))
    # the csv module leaves carriage returns without quotes
    return '"' + text.replace('"', '""') + '"' if any(end in text for end in ',"\r\n') else text


def is_number(text: str) -> bool:
    """Whether a text reads as a float (nan and inf included)."""
    try:
        float(text)
    except ValueError:
        return False
    return True
