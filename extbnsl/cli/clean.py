"""`extbnsl clean`: delete what a run needs only to be resumed."""

import argparse
from pathlib import Path

from extbnsl.cli import options
from extbnsl.cli.saying import remark, say, say_sentence
from extbnsl.core.errors import ExtbnslError
from extbnsl.core.figures import format_size
from extbnsl.files.manifest import read_manifest
from extbnsl.files.names import MANIFEST, RESULT
from extbnsl.run.directory import remove_scratch, reopen, scratch_files
from extbnsl.run.status import can_go_on, finished_result

EPILOG = """\
Lists the checkpoint of a run: its manifest, its working files, here or in its
scratch folder, and temporary files; deletes them with --yes. The result, the
network, the logs and whatever no run has written are never touched.

example:
  extbnsl clean wdbc.run --yes
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    options.add_shared(parser, "run")
    parser.add_argument("--yes", action="store_true", help="delete it; without this it is only listed")


def run(given: argparse.Namespace) -> int:
    """List the files, and delete them if that was asked for; the exit code."""
    with reopen(given.run) as run:
        for warning in (*run.warnings, *_doubts(run.path)):
            remark(warning)
        files = scratch_files(run.path)
        if not files:
            say_sentence(f"{run.path} holds nothing that only a resume needs.")
            return 0
        sizes = [file.stat().st_size for file in files]
        for file, size in zip(files, sizes, strict=True):
            say(f"{format_size(size):>10}  {file}")
        say(f"{format_size(sum(sizes)):>10}  in all")
        say_sentence(_meaning(run.path))
        if given.yes:
            remove_scratch(run.path)
        say("Deleted." if given.yes else "Nothing was deleted; give --yes to delete these files.")
    return 0


def _doubts(path: Path) -> list[str]:
    try:
        if (path / MANIFEST).exists():
            read_manifest(path)
    except ExtbnslError as error:
        return [f"{error} The files of the run in a scratch folder, if it has one, are not found."]
    return []


def _meaning(path: Path) -> str:
    if finished_result(path) is not None:
        lost = "more time has nothing to go on from" if can_go_on(path) else "nothing is lost"
        return f"The run is finished: without these files {lost}."
    kept = "its result so far stays" if (path / RESULT).exists() else "it has no result yet"
    return f"The run is not finished: without these files it cannot be resumed any more; {kept}."
