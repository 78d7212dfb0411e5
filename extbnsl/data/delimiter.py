"""What separates the fields of a delimited text."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from extbnsl.data.text import LONGEST_LINE, too_long
from extbnsl.errors import InputError

# In order of preference: a text with tabs or semicolons in every row has its commas inside fields.
STRONG = ("\t", ";", "|", ",")
ODD = (*STRONG, "^", ":", "~", " ")  # that may separate what looks like one column
SPELLED = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
NumberedRow = tuple[list[str], int]  # with the number of its last line
SAMPLE_ROWS = 50
_BLANKS_OR_QUOTED = re.compile(r'("[^"\r\n]*")|[ \t]+')


def given_delimiter(text: str) -> str:
    """The delimiter that --delimiter names: one character, or a name in SPELLED; else InputError."""
    delimiter = SPELLED.get(text, text)
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise InputError(f"--delimiter {text!r} cannot separate fields: give one character, such as , or ; or \\t.")
    return delimiter


def called(delimiter: str) -> str:
    """What people call a delimiter, such as 'comma'."""
    return next((name for name, one in SPELLED.items() if one == delimiter and name.isalpha()), repr(delimiter))


def sniff_delimiter(head: bytes) -> str:
    """The delimiter of a text that begins with the lines `head`, from its first SAMPLE_ROWS rows.

    The first of tab, semicolon, bar and comma that gives all these rows the same number of fields, more than
    one; else, where the rows are ragged, the one of them that divides the first row most. If none is in the
    first row: runs of spaces, if most rows have as many fields as the first, more than one, or all of them one field
    more, as where row names have no name; else the text is one column (",").
    """
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
    quoted = head.lstrip().startswith(b'"')
    lacking = len(spaced) > 2 and spaced[0] + quoted > 1 and set(spaced[1:]) == {spaced[0] + 1}
    return " " if lacking else ","


def other_delimiter(head: bytes, delimiter: str) -> str | None:
    """A character, not `delimiter`, that divides each of the first rows into as many fields, more than one, if any."""
    for other in ODD:
        widths = _widths(head, other) if other != delimiter else []
        if len(widths) > 1 and widths[0] > 1 and len(set(widths)) == 1:
            return other
    return None


def numbered_rows(blocks: Iterable[bytes], delimiter: str, source: str, line: int = 1) -> Iterator[NumberedRow]:
    """The rows of a text that comes in blocks of whole lines, of which the first has the number `line`.

    A blank line is a row of one empty field. A field in double quotes may hold delimiters, line ends, and quotes
    doubled. Raises InputError with the line for quotes that are not closed, or closed within a field, and for a row of
    more than LONGEST_LINE bytes.
    """
    number, taken = line - 1, 0  # of the last line, and characters since the last row

    def lines() -> Iterator[str]:
        nonlocal number, taken
        for text in _lines(blocks):
            number, taken = number + 1, taken + len(text)
            if taken > LONGEST_LINE:
                raise too_long(source, number)
            yield _squeezed(text) if delimiter == " " else text

    reader = csv.reader(lines(), delimiter=delimiter, strict=True, skipinitialspace=delimiter != " ")
    try:
        for row in reader:
            taken = 0
            yield row or [""], number
    except csv.Error as error:
        raise InputError(f"{source}, line {number}: {error}: correct the quotes there.") from None


def _lines(blocks: Iterable[bytes]) -> Iterator[str]:
    """The lines of the blocks, with their line ends."""
    for block in blocks:
        yield from io.StringIO(block.decode(), newline="")


def _squeezed(line: str) -> str:
    if '"' not in line:
        return " ".join(line.split())
    return _BLANKS_OR_QUOTED.sub(lambda match: match[1] or " ", line.strip(" \t\r\n"))


def _widths(head: bytes, delimiter: str) -> list[int]:
    """The number of fields of each of the first rows that are not blank; none if they cannot be parsed."""
    rows = islice(numbered_rows([head.lstrip(b" \r\n")], delimiter, ""), SAMPLE_ROWS)
    try:
        return [len(row) for row, _ in rows if row != [""]]
    except InputError:
        return []
