"""Where the large files of a solve go."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from extbnsl.files.manifest import Manifest, recover
from extbnsl.files.store import Store
from extbnsl.machine.budgets import default_disk
from extbnsl.machine.workers import Workers


@contextlib.contextmanager
def store_of_run(
    run_folder: Path | None, scratch: Path | None, disk: int | None, resume: Manifest | None, threads: int
) -> Iterator[Store]:
    """Where the large files go, as the arguments of `solve` say; InputError if they cannot."""
    if run_folder is not None and resume is not None:
        folder = run_folder if resume.scratch is None else Path(resume.scratch)
        disk = disk or default_disk(folder) + sum(file.bytes for file in resume.files)
        with Workers(threads) as unstoppable:  # even without any time left there is to be a result
            store = recover(run_folder, resume, disk, unstoppable)
        yield store
    elif run_folder is not None:
        folder = scratch or run_folder
        # a run directory makes its scratch folder when the run begins: until then the disk is that of the one above
        yield Store(folder, disk or default_disk(folder if scratch is None or scratch.exists() else scratch.parent))
    else:
        with temporary_store(scratch, disk) as store:
            yield store


@contextlib.contextmanager
def temporary_store(folder: Path | None = None, disk: int | None = None) -> Iterator[Store]:
    """A store that is deleted at the end, in `folder` or where temporary files go."""
    disk = disk or default_disk(folder or Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix="extbnsl-", dir=folder) as temporary:
        yield Store(Path(temporary), disk)
