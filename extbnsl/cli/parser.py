"""The parser of all commands."""

import argparse
import contextlib
import functools
import io
from collections.abc import Sequence

from extbnsl.cli import (
    approximate,
    campaign,
    clean,
    estimate,
    export,
    kbest,
    order,
    plot,
    report,
    resume,
    score,
    score_network,
    solve,
    status,
    verify,
)
from extbnsl.cli.completion import SHELLS, Completion
from extbnsl.cli.options import Parser
from extbnsl.core.errors import ExtbnslError
from extbnsl.core.version import __version__

COMMANDS = (
    *(solve, kbest, resume, status, clean, verify, estimate, score, order, approximate),
    *(score_network, export, campaign, plot, report),
)
DESCRIPTION = "Learn the provably optimal Bayesian network structure of a discrete data set."
EPILOG = """\
Costs are in nats and minimised; the score is MDL (minus BIC) unless --score
says otherwise.

exit codes:
   0  done; for solve and resume: proved optimal
  10  stopped at a limit or a signal, with a network and bounds; resume goes on
  11  for verify: holds as far as it was checked, but something is only claimed
  20  out of memory, disk or time before there was a network
  30  bad input or usage
  31  a run directory that is damaged or in use, or a result that does not hold
  32  another program, which --method names, is missing or failed
  40  internal error
 130  interrupted before there was anything to write, or interrupted twice

example:
  extbnsl solve wdbc.csv --time-limit 1h && extbnsl verify wdbc.run wdbc.csv
"""


def usage_error(arguments: Sequence[str]) -> str | None:
    """What is wrong with a command line, without the program's name; None if nothing is. Nothing is printed."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            command_parser().parse_args(arguments)
    except SystemExit:
        return said.getvalue().partition(": ")[2].partition("; 'extbnsl")[0].strip() or "That is no run."
    except ExtbnslError as error:
        return str(error)
    return None


@functools.cache
def command_parser() -> argparse.ArgumentParser:
    """The parser, made once; what it parses has `command`, the function to call with it."""
    made = Parser(prog="extbnsl", description=DESCRIPTION, epilog=EPILOG)
    made.add_argument("--version", action="version", version=f"extbnsl {__version__}")
    made.add_argument(
        "--completion",
        action=Completion,
        choices=SHELLS,
        metavar="SHELL",
        help="print a script that completes command lines in bash, zsh or fish, and exit",
    )
    made.set_defaults(usage_error=usage_error)  # for the command that checks the command lines of others
    commands = made.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return made
