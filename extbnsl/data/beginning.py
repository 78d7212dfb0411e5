"""How a delimited text begins: the character between its columns, lines before its rows that only tell of them, and a
first row that has no name for the column of row names.
"""

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from extbnsl.core.errors import InputError
from extbnsl.core.figures import counted
from extbnsl.core.sentences import Mention, asking
from extbnsl.data.column import numbers_of
from extbnsl.data.text import MARKS, Lines, NumberedRow, numbered_rows

# In order of preference: a text with tabs or semicolons in every row has its commas inside fields.
STRONG = ("\t", ";", "|", ",")
ODD = (*STRONG, "^", ":", "~", " ")  # that may separate what looks like one column
CALLED = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "pipe", " ": "space"}
SPELLED = {"\\t": "\t", **dict(zip(CALLED.values(), CALLED, strict=True))}
SAMPLE_ROWS = 50
FEW_ROWS = 3  # that are numbered before one word over two columns is taken for the name of the second
WIDTHS_SHOWN = 5
TEXT_SHOWN = 40  # characters of a line

_BLANK = re.compile(rb"(?:[ \t]*(?:\r\n|\n|\r))*")
_MARKED = re.compile(rb"(?:[ \t]*(?:(?:%s)[^\r\n]*)?(?:\r\n|\n|\r))*" % "|".join(map(re.escape, MARKS)).encode())
# Excel takes the delimiter from such a first line.
_ANNOUNCED = re.compile(rb'"?sep=(\\t|[^"\r\n0-9A-Za-z])"?[ \t]*(?:\r\n|\n|\r)', re.IGNORECASE)
_KEY_AND_VALUE = re.compile(r"\s*(?:\[.*\]\s*$|([A-Za-z_][\w .-]*?)\s*(?:=|:\s)\s*\S)")


class Beginning(NamedTuple):
    """How a text begins.

    delimiter: what separates its fields.
    head: its first block, from the first row on.
    lacking: whether the first row had one field less than all others, as R writes names of columns beside names of
        rows; it begins with an empty one now.
    """

    delimiter: str
    head: bytes
    lacking: bool = False


def beginning(head: bytes, given: str | None, header: bool | None, lines: Lines) -> Beginning:
    """How a text begins whose first block, of whole lines, is `head`.

    given, header: the delimiter, and whether the first row has names, where the user says so. `lines` is told of lines
    that are left out: blank ones, `sep=;`, and those that begin with one of MARKS; but the last of these is the first
    row if it has as many fields as the rows. Raises InputError if other lines stand before the rows, or if the text is
    no table. O(bytes of SAMPLE_ROWS rows).
    """
    announced = None if lines.settled else _ANNOUNCED.match(head)
    start = announced.end() if announced else 0
    end = _start_of_rows(head, start, lines.settled)
    said = announced[1].decode() if announced else ""
    delimiter = given or SPELLED.get(said, said) or _sniffed(head[end:], lines)
    rows = _sampled(head[end:], delimiter)
    names = b"" if header is False else _names_with_a_mark(head[start:end], delimiter, rows)
    end -= len(names)
    lines.leave_out_first(len(head[:end].splitlines()))
    head = head[end:]
    if names and len(_sampled(names, delimiter)[0][0]) > len(rows[0][0]):  # the mark is a field of its own
        return Beginning(delimiter, head.lstrip().partition(b" ")[2])
    if header is not False and not names and _lacks_one(rows, head):
        return Beginning(delimiter, (b'"" ' if delimiter == " " else delimiter.encode()) + head, lacking=True)
    if _ends_in_vain(rows):
        return Beginning(delimiter, _without_last_delimiter(head, delimiter))
    before = 0 if names or lines.settled else _before(rows, delimiter)
    if before and not rows[before - 1][0][0].startswith(MARKS):  # parsing tells of a line among the rows
        raise _are_no_rows(rows[: before + 1], lines)
    return Beginning(delimiter, head)


def given_delimiter(text: str) -> str:
    """The delimiter that --delimiter names: one character, or a name in SPELLED; else InputError."""
    delimiter = SPELLED.get(text, text)
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise InputError(
            Mention("delimiter"), f" {text!r} cannot separate fields: give one character, such as , or ; or \\t."
        )
    return delimiter


def other_delimiter(head: bytes, delimiter: str) -> str | None:
    """A character, not `delimiter`, that divides each of the first rows into as many fields, more than one, if any."""
    for other in ODD:
        widths = _widths(_sampled(head, other)) if other != delimiter else []
        if len(widths) > 1 and widths[0] > 1 and len(set(widths)) == 1:
            return other
    return None


