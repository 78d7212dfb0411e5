"""`extbnsl plot`: draw what a run did, layer by layer, or the k best networks that it found."""

import argparse
from pathlib import Path
from typing import Any

from extbnsl.cli import drawing, options
from extbnsl.cli.head import say_sentence

EPILOG = """\
Draws the log of a run as Figure 3 of Malone et al. 2011 does: for each layer
the nodes generated and kept, and the memory and disk in use. Of a run that has
found the k best networks it draws their shares, best first, and what the first
ones have together. Needs matplotlib: pip install 'extbnsl[plot]'.
With --network it draws the network that the run has found, and needs nothing:
dashed arcs could point either way, and faint ones are in few of the networks
found, or of the resamples, where there are several. Point at an arc or a box to
read its name in full.

example:
  extbnsl plot wdbc.run -o wdbc.pdf
  extbnsl plot wdbc.run --network -o wdbc.svg
"""


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = options.add_command(
        commands,
        "plot",
        "draw the layers of a search, the k best networks, or the network",
        EPILOG,
        run,
    )
    parser.set_defaults(compiles=False)
    options.add_run(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="a .png, .svg or .pdf (default: layers.png, ranks.png or network.svg in RUN)",
    )
    parser.add_argument("--network", action="store_true", help="draw the network, as .svg, without matplotlib")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")


def run(given: argparse.Namespace) -> int:
    """Write the drawing; the exit code."""
    from extbnsl.files.atomic import write_atomically
    from extbnsl.files.names import DRAWING, RANKS_DRAWING
    from extbnsl.run.plot import draw, draw_ranks, file_format, has_ranks, read_layers, read_shares
    from extbnsl.run.remains import check_run

    check_run(given.run)
    if given.network:
        return _network(given.run, given.output, given.overwrite)
    ranked = has_ranks(given.run)
    output = given.output or given.run / (RANKS_DRAWING if ranked else DRAWING)
    kind = file_format(output)
    options.check_output(output, given.overwrite or given.output is None)
    if ranked:
        image, subject = draw_ranks(read_shares(given.run), str(given.run), kind), "networks"
    else:
        image, subject = draw(read_layers(given.run), str(given.run), kind), "layers"
    write_atomically(output, image)
    say_sentence(f"The {subject} of {given.run} are drawn in {output}.")
    return 0


def _network(run: Path, given: Path | None, overwrite: bool) -> int:
    """Draw the network of a run in the file that was given, or in its own; the exit code."""
    from extbnsl.files.names import NETWORK_DRAWING

    output = given or run / NETWORK_DRAWING
    drawing.check_drawing(output, overwrite or given is None, "--output")
    drawing.draw_network(run, output)
    say_sentence(f"The network of {run} is drawn in {output}.")
    return 0
