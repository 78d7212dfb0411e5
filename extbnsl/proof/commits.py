"""When a run commits what it has, and where: the one place that ties a standing to a run directory."""

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from extbnsl.core.claims import DISK_LIMIT
from extbnsl.core.codec import encode
from extbnsl.core.errors import BudgetError, ExtbnslError
from extbnsl.core.events import Committed, Warned
from extbnsl.files import names
from extbnsl.files.arrays import NAMES, StoredFile, load_hdf5
from extbnsl.files.manifest import Manifest, RunState, Spent, commit
from extbnsl.files.shelf import Shelf, write_lists
from extbnsl.machine.budgets import cpu_seconds
from extbnsl.machine.system import peak_rss
from extbnsl.machine.workers import Patience, Stopped
from extbnsl.parents.exhaustive.state import Enumeration
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.context import Context
from extbnsl.proof.pieces import write_search
from extbnsl.proof.standing import FamiliesSoFar, Improvement, SoFar, Standing, StoredScores, read_standing
from extbnsl.search.state import SearchState

COMMIT_SECONDS = 60.0
COMMIT_SHARE = 1 / 40  # of the time, at most, that commits may take
LOAD_SECONDS = 1.0
STOP_SECONDS = 2.0  # that writing may go on for when it is time to stop
UNSAVED_BYTES = 128 << 20  # half a second to write


@dataclass(frozen=True)
class Record:
    """Where commits go.

    folder: a run directory.
    about: the state of the run before it begins, which says what is asked.
    files: those of the commit that the run goes on from.
    spent: what the processes before have taken.
    """

    folder: Path
    about: RunState
    files: tuple[StoredFile, ...] = ()
    spent: Spent = field(default_factory=Spent)


K = TypeVar("K", bound=SoFar)


class Checkpoints(Generic[K]):
    """A standing, and its commits by one process of a run; without a record there are none, and nothing else changes.
    Without disk one is tried at the end alone. `stored` is for those who know what the standing has to put into files.

    start: makes the standing of a run that begins. read: takes that of a run which goes on from its manifest, the
    arrays from files in a folder, long ones on a shelf; it is over so many variables.
    """

    start: Callable[[], K]
    read: Callable[[Manifest, Path, Shelf, int], K]

    def __init__(self, standing: K, context: Context, record: Record | None = None) -> None:
        self.standing, self.store, self.observer = standing, context.store, context.observer
        self._before = Spent(stages=context.stages.seconds) if record is None else record.spent
        self._record, self._context = record, context
        self._started = self._last = time.monotonic()
        self.possible = record is not None and self.store.disk > 0  # whether there is a place for them
        self._taken = 0.0  # seconds that the last commit took
        self._committed = self.store.files if record is None else record.files  # those of others stay

    def pause(self) -> float:
        """After how many seconds so much work would be lost that a commit is worth its time."""
        return COMMIT_SECONDS

    def due(self) -> bool:
        """Whether it is time for a commit. To be asked again and again: a run that lasts loads HDF5 by the way, which
        may fail later, when memory is scarce, and which a run that is soon over has no use for."""
        elapsed = time.monotonic() - self._last
        if elapsed > LOAD_SECONDS and self.store.in_use:
            load_hdf5()
        return self.possible and elapsed > max(self.pause(), self._taken / COMMIT_SHARE)

    def stored(self) -> tuple[StoredFile, ...]:
        """The files that the standing needs, those among them that were not there before having been written."""
        raise NotImplementedError

    def look(self) -> None:
        """Notice what is new in the standing, for the statistics."""

    def commit(self, status: str | None = None) -> None:
        """Commit the standing; `status` says why the process ends, if it does.

        Raises BudgetError if the disk is full; then the commit before stands.
        """
        if self._record is None:
            return
        began = time.monotonic()
        needed = set(self.stored())
        files = tuple(file for file in self.store.files if file in needed)
        self._write(self.standing, files, status)
        self._last = time.monotonic()
        self._taken = self._last - began
        self.observer(Committed(self._taken, self.store.used))

    def follow(self, enumeration: Enumeration) -> None:
        """Let the standing have how far the families are counted, as long as they are."""
        if not enumeration.done:
            self.standing.enumeration = enumeration
            self.commit_if_due()

    def commit_if_due(self) -> None:
        """Commit if it is time, and notice what is new; when the disk is full, the work is over for now: Stopped."""
        self.look()
        if self.due():
            self.commit_or_stop()

    def commit_or_stop(self) -> None:
        """Commit; when the disk is full, the work is over for now: Stopped."""
        try:
            self.commit()
        except BudgetError as error:
            raise Stopped(DISK_LIMIT) from error

    def last_commit(self, status: str) -> None:
        """Commit at the end of the process; if that fails, warn that the commit before stands, and keep its files."""
        try:
            self.commit(status)
        except (ExtbnslError, MemoryError) as error:
            self.observer(Warned(f"{sentence(error)} What was done since the last checkpoint is lost."))
            with contextlib.suppress(ExtbnslError):
                self.store.keep_only(self._committed)

    def finish(self, status: str) -> None:
        """Say that the run is over, and delete what it needed; if that fails, warn that it stays."""
        try:
            if self._record is not None:
                self._write(self.standing.ended(), (), status)
            self.store.clear()
        except (ExtbnslError, MemoryError) as error:
            self.observer(Warned(f"{sentence(error)} The last checkpoint stays; 'extbnsl clean' deletes it."))

    def elapsed(self) -> float:
        """Seconds of all processes of the run so far."""
        return self._before.seconds + time.monotonic() - self._started

    def taken(self) -> dict[str, Any]:
        """What the run has taken, for the statistics of a result."""
        spent = self.spent
        return {
            "seconds": spent.seconds,
            "cpu_seconds": spent.cpu_seconds,
            "peak_rss_bytes": spent.peak_rss,
            "peak_disk_bytes": spent.peak_disk,
        }

    @property
    def spent(self) -> Spent:
        """What the run has taken by now."""
        return Spent(
            stages=self._before.stages,
            seconds=self.elapsed(),
            cpu_seconds=self._before.cpu_seconds + cpu_seconds(),
            peak_rss=max(self._before.peak_rss, peak_rss()),
            peak_disk=max(self._before.peak_disk, self.store.peak),
        )

    def stored_counting(self) -> tuple[StoredFile, ...]:
        """Put the enumeration into files, and return those to be kept for it.

        Where that cannot be, or would make a stop wait, the enumeration of before stays; with the files that are begun,
        or else a process that is always stopped before such a commit ends would never get further.
        """
        enumeration, before = self.standing.enumeration, self.standing.counting
        if enumeration is None or (before is not None and before.counters == enumeration.counters):
            return self._committed
        from extbnsl.parents.exhaustive.stored import files_begun, write_enumeration

        patience = Patience(self._context.workers.stop, STOP_SECONDS)
        stored = write_enumeration(enumeration, self.store, patience.over, self._context.shelf.touched)
        if stored is None:
            return (*(() if before is None else before.files), *files_begun(enumeration, self.store))
        self.standing.counting = stored
        return stored.files

    def _write(self, standing: SoFar, files: tuple[StoredFile, ...], status: str | None) -> None:
        assert self._record is not None, "there is a run directory"
        state = replace(
            self._record.about,
            status=status,
            phase=standing.phase,
            upper_bound=standing.upper_bound,
            lower_bound=standing.lower_bound,
            seconds_left=getattr(standing, "seconds_left", None),
            spent=self.spent,
            standing=encode(standing, NAMES),
        )
        self._committed = (*self._committed, *files)  # if this fails, either may be the checkpoint
        commit(self._record.folder, self.store, Manifest(state, files, self.store.scratch))
        self._committed = files