def _start_of_rows(head: bytes, start: int, all_are_rows: bool) -> int:
    """Where the first line from `start` on begins that is not blank and has no mark; marks do not count where all lines
    are rows, or where no line is without one."""
    blank, marked = (next(pattern.finditer(head, start)).end() for pattern in (_BLANK, _MARKED))
    return marked if not all_are_rows and head[marked:].strip() else blank


def _names_with_a_mark(marked: bytes, delimiter: str, rows: Sequence[NumberedRow]) -> bytes:
    """The last of the marked lines, with what is behind it, if it names the columns of these rows; else nothing."""
    body = marked.rstrip()
    names = marked[max(body.rfind(b"\n"), body.rfind(b"\r")) + 1 :]
    if not body or not rows:
        return b""
    first, fields = rows[0][0], (_sampled(names, delimiter) or [([], 0)])[0][0]
    numbers = numbers_of(first) is not None
    if len(fields) == len(first):
        return names if len(first) > 1 or numbers else b""
    # As numpy.savetxt writes names. Over a row that may be names itself, the line may as well be prose.
    return names if delimiter == " " and len(fields) == len(first) + 1 and fields[0] in MARKS and numbers else b""


def _sniffed(head: bytes, lines: Lines) -> str:
    """The delimiter of a text that begins with the rows `head`, from its first SAMPLE_ROWS rows.

    The first of tab, semicolon, bar and comma that gives all these rows the same number of fields, more than one; else
    the first, spaces too, that gives the first row one field less than all others; else the first that gives the same
    number to all from some row on; else the one that gives more than one to most rows. Else runs of spaces, if most
    rows have as many fields as the first, more than one. Else the text is one column (","). Raises InputError if it is
    no table.
    """
    samples = {}
    for delimiter in STRONG:
        rows = samples[delimiter] = _sampled(head, delimiter)
        if len(set(_widths(rows))) == 1 and len(rows[0][0]) > 1:
            return delimiter
    spaced = _sampled(head, " ")
    for delimiter, rows in {**samples, " ": spaced}.items():
        if _lacks_one(rows, head):
            return delimiter
    for delimiter, rows in samples.items():
        if _before(rows, delimiter):
            return delimiter
    usual = {delimiter: _usual_width(_widths(rows)) for delimiter, rows in samples.items()}
    if max(usual.values()) > 1:
        return max(usual, key=lambda delimiter: usual[delimiter])
    widths = _widths(spaced)
    if _are_keys_and_values(head):
        raise _no_table("it has a name and a value in each line", head, lines)
    if widths and widths[0] > 1 and widths.count(widths[0]) * 2 > len(widths):
        return " "
    if _before(spaced, " "):
        return " "
    ragged = {delimiter: _widths(rows) for delimiter, rows in samples.items() if rows and not usual[delimiter]}
    if ragged:
        raise _no_table(_told(max(ragged.values(), key=sum), "fields"), head, lines)
    if _is_prose(spaced):
        raise _no_table(_told(widths, "words"), head, lines)
    return ","


def _sampled(head: bytes, delimiter: str) -> list[NumberedRow]:
    """The first rows that are not blank; none if they cannot be parsed."""
    try:
        rows = numbered_rows([head], delimiter, Lines(""))
        return list(islice((numbered for numbered in rows if numbered[0] != [""]), SAMPLE_ROWS))
    except InputError:
        return []


def _widths(rows: Sequence[NumberedRow]) -> list[int]:
    return [len(row) for row, _ in rows]


def _usual_width(widths: Sequence[int]) -> int:
    """The number of fields that more than half of the rows have; 0 if there is none."""
    return next((width for width in set(widths) if 2 * widths.count(width) > len(widths)), 0)


def _lacks_one(rows: Sequence[NumberedRow], head: bytes) -> bool:
    """Whether the first row has one field less than all others, of which there are two at least.

    A line with a blank one below it is a title, and so may a single word be that is not in quotes, unless it is over
    rows that are numbered.
    """
    widths = _widths(rows)
    if len(widths) < 3 or set(widths[1:]) != {widths[0] + 1} or rows[1][1] > rows[0][1] + 1:
        return False
    return widths[0] > 1 or head.startswith(b'"') or _are_numbered([row[0] for row, _ in rows[1:]])


def _are_numbered(texts: Sequence[str]) -> bool:
    """Whether the texts are 1, 2, 3 and so on, or begin with 0."""
    first = texts[0]
    return len(texts) >= FEW_ROWS and first in "01" and list(texts) == [str(int(first) + i) for i in range(len(texts))]


