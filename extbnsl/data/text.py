"""Text files as the user has them: plain or gzip, UTF-8 with or without a byte order mark, and which of their lines are
rows; what reading any file may take, and who hears of it.
"""

import codecs
import csv
import gzip
import io
import os
import re
import stat
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from os import PathLike

from extbnsl.core.arguments import written_number
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.events import Observer, StageAdvanced, ignore
from extbnsl.core.figures import format_size
from extbnsl.core.sentences import Mention
from extbnsl.data.foreign import check_text
from extbnsl.files.atomic import open_given
from extbnsl.machine.budgets import Deadline, default_memory
from extbnsl.machine.system import AS_IT_IS, NEVER_WAITING

GZIP_MAGIC = b"\x1f\x8b"
BLOCK = 1 << 18  # bytes read at a time: few calls, and what is made of a block fits the smallest memory budget
LARGE_BLOCK = 1 << 20  # where there is memory: wide tables then have some rows in a block
AMPLE = 1 << 28  # bytes of memory that are enough for large blocks
STANDARD_INPUT = "-"
LONGEST_LINE = 1 << 22  # bytes; a row of a million short fields has fewer
STAGE = "reading"

Source = str | PathLike[str]
Open = Callable[[Source], int]  # a descriptor to read from


@dataclass(frozen=True)
class Reading:
    """What reading a file may take, and who hears of it.

    memory: bytes for what is kept of the file and what is made of it, by default three quarters of what the machine
    has free.
    deadline: until when.
    observer: hears how much of the file has been read.
    """

    memory: int = field(default_factory=default_memory)
    deadline: Deadline = field(default_factory=Deadline)
    observer: Observer = ignore

    def check_time(self, path: Source) -> None:
        """Raise BudgetError if the time is up."""
        if self.deadline.passed():
            raise BudgetError(f"The time limit passed while {path} was read: give a longer one.")

    def check_memory(self, path: Source, needed: int, so_far: str) -> None:
        """Raise BudgetError if what has been read so far is certain to need more bytes than the memory has."""
        if needed > self.memory:
            raise BudgetError(
                f"{path} needs more than the {format_size(self.memory)} of memory that ",
                Mention("memory"),
                f" grants: {so_far} read so far take {format_size(needed)}; grant more, or leave out what is not "
                "needed.",
            )


def source_name(path: Source) -> str:
    """The name of a file in sentences."""
    return "standard input" if str(path) == STANDARD_INPUT else str(path)


def open_source(path: Source) -> int:
    """A descriptor of data, never waiting: a file, a pipe, or, of the path "-", standard input; OSError."""
    return os.dup(0) if str(path) == STANDARD_INPUT else os.open(path, os.O_RDONLY | NEVER_WAITING | AS_IT_IS)


def text_blocks(path: Source, reading: Reading, open_file: Open = open_source) -> Iterator[bytes]:
    """The text of a file as UTF-8, block by block: whole lines, about BLOCK bytes or one longer line each.

    Where there is memory for that, blocks have about LARGE_BLOCK bytes. What must be a file is opened by `open_given`.
    The file is decompressed if it starts as gzip does; a byte order mark is left out, line ends are left as they are.
    Raises InputError if the file cannot be read, is a damaged gzip, is that of another program, is not UTF-8, has NUL
    bytes, or has a line of more than LONGEST_LINE bytes, and BudgetError if the deadline passes. At most two such lines
    are in memory at a time.
    """
    held, line, first = b"", 1, True
    name = source_name(path) if open_file is open_source else str(path)
    for data in chain(data_blocks(path, name, reading, open_file), [b""]):
        if first and not held:
            check_text(path, name, data)
        held += data
        # The last line ends with the file. A \r at the very end of what is there so far may be half of a line end.
        end = (held.rfind(b"\n") + 1 or held.rfind(b"\r", 0, -1) + 1) if data else len(held)
        if end:
            block, held = held[:end], held[end:]
            block = block.removeprefix(codecs.BOM_UTF8) if first else block
            if b"\0" in block or not block.isascii():
                _check_characters(block, name, line)
            yield block
            line, first = line + block.count(b"\n"), False
        elif len(held) > LONGEST_LINE:
            raise too_long(name, line)