F = TypeVar("F", bound=FamiliesSoFar)


class FamilyCheckpoints(Checkpoints[F]):
    """Those of a run that goes on from all families, once they are counted."""

    def keep(self, survivors: Survivors) -> Survivors:
        """Let the standing have all families, and return them; with the reason to stop if that cannot be committed."""
        now, held = self.standing, self.standing.counting
        now.survivors, now.counting, now.enumeration = survivors, None, None
        try:
            if held is None:
                self.commit_if_due()
            else:
                self.commit_or_stop()  # the search is to have the room that the files of counting take
        except Stopped as stop:
            return replace(survivors, stopped=stop.reason)
        return survivors

    def stored_families(self, name: str = names.SCORES) -> tuple[StoredFile, ...]:
        """The files of the families, named so if they are written now, or of counting as long as they are not known."""
        standing = self.standing
        if standing.survivors is None:
            return self.stored_counting()
        if standing.scores is None:
            known, scores = standing.survivors, standing.survivors.scores
            own = scores.names, scores.score, scores.max_parents, known.stopped, known.varsets
            standing.scores = StoredScores(*own, write_lists(self.store, name, scores.parents, scores.costs))
        return standing.scores.files


class Commits(FamilyCheckpoints[Standing]):
    """Those of a solve."""

    start = Standing
    read = staticmethod(partial(read_standing, kind=Standing))

    @property
    def unsaved(self) -> float:
        """How many bytes of the search may be in memory alone; infinity if nothing is ever committed."""
        return UNSAVED_BYTES if self.possible else math.inf

    def stored(self) -> tuple[StoredFile, ...]:
        """The files of scores, counting and the search."""
        standing, families = self.standing, self.stored_families()
        if standing.search is not None and standing.search.file is None:
            standing.version += 1
            standing.search = write_search(standing.search, standing.version, self.store)
        return (*families, *(() if standing.search is None else standing.search.files))

    def look(self) -> None:
        """Notice a better network in the standing."""
        now = self.standing
        if now.parts and (now.improved is None or now.upper_bound < now.improved.cost):
            now.improved = Improvement(now.upper_bound, self.elapsed(), now.lower_bound)

    def layer_ended(self, state: SearchState) -> None:
        """Delete what neither `state` nor the last commit needs; no task may be at work."""
        self.look()
        self.store.keep_only((*self._committed, *state.files))

    def search_left(self) -> None:
        """Delete what the last commit does not need; no task may be at work."""
        self.store.keep_only(self._committed)


def sentence(error: ExtbnslError | MemoryError) -> str:
    """What to say of a commit that fails."""
    return "There is no memory to write a checkpoint." if isinstance(error, MemoryError) else str(error)