def _before(rows: Sequence[NumberedRow], delimiter: str) -> int:
    """How many first rows have other numbers of fields than all that follow, which are more than one and agree; or, as
    spreadsheets fill up their titles, a text in the first of three fields or more alone; 0 if there are none.

    Words of a sentence are no fields: spaces separate three or more, or numbers.
    """
    widths = _widths(rows)
    if not widths or widths[-1] == 1:
        return 0
    if len(set(widths)) == 1:
        return _filled_up(rows)
    count = len(widths)
    while count and widths[count - 1] == widths[-1]:
        count -= 1
    following = len(widths) - count
    plain = delimiter != " " or (following > 2 and (widths[-1] > 2 or numbers_of(rows[-1][0]) is not None))
    return count if following > max(1, count) and plain else 0


def _filled_up(rows: Sequence[NumberedRow]) -> int:
    """How many rows, before the first one without an empty field, have texts in the first of three or more alone; or
    texts in some fields, if that row has names over numbers."""
    whole = next((i for i, (row, _) in enumerate(rows) if all(row)), 0)
    titles, below = [row for row, _ in rows[:whole]], [row for row, _ in rows[whole + 1 :]]
    texts = [text for row in titles for text in row if text]
    if not texts or not below or not titles[0][0] or any(numbers_of([text]) is not None for text in texts):
        return 0
    again = {text for row in below for text in row}
    if len(titles[0]) > 2 and not any(any(row[1:]) or row[0] in again for row in titles):
        return whole
    names = rows[whole][0]
    over_numbers = any(numbers_of(column) is not None for column in zip(*below, strict=True))
    return whole if over_numbers and all(numbers_of([name]) is None for name in names) else 0


def _ends_in_vain(rows: Sequence[NumberedRow]) -> bool:
    """Whether a delimiter ends the first row, and no other."""
    widths = _widths(rows)
    return len(widths) > 1 and not rows[0][0][-1] and set(widths[1:]) == {widths[0] - 1}


def _without_last_delimiter(head: bytes, delimiter: str) -> bytes:
    """The text with a first line that does not end with a delimiter."""
    first, *others = head.splitlines(keepends=True)
    body = first.rstrip(b" \r\n")
    return body.removesuffix(delimiter.encode()) + first[len(body) :] + b"".join(others)


def _are_keys_and_values(head: bytes) -> bool:
    """Whether each of the first lines, three at least, has a name of its own and a value, or a heading in brackets."""
    first = [line for line in head.decode().splitlines()[:SAMPLE_ROWS] if line.strip()]
    found = [_KEY_AND_VALUE.match(line) for line in first]
    keys = [match[1] for match in found if match and match[1]]
    return len(keys) > 2 and all(found) and len(set(keys)) == len(keys)


def _is_prose(rows: Sequence[NumberedRow]) -> bool:
    """Whether lines that spaces divide differ in their words and their numbers, so that they are no states."""
    widths = set(_widths(rows))
    different = len({tuple(row) for row, _ in rows[1:]}) == len(rows) - 1 > 0
    return different and (len(widths) > 2 or (len(widths) > 1 and max(widths) > 3))


def _told(widths: Sequence[int], what: str) -> str:
    shown = ", ".join(map(str, widths[:WIDTHS_SHOWN]))
    return f"its first lines have {shown} {what}{' and so on' if len(widths) > WIDTHS_SHOWN else ''}"


def _no_table(why: str, head: bytes, lines: Lines) -> InputError:
    absent = next((other for other in ODD if other.encode() not in head), None)
    alone = (", or ", asking("delimiter", CALLED.get(absent, absent)), " if each line is one value") if absent else ()
    what = f"{lines.source} is no table ({why}): give a text with as many fields in each line, the right "
    return InputError(what, Mention("delimiter"), *alone, ".")


def _are_no_rows(rows: Sequence[NumberedRow], lines: Lines) -> InputError:
    """The refusal of the rows but the last, which is the first of the table."""
    text = " ".join(rows[0][0]).strip()[:TEXT_SHOWN]
    first, last = lines.in_file(rows[0][1]), lines.in_file(rows[-2][1])
    *before, below = [sum(map(bool, row)) for row, _ in rows]
    which = f"line {first} ({text!r}) has" if len(before) == 1 else f"lines {first} ({text!r}) to {last} have"
    fields = " and ".join(counted(number, "field") for number in dict.fromkeys(before))
    return InputError(
        f"{lines.source}: {which} {fields}, and those below have {below}",
        value=text,
        advice=(
            *("leave out what tells of the table with ", asking("skip-lines", lines.without(1, rows[-2][1]))),
            *(", or correct these lines, or give the right ", Mention("delimiter")),
        ),
    )
