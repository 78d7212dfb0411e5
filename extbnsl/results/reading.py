"""Reading result.json back.

That of a search for the k best networks has a head, then a line that says that the networks follow, then each of them
in a line of its own. So the head can be read alone, and the networks one by one. A file that another program has laid
out in another way is read as a whole.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypedDict

from extbnsl.core.claims import tolerance
from extbnsl.core.codec import Misfit, Within, decode, json_value
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.files.atomic import open_given, open_regular, read_regular
from extbnsl.files.names import DOCUMENT, RESULT

MOST_BYTES = 1 << 31  # of a file in a run directory that is read as a whole
MOST_OF_PART = 1 << 28  # of the head or a network in a larger one
KEY = "networks"
OPENING = f',\n "{KEY}": [\n'.encode()  # between the head and the networks
CLOSING = b"\n ]\n}\n"  # behind the networks, which have commas and line ends between them

Place = Annotated[int, Within(1)]


class ListedNetwork(TypedDict):
    """One of a list: its cost in nats, its share, its rank and that of its class, and the parents of each variable."""

    cost: float
    share: float
    rank: Place
    equivalence_class: Place
    parents: dict[str, list[str]]


_MARK = OPENING.split(b"\n")[1]
_END = CLOSING.split()


@dataclass(frozen=True)
class _Source:
    """A file that is being read, and how many bytes of it may be read at once; None: any."""

    path: Path
    file: BinaryIO
    most: int | None

    def line(self, before: int = 0) -> bytes:
        """The next line, if it is not too long together with so many bytes before it; empty at the end."""
        if self.most is None:
            return self.file.readline()
        line = self.file.readline(self.most - before + 1)
        if before + len(line) > self.most:
            size = os.fstat(self.file.fileno()).st_size
            raise RunDirectoryError(f"{self.path} has {size} bytes, more than any run writes there; move it away.")
        return line


@contextlib.contextmanager
def damage_told(folder: Path) -> Iterator[None]:
    """Tell what fails in the block because the document in this run directory is no result as RunDirectoryError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise no_result(folder) from error


def no_result(folder: Path) -> RunDirectoryError:
    """What to raise of a run directory whose result is none."""
    return RunDirectoryError(f"{folder / RESULT} is damaged or no result of a solve.")


def read_result(path: Path) -> dict[str, Any]:
    """The document in result.json, given that file or its run directory, without a list of networks.

    Where each network has a line of its own, only the first line of them is read. Raises InputError if the file is not
    there, cannot be read, or has a list as earlier versions wrote it, RunDirectoryError if it is no JSON object.
    """
    with _opened(path) as source:
        document = _parsed(_begun(source)[0], source.path)
    count = document.get("count")
    if "arc_probabilities" in document or (isinstance(count, dict) and isinstance(count.get("of_all"), float)):
        raise InputError(f"{path} has a list of an earlier version, with other probabilities: run kbest again.")
    document.pop(KEY, None)
    return document


def read_networks(path: Path) -> Iterator[ListedNetwork]:
    """The networks in result.json, given that file or its run directory, one by one.

    Raises as `read_result`, InputError if there is no list of networks, and RunDirectoryError, with its number, for a
    network that is damaged or missing.
    """
    with _opened(path) as source:
        content, first = _begun(source)
        if first is not None:
            yield from _checked(_in_lines(source, first), source.path)
            return
    listed = _parsed(content, source.path).get(KEY)
    if not isinstance(listed, list):
        raise InputError(f"{source.path} has no list of networks; give the result of a search for the k best.")
    yield from _checked(listed, source.path)


def read_text(path: Path) -> Iterator[str]:
    """The text of result.json, given that file or its run directory, line by line; raises InputError if it is not there
    or cannot be read."""
    with _opened(path) as source:
        while line := source.line():
            yield line.decode("utf-8", "backslashreplace")


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[_Source]:
    inside = path.is_dir()
    name = path / RESULT if inside else path
    try:
        with open(open_regular(name) if inside else open_given(name), "rb") as file:
            whole_file = os.fstat(file.fileno()).st_size <= MOST_BYTES
            yield _Source(name, file, (MOST_BYTES if whole_file else MOST_OF_PART) if inside else None)
    except FileNotFoundError:
        raise InputError(f"{name} does not exist; give a result.json or a run directory that holds one.") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}.") from error


def _begun(source: _Source) -> tuple[bytes, bytes | None]:
    """The head, closed, and the first line of the networks; the whole file and None if there are no such lines."""
    lines, held = [], 0
    while line := source.line(held):
        lines.append(line)
        held += len(line)
        if line.rstrip(b"\r\n") == _MARK:
            head, first = b"".join(lines[:-1]).rstrip(), source.line()
            if head.endswith(b",") and first.strip() != b"{":  # a network in several lines is of another layout
                return head.removesuffix(b",") + b"\n}", first
            lines.append(first)
            held += len(first)
    return b"".join(lines), None


def _in_lines(source: _Source, line: bytes) -> Iterator[Any]:
    """What is in this line and in those that follow, up to the end of the list."""
    at, more = 1, True
    while more:
        told = line.rstrip()
        more = told.endswith(b",")
        try:
            yield json_value(told.removesuffix(b","))
        except ValueError as error:
            raise RunDirectoryError(f"{source.path}: network {at} is missing or damaged ({error}).") from error
        line, at = source.line(), at + 1
    if [line.strip(), source.line().strip()] != _END:
        raise RunDirectoryError(f"{source.path}: network {at} is missing or damaged, or something stands behind it.")


def _checked(networks: Iterable[Any], path: Path) -> Iterator[ListedNetwork]:
    for at, network in enumerate(networks, start=1):
        try:
            yield decode(ListedNetwork, network)
        except Misfit as found:
            where = f"network {at} is damaged: {found.place} is not what a run writes there"
            raise RunDirectoryError(f"{path}: {where}.") from None


def _parsed(content: bytes, path: Path) -> dict[str, Any]:
    try:
        document = json_value(content)
    except ValueError as error:
        raise RunDirectoryError(f"{path} is not JSON ({error}); it is damaged or no result of a solve.") from error
    if not isinstance(document, dict):
        raise RunDirectoryError(f"{path} holds no JSON object; it is damaged or no result of a solve.")
    return document


def network_written(folder: Path, document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The content of network.json, the last file of a network that is written; None if it is not in a run directory
    yet, or that of a result before."""
    try:
        written = json_value(read_regular(folder / DOCUMENT, MOST_BYTES))
    except (OSError, ValueError, RunDirectoryError):
        return None
    keys = ("variables", "parents")
    if not isinstance(written, dict) or any(written.get(key) != document.get(key) for key in keys):
        return None
    told, cost = written.get("cost"), document.get("cost")
    if not (isinstance(told, int | float) and isinstance(cost, int | float)):
        return None
    same = abs(told - cost) <= tolerance(cost)  # where there are several networks, they are sums in two orders
    return written if same else None
