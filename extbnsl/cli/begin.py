"""Beginning a run, or going on with it: what solve, kbest and approximate have in common."""

import argparse
from typing import Any

from extbnsl.cli import session
from extbnsl.core.errors import InputError
from extbnsl.core.options import Options
from extbnsl.run.directory import is_begun


def begin_or_go_on(given: argparse.Namespace, methods: Options, scope: Any = None) -> int:
    """Make the run that a command asks for, or with --resume go on with it if it was begun, and write and print what
    comes of it; the exit code."""
    if given.resume and not session.is_resumable(methods):
        raise InputError(f"{given.method} has no checkpoints to go on from: leave it out.", option="resume")
    if given.resume and given.overwrite:
        raise InputError("goes on with a run, and --overwrite replaces it: give one of them.", option="resume")
    if given.resume and is_begun(session.run_folder(given)):
        from extbnsl.cli.resume import go_on_with

        return go_on_with(session.run_folder(given), given, methods, scope)
    with session.new_run(given, methods, scope) as begun:
        return session.solve_in(*begun, given)
