"""`extbnsl verify`: check a result against its data."""

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.cli import options
from extbnsl.cli.options import read_problem
from extbnsl.cli.saying import remark, say, say_sentence
from extbnsl.cli.score_network import data_options_of
from extbnsl.core.claims import TIME_LIMIT
from extbnsl.core.events import StageStarted
from extbnsl.core.figures import fitted
from extbnsl.core.options import declared
from extbnsl.machine.budgets import Budgets, Deadline, default_threads
from extbnsl.results.reading import read_networks, read_result
from extbnsl.run.progress import told_on

if TYPE_CHECKING:
    from extbnsl.verify.statement import Statement

DOES_NOT_HOLD, CLAIMED = 31, 11
SECONDS = 600.0  # unless a time limit is given
INDENT = 13  # of what a section says

EPILOG = """\
Recomputes the cost of the network from the data with code of its own, and
checks every claim of the result. Says what the result claims, with all that
changes what that means; what was recomputed; what proves it; and what was not
checked, and so is only claimed. Reads the data with the options of the solve,
as the result has them; those given here replace them. --require says what the
claim must be, such as score=bdeu,ess=1,max-parents=none,knowledge=none, or
names a file that says it, or another result: of the same question then.

Exit code 0 if everything that is claimed was checked and holds, 11 if all
holds that was checked, but something is only claimed, 31 if anything does not
hold or is not as required.

example:
  extbnsl verify wdbc.run wdbc.csv --require status=optimal,knowledge=none
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("result", metavar="RESULT", type=Path, help="a run directory or its result.json")
    parser.add_argument("data", metavar="DATA", help="the CSV file, or the local scores, that it was learned from")
    parser.add_argument(
        "--require",
        metavar="KEY=VALUE,...|FILE",
        action="append",
        help="what the result must claim, none for what it must not have; or a YAML file that says so, or another "
        "result of the same question; may be repeated",
    )
    options.add_options(parser, declared(Budgets), "memory", "disk", "threads", "hands", time_limit="10m")
    options.add_data(parser)


def run(given: argparse.Namespace) -> int:
    """Print what the result claims and what became of it; the exit code."""
    from extbnsl.cli.demands import demanded
    from extbnsl.data.text import source_name
    from extbnsl.kernels.compiler import cache_warning
    from extbnsl.machine.workers import Workers
    from extbnsl.verify.document import check_format
    from extbnsl.verify.statement import Given, check_result
    from extbnsl.verify.wording import lines_of

    def stop() -> str | None:
        return TIME_LIMIT if deadline.passed() else None

    deadline = Deadline.after(SECONDS if given.time_limit is None else given.time_limit)
    wanted = demanded(given.require or ())
    document = read_result(given.result)
    check_format(document)
    how = _data_options(given, document)
    problem, _ = read_problem(given.data, how, Budgets(), score=str(document.get("score")))
    folder = given.result if given.result.is_dir() else None
    whole = Given(document, lambda: read_networks(given.result), folder, problem, how, wanted)
    with (
        told_on(sys.stderr) as tell,
        Workers(default_threads(), stop) as workers,
    ):
        tell(StageStarted("verify", "scoring the network again"))
        stated = check_result(whole, workers, tell)
    if warning := cache_warning():
        remark(warning)
    _say(lines_of(stated, source_name(given.data)))
    return _concluded(stated, given.result)


def _data_options(given: argparse.Namespace, document: Mapping[str, Any]) -> dict[str, Any]:
    """The data options that are given, and those of the result in place of those that are not."""
    from extbnsl.data.treatment import chosen

    kept, asked = data_options_of(document, given.result), chosen(options.data_options(given))
    if used := [f"{name} {value}" for name, value in kept.items() if name not in asked]:
        remark(f"Reads the data as the solve did: {', '.join(used)}.")
    return kept | asked


def _say(lines: Iterable[tuple[str, str]]) -> None:
    """Print lines, each with what it says behind its section, which is named once."""
    before = None
    for section, sentence in lines:
        label = "" if section == before else section
        say(fitted(f"{label:{INDENT - 1}} {sentence}", sys.stdout, INDENT))
        before = section


def _concluded(stated: "Statement", result: Path) -> int:
    """Say what came of it; the exit code."""
    from extbnsl.verify.wording import printable

    for finding in stated.findings:
        say_sentence(printable(finding))
    if not stated.holds:
        say_sentence(f"{result} does not hold.")
        return DOES_NOT_HOLD
    if stated.unchecked:
        say_sentence(f"{result} holds as far as it was checked; what was not checked is only claimed.")
        return CLAIMED
    say_sentence(f"{result} holds.")
    return 0
