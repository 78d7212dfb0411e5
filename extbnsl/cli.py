"""The command line: arguments, what is said while a command runs, and exit codes.

Only the standard library is imported here; a command imports what it needs when it runs, so that help and
usage errors are instant.
"""

import argparse
import contextlib
import errno
import os
import shlex
import stat
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from extbnsl import __version__
from extbnsl.errors import BudgetError, ExtbnslError, InputError, VerificationError
from extbnsl.interrupts import KILLED, NOTHING_WRITTEN, Interrupts
from extbnsl.limits import parse_duration, parse_size

if TYPE_CHECKING:
    from extbnsl.events import Observer
    from extbnsl.run_directory import RunDirectory
    from extbnsl.solve import Result

USAGE_ERROR = InputError.exit_code
DOES_NOT_HOLD = 31
STOPPED = 10

DESCRIPTION = "Learn the provably optimal Bayesian network structure of a discrete data set."
EPILOG = """\
Costs are in nats and minimised; the score is MDL (minus BIC).

exit codes:
   0  done; for solve: proved optimal
  10  stopped at a limit or a signal, with a network and bounds
  20  out of memory, disk or time before there was a network
  30  bad input or usage
  31  a run directory that is damaged or in use, or a result that does not hold
  40  internal error
 130  interrupted before there was anything to write, or interrupted twice

example:
  extbnsl solve wdbc.csv --time-limit 1h && extbnsl verify wdbc.run wdbc.csv
"""
SOLVE_EPILOG = """\
Writes a run directory with result.json, network.bif (for data only), network.json, network.dot, and the logs
log.jsonl and solve.log. Ctrl-C or SIGTERM once: stop, and write the best network and the bounds; twice: end
at once. Progress goes to standard error, the summary to standard output.

example:
  extbnsl solve survey.csv --missing drop --discretise mean --memory 8GiB --time-limit 6h
"""
VERIFY_EPILOG = """\
Recomputes the cost of the network from the data with code of its own, and checks every claim of the result.
Give the same data options as for solve. Exit code 0 if everything holds, 31 if anything does not.

example:
  extbnsl verify wdbc.run wdbc.csv
"""
SCORE_EPILOG = """\
Writes the local scores in the Jaakkola format that GOBNILP and others read: minus the cost in nats, so larger
is better; only parent sets that can be part of an optimal network.

example:
  extbnsl score wdbc.csv -o wdbc.jkl --max-parents 4
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; `arguments` default to those of the process. Returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        options = _parser().parse_args(arguments)
        options.shell_line = shlex.join(["extbnsl", *arguments])
        return int(options.command(options))
    except VerificationError as error:
        return _fail(f"{error} This is a fault of extbnsl: please report it.", error.exit_code)
    except ExtbnslError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail(NOTHING_WRITTEN, KILLED)
    except MemoryError:
        return _fail(
            "Out of memory; give a smaller --memory or --max-parents, or use a larger machine.",
            BudgetError.exit_code,
        )
    except Exception as error:
        traceback.print_exc()
        return _fail(f"{_fault(error)} Please report it with the lines above.", ExtbnslError.exit_code)


class _Parser(argparse.ArgumentParser):
    """A parser whose usage errors are one sentence and end with the exit code of bad input."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE_ERROR, f"{self.prog}: {message}; '{self.prog} --help' shows what can be given.\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="extbnsl", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"extbnsl {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_solve(commands)
    _add_verify(commands)
    _add_score(commands)
    return parser


