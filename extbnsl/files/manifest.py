"""Checkpoints: the state that a run can go on from, and the files that it needs, committed together or not at all.

The manifest of a run directory holds the state and names every file of arrays with its length and checksum. A commit
puts the new files on disk, then the manifest in one step, and only then removes what the manifest no longer names. So
whenever the process or the machine dies, the manifest that is found is a whole one, and all its files are there.

The manifest is JSON rendered in one way only, with a format version, the version of the program, and last its own
checksum: the SHA-256 of the same document without it. That much holds for every format version.

Whoever goes on with a run checks what its manifest names, and removes what it does not name.

What it says of a run of any kind is a `RunState`, in which what the run itself goes on from is one value.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from extbnsl.core.claims import STATUSES, Claim, tolerance
from extbnsl.core.codec import (
    Highest,
    Lowest,
    Misfit,
    Whole,
    Within,
    decode,
    decode_some,
    encode,
    json_text,
    json_value,
)
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.core.version import __version__
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile, check_file
from extbnsl.files.atomic import check_folder, checksum, is_folder, read_regular, synchronise, write_atomically
from extbnsl.files.names import MANIFEST, is_drawing_path
from extbnsl.files.store import Scratch, Store, check_scratch, is_marked, make_scratch

if TYPE_CHECKING:
    from extbnsl.machine.workers import Workers

SOLVE, APPROXIMATE, K_BEST, BOOTSTRAP, POSTERIOR = KINDS = ("solve", "approximate", "kbest", "bootstrap", "posterior")
START, DONE = "start", "done"  # phases of any run
PHASES = (START, "counting", "scores", "search", "bootstrap", "em", "sums", "networks", "parents", "orders", DONE)

NOT_READ = ""
Scalar = bool | int | float | str | None


@dataclass(frozen=True)
class Spent:
    """What all processes of a run have taken so far.

    stages: the seconds and cpu_seconds of each stage.
    seconds, cpu_seconds: of all of it.
    peak_rss, peak_disk: the most bytes that one of the processes had in memory, and in files.
    """

    stages: dict[str, dict[str, float]] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss: Whole = 0
    peak_disk: Whole = 0


@dataclass(frozen=True)
class Remembered:
    """What a command keeps with its run, so that `resume` can read the input again and has the same budgets.

    input: the path of the data.
    data_options: what was given of the options that say how they are read.
    budgets: memory, disk, threads and compress, null where they were not given.
    command, version: the command line, and the version of the program that began the run.
    plot: the absolute path of a drawing of the network.
    """

    input: str
    data_options: dict[str, Scalar]
    budgets: dict[str, bool | Whole | None] = field(default_factory=dict)
    command: str = ""
    version: str = ""
    plot: Annotated[str, is_drawing_path] | None = None


@dataclass(frozen=True)
class RunState:
    """The state of a run.

    kind: of KINDS.
    digest: the fingerprint of the problem; NOT_READ of a run that was stopped before it had read that, so that there
        is nothing to go on from but what was asked.
    claim, methods, scope: what was asked; none of it changes while the run lasts.
    run: what the command remembers; None of a run that no command began.
    status: why the last process ended, None if it did not.
    phase: of PHASES.
    upper_bound, lower_bound: what some network, and every network, costs in nats.
    seconds_left: of the time of an approximation.
    spent: what it has taken.
    standing: what the run goes on from, as JSON values; whoever goes on looks at it.
    """

    kind: Annotated[str, KINDS.__contains__]
    digest: Annotated[str, lambda digest: len(digest) in (len(NOT_READ), 64)]
    claim: Claim
    methods: dict[str, Scalar]
    scope: dict[str, Scalar]
    run: Remembered | None
    status: Annotated[str, STATUSES.__contains__] | None = None
    phase: Annotated[str, PHASES.__contains__] = START
    upper_bound: Highest = math.inf
    lower_bound: Lowest = -math.inf
    seconds_left: Annotated[float, Within()] | None = None
    spent: Spent = field(default_factory=Spent)
    standing: Any = None


def has_more_to_find(state: RunState) -> bool:
    """Whether a network may be better than the one of this run."""
    upper, lower = state.upper_bound, state.lower_bound
    return math.isinf(upper) or upper > lower + tolerance(upper)


T = TypeVar("T")
FORMAT_VERSION = 8
MOST_BYTES = 1 << 30  # of a manifest


_SEAL = {"format_version": Whole, "extbnsl": str, "checksum": str}  # what a manifest of every version says of itself


@dataclass(frozen=True)
class Manifest:
    """A state to go on from.

    state: of the run.
    files: the arrays that go with it, in the folder of the run's store.
    scratch: that folder, or None if it is the run directory.
    """

    state: RunState
    files: tuple[StoredFile, ...]
    scratch: Scratch | None

    def place(self, folder: Path) -> Path:
        """Where the arrays of the run in `folder` are."""
        return folder if self.scratch is None else self.scratch.folder


def commit(folder: Path, store: Store, manifest: Manifest) -> None:
    """Make `manifest` the checkpoint of the run directory `folder`, on disk when this returns.

    The files of the store that it does not name are removed. A scratch folder is made by the first commit, which names
    no file: a run never has a folder that its manifest does not know. When this fails, the checkpoint before or this
    one is there with all its files; it can be called again, but no file that it names may be written anew. Raises
    BudgetError if the disk is full, InputError if something cannot be written. Costs a synchronisation for each file
    that is new.
    """
    found = {file.name for file in manifest.files}  # what `read_manifest` will take
    assert len(found) == len(manifest.files), "no name twice"
    assert all(map(names.is_arrays, found)), "names that are minted"
    scratch = manifest.scratch
    assert scratch is None or names.is_scratch_path(scratch.path), "a scratch folder as it is minted"
    if manifest.files:
        store.synchronise(manifest.files)
    write_manifest(folder, manifest)
    if scratch is not None and not manifest.files:
        make_scratch(scratch)
    store.keep_only(manifest.files)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest alone, atomically; raises as `commit`."""
    document = {"format_version": FORMAT_VERSION, "extbnsl": __version__, **encode(manifest)}
    write_atomically(folder / MANIFEST, _sealed(document))


