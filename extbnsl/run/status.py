"""What a run is doing, as others can tell from its directory: from status.json, which the run keeps up to date, its
manifest and its result.

Reading needs the standard library alone, and neither waits for the run nor disturbs it.
"""

import math
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from extbnsl.core.claims import FINISHED, tolerance
from extbnsl.core.codec import decode_some, json_value
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.core.figures import counted, format_count, format_size, format_time
from extbnsl.files.atomic import read_regular
from extbnsl.files.journal import read_lines
from extbnsl.files.lock import holder
from extbnsl.files.manifest import APPROXIMATE, DONE, Manifest, RunState, has_more_to_find, read_manifest
from extbnsl.files.names import MANIFEST, RESAMPLES, RESULT, STATUS
from extbnsl.results.facts import Fact, bounds_told
from extbnsl.results.reading import network_written, read_result
from extbnsl.run.directory import check_run, resume_command
from extbnsl.run.progress import STATUS_ADDED, STATUS_NUMBERS, STATUS_TEXTS

MOST_BYTES = 1 << 20  # of status.json
STALE_SECONDS = 60.0  # a living process that has not written for this long is worth a remark

_BOUNDS = ("lower_bound", "upper_bound")
_KINDS = dict.fromkeys(STATUS_TEXTS, str | None) | dict.fromkeys(STATUS_NUMBERS, float | None)


@dataclass(frozen=True)
class Status:
    """What can be told of a run from its directory: `document`, as JSON values by key.

    state: 'running', 'done', 'stopped' (in good order), 'killed' or 'unknown'. resume: the command that goes on with
    it, None if none does. age_seconds: since status.json was written, whose keys are there too. seconds_left: those
    that a run of `approximate` had at its last checkpoint. resamples_done, resamples: how many resamples are done, of
    how many that were asked for; None of a run without. notes: sentences on what is damaged or odd.
    """

    state: str
    ended: str | None
    resume: str | None
    document: Mapping[str, Any]

    def lines(self) -> Iterator[str]:
        """All of it for a person, one subject a line."""
        return (Fact(subject, text).line for subject, text in _rows(self.document) if text)


def read_status(path: Path, now: Callable[[], float] = time.time) -> Status:
    """What the run in `path` is doing, or how it ended; damaged files cost what they say and get a note.

    Raises InputError if `path` is no run directory.
    """
    check_run(path)
    notes: list[str] = []
    lock = holder(path)
    manifest = _noted(notes, lambda: read_manifest(path)) if (path / MANIFEST).exists() else None
    result = _noted(notes, lambda: read_result(path)) if (path / RESULT).exists() else None
    told = _noted(notes, lambda: _read_told(path / STATUS)) if (path / STATUS).exists() else None
    if told is not None and lock.holds and told["process"] != lock.process:
        told = None  # of an earlier session: this one has not begun to write
    done = finished(result, manifest)
    ended = str(result["status"]) if result is not None and done else _how_it_ended(told, manifest, result)
    state = _state(lock.holds, done, ended)
    age = None if told is None else max(0.0, now() - datetime.fromisoformat(told["updated"]).timestamp())
    known = _merged(told, manifest, result, done)
    if state in ("done", "stopped"):
        known["disk"] = 0 if manifest is None else sum(file.bytes for file in manifest.files)
    asked = None if manifest is None else manifest.state.scope.get("bootstrap")
    resamples = asked if isinstance(asked, int) else None
    notes += _remarks(path, manifest, state, age)
    if state == "done" and manifest is not None and result is not None and network_written(path, result) is None:
        notes.append(f"The files of the network were not all written; '{resume_command(path)}' writes them.")
    ended = ended if state in ("done", "stopped") else None
    resume = resume_command(path) if manifest is not None and state not in ("running", "done") else None
    own = {
        "run": str(path),
        "state": state,
        "process": lock.process if lock.holds else None,
        "ended": ended,
        "age_seconds": age,
        "seconds_left": None if done or manifest is None else manifest.state.seconds_left,
        "resamples_done": None if resamples is None else _noted(notes, lambda: len(read_lines(path / RESAMPLES))),
        "resamples": resamples,
        "resume": resume,
        "phase": None if manifest is None else manifest.state.phase,
        "notes": notes,
    }
    return Status(state, ended, resume, own | {key: value for key, value in known.items() if key not in own})


