"""`extbnsl report`: a page about a run."""

import argparse

from extbnsl.cli import options
from extbnsl.cli.saying import say_sentence
from extbnsl.files.atomic import write_atomically
from extbnsl.files.names import PAGE

EPILOG = """\
Writes one HTML file that needs no other and no network connection: the network
drawn, its arcs and parameters, how sure they are if that is known, what was
proved, warnings, how the search went, and the command to do it again. Of a run
that was stopped it tells what there is.

example:
  extbnsl report wdbc.run -o wdbc.html
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    options.add_shared(parser, "run")
    options.add_output(parser, "where to write (default: report.html in RUN)")
    options.add_shared(parser, "--overwrite")


def run(given: argparse.Namespace) -> int:
    """Write the page; the exit code."""
    from extbnsl.report.run_page import run_page
    from extbnsl.report.run_tables import read_run

    found = read_run(given.run)
    output = given.output or given.run / PAGE
    options.check_output(given, output, given.overwrite or given.output is None)
    write_atomically(output, run_page(found).encode())
    say_sentence(f"The report on {given.run} is in {output}.")
    return 0
