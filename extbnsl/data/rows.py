"""The rows of a delimited text, as columns of fields, by the chunk."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.data.codes import KEY_BYTES, Fields
from extbnsl.data.delimiter import NumberedRow, numbered_rows
from extbnsl.data.text import LONGEST_LINE
from extbnsl.errors import InputError

LONGEST_FIELD = 1 << 12  # bytes of a name or a state
CHUNK_FIELDS = 1 << 16  # fields of quoted rows held at a time: enough to spread the cost per column
BLANKS = b" \r\n"
_NEWLINE = ord("\n")


class Chunk(NamedTuple):
    """Some rows: field (i, j) is text[starts[i, j] : starts[i, j] + lengths[i, j]], as in `Fields`.

    starts, lengths: (rows, columns) int64. Row i ends in line lines[i].
    """

    text: bytes
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    lines: Sequence[int]

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.starts.shape[1]

    def columns(self) -> Iterator[Fields]:
        """The fields of each column."""
        for j, longest in enumerate(self.lengths.max(axis=0).tolist()):
            yield Fields(self.text, self.starts[:, j], self.lengths[:, j], longest)


def row_chunks(blocks: Iterable[bytes], delimiter: str, source: str) -> Iterator[Chunk]:
    """The rows of a text that comes in blocks of whole lines, all with as many fields as the first.

    Blank lines before the first row and at the end are left out; one in between is a row of one empty field. Raises
    InputError with the number of the line for a row of another width, a quote that does not end, a field of more than
    LONGEST_FIELD bytes and a row of more than LONGEST_LINE. O(bytes); a few times one block is in memory.
    """
    line, width = 1, None
    inner = _without_blank_ends(blocks, source)
    for skipped, block in inner:
        line += skipped
        if b'"' in block or delimiter == " " or not delimiter.isascii():
            rest = chain([block], (further for _, further in inner))
            yield from _quoted_chunks(numbered_rows(rest, delimiter, source, line), width, source)
            return
        chunk = _plain_chunk(block, delimiter, source, line, width)
        line, width = line + len(chunk.lines), chunk.width
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
        end = _end_of_line(held, len(body))
        yield skipped, held[:end]
        held = held[end:]


def _end_of_line(text: bytes, at: int) -> int:
    """Where the line ends, line end and all, of which only blanks are left at `at`."""
    ends = [found for found in (text.find(b"\n", at), text.find(b"\r", at)) if found >= 0]
    if not ends:
        return len(text)
    end = min(ends)
    return end + (2 if text[end : end + 2] == b"\r\n" else 1)


def _plain_chunk(block: bytes, delimiter: str, source: str, line: int, width: int | None) -> Chunk:
    """The rows of a block without quotes; `line` is its first, and the rows are to have `width` fields if that is
    known."""
    text = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    text = text if text.endswith(b"\n") else text + b"\n"
    data = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero((data == _NEWLINE) | (data == ord(delimiter)))
    widths = np.diff(np.flatnonzero(data[ends] == _NEWLINE), prepend=-1)
    begins = width is None
    width = width or int(widths[0])
    wrong = np.flatnonzero(widths != width)
    if wrong.size:
        lacking = begins and bool((widths[1:] == width + 1).all())
        raise _ragged(source, line + int(wrong[0]), int(widths[wrong[0]]), width, lacking)
    starts = np.append(0, ends[:-1] + 1)
    shape = (len(widths), width)
    lines = range(line, line + len(widths))
    chunk = Chunk(text + bytes(KEY_BYTES), starts.reshape(shape), (ends - starts).reshape(shape), lines)
    return _with_short_fields(chunk, source)


def _quoted_chunks(rows: Iterator[NumberedRow], width: int | None, source: str) -> Iterator[Chunk]:
    """The rows by the chunk; the first alone if their width is not known."""
    chunks = 0 if width is None else 2  # before this one; the second begins with the second row
    while numbered := list(islice(rows, max(1, CHUNK_FIELDS // width) if width else 1)):
        width = width or len(numbered[0][0])
        for row, line in numbered:
            if len(row) != width:
                lacking = chunks == 1 and {len(other) for other, _ in numbered} == {width + 1}
                raise _ragged(source, line, len(row), width, lacking)
        chunks += 1
        fields = [field.encode() for row, _ in numbered for field in row]
        lengths = np.fromiter(map(len, fields), dtype=np.int64, count=len(fields))
        starts = np.cumsum(lengths) - lengths
        shape = (len(numbered), width)
        text = b"".join(fields) + bytes(KEY_BYTES)
        chunk = Chunk(text, starts.reshape(shape), lengths.reshape(shape), [line for _, line in numbered])
        yield _with_short_fields(chunk, source)


def _with_short_fields(chunk: Chunk, source: str) -> Chunk:
    """The chunk; InputError if a field is too long for a name or a state."""
    if chunk.lengths.max() > LONGEST_FIELD:
        row, column = (int(at[0]) for at in np.nonzero(chunk.lengths > LONGEST_FIELD))
        raise InputError(
            f"{source}, line {chunk.lines[row]}: field {column + 1} has {chunk.lengths[row, column]:,} bytes, but "
            f"names and states have at most {LONGEST_FIELD:,}: shorten it, or give the right --delimiter."
        )
    return chunk


def _ragged(source: str, line: int, found: int, width: int, lacking: bool) -> InputError:
    """The refusal of a row that has not as many fields as the first; `lacking`: all have one more than that."""
    fields = f"{source}, line {line}: {found} field{'s' if found != 1 else ''} where the first row has {width}"
    if lacking:
        return InputError(
            f"{fields}: if R's write.table wrote it, which leaves the row names without a name, write it again with "
            "row.names = FALSE; else correct the first row."
        )
    return InputError(f"{fields}: correct the line, or give the right --delimiter.")
