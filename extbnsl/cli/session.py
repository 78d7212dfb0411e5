"""One session of a run, from its beginning or its last checkpoint to a result: what is said and what is written."""

import argparse
import contextlib
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.cli import options
from extbnsl.cli.head import head
from extbnsl.cli.saying import OUT_OF_MEMORY, fault, say, say_all
from extbnsl.core.claims import FINISHED, INTERRUPTED
from extbnsl.core.errors import BudgetError, ExtbnslError, VerificationError
from extbnsl.core.events import Event, Observer, Warned
from extbnsl.core.figures import fitted, format_cost, wrapped
from extbnsl.core.options import Options
from extbnsl.files.atomic import pieces
from extbnsl.files.manifest import (
    APPROXIMATE,
    BOOTSTRAP,
    K_BEST,
    NOT_READ,
    POSTERIOR,
    SOLVE,
    Remembered,
    RunState,
    Spent,
    read_manifest,
)
from extbnsl.files.names import EVENTS_LOG, MANIFEST, RESULT, TEXT_LOG
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.interrupts import Interrupts
from extbnsl.machine.system import give_memory_back
from extbnsl.posteriors.scope import PosteriorScope
from extbnsl.proof.methods import Methods
from extbnsl.results.facts import bound_told, sizes_told
from extbnsl.run import progress
from extbnsl.run.directory import RunDirectory, create, default_folder, resume_command
from extbnsl.run.progress import Clock, StatusFile
from extbnsl.solver.methods import ApproximateMethods, Resamples
from extbnsl.solver.place import Place

if TYPE_CHECKING:
    from extbnsl.results.result import Result
    from extbnsl.solver.opening import Request

STOPPED = 10  # the exit code of what can go on
KIND_OF_SCOPE = {Resamples: BOOTSTRAP, Scope: K_BEST, PosteriorScope: POSTERIOR}
SELDOM_PROVED = 250  # of which networks are proved now and then
MOST_LAYERS = 500  # that a result has
NO_CHECKPOINT = "Stopping; the network so far will be written (once more: end at once)."


@contextlib.contextmanager
def new_run(
    given: argparse.Namespace, methods: Options, scope: Any = None
) -> Iterator[tuple[RunDirectory, "Request", Interrupts]]:
    """Make the run that a command asks for: what is asked in it, by these methods, and who hears signals, as `solve_in`
    takes them. A plot that is asked for is drawn when that has ended. A scope that follows from the problem is a
    function of it."""
    source = "stdin" if options.is_standard_input(given.data) else given.data
    scratch = getattr(given, "scratch_dir", None)
    folder = run_folder(given) if getattr(given, "resume", False) else given.run_dir
    with Interrupts() as interrupts, create(folder, source, given.overwrite, scratch) as run, _kept(run):
        if given.run_dir is None and not callable(scope):  # nothing that follows an order can be resumed
            run.warnings += _stopped_before(run.path, given.data)
        remember = options.remembered(given)
        if is_resumable(methods) and not callable(scope) and os.path.isfile(given.data):  # no pipe can be read again
            asked = {} if scope is None else scope.document()
            kind = kind_of(methods, scope)
            state = RunState(kind, NOT_READ, options.claim_of(given), methods.document(), asked, remember)
            run.keep(replace(state, seconds_left=given.time_limit) if kind == APPROXIMATE else state, scratch)
        budgets, reading = options.options_of(Budgets, given), options.data_options(given)
        problem, budgets = options.read_problem(given.data, reading, budgets, given.quiet, given.score)
        if is_solve(methods, scope):
            run.warnings += _too_many(problem.variables, given.data)
        place = options.options_of(Place, given, run_folder=run.path, remember=remember)
        claim = options.claim_of(given)
        from extbnsl.solver.opening import Request

        scope = scope(problem) if callable(scope) else scope
        yield run, Request(problem, claim, methods, budgets, place, scope), interrupts
        if getattr(given, "plot", None) is not None:
            from extbnsl.cli.plot import draw_after

            draw_after(run.path, given.plot, given.quiet or given.json)


@contextlib.contextmanager
def _kept(run: RunDirectory) -> Iterator[None]:
    """Say how to go on with a run that is stopped before it has begun."""
    try:
        yield
    except KeyboardInterrupt:
        if run.is_kept:
            raise KeyboardInterrupt(f"Interrupted while starting; '{resume_command(run.path)}' starts again.") from None
        raise


