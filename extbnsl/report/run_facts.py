"""What a report on a run is made of: its result, its network and its log, read and held together."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extbnsl.core.codec import json_value
from extbnsl.core.errors import InputError, RunDirectoryError, VerificationError
from extbnsl.files.atomic import read_regular
from extbnsl.files.names import DOCUMENT, RESULT
from extbnsl.networks.network import Arc, Network
from extbnsl.results.outputs import MOST_BYTES, has_networks
from extbnsl.results.reading import read_result
from extbnsl.run.directory import Moment, read_bounds
from extbnsl.run.plot import read_layers
from extbnsl.run.remains import check_run
from extbnsl.run.status import read_status


@dataclass(frozen=True)
class Facts:
    """A run that has a result: the document of result.json without a list of networks, the network, that of
    network.json (empty if that is not of this result), the bounds over time and the layers of the log.

    state: what the run does now, as `extbnsl.run.status` says; resume: the command that goes on with it, if one does.
    """

    path: Path
    document: Mapping[str, Any]
    network: Network
    written: Mapping[str, Any]
    bounds: tuple[Moment, ...]
    layers: tuple[Mapping[str, Any], ...]
    state: str
    resume: str | None

    @property
    def costs_of_removal(self) -> dict[tuple[str, str], float]:
        """What the network costs more without each arc, in nats, by names; of those arcs of which it is known."""
        told = self.written.get("arc_strengths") or ()
        return {(one["from"], one["to"]): float(one["cost_of_removal"]) for one in told if _is_known(one)}

    def by_arc(self, shares: Mapping[tuple[str, str], float]) -> dict[Arc, float]:
        """What is known by names, by the numbers of the variables; for the arcs of the network alone."""
        names = self.network.names
        return {
            arc: shares[names[arc[0]], names[arc[1]]]
            for arc in self.network.arcs()
            if (names[arc[0]], names[arc[1]]) in shares
        }


def read_facts(path: Path) -> Facts:
    """What there is to report on the run in `path`.

    Raises InputError if it is no run directory or has no result yet, RunDirectoryError if its result is damaged.
    """
    check_run(path)
    status = read_status(path)
    if not (path / RESULT).exists():
        raise InputError(f"{path} has no result to report on yet; 'extbnsl status {path}' tells how far it is.")
    document = read_result(path)
    try:
        network = Network.from_names(document["variables"], document["parents"])
        network.order()
    except (KeyError, TypeError, AttributeError, InputError, VerificationError) as error:
        raise damaged(path) from error
    layers: list[Mapping[str, Any]] = []
    with contextlib.suppress(InputError):
        layers = read_layers(path)
    written = json_value(read_regular(path / DOCUMENT, MOST_BYTES)) if has_networks(path, document) else {}
    return Facts(path, document, network, written, read_bounds(path), tuple(layers), status.state, status.resume)


def _is_known(strength: Mapping[str, Any]) -> bool:
    return strength["cost_of_removal"] is not None


def damaged(path: Path) -> RunDirectoryError:
    """What to raise of a result that is none."""
    return RunDirectoryError(f"{path / RESULT} is damaged or no result of a solve.")