def read_text(path: Source, open_file: Open = open_given) -> str:
    """The text of a small file, such as one of arities; raises InputError as `text_blocks`, and if it is not small."""
    parts: list[bytes] = []
    for block in text_blocks(path, Reading(), open_file):
        parts.append(block)
        if sum(map(len, parts)) > LONGEST_LINE:
            raise InputError(f"{path} has more than {format_size(LONGEST_LINE)}: is it the right file?")
    return b"".join(parts).decode()


def too_long(path: Source, line: int) -> InputError:
    """The refusal of a line, or of what belongs together from a line on, of more than LONGEST_LINE bytes."""
    return InputError(
        f"{path}, line {line}: more than {format_size(LONGEST_LINE)} without the end of a row: is it the right file?"
    )


def data_blocks(path: Source, name: str, reading: Reading, open_file: Open) -> Iterator[bytes]:
    """The bytes of a file, decompressed, a block at a time."""
    size = LARGE_BLOCK if reading.memory >= AMPLE else BLOCK
    try:
        descriptor = open_file(path)
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            raw, total = io.FileIO(descriptor), status.st_size
        else:
            from extbnsl.data.waiting import Waiting

            raw, total = Waiting(descriptor, partial(reading.check_time, name)), 0
        with io.BufferedReader(raw, BLOCK) as file:
            packed = file.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)
            stream = gzip.GzipFile(fileobj=file) if packed else file
            while data := stream.read(size):
                reading.check_time(name)
                reading.observer(StageAdvanced(STAGE, file.tell() if total else 0, total, "bytes"))
                yield data
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError(f"{name} is a damaged or truncated gzip file: copy it again.") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read ({error.strerror}): check the name and the permissions.") from None


def _check_characters(block: bytes, name: str, line: int) -> None:
    """Raise InputError if a block, whose first line has the number `line`, is no text."""
    try:
        block.decode()
    except UnicodeDecodeError as error:
        at = line + block.count(b"\n", 0, error.start)
        wide = block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        own = "UTF-16" if wide else "latin1"
        found = "is UTF-16 text" if wide else f"is not UTF-8 text (line {at})"
        advice = f"save it as UTF-8, such as by iconv -f {own} -t UTF-8 FILE > NEW"
        raise InputError(f"{name} {found}: {advice}{'' if wide else ', if it is latin1'}.") from None
    if b"\0" in block:
        at = line + block.count(b"\n", 0, block.index(b"\0"))
        raise InputError(f"{name} has a NUL byte in line {at}, so it is no text file: save it as UTF-8 text.")


MARKS = ("#", "//", "%")  # of lines that tell of a table
NumberedRow = tuple[list[str], int]  # with the number of its last line
_BLANKS_OR_QUOTED = re.compile(r'("[^"\r\n]*")|[ \t]+')


