"""Write the tables of docs/options.md between its marks from the options that dataclasses declare.

    python tools/make_option_tables.py

A mark `<!-- options: budgets -->` begins the tables of a group, `<!-- end -->` ends them: a table for the commands that
have the same options with the same defaults, in the words of the help.
"""

import argparse
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import extbnsl
from extbnsl.cli.parser import command_parser
from extbnsl.core.data_options import DataOptions
from extbnsl.core.options import Declared, declared
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.parents.ordered.methods import OrderMethods
from extbnsl.posteriors.scope import PosteriorScope
from extbnsl.proof.methods import Methods
from extbnsl.scores.known import CLAIM_OPTIONS
from extbnsl.solver.methods import ApproximateMethods, Resamples
from extbnsl.solver.place import Place

PAGE = Path(__file__).resolve().parents[1] / "docs" / "options.md"
GROUPS: dict[str, dict[str, Declared]] = {
    "claim": CLAIM_OPTIONS,
    "budgets": declared(Budgets) | declared(Place),
    "data": declared(DataOptions),
    "methods": declared(Methods),
    "resamples": declared(Resamples),
    "the k best": declared(Scope),
    "posteriors": declared(PosteriorScope),
    "order": declared(OrderMethods),
    "approximate": declared(ApproximateMethods),
}
OWN = {
    "knowledge": "`--knowledge`: a dict of lists as in the file, the path of one, or an object as `ExpertKnowledge`",
    "names": "names of the columns of an array",
    "progress": "`True` writes the lines of the command line to standard error; or a function that gets events",
}  # what Python alone has
MARKED = re.compile(r"(<!-- options: ([\w ]+) -->\n).*?(?=<!-- end -->)", re.DOTALL)
ARGUMENTS = re.compile(r"(<!-- arguments of learn -->\n).*?(?=<!-- end -->)", re.DOTALL)
DEFAULT = re.compile(r" \(default: (.*)\)$")


def page() -> str:
    """The page with its tables as the options are declared now."""
    text = MARKED.sub(lambda mark: mark[1] + "".join(_tables(GROUPS[mark[2]])), PAGE.read_text())
    return ARGUMENTS.sub(lambda mark: mark[1] + "".join(_arguments()), text)


def _tables(group: dict[str, Declared]) -> Iterator[str]:
    """The tables of a group: a row goes to the table of the commands that have it, in the order of the first row."""
    rows: dict[str, list[str]] = {}
    for one in group.values():
        row: str
        commands: list[str]
        for row, commands in _rows(one).items():
            rows.setdefault(", ".join(f"`{command}`" for command in commands), []).append(row)
    for commands_told, own in rows.items():
        yield f"\nFor: {commands_told}\n\n| option | default | |\n|---|---|---|\n" + "".join(own)
    yield "\n"


def _arguments() -> Iterator[str]:
    """The table of the keywords of `learn`, each with the option that it is."""
    options = {one.name: one.flag for group in GROUPS.values() for one in group.values()}
    options |= {"method": "--method", "knowledge": "--knowledge"}
    yield "\n| argument | default | as the option |\n|---|---|---|\n"
    for one in list(inspect.signature(extbnsl.learn).parameters.values())[1:]:
        usual = f'"{one.default}"' if isinstance(one.default, str) else one.default
        told = OWN.get(one.name, f"`{options[one.name]}`" if one.name in options else "")
        yield f"| `{one.name}` | `{usual}` | {told} |\n"
    yield "\n"


def _rows(one: Declared) -> dict[str, list[str]]:
    """The rows of an option, each with the commands for which it says so."""
    (commands,) = (a for a in command_parser()._actions if isinstance(a, argparse._SubParsersAction))
    found: dict[str, list[str]] = {}
    for name, parser in commands.choices.items():
        for action in parser.filled()._actions:
            if getattr(action, "declared", None) is one:
                found.setdefault(_row(action), []).append(name)
    return found


def _row(action: Any) -> str:
    value = action.metavar or ("|".join(action.choices) if action.choices else "")
    flags = ", ".join(f"`{flag} {value}`" if value else f"`{flag}`" for flag in action.option_strings).replace(
        "|", r"\|"
    )
    told = DEFAULT.search(action.help)
    usual = told[1] if told else "off"
    usual = f"`{usual}`" if usual == str(action.default) else usual
    return f"| {flags} | {usual} | {DEFAULT.sub('', action.help)} |\n"


if __name__ == "__main__":
    PAGE.write_text(page())
