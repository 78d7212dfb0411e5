"""A run directory: the place where one run keeps its lock, its logs, its checkpoint and its result.

    result.json     the outcome, bounds, statistics and provenance
    network.bif     the network with its parameters (only when there are data), and as
    network.json    names, states, parents, arcs, equivalence class, tables
    network.dot     a drawing
    networks.csv    the k best networks, if these were asked for, and
    arcs.csv        which share of them has each arc
    network-R.*     the one at place R, from 2 on, as the best is written
    log.jsonl       every event, one JSON object per line
    solve.log       the same for people
    layers.png      a drawing of the log, if it was asked for
    ranks.png       one of the shares of the k best networks
    network.svg     one of the network
    report.html     a page about the run
    status.json     what the run is doing, for other processes
    manifest.json   the state that was committed last, which names the arrays that belong to it
    scores.h5, bounds-K-S.h5, pieces-K-S.h5, families-K-S.h5, layers/, runs/
                    arrays: here, or in a scratch folder that the manifest names
    lock            held, by the system, for the life of the process

Of it only files with names that a run mints are ever removed, and only from folders that are a run's: one with a
manifest or a lock of this program, and the scratch folder that carries the mark in the manifest.
"""

import contextlib
import itertools
import os
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from extbnsl.core.claims import INTERRUPTED
from extbnsl.core.errors import BudgetError, InputError, RunDirectoryError
from extbnsl.core.sentences import Mention
from extbnsl.files import manifest as manifests
from extbnsl.files import names
from extbnsl.files.atomic import (
    Content,
    encoded,
    is_folder,
    open_regular,
    synchronise_folder,
    write_atomically,
    write_failure,
)
from extbnsl.files.lock import hold, left_by_a_run
from extbnsl.files.manifest import Manifest, RunState, entries, remove_debris, write_manifest
from extbnsl.files.names import LOCK, LOGS, MANIFEST, STATUS
from extbnsl.files.store import Scratch, is_marked, new_scratch, remove_folders
from extbnsl.files.store import remove_scratch as remove_scratch_folder
from extbnsl.machine.system import read_at


