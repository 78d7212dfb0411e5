"""`extbnsl --completion`: a script that lets a shell complete commands, options, choices and files."""

import argparse
from collections.abc import Iterator
from typing import Any

from extbnsl.cli.saying import say

SHELLS = ("bash", "zsh", "fish")
FOLDERS = ("DIR", "RUN")  # metavars
FILES = ("INPUT", "DATA", "FILE", "RESULT", "PARENT,CHILD|FILE", "NETWORK", "A", "B")
# How each shell completes a path, blanks and quotes in it too. In bash, what completes files must say so by its name.
FILE = {"bash": "_extbnsl_files", "zsh": "_files", "fish": "(_extbnsl_files)"}
FOLDER = {"bash": "_extbnsl_dirs", "zsh": "_files -/", "fish": "(__fish_complete_directories)"}
FUNCTIONS = {
    "bash": """
_extbnsl_files() { compgen -f -- "$1"; }
_extbnsl_dirs() { compgen -d -- "$1"; }
""",
    "fish": """
function _extbnsl_files
  # After a command that does not exist, fish completes files.
  complete -C "extbnsl_has_no_such_command "(commandline -ct)
end
""",
}


class Completion(argparse.Action):
    """Prints the script for a shell, and ends the process."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        say(completion(parser, str(values)).rstrip("\n"))
        parser.exit()


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script that completes the command lines of a parser in a shell of SHELLS; the parser is marked for it."""
    import shtab

    for action in _actions(parser):
        kind = FOLDER if action.metavar in FOLDERS else FILE if action.metavar in FILES else None
        if kind is not None:
            action.complete = kind  # type: ignore[attr-defined]  # where shtab looks
    made = shtab.complete(parser, shell, preamble=FUNCTIONS.get(shell, ""))
    # shtab's script for zsh can be read by `eval`, but not by `source`, which people have in their .zshrc.
    return made.replace("[[ $zsh_eval_context[-1] == eval ]]", "[[ $zsh_eval_context[-1] == (eval|file) ]]")


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments of a parser and of its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command.filled())
        else:
            yield action
