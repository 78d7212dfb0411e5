"""The network of a run as a drawing in a file, for the commands that write one."""

import os
import shlex
from pathlib import Path

from extbnsl.cli import options
from extbnsl.cli.head import say_sentence
from extbnsl.core.errors import ExtbnslError, InputError, RunDirectoryError
from extbnsl.files.atomic import open_regular
from extbnsl.files.names import DRAWN


def check_drawing(output: Path, overwrite: bool, option: str) -> None:
    """Say before any work that the drawing could not be written, as this option asks for it."""
    if output.suffix.lower() != DRAWN:
        ending = output.suffix or "a file without an ending"
        raise InputError(f"{option}: cannot write {ending}; networks are drawn as {DRAWN}.")
    options.check_output(output, overwrite, option)


def draw_network(run: Path, output: Path) -> None:
    """Write the drawing of the network that the run in `run` has found; raises as `read_facts` and `write_atomically`
    do."""
    from extbnsl.files.atomic import write_atomically
    from extbnsl.report.run_facts import read_facts
    from extbnsl.report.run_page import drawing_of

    write_atomically(output, drawing_of(read_facts(run)).encode())


def draw_after(run: Path, output: Path, silent: bool) -> None:
    """Draw the network of a run whose result is written, and say so unless `silent`; raises as `draw_network` does,
    with the command that draws it elsewhere."""
    try:
        draw_network(run, output)
    except ExtbnslError as error:
        raise type(error)(f"{error} The result is in {run}; {_elsewhere(run)}") from error
    if not silent:
        say_sentence(f"The network is drawn in {output}.")


def is_replaceable(output: Path) -> bool:
    """Whether a run that goes on may write its drawing there: there is none yet, or one by extbnsl. Where it is to be
    written a manifest says, and a manifest may come from anyone."""
    from extbnsl.report.drawing import BEGINNING

    if not os.path.lexists(output):
        return True
    try:
        with open(open_regular(output), "rb") as file:
            return file.read(len(BEGINNING)) == BEGINNING.encode()
    except (OSError, RunDirectoryError):
        return False


def draw_again(run: Path, output: Path, silent: bool) -> None:
    """As `draw_after`, for a run that goes on; InputError if another file is there."""
    if not is_replaceable(output):
        raise InputError(f"{output} is no drawing by extbnsl, so it stays as it is; {_elsewhere(run)}")
    draw_after(run, output, silent)


def _elsewhere(run: Path) -> str:
    """The second half of a sentence about a drawing that was not written."""
    return f"'extbnsl plot {shlex.quote(str(run))} --network -o FILE' draws the network in another file."
