"""`extbnsl resume`: go on with a run from its last checkpoint."""

import argparse
import contextlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.cli import options, session
from extbnsl.cli.options import AS_BEFORE, absolute, is_standard_input, read_problem
from extbnsl.cli.plot import draw_after, draw_again, is_replaceable
from extbnsl.cli.saying import remark
from extbnsl.core.claims import Claim
from extbnsl.core.codec import decode
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.core.figures import format_time
from extbnsl.core.options import Options, declared
from extbnsl.files.manifest import (
    APPROXIMATE,
    DONE,
    NOT_READ,
    Manifest,
    Remembered,
    RunState,
    believed,
    read_manifest,
)
from extbnsl.files.names import MANIFEST, TEXT_LOG
from extbnsl.files.store import check_scratch
from extbnsl.machine.budgets import Budgets, default_memory
from extbnsl.machine.interrupts import Interrupts
from extbnsl.proof.methods import Methods
from extbnsl.results.reading import damage_told, network_written
from extbnsl.run.directory import RunDirectory, reopen, tidy
from extbnsl.run.status import can_go_on, finished_result
from extbnsl.solver.methods import ApproximateMethods
from extbnsl.solver.place import Place

if TYPE_CHECKING:
    from extbnsl.solver.opening import Request

EPILOG = """\
Resumes a run of solve, kbest, posterior or approximate that was stopped or
killed where it stopped; but for approximate, the networks and the proof will
be what an undisturbed run finds. Budgets default to those of the previous
session. The time limit counts this session alone; unless it is given there is
none, and a run of approximate has the time that it has left. With it a finished
run of approximate goes on for so much more. Logs are appended to; the result is
replaced at the end, and so is the FILE of solve --plot.

example:
  extbnsl resume wdbc.run --memory 16GiB --time-limit 12h
"""
LEAST_SECONDS = 1e-3  # of time that is left: none is no time limit
SCOPES: dict[str, type[Options]] = {kind: scope for scope, kind in session.KIND_OF_SCOPE.items()}


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    options.add_shared(parser, "run")
    before = dict.fromkeys(AS_BEFORE, "as in the previous session")
    limit = "never, of approximate the time that is left"
    options.add_options(parser, declared(Budgets), time_limit=limit, **before)
    options.add_options(parser, declared(Place), "scratch_dir")
    parser.add_argument(
        "--data", metavar="FILE", type=Path, help="where the same data are now (default: where they were)"
    )
    options.add_shared(parser, "--quiet", "--json", "--print")


def run(given: argparse.Namespace) -> int:
    """Go on with a run and write what comes of it; the exit code."""
    with Interrupts() as interrupts, reopen(given.run) as run:
        document = finished_result(run.path)
        more = document is not None and can_go_on(run.path)
        if document is not None and not (more and given.time_limit):
            left = "give it more time with --time-limit" if more else "there is nothing left to do"
            return _tell_finished(run, document, given, f"The run in {run.path} is finished; {left}.")
        return _go_on(run, read_manifest(run.path), given, interrupts)


def go_on_with(path: Path, given: argparse.Namespace, methods: Options, scope: Any) -> int:
    """Go on with the run in a folder, of which a command asks what it would ask of a new one; the exit code.

    The data are read to see that they are the same. RunDirectoryError if it was asked something else.
    """
    from extbnsl.solver.opening import Request

    with Interrupts() as interrupts, reopen(path) as run:
        budgets, how = options.options_of(Budgets, given), options.data_options(given)
        problem, read = read_problem(given.data, how, budgets, given.quiet, given.score)
        place, kind = Place(run.path, remember=options.remembered(given)), session.kind_of(methods, scope)
        asked = Request(problem, options.claim_of(given), methods, budgets, place, scope, kind)
        document = finished_result(path)
        if document is None or (path / MANIFEST).exists():
            manifest = read_manifest(path)
            asked.check_same(_as_read(path, manifest.state, asked, how))
        elif problem.fingerprint != document["provenance"]["data_digest"] or Claim.of_result(document) != asked.claim:
            raise RunDirectoryError(f"The run in {path} had other data, or another question; start a new run.")
        again = argparse.Namespace(**vars(given) | {"data": Path(given.data), "run": path})
        if asked.kind == APPROXIMATE:
            again.time_limit = None  # what is left of its time
        if document is not None:
            return _tell_finished(run, document, again, f"The run in {path} is finished; there is nothing left to do.")
        return _go_on(run, manifest, again, interrupts, (problem, read.spent))


def _as_read(path: Path, state: RunState, asked: "Request", how: Mapping[str, Any]) -> RunState:
    """The state of a run; of one that was stopped before it had read its problem, with the problem that it would have
    read. RunDirectoryError if that was to be read in another way."""
    if state.digest != NOT_READ:
        return state
    from extbnsl.data.treatment import chosen
    from extbnsl.solver.opening import knowledge_on

    before = {} if state.run is None else chosen(state.run.data_options)
    if before != chosen(how):
        raise RunDirectoryError(
            f"The run in {path} was begun with other options of the data; resume it with these, or start a new run."
        )
    knowledge = knowledge_on(asked.problem, state.claim)
    return replace(state, digest=asked.problem.fingerprint, claim=replace(state.claim, knowledge=knowledge))


def _tell_finished(run: RunDirectory, document: Mapping[str, Any], given: argparse.Namespace, sentence: str) -> int:
    """Print the result of a finished run, and do what its process may have left to do; the exit code."""
    _finish(run, document, given)
    if not given.quiet:
        remark(sentence)
    with damage_told(run.path):
        code = session.tell(document, run.path, given)
    _draw_finished(run.path, given.quiet or given.json)
    return code