def run_folder(given: argparse.Namespace) -> Path:
    """The run directory of a command that may go on with one: none that has a number."""
    source = "stdin" if options.is_standard_input(given.data) else given.data
    return given.run_dir or default_folder(source)


def is_resumable(methods: Options) -> bool:
    """Whether runs by these methods have checkpoints."""
    return isinstance(methods, Methods | ApproximateMethods)


def is_solve(methods: Options, scope: Any) -> bool:
    """Whether this asks for one network by methods of our own, which alone may complete values."""
    return scope is None and isinstance(methods, Methods)


def kind_of(methods: Options, scope: Any) -> str:
    """The kind of a run that is asked for this, by these methods."""
    if isinstance(methods, ApproximateMethods):
        return APPROXIMATE
    if scope is None:
        return SOLVE
    return KIND_OF_SCOPE[type(scope)]


def _too_many(variables: int, source: str) -> tuple[str, ...]:
    """A sentence if a network of so many variables is seldom proved."""
    if variables <= SELDOM_PROVED:
        return ()
    better = f"'extbnsl approximate {shlex.quote(source)} --time T' finds better networks in the same time, unproved."
    return (f"{variables:,} variables are many: if solve does not prove the network, {better}",)


def solve_in(run: RunDirectory, asked: "Request", interrupts: Interrupts, given: argparse.Namespace) -> int:
    """Do as asked, write and print the result; the exit code."""
    from extbnsl.data.treatment import chosen
    from extbnsl.proof.context import COMPILING

    remember, resumed = asked.place.remember, asked.place.resume
    assert remember is not None, "a command has something to remember"
    find = _finding(asked)
    before = Spent() if resumed is None else resumed.state.spent
    clock = progress.run_clock(asked.budgets.spent + before.seconds)
    first = _say_head(asked, given.quiet)
    give_memory_back()
    status = StatusFile(run.show, clock, before.stages.get(COMPILING, {}).get("seconds", 0.0))
    with _failures_kept(run, status):
        stopping = _stopping(run, asked.methods, given.quiet)
        with _observed(run, status, first, partial(interrupts.arm, stopping), given.quiet, clock) as observer:
            result = find(observer=observer, stop=interrupts.stop)
        document = result.document({"command": remember.command, "data_options": chosen(remember.data_options)})
        document["stats"]["layers"] = _layers(run.path) if resumed or status.has_layers else []
        try:
            run.write(result.files(document))
        except BaseException:  # it is printed in full, so that nothing is lost
            content = next(content for name, content in result.files(document) if name == RESULT)
            say_all(piece.decode() for piece in pieces(content))
            raise
        status.end(result.status)
    return tell(document, run.path, given)


def _finding(asked: "Request") -> "Callable[..., Result]":
    """What finds the result, given an observer and when to stop; InputError if the problem is none for the claim."""
    from extbnsl.solver.families import check_claim

    plain = is_solve(asked.methods, asked.scope)
    check_claim(asked.problem, asked.claim, latent=plain)
    if isinstance(asked.scope, Resamples):
        from extbnsl.solver.bootstrap import records_of

        records_of(asked.problem, asked.methods)
    if plain:
        from extbnsl.solver.solve import solve

        return partial(solve, asked)
    from extbnsl.lab.baselines.methods import OrderMethods, finder

    find = finder(asked.methods, asked.scope)
    if isinstance(asked.methods, OrderMethods):
        return partial(find, replace(asked, scope=None), asked.scope)
    return partial(find, asked)


def tell(document: Mapping[str, Any], folder: Path, given: argparse.Namespace) -> int:
    """Print a result, which is in the folder, as it was asked for; the exit code of a command that ends with it."""
    if given.json:
        from extbnsl.results.reading import read_text

        say_all(read_text(folder))
    elif given.quiet:
        say(
            f"{document['status']}: cost {format_cost(document['cost'], 6)} nats, {bound_told(document)}, "
            f"{sizes_told(document)}, in {folder}"
        )
    else:
        from extbnsl.cli.summary import summary
        from extbnsl.run.screen import is_coloured

        say(summary(document, folder, given.print, is_coloured(sys.stdout)))
    return 0 if document.get("status") in FINISHED else STOPPED


