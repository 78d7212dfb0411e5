"""A run directory: the place where one solve keeps its lock, its logs and its result.

    result.json   the outcome, bounds, statistics and provenance
    network.bif   the network with its parameters (only when there are data), and as
    network.json  names, states, parents, arcs, equivalence class, tables
    network.dot   a drawing
    log.jsonl     every event, one JSON object per line
    solve.log     the same for people
    lock          held, by the system, for the life of the process

Nothing is removed but these files, and only from a run directory that holds nothing else.
"""

import contextlib
import errno
import fcntl
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from extbnsl.errors import InputError, RunDirectoryError
from extbnsl.formats.bif import bif_text
from extbnsl.formats.document import network_document
from extbnsl.formats.dot import dot_text
from extbnsl.network import fit
from extbnsl.storage import json_text, write_atomically, write_failure

if TYPE_CHECKING:
    from extbnsl.solve import Result

LOCK = "lock"
LOGS = ("log.jsonl", "solve.log")
OUTPUTS = ("result.json", "network.bif", "network.json", "network.dot")
_OWN_FILE = re.compile("|".join(rf"{re.escape(name)}|\.{re.escape(name)}\.\d+\.tmp" for name in OUTPUTS + LOGS))


class RunDirectory:
    """A run directory that this process holds; made by `create`, a context manager that lets go of it.

    `warnings` are sentences for the user. Until `begin`, what an earlier run left is still there.
    """

    def __init__(self, path: Path, made: bool) -> None:
        self.path = path
        self._made = made
        self._logs: dict[str, int] = {}
        self._early: list[tuple[str, str]] = []
        self._lock, self.warnings = _hold(path / LOCK)

    def begin(self) -> None:
        """Remove what an earlier run left and open the logs; later calls do nothing.

        Raises InputError or BudgetError if the logs cannot be opened.
        """
        if self._logs:
            return
        for file in self.path.iterdir():
            if _OWN_FILE.fullmatch(file.name):
                file.unlink()
        for name in LOGS:
            try:
                self._logs[name] = os.open(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            except OSError as error:
                raise write_failure(self.path / name, error) from error
        for log, line in self._early:
            self.append(log, line)
        self._early.clear()

    @property
    def begun(self) -> bool:
        """Whether the directory belongs to this run already."""
        return bool(self._logs)

    def append(self, log: str, line: str) -> None:
        """Add a line to one of the logs, which get it when they are begun; when the disk is full, it is lost."""
        if not self.begun:
            self._early.append((log, line))
        else:
            with contextlib.suppress(OSError):
                os.write(self._logs[log], f"{line}\n".encode())

    def write(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Write each (name, content) atomically as it comes; raises as `write_atomically` does."""
        self.begin()
        for name, data in files:
            write_atomically(self.path / name, data)

    def discard(self) -> None:
        """Leave no trace of a run that has not begun: not the lock, and not the directory if it was made."""
        if not self.begun and self._made:
            with contextlib.suppress(OSError):
                (self.path / LOCK).unlink()
                self.path.rmdir()

    def __enter__(self) -> "RunDirectory":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()
        for descriptor in (*self._logs.values(), self._lock):
            os.close(descriptor)


def create(path: Path | None, source: str, overwrite: bool = False) -> RunDirectory:
    """Make a run directory, or take an existing one, and hold its lock.

    Without a `path` it stands in the current folder and is named after the file `source`: wdbc.run, or
    wdbc-2.run and so on where that exists already (unless `overwrite`). Raises InputError if it cannot be
    written, or holds anything and `overwrite` is not given, or holds what no run has written;
    RunDirectoryError if another process holds it.
    """
    if path is None:
        stem = Path(Path(source).name.removesuffix(".gz")).stem or "data"
        if not overwrite:
            return RunDirectory(_make_first_free(stem), made=True)
        path = Path(f"{stem}.run")
    try:
        path.mkdir()
    except FileExistsError:
        _check_free(path, overwrite)
        return RunDirectory(path, made=False)
    except OSError as error:
        raise write_failure(path, error) from error
    return RunDirectory(path, made=True)


def read_result(path: Path) -> dict[str, Any]:
    """The document in result.json, given that file or its run directory.

    Raises InputError if it is not there or cannot be read, RunDirectoryError if it is no JSON object.
    """
    file = path / "result.json" if path.is_dir() else path
    try:
        document = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{file} does not exist; give a result.json or a run directory that holds one.") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise RunDirectoryError(f"{file} is not JSON ({error}); it is damaged or no result of a solve.") from error
    if not isinstance(document, dict):
        raise RunDirectoryError(f"{file} holds no JSON object; it is damaged or no result of a solve.")
    return document


def outputs(result: "Result", command: str) -> Iterator[tuple[str, bytes]]:
    """The files that tell a result, as (name, content); the parameters are in them if the result has data.

    The result itself comes first, and nothing else is computed before it is taken.
    """
    yield _file("result.json", json_text(result.document(command), indent=1))
    network, dataset = result.network, result.dataset
    states = None if dataset is None else dataset.states
    tables = None if dataset is None else fit(network, dataset)
    yield _file("network.json", json_text(network_document(network, states, tables, result.cost)))
    yield _file("network.dot", dot_text(network))
    if states is not None and tables is not None:
        yield _file("network.bif", bif_text(network, states, tables))


def _file(name: str, text: str) -> tuple[str, bytes]:
    return name, f"{text.rstrip()}\n".encode()


def _make_first_free(stem: str) -> Path:
    for number in itertools.count(1):
        path = Path(f"{stem}.run" if number == 1 else f"{stem}-{number}.run")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise write_failure(path.absolute(), error) from error
        return path
    raise AssertionError("unreachable: the numbers do not end")


def _check_free(path: Path, overwrite: bool) -> None:
    """Raise InputError unless a run may use the existing `path`."""
    if not path.is_dir():
        raise InputError(f"The run directory {path} is a file; choose another --run-dir.")
    try:
        held = sorted(file.name for file in path.iterdir() if file.name != LOCK)
    except OSError as error:
        raise InputError(f"The run directory {path} cannot be read: {error.strerror}.") from error
    if held and not overwrite:
        raise InputError(
            f"The run directory {path} exists and is not empty; give --overwrite to replace the run in it, "
            "or choose another --run-dir."
        )
    foreign = [name for name in held if not _OWN_FILE.fullmatch(name)]
    if foreign:
        raise InputError(
            f"--overwrite replaces nothing but a run directory, and {path} also holds {foreign[0]!r}; "
            "move that away or choose another --run-dir."
        )


def _hold(lock: Path) -> tuple[int, tuple[str, ...]]:
    """The descriptor of the locked file, and warnings; RunDirectoryError if another process holds it."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise write_failure(lock, error) from error
    warnings: tuple[str, ...] = ()
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            holder = os.read(descriptor, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise RunDirectoryError(
                f"The run directory {lock.parent} is in use by another process (id {holder}); "
                "wait for it to end or choose another --run-dir."
            ) from None
        warnings = (
            f"{lock.parent} is on a file system without locks ({error.strerror}): "
            "let no second process use this run directory.",
        )
    with contextlib.suppress(OSError):  # only to tell others who it is
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor, warnings
