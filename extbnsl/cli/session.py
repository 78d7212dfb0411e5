"""One session of a run, from its beginning or its last checkpoint to a result: what is said and what is written."""

import contextlib
import importlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from extbnsl.cli.head import OUT_OF_MEMORY, fault, fitted, head, say, say_all
from extbnsl.cli.summary import exit_code, final_line, status_line, summary
from extbnsl.core.claims import INTERRUPTED
from extbnsl.core.errors import BudgetError, ExtbnslError, VerificationError
from extbnsl.files.names import EVENTS_LOG, TEXT_LOG
from extbnsl.machine.budgets import give_memory_back
from extbnsl.machine.interrupts import Interrupts
from extbnsl.solver.resamples import Resamples

if TYPE_CHECKING:
    from extbnsl.core.claims import Claim
    from extbnsl.core.events import Event, Observer
    from extbnsl.data import Data
    from extbnsl.files.manifest import Remembered
    from extbnsl.kbest.scope import Scope
    from extbnsl.lab.baselines.methods import BaselineMethods
    from extbnsl.machine.budgets import Budgets
    from extbnsl.proof.methods import Methods
    from extbnsl.results.result import Result
    from extbnsl.run.directory import RunDirectory
    from extbnsl.run.status import StatusFile
    from extbnsl.scores.local import LocalScores
    from extbnsl.solver.methods import ApproximateMethods
    from extbnsl.solver.place import Place

MOST_LAYERS = 500  # that a result has
NO_CHECKPOINT = "Stopping; the network so far will be written (once more: end at once)."


@dataclass(frozen=True)
class Telling:
    """How much a session says, whether it lists the network however large that is, and the seconds of the run's earlier
    sessions and of reading its input."""

    quiet: bool
    json: bool
    seconds_before: float = 0.0
    network: bool = False


class Asked(NamedTuple):
    """What is asked of a session of `solve`, of `approximate` or of a published method, as the methods are, or of
    `kbest`, or of `solve` with resamples, if it has such a scope."""

    claim: "Claim"
    methods: "Methods | ApproximateMethods | BaselineMethods"
    budgets: "Budgets"
    place: "Place"
    scope: "Scope | Resamples | None" = None


class Work(NamedTuple):
    """What is said of a session and kept with its result.

    head: the first lines that it says.
    stopping: what it says at the first signal.
    remember: the command and the data options.
    """

    head: Iterable[str]
    stopping: str
    remember: "Remembered"


@dataclass
class Session:
    """A session at work: who hears of it, the result once there is one, and the exit code at the end."""

    observer: "Observer"
    result: "Result | None" = None
    code: int = 0


def solve_in(
    run: "RunDirectory",
    problem: "Data | LocalScores",
    asked: Asked,
    interrupts: Interrupts,
    telling: Telling,
) -> int:
    """Do with `problem` as asked, write and print the result; the exit code."""
    from extbnsl.solver.families import check_claim

    check_claim(problem, asked.claim)
    if isinstance(asked.scope, Resamples):
        from extbnsl.solver.bootstrap import records_of

        records_of(problem, asked.methods)
    remember = asked.place.remember
    assert remember is not None, "a command has something to remember"
    find, scope = _finder(asked), () if asked.scope is None else (asked.scope,)
    given = asked.claim, asked.methods, asked.budgets, asked.place
    work = Work(head(problem, *asked), _stopping(run, asked), remember)
    with working(run, work, interrupts, telling) as session:
        session.result = find(problem, *scope, *given, observer=session.observer, stop=interrupts.stop)
    return session.code


def _finder(asked: Asked) -> "Callable[..., Result]":
    """The function that answers the question; one with a scope takes that before the claim."""
    from extbnsl.lab.baselines.methods import BaselineMethods
    from extbnsl.solver.methods import ApproximateMethods

    compared = isinstance(asked.methods, BaselineMethods)
    if isinstance(asked.scope, Resamples):
        module, name = "solver.bootstrap", "bootstrap_network"
    elif asked.scope is not None:
        module, name = (
            ("lab.baselines.ranking", "rank_by_bn_graph") if compared else ("solver.k_best", "k_best_networks")
        )
    elif isinstance(asked.methods, ApproximateMethods):
        module, name = "solver.approximate", "approximate_network"
    else:
        module, name = ("lab.baselines.solving", "solve_by") if compared else ("solver.solve", "solve")
    found: Callable[..., Result] = getattr(importlib.import_module(f"extbnsl.{module}"), name)
    return found


@contextlib.contextmanager
def working(run: "RunDirectory", work: Work, interrupts: Interrupts, telling: Telling) -> Iterator[Session]:
    """A session in which the caller finds a result, which is written and printed at the end."""
    from extbnsl.data.treatment import chosen
    from extbnsl.run.status import StatusFile

    give_memory_back()
    status = StatusFile(run.show, seconds_before=telling.seconds_before)
    made = {"command": work.remember.command, "data_options": chosen(work.remember.data_options)}
    with _failures_kept(run, status):
        with _observed(run, status, interrupts, telling, work) as observer:
            session = Session(observer)
            yield session
        result = session.result
        assert result is not None, "the caller has found one"
        document = result.document(made)
        document["stats"]["layers"] = _layers(run.path)
        _write(document, result, run)
        status.end(result.status)
    tell(document, run.path, telling)
    session.code = exit_code(document)