class RunDirectory:
    """A run directory that this process holds; made by `create` or `reopen`, a context manager that lets go of it.

    `warnings` are sentences for the user. Until `begin`, what is there stays as it is.
    """

    def __init__(self, path: Path, *, made: bool, new: bool) -> None:
        self.path = path
        self._made = made
        self._new = new
        self._asked: Manifest | None = None
        self.begun = False  # whether the directory belongs to this run already
        self._logs: dict[str, int] = {}
        self._early: list[tuple[str, str]] = []
        self._lock, self.warnings = hold(path)

    @property
    def is_kept(self) -> bool:
        """Whether a run that is stopped before it has begun can be resumed."""
        return self._made and not self.begun and (self.path / MANIFEST).exists()

    def keep(self, asked: RunState, scratch_dir: Path | None) -> None:
        """Keep what is asked of a new run, and where its large files are to be, so that it can be resumed, from its
        start, when it is stopped before it has a checkpoint: in a directory that had a run, from `begin` on. Where that
        cannot be written, it is not kept."""
        scratch = None if scratch_dir is None else new_scratch(scratch_dir, self.path)
        self._asked = Manifest(asked, (), scratch)
        if self._made:
            self._keep()

    def _keep(self) -> None:
        if self._asked is not None:
            with contextlib.suppress(InputError, BudgetError):
                write_manifest(self.path, self._asked)

    def begin(self) -> None:
        """Open the logs; for a new run, remove what an earlier one left.

        Later calls do nothing. Raises InputError or BudgetError if something cannot be written.
        """
        if self.begun:
            return
        if self._made:
            with contextlib.suppress(InputError):  # its parent may be one that must not be opened
                synchronise_folder(self.path.absolute().parent)
        elif self._new:
            remove_run(self.path)
            self._keep()
        for name in LOGS:
            self._logs[name] = _open_log(self.path / name)
        self.begun = True
        for log, line in self._early:
            self.append(log, line)
        self._early.clear()

    def append(self, log: str, line: str) -> None:
        """Add a line to one of the logs, which get it when they are begun; when the disk is full, it is lost."""
        if not self.begun:
            self._early.append((log, line))
        else:
            with contextlib.suppress(OSError):
                os.write(self._logs[log], encoded(f"{line}\n"))

    def show(self, status: str) -> None:
        """Make `status` the content of status.json, whole but not on disk for sure; what fails is ignored."""
        if not self.begun:
            return
        temporary = self.path / names.temporary(STATUS, os.getpid())
        try:
            with open(open_regular(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
                file.write(encoded(status))
            temporary.replace(self.path / STATUS)
        except (OSError, RunDirectoryError):
            with contextlib.suppress(OSError):
                temporary.unlink()

    def write(self, files: Iterable[tuple[str, Content]]) -> None:
        """Write each (name, content) atomically as it comes; raises as `write_atomically` does."""
        self.begin()
        for name, content in files:
            write_atomically(self.path / name, content)

    def __enter__(self) -> "RunDirectory":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stopped = kind is not None and issubclass(kind, KeyboardInterrupt)
        if not self.begun and self._made and not (stopped and self.is_kept):  # what cannot begin leaves no trace
            with contextlib.suppress(OSError):
                (self.path / MANIFEST).unlink(missing_ok=True)
                (self.path / LOCK).unlink()
                self.path.rmdir()
        elif stopped and self.is_kept and self._asked is not None:
            self._asked = replace(self._asked, state=replace(self._asked.state, status=INTERRUPTED))
            self._keep()
        for descriptor in (*self._logs.values(), self._lock):
            os.close(descriptor)


def create(path: Path | None, source: str, overwrite: bool = False, scratch_dir: Path | None = None) -> RunDirectory:
    """Make a run directory, or take an existing one, for a new run, and hold its lock.

    Without a `path` it stands in the current folder and is named after the file `source`: wdbc.run, or
    wdbc-2.run and so on where that exists already (unless `overwrite`). With `scratch_dir` the run will have a folder
    of its own below that. Raises InputError if something cannot be written, or the directory holds anything and
    `overwrite` is not given, or is not a run's, or holds what no run has written; RunDirectoryError if another process
    holds it.
    """
    if scratch_dir is not None:
        _check_scratch_dir(scratch_dir)
    numbered = path is None and not overwrite  # the first name that is free
    own = path or default_folder(source)
    stem = own.stem
    for number in itertools.count(2):
        try:
            own.mkdir()
            return RunDirectory(own, made=True, new=True)
        except FileExistsError:
            if not numbered:
                break
            own = Path(f"{stem}-{number}.run")
        except OSError as error:
            raise write_failure(own.absolute() if numbered else own, error) from error
    _check_free(own, overwrite)
    _check_writable(own)
    return RunDirectory(own, made=False, new=True)


def default_folder(source: str) -> Path:
    """The run directory of a run of the file `source`, where nobody says another."""
    return Path(f"{Path(Path(source).name.removesuffix('.gz')).stem or 'data'}.run")


def reopen(path: Path) -> RunDirectory:
    """Take a directory that holds a run, to go on with it, and hold its lock.

    Raises InputError if it holds no run or cannot be written, RunDirectoryError if another process holds it.
    """
    check_run(path)
    _check_writable(path)
    return RunDirectory(path, made=False, new=False)


def resume_command(path: Path) -> str:
    """The shell line that goes on with the run in `path`."""
    return f"extbnsl resume {shlex.quote(str(path))}"


def _check_free(path: Path, overwrite: bool) -> None:
    """Raise InputError unless a new run may use the existing `path`."""
    overwriting, choose = Mention("overwrite"), (" choose another ", Mention("run-dir"), ".")
    if not path.is_dir():
        raise InputError(f"The run directory {path} is a file;", *choose)
    foreign = foreign_files(path)
    left = [entry.name for entry in path.iterdir() if entry.name != LOCK]
    if not foreign and (not left or (is_run(path) and not is_begun(path))):
        return
    if not overwrite:
        found, replaced = "exists and is not empty; give ", "the run in it"
        if is_run(path) and (path / MANIFEST).exists():
            found, replaced = f"holds a run; go on with it by '{resume_command(path)}', give ", "it"
        raise InputError(f"The run directory {path} {found}", overwriting, f" to replace {replaced}, or", *choose)
    if foreign or not is_run(path):
        found = "has neither a manifest nor a lock of a run;"
        if foreign:
            found = f"also holds {foreign[0]!r}; move that away or"
        raise InputError(overwriting, f" replaces nothing but a run directory, and {path} {found}", *choose)


def _check_writable(path: Path) -> None:
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"The run directory {path} cannot be written: no permission to write in it.")


def _check_scratch_dir(path: Path) -> None:
    if not os.path.isdir(path):
        kind = "is a file" if os.path.exists(path) else "does not exist"
        raise InputError(f"{path} {kind}; give an existing folder.", option="scratch-dir", value=path)
    if not os.access(path, os.W_OK | os.X_OK):
        what = f"{path} cannot be written: no permission to write in it; choose another."
        raise InputError(what, option="scratch-dir", value=path)


def _open_log(path: Path) -> int:
    """A descriptor that appends to a log, on a line of its own even if a killed process left half a line."""
    try:
        descriptor = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        length = os.fstat(descriptor).st_size
        if length and read_at(descriptor, 1, length - 1) != b"\n":
            os.write(descriptor, b"\n")
    except OSError as error:
        raise write_failure(path, error) from error
    return descriptor


def is_run(path: Path) -> bool:
    """Whether a run has written to the folder `path`, or is about to."""
    return left_by_a_run(path) or manifests.is_run(path)


def is_begun(path: Path) -> bool:
    """Whether a run has written anything to the folder `path` but its lock, and files that a kill left unfinished."""
    return is_run(path) and any(entry.name != LOCK and not names.is_temporary(entry.name) for entry in path.iterdir())


def check_run(path: Path) -> None:
    """Raise InputError unless `path` is a directory that a run has written to, or is about to."""
    if not os.path.isdir(path):
        kind = "is a file" if os.path.exists(path) else "does not exist"
        raise InputError(f"{path} {kind}; give the run directory that a solve has written.")
    if not os.access(path, os.R_OK | os.X_OK):
        raise InputError(f"{path} cannot be read: no permission to look into it; get it, or ask its owner.")
    if not is_run(path):
        raise InputError(f"{path} is no run directory: no solve has written to it; give one that has.")


def foreign_files(path: Path) -> list[str]:
    """The names of what is in a directory and is no run's, those in the folders of arrays with their folder."""
    folders = [name for name in names.FOLDERS if is_folder(path / name)]
    held = {entry.relative_to(path).as_posix() for place in ("", *folders) for entry in (path / place).iterdir()}
    own = {name for name in entries(path) if names.is_own(name)}
    lock = {LOCK} if is_run(path) or _is_empty(path / LOCK) else set()
    return sorted(held - own - set(folders) - lock)


def scratch_files(path: Path) -> list[Path]:
    """What a run needs only to be resumed: arrays, here or in its scratch folder, temporary files, and the manifest."""
    scratch = _scratch(path)
    files = [] if scratch is None or not is_marked(scratch) else _own(scratch.folder)
    # The manifest goes last: as long as it is there, whoever was interrupted finds the scratch folder again.
    return sorted(files + _own(path), key=lambda file: file.name == MANIFEST)


def remove_scratch(path: Path) -> None:
    """Delete `scratch_files` and the folders that are empty then; raises InputError if that is not allowed."""
    scratch = _scratch(path)
    files = scratch_files(path)
    _remove(file for file in files if file.name != MANIFEST)
    remove_folders(path)
    if scratch is not None:
        remove_scratch_folder(scratch)
    _remove(file for file in files if file.name == MANIFEST)


def remove_run(path: Path) -> None:
    """Delete every file of a run but its lock; raises InputError if that is not allowed."""
    remove_scratch(path)
    _remove(path / name for name in entries(path) if names.is_own(name))


def tidy(path: Path) -> None:
    """Delete what a run that is finished has left if its process was killed at the end."""
    with contextlib.suppress(InputError, RunDirectoryError):
        manifest = manifests.read_manifest(path)
        remove_debris(path, manifest)
        if not manifest.files:
            remove_folders(path)
            if manifest.scratch is not None:
                remove_scratch_folder(manifest.scratch)


def _scratch(path: Path) -> Scratch | None:
    """The scratch folder of a run, as far as its manifest can be read."""
    with contextlib.suppress(InputError, RunDirectoryError):
        return manifests.read_manifest(path).scratch
    return None


def _own(folder: Path) -> list[Path]:
    """The files in a run directory or a scratch folder that a run needs only to be resumed."""
    return [
        folder / name
        for name in entries(folder)
        if name == MANIFEST or names.is_arrays(name) or names.is_temporary(name)
    ]


def _is_empty(path: Path) -> bool:
    """Whether a file has nothing in it, as a lock of which only the name was written."""
    try:
        return os.lstat(path).st_size == 0
    except OSError:
        return True


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"{file} cannot be deleted: {error.strerror}.") from error
