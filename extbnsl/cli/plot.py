"""`extbnsl plot`: draw what a run did, layer by layer."""

import argparse
from pathlib import Path
from typing import Any

from extbnsl.cli import options
from extbnsl.cli.console import say_sentence

EPILOG = """\
Draws the log of a run as Figure 3 of Malone et al. 2011 does: for each layer
the nodes generated and kept, and the memory and disk in use. Needs matplotlib:
pip install 'extbnsl[plot]'.

example:
  extbnsl plot wdbc.run -o wdbc.pdf
"""


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = options.add_command(commands, "plot", "draw nodes, memory and disk of each layer", EPILOG, run)
    parser.set_defaults(compiles=False)
    options.add_run(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="a .png, .svg or .pdf (default: layers.png in RUN)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")


def run(given: argparse.Namespace) -> int:
    """Write the drawing; the exit code."""
    from extbnsl.files.atomic import write_atomically
    from extbnsl.files.names import DRAWING
    from extbnsl.run.plot import draw, file_format, read_layers
    from extbnsl.run.remains import check_run

    check_run(given.run)
    output = given.output or given.run / DRAWING
    kind = file_format(output)
    options.check_output(output, given.overwrite or given.output is None)
    write_atomically(output, draw(read_layers(given.run), str(given.run), kind))
    say_sentence(f"The layers of {given.run} are drawn in {output}.")
    return 0