def tell(document: Mapping[str, Any], folder: Path, telling: Telling) -> None:
    """Print a result, which is in the folder, as it was asked for; RunDirectoryError if the document is none."""
    from extbnsl.run.progress import is_coloured, status_coloured

    if telling.json:
        from extbnsl.results.reading import read_text

        say_all(read_text(folder))
    elif telling.quiet:
        say(final_line(document, folder))
    else:
        text = summary(document, folder, telling.network)
        say(status_coloured(text, status_line(document), document["status"]) if is_coloured(sys.stdout) else text)


def stopped_before(path: Path, source: str) -> tuple[str, ...]:
    """A sentence if an earlier run of this input can be resumed: one whose name differs from `path` by its number."""
    from extbnsl.core.errors import ExtbnslError
    from extbnsl.files.manifest import read_manifest
    from extbnsl.run.status import read_status

    numbered = re.fullmatch(r"(.+)-(\d+)\.run", path.name)
    if numbered is None:
        return ()
    stem, numbers = numbered[1], range(int(numbered[2]) - 1, 0, -1)
    for before in (path.with_name(f"{stem}.run" if number == 1 else f"{stem}-{number}.run") for number in numbers):
        with contextlib.suppress(ExtbnslError):
            status, remembered = read_status(before), read_manifest(before).state.run
            if status.resume and remembered is not None and remembered.input == os.path.abspath(source):
                return (f"{before} holds a stopped run of {source}: '{status.resume}' resumes it; this one is new.",)
    return ()


def arming(interrupts: Interrupts, sentence: str) -> "Observer":
    """An observer that makes a signal ask to stop, with this sentence, once work has begun."""
    return lambda event: interrupts.arm(sentence)


@contextlib.contextmanager
def _observed(
    run: "RunDirectory", status: "StatusFile", interrupts: Interrupts, telling: Telling, work: Work
) -> "Iterator[Observer]":
    """An observer that reports to standard error, to the logs and to status.json, and begins the run.

    Both begin with the first lines of the work. The run begins with the first event: before that there is nothing to
    write.
    """
    from extbnsl.core.events import Warned
    from extbnsl.run import progress
    from extbnsl.run.progress import ERASE, is_screen, told_on, wrapped

    def log(line: str) -> None:
        run.append(TEXT_LOG, line)

    def begin(event: "Event") -> None:
        if not run.begun:
            run.begin()
            for warning in run.warnings:
                observe(Warned(warning))

    quiet, before = telling.quiet, telling.seconds_before
    error = progress.line_writer(sys.stderr)
    for line in work.head:
        log(wrapped(line))
        if not quiet:
            error(wrapped(line))
    clear = "" if quiet or not is_screen(sys.stderr) else ERASE
    table = progress.Table(log, seconds_before=before)
    with told_on(sys.stderr, quiet, before) as told, progress.beating(table.beat, status.beat):
        observe = progress.combine(
            arming(interrupts, clear + fitted(work.stopping, sys.stderr)),
            begin,
            progress.json_lines(lambda line: run.append(EVENTS_LOG, line), seconds_before=before),
            table,
            told,
            status,
        )
        yield observe


def _layers(folder: Path) -> list[dict[str, int]]:
    """What the log of a run, of all its sessions, has of each layer; nothing of a run without a search, and of one that
    searched more layers than people look at."""
    from extbnsl.run.log import LAYER_FIGURES, read_layers

    layers: list[Mapping[str, Any]] = []
    with contextlib.suppress(ExtbnslError):
        layers = read_layers(folder)
    return [{key: layer[key] for key in LAYER_FIGURES} for layer in layers] if len(layers) <= MOST_LAYERS else []


def _stopping(run: "RunDirectory", asked: Asked) -> str:
    """What the first signal says."""
    from extbnsl.lab.baselines.methods import BaselineMethods
    from extbnsl.run.directory import resume_command

    if isinstance(asked.methods, BaselineMethods):
        return NO_CHECKPOINT
    return (
        "Stopping; the state and the best network will be written, and "
        f"'{resume_command(run.path)}' goes on (once more: end at once)."
    )


def _write(document: Mapping[str, Any], result: "Result", run: "RunDirectory") -> None:
    """Write a result; if it cannot be written it is printed in full, so that nothing is lost."""
    from extbnsl.files.atomic import pieces

    try:
        run.write(result.files(document))
    except BaseException:
        _, content = next(result.files(document))
        say_all(piece.decode() for piece in pieces(content))
        raise


@contextlib.contextmanager
def _failures_kept(run: "RunDirectory", status: "StatusFile") -> Iterator[None]:
    """Tell a failure of a run that has begun in status.json, and the traceback of a fault of extbnsl in solve.log.

    When a budget is exhausted, the failure says how to go on from the last checkpoint, if there is one.
    """
    try:
        yield
    except KeyboardInterrupt:
        status.end(INTERRUPTED)
        raise
    except (BudgetError, MemoryError) as error:
        sentence = OUT_OF_MEMORY if isinstance(error, MemoryError) else str(error)
        status.end(f"failed: {sentence}")
        raise BudgetError(sentence + _way_on(run)) from error
    except Exception as error:
        foreseen = isinstance(error, ExtbnslError)
        status.end(f"failed: {error if foreseen else fault(error)}")
        if run.begun and (not foreseen or isinstance(error, VerificationError)):
            run.append(TEXT_LOG, traceback.format_exc().rstrip())
        if foreseen or not run.begun:
            raise
        raise ExtbnslError(f"{fault(error)} Please report it with {run.path / TEXT_LOG}.") from error


def _way_on(run: "RunDirectory") -> str:
    from extbnsl.files.names import MANIFEST
    from extbnsl.run.directory import resume_command

    if not run.begun or not (run.path / MANIFEST).exists():
        return ""
    return f" '{resume_command(run.path)}' goes on from the last checkpoint."