def _add_solve(commands: Any) -> None:
    text = "find the network of least cost and prove it"
    parser = commands.add_parser("solve", help=text, description=f"{text.capitalize()}.", epilog=SOLVE_EPILOG)
    parser.set_defaults(command=_solve)
    parser.add_argument("data", metavar="INPUT", help="a CSV file (or .csv.gz), or local scores (.jkl .jaa .pss)")
    parser.add_argument(
        "--run-dir", metavar="DIR", type=Path, help="where to write (default: INPUT's name with .run, here)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the run in an existing run directory")
    _add_limits(parser)
    parser.add_argument(
        "--time-limit",
        metavar="T",
        type=_duration,
        help="stop after T: 90 (seconds), 45m, 1h30m, 2d (default: never)",
    )
    parser.add_argument("--seed", metavar="S", type=_whole, default=0, help="seed of the randomised steps (default: 0)")
    parser.add_argument(
        "--lower-bound",
        choices=["static", "pattern"],
        default="pattern",
        help="the bound that guides the search (default: pattern); the optimum is the same with each",
    )
    parser.add_argument(
        "--no-path-extension",
        action="store_true",
        help="search without optimal path extension, for experiments",
    )
    _add_data(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and one final line")
    parser.add_argument("--json", action="store_true", help="print result.json instead of the summary")


def _add_verify(commands: Any) -> None:
    text = "check a result against its data"
    parser = commands.add_parser("verify", help=text, description=f"{text.capitalize()}.", epilog=VERIFY_EPILOG)
    parser.set_defaults(command=_verify)
    parser.add_argument("result", metavar="RESULT", type=Path, help="a run directory or its result.json")
    parser.add_argument("data", metavar="DATA", help="the CSV file, or the local scores, that it was learned from")
    _add_data(parser)


def _add_score(commands: Any) -> None:
    text = "compute the local scores of data and write them to a file"
    parser = commands.add_parser("score", help=text, description=f"{text.capitalize()}.", epilog=SCORE_EPILOG)
    parser.set_defaults(command=_score)
    parser.add_argument("data", metavar="DATA", help="a CSV file (or .csv.gz)")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        required=True,
        help="where to write: .jkl, .jaa or .scores, or those with .gz",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    _add_limits(parser)
    _add_data(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and one final line")


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-parents", metavar="K", type=_whole, help="at most K parents for a variable (default: no limit)"
    )
    parser.add_argument(
        "--threads",
        metavar="T",
        type=_positive,
        help="threads (default: the processors this process may use)",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        type=_size,
        help="memory budget: bytes or 512MiB, 8GiB, 40GB (default: three quarters of what is free); it "
        "counts the solver's own structures, the interpreter and its libraries (about 350 MB) come on top",
    )


def _add_data(parser: argparse.ArgumentParser) -> None:
    data = parser.add_argument_group("data options (for CSV files)")
    header = data.add_mutually_exclusive_group()
    header.add_argument(
        "--header",
        action="store_true",
        default=None,
        help="the first row has names (default: decided by looking)",
    )
    header.add_argument("--no-header", action="store_false", dest="header", help="the first row is a record")
    data.add_argument("--delimiter", metavar="D", help="the character between columns (default: decided by looking)")
    data.add_argument(
        "--missing",
        choices=["refuse", "drop", "state"],
        default="refuse",
        help="missing values: refuse the data (default), drop the record, or make missing a state",
    )
    data.add_argument(
        "--discretise",
        "--discretize",
        metavar="RULE",
        help="cut continuous columns: mean, quantile:k, width:k, or paper (at the mean, and columns of more "
        "than four states too)",
    )
    data.add_argument("--arities", metavar="FILE", help="declared numbers of states (default: the states that occur)")


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def _positive(text: str) -> int:
    if _whole(text) == 0:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return int(text)


def _size(text: str) -> int:
    return parse_size(text, "--memory")


def _duration(text: str) -> float:
    return parse_duration(text, "--time-limit")


def _solve(options: argparse.Namespace) -> int:
    from extbnsl import run_directory

    with (
        Interrupts() as interrupts,
        run_directory.create(options.run_dir, options.data, options.overwrite) as run,
    ):
        problem = _problem(options)
        with _reported_in(run):
            from extbnsl.solve import solve

            with _observer(options.quiet, interrupts, run) as observer:
                result = solve(
                    problem,
                    max_parents=options.max_parents,
                    threads=options.threads,
                    memory=options.memory,
                    time_limit=options.time_limit,
                    seed=options.seed,
                    lower_bound=options.lower_bound,
                    path_extension=not options.no_path_extension,
                    observer=observer,
                    stop=interrupts.stop,
                )
            _write_result(result, run, options)
    return 0 if result.status == "optimal" else STOPPED


def _write_result(result: "Result", run: "RunDirectory", options: argparse.Namespace) -> None:
    """Write and print a result; if it cannot be written it is printed in full, so that nothing is lost."""
    from extbnsl.run_directory import outputs
    from extbnsl.storage import json_text

    document = json_text(result.document(options.shell_line), indent=1)
    try:
        run.write(outputs(result, options.shell_line))
    except BaseException:
        _print(document)
        raise
    if options.json:
        _print(document)
    elif options.quiet:
        _print(_final_line(result, run.path))
    else:
        _print(_summary(result, run.path))


def _verify(options: argparse.Namespace) -> int:
    from extbnsl.data import Dataset
    from extbnsl.run_directory import read_result
    from extbnsl.verify import verify, verify_against_scores

    document = read_result(options.result)
    problem = _problem(options)
    check = verify if isinstance(problem, Dataset) else verify_against_scores
    verdict = check(document, problem)
    for finding in verdict.findings:
        _print(finding)
    if not verdict.ok:
        _print(f"{options.result} does not hold.")
        return DOES_NOT_HOLD
    _print(
        f"{options.result} holds: the network has no cycle, keeps the limits and costs {verdict.cost:.6f} "
        f"nats, recomputed from {options.data}. That none is cheaper was not proved again."
    )
    return 0


def _score(options: argparse.Namespace) -> int:
    from extbnsl.scores.files import is_score_file, write_scores

    output = options.output
    if not is_score_file(output):
        raise InputError(f"--output: {output} is not named as local scores are; end the name in .jkl or .jkl.gz.")
    if is_score_file(options.data):
        raise InputError(f"{options.data} holds local scores already; give data to compute them from.")
    _check_writable(output, options.overwrite)
    with Interrupts() as interrupts:
        dataset = _problem(options)
        from extbnsl.solve import compute_scores
        from extbnsl.workers import Stopped

        try:
            with _observer(options.quiet, interrupts) as observer:
                scores = compute_scores(
                    dataset,
                    max_parents=options.max_parents,
                    threads=options.threads,
                    memory=options.memory,
                    observer=observer,
                    stop=interrupts.stop,
                )
        except Stopped:
            raise KeyboardInterrupt from None
        write_scores(scores, output, overwrite=options.overwrite)
    _print(f"{scores.families:,} parent sets of {scores.variables} variables written to {output}.")
    return 0


def _check_writable(output: Path, overwrite: bool) -> None:
    """Say before any work that the output could not be written."""
    if output.exists() and not overwrite:
        raise InputError(f"{output} exists already; give --overwrite to replace it, or another --output.")
    if not output.parent.is_dir():
        raise InputError(f"{output} cannot be written: there is no folder {str(output.parent)!r}; create it first.")
    if not os.access(output.parent, os.W_OK | os.X_OK):
        raise InputError(f"{output} cannot be written: no permission to write in {output.parent}.")


def _problem(options: argparse.Namespace) -> Any:
    """The Dataset or LocalScores in the input file, as its name says."""
    from extbnsl.scores.files import is_score_file, read_scores

    if not is_score_file(options.data):
        from extbnsl.data import read_csv

        return read_csv(
            options.data,
            header=options.header,
            delimiter=options.delimiter,
            missing=options.missing,
            discretise=options.discretise,
            arities=options.arities,
        )
    useless = {
        "--header or --no-header": options.header is not None,
        "--delimiter": options.delimiter is not None,
        "--missing": options.missing != "refuse",
        "--discretise": options.discretise is not None,
        "--arities": options.arities is not None,
    }
    for option in (name for name, given in useless.items() if given):
        raise InputError(f"{option} is for data, but {options.data} holds local scores; leave it out.")
    return read_scores(options.data)


@contextlib.contextmanager
def _observer(quiet: bool, interrupts: Interrupts, run: "RunDirectory | None" = None) -> "Iterator[Observer]":
    """An observer that reports to standard error and to the logs of a run.

    The run begins, and a signal asks to stop instead of ending the command, once the kernels are loaded: before
    that there is nothing to write.
    """
    from extbnsl import progress
    from extbnsl.events import Event, StageStarted, Warned

    error = progress.line_writer(sys.stderr)

    def log(line: str) -> None:
        if run is not None:
            run.append("solve.log", line)

    def say(line: str) -> None:
        error(line)
        log(line)

    def begin(event: Event) -> None:
        if isinstance(event, StageStarted) and event.stage == "kernels":
            return interrupts.leave_with(run.discard if run is not None else lambda: None)
        interrupts.arm()
        if run is not None and not run.begun:
            run.begin()
            for warning in run.warnings:
                observe(Warned(warning))

    def keep(line: str) -> None:
        if run is not None:
            run.append("log.jsonl", line)

    table = progress.Table(log if quiet else say)
    aside = [progress.only_warnings(error)] if quiet else []
    observe = progress.combine(begin, progress.json_lines(keep), table, *aside)
    with progress.beating(table):
        yield observe


@contextlib.contextmanager
def _reported_in(run: "RunDirectory") -> Iterator[None]:
    """Put the traceback of a fault of extbnsl into solve.log, if the run has begun, and say so."""
    try:
        yield
    except Exception as error:
        foreseen = isinstance(error, (ExtbnslError, MemoryError)) and not isinstance(error, VerificationError)
        if foreseen or not run.begun:
            raise
        run.append("solve.log", traceback.format_exc().rstrip())
        if isinstance(error, VerificationError):
            raise
        raise ExtbnslError(f"{_fault(error)} Please report it with {run.path / 'solve.log'}.") from error


def _fault(error: Exception) -> str:
    return f"Internal error: {type(error).__name__}: {' '.join(str(error).split()) or 'no message'}."


def _final_line(result: "Result", folder: Path) -> str:
    return (
        f"{result.status}: cost {result.cost:.6f} nats, lower bound {result.lower_bound:.6f}, "
        f"{len(result.network.arcs())} arcs, in {folder}"
    )


def _summary(result: "Result", folder: Path) -> str:
    from extbnsl.progress import format_gap
    from extbnsl.run_directory import OUTPUTS

    limit = "" if result.max_parents is None else f", at most {result.max_parents} parents each"
    gap = format_gap(result.lower_bound, result.upper_bound)
    score = "MDL" if result.score == "mdl" else "minus the scores of the file"
    files = ", ".join(name for name in OUTPUTS if (folder / name).exists())
    return "\n".join(
        (
            f"status       {result.status.replace('_', ' ')}",
            f"cost         {result.cost:.6f} nats ({score}, minimised)",
            f"bounds       {result.lower_bound:.6f} to {result.upper_bound:.6f} (gap {gap})",
            f"network      {len(result.network.names)} variables, {len(result.network.arcs())} arcs{limit}",
            f"written      {folder}{os.sep}: {files}",
        )
    )


def _print(text: str) -> None:
    """Print to standard output; if nobody reads it any more, or the terminal is gone, that is no failure."""
    try:
        print(text, flush=True)
    except OSError as error:
        from extbnsl.storage import write_failure

        output = sys.stdout.fileno()
        gone = error.errno == errno.EPIPE or (error.errno == errno.EIO and stat.S_ISCHR(os.fstat(output).st_mode))
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)  # nothing is left to fail at exit
        if not gone:
            raise write_failure(Path("standard output"), error) from error


def _fail(sentence: str, code: int) -> int:
    with contextlib.suppress(OSError):
        print(f"extbnsl: {sentence}", file=sys.stderr, flush=True)
    return code
