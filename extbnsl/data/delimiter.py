"""What separates the fields of a delimited text."""

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice

from extbnsl.errors import InputError

# In order of preference: a text with tabs or semicolons in every row has its commas inside fields.
STRONG = ("\t", ";", "|", ",")
SPELLED = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
NumberedRow = tuple[list[str], int]  # with the number of its last line
SAMPLE_ROWS = 50
SAMPLE_CHARACTERS = 1 << 20
_BLANKS_OR_QUOTED = re.compile(r'("[^"\r\n]*")|[ \t]+')


def given_delimiter(text: str) -> str:
    """The delimiter that --delimiter names: one character, or a name in SPELLED; else InputError."""
    delimiter = SPELLED.get(text, text)
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise InputError(f"--delimiter {text!r} cannot separate fields: give one character, such as , or ; or \\t.")
    return delimiter


def sniff_delimiter(text: str) -> str:
    """The delimiter of `text`, from its first SAMPLE_ROWS rows (SAMPLE_CHARACTERS at most).

    The first of tab, semicolon, bar and comma that gives all these rows the same number of fields, more than
    one; else, where the rows are ragged, the one of them that divides the first row most. If none is in the
    first row: runs of spaces, if most rows have as many fields as the first, more than one; else the text is
    one column (",").
    """
    head = text[:SAMPLE_CHARACTERS]
    if len(head) < len(text):
        head = head[: max(head.rfind("\n"), head.rfind("\r")) + 1] or head
    widths = {delimiter: _widths(head, delimiter) for delimiter in STRONG}
    for delimiter, counts in widths.items():
        if counts and counts[0] > 1 and len(set(counts)) == 1:
            return delimiter
    first = {delimiter: counts[0] for delimiter, counts in widths.items() if counts}
    if any(count > 1 for count in first.values()):
        return max(first, key=lambda delimiter: first[delimiter])
    spaced = _widths(head, " ")
    if spaced and spaced[0] > 1 and spaced.count(spaced[0]) * 2 > len(spaced):
        return " "
    return ","


def numbered_rows(text: str, delimiter: str, source: str) -> Iterator[NumberedRow]:
    """The rows of `text`; a blank line is a row of one empty field.

    A field in double quotes may hold delimiters, line ends, and quotes doubled; quotes that are not closed,
    or closed within a field, are an InputError with the line.
    """
    reader = csv.reader(_lines(text, delimiter), delimiter=delimiter, strict=True, skipinitialspace=delimiter != " ")
    try:
        for row in reader:
            yield row or [""], reader.line_num
    except csv.Error as error:
        raise InputError(f"{source}, line {reader.line_num}: {error}: correct the quotes there.") from None


def _lines(text: str, delimiter: str) -> Iterator[str]:
    """The lines of `text`; if the delimiter is a space, with each run of blanks as one space."""
    # Not a StringIO, which takes four bytes for a character.
    stream = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", newline="")
    return (_squeezed(line) for line in stream) if delimiter == " " else stream


def _squeezed(line: str) -> str:
    if '"' not in line:
        return " ".join(line.split())
    return _BLANKS_OR_QUOTED.sub(lambda match: match[1] or " ", line.strip(" \t\r\n"))


def _widths(text: str, delimiter: str) -> list[int]:
    """The number of fields of each of the first rows that are not blank; none if they cannot be parsed."""
    rows = (row for row, _ in numbered_rows(text, delimiter, "") if row != [""])
    try:
        return [len(row) for row in islice(rows, SAMPLE_ROWS)]
    except InputError:
        return []