def finished(result: Mapping[str, Any] | None, manifest: Manifest | None) -> bool:
    """Whether `result` is the last word on a run, so that resuming it could add nothing."""
    if result is None:
        return False
    if manifest is None:
        return result.get("status") in FINISHED
    if manifest.state.phase != DONE:  # an approximation may have been given more time
        return manifest.state.kind != APPROXIMATE and result.get("status") in FINISHED
    return bool(result.get("status") == manifest.state.status) and not _found_better(result, manifest.state)


def _found_better(result: Mapping[str, Any], state: RunState) -> bool:
    """Whether an approximation has gone on since this result, to a better network, and was killed before its own."""
    cost, best = result.get("cost"), state.upper_bound
    if state.kind != APPROXIMATE or not isinstance(cost, int | float) or math.isinf(best):
        return False
    return cost > best + 2.0 * tolerance(best)


def finished_result(path: Path) -> dict[str, Any] | None:
    """The document of result.json if it is the last word on the run in `path`."""
    result: dict[str, Any] | None = _noted([], lambda: read_result(path))
    return result if finished(result, _noted([], lambda: read_manifest(path))) else None


def can_go_on(path: Path) -> bool:
    """Whether the run in `path`, which is finished, may find a better network in more time."""
    manifest = _noted([], lambda: read_manifest(path))  # a finished run needs none
    return manifest is not None and manifest.state.kind == APPROXIMATE and has_more_to_find(manifest.state)


