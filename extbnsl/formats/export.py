"""A network in any of the formats of kinds.py."""

import json
from collections.abc import Callable, Mapping

from extbnsl.errors import InputError
from extbnsl.files.documents import json_text
from extbnsl.formats.arcs_csv import csv_written
from extbnsl.formats.bif import bif_text, other_words
from extbnsl.formats.described import Described, Written
from extbnsl.formats.dot import dot_text
from extbnsl.formats.graphml import graphml_written
from extbnsl.formats.kinds import MADE_OF_PARAMETERS
from extbnsl.formats.model_string import bnlearn_written
from extbnsl.formats.net import net_written
from extbnsl.formats.network_json import network_document
from extbnsl.formats.spelling import Change
from extbnsl.formats.xdsl import xdsl_written


def written(described: Described, kind: str, cpdag: bool = False) -> Written:
    """The network in the format `kind`; with `cpdag` its equivalence class. Raises InputError if the format is made of
    parameters, and there are none."""
    if kind in MADE_OF_PARAMETERS and described.regressions is not None:
        raise InputError(f"{kind} has tables of states, and these variables are continuous; take json.")
    if kind in MADE_OF_PARAMETERS and described.tables is None:
        raise InputError(
            f"{kind} has parameters, which need data, and this network was learned from local scores alone."
        )
    if kind == "dot":
        return Written(dot_text(described.network, cpdag))
    return _WRITERS[kind](described)


def names_text(spelled: tuple[Change, ...]) -> str:
    """What a file spells in another way, as JSON: a list with an object for each, a line each."""
    return "[\n" + ",\n".join(" " + json.dumps(change) for change in spelled) + "\n]\n"


def _bif_written(described: Described) -> Written:
    states, tables = described.states, described.tables
    assert states is not None
    assert tables is not None
    return Written(bif_text(described.network, states, tables), told=other_words(described.network.names, states))


def _json_written(described: Described) -> Written:
    return Written(json_text(network_document(described)) + "\n")


_WRITERS: Mapping[str, Callable[[Described], Written]] = {
    "bif": _bif_written,
    "xdsl": xdsl_written,
    "net": net_written,
    "graphml": graphml_written,
    "json": _json_written,
    "csv": csv_written,
    "bnlearn": bnlearn_written,
}