def _finish(run: RunDirectory, document: Mapping[str, Any], given: argparse.Namespace) -> None:
    """Do what a process that was killed at the very end of a run has left to do."""
    if (run.path / MANIFEST).exists() and network_written(run.path, document) is None:
        remembered = read_manifest(run.path).state.run
        if remembered is not None:
            _write_networks(run, document, remembered, given)
    tidy(run.path)


def _draw_finished(path: Path, silent: bool) -> None:
    """Draw the network of a finished run, whose process may have been killed before it had drawn it."""
    remembered = None
    with contextlib.suppress(RunDirectoryError):  # a finished run needs no manifest
        remembered = read_manifest(path).state.run
    plot = None if remembered is None else remembered.plot
    if plot is not None and is_replaceable(Path(plot)):
        draw_after(path, Path(plot), silent)


def _write_networks(
    run: RunDirectory, document: Mapping[str, Any], remembered: Remembered, given: argparse.Namespace
) -> None:
    """Write the files of the networks of a result; RunDirectoryError if the data are others."""
    from extbnsl.data import Data
    from extbnsl.data.text import source_name
    from extbnsl.results.ranked import other_files

    data = _data(run.path, given.data, remembered.input)
    with damage_told(run.path):
        score = str(document["score"])
    problem, _ = read_problem(data, remembered.data_options, Budgets(), given.quiet, score)
    with damage_told(run.path):
        if problem.fingerprint != document["provenance"]["data_digest"]:
            raise RunDirectoryError(
                f"{source_name(data)} does not hold the data of the run in {run.path}; say where they are."
            )
        if isinstance(problem, Data) and problem.latent:
            from extbnsl.solver.em_rounds import completed_in

            problem = completed_in(run.path, problem, Claim.of_result(document), default_memory())
        run.write(other_files(run.path, document, problem if isinstance(problem, Data) else None))


def _go_on(
    run: RunDirectory,
    manifest: Manifest,
    given: argparse.Namespace,
    interrupts: Interrupts,
    read: tuple[Any, float] | None = None,
) -> int:
    """Go on with a run; the exit code. read: its problem, and how many seconds reading it took, if that is done."""
    state = manifest.state
    remembered = state.run
    if remembered is None:
        raise RunDirectoryError(
            f"The run in {run.path} was not begun by extbnsl's commands; resume it as it was begun."
        )
    _check_scratch(run.path, manifest)
    approximates = state.kind == APPROXIMATE
    if approximates and state.phase == DONE and given.time_limit:
        from extbnsl.solver.approximation import reopened

        manifest = reopened(manifest)
    data = _data(run.path, given.data, remembered.input)
    before = remembered.budgets
    kept = {name: before.get(name) for name in AS_BEFORE if getattr(given, name, None) is None}
    asked_for = options.options_of(Budgets, given, **kept)
    if read is None:
        problem, budgets = read_problem(data, remembered.data_options, asked_for, given.quiet, state.claim.score)
    else:
        problem, budgets = read[0], replace(asked_for, spent=read[1])
    kind: type[Options] = ApproximateMethods if approximates else Methods
    methods = believed(run.path, "state.methods", lambda: decode(kind, kind.completed(state.methods)))
    if approximates:  # it has the time that it has left unless another is given
        left = max(LEAST_SECONDS, state.seconds_left or 0.0)
        budgets = replace(budgets, time_limit=budgets.time_limit or left)
    scope = None
    if of := SCOPES.get(state.kind):
        scope = believed(run.path, "state.scope", lambda: decode(of, of.completed(state.scope)))
    compress = bool(getattr(given, "compress", False) or before.get("compress"))
    granted = {name: getattr(budgets, name) for name in AS_BEFORE} | {"compress": compress}
    remember = replace(remembered, input=absolute(data), budgets=granted)
    place = Place(run.path, None, compress, manifest, remember)
    if state.digest == NOT_READ:
        scratch = None if manifest.scratch is None else manifest.scratch.folder.parent
        place = replace(place, scratch_dir=scratch, resume=None)
    line = f"resuming {run.path}: {manifest.state.phase}, after {format_time(manifest.state.spent.seconds)}"
    run.append(TEXT_LOG, line)
    if not given.quiet:
        remark(line)
    from extbnsl.solver.opening import Request

    asked = Request(problem, state.claim, methods, budgets, place, scope)
    code = session.solve_in(run, asked, interrupts, given)
    if remembered.plot is not None:
        draw_again(run.path, Path(remembered.plot), given.quiet or given.json)
    return code


def _check_scratch(path: Path, manifest: Manifest) -> None:
    """Say before any work that the folder of the run's files cannot be used."""
    if manifest.scratch is None or not manifest.files:
        return
    check_scratch(manifest.scratch)
    if not os.access(manifest.scratch.folder, os.W_OK | os.X_OK):
        raise InputError(
            f"The files of the run in {path} are in {manifest.scratch.path}, and there is no permission to write "
            "there; get it, or start again with solve."
        )


def _data(path: Path, given: Path | None, before: str) -> str:
    """The file to read the input from."""
    if given is not None:
        return str(given)
    if is_standard_input(before):
        raise InputError(f"The run in {path} read standard input; give the same data with --data FILE, or --data -.")
    if not os.path.isfile(before):  # nor has a pipe the same data again
        raise InputError(
            f"{before}, the input of the run in {path}, is not there any more, or no file; say where it is now with "
            "--data FILE."
        )
    return before
