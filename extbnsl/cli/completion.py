"""`extbnsl --completion`: a script that lets a shell complete commands, options, choices and files."""

import argparse
from collections.abc import Iterator
from typing import Any

from extbnsl.cli.console import say

SHELLS = ("bash", "zsh", "fish")
FOLDERS = ("DIR", "RUN")  # metavars
FILES = ("INPUT", "DATA", "FILE", "RESULT")


class Completion(argparse.Action):
    """Prints the script for a shell, and ends the process."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        say(completion(parser, str(values)).rstrip("\n"))
        parser.exit()


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script that completes the command lines of a parser in a shell of SHELLS; the parser is marked for it."""
    import shtab

    for action in _actions(parser):
        kind = shtab.DIRECTORY if action.metavar in FOLDERS else shtab.FILE if action.metavar in FILES else None
        if kind is not None:
            action.complete = kind  # type: ignore[attr-defined]  # where shtab looks
    return shtab.complete(parser, shell)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments of a parser and of its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
        else:
            yield action
