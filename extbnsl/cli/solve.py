"""`extbnsl solve`: begin a run."""

import argparse
from pathlib import Path
from typing import Any

from extbnsl.cli import options, session
from extbnsl.cli.options import is_standard_input, read_problem
from extbnsl.cli.plot import check_drawing, draw_after
from extbnsl.core.options import declared
from extbnsl.lab.baselines.methods import BFBNB, METHODS, methods_named
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.interrupts import Interrupts
from extbnsl.proof.methods import Methods
from extbnsl.solver.place import Place
from extbnsl.solver.resamples import Resamples

EPILOG = """\
Writes a run directory with result.json, network.bif (for data only),
network.json, network.dot, the logs log.jsonl and solve.log, and the checkpoint
from which 'extbnsl resume' resumes after a limit, a signal or a crash.
Ctrl-C or SIGTERM once: stop, and write the state, the best network and the
bounds; twice: end at once. 'extbnsl status' tells, from elsewhere, how far the
run is. Progress goes to standard error, the summary to standard output.

example:
  extbnsl solve survey.csv --missing drop --discretise mean --time-limit 6h
"""


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = options.add_command(commands, "solve", "find the network of least cost and prove it", EPILOG, run)
    parser.add_argument(
        "data",
        metavar="INPUT",
        help="a CSV file (or .csv.gz), - for standard input, or local scores (.jkl .jaa .scores .pss)",
    )
    parser.add_argument(
        "--run-dir", metavar="DIR", type=Path, help="where to write (default: INPUT's name with .run, here)"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the run in an existing run directory, and the FILE of --plot"
    )
    options.add_claim(parser)
    options.add_options(parser, declared(Budgets))
    options.add_options(parser, declared(Place), scratch_dir="the run directory")
    parser.add_argument(
        "--method",
        choices=METHODS,
        metavar="NAME",
        default=BFBNB,
        help=f"what finds and proves the network, of {', '.join(METHODS)}: the first is the search that extbnsl is "
        "about; the others are published methods to compare with, of which there are no checkpoints and no "
        "certificates (default: %(default)s)",
    )
    options.add_options(parser, declared(Resamples))
    parser.add_argument("--plot", metavar="FILE", type=Path, help="then draw the network in FILE, an .svg")
    options.add_options(parser, declared(Methods))
    options.add_data(parser)
    options.add_output(parser, json=True)


def run(given: argparse.Namespace) -> int:
    """Begin a run and write what comes of it; the exit code."""
    from extbnsl.run import directory as directory_module

    if given.plot is not None:
        check_drawing(given.plot, given.overwrite, "--plot")
    source = "stdin" if is_standard_input(given.data) else given.data
    with (
        Interrupts() as interrupts,
        directory_module.create(given.run_dir, source, given.overwrite, given.scratch_dir) as run,
    ):
        if given.run_dir is None:
            run.warnings += session.stopped_before(run.path, given.data)
        budgets = options.budgets_of(given)
        problem, budgets = read_problem(given.data, options.data_options(given), budgets, given.quiet, given.score)
        place = options.options_of(Place, given, run_folder=run.path, remember=options.remembered(given))
        methods = methods_named(given.method, options.options_of(Methods, given))
        scope = None if given.bootstrap is None else Resamples(given.bootstrap)
        asked = session.Asked(options.claim_of(given), methods, budgets, place, scope)
        telling = session.Telling(given.quiet, given.json, budgets.spent, given.print)
        code = session.solve_in(run, problem, asked, interrupts, telling)
        if given.plot is not None:
            draw_after(run.path, given.plot, given.quiet or given.json)
        return code