def read_manifest(folder: Path) -> Manifest:
    """The checkpoint of the run directory `folder`, whose files have not been looked at.

    The manifest may come from anyone: all of it is looked at, but for the standing in its state. Raises InputError if
    the folder is not there or the manifest cannot be read, RunDirectoryError if there is no manifest, or it is no file,
    damaged, malformed or of another format version.
    """
    path = folder / MANIFEST
    document = _unsealed(path)
    if document["format_version"] != FORMAT_VERSION:
        raise RunDirectoryError(_other_version(path, document))
    try:
        manifest: Manifest = decode(Manifest, {key: document[key] for key in document if key not in _SEAL})
    except Misfit as found:
        raise malformed(folder, found.place) from found
    if len({file.name for file in manifest.files}) < len(manifest.files):
        raise malformed(folder, "files")
    return manifest


def believed(folder: Path, place: str, read: Callable[[], T]) -> T:
    """What `read` makes of a part of the manifest in `folder`, at this place of it; the failure `malformed` if that is
    none."""
    try:
        return read()
    except Misfit as found:
        raise malformed(folder, place if found.place == "it" else f"{place}.{found.place}") from found


def malformed(folder: Path, place: str) -> RunDirectoryError:
    """The failure, to be raised, for a manifest that says at `place` what no run says."""
    return RunDirectoryError(
        f"{folder / MANIFEST} is not what a run of extbnsl writes (at {place!r}); bring back a good copy or start the "
        "run again."
    )


def is_run(folder: Path) -> bool:
    """Whether a manifest of any version is in a folder, whole."""
    try:
        _unsealed(folder / MANIFEST)
    except (InputError, RunDirectoryError):
        return False
    return True


def _sealed(document: Mapping[str, Any]) -> bytes:
    """The bytes of a manifest: a document and its checksum."""
    return _rendered({**document, "checksum": checksum(_rendered(document))})


def _rendered(document: Mapping[str, Any]) -> bytes:
    # Names of files need not be Unicode; Python then has half surrogates in them.
    return f"{json_text(document, indent=1)}\n".encode("utf-8", "surrogatepass")