def _stopped_before(path: Path, source: str) -> tuple[str, ...]:
    """A sentence if an earlier run of this input can be resumed: one whose name differs from `path` by its number."""
    numbered = re.fullmatch(r"(.+)-(\d+)\.run", path.name)
    if numbered is None:
        return ()
    from extbnsl.run.status import read_status

    stem, numbers = numbered[1], range(int(numbered[2]) - 1, 0, -1)
    for before in (path.with_name(f"{stem}.run" if number == 1 else f"{stem}-{number}.run") for number in numbers):
        with contextlib.suppress(ExtbnslError):
            status, remembered = read_status(before), read_manifest(before).state.run
            if status.resume and remembered is not None and remembered.input == os.path.abspath(source):
                return (f"{before} holds a stopped run of {source}: '{status.resume}' resumes it; this one is new.",)
    return ()


def _say_head(asked: "Request", quiet: bool) -> list[str]:
    """The first lines, which are said on standard error unless `quiet`."""
    lines = list(map(wrapped, head(asked)))
    if not quiet:
        from extbnsl.run.screen import Screen

        Screen(sys.stderr, in_place=False).write("\n".join(lines))
    return lines


@contextlib.contextmanager
def without_run(
    given: argparse.Namespace, methods: Options, interrupts: Interrupts, stopping: str, **place: Any
) -> Iterator[tuple["Request", Observer]]:
    """What a command without a run directory is asked, and an observer that reports to standard error; the first lines
    are said. What a signal says is `stopping`."""
    budgets = options.options_of(Budgets, given)
    remember = Remembered(given.data, options.data_options(given))
    unlimited = replace(budgets, time_limit=None)
    problem, _ = options.read_problem(given.data, remember.data_options, unlimited, given.quiet, given.score)
    claim, where = options.claim_of(given), Place(**place, remember=remember)
    where.check()
    from extbnsl.solver.opening import Request

    asked = Request(problem, claim, methods, budgets, where)
    _say_head(asked, given.quiet)
    with progress.told_on(sys.stderr, given.quiet) as told:

        def observe(event: Event) -> None:
            interrupts.arm(stopping)
            told(event)

        yield asked, observe


@contextlib.contextmanager
def _observed(
    run: RunDirectory, status: StatusFile, first: list[str], arm: Callable[[], None], quiet: bool, clock: Clock
) -> Iterator[Observer]:
    """An observer that reports to the logs, to standard error and to status.json, lets signals ask to stop from now on,
    and begins the run.

    solve.log begins with the first lines. The run begins with the first event: before that there is nothing to write.
    """

    def observe(event: Event) -> None:
        arm()
        if not run.begun:
            run.begin()
            for warning in run.warnings:
                observe(Warned(warning))
        for tell in (log, table, told, status):
            tell(event)

    for line in first:
        run.append(TEXT_LOG, line)
    log = progress.json_lines(partial(run.append, EVENTS_LOG), clock)
    table = progress.Table(partial(run.append, TEXT_LOG), clock)
    with (
        progress.told_on(sys.stderr, quiet, clock) as told,
        progress.beating(table.beat, status.beat),
    ):
        yield observe


def _layers(folder: Path) -> list[dict[str, int]]:
    """What the log of a run, of all its sessions, has of each layer; nothing of one that searched more layers than
    people look at."""
    from extbnsl.run.log import read_layers

    layers: list[dict[str, int]] = []
    with contextlib.suppress(ExtbnslError):
        layers = read_layers(folder)
    return layers if len(layers) <= MOST_LAYERS else []


def _stopping(run: RunDirectory, methods: Options, quiet: bool) -> str:
    """What the first signal says on standard error."""
    said = NO_CHECKPOINT
    if is_resumable(methods):
        way_on = f"'{resume_command(run.path)}' goes on (once more: end at once)."
        said = f"Stopping; the state and the best network will be written, and {way_on}"
    said = fitted(said, sys.stderr)
    if quiet:
        return said
    from extbnsl.run.screen import clearing

    return clearing() + said


@contextlib.contextmanager
def _failures_kept(run: RunDirectory, status: StatusFile) -> Iterator[None]:
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
        resumable = run.begun and (run.path / MANIFEST).exists()
        way_on = f" '{resume_command(run.path)}' goes on from the last checkpoint." if resumable else ""
        raise BudgetError(sentence + way_on) from error
    except Exception as error:
        foreseen = isinstance(error, ExtbnslError)
        status.end(f"failed: {error if foreseen else fault(error)}")
        if run.begun and (not foreseen or isinstance(error, VerificationError)):
            run.append(TEXT_LOG, traceback.format_exc().rstrip())
        if foreseen or not run.begun:
            raise
        raise ExtbnslError(f"{fault(error)} Please report it with {run.path / TEXT_LOG}.") from error
