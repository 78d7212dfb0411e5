"""Delimited text to columns, by the chunk: rows, fields, and each distinct text of a column once."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention, asking, dropped, option
from extbnsl.data.column import Column, canonical, narrowest
from extbnsl.data.text import LONGEST_LINE, MARKS, Lines, NumberedRow, Reading, numbered_rows

KEY_BYTES = 8  # a text of so many bytes fits a 64-bit key
MANY_RECORDS = 64  # from here on keys pay: array operations take longer to begin than texts to be looked up
FEW_TEXTS = 256  # up to here all keys are looked up at once
TEXT_BYTES = 200  # about what a distinct text takes besides its characters: two objects, an entry, its number
NO_KEY = (1 << 8 * KEY_BYTES) - 1  # which no UTF-8 has, and no other is larger
_MASKS = (255 * np.tri(KEY_BYTES + 1, KEY_BYTES, -1, np.uint8)).view("<u8")[:, 0]  # of the first 0 to KEY_BYTES bytes


class Chunk(NamedTuple):
    """Some rows: field (i, j) is text[starts[i, j] : starts[i, j] + lengths[i, j]], in UTF-8.

    starts, lengths: (rows, columns) int64. Row i ends in line lines[i] of those that `Lines` left. `text` goes on for
    KEY_BYTES or more after the last field.
    """

    text: bytes
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    lines: Sequence[int]


class ColumnCodes:
    """The codes of a column, in the narrowest dtype that does, and its texts, both as they come."""

    def __init__(self) -> None:
        self._code_of: defaultdict[bytes, int] = defaultdict()
        self._code_of.default_factory = self._code_of.__len__
        self._codes = bytearray()  # which grows in place
        self._dtype = narrowest(1)
        self._text_bytes = 0
        self._keys = np.array([NO_KEY], dtype=np.uint64)  # those that were seen, sorted, and the one behind all
        self._code_of_key = np.zeros(0, dtype=np.int32)

    def extend(self, chunk: Chunk, j: int, longest: int) -> int:
        """Add the fields of column j in further rows, of which none has more than `longest` bytes; about the bytes that
        all takes now. Amortised O(records log texts)."""
        starts, lengths, texts = chunk.starts[:, j], chunk.lengths[:, j], len(self._code_of)
        if texts <= FEW_TEXTS and longest <= KEY_BYTES and len(starts) >= MANY_RECORDS:
            codes = self._by_keys(chunk.text, starts, lengths)
        else:
            ends = (starts + lengths).tolist()
            fields = [chunk.text[start:end] for start, end in zip(starts.tolist(), ends, strict=True)]
            codes = np.fromiter(map(self._code_of.__getitem__, fields), np.int32, len(fields))
        if len(self._code_of) > texts:
            new = len(self._code_of) - texts
            of_texts = new * longest if longest <= LONGEST_FIELD else min(new * longest, int(lengths.sum()))
            self._text_bytes += new * TEXT_BYTES + of_texts
            wide = narrowest(len(self._code_of))
            if wide != self._dtype:
                self._codes = bytearray(np.frombuffer(self._codes, self._dtype).astype(wide).data)
                self._dtype = wide
        self._codes += codes.astype(self._dtype).data
        return len(self._codes) + self._text_bytes

    def column(self) -> Column:
        """The column, without a name; the texts are stripped of white space."""
        values = canonical([text.decode().strip() for text in self._code_of])
        return Column("", values, np.frombuffer(self._codes, self._dtype))

    def _by_keys(self, text: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int32]:
        """The codes of fields of at most KEY_BYTES bytes, which are numbers: the first byte lowest, zeros after the
        last.

        Different fields have different keys, since no text has a byte that is zero.
        """
        at_each_byte = np.ndarray((len(text) - KEY_BYTES + 1,), "<u8", text, strides=(1,))
        keys = at_each_byte[starts] & _MASKS[lengths]
        at = np.searchsorted(self._keys, keys)
        if (self._keys[at] != keys).any():
            self._keys = np.union1d(self._keys, keys)
            texts = self._keys[:-1].astype("<u8").view(f"S{KEY_BYTES}").tolist()
            self._code_of_key = np.fromiter(map(self._code_of.__getitem__, texts), np.int32, len(texts))
            at = np.searchsorted(self._keys, keys)
        return self._code_of_key[at]


LONGEST_FIELD = 1 << 12  # bytes of a name or a state
NAME_SHOWN = 40  # characters of a longer name
CHUNK_FIELDS = 1 << 16  # fields of quoted rows held at a time: enough to spread the cost per column
BLANKS = b" \r\n"
_NEWLINE = ord("\n")
_LINE_END = re.compile(rb"\r\n|\n|\r")


def row_chunks(blocks: Iterable[bytes], delimiter: str, lines: Lines) -> Iterator[Chunk]:
    """The rows of a text that comes in blocks of whole lines, all with as many fields as the first.

    Blank lines before the first row and at the end are left out; one in between is a row of one empty field. Raises
    InputError with the number of the line for a row of another width, a quote that does not end, and a row of more than
    LONGEST_LINE bytes. O(bytes); a few times one block is in memory.
    """
    line, width = 1, None
    inner = _without_blank_ends(blocks, lines.source)
    for skipped, block in inner:
        line += skipped
        if b'"' in block or delimiter == " " or not delimiter.isascii():
            rest = chain([block], (further for _, further in inner))
            yield from _quoted_chunks(numbered_rows(rest, delimiter, lines, line), width, lines)
            return
        chunk = _plain_chunk(block, delimiter, lines, line, width)
        line, width = line + len(chunk.lines), chunk.starts.shape[1]
        yield chunk


def _without_blank_ends(blocks: Iterable[bytes], source: str) -> Iterator[tuple[int, bytes]]:
    """The blocks without the blank lines before the first row and after the last, and how many lines were left out
    before each."""
    held, begun = b"", False
    for block in blocks:
        held += block
        if len(held) > LONGEST_LINE + len(block):
            raise InputError(f"{source} has too many blank lines, one after the other: remove them.")
        body = held.rstrip(BLANKS)
        if not body:
            continue
        skipped = 0
        if not begun:
            blank = held[: len(held) - len(held.lstrip(BLANKS))]
            start = max(blank.rfind(b"\n"), blank.rfind(b"\r")) + 1
            skipped = len(blank[:start].splitlines())
            held, body, begun = held[start:], body[start:], True
        ended = _LINE_END.search(held, len(body))
        end = ended.end() if ended else len(held)
        yield skipped, held[:end]
        held = held[end:]


def _plain_chunk(block: bytes, delimiter: str, lines: Lines, line: int, width: int | None) -> Chunk:
    """The rows of a block without quotes; `line` is its first, and the rows are to have `width` fields if that is
    known."""
    text = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    text = text if text.endswith(b"\n") else text + b"\n"
    data = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero((data == _NEWLINE) | (data == ord(delimiter)))
    widths = np.diff(np.flatnonzero(data[ends] == _NEWLINE), prepend=-1)
    width = width or int(widths[0])
    wrong = np.flatnonzero(widths != width)
    if wrong.size:
        row = int(wrong[0])
        begins = text.split(b"\n", row + 1)[row].decode()
        raise _ragged(lines, line + row, begins, int(widths[row]), width)
    starts = np.append(0, ends[:-1] + 1)
    shape = (len(widths), width)
    numbers = range(line, line + len(widths))
    return Chunk(text + bytes(KEY_BYTES), starts.reshape(shape), (ends - starts).reshape(shape), numbers)


def _quoted_chunks(rows: Iterator[NumberedRow], width: int | None, lines: Lines) -> Iterator[Chunk]:
    """The rows by the chunk; the first alone if their width is not known."""
    while numbered := list(islice(rows, max(1, CHUNK_FIELDS // width) if width else 1)):
        width = width or len(numbered[0][0])
        for row, line in numbered:
            if len(row) != width:
                raise _ragged(lines, line, row[0], len(row), width)
        fields = [field.encode() for row, _ in numbered for field in row]
        lengths = np.fromiter(map(len, fields), dtype=np.int64, count=len(fields))
        starts = np.cumsum(lengths) - lengths
        shape = (len(numbered), width)
        text = b"".join(fields) + bytes(KEY_BYTES)
        yield Chunk(text, starts.reshape(shape), lengths.reshape(shape), [line for _, line in numbered])


def refuse_long(columns: Iterable[Column], source: str, *otherwise: str | Mention) -> None:
    """Raise InputError for a name of a column, or a value that occurs, of more than LONGEST_FIELD bytes; otherwise:
    what to do if the column is to stay. O(distinct values)."""
    for column in columns:
        sizes = np.array([len(value.encode()) for value in (*column.values, column.name)])
        if sizes.max() <= LONGEST_FIELD:
            continue
        name = column.name if sizes[-1] <= LONGEST_FIELD else f"{column.name[:NAME_SHOWN]}..."
        rows = np.flatnonzero((sizes > LONGEST_FIELD)[column.codes] & (column.codes >= 0))
        if sizes[-1] > LONGEST_FIELD:
            what, row = f"the name of column '{name}' has {sizes[-1]:,} bytes", None
        elif rows.size:
            row = int(rows[0]) + 1
            what = f"column '{name}' has a value of {sizes[column.codes[rows[0]]]:,} bytes in row {row:,} of the data"
        else:
            what, row = f"column '{name}' has a level of {sizes.max():,} bytes", None
        leave_out = dropped([column.name] if name == column.name else [])
        raise InputError(
            f"{source}: {what}, but names and states have at most {LONGEST_FIELD:,}",
            names=[column.name],
            row=row,
            advice=("shorten it, or leave the column out", leave_out, *otherwise),
        )


def _ragged(lines: Lines, line: int, begins: str, found: int, width: int) -> InputError:
    """The refusal of a row that has not as many fields as the first; `begins`: its text, or its first field."""
    mark = next((mark for mark in MARKS if begins.lstrip().startswith(mark)), None)
    skipped = asking("skip-lines", lines.without(line, line)) if mark is None else option("comment", mark)
    return InputError(
        f"{lines.at(line)}: {found} field{'s' if found != 1 else ''} where the first row has {width}: correct the "
        "line, leave it out with ",
        skipped,
        ", or give the right ",
        Mention("delimiter"),
        ".",
    )


COLUMN_BYTES = 1 << 10  # about what a column takes without any record
FIRST_ROWS = 4  # names, and records that may be none
LAST_ROWS = 16  # of which the last may be none
LATER_BYTES = 3  # that each field takes later, at least, besides its code: the code in order and the one in the Dataset


class Table(NamedTuple):
    """The columns of a text, unnamed, with its first row as a record too.

    ends, last_ends: the lines in which the first and the last rows end, of those that `Lines` left.
    has_long: whether a field has more than LONGEST_FIELD bytes.
    """

    columns: tuple[Column, ...]
    ends: list[int]
    last_ends: list[int]
    has_long: bool


def parse(blocks: Iterable[bytes], delimiter: str, lines: Lines, reading: Reading) -> Table:
    """The columns of a delimited text that comes in blocks of whole lines.

    Fields are stripped of surrounding white space, within quotes too; rows and InputErrors are those of `row_chunks`.
    Raises InputError for an empty text, and BudgetError as soon as the columns, and what is to be made of them, are
    certain to take more than the memory of `reading`. O(fields).
    """
    columns: list[ColumnCodes] = []
    ends: list[int] = []
    last_ends: list[int] = []
    records, source, has_long = 0, lines.source, False
    for chunk in row_chunks(blocks, delimiter, lines):
        longest = chunk.lengths.max(axis=0).tolist()
        has_long |= max(longest) > LONGEST_FIELD
        if not columns:
            width = len(longest)
            reading.check_memory(source, COLUMN_BYTES * width, f"the first row, of {width:,} columns")
            columns = [ColumnCodes() for _ in range(width)]
        records += len(chunk.lines)
        ends += chunk.lines[: max(0, FIRST_ROWS - len(ends))]
        last_ends = [*last_ends, *chunk.lines[-LAST_ROWS:]][-LAST_ROWS:]
        needed = (COLUMN_BYTES + LATER_BYTES * records) * len(columns)
        for j, column in enumerate(columns):
            needed += column.extend(chunk, j, longest[j])
        reading.check_memory(source, needed, f"the {records:,} rows of {len(columns):,} columns")
    if not columns:
        found = "has no line that is a row" if lines.left_out else "is empty"
        raise InputError(f"{source} {found}: give a file with at least one row of data.")
    return Table(tuple(column.column() for column in columns), ends, last_ends, has_long)
