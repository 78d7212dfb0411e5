"""Where a run keeps what it writes. Light: the command line imports this for the words."""

import os
import tempfile
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from extbnsl.core.arguments import path_of
from extbnsl.core.errors import InputError
from extbnsl.core.options import Option, Options

if TYPE_CHECKING:
    from extbnsl.files.manifest import Manifest, Remembered


@dataclass(frozen=True)
class Place(Options):
    """Where a run keeps what it writes, and the state that it goes on from.

    run_folder: the run directory, which the caller holds; without one nothing is committed.
    scratch_dir: a folder in which the run makes one of its own for large files.
    compress: whether what reconstruction needs is compressed.
    resume: the state in the run directory to go on from.
    remember: what is kept with every state.
    """

    run_folder: Path | None = None
    scratch_dir: Annotated[
        Path | None,
        Option(
            "an existing folder, on a large or fast disk, for the working files",
            "DIR",
            default="the run directory, or else where temporary files go",
            parse=path_of,
            given=str | PathLike[str],
        ),
    ] = None
    compress: Annotated[
        bool,
        Option(
            "compress the files that stay until the end, for a fifth less disk (needs hdf5plugin: "
            "pip install 'extbnsl[compress]')"
        ),
    ] = False
    resume: "Manifest | None" = None
    remember: "Remembered | None" = None

    def check(self) -> None:
        """Raise InputError for values that cannot be, and for a scratch folder that cannot be used."""
        super().check()
        folder = self.scratch_dir
        if folder is not None and not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
            raise InputError(f"scratch_dir: {folder} is no folder that can be written; give one that is.")

    @property
    def folder(self) -> Path:
        """The folder of the large files, or the one that it will be made in."""
        if self.resume is not None and self.run_folder is not None:
            folder = self.resume.place(self.run_folder)
            return folder if folder.exists() else folder.parent
        return self.scratch_dir or self.run_folder or Path(tempfile.gettempdir())

    @property
    def held(self) -> int:
        """Bytes of the run's files that are there already."""
        return 0 if self.resume is None else sum(file.bytes for file in self.resume.files)
