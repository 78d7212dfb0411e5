"""`extbnsl status`: what a run is doing, or how it ended."""

import argparse

from extbnsl.cli import options
from extbnsl.cli.saying import say
from extbnsl.core.codec import json_text
from extbnsl.run.status import read_status

EPILOG = """\
Tells at once, and without disturbing the run, what it is doing or how it
ended: the state, the layer, bounds, memory, disk, time, what approximate has
left of its time, and the command that goes on with it, if it can be resumed.

example:
  extbnsl status wdbc.run
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    options.add_shared(parser, "run")
    parser.add_argument("--json", action="store_true", help=options.AS_JSON)


def run(given: argparse.Namespace) -> int:
    """Print the status; the exit code."""
    status = read_status(given.run)
    say(json_text(status.document, indent=1) if given.json else "\n".join(status.lines()))
    return 0
