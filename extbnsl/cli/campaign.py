"""`extbnsl campaign`: run the campaign of a YAML file, and report on it."""

import argparse
import contextlib
import os
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from extbnsl.cli import options
from extbnsl.cli.parser import command_parser, usage_error
from extbnsl.cli.saying import remark, say
from extbnsl.cli.session import STOPPED, is_solve
from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import ExtbnslError, InputError
from extbnsl.core.figures import fitted, in_full
from extbnsl.machine.cluster import EXTRA, KINDS, OPTION, hands_given
from extbnsl.machine.interrupts import Interrupts
from extbnsl.run.screen import clearing

if TYPE_CHECKING:
    from extbnsl.lab.campaign.reading import Asked

EPILOG = """\
Runs every data set by every method, variant, budget and seed of the file, each
in a process and a run directory of its own, and writes tables, pictures and a
page. Checks the whole file before it runs anything. Ctrl-C or SIGTERM once:
stop all runs, which write their state; --resume goes on, after a kill too.
Exit codes: 0 all runs are over, 10 some are not, 40 a run failed for a reason
that no budget explains.

example:
  extbnsl campaign configs/smoke.yaml --jobs 2
"""
STOPPING = "Stopping; the runs write their state, and '--resume' goes on (once more: end at once)."
FAILED = 40  # the exit code where a run failed for no reason that a budget explains
JOBS = partial(options.whole, least=1, most=1024)


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("file", metavar="FILE", type=Path, nargs="?", help="a YAML file")
    parser.add_argument(
        "--output-dir", metavar="DIR", type=Path, help="where to write (default: FILE's name with .campaign, here)"
    )
    parser.add_argument("--jobs", metavar="N", type=JOBS, default=1, help="how many runs at a time (default: 1)")
    parser.add_argument("--resume", action="store_true", help="go on with the campaign in an existing folder")
    parser.add_argument("--retry", action="store_true", help="with --resume: try again the runs that failed")
    parser.add_argument(
        "--cluster",
        metavar="CLUSTER",
        type=lambda text: hands_given(text, OPTION),
        help=f"let other processes do the runs: {KINDS} (pip install '{EXTRA}')",
    )
    parser.add_argument("--dry-run", action="store_true", help="list the runs, and run nothing")
    parser.add_argument("--report", action="store_true", help="report on the runs that are over, and run nothing")
    parser.add_argument("--schema", action="store_true", help="print the JSON schema of the file, for editors")
    options.add_shared(parser, "--quiet")


def run(given: argparse.Namespace) -> int:
    """Run the campaign; the exit code."""
    from extbnsl.files.yaml_file import FileError
    from extbnsl.lab.campaign.reading import read_campaign, schema

    if given.schema:
        say(schema())
        return 0
    if given.file is None:
        raise InputError("campaign: give the YAML file of the campaign.")
    if given.retry and (given.report or not given.resume):
        raise InputError("campaign: --retry is for --resume, and not for --report.")
    try:
        folder = given.file.absolute().parent  # where runs begin, and files that options name are
        wrong, able = partial(_wrong, folder), partial(_unable, folder, not given.cluster)
        asked = read_campaign(given.file, wrong, (lambda arguments: ()) if given.report else able)
    except FileError as error:
        for line in error.lines:
            remark(line)
        return error.exit_code
    if given.dry_run:
        lines = (f"extbnsl {shlex.join(run.arguments)}" for run in asked.runs)
        say("\n".join([*lines, in_full(len(asked.runs), "run")]))
        return 0
    return _run_in(given, asked)


def _wrong(folder: Path, arguments: Sequence[str]) -> str | None:
    """What is wrong with the command line of a run, which begins in this folder."""
    with contextlib.chdir(folder):
        return usage_error(arguments)


def _unable(folder: Path, here: bool, arguments: Sequence[str]) -> list[str]:
    """What the method of a run, which begins in this folder, on this machine or others, cannot do, whatever its data
    hold; in sentences."""
    from extbnsl.data import KINDS
    from extbnsl.data.dataset import of_latent
    from extbnsl.data.treatment import treatment
    from extbnsl.formats.kinds import is_score_file
    from extbnsl.lab.baselines.able import refusals
    from extbnsl.scores.known import kind_of
    from extbnsl.scores.local import LocalScores

    try:
        with contextlib.chdir(folder):  # for files of knowledge, states and features
            given = command_parser().parse_args(arguments)
            claim = options.claim_of(given)
            kind, of_scores = KINDS[kind_of(given.score)], is_score_file(given.data)
            if not of_scores:
                kind.check(treatment(DataOptions(**DataOptions.renamed(options.data_options(given)))))
        methods, scope = sys.modules[given.command.__module__].asked(given)
        if given.missing == "em" and not of_scores and not is_solve(methods, scope):
            raise of_latent()
        found = refusals(methods, scope, claim, LocalScores if of_scores else kind.data, here)
        return [str(error) for error in found]
    except ExtbnslError as error:
        return [str(error)]


def _run_in(given: argparse.Namespace, asked: "Asked") -> int:
    from extbnsl.lab.campaign.doing import do_left
    from extbnsl.lab.campaign.folder import holds_campaign, opened
    from extbnsl.lab.campaign.one_run import Place
    from extbnsl.lab.campaign.outcome import forget
    from extbnsl.lab.campaign.rows import WAITING, outcome_of, rows_of
    from extbnsl.lab.campaign.schedule import here, on_cluster
    from extbnsl.lab.process import kill_all
    from extbnsl.lab.report.campaign import PAGE, report_on, text_of, write_report

    path = given.output_dir or Path(f"{given.file.stem}.campaign")
    if given.report and not holds_campaign(path):
        raise InputError(f"--report: {path} holds no campaign; run it first, or give its --output-dir.")
    with Interrupts() as interrupts, opened(path, asked.content, given.resume or given.report) as folder:
        for warning in folder.warnings:
            remark(warning)
        place = Place(asked.folder, Path(os.path.abspath(folder.runs)))
        if given.retry:
            for row in rows_of(asked.runs, place):
                if row.failed:
                    forget(place.record(row.run))
        interrupts.arm(f"{'' if given.quiet else clearing()}{fitted(STOPPING, sys.stderr)}", kill_all)
        if not given.report:
            hired = here(given.jobs, place, interrupts.stop)
            if given.cluster:
                hired = on_cluster(given.cluster, place, Path(os.path.abspath(folder.stop)))
            do_left(asked.runs, place, hired, given.quiet, interrupts.stop)
        report = report_on(asked.campaign, rows_of(asked.runs, place))
        write_report(report, folder.path)
    if not given.quiet:
        say(f"{text_of(report)}\n")
    say(f"{outcome_of(report.rows)}; {folder.path / PAGE} has the report.")
    if not given.report and any(row.status == WAITING for row in report.rows):
        return STOPPED
    return FAILED if report.failures else 0
