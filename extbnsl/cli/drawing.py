"""The network of a run as a drawing in a file, for the commands that write one."""

from pathlib import Path

from extbnsl.cli import options
from extbnsl.errors import InputError

SUFFIX = ".svg"


def check_drawing(output: Path, overwrite: bool, option: str) -> None:
    """Say before any work that the drawing could not be written, as this option asks for it."""
    if output.suffix.lower() != SUFFIX:
        ending = output.suffix or "a file without an ending"
        raise InputError(f"{option}: cannot write {ending}; networks are drawn as {SUFFIX}.")
    options.check_output(output, overwrite, option)


def draw_network(run: Path, output: Path) -> None:
    """Write the drawing of the network that the run in `run` has found; raises as `read_facts` and `write_atomically`
    do."""
    from extbnsl.files.atomic import write_atomically
    from extbnsl.report.run_facts import read_facts
    from extbnsl.report.run_page import drawing_of

    write_atomically(output, drawing_of(read_facts(run)).encode())