def _read_told(file: Path) -> dict[str, Any]:
    """The content of status.json; RunDirectoryError if it is not what a run writes."""
    try:
        told = dict.fromkeys(STATUS_ADDED) | json_value(read_regular(file, MOST_BYTES))
        decode_some(_KINDS, {key: told[key] for key in _KINDS})
        datetime.fromisoformat(told["updated"])
    except OSError as error:
        raise RunDirectoryError(f"{file} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError, KeyError) as error:
        raise RunDirectoryError(f"{file} is damaged; it is of no importance for resuming.") from error
    return dict(told)


def _noted(notes: list[str], read: Callable[[], Any]) -> Any:
    """What `read` returns; None, and a note, if it fails as damaged files do."""
    try:
        return read()
    except (InputError, RunDirectoryError) as error:
        notes.append(str(error))
        return None


def _how_it_ended(
    told: Mapping[str, Any] | None, manifest: Manifest | None, result: Mapping[str, Any] | None
) -> str | None:
    """What the last session said when it ended; None if it did not, or nothing is known."""
    if told is not None:
        return told["ended"]
    how = (None if manifest is None else manifest.state.status) or (result or {}).get("status")
    return None if how is None else str(how)


def _state(held: bool | None, done: bool, ended: str | None) -> str:
    if held:
        return "running"
    if done:
        return "done"
    if ended is not None:
        return "stopped"
    return "unknown" if held is None else "killed"


def _remarks(path: Path, manifest: Manifest | None, state: str, age: float | None) -> Iterator[str]:
    if state == "running" and age is not None and age > STALE_SECONDS:
        yield "The process lives but has not written for a while: it is suspended, or cannot write."
    if state not in ("running", "done") and not (path / MANIFEST).exists():
        yield "There is no checkpoint to resume the run from; start it again."
    scratch = None if manifest is None or state == "done" or not manifest.files else manifest.scratch
    if scratch is not None and not scratch.folder.is_dir():
        yield f"The run's scratch folder {scratch.path} is not there; bring it back before resuming."


def _merged(
    told: Mapping[str, Any] | None, manifest: Manifest | None, result: Mapping[str, Any] | None, done: bool
) -> dict[str, Any]:
    """The content of status.json, with bounds and seconds from elsewhere where that knows more.

    A result that is the last word has the best bounds; that of an earlier stop may have the only ones.
    """
    known: dict[str, Any] = {}
    if manifest is not None:
        state = manifest.state
        known = {"elapsed": state.spent.seconds, "lower_bound": state.lower_bound, "upper_bound": state.upper_bound}
    of_result = {key: (result or {}).get(key) for key in _BOUNDS}
    merged: dict[str, Any] = dict.fromkeys(_KINDS)
    for source in (of_result, known, told or {}, of_result if done else {}):
        merged |= {key: value for key, value in source.items() if key in STATUS_TEXTS or _is_number(value)}
    return merged


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < 1e300


def _rows(told: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """What there is to say, as (subject, text); the text is None where nothing is known."""
    yield "run", told["run"]
    yield "state", _state_text(told)
    yield "continue", told["resume"]
    yield "doing", told["doing"] or "starting" if told["state"] in ("running", "unknown") else None
    yield "layer", _layer_text(told)
    if None not in (told["lower_bound"], told["upper_bound"]):
        yield "bounds", bounds_told(told["lower_bound"], told["upper_bound"])
    if (done := told["resamples_done"]) is not None:
        yield "resamples", f"{done:,} of {told['resamples']:,} done"
    yield "workers", _workers_text(told)
    yield "memory", _memory_text(told)
    yield "disk", None if told["disk"] is None else format_size(told["disk"])
    yield "elapsed", None if told["elapsed"] is None else format_time(told["elapsed"])
    if (left := told["seconds_left"]) is not None:
        yield "left", f"{format_time(left)}, at the last checkpoint"
    yield "checkpoint", None if told["committed"] is None else f"at {format_time(told['committed'])}"
    if (age := told["age_seconds"]) is not None:
        yield "updated", f"{age:.0f} s ago" if age < 100 else f"{format_time(age)} ago"
    for note in told["notes"]:
        yield "note", note


def _state_text(told: Mapping[str, Any]) -> str:
    state, how = told["state"], told["ended"] or ""
    how = how if " " in how else how.replace("_", " ")  # a status, not a sentence
    if state == "running":
        place = f" on {told['host']}" if told["host"] not in (None, platform.node()) else ""
        return f"running, process {told['process'] or 'unknown'}{place}"
    if state == "killed":
        return "not running; it ended without a message (killed, or power failure)"
    if state == "unknown":
        return "whether it is running cannot be told: its lock cannot be looked at"
    return f"{state}: {how}" if how else str(state)


def _layer_text(told: Mapping[str, Any]) -> str | None:
    if None in (told["layer"], told["layers"], told["generated"], told["kept"]):
        return None
    part = f", component {told['component']} of {told['components']}" if (told["components"] or 1) > 1 else ""
    spilled = f", {format_count(told['spilled'])} spilled" if told["spilled"] else ""
    counts = f"{format_count(told['generated'])} generated, {format_count(told['kept'])} kept{spilled}"
    return f"{told['layer']} of {told['layers']}{part}: {counts}"


def _workers_text(told: Mapping[str, Any]) -> str | None:
    if None in (told[key] for key in ("workers", "worker_threads", "tasks", "bytes_sent", "bytes_received")):
        return None
    lost = f", {told['workers_lost']:,} lost" if told["workers_lost"] else ""
    way = f"{format_size(told['bytes_sent'])} sent, {format_size(told['bytes_received'])} received"
    return f"{told['workers']:,} with {counted(told['worker_threads'], 'thread')}{lost}; {told['tasks']:,} tasks, {way}"


def _memory_text(told: Mapping[str, Any]) -> str | None:
    if None in (told["rss_bytes"], told["peak_rss_bytes"]):
        return None
    own = "" if told["memory"] is None else f", {format_size(told['memory'])} of it the solver's own"
    return f"{format_size(told['rss_bytes'])}{own}; at most {format_size(told['peak_rss_bytes'])}"