def _unsealed(path: Path) -> dict[str, Any]:
    """The document of a manifest; RunDirectoryError unless its bytes are just what `_sealed` makes of that."""
    data = _read(path)
    try:
        document = json_value(data.decode("utf-8", "surrogatepass"))
        decode_some(_SEAL, {key: document[key] for key in _SEAL})
        if _sealed({key: document[key] for key in document if key != "checksum"}) == data:
            return dict(document)
    except (ValueError, TypeError, KeyError, RecursionError):  # the last where it is rendered again
        pass
    raise RunDirectoryError(
        f"{path} is damaged or no checkpoint of extbnsl; bring back a good copy or start the run again."
    )


def _other_version(path: Path, document: Mapping[str, Any]) -> str:
    """The sentence for a manifest that this version of the program does not read."""
    said = f"{path} was made by extbnsl {document['extbnsl']}; this is {__version__}"
    if document["format_version"] > FORMAT_VERSION:
        return f"{said}, which is older: upgrade extbnsl to resume it."
    return f"{said}, which cannot resume it: start a new run, or resume it with that version."


def _read(path: Path) -> bytes:
    """The bytes of a manifest."""
    if not os.path.isdir(path.parent):
        raise InputError(f"There is no run directory {path.parent}; give the folder of a run.")
    try:
        return read_regular(path, MOST_BYTES)
    except FileNotFoundError:
        raise RunDirectoryError(
            f"{path.parent} has no {MANIFEST}: it is no run directory, its run ended before the first checkpoint, or "
            "its command writes none; start the run again."
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); make it a file that you may read.") from error


def recover(folder: Path, manifest: Manifest, disk: int, workers: "Workers") -> Store:
    """The store of a run that goes on from `manifest`, the one that is in `folder`; it may take `disk` bytes.

    Reads every file that the manifest names, each a task of the workers, and removes the `debris`. The caller holds the
    lock of the run directory. Raises RunDirectoryError, with nothing removed, if the store's folder or a file is
    missing or damaged, or is not the run's own; InputError if the folder cannot be written; Stopped.
    """
    place = manifest.place(folder)
    if manifest.scratch is not None:
        if not manifest.files:  # the process may have been killed before it made the folder
            make_scratch(manifest.scratch)
        check_scratch(manifest.scratch)
    for name in names.FOLDERS:
        check_folder(place / name)
    files = workers.map(check_file, [(place, file) for file in manifest.files])
    # The process may have been killed when it had renamed the manifest but not made sure of it. Until that is made
    # up for, a power loss can bring back the manifest before, whose files are about to go.
    synchronise([folder / names.MANIFEST])
    remove_debris(folder, manifest)
    store = Store(place, disk, scratch=manifest.scratch)
    store.add(files, synchronised=True)
    return store


def remove_debris(folder: Path, manifest: Manifest) -> None:
    """Delete what a killed process has left; InputError if that is not allowed."""
    for path in debris(folder, manifest):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"{path} is left from a process that was killed and cannot be removed ({error.strerror}); "
                "make its folder writable and resume again."
            ) from error


def debris(folder: Path, manifest: Manifest) -> Iterator[Path]:
    """What a killed process has left in its run directory `folder` and in its store's folder: files with names that a
    run gives to temporary files, and to files of arrays that the manifest does not name. A scratch folder that does not
    carry the run's mark has none."""
    place = manifest.place(folder)
    places = [folder, place] if manifest.scratch is None or is_marked(manifest.scratch) else [folder]
    named = {file.name for file in manifest.files}
    for here in dict.fromkeys(places):
        for name in entries(here):
            if names.is_temporary(name) or (here == place and names.is_arrays(name) and name not in named):
                yield here / name


def entries(folder: Path) -> list[str]:
    """The names of what is in a folder, and in its folders for arrays, but no other folders; none if it is missing.

    InputError if it cannot be read.
    """
    found: list[str] = []
    try:
        for path in folder.iterdir():
            if path.name in names.FOLDERS and is_folder(path):
                found += (f"{path.name}/{below.name}" for below in path.iterdir() if not is_folder(below))
            elif not is_folder(path):
                found.append(path.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"{folder} cannot be read ({error.strerror}); make it a folder that you may read.") from error
    return sorted(found)
