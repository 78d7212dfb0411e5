"""`extbnsl score`: compute local scores and write them to a file."""

import argparse
from typing import Any

from extbnsl.cli import options, session
from extbnsl.cli.saying import say_sentence
from extbnsl.core.errors import InputError
from extbnsl.core.figures import in_full
from extbnsl.core.options import declared
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.interrupts import Interrupts
from extbnsl.proof.methods import Methods
from extbnsl.solver.place import Place

EPILOG = """\
Writes the local scores in the Jaakkola format that GOBNILP and others read:
minus the cost in nats, so larger is better; only parent sets that can be part
of an optimal network.

example:
  extbnsl score wdbc.csv -o wdbc.jkl --max-parents 4
"""
STOPPING = "Stopping; nothing will be written (once more: end at once)."


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("data", metavar="DATA", help="a CSV file (or .csv.gz), - for standard input")
    options.add_output(parser, "where to write: .jkl, .jaa or .scores, or those with .gz", required=True)
    options.add_shared(parser, "--overwrite")
    options.add_claim(parser)
    options.add_options(parser, declared(Budgets), "disk", "time_limit", "hands")
    options.add_options(parser, declared(Place), "compress", scratch_dir="where temporary files go")
    options.add_data(parser)
    options.add_shared(parser, "--quiet")


def run(given: argparse.Namespace) -> int:
    """Write the scores; the exit code."""
    from extbnsl.formats.kinds import is_score_file
    from extbnsl.formats.score_writer import write_scores

    output = given.output
    if not is_score_file(output):
        raise InputError(f"--output: {output} is not named as local scores are; end the name in .jkl or .jkl.gz.")
    if is_score_file(given.data):
        raise InputError(f"{given.data} holds local scores already; give data to compute them from.")
    options.check_output(given, output, given.overwrite)
    with Interrupts() as interrupts:
        scores = _scores(given, interrupts)
        write_scores(scores, output, overwrite=given.overwrite)
    parent_sets, variables = in_full(scores.families, "parent set"), in_full(scores.variables, "variable")
    say_sentence(f"{parent_sets} of {variables} written to {output}.")
    return 0


def _scores(given: argparse.Namespace, interrupts: Interrupts) -> Any:
    place = {"scratch_dir": given.scratch_dir}
    with session.without_run(given, Methods(), interrupts, STOPPING, **place) as (asked, observer):
        from extbnsl.machine.workers import Stopped
        from extbnsl.solver.solve import compute_scores

        try:
            return compute_scores(asked, observer=observer, stop=interrupts.stop)
        except Stopped:
            raise KeyboardInterrupt from None