class Lines:
    """Which lines of a text are rows, and where those are in its file.

    `kept` leaves out the lines that the user names, by number or by how they begin, and `leave_out_first` further ones
    at the beginning of what is left. settled: whether the user says that all others are rows.
    """

    def __init__(self, source: str, skip_lines: str | int | None = None, comment: str | None = None) -> None:
        """InputError for what names no lines, and for an empty comment."""
        if comment is not None and not comment.strip():
            raise InputError("is empty: give what the lines begin with, such as #.", option="comment", value=comment)
        self.source = source
        self._mark = b"" if comment is None else comment.strip().encode()
        self._given = "" if skip_lines is None else str(skip_lines).replace(" ", "")
        self._ranges = [] if skip_lines is None else [_range_of(one, self._given) for one in self._given.split(",")]
        self.settled = (1, 0) in self._ranges
        self._left_out = array("q")  # numbers of lines, ascending
        self._first = 0

    def kept(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """The blocks, of whole lines, without lines that are left out, and without blocks that have no other.

        A line within quotes does not begin with the comment.
        """
        last, number, quotes = max((end for _, end in self._ranges), default=0), 0, 0
        for block in blocks:
            if number >= last and not self._mark:
                yield block
                continue
            left = list[bytes]()
            for line in block.splitlines(keepends=True):
                number += 1
                is_comment = self._mark and quotes % 2 == 0 and line.lstrip().startswith(self._mark)
                if is_comment or any(start <= number <= end for start, end in self._ranges):
                    self._left_out.append(number)
                else:
                    quotes += line.count(b'"')
                    left.append(line)
            if left:
                yield b"".join(left)

    def leave_out_first(self, count: int) -> None:
        """Count no more the first lines of what was kept so far."""
        self._first += count

    def in_file(self, line: int) -> int:
        """The number in the file of a line of those that are left, which begin with 1."""
        line += self._first
        for number in self._left_out:
            if number > line:
                break
            line += 1
        return line

    @property
    def left_out(self) -> int:
        """How many lines of those that the user names have been left out."""
        return len(self._left_out)

    def at(self, line: int) -> str:
        """The beginning of a sentence about a line of those that are left."""
        return f"{self.source}, line {self.in_file(line)}"

    def without(self, first: int, last: int) -> str:
        """What to give as --skip-lines to leave out these lines too, of those that are left."""
        start, end = self.in_file(first), self.in_file(last)
        more = str(end) if start == 1 else f"{start}-{end}"
        return ",".join(filter(None, (self._given, more)))

    def with_all(self) -> str:
        """What to give as --skip-lines to leave out no others than the user names."""
        return ",".join(filter(None, (self._given, "0")))


def _range_of(text: str, given: str) -> tuple[int, int]:
    """The first and the last line that `text` names: the first N lines, or `A-B`."""
    first, dash, last = text.partition("-")
    start, end = written_number(first), written_number(last)
    if not dash and start is not None:
        return 1, start
    if start is None or end is None or not 1 <= start <= end:
        what = f"{given!r} names no lines: give N for the first N lines, A-B for lines A to B, several with commas."
        raise InputError(what, option="skip-lines", value=given)
    return start, end


def numbered_rows(blocks: Iterable[bytes], delimiter: str, lines: Lines, line: int = 1) -> Iterator[NumberedRow]:
    """The rows of a text that comes in blocks of whole lines, of which the first has the number `line`.

    A blank line is a row of one empty field. A field in double quotes may hold delimiters, line ends, and quotes
    doubled. Raises InputError with the line for quotes that are not closed, or closed within a field, and for a row of
    more than LONGEST_LINE bytes.
    """
    number, taken = line - 1, 0  # of the last line, and characters since the last row

    def texts() -> Iterator[str]:
        nonlocal number, taken
        for text in chain.from_iterable(io.StringIO(block.decode(), newline="") for block in blocks):
            number, taken = number + 1, taken + len(text)
            if taken > LONGEST_LINE:
                raise too_long(lines.source, lines.in_file(number))
            yield _squeezed(text) if delimiter == " " else text

    reader = csv.reader(texts(), delimiter=delimiter, strict=True, skipinitialspace=delimiter != " ")
    try:
        for row in reader:
            taken = 0
            yield row or [""], number
    except csv.Error as error:
        raise InputError(f"{lines.at(number)}: {error}: correct the quotes there.") from None


def _squeezed(line: str) -> str:
    if '"' not in line:
        return " ".join(line.split())
    return _BLANKS_OR_QUOTED.sub(lambda match: match[1] or " ", line.strip(" \t\r\n"))
