"""`extbnsl export`: write the network of a run for another program."""

import argparse
import io
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.cli import options
from extbnsl.cli.saying import remark, say_all, say_sentence
from extbnsl.cli.score_network import training_problem
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.figures import counted
from extbnsl.formats.kinds import (
    FORMATS,
    LISTED,
    MADE_OF_PARAMETERS,
    WITH_PARAMETERS,
    WITH_STRENGTHS,
    check_choices,
    format_of,
)
from extbnsl.results.reading import read_result

if TYPE_CHECKING:
    from extbnsl.formats.described import Described
    from extbnsl.formats.export import Written

EPILOG = f"""\
Writes the (best) network of a run in the format that FILE ends with:
{LISTED}Parameters are those of network.json; the data are read again only where it has
none, and for --smoothing. The FILE - is standard output, and needs --format.

example:
  extbnsl export wdbc.run -o wdbc.xdsl --smoothing 1
  extbnsl export wdbc.run -o - --format dot
"""
STANDARD_OUTPUT = Path("-")


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    options.add_shared(parser, "result")
    options.add_output(parser, "where to write", required=True)
    names = ", ".join(FORMATS)
    parser.add_argument(
        "--format", metavar="NAME", choices=FORMATS, help=f"the format: {names} (default: as FILE ends)"
    )
    options.add_shared(parser, "--smoothing")
    parser.add_argument(
        "--cpdag", action="store_true", help="the equivalence class instead: arcs that may turn have no head (.dot)"
    )
    options.add_shared(parser, "--training", "--overwrite")


def run(given: argparse.Namespace) -> int:
    """Write the file; the exit code."""
    output = given.output
    if output == STANDARD_OUTPUT and given.format is None:
        raise InputError("Standard output has no ending that tells a format: give --format.")
    kind = format_of(output, given.format)
    check_choices(kind, given.smoothing, given.cpdag)
    if output != STANDARD_OUTPUT:
        options.check_output(given, output, given.overwrite)
    from extbnsl.formats.export import written
    from extbnsl.results.exporting import write_export

    made = written(described_of(given, kind), kind, given.cpdag)
    if output == STANDARD_OUTPUT:
        _print(made)
        return 0
    write_export(output, made, given.overwrite, "--overwrite")
    say_sentence(f"The network of {given.result} is written to {output}.{_told(made, output)}")
    return 0


def _print(made: "Written") -> None:
    """Write to standard output, in UTF-8 as files are; standard error tells what is spelled in another way."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    say_all((made.text,))
    if made.spelled:
        told = (
            f"{each.get('label', each.get('name'))!r} as {each.get('state', each['variable'])}" for each in made.spelled
        )
        remark(f"What is written spells names or states in another way: {', '.join(told)}.")


def described_of(given: argparse.Namespace, kind: str) -> "Described":
    """What the format has to tell of the network: from the files of the run, or else from its data."""
    from extbnsl.results.exporting import described_in

    document = read_result(given.result)
    known = described_in(given.result, document)
    tabled = known.tables is not None or known.has_numbers
    if given.smoothing > 0.0 or (kind in MADE_OF_PARAMETERS and not tabled):
        return _from_data(given, document, known, kind)
    if kind in WITH_STRENGTHS and known.strengths is None and known.network.arcs():
        try:
            return _from_data(given, document, known, kind)
        except InputError as error:
            remark(f"{given.output} will not say what each arc counts: {error}")
    return known


def _from_data(given: argparse.Namespace, document: Mapping[str, Any], known: "Described", kind: str) -> "Described":
    """What is known of a network, with what its data, or local scores, tell besides."""
    from extbnsl.results.outputs import described

    problem = smoothed_problem(given, document)
    parameters, strengths = kind in WITH_PARAMETERS, kind in WITH_STRENGTHS and known.strengths is None
    claim = Claim.of_result(document)
    made = described(known.network, known.cost, problem, claim, parameters, strengths, given.smoothing)
    found = made.strengths if strengths else known.strengths
    return replace(made if parameters else known, strengths=found)


def smoothed_problem(given: argparse.Namespace, document: Mapping[str, Any]) -> Any:
    """The data, or local scores, of a run, as `training_problem` has them; InputError for a smoothing that they have no
    use for."""
    from extbnsl.data import Numbers
    from extbnsl.scores.local import LocalScores

    problem, file = training_problem(given.training, given.result, document)
    if given.smoothing > 0.0 and isinstance(problem, LocalScores):
        raise InputError(f"{file} holds local scores, which have no parameters: leave --smoothing out.")
    if given.smoothing > 0.0 and isinstance(problem, Numbers):
        raise InputError(f"{file} holds numbers, and --smoothing is for tables of states: leave it out.")
    return problem


def _told(made: "Written", output: Path) -> str:
    """A sentence about what is spelled in another way; empty if nothing is."""
    from extbnsl.formats.spelling import names_file

    number = len(made.spelled) or made.told
    if not number:
        return ""
    where = f"{names_file(output)} tells" if made.spelled else "its first lines tell"
    return f" It spells {counted(number, 'name or state', 'names or states')} in another way: {where} which."
