"""What is printed of a result, from the document that is in result.json."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from extbnsl.claims import OPTIMAL
from extbnsl.errors import RunDirectoryError
from extbnsl.files.names import RESULT
from extbnsl.scores.known import SCORES

STOPPED = 10


def exit_code(document: Mapping[str, Any]) -> int:
    """The exit code of a command that ended with this result."""
    return 0 if document.get("status") == OPTIMAL else STOPPED


def final_line(document: Mapping[str, Any], folder: Path) -> str:
    """The result in one line; RunDirectoryError if the document is not one."""
    with damage_told(folder):
        return (
            f"{document['status']}: cost {document['cost']:.6f} nats, lower bound {document['lower_bound']:.6f}, "
            f"{_arcs(document)} arcs, in {folder}"
        )


def summary(document: Mapping[str, Any], folder: Path) -> str:
    """The result in a few lines; RunDirectoryError if the document is not one."""
    with damage_told(folder):
        return "\n".join(f"{subject:12} {text}" for subject, text in _rows(document, folder) if text)


def _rows(document: Mapping[str, Any], folder: Path) -> list[tuple[str, str]]:
    from extbnsl.files.names import OUTPUTS
    from extbnsl.run.wording import format_gap

    lower, upper = document["lower_bound"], document["upper_bound"]
    limit = "" if document["max_parents"] is None else f", at most {document['max_parents']} parents each"
    score = SCORES[document["score"]].title if document["score"] in SCORES else "minus the scores of the file"
    files = ", ".join(name for name in OUTPUTS if (folder / name).exists())
    return [
        ("status", document["status"].replace("_", " ")),
        ("cost", f"{document['cost']:.6f} nats ({score}, minimised)"),
        ("bounds", f"{lower:.6f} to {upper:.6f} (gap {format_gap(lower, upper)})"),
        ("network", f"{len(document['variables'])} variables, {_arcs(document)} arcs{limit}"),
        ("written", f"{folder}{os.sep}: {files}"),
        ("continue", _continuation(folder)),
    ]


def _arcs(document: Mapping[str, Any]) -> int:
    return sum(map(len, document["parents"].values()))


def _continuation(folder: Path) -> str:
    """The command that goes on with the run; empty if there is nothing to go on with."""
    from extbnsl.files.names import MANIFEST
    from extbnsl.run.directory import resume_command
    from extbnsl.run.status import finished_result

    resumable = (folder / MANIFEST).exists() and finished_result(folder) is None
    return resume_command(folder) if resumable else ""


@contextlib.contextmanager
def damage_told(folder: Path) -> Iterator[None]:
    """Tell what fails in the block because the document is no result as RunDirectoryError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunDirectoryError(f"{folder / RESULT} is damaged or no result of a solve.") from error
