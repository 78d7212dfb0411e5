"""Where the nodes that a task makes go: to memory or to files, within what it has been granted."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from numpy.typing import NDArray

from extbnsl.files import names
from extbnsl.files.arrays import StoredFile, over_budget, write_arrays
from extbnsl.search.runs import Nodes, Run, discard, file_bytes, in_files_only, run_in_memory, write_run


@dataclass(frozen=True)
class Sink:
    """Where a task may leave what it makes.

    Runs of about `run_nodes` nodes stay in memory while they fit into `memory` bytes. Those that do not, and with
    `write` all, are written below `folder` while they fit into `disk` bytes, under names that begin with `stem`; with
    `compress` the part that stays takes less. closely: whether every node is to be looked at closely, because there is
    little room left.
    """

    run_nodes: int
    memory: float
    disk: int
    write: bool
    folder: Path | None
    stem: str
    compress: bool = False
    closely: bool = False


class Placed:
    """The runs of one task, put where its sink has room; `overflown` once there was none."""

    def __init__(self, sink: Sink) -> None:
        self.runs: list[Run] = []
        self.overflown = False
        self._sink = sink
        self._memory = sink.memory
        self._disk = sink.disk
        self._files: list[StoredFile] = []

    def add(self, nodes: Nodes) -> None:
        """Make a run of nodes, if there are any."""
        if nodes.lows.size == 0 or self.overflown:
            return
        run = run_in_memory(nodes)
        keep = run.memory <= self._memory
        writable = self._sink.folder is not None and file_bytes(run) <= self._disk
        if writable and (self._sink.write or not keep):
            run = write_run(run, names.part(self._sink.stem, len(self.runs)), self._write, self._sink.compress)
        elif not keep:
            self.overflown = True
            return
        if keep:
            self._memory -= run.memory
        else:
            run = in_files_only(run)
        self.runs.append(run)

    def discard(self) -> None:
        """Delete every file that was written."""
        discard(self._files, self._sink.folder)

    def _write(self, name: str, arrays: Mapping[str, NDArray], compress: bool) -> StoredFile:
        assert self._sink.folder is not None, "files lie in a folder"
        file = write_arrays(self._sink.folder, name, arrays, compress, self._reserve)
        self._files.append(file)
        return file

    def _reserve(self, size: int) -> None:
        """Count bytes that are to be written; BudgetError if they are more than are left of the grant."""
        assert self._sink.folder is not None, "files lie in a folder"
        if size > self._disk:
            raise over_budget(self._sink.folder)
        self._disk -= size
