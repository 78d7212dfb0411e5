"""The parser of all commands, each of which is asked for what it takes when it is given."""

import argparse
import contextlib
import difflib
import functools
import importlib
import io
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from extbnsl.cli.completion import SHELLS, Completion
from extbnsl.core.errors import ExtbnslError, InputError
from extbnsl.core.figures import fitted
from extbnsl.core.version import __version__

COMMANDS = {
    "solve": "find the network of least cost and prove it",
    "kbest": "find the k best networks, and the arcs that they share",
    "posterior": "tell how likely arcs and families are, over all networks there are",
    "resume": "go on with a run that was stopped or killed",
    "status": "tell what a run is doing, or how it ended",
    "clean": "delete what a run needs only to be resumed",
    "verify": "check a result against its data",
    "describe": "tell what the columns of data hold, and what is odd about them",
    "estimate": "tell the memory, disk and time that a solve needs",
    "score": "compute the local scores of data and write them to a file",
    "order": "find the best network under an order of the variables",
    "approximate": "find a good network of many variables in a given time",
    "score-network": "say how likely new records are by a network",
    "query": "say how likely states are by a network, given others",
    "cost": "tell what a given network costs, beside the best one",
    "compare": "tell how two networks differ",
    "why": "tell why an arc is there, or is not",
    "export": "write a network for another program",
    "campaign": "run many data sets by many methods, and report on it",
    "plot": "draw the layers of a search, the k best networks, or the network",
    "report": "write a page about a run and its network",
    "warm": "compile the inner loops of all commands, before there is work",
}
# those that need the compiler
COMPILING = ("solve", "kbest", "posterior", "resume", "verify", "estimate", "score", "order", "approximate")
CLOSE = 0.75  # how alike a word and the one that may have been meant are, at least: not bic and aic
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


class Parser(argparse.ArgumentParser):
    """A parser whose usage errors are one sentence and end with the exit code of bad input."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does, but what nobody knows is an error of the command that it was given to."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser = getattr(found, "parser", self)
            hint = did_you_mean(unknown[0].split("=")[0], parser._option_string_actions)
            parser.error(f"unrecognised: {' '.join(unknown)}{hint}")
        return found

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            hint = did_you_mean(str(value), action.choices) or f"; choose from {', '.join(action.choices)}"
            raise argparse.ArgumentError(action, f"{str(value)!r} is not known{hint}")

    def error(self, message: str) -> NoReturn:
        sentence = f"{self.prog}: {message}; '{self.prog} --help' shows what can be given."
        self.exit(InputError.exit_code, f"{fitted(sentence, sys.stderr)}\n")


class Command(Parser):
    """The parser of a command, whose module is not loaded before the command is given.

    words: the positional argument, with nargs="*", whose words may stand behind options too, where argparse knows none.
    """

    words = ""

    def filled(self) -> "Command":
        """The parser, once its module has added what the command takes."""
        if self.epilog is None:
            name = self.prog.rpartition(" ")[2]
            module = importlib.import_module(f"extbnsl.cli.{name.replace('-', '_')}")
            self.epilog = module.EPILOG
            self.set_defaults(command=module.run, compiles=name in COMPILING, parser=self)
            module.add(self)
        return self

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does, when all is there that may be given."""
        found, unknown = super(Command, self.filled()).parse_known_args(args, namespace)
        if self.words:
            more = [word for word in unknown if not word.startswith("-")]
            setattr(found, self.words, [*getattr(found, self.words), *more])
            unknown = [word for word in unknown if word.startswith("-")]
        return found, unknown


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question about the known word that is closest to one that is not; empty if none is close."""
    close = difflib.get_close_matches(word.lower(), list(known), 1, CLOSE)
    return f"; did you mean {close[0]}?" if close else ""


@functools.cache
def command_parser() -> Parser:
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
    commands = made.add_subparsers(metavar="COMMAND", required=True, parser_class=Command)
    for name, text in COMMANDS.items():
        commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    return made
