"""Names and labels of states in the words that a format allows, how they are written otherwise, and CSV as text."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
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
    """Distinct words for distinct `originals`: those that fit stay, the others become similar ones, see `_stem`.

    `prefix` stands before a word that needs another beginning, and must fit with digits and '_' behind it; what matches
    `never` is left out of such a word. O(length of all), unless many of the words are the same.
    """
    taken = set(filter(fits, originals))
    last: dict[str, int] = {}  # by stem, the number of its last word
    written = []
    for place, original in enumerate(originals, 1):
        word = original
        if word not in taken:
            stem = _stem(original, fits, prefix, never) or f"{prefix}{place}"
            number = last.get(stem, 0) + 1
            while (word := stem if number == 1 else f"{stem}_{number}") in taken:
                number += 1
            last[stem] = number
            taken.add(word)
        written.append(word)
    return tuple(written)


def _stem(original: str, fits: Fits, prefix: str, never: re.Pattern[str] | None) -> str:
    """A word that fits and reads as the original does: intervals in words, letters as those of the Latin alphabet, '_'
    for all other characters; nothing if no letter or digit is left."""
    text = _in_ascii(_interval(original))
    if not any(map(str.isalnum, text)):
        return ""
    if fits(text):
        return text
    stem = re.sub(r"[^A-Za-z0-9]", "_", _SIGN.sub(lambda sign: _SIGNS[sign[0]], text))
    if fits(stem):
        return stem
    stem = f"{prefix}_{stem if never is None else never.sub('', stem)}"
    return stem if fits(stem) else prefix


_BOUND = re.compile(r"\s*(<=|>=|<|>|≤|≥)\s*(.*)", re.DOTALL)
_INTERVAL = re.compile(r"\s*([\[(\]])\s*([^\[\](),;]+)[,;]\s*([^\[\](),;]+)([\])\[])\s*")
_BOUNDS = {"<=": "le", "≤": "le", "<": "lt", ">=": "ge", "≥": "ge", ">": "gt"}
_LEAST = {"[": "ge", "(": "gt", "]": "gt"}
_MOST = {"]": "le", ")": "lt", "[": "lt"}
_ENDLESS = re.compile(r"[+-]?(?:inf|infinity|∞)", re.IGNORECASE)
_SIGN = re.compile(r"(?:(?<![A-Za-z0-9_])|(?<=le)|(?<=lt)|(?<=ge)|(?<=gt)|(?<=\de))[+-](?=\.?\d)")
_SIGNS = {"-": "minus", "+": "plus"}


def _interval(label: str) -> str:
    """An interval in words: `<=55` is le55, `(55,67]` is gt55_le67, `>67` is gt67; what is none stays."""
    if bound := _BOUND.fullmatch(label):
        return f"{_BOUNDS[bound[1]]}{bound[2]}"
    if (interval := _INTERVAL.fullmatch(label)) is None:
        return label
    least, most = interval[2].strip(), interval[3].strip()
    ends = [
        *([] if _ENDLESS.fullmatch(least) else [f"{_LEAST[interval[1]]}{least}"]),
        *([] if _ENDLESS.fullmatch(most) else [f"{_MOST[interval[4]]}{most}"]),
    ]
    return "_".join(ends) or label


_LETTER = re.compile(r"(?:LATIN|GREEK) (SMALL|CAPITAL) (?:LETTER|LIGATURE) (?:FINAL |DOTLESS )?(\w+)(?: WITH .*)?")


def _in_ascii(text: str) -> str:
    """A text with the letters of ASCII that Unicode names for others, without marks on them: é is e, ø is o, ß is ss,
    β is beta; all else that is not ASCII is '_'."""
    if text.isascii():
        return text
    import unicodedata  # most names need it not

    letters = []
    for character in unicodedata.normalize("NFKD", text):
        letter = _LETTER.fullmatch(unicodedata.name(character, ""))
        if character.casefold().isascii():
            letters.append(character if character.isascii() else character.casefold())
        elif letter is not None:
            letters.append(letter[2].lower() if letter[1] == "SMALL" else letter[2].capitalize())
        elif not unicodedata.combining(character):
            letters.append("_")
    return "".join(letters)


def names_file(path: Path) -> Path:
    """The file that tells what the names and states in an exported file were."""
    return path.with_name(f"{path.name}.names.json")


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
