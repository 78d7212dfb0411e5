"""Tables in CSV that a spreadsheet shows as they are meant."""

from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the beginning of one (OWASP: CSV injection)


def csv_text(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A header and rows: texts, numbers in full, None as nothing.

    A text that a spreadsheet would run as a formula has an apostrophe before it, as spreadsheets themselves write one
    that is none. A field that would end early is in quotes.
    """
    return "".join(",".join(map(_field, row)) + "\n" for row in (head, *rows))


def as_text(text: str) -> str:
    """A text as a table in CSV has it, but for quotes around it."""
    formula = len(text) > 1 and text.startswith(_FORMULA) and not _is_number(text)
    return f"'{text}" if formula else text


def _field(value: Any) -> str:
    text = "" if value is None else as_text(str(value))
    # the csv module leaves carriage returns without quotes
    return '"' + text.replace('"', '""') + '"' if any(end in text for end in ',"\r\n') else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
