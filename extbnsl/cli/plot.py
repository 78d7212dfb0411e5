"""`extbnsl plot`: draw what a run did, layer by layer, or the k best networks that it found; or the network.

Other commands that draw a network do it by what is here.
"""

import argparse
import contextlib
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from extbnsl.cli import options
from extbnsl.cli.saying import say_sentence
from extbnsl.core.claims import OPTIMAL
from extbnsl.core.errors import ExtbnslError, InputError, RunDirectoryError
from extbnsl.files.atomic import open_regular, write_atomically
from extbnsl.files.names import ARCS_DRAWING, DRAWING, DRAWN, EVENTS_LOG, NETWORK_DRAWING, RANKS_DRAWING
from extbnsl.results.facts import has_posterior, is_ranked, shares_by_name
from extbnsl.results.reading import damage_told, read_networks, read_result
from extbnsl.run.directory import check_run
from extbnsl.run.log import read_layers
from extbnsl.run.status import finished_result

EPILOG = """\
Draws the log of a run as Figure 3 of Malone et al. 2011 does: for each layer
the nodes generated and kept, and the memory and disk in use. Of a run that has
found the k best networks it draws their shares, best first, and what the first
ones have together; of a posterior how likely each arc is. Needs matplotlib:
pip install 'extbnsl[plot]'.
With --network it draws the network that the run has found, and needs nothing:
dashed arcs could point either way, and faint ones are in few of the networks
found, or of the resamples, where there are several. Point at an arc or a box to
read its name in full.

example:
  extbnsl plot wdbc.run -o wdbc.pdf
  extbnsl plot wdbc.run --network -o wdbc.svg
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    options.add_shared(parser, "run")
    options.add_output(parser, "a .png, .svg or .pdf (default: layers.png, ranks.png, arcs.png or network.svg in RUN)")
    parser.add_argument("--network", action="store_true", help="draw the network, as .svg, without matplotlib")
    options.add_shared(parser, "--overwrite")


def run(given: argparse.Namespace) -> int:
    """Write the drawing; the exit code."""
    from extbnsl.report.run_charts import draw, draw_arcs, draw_ranks, file_format

    check_run(given.run)
    if given.network:
        output = given.output or given.run / NETWORK_DRAWING
        check_drawing(given, output, given.overwrite or given.output is None, "--output")
        draw_network(given.run, output)
        say_sentence(f"The network of {given.run} is drawn in {output}.")
        return 0
    found: Mapping[str, Any] = {}
    with contextlib.suppress(InputError, RunDirectoryError):  # it may have no result yet
        found = read_result(given.run)
    name = RANKS_DRAWING if is_ranked(found) else ARCS_DRAWING if has_posterior(found) else DRAWING
    output = given.output or given.run / name
    kind = file_format(output)
    options.check_output(given, output, given.overwrite or given.output is None)
    if is_ranked(found):
        own = [float(network["share"]) for network in read_networks(given.run)]
        image, subject = draw_ranks(own, str(given.run), kind), "networks"
    elif has_posterior(found):
        with damage_told(given.run):
            shares = shares_by_name(found)
            image, subject = draw_arcs(found["variables"], shares, str(given.run), kind), "arcs"
    else:
        image, subject = draw(_layers(given.run), str(given.run), kind), "layers"
    write_atomically(output, image)
    say_sentence(f"The {subject} of {given.run} are drawn in {output}.")
    return 0


def _layers(run: Path) -> list[dict[str, int]]:
    """The layers of the run in `run`, to be drawn; InputError if there are none."""
    layers = read_layers(run)
    if not layers:
        if (finished_result(run) or {}).get("status") == OPTIMAL:
            raise InputError(
                f"{run} was proved before any search: there are no layers to draw; --network draws the network."
            )
        raise InputError(f"{run / EVENTS_LOG} has no finished layer in it; there is nothing to draw.")
    return layers


def check_drawing(given: argparse.Namespace, output: Path, overwrite: bool, option: str) -> None:
    """Say before any work that the drawing could not be written, as this option asks for it."""
    if output.suffix.lower() != DRAWN:
        ending = output.suffix or "a file without an ending"
        raise InputError(f"{option}: cannot write {ending}; networks are drawn as {DRAWN}.")
    options.check_output(given, output, overwrite, option)


def draw_network(run: Path, output: Path) -> None:
    """Write the drawing of the network that the run in `run` has found; raises as `read_run` and `write_atomically`
    do."""
    from extbnsl.report.run_tables import read_run

    write_atomically(output, read_run(run).drawing().encode())


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
    from extbnsl.drawing.network import BEGINNING

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
